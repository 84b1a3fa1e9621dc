"""Judge two models by their scores; where a run tuned one from the other, as people use both."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_verdict import ComparisonVerdict, judge, judged
from explorer.training.record.tuned_pair import tuning

if TYPE_CHECKING:
    from explorer.data.kinds import NamedSet
    from explorer.encoding.locate.model_names import Found
    from explorer.measuring.scores.bootstrap import Interval


def verdict_on(
    found: tuple[Found, Found],
    pairs: NamedSet,
    comparison: Comparison,
    ways: tuple[str, str],
    difference: Callable[[Comparison], Interval],
) -> tuple[Comparison, ComparisonVerdict]:
    """What the verdict compares, and the verdict; `difference` gives B minus A for a comparison."""
    tuned = tuning(found, pairs.digest)
    about = judged(comparison, tuned)
    return about, judge(found, pairs, about, difference(about), ways, tuned)
