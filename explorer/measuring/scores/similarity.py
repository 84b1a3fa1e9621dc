"""Say what a cosine of a model means: the probability of a match, and its place among random pairs of a text.

`similarity.json` holds both as data, for programs without Strata.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.graded.sets import SetIdentity
from explorer.data.set_items import counted
from explorer.data.sources import OF_SETS
from explorer.encoding.locate import layout
from explorer.errors import TooFewRows
from explorer.in_words import rounded
from explorer.knobs import Knobs, knob
from explorer.measuring.scores.calibration import Calibration, Reliability, Threshold
from explorer.measuring.scores.judge import Share
from explorer.measuring.scores.metrics import F1
from explorer.measuring.scores.pair_cosines import exact_cosines

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]

FILE = layout.SIMILARITY
PAIRS = 20_000  # random pairs
SENTENCES = 2000  # of a text, drawn by the seed: two million pairs, more than are drawn
# the shares of random pairs whose cosines are in the file: fine where a cosine is rare
_SHARES = (*(1 - np.arange(20) / 20), 0.03, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001, 0.0)
_DIGITS = 6

_OPENED = f"""import json, numpy

known = json.load(open("path/to/this/folder/{FILE}"))
cosine = vectors[0] @ vectors[1] / numpy.linalg.norm(vectors[0]) / numpy.linalg.norm(vectors[1])"""
_MATCH = 'print("match", numpy.interp(cosine, known["probability"]["cosine"], known["probability"]["probability"]))'
_PLACE = 'print("top", numpy.interp(cosine, known["random_pairs"]["cosine"], known["random_pairs"]["share"]))'


@dataclass(frozen=True)
class SimilarityOptions(Knobs):
    """The pairs and the text that say what a cosine means, and the cosines in question."""

    sts: SetIdentity | None = knob(
        None,
        **OF_SETS,
        empty="the sample, or with --text none",
        help="Scored or labelled pairs: a file, or a set by name. Curves and thresholds are of its dev set, and are "
        "tested on its test set; a set without them is divided into two halves.",
    )
    dev: SetIdentity | None = knob(
        None,
        **OF_SETS,
        needs="sts",
        help="Pairs for curves and thresholds; --sts is then the test set.",
    )
    text: str | None = knob(
        None,
        metavar="FILE|NAME",
        empty="the sentences of the pairs",
        help="A text without labels, whose random pairs a cosine is compared with: a file, or a set by name.",
    )
    cosine: tuple[float, ...] = knob(
        (),
        item=float,
        low=-1,
        high=1,
        metavar="NUMBER",
        empty="0.3 to 0.9",
        help="What these cosines mean, such as 0.62,0.8.",
    )


@dataclass(frozen=True, eq=False)
class RandomPairs:
    """The cosines of pairs of different sentences that are drawn from a text, in rising order."""

    text: str
    sentences: int
    cosines: Floats

    def share(self, cosine: float) -> float:
        """The share of random pairs with this cosine or a higher one, from 0 to 1."""
        return 1 - int(np.searchsorted(self.cosines, cosine, side="left")) / len(self.cosines)

    def place(self, cosine: float) -> str:
        """`top 3 %` of random pairs; of a cosine above all of them the share that one pair would be."""
        share = self.share(cosine)
        if share == 0:
            return f"under {100 / len(self.cosines):.2g} %"
        return f"top {100 * share:.2g} %" if share < 0.1 else f"top {100 * share:.0f} %"


@dataclass(frozen=True, eq=False)
class CosineMeaning:
    """What the cosines of one model mean, under one layer & pooling; None for what is not known."""

    model: str
    reading: str
    calibration: Calibration | None = None
    random_pairs: RandomPairs | None = None

    def words(self, cosine: float, *, short: bool = False) -> str:
        """`match 86 %, top 3 % of random pairs`, or short `match 86 %, top 3 %`.

        "" if nothing is known, or of a cosine that is not a number.
        """
        if not np.isfinite(cosine):
            return ""
        parts = []
        if self.calibration is not None:
            parts.append(f"match {probability_text(float(self.calibration.curve.at(cosine)))}")
        if self.random_pairs is not None:
            of = "" if short else " of random pairs"
            parts.append(self.random_pairs.place(cosine) + of)
        return ", ".join(parts)


def probability_text(probability: float) -> str:
    """A probability in whole percent, never 0 or 100: no pairs can show that."""
    if probability < 0.01:
        return "under 1 %"
    return "over 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def some_sentences(sentences: Sequence[str], most: int = SENTENCES, seed: int = 0) -> tuple[str, ...]:
    """Different sentences of a text in their order, at most so many, drawn by the seed."""
    found = tuple(dict.fromkeys(sentences))
    if len(found) <= most:
        return found
    drawn = np.sort(np.random.default_rng(seed).choice(len(found), most, replace=False))
    return tuple(found[place] for place in drawn)


def random_pairs(vectors: Tensor | NDArray[np.float32], text: str, most: int = PAIRS, seed: int = 0) -> RandomPairs:
    """Draw pairs of different sentences, or take all pairs if they are not more, from vectors (sentence, width)."""
    import torch

    count = len(vectors)
    if count < 2:
        raise TooFewRows(f"{text} has {counted(count, 'sentence')}, and a pair needs two. Use a longer text.")
    if count * (count - 1) // 2 <= most:
        first, second = np.triu_indices(count, 1)
    else:
        random = np.random.default_rng(seed)
        first = random.integers(count, size=most)
        second = (first + random.integers(1, count, size=most)) % count  # any other sentence, each as likely
    some, places = np.unique(np.concatenate([first, second]), return_inverse=True)  # float64 of no others
    cosines = exact_cosines(torch.as_tensor(vectors[some]), *np.split(places, 2))
    return RandomPairs(text, count, np.sort(cosines[np.isfinite(cosines)]))


def code(meaning: CosineMeaning) -> str:
    """The lines that read the file, for two vectors."""
    known = (_MATCH, meaning.calibration), (_PLACE, meaning.random_pairs)
    return "\n".join((_OPENED, *(line for line, of in known if of is not None)))


def as_file(meaning: CosineMeaning, before: CosineMeaning | None = None) -> bytes:
    """The content of `similarity.json`."""
    return (json.dumps(as_json(meaning, before), ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def as_json(meaning: CosineMeaning, before: CosineMeaning | None = None) -> dict[str, Any]:
    """All of it as data; `before` is what the cosines of the base meant."""
    content: dict[str, Any] = {"model": meaning.model, "layer_and_pooling": meaning.reading}
    if meaning.calibration is not None:
        content |= _of_calibration(meaning.calibration)
    if meaning.random_pairs is not None:
        drawn = meaning.random_pairs
        cosines = np.quantile(drawn.cosines, [1 - share for share in _SHARES])
        content["random_pairs"] = {
            "text": drawn.text,
            "sentences": drawn.sentences,
            "pairs": len(drawn.cosines),
            "cosine": [rounded(cosine, _DIGITS) for cosine in cosines],
            "share": [rounded(share, _DIGITS) for share in _SHARES],
        }
    return content if before is None else {**content, "before": as_json(before)}


def _of_calibration(found: Calibration) -> dict[str, Any]:
    def of_share(share: Share | None) -> dict[str, Any] | None:
        if share is None:
            return None
        return {name: rounded(getattr(share, name), _DIGITS) for name in ("value", "low", "high")}

    def of_reliability(one: Reliability) -> dict[str, Any]:
        bins = [{"pairs": b.pairs, "predicted": rounded(b.predicted), "matches": of_share(b.matches)} for b in one.bins]
        return {
            "brier_score": rounded(one.brier, _DIGITS),
            "expected_calibration_error": rounded(one.error, _DIGITS),
            "bins": bins,
        }

    def of_threshold(one: Threshold) -> dict[str, Any]:
        numbers = {name: rounded(getattr(one, name), _DIGITS) for name in ("cosine", "low", "high")}
        return {"chosen_by": one.name, **numbers} | {
            name: of_share(getattr(one, name.lower())) for name in ("precision", "recall", F1)
        }

    curve = found.curve
    return {
        "match_from_gold_score": found.match,
        "dev": {"set": found.dev.name, "pairs": found.dev.pairs, "matches": found.dev.matches},
        "test": {"set": found.test.name, "pairs": found.test.pairs, "matches": found.test.matches},
        "probability": {
            "curve": found.chosen,
            "cross_validated_brier_score": {name: rounded(one, _DIGITS) for name, one in found.choice.scores.items()},
            "prevalence": rounded(found.dev.prevalence, _DIGITS),
            "cosine": [rounded(one, _DIGITS) for one in curve.cosines],
            "probability": [rounded(one, _DIGITS) for one in curve.probabilities],
        },
        "reliability": {name: of_reliability(one) for name, one in found.reliability.items()},
        "thresholds": [of_threshold(one) for one in found.thresholds],
    }
