"""A plan of many runs: models × methods × texts × settings × seeds, with evaluations and a budget."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from explorer.data import sources
from explorer.data.graded.sets import AT_HAND, CROSS_FITTED, HELD_OUT, UNNAMED, SetIdentity, SetKind
from explorer.data.sources import OF_SETS, OF_TEXTS
from explorer.encoding.load import hardware
from explorer.encoding.locate import lookup, model_names
from explorer.errors import BadChoice, StrataError
from explorer.evaluating import tasks as kinds
from explorer.knobs import LARGEST_SEED, NUMBER_OR_TEXT, Knob, Knobs, Values, knob, needed
from explorer.methods import DEFAULTS, PAPER, QUICK, RELEASED, Schedule, knobs_of, load, start_values, unless_chosen
from explorer.training import recipe as recipes
from explorer.training import text_defaults
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED, Status

MOST_CELLS = 1000  # each is a training
NO_TEST = "none"  # in place of a test set
MISSING = "not trained"  # in place of the state of a run
MOST_BUDGET = 10**9  # minutes or steps
VALUES = (DEFAULTS, PAPER, RELEASED, QUICK)  # what the settings of a plan start from
TRAINING_ROWS = replace(  # tried in turn, for a curve
    Schedule.knobs["rows"],
    default=(),
    title="Training rows",
    empty="all",
    help="Several shares or numbers of rows, such as 25 %, 50 %, 100 %: each is trained with every method, model and "
    "seed, and the plan shows what more rows bring. The rows are drawn with the seed: for one seed, more rows hold "
    "those of fewer. Dev and test set stay the same.",
)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


@dataclass(frozen=True)
class PlanBudget(Knobs):
    """The most that a plan may take, over all its sessions; None for no limit."""

    minutes: float | None = knob(
        None,
        item=float,
        low=1e-6,
        high=MOST_BUDGET,
        title="Budget in minutes",
        empty="no limit",
        help="No training is started that is not expected to end within these minutes of training.",
    )
    steps: int | None = knob(
        None,
        item=int,
        low=1,
        high=MOST_BUDGET,
        title="Budget in steps",
        empty="no limit",
        help="No training is started that would exceed this number of steps in all.",
    )


@dataclass(frozen=True)
class Variant(Knobs):
    """A row that is stated by itself, in place of every combination of a grid: its name and what differs."""

    label: str = needed(help="The name of its row.")
    settings: Values = knob({}, item=NUMBER_OR_TEXT, help="Its settings.")
    method: str | None = knob(None, empty="the plan's", help="Its method.")
    data: tuple[SetIdentity, ...] | None = knob(
        None, listed=True, **OF_TEXTS, empty="the plan's", help="Its training text."
    )
    stages: tuple[recipes.Stage, ...] | None = knob(
        None, listed=True, of=recipes.Stage, title="Stage", empty="the plan's", help="Trained before it."
    )


@dataclass(frozen=True)
class Fitted(Knobs):
    """The defaults that a method has for a text, as they were when the plan began: the text may change, or be gone."""

    method: str = needed(help="The method.")
    data: tuple[SetIdentity, ...] = knob((), **OF_TEXTS, help="The training text.")
    settings: Values = knob({}, item=NUMBER_OR_TEXT, help="The settings that the text decides.")
    dev: SetIdentity = knob(UNNAMED, **OF_SETS, help="The dev set.")
    test: SetIdentity = knob(UNNAMED, **OF_SETS, help="The test set.")


@dataclass(frozen=True)
class Plan(Knobs):
    """The definition of a plan; every list is multiplied with every other."""

    name: str = needed(help="The name of the plan.")
    methods: tuple[str, ...] = knob((), repeated=True, help="Methods, such as those that 'methods' lists.")
    models: tuple[str, ...] = knob(
        (lookup.BUNDLED,),
        repeated=True,
        title="Base models",
        help="Every method fine-tunes a copy of every model. Choose models on this disk, or type a folder.",
    )
    data: tuple[tuple[SetIdentity, ...], ...] = knob(
        (recipes.Recipe.data,),
        item=SetIdentity,
        reads=sources.text,
        nested=True,
        title="Training text",
        help="Choose a name, or type the path of a file on this machine and press Enter. Several texts are joined. "
        "All methods of the plan are trained on this text.",
    )
    settings: Values = knob({}, item=NUMBER_OR_TEXT, help="Settings of every run.")
    grid: Mapping[str, tuple[Any, ...]] = knob({}, item=object, help="Values of a setting, all of which are tried.")
    variants: tuple[Variant, ...] = knob(
        (), of=Variant, typed=False, title="Variant", help="Rows that are stated by themselves."
    )
    stages: tuple[recipes.Stage, ...] = knob(
        (), of=recipes.Stage, typed=False, title="Stage", help="Trained before the method of every run."
    )
    seeds: tuple[int, ...] = knob(
        (1,), item=int, low=0, high=LARGEST_SEED, help="Whole numbers, one for each training of a row."
    )
    dev: SetIdentity = knob(UNNAMED, **OF_SETS, empty="the default of a run", help="The dev set.")
    test: SetIdentity = knob(UNNAMED, **OF_SETS, empty="the default of a run", help=f"The test set, or '{NO_TEST}'.")
    elsewhere: tuple[SetIdentity, ...] = knob(
        (AT_HAND,), **OF_SETS, repeated=True, help="Sets that runs are scored on, but not trained for."
    )
    values: str = knob(
        DEFAULTS,
        choices=VALUES,
        title="Values of the settings",
        titles={name: name.capitalize() for name in VALUES},
        help="The values of all settings that are not stated below, for each method its own.",
    )
    tasks: tuple[str, ...] = knob(
        (), repeated=True, help="Tasks that every trained model, and every base, is evaluated on."
    )
    budget: PlanBudget = knob(PlanBudget(), of=PlanBudget, help="The most that the plan may take.")
    precision: str = knob("auto", choices=hardware.PRECISIONS, typed=False, help="Of every training.")
    device: str = knob("auto", choices=hardware.DEVICES, typed=False, help="Of every training.")
    fitted: tuple[Fitted, ...] = knob(
        (), of=Fitted, typed=False, title="Fitted", help="The defaults of a plan that has begun."
    )

    def consistent(self) -> None:
        """Make a list of every entry of the grid, in which one value may stand for it."""
        grid = {name: tuple(one) if isinstance(one, list | tuple) else (one,) for name, one in self.grid.items()}
        for name, values in grid.items():
            for value in values:
                if not isinstance(value, NUMBER_OR_TEXT):
                    raise BadChoice(f"grid.{name} cannot be {value!r}. Choose a number, a text, on or off.")
        object.__setattr__(self, "grid", grid)

    @property
    def rows(self) -> int:
        """How many rows its table has: the trainings of one seed."""
        multiplied = (self.variants,) if self.variants else (self.methods, *self.grid.values())
        return math.prod(len(values) for values in (self.models, self.data, *multiplied))


@dataclass(frozen=True)
class PlanCell:
    """One training of a plan: a row of its table, a recipe with one seed, and in the table its run, if there is one."""

    row: str
    recipe: recipes.Recipe
    line: str  # what it is called apart from its number of rows
    run: Run | None = None
    status: Status | None = None  # of the run

    @property
    def seed(self) -> int:
        """The seed of the training."""
        return self.recipe.seeds[0]

    @property
    def state(self) -> str:
        """The state of the run, or that there is none."""
        return MISSING if self.status is None else self.status.state

    @property
    def done(self) -> Status | None:
        """The status of a finished run."""
        return self.status if self.status is not None and self.status.state == FINISHED else None


def cells(plan: Plan) -> tuple[PlanCell, ...]:
    """Every training of a plan in order, all rows with the first seed first; an error names what is not allowed."""
    _check(plan)
    rows: dict[str, recipes.Recipe] = {}
    lines: dict[str, str] = {}
    for label, line, recipe in _rows(plan):
        if label in rows:
            raise BadChoice(f"Two rows are called '{label}'. Give each variant a label of its own.")
        same = next((other for other, known in rows.items() if known == recipe), None)
        if same is not None:
            raise BadChoice(f"The rows '{same}' and '{label}' are the same training. Leave one of them out.")
        rows[label], lines[label] = recipe, line
    found = []
    for seed in plan.seeds:
        for label, recipe in rows.items():
            if seed != plan.seeds[0] and not recipe.trains:
                continue  # it uses no random numbers
            found.append(PlanCell(label, replace(recipe, seeds=(seed,)), lines[label]))
    return tuple(found)


def sets_of(every: Sequence[PlanCell]) -> tuple[tuple[SetIdentity, ...], tuple[SetIdentity, ...]]:
    """The dev sets and the test sets of trainings, each once; a training without a test set has `NO_TEST`."""
    none = SetIdentity(SetKind.OTHER, NO_TEST)
    tests = dict.fromkeys(cell.recipe.test or none for cell in every)
    return tuple(dict.fromkeys(cell.recipe.dev for cell in every)), tuple(tests)


def begun(plan: Plan) -> Plan:
    """The plan with the defaults that its methods have for its texts now."""
    every = dict.fromkeys((cell.recipe.method, cell.recipe.data) for cell in cells(plan))
    return replace(plan, fitted=tuple(_fitted(plan, *one) for one in every))


def _fitted(plan: Plan, method: str, data: tuple[SetIdentity, ...]) -> Fitted:
    known = (one for one in plan.fitted if (one.method, one.data) == (method, data))
    if (found := next(known, None)) is not None:
        return found
    try:
        usual = text_defaults.of_text(method, data)
    except StrataError:  # its rows fail by themselves, with the same error
        return Fitted(method, data)
    judged_by = usual.sets_with(plan.dev or None) or (UNNAMED, UNNAMED)
    return Fitted(method, data, usual.settings if plan.values == DEFAULTS else {}, *judged_by)


def with_sets(plan: Plan) -> Plan:
    """The plan with the names of its dev set and test set, if all its trainings have the same ones."""
    dev, test = sets_of(cells(plan))
    return replace(plan, dev=dev[0] if len(dev) == 1 else plan.dev, test=test[0] if len(test) == 1 else plan.test)


def _check(plan: Plan) -> None:
    if not NAME.fullmatch(plan.name):
        raise BadChoice(
            f"A plan cannot be called {plan.name!r}. Use up to 60 letters, digits, '-', '_' or '.', a letter or digit "
            "first."
        )
    texts = tuple(tuple(map(str, one)) for one in plan.data)
    lists: dict[str, tuple[Any, ...]] = {"models": plan.models, "data": texts, "seeds": plan.seeds}
    lists |= {f"grid.{name}": values for name, values in plan.grid.items()}
    if not plan.variants:
        lists["methods"] = plan.methods
    for name, values in lists.items():
        if not values:
            raise BadChoice(f"The plan's {name} is empty, so it has nothing to train. Give at least one value.")
        if len({str(value) for value in values}) < len(values):
            raise BadChoice(
                f"The plan's {name} has a value twice: {', '.join(map(str, values))[:300]}. Give each once."
            )
    if plan.variants and plan.grid:
        raise BadChoice("The plan has variants and a grid. Give one of them: variants are rows, a grid multiplies.")
    if plan.variants and any(variant.method is None for variant in plan.variants) and len(plan.methods) != 1:
        raise BadChoice("Some variants state no method, and the plan does not have exactly one. Give 'methods' one.")
    count = plan.rows * len(plan.seeds)
    if count > MOST_CELLS:
        raise BadChoice(
            f"The plan has {count:,} trainings; at most {MOST_CELLS:,} are allowed. Leave out values of the grid, or "
            "split it into several plans."
        )
    for task in plan.tasks:
        if task not in kinds.suites():
            kinds.named(task)


def _rows(plan: Plan) -> Iterator[tuple[str, str, recipes.Recipe]]:
    """The label of each row, the same without its number of training rows, and its recipe without a seed."""
    variants = plan.variants or tuple(
        Variant("", dict(zip(plan.grid, values, strict=True)), method)
        for method in plan.methods
        for values in product(*plan.grid.values())
    )
    for model, data, variant in product(plan.models, plan.data, variants):
        method = variant.method or plan.methods[0]
        text = variant.data or data
        of_all_rows = {name: value for name, value in variant.settings.items() if name != TRAINING_ROWS.name}
        parts = [Path(model).name or model] if len(plan.models) > 1 else []
        parts += [" + ".join(Path(str(one)).name for one in text)] if len(plan.data) > 1 else []
        label = variant.label or _called(plan, method, variant.settings)
        try:
            stages = plan.stages if variant.stages is None else variant.stages
            recipe = _recipe(plan, method, model, text, variant.settings, stages)
        except StrataError as error:
            raise type(error)(f"{label}: {error}") from error
        yield ", ".join([label, *parts]), ", ".join([_called(plan, method, of_all_rows), *parts]), recipe


def _called(plan: Plan, method: str, settings: Values) -> str:
    """`sg-opt (temperature 0.1)`, without the method if the plan has one and there are settings."""
    stated = ", ".join(f"{name} {Knob.text(value)}" for name, value in settings.items())
    named_method = method if len(plan.methods) > 1 or not stated else ""
    return " ".join(filter(None, [named_method, f"({stated})" if named_method and stated else stated]))


def _start(plan: Plan, method: str, model: str) -> dict[str, Any]:
    """The settings that a training of a plan starts from."""
    kind = load(method)
    return dict(start_values(kind, model_names.family(model) if kind.by_family else "", plan.values))


def _recipe(
    plan: Plan,
    method: str,
    model: str,
    data: tuple[SetIdentity, ...],
    values: Values,
    stages: tuple[recipes.Stage, ...],
) -> recipes.Recipe:
    kind, settings = load(method), _start(plan, method, model)
    knobs = knobs_of(kind)
    # a method without a loss has no schedule: what the plan states of it for all methods does not apply
    settings |= {name: value for name, value in plan.settings.items() if kind.trains() or name in knobs}
    settings |= dict(values)
    fitted = _fitted(plan, method, data)
    # no rows are cross-fitted in stages
    dev, test = (HELD_OUT if stages and one == CROSS_FITTED else one for one in (fitted.dev, fitted.test))
    sets: dict[str, Any] = {"dev": plan.dev or dev or recipes.Recipe.dev, "elsewhere": plan.elsewhere}
    sets["test"] = (None if str(plan.test) == NO_TEST else plan.test) if plan.test else test or recipes.Recipe.test
    return recipes.Recipe(
        method=method,
        model=model,
        data=data,
        **sets,
        settings=settings | unless_chosen(fitted.settings, settings),
        stages=tuple(replace(one, settings=_start(plan, one.method, model) | dict(one.settings)) for one in stages),
        seeds=plan.seeds[:1],
        precision=plan.precision,
        device=plan.device,
    )


def tasks_of(plan: Plan) -> tuple[str, ...]:
    """The tasks of a plan, of which some may be named by their suite."""
    return tuple(dict.fromkeys(task for given in plan.tasks for task in tasks_named(given)))


def tasks_named(given: str) -> tuple[str, ...]:
    """The tasks of a suite, or the one of this name."""
    return kinds.tasks_of(given) if given in kinds.suites() else (kinds.named(given),)
