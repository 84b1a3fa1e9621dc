"""Judge vectors by an evaluation set: a number for each of its items, a score over all, and differences of two.

The kinds of sets are classes in `evaluating/kinds`. What changed on the probe packs is here, too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data import sample
from explorer.data.set_items import ItemSet
from explorer.measuring.scores import bootstrap, metrics, power

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]

# of the right answer of an item its rank and its cosine, and the place of what ranks first: what scores come from
RANK, COSINE, FIRST = DETAILS = "rank", "cosine", "first"
TOP_FIFTH = 0.8  # of the range of gold scores: the papers take 4 on a scale from 0 to 5
HALF = 0.5  # of cases: what a coin would get right


class Judge(ABC):
    """An evaluation set, and how the vectors of its texts are scored on it."""

    in_windows: int = 0  # how many passages are longer than the limit, and read in several windows
    before: Judge | None = None  # of the base as people use it, if it differs (its own prompts)

    def __init__(self, given: ItemSet) -> None:
        self.given = given
        self.name, self.digest, self.item, self.pool = given.name, given.digest, given.item, given.pool

    def __len__(self) -> int:
        return len(self.given)

    def __eq__(self, other: object) -> bool:
        """Whether another one is of the same content, and scored by the same measure."""
        return isinstance(other, type(self)) and (self.digest, self.measure) == (other.digest, other.measure)

    def __hash__(self) -> int:
        return hash((type(self), self.digest))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The texts of its items, without prompts: of queries with what is relevant to them."""
        return self.given.sentences

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """What is encoded, each text once."""
        return self.sentences

    @property
    @abstractmethod
    def measure(self) -> str:
        """The name of the score."""

    @abstractmethod
    def items(self, vectors: Tensor) -> Floats:
        """What each item gets from the vectors (text, width)."""

    def by_measure(self, vectors: Tensor) -> dict[str, Floats]:
        """What each item gets by every measure of the set, the main one first, and what else there is to tell of it.

        `RANK` is the rank of its right answer, NaN if that is not found, `COSINE` the cosine to it, and `FIRST` the
        place of what ranks first among all that is searched.
        """
        return {self.measure: self.items(vectors)}

    @property
    def why_no_score(self) -> str:
        """Why no vectors have a score on the set, as in `metrics.why_no_score`; "" if they can have one."""
        return ""

    @property
    def is_settled(self) -> bool:
        """Whether it is ready to judge; if not, a part of it can be chosen by vectors first, which is quicker."""
        return True

    def settled(self, vectors: Tensor) -> Judge:
        """The judge with what is best for these vectors."""
        return self

    def score(self, items: Floats, precision: str = "float32") -> float:
        """The score × 100, by default the mean; NaN if there is none, or if the rounding of the precision loses it."""
        return 100 * float(items.mean())

    def difference(self, one: Floats, other: Floats) -> bootstrap.Interval:
        """The score of the `other` items minus that of the `one`, with its interval."""
        return bootstrap.mean_difference(one, other)

    def spread(self, one: Floats, other: Floats, gap: bootstrap.Interval) -> power.Spread | None:
        """How much two models with this difference differ from item to item; None if that is not known."""
        return power.of_items(one, other)

    def alike(self, vectors: Tensor) -> Floats:
        """The cosines of texts that belong together, by default of none: rows of one class need not be similar."""
        return np.empty(0)

    def in_use(self, use: str, sides: Mapping[str, Floats]) -> dict[str, Floats]:
        """What `in_use` needs of what each item gets from the models before and after, by its name in a run's file."""
        return {}


PACKS = "packs"  # the use of the probe packs, beside those of evaluation sets


def percent(share: float) -> str:
    """A share from 0 to 1 in whole percent: `3 %`."""
    return f"{100 * share:.0f} %"


