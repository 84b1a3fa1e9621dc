"""Compare every score of the grid with Spearman's ρ by SciPy on float64 cosines of the same float32 vectors.

It needs STRATA_DATA. A second column compares the grid with the model run wholly in float64, a third with bfloat16.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from explorer.data.graded import sts
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load.loading import load
from explorer.encoding.locate import model_names
from explorer.encoding.read.encoder import Encoder, Views
from explorer.encoding.read.pooling import GRID_POOLINGS, OWN, Reading
from explorer.measuring.scores.layer_scores import LayerScores, score_layers
from explorer.progress import finish

SETS = ("STS-B", "STS12", "STS13", "STS14", "SICK-R", "STS17")
ALLOWED = {"float32": 0.01, "bfloat16": 0.5}  # points of ρ × 100


def main() -> None:
    found = model_names.find("all-MiniLM-L6-v2")
    single, half, exact = (load(found, precision, "cpu") for precision in ("float32", "bfloat16", "float32"))
    exact.model = exact.model.double()
    names = [name for name in SETS if (name, "test") in sts.available()]
    if not names:
        print("There is nothing to compare with: STRATA_DATA names no folder with STS sets.")
    for name in names:
        pairs = sts.load(name, "test")
        recorder = Recorder(single)
        scores, rounded = finish(score_layers(recorder, pairs)), finish(score_layers(half, pairs))
        print(f"\n{pairs.name}, {len(pairs):,} pairs: largest |Δρ| × 100 of {len(scores.rows)} x 3 cells and own")
        slow = by_hand(pairs, single, recorder.vectors)
        _tell("float32, the same vectors in float64", scores, slow, ALLOWED["float32"])
        truth = by_hand(pairs, exact, vectors_in_float64(exact, pairs))
        _tell("float32, the model in float64", scores, truth, ALLOWED["float32"])
        _tell("bfloat16, the model in float64", rounded, truth, ALLOWED["bfloat16"])


Vectors = dict[tuple[int, ...], dict[Reading, np.ndarray]]


@dataclass
class Recorder:
    """An encoder that keeps what it gave: the vectors of each list of tokens, for each layer and pooling."""

    encoder: Encoder
    vectors: Vectors = field(default_factory=dict)

    def __getattr__(self, name: str):
        return getattr(self.encoder, name)

    def views_of(self, ids: Sequence[list[int]], also: Sequence[Reading] = ()) -> Iterator[Views]:
        """What the encoder gives, kept on the way."""
        for views in self.encoder.views_of(ids, also):
            for at, place in enumerate(views.positions):
                self.vectors[tuple(ids[place])] = {
                    Reading(row, name): views.grid[number, column, at].numpy().copy()
                    for number, row in enumerate(self.encoder.rows)
                    for column, name in enumerate(GRID_POOLINGS)
                } | ({} if views.own is None else {OWN: views.own[at].numpy().copy()})
            yield views


def vectors_in_float64(encoder: Encoder, pairs: GradedPairs) -> Vectors:
    """The vectors of a model in float64, pooled in float64; sentences of one length together, so without padding."""
    import torch

    every = dict.fromkeys(map(tuple, encoder.tokens(pairs.sentences).ids))
    ordered = sorted(every, key=len)
    vectors: Vectors = {}
    for _, same in groupby(ordered, len):
        for batch in _portions(list(same)):
            with torch.inference_mode():
                states = encoder.model(input_ids=torch.tensor(batch), output_hidden_states=True).hidden_states
            for at, ids in enumerate(batch):
                vectors[ids] = _pooled([layer[at].numpy() for layer in states], encoder)
    return vectors


def _portions(ids: list[tuple[int, ...]], most: int = 32) -> Iterator[list[tuple[int, ...]]]:
    yield from (ids[start : start + most] for start in range(0, len(ids), most))


def _pooled(states: list[np.ndarray], encoder: Encoder) -> dict[Reading, np.ndarray]:
    """Every layer and pooling of one sentence, from states (token, width) of each layer."""
    found = {}
    for row in encoder.rows:
        tokens = np.mean([states[layer] for layer in row.layers], axis=0)
        for name, vector in (("cls", tokens[0]), ("mean", tokens.mean(0)), ("max", tokens.max(0))):
            found[Reading(row, name)] = vector
    return found | {OWN: states[-1].mean(0)}  # as the bundled encoder declares it; length 1 changes no cosine


def by_hand(pairs: GradedPairs, encoder: Encoder, vectors: Vectors) -> dict[Reading, float]:
    """Spearman × 100 of every layer and pooling: cosines in float64, ρ by SciPy; NaN for constant cosines."""
    from scipy.stats import spearmanr

    ids = dict(zip(pairs.sentences, map(tuple, encoder.tokens(pairs.sentences).ids), strict=True))
    scores = {}
    for reading in next(iter(vectors.values())):
        unit = {}
        for tokens, of_tokens in vectors.items():
            exact = of_tokens[reading].astype(np.float64)
            unit[tokens] = exact / np.linalg.norm(exact)
        apart = [unit[ids[one]] - unit[ids[other]] for one, other in zip(pairs.first, pairs.second, strict=True)]
        cosines = [1 - float(np.dot(one, one)) / 2 for one in apart]
        constant = np.ptp(cosines) < 1e-12
        scores[reading] = float("nan") if constant else 100 * float(spearmanr(pairs.gold, cosines)[0])
    return scores


def _tell(title: str, scores: LayerScores, truth: dict[Reading, float], allowed: float) -> None:
    empty = [reading for reading, score in truth.items() if np.isnan(score)]
    marked = scores.not_measured
    apart = {reading: abs(scores.score(reading) - truth[reading]) for reading in truth if reading not in empty}
    apart = {reading: by for reading, by in apart.items() if reading not in marked}
    most = max(apart, key=lambda reading: np.inf if np.isnan(apart[reading]) else apart[reading])
    verdict = "ok" if apart[most] <= allowed else "TOO FAR"
    if not all(np.isnan(scores.score(reading)) for reading in empty):
        verdict = "A CONSTANT CELL HAS A SCORE"
    print(
        f"  {title:38} {apart[most]:.4f} ({most.title}, {len(apart)} cells; constant: {len(empty)}; not measurable: "
        f"{', '.join(reading.title for reading in marked) or 'none'}), at most {allowed:g}: {verdict}",
        flush=True,
    )
