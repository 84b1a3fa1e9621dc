"""Draw the training form, whose fields become a Recipe, and the buttons that estimate and start its run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import knobs
from explorer.data import text_sets
from explorer.data.graded.sets import HELD_OUT, SetIdentity
from explorer.data.sources import is_file, shown
from explorer.encoding.locate import layout, model_names
from explorer.ui import messages
from explorer.ui.access import selection, set_choice, sidebar_choice
from explorer.ui.frame import page_list
from explorer.ui.runs import set_fields, training_form
from explorer.ui.train import knob_form, method_form, negatives_view, stage_form, text_form
from explorer.ui.train.base_form import base, choose
from explorer.ui.widgets import controls

if TYPE_CHECKING:
    from explorer.training.recipe import Recipe, Stage

KEEP_DUPLICATES = "keep_duplicates"
PRECISION, DEVICE, PROMPT = "recipe precision", "recipe device", "recipe prompt"
VISITED = "_form was visited"
SETTINGS, SETS, STAGES, ABOUT = "Settings", "Dev and test sets", "Stages", "Text and method"  # panes
ABOUT_DEMONSTRATION = (
    "**Demonstration: teach negation and numbers.** The included encoder learns to distinguish a sentence from its "
    "negation, and from one with another number."
)
FINE_TUNES = "Fine-tunes a copy of **{}**; the original is not changed."
OF_PAPER = "The paper's values are below each field that differs"
OF_DEFAULTS = "The defaults for many rows are in the help of each field"
FITTED = "Set for a text of {:,} rows, as measured: {}. {}, and would hardly train on so few."
OF_ENCODERS = "Defaults are the paper's for {}: {}."
PLAN = "{:,} rows: {} a batch, {:,} updates ({:.3g} passes), evaluated every {}."
OVERRIDDEN = " Used in place of what the settings state: {}."
IN_FOLDS = " {} folds, each without its own rows; then all rows."
OF_PAIRS = " The rows make {:,} pairs in an epoch, and these fill the batches."
TOO_FEW_ROWS = "The text has {:,} rows; a batch needs {}. Lower the batch size or add text."
SEEDS, DEV, TEST, MORE_TESTS = "recipe seeds", "recipe dev", "recipe test", "recipe more tests"
MOST_ELSEWHERE, CORPUS = "recipe most elsewhere", "recipe corpus"
NO_CORPUS = "the passages of the text"


def recipe(row: DeltaGenerator, answer: DeltaGenerator, panes: Mapping[str, DeltaGenerator]) -> Recipe | None:
    """The recipe of the form; None if a field is invalid, with the error shown at the field.

    Text and method are in the row, the other fields in the panes; what was found in them is in the answer.
    """
    head = answer.container()
    with answer:
        model = base()
    there = model is not None and sidebar_choice.encoder(model) is not None
    family = model_names.family(model) if model is not None and there else ""
    with row:
        sources = text_form.chosen_text()
        name = method_form.chosen()
    with answer:
        plain = method_form.method(name, sources)
    card = training_form.MethodCard(plain.kind, family)
    knob_form.follow_encoder(card, plain)
    with panes[ABOUT]:
        corpus = _about(card, sources)
    with answer:
        ready = method_form.ready(card)
        rows = text_form.rows(sources, card, bool(knob_form.value(card, KEEP_DUPLICATES)), panes[ABOUT])
        text_form.explain(sources, card, rows is not None)
    with panes[ABOUT]:
        method_form.every(sources)
    steps = panes[SETTINGS].container()
    with panes[SETTINGS]:
        settings = _settings(card, rows)
    if negatives_view.TAB in panes:
        with panes[negatives_view.TAB]:
            of_mining = negatives_view.fields(card)
        settings = None if settings is None or of_mining is None else {**settings, **of_mining}
    with panes[STAGES]:
        before = stage_form.stages(sources, text_form.columns(sources, card.kind.rows), family, plan)
    with panes[SETS]:
        judging = _judging(sources, card, answer)
    is_shown = is_demonstration(model, sources, card) and not st.session_state.get(stage_form.STAGES)
    head.markdown(ABOUT_DEMONSTRATION if is_shown else FINE_TUNES.format(messages.plain(shown(model))) if model else "")
    with answer:
        if rows is not None and settings is not None and judging and card.kind.rows == text_sets.SCORED_PAIRS:
            named = tuple(one for one in (judging.dev, *judging.tests) if not one.is_own_rows)
            rows = text_form.left(sources, card.kind.rows, named, _batch_size(card, settings))
        if rows is not None and settings is not None and not _show_plan(steps, card, settings, rows, judging):
            return None
        return _checked(card, model if there and ready else None, sources, rows, settings, judging, before, corpus)


def _checked(
    card: training_form.MethodCard,
    model: str | None,
    sources: tuple[SetIdentity, ...],
    rows: int | None,
    settings: knobs.Values | None,
    judging: Recipe | None,
    before: tuple[Stage, ...] | None,
    corpus: str | None,
) -> Recipe | None:
    """The recipe of these values; None if one of them is missing or not allowed, with the error shown."""
    if model is None or rows is None or settings is None or judging is None or before is None:
        return None
    if not method_form.models_ready(card, model, sources, settings):
        return None
    batch = _batch_size(card, settings)
    if card.kind.items(settings, rows) < batch and card.kind.trains():
        messages.trouble(TOO_FEW_ROWS.format(rows, batch))
        return None
    state = st.session_state
    with messages.errors_shown():
        how = {"precision": state[PRECISION], "device": state[DEVICE], "elsewhere_most": state[MOST_ELSEWHERE]}
        how = {name: "" if value is None else value for name, value in how.items()}  # an emptied field
        how["prompt"] = state.get(PROMPT) or None
        how["watch"] = selection.pair() or ()
        found = replace(judging, model=model, settings=settings, stages=before, corpus=corpus, **how)
        layers = layout.last_layer(model_names.find(model).folder)
        found.kind.check_layers(found.method_values(), shown(model), layers)
        return found
    return None


def _show_plan(
    place: DeltaGenerator, card: training_form.MethodCard, settings: knobs.Values, rows: int, judging: Recipe | None
) -> bool:
    """Show what the rows become, in the place; False if they do not make a training, with the error shown."""
    judged_on = () if judging is None else (judging.dev, *judging.tests)
    folds = judging.folds if judging is not None and judging.is_cross_fitted else 0
    with messages.errors_shown():  # `rows` may be more than there are, or less than a batch
        place.caption(plan(card, settings, rows, judged_on.count(HELD_OUT), folds))
        return True
    return False


def _batch_size(card: training_form.MethodCard, settings: knobs.Values) -> int:
    return int(settings.get("batch_size", card.knobs["batch_size"].default)) if card.kind.trains() else 1


def _about(card: training_form.MethodCard, sources: tuple[SetIdentity, ...]) -> str | None:
    """What the method is, and the columns of the text; the corpus of held-out queries, if one is typed."""
    method_form.about(card)
    text_form.choose_columns(sources, card.kind.rows)
    corpus = _corpus() if card.kind.rows.pairs_up and any(is_file(str(one)) for one in sources) else None
    page_list.offer_advice(sources)
    return corpus


def _corpus() -> str | None:
    """The corpus among which held-out queries are searched, if a path is typed."""
    typed: str | None = controls.draw("recipe", training_form.setting("corpus"), key=CORPUS, placeholder=NO_CORPUS)
    return (typed or "").strip() or None


def _settings(card: training_form.MethodCard, rows: int | None) -> knobs.Values | None:
    """The hyperparameters: the important ones open, the rest folded."""
    from explorer.methods import few_rows

    fitted = {} if rows is None else knob_form.fit(card, few_rows(card.kind, rows))
    mining = negatives_view.of_mining(card)  # in a pane of its own
    knobs_here = [knob for knob in card.knobs.values() if knob not in mining]
    front = [knob for knob in knobs_here if knob.front]
    folded = [knob for knob in knobs_here if not knob.front]
    knob_form.presets(card)
    few = knob_form.fields(card, front)
    if fitted:
        names = ", ".join(card.knobs[name].label.lower() for name in fitted)
        st.caption(FITTED.format(rows, messages.plain(names), OF_PAPER if card.kind.as_published else OF_DEFAULTS))
    if card.of_encoders:
        values = [f"{name.replace('_', ' ')} {knobs.Knob.text(value)}" for name, value in card.of_encoders.items()]
        st.caption(OF_ENCODERS.format(card.encoders, messages.plain(", ".join(values))))
    with st.expander("More settings", icon=":material/tune:"):
        rest = knob_form.fields(card, folded)
        boxes = st.container(horizontal=True)
        for name, key in (("precision", PRECISION), ("device", DEVICE)):
            with boxes:
                controls.draw("recipe", training_form.setting(name), key=key, menu=True, width=220)
        with boxes:
            most = controls.unbounded(training_form.setting("elsewhere_most"))
            controls.draw("recipe", most, key=MOST_ELSEWHERE, width=220)
        with boxes:
            controls.draw("recipe", training_form.setting("prompt"), key=PROMPT, width=220)
    return None if few is None or rest is None else {**card.of_encoders, **few, **rest}


def plan(
    card: training_form.MethodCard, settings: knobs.Values, rows: int, held_out_sets: int = 0, folds: int = 0
) -> str:
    """Summarise the settings as `22 rows: 8 a batch, 100 updates (36 passes), …`.

    Some evaluation sets are held-out rows, or all rows are cross-fitted in so many folds.
    """
    if not card.kind.trains():
        return f"{rows:,} rows. This method is fitted in closed form: no training steps."
    from explorer.methods import Schedule
    from explorer.training.loop import training_texts
    from explorer.training.loop.measured_facts import overridden

    scheduled = {name: value for name, value in settings.items() if name in Schedule.knobs}
    schedule = card.kind.schedule.with_values(scheduled)
    held = 0
    for _ in range(held_out_sets):
        held += training_texts.evaluated_count(rows - held)
    held += 0 if schedule.select_by == "dev" else training_texts.held_out_count(rows - held)
    items = partial(card.kind.items, settings)
    trained = schedule.rows_of(rows - held, "the text", items)
    # every training of a fold has as many updates as that on the fewest rows
    steps = schedule.updates(items(trained - math.ceil(trained / folds) if folds else trained))
    every = schedule.evaluation_interval(steps)
    passes = steps * schedule.batch_size * schedule.accumulate / max(1, items(trained))
    summary = PLAN.format(trained, schedule.batch_size, steps, passes, f"{every} steps" if every > 1 else "step")
    summary += IN_FOLDS.format(folds) * bool(folds)
    if other := overridden(schedule, steps):
        summary += OVERRIDDEN.format(other.words)
    summary += OF_PAIRS.format(items(trained)) * (card.kind.rows_each == 2)
    summary += f" They are drawn from {rows - held:,} rows." * (trained < rows - held)
    return summary + f" {held:,} rows are held out." * bool(held)


def is_demonstration(model: str | None, sources: tuple[SetIdentity, ...], card: training_form.MethodCard) -> bool:
    """Whether the form shows the demonstration: its model, text and method, with the values of its preset."""
    from explorer.training.text_defaults import demonstration

    recipe = demonstration()
    same = (model, sources, card.name) == (recipe.model, recipe.data, recipe.method)
    return same and {**recipe.every_setting()} == {name: knob_form.value(card, name) for name in recipe.every_setting()}


def first_visit() -> None:
    """Fill the form with the demonstration on a first visit; a link's method is the visitor's choice."""
    state, linked = st.session_state, {*st.query_params}
    if state.get(VISITED):
        return
    from explorer.training.text_defaults import demonstration

    state[VISITED] = True
    if training_form.METHOD in linked:
        state.setdefault(training_form.METHOD_BY_HAND, True)
    elif training_form.SOURCES in linked:
        training_form.choose_text(st.query_params.get_all(training_form.SOURCES))
        text_form.follow_text()
    elif training_form.SOURCES not in state:
        found = demonstration()
        knob_form.fill(training_form.methods()[found.method], found.every_setting())


def fill(recipe: Recipe) -> None:
    """Fill the form with a recipe; only in a callback."""
    card = training_form.methods()[recipe.method]
    choose(recipe.model)
    state = st.session_state
    state[VISITED] = True
    state[training_form.METHOD], state[training_form.METHOD_BY_HAND] = recipe.method, True
    training_form.choose_text([*map(str, recipe.data)])
    for role, column in recipe.columns.items():
        state[text_form.column_key(role)] = column
    knob_form.fill(training_form.MethodCard(card.kind, model_names.family(recipe.model)), recipe.every_setting())
    state[PRECISION], state[DEVICE] = recipe.precision, recipe.device
    state[CORPUS], state[PROMPT] = recipe.corpus, recipe.prompt
    state[SEEDS], state[MORE_TESTS] = ", ".join(map(str, recipe.seeds)), list(map(str, recipe.more_tests))
    state[set_fields.ELSEWHERE], state[MOST_ELSEWHERE] = list(map(str, recipe.elsewhere)), recipe.elsewhere_most
    stage_form.fill(recipe.stages, model_names.family(recipe.model))
    set_fields.choose_set(DEV, str(recipe.dev))
    set_fields.choose_set(TEST, str(recipe.test or set_fields.NO_TEST))


def _judging(sources: tuple[SetIdentity, ...], card: training_form.MethodCard, answer: DeltaGenerator) -> Recipe | None:
    """A recipe without model and settings, with the values of these fields; None if one of them is invalid."""
    staged = bool(st.session_state.get(stage_form.STAGES))
    set_fields.fill_untouched(sources, (card,), (DEV, TEST), staged=staged)
    held_out = set_fields.held_out_of((card,), staged=staged)
    left, middle, right = st.columns(knob_form.COLUMNS)
    with left:
        dev, dev_set = set_fields.dev_field(DEV, held_out)
    with middle:
        test, test_set = set_fields.test_field(TEST, held_out)
        more = _more_tests(test, held_out)
    with right:
        seeds = training_form.seeds_field(SEEDS, "1")
        elsewhere = set_fields.elsewhere_field()
    columns = text_form.columns(sources, card.kind.rows)
    with answer:
        set_fields.warn(sources, columns, card, dev_set, test_set)
    if not seeds or dev is None or test is None:
        return None
    others = [None if one.is_own_rows else set_choice.evaluated_on(one, for_runs=True) for one in more]
    missing = any(not one.is_own_rows and read is None for one, read in zip(more, others, strict=True))
    if not set_fields.are_apart(dev_set, (test_set, *others)) or missing or elsewhere is None:
        return None
    from explorer.training.recipe import Recipe

    main = None if test == set_fields.NO_TEST else test
    sets = {"dev": dev, "test": main, "more_tests": more, "elsewhere": elsewhere}
    with messages.errors_shown():
        return Recipe.read(
            {"method": card.name, "data": sources or Recipe.data, "columns": columns, "seeds": seeds, **sets}
        )
    return None


def _more_tests(test: str | None, held_out: list[str]) -> tuple[SetIdentity, ...]:
    """Further test sets beside the main one; without one there are none."""
    if test == set_fields.NO_TEST:
        return ()
    state = st.session_state
    chosen = [name for name in state.get(MORE_TESTS, ()) if name != test]
    if MORE_TESTS in state and chosen != state[MORE_TESTS]:
        state[MORE_TESTS] = chosen
    options = [name for name in (*held_out, *set_fields.every_set()) if name != test]
    knob, menu = training_form.setting("more_tests"), set_choice.in_menu()
    names = controls.draw("", knob, key=MORE_TESTS, offered=options, format_func=menu, placeholder="none")
    found: tuple[SetIdentity, ...] = knob.checked(tuple(names))
    return found
