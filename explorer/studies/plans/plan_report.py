"""Write a plan as one HTML file: which row is best and by how much, scores against cost, and the table."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from explorer import in_words
from explorer.data import sources
from explorer.drawing.reports import standalone
from explorer.drawing.scores.costs import MethodMark, RowMark, score_by_cost, score_by_rows
from explorer.evaluating.results.table_formats import shown
from explorer.measuring.comparing.verdict_sentence import Sentence, elsewhere
from explorer.measuring.scores.verdict import BETTER, CI, UNKNOWN, WORSE, Verdict, by_training
from explorer.studies.plans import plan_file, row_curve
from explorer.studies.plans.plan import NO_TEST
from explorer.studies.plans.plan_columns import written
from explorer.studies.plans.plan_table import TEST, PlanRow, PlanTable
from explorer.studies.plans.row_curve import RowCurve, RowPoint
from explorer.studies.plans.seeds import ONE_SEED
from explorer.training.loop.preparing import LIBRARIES
from explorer.training.record.status import Status
from explorer.typed_numbers import percent_in

MOST_NAMED = 3  # rows in a sentence
UNSCORED = (
    "Not scored elsewhere on {}. A finished run keeps the sets that it was scored on; Compare shows its base and its "
    "model on any set."
)
OPTIMISTIC = "Some training rows hold sentences of the test set, so scores are optimistic."
BEST_OF = (
    "The best of {} rows is chosen on the test set, so its score is optimistic. Intervals hold the chance of the test "
    "items and, with several seeds, of the training, without a correction for the number of rows."
)
LITTLE = 1.0  # points × 100: a larger gain is worth more text
NO_ITEMS = "not known, since a run or the test set is no longer there. Train its row again."
MORE_SEEDS = "Train with three seeds."
UNTRAINED = "nothing was learned with {} rows, so that this says nothing of more text."
READ_ROWS = (
    "Higher is better; each doubling has the same width. The line is the base; bars are the 95 % intervals of the "
    "difference to it. Differences between numbers of rows are paired by seed and test item, their intervals hold the "
    "chance of items and seeds, and for each seed the rows of a smaller number are among those of a larger one."
)
READ = "Further left is cheaper, higher is better. The line is the base; bars are 95 % intervals."


def scored(found: PlanTable) -> list[tuple[PlanRow, Verdict]]:
    """The rows whose seeds are all tested, with their verdict, the highest score first."""
    rows = [(row, verdict) for row in found.rows if (verdict := row.verdict) is not None]
    return sorted(rows, key=lambda one: -one[1].known[1])


def verdict(found: PlanTable) -> Sentence | None:
    """The best row in one or two sentences; None before the first row is done.

    A row is called better than the base only if the interval of its difference excludes 0, and better than another row
    of the same base only if their intervals do not overlap. The best of several is optimistic: the test set chose it.
    """
    rows = scored(found)
    if not rows:
        return None
    (best, gain), *others = rows
    so_far = "" if found.done == found.total else f", so far ({found.done} of {found.total} trainings)"
    alone = "is the first row with a score" if len(found.rows) > 1 else "has a score"
    tested = "has the highest score" if others else alone
    test_set = sources.shown(str(best.cells[0].recipe.test or NO_TEST))
    over = f"{in_words.signed(gain.shown_difference)} over the base ({CI} {gain.ends()}){by_training(gain)}. "
    text = f"{best.label} {tested} on {test_set} ({_measure(best)}){so_far}: {best.score(TEST)}, {over}"
    _, _, _, low, high = gain.known
    text += "The interval includes 0, so the difference may be chance. " if low <= 0 <= high else ""
    # whether another row of the same base could be as good as the first, by the intervals of their scores; numbers of
    # training rows are compared pair by pair, in a sentence of their own
    recipe, (lowest, _) = best.cells[0].recipe, _ends(gain)
    of_curve = row_curve.of_any_rows(recipe)
    rivals = [
        (row, other)
        for row, other in others
        if row.cells[0].recipe.model == recipe.model and row_curve.of_any_rows(row.cells[0].recipe) != of_curve
    ]
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
    # the test set chose the best of several rows
    return Sentence.of(gain.kind, f"{text} {OPTIMISTIC}" if optimistic else text, optimistic or bool(others))


def forgotten(found: PlanTable) -> Sentence | None:
    """What the best row costs elsewhere; None if its runs were scored on no such set."""
    rows = scored(found)
    return elsewhere(rows[0][0].elsewhere, f"Elsewhere, {rows[0][0].label}") if rows else None


def unscored(found: PlanTable) -> str:
    """The sets elsewhere that finished runs lack; "" if none is missing."""
    every = [f"{sources.shown(name)}: {', '.join(names)}" for name, names in found.unscored.items()]
    return UNSCORED.format("; ".join(every)) if every else ""


def _measure(row: PlanRow) -> str:
    """What the test score of a row is."""
    done = row.cells[0].done
    return done.facts.measure_of(TEST) if done else ""


def _ends(verdict: Verdict) -> tuple[float, float]:
    """The interval of a score, if its base is the same for all."""
    _, score, difference, low, high = verdict.known
    return score + low - difference, score + high - difference


def _listed(names: list[str]) -> str:
    first = names[:MOST_NAMED]
    rest = len(names) - len(first)
    if rest:
        return f"those of {', '.join(first)} and {rest} more"
    return f"that of {first[0]}" if len(first) == 1 else f"those of {', '.join(first[:-1])} and {first[-1]}"


def sets_in_words(found: PlanTable) -> str:
    """`dev set: STS-B dev · test set: STS-B test`."""
    dev, test = (" or ".join(map(sources.shown, names)) for names in found.sets)
    return f"dev set: {dev} · test set: {test}"


def how_in_words(found: PlanTable) -> str:
    """What the numbers of the table are."""
    return (
        f"{', '.join(found.measures)} × 100. The row of the base is what is subtracted. An empty cell was not "
        "measured; a mean of some of the seeds says so, and a difference needs all of them."
    )


def marks(rows: Sequence[tuple[PlanRow, Verdict]]) -> list[MethodMark]:
    """The rows as points of the figure of scores against cost."""
    made = []
    for row, verdict in rows:
        if row.seconds is not None:
            _, _, gain, low, high = verdict.known
            made.append(MethodMark(row.label, row.seconds, gain, low, high, str(row.score(TEST)), verdict.gap))
    return made


def of_rows(curve: RowCurve, named: bool = False) -> Sentence:
    """What the last step to more training rows brought, what a doubling brought, and whether more text would help."""
    fewer, more = curve.points[-2:]
    measure = _measure(more.row)
    gain, each = curve.gains[-1], curve.per_doubling
    shares = all(percent_in(point.stated) is not None for point in (fewer, more))
    step = f"{fewer.stated} to {more.stated} of your rows" if shares else f"{fewer.rows:,} to {more.rows:,} rows"
    text = f"{curve.label}, from {step}: " if named else f"From {step}: "
    if curve.untrained:
        rows = " and with ".join(f"{one.rows:,}" for one in curve.untrained)
        return Sentence.of(UNKNOWN, text + UNTRAINED.format(rows))
    if not gain.known:
        alone = gain.difference is not None and curve.seeds == 1
        seen = f"{measure} {in_words.signed(gain.shown_difference)}"
        why = f"{seen}; {ONE_SEED}. {MORE_SEEDS}" if alone else NO_ITEMS
        return Sentence.of(UNKNOWN, text + why)
    text += f"{measure} {gain.gap}. "
    if each.kind == BETTER and (len(curve.points) > 2 or more.rows != 2 * fewer.rows):
        text += f"Each doubling from {curve.points[0].rows:,} rows on brought {measure} {each.gap}. "
    text += outlook(curve)
    done = [cell.done for point in curve.points for cell in point.row.cells]
    optimistic = any(one.verdict.optimistic for one in done if one is not None and one.verdict is not None)
    return Sentence.of(gain.kind, text, optimistic)


def outlook(curve: RowCurve) -> str:
    """Whether more of the same text would help, by the last step of a curve; "" if its gain is not known."""
    gain = curve.gains[-1]
    if not gain.known:
        return ""
    if gain.kind != BETTER and 0 < curve.rows_read <= curve.points[-2].rows:
        return (
            f"All trainings are of {curve.fixed_steps:,} steps, which read {curve.rows_read:,} rows: too few to show "
            "what more rows bring. Leave steps out, so that they grow with the rows."
        )
    if gain.kind == BETTER:
        return "More of the same text would probably help."
    if gain.kind == WORSE:
        return "More of the same text does not help."
    if gain.known[-1] <= LITTLE:
        return "More of the same text is unlikely to help."
    return (
        f"Whether more of the same text helps is not known: a gain of up to {in_words.number(gain.known[-1])} "
        f"{_measure(curve.points[-1].row)} is possible. A larger test set narrows the interval."
    )


def about_rows(found: Sequence[RowCurve]) -> str:
    """How many steps each number of rows is trained for, and how the figure of the curves is read."""
    steps = "; ".join(dict.fromkeys(", ".join(f"{one.steps:,}" for one in curve.points) for curve in found))
    if all(curve.fixed_steps for curve in found):
        trained = f"Every number of rows is trained for the same steps ({found[0].fixed_steps:,})"
    else:
        trained = f"Steps grow with the rows, since epochs are the same ({steps} steps)"
    return f"{trained}. {READ_ROWS}"


def row_lines(found: Sequence[RowCurve]) -> dict[str, list[RowMark]]:
    """The points of the figure of scores by rows, by the name of their curve."""
    return {curve.label: [_row_mark(point) for point in curve.points] for curve in found}


def _row_mark(point: RowPoint) -> RowMark:
    low, high = _ends(point.verdict)
    text = f"{point.row.label}, {point.rows:,} rows: {_measure(point.row)} {point.row.score(TEST)}; "
    text += f"difference to the base {point.verdict.gap}"
    share = point.stated if percent_in(point.stated) is not None else ""
    return RowMark(point.rows, share, point.verdict.known[1], low, high, f"{text}; {point.steps:,} steps")


def bases(found: Sequence[RowCurve]) -> dict[str, float]:
    """The test score of each base under its model default."""
    return {
        f"base {sources.shown(point.recipe.model)}": point.verdict.known[0] for curve in found for point in curve.points
    }


def repeating(found: PlanTable) -> list[str]:
    """What repeats a plan: the numbers of each seed, the plan itself, versions and the day; without folders of here."""
    measure = " or ".join(found.measures)
    runs = [
        {
            "row": row.label,
            "seed": cell.seed,
            "run": cell.run.name if cell.run else "",
            "updates": cell.done.step,
            "seconds": round(cell.done.seconds),
            **_scores(cell.done, measure),
        }
        for row in found.rows
        for cell in row.cells
        if cell.done is not None
    ]
    plan = found.plan
    named: dict[str, Any] = {name: sources.shown(getattr(plan, name)) for name in ("dev", "test")}
    named["data"] = tuple(tuple(map(sources.shown, texts)) for texts in plan.data)
    without_folders = replace(plan, models=tuple(map(sources.shown, plan.models)), **named)
    used = ", ".join(f"{name} {version}" for name, version in in_words.versions(LIBRARIES).items())
    return [
        standalone.heading("To repeat it"),
        *([standalone.table(runs, {"seed": 0, "updates": 0, "seconds": 0})] if runs else []),
        standalone.note("Save this as plan.yaml, with the paths of your files, and give: python -m explorer plan FILE"),
        standalone.code(plan_file.as_yaml(without_folders)),
        standalone.note(f"Written on {time.strftime('%d %B %Y').lstrip('0')} with {used}."),
    ]


def _scores(done: Status, measure: str) -> dict[str, object]:
    """Base and tuned model of a run on its test set, and their difference."""
    test = done.verdict.test if done.verdict else None
    if test is None:
        return {}
    numbers = {"base": test.before, "tuned": test.after, "difference": test.shown_difference}
    return {f"{name}, {measure}": number for name, number in numbers.items()}


def report(found: PlanTable, first: Sequence[str] = (), title: str = "") -> bytes:
    """The HTML file, of the table as it stands; `first` is HTML in place of the verdict on the best row."""
    rows, parts = scored(found), verdict(found)
    header, lines = shown(*written(found))
    body = list(first)
    if not first:
        body += [standalone.verdict(one) for one in (parts, forgotten(found)) if one is not None]
    body.append(standalone.note(sets_in_words(found)))
    if len(rows) > 1 and not first:  # the answer above it says how it was chosen
        body.append(standalone.note(BEST_OF.format(len(rows))))
    if len(rows) > 1:
        body.append(
            standalone.picture(score_by_cost(marks(rows), " or ".join(found.measures)), "Score against cost", READ)
        )
    if missing := unscored(found):
        body.append(standalone.note(missing))
    curves = row_curve.curves(found)
    if curves:
        body += [standalone.heading("Score by training rows")]
        body += [standalone.verdict(of_rows(curve, len(curves) > 1)) for curve in curves]
        figure = score_by_rows(row_lines(curves), bases(curves), " or ".join(found.measures))
        body.append(standalone.picture(figure, "Score by training rows", about_rows(curves)))
    body += [
        standalone.heading("Table"),
        standalone.table([dict(zip(header, line, strict=True)) for line in lines]),
        standalone.note(how_in_words(found)),
        *repeating(found),
    ]
    return standalone.page(title or f"Plan {found.plan.name}", body)
