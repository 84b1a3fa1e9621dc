"""Propose a plan that measures whether to fine-tune on a text within a time limit, and work it off.

First every method that fits is trained on all rows with each seed. Then the one with the best dev score is trained on
a quarter and on half of the rows, which shows whether more text would help. Both are rows of one plan, which is
stopped, resumed and shown like every plan; advice.json in its folder has what was read of the text.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from explorer import places, typed_json
from explorer.data import sources
from explorer.data.text_sets import KINDS, digest_of
from explorer.encoding.locate import lookup, model_names
from explorer.errors import BadChoice, StrataError
from explorer.knobs import Knobs, knob
from explorer.progress import Progress, Work
from explorer.studies.plans import execution, own_data, plan_folder, plan_table
from explorer.studies.plans.own_data import OwnData
from explorer.studies.plans.plan import Plan, PlanBudget, Variant
from explorer.studies.plans.plan_folder import FINISHED, STOPPED, PlanFolder, PlanStatus
from explorer.studies.plans.plan_table import DEV, PlanRow, PlanTable
from explorer.training import running
from explorer.training.loop.estimate import try_out

ADVICE = "advice.json"
SEEDS = 3
BATCH, STEPS, EVALUATIONS, MOST_EPOCHS = 16, 150, 6, 10
BLEND = {"blend": 0.0}  # the share of the tuned weights is chosen by the dev set
PARTS = (4, 2)  # a quarter and half of the rows, of the best method
LEAST_ROWS = 64  # that a training is proposed for: four batches
SHARES = (1, 2, 4, 8, 16, 32, 64, 128)  # by which a plan is smaller than one of all rows: half as long, a quarter, …
OF_SEVERAL = 3  # how many of these shares, the first ones, are tried with several seeds


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


@dataclass(frozen=True)
class TrainingCost:
    """Seconds of loading and evaluating for one training, and of a step."""

    fixed: float = 0.0
    step: float = 0.0
    in_a_row: float = 1.0  # what the method trains on in a row of the text: two sentences of a scored pair

    def own(self, rows: int) -> int:
        """How many of the method's own rows so many of the text are."""
        return round(rows * self.in_a_row)

    def seconds(self, rows: int, epochs: int) -> float:
        """Seconds of so many passes over so many rows."""
        return self.fixed + self.step * self.in_a_row * _steps(rows, epochs)


@dataclass(frozen=True)
class Advice:
    """What was read of a text, and what the rows of its plan cost that are trained on the most of it; advice.json."""

    data: OwnData = field(default_factory=lambda: OwnData(""))
    options: AdviceOptions = field(default_factory=AdviceOptions)
    rows: int = 0  # the most that are trained on, and the passes over them
    epochs: int = 1
    costs: Mapping[str, TrainingCost] = field(default_factory=dict)  # by row
    failures: Mapping[str, str] = field(default_factory=dict)  # methods that cannot be trained on it, and why


@dataclass(frozen=True)
class Proposal:
    """A plan for a text, and the seconds that it is expected to take."""

    plan: Plan
    advice: Advice
    seconds: float


def proposal(data: OwnData, options: AdviceOptions, name: str = "") -> Work[Proposal]:
    """The largest plan that is expected to end within the time limit, from one step of each method."""
    fitting = options.method or own_data.candidates(data.of_kind)
    costs: dict[str, TrainingCost] = {}
    failures: dict[str, str] = {}
    for place, method in enumerate(fitting):
        yield Progress(f"one step of {method}", place, len(fitting))
        try:
            costs[method] = yield from _cost(data, method, options.model)
        except StrataError as error:
            failures[method] = str(error)
    if not costs:
        raise StrataError(f"No method can be trained on {sources.shown(data.source)}: {'; '.join(failures.values())}")
    sizes = [
        (_seconds(costs.values(), *size), *size) for size in _sizes(data.rows) if size[1] >= min(LEAST_ROWS, data.rows)
    ]
    size = next((size for size in sizes if size[0] <= options.minutes * 60), None)
    if size is None:
        seconds, _, rows, _ = min(sizes)
        tested = sources.identity(data.test)
        of_fewer = tested.is_scored and data.test_items > own_data.FEW
        example = f", such as '{sources.written(tested.drawn(own_data.FEW))}'" if of_fewer else ""
        raise BadChoice(
            f"{options.minutes:g} minutes do not suffice: {len(costs)} methods on {rows} rows with one seed, and the "
            f"best of them on fewer, take about {seconds / 60:.1f} minutes. Raise the time limit, name one method, or "
            f"choose a smaller model, or evaluation sets with fewer items{example}."
        )
    seconds, seeds, rows, epochs = size
    variants = tuple(_variant(method, cost, rows, epochs, data.rows) for method, cost in costs.items())
    plan = Plan(
        name or usual_name(data, options),
        models=(options.model,),
        data=((data.train,),),
        variants=variants,
        seeds=tuple(range(1, seeds + 1)),
        dev=data.dev,
        test=data.test,
        budget=PlanBudget(minutes=options.minutes),
    )
    return Proposal(plan, Advice(data, options, rows, epochs, costs, failures), seconds)


