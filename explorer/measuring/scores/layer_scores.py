"""How well does every reading of an encoder agree with people on a set of graded pairs?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.encoding.read.readings import GRID_POOLINGS, OWN, Reading, Row
from explorer.errors import BadChoice
from explorer.measuring.scores.correlation import measured, pearson, spearman
from explorer.measuring.scores.pair_cosines import Cosines, pair_cosines
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

# why a layer and pooling without a score has none; the precision is put in
NOT_MEASURABLE = "not measurable in {}: switch precision to float32"

METRICS = {"Spearman": spearman, "Pearson": pearson}
AGGREGATES = ("all", "mean", "wmean")

# sentences that are tokenised between two looks at whether to stop
AT_A_TIME = 8192


@dataclass(frozen=True, eq=False)
class LayerScores:
    """One cosine per (row, pooling, pair), beside what people said, and how it was measured.

    The cosines of a layer and pooling that the precision cannot measure are all NaN.
    """

    rows: tuple[Row, ...]
    cosines: Cosines
    own: Cosines | None  # (pair), where the model declares a reading of its own
    own_title: str
    gold: NDArray[np.float64]
    parts: tuple[str, ...]
    precision: str
    device: str
    max_length: int
    truncated: int
    sentences: int
    seconds: float
    _known: dict[tuple[str, ...], NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False)

    @property
    def last(self) -> int:
        """The number of the last layer."""
        return max(row.layers[-1] for row in self.rows)

    @cached_property
    def has_parts(self) -> bool:
        """Whether the set is made of several sub-corpora."""
        return len(set(self.parts)) > 1

    @cached_property
    def silent_parts(self) -> tuple[str, ...]:
        """Sub-corpora without a correlation of their own: all their pairs have the same grade, or there is one pair."""
        names = np.array(self.parts)
        return tuple(name for name in dict.fromkeys(self.parts) if np.ptp(self.gold[names == name]) == 0)

    def table(self, metric: str = "Spearman", aggregate: str = "all") -> NDArray[np.float64]:
        """Scores × 100 as (row, pooling); NaN where the cosines are constant, or not measurable."""
        return self._agreement("grid", self.cosines, metric, aggregate)

    def own_score(self, metric: str = "Spearman", aggregate: str = "all") -> float | None:
        """The score × 100 of the reading the model declares, if it declares one."""
        return None if self.own is None else float(self._agreement("own", self.own, metric, aggregate))

    def _agreement(self, what: str, cosines: Cosines, metric: str, aggregate: str) -> NDArray[np.float64]:
        key = (what, metric, aggregate)
        if key not in self._known:
            self._known[key] = 100 * agreement(self.gold, cosines, self.parts, metric, aggregate)
        return self._known[key]

    def score(self, reading: Reading, metric: str = "Spearman", aggregate: str = "all") -> float:
        """The score × 100 of one reading."""
        if reading == OWN:
            own = self.own_score(metric, aggregate)
            return float("nan") if own is None else own
        return float(self.table(metric, aggregate)[self.place(reading)])

    def cosines_of(self, reading: Reading) -> Cosines:
        """The cosines (pair) of one reading."""
        if reading != OWN:
            row, column = self.place(reading)
            of_cell: Cosines = self.cosines[row, column]
            return of_cell
        if self.own is None:
            raise BadChoice("This model declares no reading of its own. Choose a layer and a pooling.")
        return self.own

    def is_measured(self, reading: Reading) -> bool:
        """Whether the precision shows how the pairs rank; where it does not, there are no cosines."""
        return not np.isnan(self.cosines_of(reading)).all()

    @cached_property
    def not_measured(self) -> tuple[Reading, ...]:
        """The layers and poolings that the precision cannot measure, and the model's own reading where it cannot."""
        own = (OWN,) if self.own is not None else ()
        grid = (Reading(row, pooling) for row in self.rows for pooling in GRID_POOLINGS)
        return tuple(reading for reading in (*grid, *own) if not self.is_measured(reading))

    def of_pairs(self, rows: Sequence[int]) -> LayerScores:
        """The scores of some of the pairs, such as a half of them; nothing is encoded again.

        How it was measured (sentences, cut sentences, seconds) stays that of all pairs.
        """
        at = np.asarray(rows, dtype=np.intp)
        own = None if self.own is None else self.own[at]
        parts = tuple(self.parts[row] for row in at)
        return replace(self, cosines=self.cosines[..., at], own=own, gold=self.gold[at], parts=parts)

    @property
    def told_not_measured(self) -> str:
        """What cannot be measured and what to do about it; nothing where all is measured."""
        titles = ", ".join(reading.title for reading in self.not_measured)
        return f"Not measurable in {self.precision}: {titles}. Switch precision to float32." if titles else ""

    def place(self, reading: Reading) -> tuple[int, int]:
        """Where a reading stands in the grid."""
        return self.rows.index(reading.row), GRID_POOLINGS.index(reading.pooling)

    def best(self, metric: str = "Spearman", aggregate: str = "all") -> Reading | None:
        """The reading with the highest score: a selection, since it is chosen on the pairs it is scored on."""
        table = self.table(metric, aggregate)
        if np.isnan(table).all():
            return None
        row, column = np.unravel_index(np.nanargmax(table), table.shape)
        return Reading(self.rows[row], GRID_POOLINGS[column])


