"""Draw the form of a plan: methods, models, text, settings, seeds and evaluation become a Plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.data import corpora, sources
from explorer.data.graded import published_sets, sts
from explorer.data.graded.sets import SetIdentity
from explorer.evaluating.tasks import published, suites
from explorer.knobs import Knob
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import cached_texts, set_choice, sidebar_choice
from explorer.ui.frame import sidebar
from explorer.ui.plans import tried_values
from explorer.ui.runs import set_fields, training_form
from explorer.ui.widgets import controls

if TYPE_CHECKING:
    from explorer.studies.plans.plan import Plan, PlanBudget

MOST_METHODS = 8
METHODS, MODELS, TEXT, SEEDS = "plan methods", "plan models", "plan text", "plan seeds"
VALUES, STEPS, BATCH = "plan values", "plan steps", "plan batch size"
DEV, TEST = "plan dev", "plan test"
TASKS, MINUTES, MOST_STEPS = "plan tasks", "plan minutes", "plan budget steps"
SETTINGS = (("steps", "Steps", STEPS, 1), ("batch_size", "Batch size", BATCH, 2))  # the last one is the least value
LACKS = "{} does not fit this text: {}. Leave it out, or choose another text."
NEEDS = "{} needs {}, which is not on this machine. Open the method on the Train page to fetch it, or leave it out."
EMPTY = "No {} is chosen. Choose at least one."
# the settings of a plan that have a place of their own; any other follows them
PLACED = {"name", "methods", "models", "data", "settings", "grid", "values", "seeds", "tasks", "budget"}
PLACED |= {"dev", "test", "elsewhere"}


def plan(name: str) -> Plan | None:
    """The plan of the form under this name; None if a field is invalid, with the error shown at the field."""
    from explorer.studies.plans.plan import TRAINING_ROWS, Plan

    st.subheader("Methods, models and text")
    cards = training_form.methods()
    left, right = st.columns(2, gap="medium")
    with left:
        text = _text()
    with right:
        models = _models()
    methods = _methods(cards, text)

    st.subheader("Settings")
    which, how_many, *columns = st.columns(2 + len(SETTINGS))
    with which:
        controls.draw("plan", Plan.knobs["values"], key=VALUES, menu=True)
    with how_many:
        rows = tried_values.training_rows()
    settings = _settings(columns)
    grid = tried_values.grid([cards[name] for name in methods or ()])
    if grid is not None and rows:
        grid = {TRAINING_ROWS.name: rows, **grid}
    st.subheader("Seeds and evaluation")
    seeds, judged_on = _seeds_and_sets(text, tuple(cards[name] for name in methods or ()))
    tasks, budget = _tasks_and_budget()
    others = {one: controls.draw("plan", knob) for one, knob in Plan.knobs.items() if one not in PLACED}
    if not text or methods is None or models is None or grid is None or rows is None:
        return None
    if not seeds or judged_on is None or budget is None:
        return None
    sets = dict(zip(("dev", "test", "elsewhere"), judged_on, strict=True))
    others |= {"seeds": seeds, **sets, "values": st.session_state[VALUES], "tasks": tasks, "budget": budget}
    return Plan(name, methods, models, (text,), settings, grid, **others)


def _models() -> tuple[str, ...] | None:
    """The base models; None if there is none, or one cannot be loaded, with the error shown."""
    from explorer.studies.plans.plan import Plan

    current = sidebar_choice.chosen().source
    models: list[str] = controls.draw(
        "",
        replace(Plan.knobs["models"], default=(current,)),
        key=MODELS,
        offered=[current, *sidebar.encoders()],
        format_func=lambda model: runs.shown(sources.shown(model)),
    )
    if not models:
        messages.trouble(EMPTY.format("base model"))
    there = [sidebar_choice.encoder(model) is not None for model in models]
    return tuple(models) if models and all(there) else None


def _settings(columns: list[DeltaGenerator]) -> dict[str, Any]:
    """The settings that are the same for every method, of those that are typed in."""
    from explorer.methods import Schedule

    typed, help = {}, "The same for every method. Empty: each method's own value."
    for where, (setting, label, key, least) in zip(columns, SETTINGS, strict=True):
        knob = replace(Schedule.knobs[setting], default=None, item=int, low=least, high=None, empty="the method's")
        with where:
            typed[setting] = controls.draw("", replace(knob, title=label), key=key, width="stretch", help=help)
    return {setting: value for setting, value in typed.items() if value is not None}


def _tasks_and_budget() -> tuple[tuple[str, ...], PlanBudget | None]:
    """The tasks that every model is evaluated on, and the budget; None if it is not allowed, with the error shown."""
    from explorer.studies.plans.plan import Plan, PlanBudget

    left, middle, right = st.columns([2, 1, 1])
    known, limits = suites(), PlanBudget.knobs
    with left:
        tasks: list[str] = controls.draw(
            "",
            replace(Plan.knobs["tasks"], title="Also evaluate on"),
            key=TASKS,
            offered=[*known, *published()],
            accept_new_options=False,
            format_func=lambda task: f"{task} ({len(known[task])} tasks)" if task in known else task,
            placeholder="no tasks",
            help="Suites or single tasks. Every trained model and every base is evaluated on them, and the table has a "
            "column for each. Their files are read from the folder that STRATA_DATA names.",
        )
    with middle:
        limit = controls.unbounded(limits["minutes"])  # else its arrows would count from the least, too: 0.000001
        minutes = controls.draw("", limit, key=MINUTES, step=10.0, format="%g", width="stretch")
    with right:
        steps = controls.draw("", controls.unbounded(limits["steps"]), key=MOST_STEPS, step=100, width="stretch")
    with messages.errors_shown():
        return tuple(tasks), PlanBudget(minutes=minutes, steps=steps)
    return tuple(tasks), None


def holds(plan: Plan) -> bool:
    """Whether the form can state a plan: it has one text, no variants, and no other settings than the form."""
    several = len(plan.data) != 1 or plan.variants or plan.stages
    lists = not several and len(set(plan.grid) - {"rows"}) <= tried_values.LISTS
    least = {name: least for name, _, _, least in SETTINGS}
    known = all(name in least and type(value) is int and value >= least[name] for name, value in plan.settings.items())
    return lists and known and plan.precision == plan.device == "auto"


def fill(plan: Plan) -> None:
    """Fill the form with a plan; only in a callback."""
    state = st.session_state
    state[METHODS], state[MODELS], state[TEXT] = list(plan.methods), list(plan.models), [*map(str, plan.data[0])]
    state[SEEDS], state[VALUES] = ", ".join(map(str, plan.seeds)), plan.values
    state.update({controls.key_of("plan", one): getattr(plan, one) for one in plan.knobs if one not in PLACED})
    state[STEPS], state[BATCH] = plan.settings.get("steps"), plan.settings.get("batch_size")
    state[set_fields.ELSEWHERE] = [*map(str, plan.elsewhere)]
    for key, given in ((DEV, plan.dev), (TEST, plan.test)):
        if given:
            set_fields.choose_set(key, str(given))
    state[TASKS], state[MINUTES], state[MOST_STEPS] = list(plan.tasks), plan.budget.minutes, plan.budget.steps
    for number in range(1, tried_values.LISTS + 1):
        state[tried_values.grid_key(number, "setting")] = tried_values.NONE
    state[tried_values.ROWS] = Knob.text(plan.grid.get("rows", ()))
    others = [(name, tried) for name, tried in plan.grid.items() if name != "rows"]
    for number, (name, tried) in enumerate(others, start=1):
        state[tried_values.grid_key(number, "setting")] = name
        state[f"{tried_values.grid_key(number, 'values')} {name}"] = ", ".join(map(Knob.text, tried))


def _text() -> tuple[SetIdentity, ...]:
    from explorer.studies.plans.plan import Plan

    whole = [one.name for one in published_sets.SETS if len(one.splits) > 1]
    known = [*corpora.SHIPPED, *set_choice.uploaded_sets(), *whole, *sts.menu()]
    chosen: list[str] = controls.draw(
        "",
        replace(Plan.knobs["data"], default=(corpora.SAMPLE,)),
        key=TEXT,
        offered=controls.with_uploads(known),
        format_func=set_choice.in_menu(),
        placeholder="a name, or the path of a file",
    )

    def take(path: str) -> None:
        before = [one for one in st.session_state.get(TEXT, ()) if one not in (corpora.SAMPLE, path)]
        st.session_state[TEXT] = [*before, path]

    controls.upload_to_keep("Training text (file)", "plan text file", take)
    text = sources.texts(dict.fromkeys(source.strip() for source in chosen if source.strip()))
    if not text:
        messages.trouble(EMPTY.format("training text"))
    return () if unreadable(text) else text


def _methods(cards: dict[str, training_form.MethodCard], text: tuple[SetIdentity, ...]) -> tuple[str, ...] | None:
    """The chosen methods; None, with the reasons shown, if one of them cannot be trained on the text."""
    from explorer.studies.plans.plan import Plan

    of_kind = training_form.lacks(text)
    lacks = {card.name: of_kind[card.kind.rows] for card in cards.values()}
    fitting = [name for name, lack in lacks.items() if not lack and not cards[name].lacks]
    chosen: list[str] = controls.draw(
        "",
        replace(Plan.knobs["methods"], default=tuple(fitting[:2])),
        key=METHODS,
        offered=cards,
        accept_new_options=False,
        format_func=lambda name: f"{name} ({cards[name].kind.rows.title})" + " – does not fit" * bool(lacks[name]),
        max_selections=MOST_METHODS,
        help=f"1 to {MOST_METHODS} methods. Each is named with the rows that it trains on, and marked if the text has "
        "none of them.",
    )
    if text:
        st.caption(f"{len(fitting)} of {len(cards)} methods fit this text.")
    wrong = not chosen
    if wrong:
        messages.trouble(EMPTY.format("method"))
    for name in chosen:
        missing = cards[name].lacks
        if lacks[name]:
            messages.trouble(LACKS.format(name, lacks[name]))
        elif missing:
            messages.trouble(NEEDS.format(name, missing[0].name))
        wrong |= bool(lacks[name] or missing)
    return None if wrong else tuple(chosen)


def unreadable(text: Sequence[SetIdentity]) -> bool:
    """Whether a part of a text cannot be read, with the error shown."""
    for given in text:
        with set_choice.text_or_offered([given]):
            cached_texts.serves(given, {})
            continue
        return True
    return False


def _seeds_and_sets(
    text: tuple[SetIdentity, ...], cards: tuple[training_form.MethodCard, ...]
) -> tuple[tuple[int, ...], tuple[str, str, tuple[SetIdentity, ...]] | None]:
    """The seeds, and the dev set, test set and sets elsewhere by name; none, or None, in place of what is not valid."""
    set_fields.fill_untouched(text, cards, (DEV, TEST))
    held_out = set_fields.held_out_of(cards)
    left, middle, right = st.columns(3)
    with left:
        dev, dev_set = set_fields.dev_field(DEV, held_out)
    with middle:
        test, test_set = set_fields.test_field(TEST, held_out)
    with right:
        help = "Whole numbers with commas. Each row is trained once per seed; the table has mean and deviation."
        seeds = training_form.seeds_field(SEEDS, "1, 2, 3", help)
        elsewhere = set_fields.elsewhere_field()
    if cards:
        set_fields.warn(text, {}, cards[0], dev_set, test_set)
    apart = set_fields.are_apart(dev_set, (test_set,))
    if not apart or dev is None or test is None or elsewhere is None:
        return seeds, None
    return seeds, (dev, test, elsewhere)
