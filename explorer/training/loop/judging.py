"""Score a base model and what was trained from it, as both are used: on evaluation sets and on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import chain
from operator import eq
from statistics import fmean

import numpy as np
import torch
from torch import Tensor

from explorer.data import corpora
from explorer.data.text_sets import Corpus
from explorer.data.watched_pairs import WatchedPair
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import DataError, TooFewRows
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.evaluating.probes.class_rows import features
from explorer.evaluating.probes.class_scores import ClassScores, class_scores
from explorer.measuring.geometry.vector_geometry import Checkup, checkup, probe_places
from explorer.measuring.scores import bootstrap, calibration, correlation, in_use, pair_cosines, similarity
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.item_store import item_key, keep_items, kept_items
from explorer.measuring.scores.judge import Floats, Judge
from explorer.measuring.scores.metrics import in_order
from explorer.measuring.sentences.attention_weights import ProbeWeights
from explorer.methods import Autocast, ClassLayer, Method, PredictedClasses, PromptedRows, sow, untouched
from explorer.progress import Phase, Progress, Work
from explorer.training.loop.measured_facts import MOST_FITTED, SAME, FrozenClasses

MOST_BATCHES = 32  # of held-out rows, whose loss decides between equal scores
MOST_READ = 4  # how often each of these rows is read on average, where it is in many pairs
RANDOM = "random pairs"  # what the cosines of random pairs of the dev set are kept under


def base_items(encoder: Encoder, method: Method, judge: Judge) -> Work[Floats]:
    """What each item gets from the base (2, item), under its model default and as it is trained, in float32.

    Where a method trains a part of the encoder, the trained layer & pooling is that of this part before training.
    """
    found: list[Floats] = []
    for asked in _asked(encoder, method, judge):
        found += yield from _items(*asked)
    return np.stack(found)


def is_kept(encoder: Encoder, method: Method, judge: Judge) -> bool:
    """Whether all that each item gets from the base is stored, so that nothing has to be encoded."""
    every = [_key(one, of, head) for one, of, heads in _asked(encoder, method, judge) for head in heads]
    return all(key and kept_items(key) is not None for key in every)


def _asked(encoder: Encoder, method: Method, judge: Judge) -> list[tuple[Encoder, Judge, tuple[Head, ...]]]:
    """What encodes the texts of which judge under which heads, for the base under its model default and as trained."""
    used, trained, part = encoder.as_used, method.base_head(), method.base.encoder
    if judge.before is None and part is used:
        return [(used, judge, (used.default_head, trained))]
    return [(used, judge.before or judge, (used.default_head,)), (part, judge, (trained,))]


def _items(encoder: Encoder, judge: Judge, heads: Sequence[Head]) -> Work[list[Floats]]:
    """What each item gets under each of some heads; what an earlier run has stored is not computed again."""
    keys = [_key(encoder, judge, head) for head in heads]
    found = [kept_items(key) if key else None for key in keys]
    missing = [place for place, items in enumerate(found) if items is None]
    if missing:
        asked = [heads[place] for place in missing]
        sides = yield from under_heads(encoder, judge.texts, asked, Phase.EVALUATING_BASE)
        for place, side in zip(missing, sides, strict=True):
            found[place] = items = judge.items(side)
            if keys[place]:
                keep_items(keys[place], items)
    else:
        yield Progress(Phase.EVALUATING_BASE, len(judge.texts), len(judge.texts))
    return [items for items in found if items is not None]


def _key(encoder: Encoder, judge: Judge, head: Head) -> str:
    """What items depend on; "" for a head with weights of its own, such as new ones, which have no digest."""
    default = head == encoder.default_head
    if not encoder.digest or (not default and (head.dense or head.layers)):
        return ""
    return item_key(encoder.digest, judge, "default" if default else repr(head), encoder.device, encoder.max_length)


def under_heads(
    encoder: Encoder, texts: Sequence[str], heads: Sequence[Head], stage: Phase | str
) -> Work[list[Tensor]]:
    """The vectors (text, width) of texts under each of some heads, in float32."""
    found: list[Tensor | None] = [None] * len(heads)
    done = 0
    for places, vectors in encoder.under_heads(texts, heads):
        for number, part in enumerate(vectors):
            side = found[number]
            if side is None:
                side = found[number] = part.new_empty(len(texts), part.shape[-1])
            side[places] = part
        done += len(places)
        yield Progress(stage, done, len(texts))
    return [side for side in found if side is not None]


def tuned_items(method: Method, judge: Judge, known: Floats | None = None) -> Work[tuple[Floats, Floats]]:
    """Judge the model as exported: in float32, whatever the precision of the training; or by `known` items.

    Also the cosines of random pairs of the judge's texts, in rising order; none of a single text.
    """
    vectors = yield from method.vectors(judge.texts)
    some = len(judge.texts) > 1
    return judge.items(vectors) if known is None else known, similarity.random_pairs(
        vectors, judge.name
    ).cosines if some else np.empty(0)


def watched_cosines(method: Method, pairs: Sequence[WatchedPair]) -> Work[tuple[float, ...]]:
    """The cosine of each of these pairs by the weights in place, in float32, as the saved model gives them."""
    if not pairs:
        return ()
    vectors = yield from method.vectors([text for pair in pairs for text in (pair.first, pair.second)])
    first, second = np.arange(2 * len(pairs)).reshape(-1, 2).T
    return tuple(map(float, pair_cosines.exact_cosines(vectors, first, second)))


def exported_cosines(encoder: Encoder, judged: Mapping[str, Judge], stage: str) -> Work[dict[str, Floats]]:
    """The cosines that `meanings` takes, of an encoder under its model default, by use of the evaluation set."""
    sets = {use: judged[use] for use in ("dev", "test") if use in judged}
    pairs = all(isinstance(judge, PairJudge) for judge in sets.values())
    found: dict[str, Floats] = {}
    for use, judge in sets.items() if pairs else [("dev", judged["dev"])]:
        (vectors,) = yield from under_heads(encoder, judge.texts, (encoder.default_head,), stage)
        if use == "dev" and len(vectors) > 1:
            found[RANDOM] = similarity.random_pairs(vectors, judge.name).cosines
        if pairs:
            found[use] = judge.items(vectors)
    return found


def meanings(
    judged: Mapping[str, Judge], base: Mapping[str, Floats], tuned: Mapping[str, Floats], names: tuple[str, str]
) -> tuple[similarity.CosineMeaning | None, similarity.CosineMeaning | None]:
    """What the cosines of the base and of the tuned model mean, from what they were scored on; None if not known.

    `base` has what each item gets from the base under its model default, `tuned` what it gets from the tuned model, and
    the cosines of random pairs of the dev set. A model is named by `names`.
    """
    if RANDOM not in tuned or not len(tuned[RANDOM]):
        return None, None
    test = judged.get("test")
    dev = judged.get("dev", test)
    assert dev is not None, "random pairs are of one of them"
    before: calibration.Calibration | None = None
    after: calibration.Calibration | None = None
    if isinstance(dev, PairJudge) and isinstance(test, PairJudge) and dev is not test:
        with suppress(DataError):  # too few pairs match, or all scores are equal: then random pairs alone are known
            before, after = (
                calibration.calibrate(
                    calibration.LabelledCosines(dev.name, dev.gold, of_dev),
                    calibration.LabelledCosines(test.name, test.gold, of_test),
                )
                for of_dev, of_test in ((base["dev"], base["test"]), (tuned["dev"], tuned["test"]))
            )
    drawn = similarity.RandomPairs(dev.name, len(dev.texts), tuned[RANDOM])
    of_base = None if before is None else similarity.CosineMeaning(names[0], MODEL_DEFAULT, before)
    return of_base, similarity.CosineMeaning(names[1], MODEL_DEFAULT, after, drawn)


def kept_in_use(
    judged: Mapping[str, Judge], base: Mapping[str, Floats], tuned: Mapping[str, Floats]
) -> dict[str, Floats]:
    """What `in_use` needs of what each item gets from the base under its model default and from the tuned model.

    Of pairs with two labels it is which of them match and the cosines, of queries where their passage is.
    """
    found: dict[str, Floats] = {}
    for use, judge in judged.items():
        if use not in (in_use.TEST, in_use.DEV) or use not in tuned:
            continue
        sides = dict(zip(in_use.SIDES, (base[use][0], tuned[use]), strict=True))
        if not all(np.isfinite(items).all() for items in sides.values()):
            continue
        found |= judge.in_use(use, sides)
    return found


def checked(method: Method, dev: Judge, autocast: Autocast, precision: str) -> Work[Checkup]:
    """Evaluate the current weights on the dev set, after every layer if all are trained."""
    probe, pool = ProbeWeights(method.head().attention, probe_places(dev.texts)), method.every_layer
    vectors = yield from method.vectors(dev.texts, pool, autocast, probe.add)
    last, *below = vectors.chunk(method.trained_layers, dim=1)
    found = checkup(dev, last, probe.mean(), precision)
    if pool is None:
        return found
    return replace(found, every_layer=fmean([found.score, *(dev.score(dev.items(one), precision) for one in below)]))


def held_out_score(method: Method, held: Corpus, by: str, autocast: Autocast = nullcontext) -> Work[float]:
    """The score × 100 of held-out rows: of triplets their accuracy, of labelled texts the measure `by`."""
    if isinstance(method, PredictedClasses):
        found = yield from method.predicted(held.texts, autocast)
        return class_scores(held.labels, found).measure(by)
    if isinstance(method, PromptedRows):
        held = replace(held, columns=(*method.prompted(held.texts), *held.columns[len(held.texts) :]))
    texts = list(dict.fromkeys(text for column in held.texts for text in column))
    vectors = yield from method.vectors(texts, None, autocast)
    return triplet_accuracy(held, texts, vectors.numpy())


def loss_of(method: Method, rows: Corpus, size: int) -> float | None:
    """The mean loss of rows in batches of at most this size, without dropout; None if they fill no batch.

    Nothing of the method changes, and the same batches and numbers are drawn each time.
    """
    sampler, random = method.sampler(), torch.Generator().manual_seed(0)
    try:
        order = sampler.usable(rows)
        size = min(size, sampler.items(len(order)))
        most = min(MOST_BATCHES, max(1, MOST_READ * len(rows) // (size * sampler.rows_each)))
        places = sampler.batches(rows, order, size, random)[:most] if size > 1 else []
    except TooFewRows:
        return None
    training = method.training
    with untouched(method), torch.no_grad():
        method.eval()
        sow(0)
        batches = ([[column[at] for at in batch] for column in rows.columns] for batch in places)
        losses = [float(method.loss(*columns)) for columns in batches]
        method.train(training)
    return sum(losses) / len(losses) if losses else None


@dataclass(frozen=True)
class JudgedRows:
    """Test rows of labelled texts: their scores, true and predicted class of each, and what the base gets."""

    classes: ClassScores | None = None
    predicted: tuple[tuple[str, str], ...] = ()
    frozen: FrozenClasses | None = None


NO_ROWS = JudgedRows()


def frozen_classes(encoder: Encoder, training: Corpus, wanted: Corpus) -> Work[tuple[str, ...]]:
    """The class of each wanted row by a logistic layer on the vectors of the frozen encoder, fitted to other rows.

    Vectors are those of the model default, in float32, and the layer is that of SetFit; the features of two sentences
    are those of SentEval. Of many training rows the first MOST_FITTED that seed 0 draws are used.
    """
    training = corpora.drawn(training, min(MOST_FITTED, len(training)), seed=0)
    texts = list(dict.fromkeys(chain.from_iterable((*training.texts, *wanted.texts))))
    (vectors,) = yield from under_heads(encoder, texts, (encoder.default_head,), Phase.EVALUATING_BASE)
    place = {text: at for at, text in enumerate(texts)}

    def of(rows: Corpus) -> Tensor:
        return features([vectors[[place[text] for text in column]] for column in rows.texts])

    return ClassLayer.fitted(of(training), training.labels).predicted(of(wanted))


def judged_rows(
    method: PredictedClasses, rows: Corpus, training: Corpus, base: Encoder, known: dict[str, tuple[str, ...]]
) -> Work[JudgedRows]:
    """Judge the classes of test rows, in float32, and those by the frozen base and a layer fitted to the training rows.

    `known` keeps the classes by the base, which are the same for all seeds, by the digest of the training rows.
    """
    if training.digest not in known:
        known[training.digest] = yield from frozen_classes(base, training, rows)
    frozen, tuned = known[training.digest], (yield from method.predicted(rows.texts))
    before, after = (class_scores(rows.labels, found) for found in (frozen, tuned))
    right = (np.array(list(map(eq, rows.labels, found)), dtype=np.float64) for found in (frozen, tuned))
    verdict = verdicts.Verdict.of(before.accuracy, after.accuracy, bootstrap.mean_difference(*right))
    fitted = min(MOST_FITTED, len(training))
    return JudgedRows(after, tuple(zip(rows.labels, tuned, strict=True)), FrozenClasses(fitted, before, verdict))


def triplet_accuracy(held: Corpus, texts: Sequence[str], vectors: np.ndarray) -> float:
    """The share of triplets × 100 whose anchor is nearer to its positive than to its negative; a tie counts half.

    `vectors` (sentence, width) are those of `texts`.
    """
    place = {text: number for number, text in enumerate(texts)}
    directions = correlation.unit(vectors).astype(np.float64)
    anchor, positive, negative = (directions[[place[text] for text in column]] for column in held.texts)
    return float(100 * in_order((anchor * positive).sum(1), (anchor * negative).sum(1)).mean())


def is_better(score: float, best: float, lower_loss: Callable[[], bool | None]) -> bool:
    """Whether a score is better than the best one before it.

    A set that is small or solved gives many checkpoints one score. The first of them is the least trained, so that of
    equal ones the loss on held-out rows decides (`lower_loss`), and the later one is better if that is not known.
    """
    return score > best if abs(score - best) > SAME else lower_loss() is not False


def tied(scores: Sequence[float]) -> int:
    """How many of the scores are equal to the best one."""
    known = [score for score in scores if not math.isnan(score)]
    return sum(max(known) - score <= SAME for score in known)