def agreement(
    gold: NDArray[np.float64],
    system: NDArray[np.floating],
    parts: tuple[str, ...],
    metric: str,
    aggregate: str,
) -> NDArray[np.float64]:
    """A correlation of `gold` (pair) with `system` (…, pair): over all pairs, or averaged over the parts.

    `all` is one correlation of all pairs (SimCSE, ConIsI), `mean` the plain mean over sub-corpora and `wmean`
    the mean weighted by their sizes (BERT-flow, BERT-whitening): three numbers that papers print as one.
    """
    check_agreement(metric, aggregate)
    correlation = METRICS[metric]
    if aggregate == "all":
        return correlation(gold, system)
    names = np.array(parts)
    corpora = [names == name for name in dict.fromkeys(parts)]
    each = np.stack([correlation(gold[inside], system[..., inside]) for inside in corpora])
    sizes = None if aggregate == "mean" else [inside.sum() for inside in corpora]
    return np.average(each, axis=0, weights=sizes)


def check_agreement(metric: str, aggregate: str) -> None:
    """Whether there is such a metric, and such a way to join sub-corpora."""
    if metric not in METRICS:
        raise BadChoice(f"There is no metric '{metric}'. Allowed: {', '.join(METRICS)}.")
    if aggregate not in AGGREGATES:
        raise BadChoice(f"There is no way '{aggregate}' to join sub-corpora. Allowed: {', '.join(AGGREGATES)}.")


def score_layers(encoder: Encoder, pairs: GradedPairs, max_length: int | None = None) -> Work[LayerScores]:
    """Read every sentence once and compare the two of every pair under every reading.

    Only cosines are kept: the vectors of a chunk of pairs are dropped before the next one is read.
    """
    started = time.perf_counter()
    ids, truncated = yield from _tokens(encoder, pairs, max_length)
    cosines, own = yield from pair_cosines(encoder, pairs, ids)
    return LayerScores(
        rows=encoder.rows,
        cosines=measured(cosines, encoder.precision),
        own=None if own is None else measured(own, encoder.precision),
        own_title=encoder.head.describe() if encoder.head else "",
        gold=np.array(pairs.gold, dtype=np.float64),
        parts=pairs.parts,
        precision=encoder.precision,
        device=encoder.device,
        max_length=encoder.limit(max_length),
        truncated=truncated,
        sentences=len(pairs.sentences),
        seconds=time.perf_counter() - started,
    )


def _tokens(encoder: Encoder, pairs: GradedPairs, max_length: int | None) -> Work[tuple[list[list[int]], int]]:
    """Every sentence as tokens, and how many were cut: some thousands at a time, so that a large set can be stopped."""
    ids: list[list[int]] = []
    truncated = 0
    for start in range(0, len(pairs.sentences), AT_A_TIME):
        yield Progress("tokenising sentences", start, len(pairs.sentences))
        some = encoder.tokens(pairs.sentences[start : start + AT_A_TIME], max_length)
        ids += some.ids
        truncated += some.truncated
    return ids, truncated