def in_text(found: Proposal) -> str:
    """What is proposed: `3 methods (cosent, …) on all 2,156 rows with seeds 1, 2, 3; then the best on fewer`."""
    plan, advice = found.plan, found.advice
    labels = [one.label for one in plan.variants]
    rows = f"all {advice.rows:,} rows" if advice.rows == advice.data.rows else f"{advice.rows:,} rows"
    seeds = ", ".join(map(str, plan.seeds))
    methods = f"{len(labels)} methods ({', '.join(labels)})" if len(labels) > 1 else labels[0]
    best = "the best of them " if len(labels) > 1 else ""
    return (
        f"{methods} on {rows} with seed{'s' * (len(plan.seeds) > 1)} {seeds}, the share of the tuned weights chosen on "
        f"the dev set; then {best}on a quarter and half of the rows"
    )


def usual_name(data: OwnData, options: AdviceOptions) -> str:
    """The name of the plan, the same for the same text, model and options, so that it goes on where it ended."""
    word = re.sub(r"[^A-Za-z0-9]+", "-", sources.shown(data.source)).strip("-")[:30] or "text"
    model = model_names.find(options.model).digest
    return f"advice-{word}-{digest_of((json.dumps([asdict(data), asdict(options), model]),))[:6]}"


def begin(found: Proposal, *, of_app: bool = False) -> PlanFolder:
    """Make the folder of a proposed plan."""
    execution.check(found.plan)
    folder = plan_folder.new(found.plan, of_app=of_app)
    text = json.dumps(asdict(found.advice), ensure_ascii=False, indent=1)
    places.write_whole(folder.folder / ADVICE, lambda file: file.write(text.encode("utf-8", "surrogatepass")))
    given = found.advice
    expected = {label: cost.seconds(given.rows, given.epochs) for label, cost in given.costs.items()}
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
    """Work off any plan; one that gives advice goes on with fewer rows for its best method.

    Seeds that the time limit did not allow for every method are taken out, since a mean over other seeds would mislead.
    """
    status: PlanStatus = yield from execution.execute(folder, train)
    advice = of_folder(folder)
    while advice is not None and status.state == FINISHED:
        plan = folder.plan()
        found = plan_table.table(plan)
        seeds, parts = _whole_seeds(found, advice), _parts(found, advice)
        if folder.stop_requested() and (parts or seeds != plan.seeds):  # between two of its parts
            status = replace(status, state=STOPPED)
            folder.put(status)
        elif seeds and seeds != plan.seeds:
            folder.redefine(replace(plan, seeds=seeds))
        elif parts:
            expected = {variant.label: seconds for variant, seconds in parts}
            # before they are rows of the plan: it may be killed in between, and keeps the limit by what is expected
            folder.put(replace(status, expected={**status.expected, **expected}))
            folder.redefine(replace(plan, variants=(*plan.variants, *(variant for variant, _ in parts))))
        else:
            break
        if status.state == FINISHED:
            status = yield from execution.execute(folder, train)
    return status


def best_row(found: PlanTable, advice: Advice) -> PlanRow | None:
    """Of the rows that are trained on the most text, the one with the highest dev score; None before one has it."""
    rows = [row for row in found.rows if row.label in advice.costs and row.verdict is not None]
    scores = [(score.mean, row) for row in rows if (score := row.score(DEV)) is not None]
    return max(scores, key=lambda one: one[0])[1] if scores else None


