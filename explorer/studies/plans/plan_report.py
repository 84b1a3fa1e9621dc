"""Write a plan as one HTML file: which row is best and by how much, scores against cost, and the table."""

from collections.abc import Sequence

from explorer.data import sources
from explorer.drawing.reports import standalone
from explorer.drawing.scores.curves import MethodMark, score_by_cost
from explorer.measuring.scores.verdict import CHANCE, CI, Sentence, Verdict
from explorer.studies.plans.plan import NO_TEST
from explorer.studies.plans.plan_table import TEST, PlanRow, PlanTable, written

MOST_NAMED = 3  # rows in a sentence
OPTIMISTIC = "Some training rows hold sentences of the test set, so scores are optimistic."
BEST_OF = (
    "The best of {} rows is chosen on the test set, so its score is optimistic. Intervals are the widest of the seeds' "
    "intervals, without a correction for the number of rows."
)
READ = "Further left is cheaper, higher is better. The line is the base; bars are 95 % intervals."


def scored(found: PlanTable) -> list[tuple[PlanRow, Verdict]]:
    """The rows whose seeds are all tested, with their verdict, the highest score first."""
    rows = [(row, verdict) for row in found.rows if (verdict := row.verdict) is not None]
    return sorted(rows, key=lambda one: -one[1].known[1])


def verdict(found: PlanTable) -> Sentence | None:
    """The best row in one or two sentences; None before the first row is done.

    A row is called better than the base only if the interval of its difference excludes 0, and better than another row
    of the same base only if their intervals do not overlap.
    """
    rows = scored(found)
    if not rows:
        return None
    (best, gain), *others = rows
    so_far = "" if found.done == found.total else f", so far ({found.done} of {found.total} trainings)"
    alone = "is the first row with a score" if len(found.rows) > 1 else "has a score"
    tested = "has the highest score" if others else alone
    test_set = sources.shown(best.cells[0].recipe.test or NO_TEST)
    _, _, difference, low, high = gain.known
    text = f"{best.label} {tested} on {test_set}{so_far}: {best.score(TEST)}, {difference:+.2f} over the base "
    text += f"({CI} {low:+.2f} to {high:+.2f}). "
    text += "The interval includes 0, so the difference may be chance. " if gain.kind == CHANCE else ""
    # whether another row of the same base could be as good as the first, by the intervals of their scores
    model, (lowest, _) = best.cells[0].recipe.model, _ends(gain)
    rivals = [(row, other) for row, other in others if row.cells[0].recipe.model == model]
    overlapping = [row.label for row, other in rivals if _ends(other)[1] >= lowest]
    if overlapping:
        text += f"Its interval overlaps with {_listed(overlapping)}: which of them is best may be chance."
    elif rivals:
        of = "the other row" if len(rivals) == 1 else f"any of the {len(rivals)} other rows"
        text += f"Its interval does not overlap with {of}."
    text = text.strip()
    done = [cell.done for row, _ in rows for cell in row.cells]
    # a training text holds sentences of the test set
    optimistic = any(one.verdict.optimistic for one in done if one is not None and one.verdict is not None)
    return Sentence.of(gain.kind, f"{text} {OPTIMISTIC}" if optimistic else text, optimistic)


def _ends(verdict: Verdict) -> tuple[float, float]:
    """The interval of a score, if its base is the same for all."""
    _, score, difference, low, high = verdict.known
    return score + low - difference, score + high - difference


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


def marks(rows: Sequence[tuple[PlanRow, Verdict]]) -> list[MethodMark]:
    """The rows as points of the figure of scores against cost."""
    made = []
    for row, verdict in rows:
        if row.seconds is not None:
            _, _, gain, low, high = verdict.known
            made.append(MethodMark(row.label, row.seconds, gain, low, high, str(row.score(TEST))))
    return made


def report(found: PlanTable) -> bytes:
    """The HTML file, of the table as it stands."""
    rows, parts = scored(found), verdict(found)
    header, lines = written(found)
    body = []
    if parts is not None:
        body.append(standalone.verdict(parts))
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
