"""Propose a plan that measures whether to fine-tune on a text within a time limit, and work it off.

First every method that fits is trained on all rows with one seed. What is left of the time limit is used for what tells
most then: further seeds, a half and a quarter of the rows for the best method, another learning rate for it, and again
seeds. All of them are rows and seeds of one plan, which is stopped, resumed and shown like every plan; advice.json in
its folder has what was read of the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace

from explorer import places, typed_json
from explorer.data import sources
from explorer.data.text_sets import KINDS, digest_of
from explorer.encoding.locate import lookup, model_names
from explorer.errors import BadChoice, StrataError
from explorer.knobs import Knobs, knob
from explorer.progress import Progress, Work
from explorer.studies.plans import amounts, execution, own_data, plan_folder, plan_table
from explorer.studies.plans.amounts import Amount, TrainingCost
from explorer.studies.plans.own_data import OwnData
from explorer.studies.plans.plan import Plan, PlanBudget, Variant
from explorer.studies.plans.plan_folder import FINISHED, STOPPED, PlanFolder, PlanStatus
from explorer.studies.plans.plan_table import DEV, TEST, PlanRow, PlanTable
from explorer.studies.recipe_runs import is_finished, is_of_plan
from explorer.training import running
from explorer.training.record.runs import Run

ADVICE = "advice.json"
MOST_SEEDS = 30
PARTS = (2, 4)  # a half and a quarter of the rows, of the best method
LEAST_PART = 10  # rows of a small text
OTHER_RATE = 3.0  # by which the learning rate of the best method is raised, or lowered if nothing was gained


@dataclass(frozen=True)
class AdviceOptions(Knobs):
    """What an answer is sought for: the model, the time limit, and sets and methods in place of the proposed ones."""

    model: str = knob(lookup.BUNDLED, metavar="MODEL", help="The model: a name, a folder, a hub id, or run:NAME.")
    minutes: float = knob(
        30.0,
        low=1,
        high=10_000,
        title="Time limit in minutes",
        help="How long the trainings may take. Seeds and rows are chosen so that they fit; no training is started that "
        "is not expected to end within the limit.",
    )
    dev: str = knob(
        "",
        metavar="FILE|NAME",
        empty="a part of the text",
        help="The set that chooses checkpoint, share of the tuned weights, and method.",
    )
    test: str = knob(
        "",
        metavar="FILE|NAME",
        empty="a part of the text, or the sample's test half for text without labels",
        help="The set that the answer is of.",
    )
    method: tuple[str, ...] = knob((), repeated=True, help="A method to try.", empty="those that fit the text")
    max_length: int | None = knob(
        None,
        item=int,
        low=3,
        high=8192,
        title="Maximum length",
        help="Most tokens that a training reads of a text; the rest of longer ones is not read.",
        empty="each method's own, mostly 128",
    )


@dataclass(frozen=True)
class Advice:
    """What was read of a text, and what the rows of its plan cost that are trained on the most of it; advice.json."""

    data: OwnData = field(default_factory=lambda: OwnData(""))
    options: AdviceOptions = field(default_factory=AdviceOptions)
    amount: Amount = field(default_factory=Amount)  # the most that is trained on
    costs: Mapping[str, TrainingCost] = field(default_factory=dict)  # by row
    failures: Mapping[str, str] = field(default_factory=dict)  # methods that are not trained on it, and why


@dataclass(frozen=True)
class Proposal:
    """A plan for a text, and the seconds that it is expected to take before it is extended."""

    plan: Plan
    advice: Advice
    seconds: float

    @property
    def cut(self) -> tuple[str, ...]:
        """Of which methods a text is longer than is read, in words; methods that read alike are one line."""
        methods: dict[str, list[str]] = {}
        for method, cost in self.advice.costs.items():
            if cost.cut is not None and cost.cut.text:
                methods.setdefault(cost.cut.text, []).append(method)
        return tuple(f"{', '.join(of)}: {text}" for text, of in methods.items())


def proposal(data: OwnData, options: AdviceOptions, name: str = "") -> Work[Proposal]:
    """The largest plan that is expected to end within the time limit, from one step of each method."""
    fitting = options.method or own_data.candidates(data.of_kind, folded=data.is_folded)
    costs: dict[str, TrainingCost] = {}
    failures: dict[str, str] = {}
    for place, method in enumerate(fitting):
        yield Progress(f"one step of {method}", place, len(fitting))
        try:
            costs[method] = yield from amounts.cost(data, method, options.model, options.max_length)
        except StrataError as error:
            failures[method] = str(error)
    if not costs:
        raise StrataError(f"No method can be trained on {sources.shown(data.source)}: {'; '.join(failures.values())}")
    found = _fitting(data, costs, options.minutes * 60)
    while found is None and len(costs) > 1 and not options.method:
        failures[costs.popitem()[0]] = f"There is no time for it in {options.minutes:g} minutes."
        found = _fitting(data, costs, options.minutes * 60)
    if found is None:
        raise _too_short(data, options, costs)
    amount, seconds = found
    variants = tuple(_variant(data, method, cost, amount, options.max_length) for method, cost in costs.items())
    plan = Plan(
        name or usual_name(data, options),
        models=(options.model,),
        data=((data.train,),),
        variants=variants,
        seeds=(1,),
        dev=data.dev,
        test=data.test,
        budget=PlanBudget(minutes=options.minutes),
    )
    return Proposal(plan, Advice(data, options, amount, costs, failures), seconds)


def _too_short(data: OwnData, options: AdviceOptions, costs: Mapping[str, TrainingCost]) -> BadChoice:
    """The error for a limit that allows no training, with what would."""
    seconds, rows = min((_seconds(costs.values(), 1, amount), amount.rows) for amount in amounts.amounts(data))
    example = ""
    if data.tested.is_scored and data.test_items > own_data.FEW:
        example = f", or evaluation sets with fewer items, such as '{data.tested.drawn(own_data.FEW)}'"
    return BadChoice(
        f"{options.minutes:g} minutes do not suffice: {', '.join(costs)} on {rows:,} rows with one seed takes about "
        f"{seconds / 60:.1f} minutes. Raise the time limit, or choose a smaller model{example}."
    )


def in_text(found: Proposal) -> str:
    """What is proposed: `2 methods (…) on all 60 rows with one seed; then, as far as the time limit allows, …`."""
    plan, advice = found.plan, found.advice
    labels = [one.label for one in plan.variants]
    rows = f"all {advice.amount.rows:,} rows"
    rows = rows if advice.amount.rows == advice.data.rows else f"{advice.amount.rows:,} rows"
    named = f"{len(labels)} methods ({', '.join(labels)})" if len(labels) > 1 else labels[0]
    best = "the best of them" if len(labels) > 1 else "it"
    parts = [_share_in_words(part) for part in PARTS if _has_part(advice, part)]
    fewer = f"{best} on {' and '.join(parts)} of the rows and " if parts else f"{best} "
    return (
        f"{named} on {rows} with one seed; then, as far as the time limit allows, further seeds, {fewer}with another "
        "learning rate"
    )


def _share_in_words(part: int) -> str:
    return {2: "half", 4: "a quarter"}[part]


def usual_name(data: OwnData, options: AdviceOptions) -> str:
    """The name of the plan, the same for the same text, model and options, so that it goes on where it ended."""
    word = re.sub(r"[^A-Za-z0-9]+", "-", sources.shown(data.source)).strip("-")[:30] or "text"
    model = model_names.find(options.model).digest
    stated = {name: value for name, value in asdict(options).items() if value is not None}
    return f"advice-{word}-{digest_of((json.dumps([asdict(data), stated, model]),))[:6]}"


def begin(found: Proposal, *, of_app: bool = False) -> PlanFolder:
    """Make the folder of a proposed plan."""
    execution.check(found.plan)
    folder = plan_folder.new(found.plan, of_app=of_app)
    text = json.dumps(asdict(found.advice), ensure_ascii=False, indent=1)
    places.write_whole(folder.folder / ADVICE, lambda file: file.write(text.encode("utf-8", "surrogatepass")))
    given = found.advice
    expected = {label: cost.seconds(given.amount) for label, cost in given.costs.items()}
    folder.put(replace(folder.status(), expected=expected))
    return folder


def of_folder(folder: PlanFolder) -> Advice | None:
    """What a plan gives advice on; None if it is any other plan."""
    try:
        found = typed_json.read(Advice, typed_json.parsed((folder.folder / ADVICE).read_bytes()))
    except (OSError, ValueError):
        return None
    return found if found and found.data.kind in [kind.name for kind in KINDS] else None


def execute(folder: PlanFolder, train: execution.Train = running.train) -> Work[PlanStatus]:
    """Work off any plan; one that gives advice is extended as long as its time limit allows.

    Seeds that the time limit did not allow for every method are taken out, since a mean over other seeds would mislead.
    """
    status: PlanStatus = yield from execution.execute(folder, train)
    advice, done = of_folder(folder), -1
    while advice is not None and status.state == FINISHED:
        plan = folder.plan()
        found = plan_table.table(plan)
        seeds, more = whole_seeds(found, advice) or plan.seeds, _extended(found, advice, status)
        if folder.stop_requested() and (more or seeds != plan.seeds):  # between two of its parts
            status = replace(status, state=STOPPED)
            folder.put(status)
        elif seeds != plan.seeds:
            folder.redefine(replace(plan, seeds=seeds))
        elif more is not None and found.done > done:  # what was added last could be trained
            # before they are rows of the plan: it may be killed in between, and keeps the limit by what is expected
            folder.put(replace(status, expected={**status.expected, **more.expected}))
            folder.redefine(more.plan)
        else:
            break
        done = found.done
        if status.state == FINISHED:
            status = yield from execution.execute(folder, train)
    return status


def trials(found: PlanTable, advice: Advice) -> list[PlanRow]:
    """The rows that an answer is chosen from, with the seeds that all of them have: every method and learning rate."""
    seeds, fewer = whole_seeds(found, advice), _rows_stated(found.plan)
    every = (
        replace(row, cells=tuple(cell for cell in row.cells if cell.seed in seeds))
        for row in found.rows
        if row.label not in fewer
    )
    return [row for row in every if row.cells and row.verdict is not None]


def best_row(found: PlanTable, advice: Advice) -> PlanRow | None:
    """Of the trials whose models moved, the one with the highest dev score; None before one has it.

    Where folds choose, there is no other score than that of the rows that they judge.
    """
    column = TEST if advice.data.is_folded else DEV
    moved = (row for row in trials(found, advice) if row.nothing < len(row.cells))
    scores = [(score.mean, row) for row in moved if (score := row.score(column)) is not None]
    return max(scores, key=lambda one: one[0])[1] if scores else None


def whole_seeds(found: PlanTable, advice: Advice) -> tuple[int, ...]:
    """The seeds with which every method was trained that could be trained at all."""
    rows = [row for row in found.rows if row.label in advice.costs]
    done = [{cell.seed for cell in row.cells if cell.done} for row in rows]
    trained = [seeds for seeds in done if seeds]
    return tuple(seed for seed in found.plan.seeds if all(seed in seeds for seeds in trained)) if trained else ()


def other_models(found: PlanTable, status: PlanStatus, keep: str) -> list[Run]:
    """The runs that were trained for an answer and have a model, but for the one whose model it is of (`keep`).

    Runs that other plans had trained before are not its own.
    """
    own = (cell.run for row in found.rows for cell in row.cells if cell.run is not None)
    every = {run.name: run for run in own if run.has_model and is_of_plan(run, status.id) and is_finished(run)}
    return [run for name, run in every.items() if name != keep]


def _rows_stated(plan: Plan) -> list[str]:
    """The labels of the rows of a plan with fewer training rows than its first."""
    most = plan.variants[0].settings.get("rows") if plan.variants else None
    return [one.label for one in plan.variants if one.settings.get("rows") != most]


@dataclass(frozen=True)
class Extension:
    """A plan with something more, and the seconds of a training for each of the new rows."""

    plan: Plan
    seconds: float  # of all its new trainings
    expected: Mapping[str, float] = field(default_factory=dict)


def _extended(found: PlanTable, advice: Advice, status: PlanStatus) -> Extension | None:
    """The first extension that is expected to end within the time limit; None if there is none."""
    minutes = found.plan.budget.minutes
    taken, _ = execution.spent(status.id, [cell.run for row in found.rows for cell in row.cells])
    left = math.inf if minutes is None else minutes * 60 - taken
    return next((one for one in _extensions(found, advice) if one.seconds < left), None)


def _extensions(found: PlanTable, advice: Advice) -> Iterator[Extension]:
    """What can be added to a plan, what tells most first."""
    plan, seeds = found.plan, len(found.plan.seeds)
    took = {row.label: max((one.done.seconds for one in row.cells if one.done), default=0.0) for row in found.rows}
    more = Extension(replace(plan, seeds=(*plan.seeds, max(plan.seeds) + 1)), sum(took.values()))
    if seeds < amounts.FIRST_SEEDS:
        yield more
    for variant, of, share in _further(found, advice):
        seconds = took[of] * share
        wider = replace(plan, variants=(*plan.variants, variant))
        yield Extension(wider, seconds * seeds, {variant.label: seconds})
    if amounts.FIRST_SEEDS <= seeds < MOST_SEEDS:
        yield more


def _further(found: PlanTable, advice: Advice) -> Iterator[tuple[Variant, str, float]]:
    """The best method on fewer rows and with another learning rate, as far as the plan lacks them.

    With each the row that it is like, and its share of the updates. With one seed, a difference between numbers of rows
    could not be told from chance, so there are none then.
    """
    plan, every = found.plan, {one.label: one for one in found.plan.variants}
    tested, best, fewer = trials(found, advice), best_row(found, advice), _rows_stated(found.plan)
    if (
        best is not None
        and len(plan.seeds) > 1
        and all(every[label].method == every[best.label].method for label in fewer)
    ):
        for part in PARTS:
            if _has_part(advice, part):
                variant, share = _part(every[best.label], advice, part)
                if variant.label not in every:
                    yield variant, best.label, share
    like = best or next(iter(tested), None)
    if like is not None and len(every) - len(fewer) == len(advice.costs):  # no second learning rate yet
        gained = best is not None and best.verdict is not None and best.verdict.known[2] > 0
        rate = float(f"{like.cells[0].recipe.schedule().learning_rate * OTHER_RATE ** (1 if gained else -1):.1e}")
        given = every[like.label]
        settings = {**given.settings, "learning_rate": rate}
        yield replace(given, label=f"{like.label}, learning rate {rate:g}", settings=settings), like.label, 1.0


def _has_part(advice: Advice, part: int) -> bool:
    """Whether so small a part of the rows is worth a training."""
    least = amounts.LEAST_ROWS // 2 if amounts.is_large(advice.data) else LEAST_PART
    return advice.amount.rows // part >= least


def _part(whole: Variant, advice: Advice, part: int) -> tuple[Variant, float]:
    """A method on a half or a quarter of the rows, and its share of the updates: of a small text it has all of them."""
    if advice.amount.rows == advice.data.rows:
        rows = f"{100 // part} %"
        label = f"{whole.label}, {rows} of the rows"
    else:
        rows = str(advice.costs[whole.method or whole.label].own(advice.amount.rows // part))
        label = f"{whole.label}, {rows} rows"
    share = 1 / part if amounts.is_large(advice.data) else 1.0
    return replace(whole, label=label, settings={**whole.settings, "rows": rows}), share


def _variant(data: OwnData, method: str, cost: TrainingCost, amount: Amount, max_length: int | None) -> Variant:
    settings = {**own_data.own_settings(method), **amounts.settings(data, method, amount, max_length)}
    fewer = {"rows": str(cost.own(amount.rows))} if amount.rows < data.rows else {}
    return Variant(method, {**settings, **fewer}, method)


def _fitting(data: OwnData, costs: Mapping[str, TrainingCost], limit: float) -> tuple[Amount, float] | None:
    """The largest amount that fits a limit, and the seconds of its first seed; None if none does.

    Of a large text that is one with time for several seeds and for fewer rows: they are worth as much as four times the
    text. A small one is trained in full, if there is time for one seed.
    """
    known, every = amounts.amounts(data), list(costs.values())
    several = range(amounts.FIRST_SEEDS, 1, -1) if amounts.is_large(data) else ()
    sizes = [*((seeds, one) for one in known[: amounts.OF_SEVERAL] for seeds in several), *((1, one) for one in known)]
    found = next((one for seeds, one in sizes if _seconds(every, seeds, one) <= limit), None)
    return None if found is None else (found, sum(cost.seconds(found) for cost in every))


def _seconds(costs: Iterable[TrainingCost], seeds: int, amount: Amount) -> float:
    """Seconds of every method with so many seeds, and with several of the slowest on fewer rows, too."""
    each = [cost.seconds(amount) for cost in costs]
    parts = max(each) * sum(1 / part for part in PARTS) if seeds > 1 else 0.0
    return seeds * (sum(each) + parts)