def _whole_seeds(found: PlanTable, advice: Advice) -> tuple[int, ...]:
    """The seeds with which every method was trained that could be trained at all."""
    rows = [row for row in found.rows if row.label in advice.costs]
    done = [{cell.seed for cell in row.cells if cell.done} for row in rows]
    trained = [seeds for seeds in done if seeds]
    return tuple(seed for seed in found.plan.seeds if all(seed in seeds for seeds in trained)) if trained else ()


def _parts(found: PlanTable, advice: Advice) -> list[tuple[Variant, float]]:
    """The best method on a quarter and on half of its rows, with the seconds of each; none if the plan has them."""
    best = best_row(found, advice)
    if best is None:
        return []
    known = {one.label: one for one in found.plan.variants}
    whole, cost, parts = known[best.label], advice.costs[best.label], []
    for part in PARTS:
        rows = advice.rows // part
        if rows >= 2 * BATCH:
            if advice.rows == advice.data.rows:
                share = f"{100 // part} %"
                label = f"{whole.label}, {share} of the rows"
            else:
                share = str(cost.own(rows))
                label = f"{whole.label}, {share} rows"
            variant = replace(whole, label=label, settings={**whole.settings, "rows": share})
            parts.append((variant, cost.seconds(rows, advice.epochs)))
    return [(variant, seconds) for variant, seconds in parts if variant.label not in known]


def _variant(method: str, cost: TrainingCost, rows: int, epochs: int, of: int) -> Variant:
    settings = {**own_data.own_settings(method), **_settings(rows, epochs)}
    return Variant(method, {**settings, "rows": str(cost.own(rows))} if rows < of else settings, method)


def _cost(data: OwnData, method: str, model: str) -> Work[TrainingCost]:
    """What a training on all rows takes, from one step of it; the base is scored once for several of them."""
    started = loaded = time.monotonic()
    given = own_data.recipe(data, method, model, _settings(data.rows, _epochs(data.rows)))
    work = try_out(replace(given, seeds=tuple(range(1, SEEDS + 1))))
    while True:
        try:
            progress = next(work)
        except StopIteration as end:
            found = end.value
            evaluations = found.seconds - found.step_seconds * found.steps
            in_a_row = found.steps / SEEDS / _steps(data.rows, _epochs(data.rows))
            return TrainingCost(loaded - started + evaluations / SEEDS, found.step_seconds, in_a_row)
        loaded = time.monotonic()  # the last report comes before the first step
        yield progress


def _seconds(costs: Iterable[TrainingCost], seeds: int, rows: int, epochs: int) -> float:
    """Seconds of all trainings: of every method, then of the one that is best, which may be the slowest."""
    every = list(costs)
    parts = [sum(one.seconds(rows // part, epochs) for part in PARTS) for one in every]
    return seeds * (sum(one.seconds(rows, epochs) for one in every) + max(parts))


def _sizes(rows: int) -> list[tuple[int, int, int]]:
    """Numbers of seeds, of rows and of passes over them, the best first: fewer passes before fewer rows.

    Several seeds are worth as much as four times the text, and a single one is enough for an interval over test items.
    """
    read = rows * _epochs(rows)
    amounts = [(min(rows, read // share), max(1, read // share // rows)) for share in SHARES]
    several = [(seeds, *amount) for amount in amounts[:OF_SEVERAL] for seeds in range(SEEDS, 1, -1)]
    return [*several, *((1, *amount) for amount in amounts)]


def _settings(rows: int, epochs: int) -> dict[str, Any]:
    """The settings of all trainings of so many passes over so many rows."""
    every = max(1, _steps(rows, epochs) // EVALUATIONS)
    return {"batch_size": BATCH, "epochs": epochs, "evaluate_every": every, **BLEND}


def _epochs(rows: int) -> int:
    """Passes over few rows, for about as many steps as one over many."""
    return min(MOST_EPOCHS, max(1, -(-STEPS * BATCH // rows)))


def _steps(rows: int, epochs: int) -> int:
    return epochs * max(1, rows // BATCH)
