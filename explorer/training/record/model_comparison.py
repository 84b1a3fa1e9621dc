"""Judge two models by their scores; where a run tuned one from the other, as people use both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_verdict import ComparisonVerdict, judge, judged
from explorer.measuring.comparing.learned import ProbeChanges
from explorer.measuring.comparing.learned_text import NOT_HELD_OUT
from explorer.measuring.scores.measure import Settings
from explorer.training.record.tuned_pair import packs_held_out, tuning

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


def known_probes(
    found: tuple[Found, Found], verdict: ComparisonVerdict, settings: Iterable[Settings]
) -> ProbeChanges | None:
    """The changes of the probe packs without encoding: as the run measured them, or none if they are not held out.

    A run measures in float32; None under other settings, and of models that no run tuned one from the other.
    """
    if not packs_held_out(found):
        return ProbeChanges(why_none=NOT_HELD_OUT)
    exact = {(one.precision, one.max_length) for one in settings} == {("float32", None)}
    return verdict.tuning.probes if exact and verdict.tuning and verdict.tuning.probes.packs else None
