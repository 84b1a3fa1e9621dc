"""Answer from a plan that gives advice whether to fine-tune, in one sentence, and what would help if not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from explorer import in_words
from explorer.data import sources, text_sets
from explorer.drawing.reports import standalone
from explorer.measuring.scores.metrics import SPEARMAN
from explorer.measuring.scores.verdict import BETTER, CHANCE, UNKNOWN, WORSE, Sentence, elsewhere
from explorer.studies.plans import plan_report, plan_table, row_curve
from explorer.studies.plans.advice import Advice, best_row
from explorer.studies.plans.execution import spent
from explorer.studies.plans.plan_folder import FINISHED, PlanStatus
from explorer.studies.plans.plan_table import TEST, PlanRow, PlanTable
from explorer.training.loop.estimate import HIGH
from explorer.training.record.status import Status

TITLE = "Should I fine-tune?"
YES, NO, OPEN = "Yes", "No", "Not known yet"
COARSE = 1.0  # points × 100: a smaller gain should not be lost in the interval
REASONS = {
    CHANCE: "no method is significantly better than {model}",
    WORSE: "the best method by dev score makes {model} worse",
}
CHOSEN = (
    "The method is the one with the highest dev score, so its test score is not chosen by the test set. Intervals are "
    "the widest of the seeds' intervals."
)


@dataclass(frozen=True)
class Answer:
    """The answer, the row that it is of, whether more text would help, and what else would."""

    sentence: Sentence
    best: PlanRow | None = None
    elsewhere: Sentence | None = None  # on sets that it was not trained for
    rows: str = ""
    helps: tuple[str, ...] = ()
    unscored: str = ""  # the sets elsewhere that runs lack
    run: str = ""  # the run with the best dev score of that row, whose model the answer is of

    @property
    def word(self) -> str:
        """Yes, no, or not known yet."""
        return {BETTER: YES, UNKNOWN: OPEN}.get(self.sentence.kind, NO)

    @property
    def text(self) -> str:
        """All of it in words."""
        second = self.elsewhere.text if self.elsewhere else ""
        return "\n".join(filter(None, [self.sentence.text, second, self.unscored, self.rows, *self.helps]))


def answer(found: PlanTable, advice: Advice, status: PlanStatus) -> Answer:
    """The answer as the table stands; it is known once every method is trained on all rows."""
    best = best_row(found, advice)
    waiting = [row for row in found.rows if row.label in advice.costs and row.verdict is None]
    if best is None or (waiting and status.state != FINISHED):  # the others may be better
        done = f"{found.done} of {found.total} trainings are done"
        ended = "; ".join(dict.fromkeys(filter(None, [*status.failures.values(), status.error])))
        return Answer(_sentence(UNKNOWN, f"{done}. {ended}".strip()))
    verdict = best.verdict
    assert verdict is not None, "a best row is tested with every seed"
    before, after, gap, low, high = verdict.known
    tuned = [cell.done for cell in best.cells if cell.done]
    test, measure = sources.shown(best.cells[0].recipe.test or ""), tuned[0].facts.measure_of(TEST)
    model = sources.shown(best.cells[0].recipe.model)
    named = f"{measure} " * (measure != SPEARMAN)
    text = f"{best.label} on {_rows(best, tuned)}{_blended(tuned)}: {named}{before:.2f} → {after:.2f} on {test} "
    text += f"({gap:+.2f}, {low:+.2f} to {high:+.2f})"
    seconds, _ = spent(status.id, [cell.run for row in found.rows for cell in row.cells])
    if seconds:
        text += f"; {in_words.duration(seconds)} of training in all"
    if missing := [*(row.label for row in waiting), *advice.failures]:
        text += f"; not trained with every seed: {', '.join(missing)}"
    if verdict.kind != BETTER:
        text = f"{REASONS[verdict.kind].format(model=model)}. By dev score the best is {text}"
    optimistic = any(one.verdict.optimistic for one in tuned if one.verdict is not None)
    curves = [one for one in row_curve.curves(found) if one.points[-1].row.label == best.label]
    rows = plan_report.of_rows(curves[0]).text if curves else ""
    chosen = max(best.cells, key=lambda cell: _dev(cell.done))
    return Answer(
        _sentence(verdict.kind, f"{text}. {plan_report.OPTIMISTIC}" if optimistic else f"{text}.", optimistic),
        best,
        elsewhere(best.elsewhere),
        rows,
        () if verdict.kind == BETTER else helps(advice, measure, (before, gap, high)),
        plan_report.unscored(found),
        chosen.run.name if chosen.run else "",
    )


def _sentence(kind: str, text: str, optimistic: bool = False) -> Sentence:
    word = {BETTER: YES, UNKNOWN: OPEN}.get(kind, NO) + " (optimistic)" * optimistic
    return Sentence(kind, ((word, True), (": ", False), (text, False)))


def _dev(status: Status | None) -> float:
    dev = status.verdict.dev if status and status.verdict else None
    return -math.inf if dev is None or dev.exported is None else dev.exported


def _rows(best: PlanRow, tuned: Sequence[Status]) -> str:
    """What the method was trained on, counted in its own rows: a scored pair has two sentences."""
    kind, facts = best.cells[0].recipe.kind.rows.title, tuned[0].facts
    if facts.drawn is not None:
        return f"{facts.drawn.rows:,} of the {facts.drawn.of:,} {kind}"
    return f"all {facts.rows or 0:,} {kind}"


def _blended(tuned: Sequence[Status]) -> str:
    """The shares of the tuned weights over the seeds, if the saved models have a part of the base's."""
    shares = sorted({one.facts.blend for one in tuned if one.facts.blend is not None})
    if not shares or shares == [1.0]:
        return ""
    return f", blended at {shares[0]:g}" + (f" to {shares[-1]:g}" if len(shares) > 1 else "")


