"""Measure whether removing a word changes the cosine of two sentences as much as the words' contributions say.

Each word of 300 pairs is removed in turn, and how far the cosine falls is correlated, over the words of a pair, with
what the word adds to it under each method. Published sets are read from STRATA_DATA. STRATA_DELETION is a file that
keeps what was measured, so that a run that was broken off goes on.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.data import sample
from explorer.data.graded import sts
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.encoder import Encoder, every_layer
from explorer.encoding.read.pooling import OWN, PAD, REFERENCES
from explorer.encoding.read.word_parts import words_of
from explorer.measuring.scores.bootstrap import mean_difference
from explorer.measuring.scores.correlation import pearson, spearman
from explorer.measuring.sentences.sentence_pair import token_pair
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.measuring.sentences.word_pairs import WordPair, word_pair
from explorer.progress import finish

MODELS = {"all-MiniLM-L6-v2": REFERENCES, "run:example": (PAD,)}  # and the references that are tested
SEED, COUNT, FEWEST = 1, 100, 3  # pairs of each set, and words of a sentence
CHECKED, SHOWN = 7, 5  # pairs of each set that are compared with the sums of their matrix, and of each probe pack
TOLD = (
    ("A man is not playing a guitar.", "A man is playing a guitar."),
    ("The shop does not open on Sundays.", "The shop opens on Sundays."),
)

Floats = NDArray[np.float64]
Pair = tuple[str, str]
Method = Callable[[Encoder, str, str], Floats]


def main() -> None:
    encoders = {name: load(find(name), "float32", "cpu", attention="eager") for name in MODELS}
    sets = {
        graded.name: drawn(next(iter(encoders.values())), graded)
        for graded in (
            sample.pairs(),
            *(sts.load(*sts.name_and_split(name)) for name in ("STS-B dev", "SICK-R test")),
        )
    }
    print(f"\nDeletion test, seed {SEED}: {', '.join(f'{len(pairs)} pairs of {name}' for name, pairs in sets.items())}")
    kept = Kept(os.environ.get("STRATA_DELETION"))
    for name, encoder in encoders.items():
        for method, of_pair in _methods(name).items():
            started = time.perf_counter()
            for pairs in sets.values():
                for pair in pairs:
                    kept.values(name, method, pair, partial(of_pair, encoder, *pair))
            print(f"  {name}, {method}: {time.perf_counter() - started:.0f} s", flush=True)
    for name, encoder in encoders.items():
        _print_check(name, encoder, sets, kept)
        _print_table(name, sets, kept)
        _print_agreement(name, sets, kept)
    _print_packs(encoders)


def drawn(encoder: Encoder, graded: GradedPairs, count: int = COUNT) -> list[Pair]:
    """Random pairs of a set whose sentences have enough words."""
    every = list(zip(graded.first, graded.second, strict=True))
    order = np.random.default_rng(SEED).permutation(len(every))
    long = (every[at] for at in order if min(len(words_of(encoder, text).texts) for text in every[at]) >= FEWEST)
    return [pair for _, pair in zip(range(count), long, strict=False)]


class Kept:
    """What was measured, by model, method and pair; each is appended to a file at once."""

    def __init__(self, file: str | None) -> None:
        self._file = Path(file) if file else None
        lines = self._file.read_text(encoding="utf-8").splitlines() if self._file and self._file.is_file() else []
        self._known = {tuple(key): np.array(values) for key, values in map(json.loads, lines)}

    def values(self, model: str, method: str, pair: Pair, measure: Callable[[], Floats]) -> Floats:
        """The values of the words of both sentences, measured if they are not there."""
        key = (model, method, *pair)
        if key not in self._known:
            self._known[key] = measure()
            if self._file:
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, self._known[key].tolist()], ensure_ascii=False) + "\n")
        return self._known[key]

    def known(self, model: str, method: str, pair: Pair) -> Floats:
        """The values that were measured."""
        return self._known[model, method, *pair]


def falls(encoder: Encoder, first: str, second: str) -> Floats:
    """How far the cosine falls when each word of either sentence is removed."""
    fewer = [list(_without_a_word(encoder, sentence)) for sentence in (first, second)]
    vectors = finish(of_reading(encoder, [first, second, *fewer[0], *fewer[1]], OWN)).astype(np.float64)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    one, other, rest = unit[0], unit[1], unit[2:]
    left = np.concatenate([rest[: len(fewer[0])] @ other, rest[len(fewer[0]) :] @ one])
    return np.asarray(one @ other - left)


def _without_a_word(encoder: Encoder, sentence: str) -> Iterator[str]:
    """The sentence without each of its words; a space keeps the words around it apart."""
    spans = [span for span in encoder.words(sentence, encoder.max_length)[1] if span is not None]
    for number in dict.fromkeys(span[0] for span in spans):
        own = [span for span in spans if span[0] == number]
        yield f"{sentence[: min(start for _, start, _ in own)]} {sentence[max(end for _, _, end in own) :]}"


def exact(encoder: Encoder, first: str, second: str, reference: str) -> Floats:
    """What each word adds to the cosine, as in the app."""
    return np.concatenate(finish(word_pair(encoder, first, second, OWN, reference)).contributions)


def token_states(encoder: Encoder, first: str, second: str) -> Floats:
    """What the states of a word's tokens in the last layer add to the cosine."""
    shares = finish(token_pair(encoder, first, second, OWN)).shares
    assert shares is not None, "the cosine of this model is a sum over tokens"
    return _of_both(encoder, (first, shares.first), (second, shares.second))


