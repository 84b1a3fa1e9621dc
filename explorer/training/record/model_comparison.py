"""Compare the scores of two models and judge them, under their model defaults if a run tuned one from the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.measuring.comparing.comparison import Comparison, Differences
from explorer.measuring.comparing.comparison_verdict import ComparisonVerdict, judge, judged
from explorer.training.record.tuned_pair import tuning

if TYPE_CHECKING:
    from explorer.data.kinds import GradedPairs
    from explorer.encoding.locate.model_names import Found


@dataclass(frozen=True, eq=False)
class Compared:
    """Two models under the chosen layers & poolings, and the verdict on them."""

    comparison: Comparison
    differences: Differences
    verdict: ComparisonVerdict


def compared(
    found: tuple[Found, Found], pairs: GradedPairs, comparison: Comparison, ways: tuple[str, str], seed: int = 0
) -> Compared:
    """Differences with intervals, and the verdict."""
    differences = comparison.differences(*ways, seed=seed)
    tuned = tuning(found, pairs.name)
    about = judged(comparison, tuned)
    gap = differences.chosen if about is comparison else about.chosen(*ways, seed=seed)
    return Compared(comparison, differences, judge(found, pairs, about, gap, ways, tuned))