def helps(advice: Advice, measure: str, found: tuple[float, float, float]) -> tuple[str, ...]:
    """What would help where nothing is gained beyond chance.

    Found are the base's score, the difference to it, and the most that it can be.
    """
    (before, gap, high), data = found, advice.data
    texts = []
    if before >= HIGH:
        texts.append(f"The base already has a {measure} of {before:.1f}: test it on harder rows.")
    if advice.rows < data.rows:
        texts.append(f"{advice.rows:,} of {data.rows:,} rows fit the time limit: a higher limit trains on more.")
    if high > COARSE:
        texts.append(
            f"On {data.test_items:,} test items a gain below about {high - gap:.1f} points cannot be told from chance, "
            f"and a gain of up to {high:.1f} is possible: a larger test set narrows the interval."
        )
    if data.of_kind == text_sets.SENTENCES:
        texts.append(
            "Sentences alone teach little that a tuned model does not know. Pairs that mean the same, or pairs with "
            "scores, teach what similar means in your text."
        )
    if not data.own_test and not advice.options.test:
        texts.append(
            f"The answer is of {sources.shown(data.test)}, not of your text. Score 50 or more pairs of your own text, "
            "and name them as the test set."
        )
    if not texts:
        more = "another base model, or rows that the base gets wrong" if measure == SPEARMAN else "another base model"
        texts.append(f"Neither more text nor a larger test set promises more; try {more}.")
    return tuple(texts)


def as_json(found: Answer, advice: Advice, status: PlanStatus, table: PlanTable) -> dict[str, Any]:
    """The answer and all numbers behind it, unrounded."""
    verdict = found.best.verdict if found.best else None
    return {
        "answer": found.word,
        "sentence": found.sentence.text,
        "elsewhere": found.elsewhere and {"kind": found.elsewhere.kind, "sentence": found.elsewhere.text},
        "more_rows": found.rows,
        "what_would_help": found.helps,
        "best_row": found.best and found.best.label,
        "run": found.run,
        "verdict": verdict and asdict(verdict),
        "data": asdict(advice.data),
        "state": status.state,
        "left_out": status.left_out,
        "failures": dict(status.failures),
        "plan": plan_table.as_json(table),
    }


def report(found: PlanTable, advice: Advice, status: PlanStatus) -> bytes:
    """The answer as one HTML file: the sentence, what was read, scores against cost and rows, and the table."""
    given = answer(found, advice, status)
    lines = [one for one in (given.sentence, given.elsewhere) if one is not None]
    first = [*map(standalone.verdict, lines), *map(standalone.note, given.helps)]  # what more rows bring follows
    first += [standalone.heading("The text"), *map(standalone.note, advice.data.lines)]
    first += [standalone.heading("What was trained"), standalone.note(CHOSEN)]
    return plan_report.report(found, first, f"{TITLE} {sources.shown(advice.data.source)}")
