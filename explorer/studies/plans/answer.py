"""Answer from a plan that gives advice whether to fine-tune, in one sentence, and what would help if not.

There are three answers. Yes: the best method is better than the base beyond chance. No: it was tried, and what it can
gain is little. Cannot tell: the rows that judge are too few for what was seen; how many would tell is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from explorer import in_words, typed_json
from explorer.data import sources, text_sets
from explorer.data.graded.sets import CROSS_FITTED
from explorer.drawing.reports import standalone
from explorer.measuring.comparing.nothing_learned import BELOW, IN_FOLDS
from explorer.measuring.comparing.verdict_sentence import Sentence, elsewhere
from explorer.measuring.scores import judge
from explorer.measuring.scores.calibration import LEAST
from explorer.measuring.scores.in_use import AtRecall, FoundFirst, InUse, TooFewMatches, in_use
from explorer.measuring.scores.judge import Gap, Share
from explorer.measuring.scores.metrics import AVERAGE_PRECISION, HIGH, SPEARMAN
from explorer.measuring.scores.verdict import BETTER, CHANCE, CI, UNKNOWN, UNLEARNED, WORSE, of_best
from explorer.studies.plans import plan_report, plan_table, row_curve
from explorer.studies.plans.advice import Advice
from explorer.studies.plans.execution import spent
from explorer.studies.plans.extension import best_row, trials
from explorer.studies.plans.plan_folder import FINISHED, PlanStatus
from explorer.studies.plans.plan_table import TEST, PlanRow, PlanTable
from explorer.studies.plans.seeds import wider_smallest
from explorer.training.record import recorder
from explorer.training.record.status import Status

TITLE = "Should I fine-tune?"
YES, NO, CANNOT, OPEN = "Yes", "No", "Cannot tell", "Not known yet"
# points × 100: a gain that may be larger is worth more rows, also where none was seen
COARSE, LARGE = 1.0, 5.0
MOST_TIMES = 100  # as many rows that a gain needs are worth naming
MOVED = (BELOW, IN_FOLDS)  # why nothing was learned although the weights moved
CHOSEN = "The method is the one with the highest dev score, so its test score is not chosen by the test set."
CHOSEN_BY_ROWS = (
    "The method is the one with the highest score on the rows that judge all of them, so its interval is as wide as it "
    "has to be for the best of so many (Bonferroni)."
)
INTERVALS = "Intervals hold the chance of the rows that judge and, with several seeds, of the training."


@dataclass(frozen=True)
class Answer:
    """The answer, the row that it is of, whether more text would help, and what else would."""

    word: str  # yes, no, cannot tell, or not known yet
    sentence: Sentence
    best: PlanRow | None = None
    gap: Gap | None = None  # the difference to the base, with the interval of the best of all that was tried
    smallest: float | None = None  # gain × 100 that the items could have told from chance
    needed: int | None = None  # items that tell what was seen
    elsewhere: Sentence | None = None  # on sets that it was not trained for
    rows: str = ""
    helps: tuple[str, ...] = ()
    unscored: str = ""  # the sets elsewhere that runs lack
    run: str = ""  # the run with the best dev score of that row, whose model the answer is of
    in_use: AtRecall | FoundFirst | TooFewMatches | None = None  # what a product needs to know of that model
    in_use_text: str = ""

    @property
    def text(self) -> str:
        """All of it in words."""
        second = self.elsewhere.text if self.elsewhere else ""
        lines = self.sentence.text, second, self.unscored, self.rows, *self.helps, self.in_use_text
        return "\n".join(filter(None, lines))


def answer(found: PlanTable, advice: Advice, status: PlanStatus, wanted: InUse | None = None) -> Answer:
    """The answer as the table stands; it is known once every method is trained with one seed."""
    waiting = [row.label for row in found.rows if row.label in advice.costs and row.cells[0].done is None]
    tested = trials(found, advice)
    if not tested or (waiting and status.state != FINISHED):  # the others may be better
        done = f"{found.done} of {found.total} trainings are done"
        ended = "; ".join(dict.fromkeys(filter(None, [*status.failures.values(), status.error])))
        return Answer(OPEN, _sentence(OPEN, UNKNOWN, f"{done}. {ended}".strip()))
    seconds, _ = spent(status.id, [cell.run for row in found.rows for cell in row.cells])
    took = f"; {in_words.duration(seconds)} of training in all" if seconds else ""
    missing = [*waiting, *advice.failures]
    took += f"; not trained: {', '.join(missing)}" if missing else ""
    best = best_row(found, advice)
    if best is None:
        return _unmoved(tested, took)
    reached = _of_best(found, advice, best, tested, took)
    chosen = max(best.cells, key=lambda cell: _score(cell.done))
    if chosen.run is None:
        return reached
    known = in_use(recorder.in_use(chosen.run, chosen.seed), (wanted or InUse()).recall)
    text = _in_use_text(known, sources.shown(advice.data.test))
    text = f"Of the model of {chosen.run.name}: {text}" if text and len(best.cells) > 1 else text
    return replace(reached, run=chosen.run.name, in_use=known, in_use_text=text)


def _of_best(found: PlanTable, advice: Advice, best: PlanRow, tested: Sequence[PlanRow], took: str) -> Answer:
    """The answer by the best of the methods whose models moved."""
    verdict = best.verdict
    assert verdict is not None, "a best row is tested with every seed"
    before, after, *ends = verdict.known
    tried = len(tested) if advice.data.is_folded else 1
    gap = of_best(Gap(*ends), tried)
    runs = [cell.done for cell in best.cells if cell.done]
    measure, model = runs[0].facts.measure_of(TEST), sources.shown(best.cells[0].recipe.model)
    wider = wider_smallest(tried)
    smallest = verdict.smallest_gain and verdict.smallest_gain * wider
    # items grow with the square of what is to be told
    needed = round(verdict.items_needed * wider**2) if verdict.items_needed else None
    optimistic = any(one.verdict.optimistic for one in runs if one.verdict is not None)
    shown = in_words.gap(before, after)
    word, lead = _word(gap, shown, verdict.kind, smallest, needed, advice, measure)
    seen = f"{in_words.signed(shown)}, {in_words.ends(shown, gap.low, gap.high)}"
    text = f"{best.label} on {_rows(best, runs)}{_blended(runs)}: {measure} {in_words.arrow(before, after)} on "
    text += f"{sources.shown(str(best.cells[0].recipe.test or ''))} ({seen}){took}."
    if unmoved := [row.label for row in tested if row.nothing == len(row.cells)]:
        text += f" Nothing was learned with {', '.join(unmoved)}."
    text = f"{lead} The best is {text}" if lead else text
    curves = [one for one in row_curve.curves(found) if one.points[-1].row.label == best.label]
    kind = {YES: BETTER, CANNOT: CHANCE}.get(word, WORSE if gap.fell else CHANCE)
    return Answer(
        word,
        _sentence(word, kind, f"{text} {plan_report.OPTIMISTIC}" if optimistic else text, optimistic),
        best,
        gap,
        smallest,
        needed if word == CANNOT else None,
        elsewhere(best.elsewhere),
        plan_report.of_rows(curves[0]).text if curves else "",
        () if word == YES else helps(advice, measure, before, model),
        plan_report.unscored(found),
    )


def _word(
    gap: Gap, shown: float, kind: str, smallest: float | None, needed: int | None, advice: Advice, measure: str
) -> tuple[str, str]:
    """The answer, and why, before what it is of; yes only if training made the model better, not the pooling alone.

    The difference is `shown` as that of both scores.
    """
    if gap.rose and kind == BETTER:
        return YES, ""
    if gap.fell or gap.high <= 0:
        return NO, "tried, and each method makes the model worse."
    if gap.high <= (LARGE if gap.difference <= 0 else COARSE):
        return NO, f"tried, and not better by more than {in_words.bound(gap.high)} {measure}."
    items, rows = advice.data.test_items, "rows" if advice.data.test == CROSS_FITTED else "test items"
    shows = (
        f"could show a gain of {in_words.number(smallest, 1)} {measure} or more"
        if smallest is not None
        else "are too few to show a gain"
    )
    enough = needed is not None and items < needed <= MOST_TIMES * items
    more = f"; with about {_roughly(needed or 0)} {rows} it could be told" if enough else ""
    return CANNOT, f"{items:,} {rows} {shows}; what was seen is {in_words.signed(shown)} {measure}{more}."


def _in_use_text(known: AtRecall | FoundFirst | TooFewMatches | None, test: str) -> str:
    """What a product needs to know of the base and of the model, in a sentence; "" of other sets."""
    if known is None:
        return ""
    if isinstance(known, TooFewMatches):
        return (
            f"The precision at a stated recall needs {LEAST} pairs that match and {LEAST} that do not: the {known.use} "
            f"set has {known.matches:,} and {known.others:,}."
        )
    if isinstance(known, FoundFirst):
        ten = f"among the first 10 for {_before_and_after(known.ten, known.ten_gap)}"
        first = f"at rank 1 for {_before_and_after(known.first, known.first_gap)}, and " if known.first else ""
        return f"Of {known.queries:,} queries of {test}, a right passage is {first}{ten}."
    chosen = f"the dev set ({known.dev_pairs:,} pairs)" if known.dev_pairs else "these pairs"
    recall = " → ".join(_percent(one) for one in known.found)
    return (
        f"At a recall of {100 * known.recall:g} %, precision is {_before_and_after(known.precision, known.gap)} on "
        f"{test} ({known.pairs:,} pairs, {judge.percent(known.matches / known.pairs)} of them match); threshold "
        f"{in_words.arrow(*known.thresholds, digits=3)}, chosen on {chosen}, with a recall of {recall} there."
    )


def _before_and_after(shares: tuple[Share, Share], gap: Gap | None) -> str:
    """`71.2 % before and 80.4 % after, +9.2 points (95 % CI +5.0 to +13.1)`."""
    before, after = shares
    text = f"{_percent(before.value)} before and {_percent(after.value)} after"
    if gap is None:
        return text
    shown = in_words.gap(100 * before.value, 100 * after.value, digits=1)
    return f"{text}, {in_words.change(shown, gap.low, gap.high, digits=1, label=CI)}"


def _percent(share: float) -> str:
    return f"{in_words.number(100 * share, 1)} %"


def _roughly(count: int) -> str:
    """A number with its first two digits."""
    return f"{round(count, 2 - len(str(count))):,}"


def _unmoved(tested: Sequence[PlanRow], took: str) -> Answer:
    """The answer where nothing was learned with any method: no, if all weights moved; else nothing was tried."""
    found = [
        (row.label, nothing)
        for row in tested
        for nothing in [next(cell.done.facts.nothing for cell in row.cells if cell.done)]
        if nothing is not None
    ]
    word = NO if all(one.why in MOVED for _, one in found) else CANNOT
    lead = "tried, and nothing was learned" if word == NO else "nothing was learned, so that nothing was tried"
    reasons = "; ".join(f"{label}: {one.reason}" for label, one in found)
    helps = tuple(dict.fromkeys(one.next_step for _, one in found))
    return Answer(word, _sentence(word, UNLEARNED, f"{lead}. {reasons}{took}."), helps=helps)


def _sentence(word: str, kind: str, text: str, optimistic: bool = False) -> Sentence:
    return Sentence(kind, ((word + " (optimistic)" * optimistic, True), (": ", False), (text, False)))


def _score(status: Status | None) -> float:
    """What the model of a run was chosen by: its dev score, or that of the rows that judge it."""
    verdict = status.verdict if status else None
    found = verdict and (verdict.dev or verdict.test)
    return -math.inf if not found or found.after is None else found.after


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


def helps(advice: Advice, measure: str, before: float, model: str) -> tuple[str, ...]:
    """What would help where nothing is gained beyond chance over a base with this score `before`."""
    data, texts = advice.data, []
    if before >= HIGH and measure != AVERAGE_PRECISION:  # which is high by chance where most pairs match
        of = f"{'a' if measure == SPEARMAN else 'an'} {measure}"  # an average precision, an nDCG@10, an accuracy
        texts.append(f"The base already has {of} of {in_words.number(before, 1)}: test it on harder rows.")
    if advice.amount.rows < data.rows:
        texts.append(f"{advice.amount.rows:,} of {data.rows:,} rows fit the time limit: a higher limit trains on more.")
    if data.of_kind == text_sets.SENTENCES:
        texts.append(
            "Sentences alone teach little that a tuned model does not know. Pairs that mean the same, or pairs with "
            "scores, teach what similar means in your text."
        )
    if not data.own_test and not advice.options.test:
        texts.append(
            f"The answer is of {sources.shown(data.test)}, not of your text. Score 50 or more pairs of your own "
            "text, and name them as the test set."
        )
    if not texts:
        wrong = " or rows that the base gets wrong" * (data.of_kind != text_sets.LABELLED_TEXTS)
        texts.append(f"Try a base other than {model},{wrong}." if wrong else f"Try a base other than {model}.")
    return tuple(texts)


def how_chosen(advice: Advice) -> str:
    """How the method was chosen, and what its interval holds."""
    return f"{CHOSEN_BY_ROWS if advice.data.is_folded else CHOSEN} {INTERVALS}"


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
        "in_use": found.in_use and {"sentence": found.in_use_text, **asdict(found.in_use)},
        "verdict": typed_json.written(verdict),
        "difference": found.gap and asdict(found.gap),
        "smallest_gain": found.smallest,
        "items_needed": found.needed,
        "data": typed_json.written(advice.data),
        "state": status.state,
        "left_out": status.left_out,
        "failures": dict(status.failures),
        "plan": plan_table.as_json(table),
    }


def report(found: PlanTable, advice: Advice, status: PlanStatus, wanted: InUse | None = None) -> bytes:
    """The answer as one HTML file: the sentence, what was read, scores against cost and rows, and the table."""
    given = answer(found, advice, status, wanted)
    lines = [one for one in (given.sentence, given.elsewhere) if one is not None]
    first = [*map(standalone.verdict, lines), *map(standalone.note, given.helps)]  # what more rows bring follows
    first += [standalone.note(given.in_use_text)] * bool(given.in_use_text)
    first += [standalone.heading("The text"), *map(standalone.note, advice.data.lines)]
    first += [standalone.heading("What was trained"), standalone.note(how_chosen(advice))]
    return plan_report.report(found, first, f"{TITLE} {sources.shown(advice.data.source)}")