def attention(encoder: Encoder, first: str, second: str, layers: slice) -> Floats:
    """The attention that a word receives, averaged over layers, heads and tokens."""
    with torch.no_grad():
        found = [encoder.model(input_ids=_ids(encoder, text), output_attentions=True).attentions[layers]
                 for text in (first, second)]  # fmt: skip
    received = [torch.stack(each).mean(dim=(0, 1, 2, 3)).double().numpy() for each in found]
    return _of_both(encoder, (first, received[0]), (second, received[1]))


def gradient_times_input(encoder: Encoder, first: str, second: str) -> Floats:
    """The gradient of the cosine by a word's embeddings, times these; the other sentence's vector is fixed."""
    values = []
    for sentence, other in ((first, second), (second, first)):
        with torch.no_grad():
            fixed = _own(encoder, input_ids=_ids(encoder, other))[0]
        embedded = encoder.model.get_input_embeddings()(_ids(encoder, sentence)).detach().requires_grad_()
        (slopes,) = torch.autograd.grad((_own(encoder, inputs_embeds=embedded) @ fixed).sum(), embedded)
        values.append((slopes * embedded).sum(-1)[0].detach().double().numpy())
    return _of_both(encoder, (first, values[0]), (second, values[1]))


def random_order(encoder: Encoder, first: str, second: str) -> Floats:
    """Random numbers, by the seed and the pair."""
    count = sum(len(words_of(encoder, sentence).texts) for sentence in (first, second))
    return np.random.default_rng([SEED, crc32(f"{first}\t{second}".encode())]).random(count)


def _own(encoder: Encoder, **given: Tensor) -> Tensor:
    """Unit vectors (sentence, width) under the model default."""
    return torch.nn.functional.normalize(encoder.default_head(every_layer(encoder.model, **given), None), dim=-1)


def _ids(encoder: Encoder, sentence: str) -> Tensor:
    return torch.tensor(encoder.tokens([sentence]).ids)


def _of_both(encoder: Encoder, *sides: tuple[str, Floats]) -> Floats:
    return np.concatenate([_by_word(words_of(encoder, text).tokens, values) for text, values in sides])


def _by_word(tokens: Tensor, by_token: Floats) -> Floats:
    return np.asarray(tokens.double().numpy() @ by_token)


FALL, EXACT = "fall of the cosine", "exact, {}"
BEST = EXACT.format(PAD)  # what the app shows by default
OTHERS: dict[str, Method] = {
    "states of the last layer": token_states,
    "attention, last layer": partial(attention, layers=slice(-1, None)),
    "attention, all layers": partial(attention, layers=slice(None)),
    "gradient × input": gradient_times_input,
    "random order": random_order,
}


