"""Write a plan as one HTML file: the verdict, the sets, scores against cost, and the table."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.data import sources
from explorer.drawing.reports import standalone
from explorer.drawing.scores.score_by_cost import MethodMark, score_by_cost
from explorer.studies.plans import plan_output, plan_verdict
from explorer.studies.plans.plan_table import TEST, PlanTable
from explorer.studies.plans.plan_verdict import Scored

BEST_OF = (
    "The best of {} rows is chosen on the test set, so its score is optimistic. Intervals are the widest of the seeds' "
    "intervals, without a correction for the number of rows."
)
READ = "Further left is cheaper, higher is better. The line is the base; bars are 95 % intervals."


def sets_in_words(found: PlanTable) -> str:
    """`dev set: STS-B dev · test set: STS-B test`."""
    dev, test = (" or ".join(map(sources.shown, names)) for names in found.sets)
    return f"dev set: {dev} · test set: {test}"


def how_in_words(found: PlanTable) -> str:
    """What the numbers of the table are."""
    return (
        f"{', '.join(found.measures)} × 100. The row of the base is what is subtracted. An empty cell is a number that "
        "is not there, such as a mean that lacks a seed."
    )


def marks(rows: Sequence[Scored]) -> list[MethodMark]:
    """The rows as points of the figure of scores against cost."""
    return [
        MethodMark(one.row.label, one.row.seconds, one.gain.mean, one.gain.low, one.gain.high, str(one.row.score(TEST)))
        for one in rows
        if one.row.seconds is not None
    ]


def report(found: PlanTable) -> bytes:
    """The HTML file, of the table as it stands."""
    rows, told = plan_verdict.scored(found), plan_verdict.verdict(found)
    header, lines = plan_output.written(found)
    body = []
    if told is not None:
        body.append(standalone.verdict(told.kind, ((told.word, True), (f": {told.detail}", False))))
    body.append(standalone.note(sets_in_words(found)))
    if len(rows) > 1:
        body.append(standalone.note(BEST_OF.format(len(rows))))
        body.append(standalone.picture(score_by_cost(marks(rows)), "Score against cost", READ))
    body += [
        standalone.heading("Table"),
        standalone.table([dict(zip(header, line, strict=True)) for line in lines]),
        standalone.note(how_in_words(found)),
    ]
    return standalone.page(f"Plan {found.plan.name}", body)
