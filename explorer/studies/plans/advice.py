"""Propose a plan that measures whether to fine-tune on a text within a time limit.

Every method that fits is trained on all rows with one seed; `extension` adds to the plan what the time limit allows.
advice.json in its folder has what was read of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from explorer import places, typed_json
from explorer.data import sources
from explorer.data.graded.sets import UNNAMED, SetIdentity
from explorer.data.sources import OF_SETS
from explorer.data.text_sets import KINDS, digest_of
from explorer.encoding.locate import lookup, model_names
from explorer.errors import BadChoice, StrataError
from explorer.knobs import Knobs, knob
from explorer.progress import Progress, Work
from explorer.studies.plans import amounts, execution, own_data, plan_folder
from explorer.studies.plans.amounts import Amount, TrainingCost
from explorer.studies.plans.own_data import OwnData
from explorer.studies.plans.plan import Plan, PlanBudget, Variant
from explorer.studies.plans.plan_folder import PlanFolder

ADVICE = "advice.json"
PARTS = (2, 4)  # a half and a quarter of the rows, of the best method
LEAST_PART = 10  # rows of a small text


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
    dev: SetIdentity = knob(
        UNNAMED,
        **OF_SETS,
        empty="a part of the text",
        help="The set that chooses checkpoint, share of the tuned weights, and method.",
    )
    test: SetIdentity = knob(
        UNNAMED,
        **OF_SETS,
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
    if data.test.is_scored and data.test_items > own_data.FEW:
        example = f", or evaluation sets with fewer items, such as '{data.test.drawn(own_data.FEW)}'"
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
    parts = [_share_in_words(part) for part in PARTS if has_part(advice, part)]
    fewer = f"{best} on {' and '.join(parts)} of the rows and " if parts else f"{best} "
    return (
        f"{named} on {rows} with one seed; then, as far as the time limit allows, further seeds, {fewer}with another "
        "learning rate"
    )


def has_part(advice: Advice, part: int) -> bool:
    """Whether so small a part of the rows is worth a training."""
    least = amounts.LEAST_ROWS // 2 if amounts.is_large(advice.data) else LEAST_PART
    return advice.amount.rows // part >= least


def _share_in_words(part: int) -> str:
    return {2: "half", 4: "a quarter"}[part]


def usual_name(data: OwnData, options: AdviceOptions) -> str:
    """The name of the plan, the same for the same text, model and options, so that it goes on where it ended."""
    word = re.sub(r"[^A-Za-z0-9]+", "-", sources.shown(data.source)).strip("-")[:30] or "text"
    model = model_names.find(options.model).digest
    stated = {name: value for name, value in typed_json.written(options).items() if value is not None}
    return f"advice-{word}-{digest_of((json.dumps([typed_json.written(data), stated, model]),))[:6]}"


def begin(found: Proposal, *, of_app: bool = False) -> PlanFolder:
    """Make the folder of a proposed plan."""
    execution.check(found.plan)
    folder = plan_folder.new(found.plan, of_app=of_app)
    text = json.dumps(typed_json.written(found.advice), ensure_ascii=False, indent=1)
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