def _methods(model: str) -> dict[str, Method]:
    """The fall of the cosine, and what is compared with it."""
    references = {EXACT.format(reference): partial(exact, reference=reference) for reference in MODELS[model]}
    return {FALL: falls, **references, **OTHERS}


def _print_check(name: str, encoder: Encoder, sets: dict[str, list[Pair]], kept: Kept) -> None:
    some = [pair for pairs in sets.values() for pair in pairs[:CHECKED]]
    far = []
    for pair in some:
        sums = finish(word_pair(encoder, *pair, OWN, matrix=True)).contributions
        far.append(np.abs(kept.known(name, BEST, pair) - np.concatenate(sums)))
    print(f"\n{name}: {len(some)} pairs have the sums of their matrix to {np.concatenate(far).max():.4f}\n")


def _print_table(name: str, sets: dict[str, list[Pair]], kept: Kept) -> None:
    """Mean correlations with the fall of the cosine, and how far each method is from the one that the app shows."""
    every = [pair for pairs in sets.values() for pair in pairs]
    found = {
        method: {
            correlation.__name__: np.array(
                [correlation(kept.known(name, FALL, pair), kept.known(name, method, pair)) for pair in every]
            )
            for correlation in (spearman, pearson)
        }
        for method in _methods(name)
        if method != FALL
    }
    ends = np.cumsum([len(pairs) for pairs in sets.values()])[:-1]
    titles = "", "Spearman", *sets, f"minus {BEST}", "Pearson"
    print(f"| {' | '.join((name, *titles[1:]))} |\n|{'---|' * len(titles)}")
    for method, values in found.items():
        rank = values["spearman"]
        parts = [f"{part.mean():.2f}" for part in np.split(rank, ends)]
        gap = "" if method == BEST else _interval(found[BEST]["spearman"], rank, "+.2f")
        nothing = np.zeros(len(every))
        cells = method, _interval(nothing, rank), *parts, gap, _interval(nothing, values["pearson"])
        print(f"| {' | '.join(cells)} |")


def _interval(one: Floats, other: Floats, form: str = ".2f") -> str:
    """The mean difference over pairs, with its 95 % bootstrap interval."""
    found = mean_difference(one, other, seed=SEED)
    value, low, high = (f"{float(number) / 100:{form}}" for number in (found.difference, found.low, found.high))
    return f"{value} ({low} to {high})"


def _print_agreement(name: str, sets: dict[str, list[Pair]], kept: Kept) -> None:
    every = [pair for pairs in sets.values() for pair in pairs]
    for one, other in combinations(map(EXACT.format, MODELS[name]), 2):
        alike = np.array([spearman(kept.known(name, one, pair), kept.known(name, other, pair)) for pair in every])
        print(f"{name}: Spearman of {one} with {other}: {_interval(np.zeros(len(alike)), alike)}")


def _print_packs(encoders: dict[str, Encoder]) -> None:
    """The cosine of pairs that differ in meaning, and what the words add that one of their sentences lacks."""
    groups = {"typed": list(TOLD)} | {
        pack.name: list(zip(pack.first, pack.second, strict=True))[:SHOWN]
        for pack in sample.probe_packs()
        if not pack.same
    }
    print("\n| | cosine | words that differ |\n|---|---|---|")
    for group, pairs in groups.items():
        print(f"| **{group}** | | |")
        for pair in pairs:
            found = [finish(word_pair(encoder, *pair, OWN)) for encoder in encoders.values()]
            cosines = " → ".join(f"{one.cosine:.2f}" for one in found)
            print(f"| {' / '.join(pair)} | {cosines} | {_differing(found)} |", flush=True)


def _differing(found: list[WordPair]) -> str:
    """The words of either sentence that the other has not, and what they add under each model."""
    told = []
    for number in (0, 1):
        lacks = Counter(word.lower() for word in found[0].words[1 - number])
        for place, word in enumerate(found[0].words[number]):
            if lacks[word.lower()]:
                lacks[word.lower()] -= 1
                continue
            values = (round(one.contributions[number][place], 2) + 0.0 for one in found)
            told.append(f"{word} {' → '.join(f'{value:+.2f}' for value in values)}")
    return ", ".join(told).replace("-", "−") or "none"
