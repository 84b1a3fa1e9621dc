"""Write a plan as one HTML file: which row is best and by how much, scores against cost, and the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.data import sources
from explorer.drawing.reports import standalone
from explorer.drawing.scores.score_by_cost import MethodMark, score_by_cost
from explorer.measuring.scores.verdict_text import CI, Sentence, kind_of
from explorer.studies.plans import plan_output
from explorer.studies.plans.plan import NO_TEST
from explorer.studies.plans.plan_table import TEST, Gain, PlanRow, PlanTable

MOST_NAMED = 3  # rows in a sentence
OPTIMISTIC = "Some training rows hold sentences of the test set, so scores are optimistic."
BEST_OF = (
    "The best of {} rows is chosen on the test set, so its score is optimistic. Intervals are the widest of the seeds' "
    "intervals, without a correction for the number of rows."
)
READ = "Further left is cheaper, higher is better. The line is the base; bars are 95 % intervals."


@dataclass(frozen=True)
class ScoredRow:
    """A row with the test scores of all its seeds."""

    row: PlanRow
    score: float
    gain: Gain

    @property
    def low(self) -> float:
        """The lower end of the score's interval, if its base is the same for all."""
        return self.score + self.gain.low - self.gain.mean

    @property
    def high(self) -> float:
        """The upper end."""
        return self.score + self.gain.high - self.gain.mean


def scored(found: PlanTable) -> list[ScoredRow]:
    """The rows whose seeds are all tested, the highest score first."""
    known = [(row, row.score(TEST), row.gain) for row in found.rows]
    rows = [ScoredRow(row, score.mean, gain) for row, score, gain in known if score is not None and gain is not None]
    return sorted(rows, key=lambda one: -one.score)


def verdict(found: PlanTable) -> Sentence | None:
    """The best row in one or two sentences; None before the first row is done.

    A row is called better than the base only if the interval of its difference excludes 0, and better than another row
    of the same base only if their intervals do not overlap.
    """
    rows = scored(found)
    if not rows:
        return None
    best, others = rows[0], rows[1:]
    so_far = "" if found.done == found.total else f", so far ({found.done} of {found.total} trainings)"
    alone = "is the first row with a score" if len(found.rows) > 1 else "has a score"
    tested = "has the highest score" if others else alone
    gain = best.gain
    test_set = sources.shown(best.row.cells[0].cell.recipe.test or NO_TEST)
    told = f"{best.row.label} {tested} on {test_set}{so_far}: {best.row.score(TEST)}, {gain.mean:+.2f} over the base "
    told += f"({CI} {gain.low:+.2f} to {gain.high:+.2f}). "
    told += "The interval includes 0, so the difference may be chance." if gain.low <= 0 <= gain.high else ""
    told = f"{told.strip()} {_over_others(best, others)}".strip()
    optimistic = _optimistic(rows)
    return Sentence(kind_of(gain.low, gain.high), f"{told} {OPTIMISTIC}" if optimistic else told, optimistic)


def _over_others(best: ScoredRow, others: list[ScoredRow]) -> str:
    """Whether another row of the same base could be as good."""
    base = _base(best)
    rivals = [one for one in others if _base(one) == base]
    overlapping = [one.row.label for one in rivals if one.high >= best.low]
    if overlapping:
        return f"Its interval overlaps with {_listed(overlapping)}: which of them is best may be chance."
    if rivals:
        of = "the other row" if len(rivals) == 1 else f"any of the {len(rivals)} other rows"
        return f"Its interval does not overlap with {of}."
    return ""


def _optimistic(rows: list[ScoredRow]) -> bool:
    """Whether a training text holds sentences of the test set."""
    done = [cell.done for one in rows for cell in one.row.cells]
    return any(one.verdict.optimistic for one in done if one is not None and one.verdict is not None)


def _base(one: ScoredRow) -> str:
    return one.row.cells[0].cell.recipe.model


def _listed(names: list[str]) -> str:
    shown = names[:MOST_NAMED]
    rest = len(names) - len(shown)
    if rest:
        return f"those of {', '.join(shown)} and {rest} more"
    return f"that of {shown[0]}" if len(shown) == 1 else f"those of {', '.join(shown[:-1])} and {shown[-1]}"


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


def marks(rows: Sequence[ScoredRow]) -> list[MethodMark]:
    """The rows as points of the figure of scores against cost."""
    return [
        MethodMark(one.row.label, one.row.seconds, one.gain.mean, one.gain.low, one.gain.high, str(one.row.score(TEST)))
        for one in rows
        if one.row.seconds is not None
    ]


def report(found: PlanTable) -> bytes:
    """The HTML file, of the table as it stands."""
    rows, told = scored(found), verdict(found)
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
