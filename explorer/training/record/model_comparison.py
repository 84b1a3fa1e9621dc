"""Judge two models by their scores; where a run tuned one from the other, as people use both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from explorer import run_folder
from explorer.errors import StrataError
from explorer.measuring.comparing.comparison import Comparison, ComparisonVerdict, Tuning, judge, judged
from explorer.measuring.comparing.learned import NOT_HELD_OUT, NOTHING, ProbeChanges
from explorer.measuring.scores.measure import Settings
from explorer.training.record import runs
from explorer.training.record.run_facts import REPORT

if TYPE_CHECKING:
    from explorer.data.text_sets import NamedSet
    from explorer.encoding.locate.model_names import Found
    from explorer.measuring.scores.bootstrap import Interval
    from explorer.training.recipe import Recipe
    from explorer.training.record.runs import Run


def tuning(found: tuple[Found, Found], pairs: str) -> Tuning | None:
    """The tuned model of two, if the other is the base of its run; `pairs` is the digest of what they are scored on."""
    for place in (1, 0):
        run = run_of(found[place])
        recipe = None if run is None else _recipe(run)
        if run is None or recipe is None or found[1 - place].digest != recipe.digest_of("model"):
            continue
        status = run.status()
        seen = bool(status.facts.seen) and pairs == recipe.digest_of("test")
        # a checkpoint is no best one, so what the run measured is not of it
        verdict = (
            status.verdict if run_folder.model_of(found[place].folder) == run_folder.model_name(run.name) else None
        )
        measured = ProbeChanges(verdict.packs, verdict.pairs) if verdict else NOTHING
        return Tuning(place, status.facts.reading, seen, measured, status.facts.listed(REPORT))
    return None


def packs_held_out(found: tuple[Found, Found]) -> bool:
    """Whether neither model is of a run whose text holds the probe packs, or whose checkpoint they chose."""
    runs_of = filter(None, map(run_of, found))
    return all(run.status().facts.packs_held_out is not False for run in runs_of)


def run_of(found: Found) -> Run | None:
    """The run of a model or of a checkpoint; None for any other model."""
    name = run_folder.model_of(found.folder)
    if name is None:
        return None
    try:
        return runs.find(run_folder.run_and_checkpoint(name)[0])
    except StrataError:
        return None  # a folder without a recipe


def _recipe(run: Run) -> Recipe | None:
    """The recipe of a run; None if it cannot be read."""
    try:
        return run.recipe()
    except StrataError:
        return None


def verdict_on(
    found: tuple[Found, Found],
    pairs: NamedSet,
    comparison: Comparison,
    metric: str,
    aggregate: str,
    difference: Callable[[Comparison], Interval],
) -> tuple[Comparison, ComparisonVerdict]:
    """What the verdict compares, and the verdict; `difference` gives B minus A for a comparison."""
    tuned = tuning(found, pairs.digest)
    about = judged(comparison, tuned)
    return about, judge(found, pairs, about, difference(about), metric, aggregate, tuned)


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