@dataclass(frozen=True)
class Share:
    """A share of couples from 0 to 1, and its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """`3 %`, alike on every page and in every command."""
        return percent(self.value)


@dataclass(frozen=True)
class Gap:
    """A difference with its interval."""

    difference: float
    low: float
    high: float

    @classmethod
    def of(cls, gap: bootstrap.Interval) -> Gap | None:
        """A difference of scores × 100 as plain numbers; None if one is missing."""
        found = cls(*map(float, (gap.difference, gap.low, gap.high)))
        return found if all(map(math.isfinite, (found.difference, found.low, found.high))) else None

    @property
    def rose(self) -> bool:
        """Whether the interval is above 0."""
        return self.low > 0

    @property
    def fell(self) -> bool:
        """Whether the interval is below 0."""
        return self.high < 0

    @property
    def is_sure(self) -> bool:
        """Whether the interval excludes 0."""
        return self.rose or self.fell


@dataclass(frozen=True)
class PackChange:
    """How often two models place a paraphrase above a pair of a pack, and the interval of the change.

    The interval is so wide that those of all packs hold together with 95 % (Bonferroni): of six packs, one would
    otherwise seem to change by chance in every fourth comparison.
    """

    name: str
    pairs: int
    before: Share
    after: Share
    low: float
    high: float
    training: Gap | None = None  # the part of the change that is due to training; None if all of it is
    most: float | None = None  # the upper end of the share after, of intervals that hold together; None in older runs

    @property
    def missed(self) -> bool:
        """Whether the model after places a paraphrase above a pair less often than a coin would, beyond chance."""
        return (self.after.high if self.most is None else self.most) < HALF

    @property
    def difference(self) -> float:
        """The share after minus the share before."""
        return self.after.value - self.before.value

    @property
    def rose(self) -> bool:
        """Whether the share rose by more than chance, and by training: another pooling alone teaches nothing."""
        return self.low > 0 and (self.training is None or self.training.rose)

    @property
    def fell(self) -> bool:
        """Whether the share fell by more than chance, and by training."""
        return self.high < 0 and (self.training is None or self.training.fell)

    @property
    def by_pooling(self) -> bool:
        """Whether the share changed by more than chance, but not by training."""
        return Gap(self.difference, self.low, self.high).is_sure and not (self.rose or self.fell)

    @property
    def digits(self) -> int:
        """Of its shares, their difference and its interval in percent, as in `in_words.agreeing_digits`."""
        shown = self.before.value, self.after.value, self.low, self.high
        return in_words.agreeing_digits(*(100 * one for one in shown))

    @property
    def points(self) -> float:
        """The difference × 100, of the shares as they are shown."""
        return in_words.gap(100 * self.before.value, 100 * self.after.value, digits=self.digits)

    @property
    def shares(self) -> str:
        """Both shares: `3 → 63 %`."""
        return f"{in_words.arrow(100 * self.before.value, 100 * self.after.value, digits=self.digits)} %"

    @property
    def ends(self) -> str:
        """The interval of the difference in points: `+47 to +71`."""
        return in_words.ends(self.points, 100 * self.low, 100 * self.high, digits=self.digits)


@dataclass(frozen=True)
class PairChange:
    """A pair of a probe pack, and its cosines under two models."""

    pack: str
    first: str
    second: str
    before: float
    after: float


def pack_changes(
    before: Mapping[str, Floats], after: Mapping[str, Floats], as_trained: Mapping[str, Floats] | None = None
) -> tuple[PackChange, ...]:
    """The change of every pack whose pairs differ in meaning, from the cosines (pair) of each pack under two models.

    `as_trained` are those of the model before under the layer & pooling of the one after, if it is another one.
    """
    names = [name for name in before if name != sample.PARAPHRASE]
    alike = before[sample.PARAPHRASE].tobytes(), after[sample.PARAPHRASE].tobytes()
    share = (1 - bootstrap.LEVEL) / len(names) if names else 1.0
    found = (_pack_change(name, *alike, before[name].tobytes(), after[name].tobytes(), share) for name in names)
    if as_trained is None:
        return tuple(found)
    parts = (Gap(one.difference, one.low, one.high) for one in pack_changes(as_trained, after))
    return tuple(replace(one, training=part) for one, part in zip(found, parts, strict=True))


@lru_cache(maxsize=256)
def _pack_change(name: str, same_one: bytes, same_other: bytes, one: bytes, other: bytes, outside: float) -> PackChange:
    """The change of one pack from bytes, cached: every rerun of a page asks for it again."""
    alike, apart = ([np.frombuffer(side) for side in sides] for sides in ((same_one, same_other), (one, other)))
    first, second = (metrics.in_order(same[:, None], pair[None, :]) for same, pair in zip(alike, apart, strict=True))
    low, high = bootstrap.couple_ends(second - first, outside)
    before, after = (share_above(same, pair) for same, pair in zip(alike, apart, strict=True))
    most = share_above(alike[1], apart[1], outside=outside).high
    return PackChange(name, len(apart[0]), before, after, low, high, most=most)


def share_above(
    one: Floats, other: Floats, *, outside: float = 1 - bootstrap.LEVEL, resamples: int = bootstrap.RESAMPLES
) -> Share:
    """The share of couples in which `one` (pair) is above `other` (pair), with its interval.

    Both lists are resampled, pairs and not couples, because couples that have a pair in common are not independent;
    the interval leaves a share of the resamples `outside`. A share of 0 or 1 is the same in every resample: there, the
    open end is the exact binomial bound of the shorter list.
    """
    return _share_above(one.tobytes(), other.tobytes(), outside, resamples)


@lru_cache(maxsize=1024)
def _share_above(one_bytes: bytes, other_bytes: bytes, outside: float, resamples: int) -> Share:
    """The share from bytes, cached: every rerun of a page asks for the shares of all packs again."""
    couples = metrics.in_order(np.frombuffer(one_bytes)[:, None], np.frombuffer(other_bytes)[None, :])
    value = float(couples.mean())
    low, high = bootstrap.couple_ends(couples, outside, resamples)
    bound = float(1 - (outside / 2) ** (1 / min(couples.shape)))
    return Share(value, min(low, 1 - bound) if value == 1 else low, max(high, bound) if value == 0 else high)


def of_packs(packs: Sequence[sample.Pack], items: Floats) -> dict[str, Floats]:
    """Numbers of pairs (pair) by the pack of the pair, where the packs follow each other."""
    parts = np.split(items, np.cumsum([len(pack) for pack in packs])[:-1])
    return {pack.name: np.ascontiguousarray(part) for pack, part in zip(packs, parts, strict=True)}
