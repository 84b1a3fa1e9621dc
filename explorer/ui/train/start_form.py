"""The form of a run: the row that starts it, the estimate, what the base leaves to gain, and where the run begins."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import in_words, progress, run_folder
from explorer.data import sources
from explorer.data.graded.sets import SetIdentity, SetKind
from explorer.encoding.load import hardware
from explorer.errors import StrataError
from explorer.training.loop.computed import planned
from explorer.training.record import status as statuses
from explorer.training.record.run_facts import RunFacts
from explorer.ui import messages
from explorer.ui.access import cached, jobs
from explorer.ui.runs import run_curves, run_status, training_form, training_queue
from explorer.ui.train import negatives_view, recipe_form
from explorer.ui.widgets import controls, downloads, first_screen

if TYPE_CHECKING:
    from explorer.measuring.sentences.cut_texts import CutTexts
    from explorer.studies.room_to_gain import BeforeStart, FirstPoint
    from explorer.training.loop.measured_facts import Estimate
    from explorer.training.recipe import Recipe

NAME = "run name"
_STARTED, _TIMED = "_run started", "_recipe timed"
FEW = FEW_OF_OTHERS = 2000  # rows of the visitor, and of texts that ship, of which a step is timed without being asked
ESTIMATE = "Estimate: {}."
WHERE = "Trains on {}, with {} of memory free."
TAKES, MEASURING = "It takes about **{}** for {:,} steps.", "Measuring one step …"
READING = "Reading your text and testing the base …"
PREVIEWED = 20_000  # rows, of which the base is scored before the start
READ_MORE = "Read {:,} tokens"
COMMAND, RUNS = "Command", "Runs"  # tabs
FIX = "Fix the highlighted fields to start: *Settings*, *Dev and test sets* or *Stages*."


def page() -> None:
    """Text, method and Start in a row, the plan, what the run will draw, and the other fields in tabs."""
    row, answer, figure = first_screen.controls_row(), first_screen.answer(), first_screen.figure()
    recipe_form.first_visit()
    negatives = [negatives_view.TAB] * negatives_view.mines()
    names = [recipe_form.SETTINGS, recipe_form.ABOUT, *negatives, recipe_form.SETS, recipe_form.STAGES, COMMAND, RUNS]
    chosen, panes = first_screen.panes(names)
    recipe = recipe_form.recipe(row, answer, panes)
    _start(recipe, row, answer, panes[COMMAND], shows_command=chosen == COMMAND)
    first, found = _scoring(recipe), None
    with answer:
        free = first is None or jobs.has_ended(first, MEASURING)  # a step at the same time would take longer
        if free and recipe is not None and recipe.trains:
            found = _estimate(recipe, row)
        if recipe is not None:
            _where(recipe, found)
    if negatives:
        negatives_view.view(recipe, panes[negatives_view.TAB], answer, opened=chosen == negatives_view.TAB)
    with figure:
        _preview(recipe, first, found.steps // len(recipe.seeds) if recipe is not None and found is not None else 0)
    if chosen == RUNS:
        with panes[RUNS]:
            run_status.table("the form", training_form.choose, "show its run")


def _start(
    recipe: Recipe | None, row: DeltaGenerator, answer: DeltaGenerator, pane: DeltaGenerator, *, shows_command: bool
) -> None:
    """The name, Start, and in its open tab the same run from the command line: a browser takes long to draw code."""
    if st.session_state.pop(_STARTED, False):
        st.session_state[NAME] = ""  # the next run has another name
    name = pane.text_input(
        "Run name",
        key=NAME,
        width=280,
        placeholder="method, model and a number",
        persist_state="session",
        help="The name of the run's folder: letters, digits, '-', '_' and '.'. Optional.",
    )

    def start(recipe: Recipe) -> None:
        _stop_timing()  # the run measures itself
        training_form.choose(training_queue.start(recipe, name.strip()))
        st.session_state[_STARTED] = True

    act = None if recipe is None else partial(start, recipe)
    controls.button(row, "Start", act, key="run start", type="primary", icon=":material/play_arrow:")
    if recipe is None:
        asked = st.session_state.get(training_form.ASKED_FOR_FILE)
        answer.caption("A text is needed to start." if asked else FIX)
        return
    with answer:
        _base_on_test(recipe)
    if not shows_command:
        return
    with pane:
        st.caption("The same run from the command line:")
        st.code(recipe.command(), language=None, wrap_lines=True)
        again = "Repeat the run with `python -m explorer train --recipe recipe.yaml`."
        downloads.file("recipe.yaml", recipe.as_yaml(), "recipe.yaml", help=again)


def _estimate(recipe: Recipe, row: DeltaGenerator) -> Estimate | None:
    """How long the run takes, once a step has been tried: of few rows without being asked, else by a button."""
    job_key = training_queue.trial_key(recipe)
    job = jobs.find(job_key) or _timed(recipe)
    if job is not None and not jobs.has_ended(job, MEASURING):
        return None
    found: Estimate | None = run_status.estimate(
        row, "run estimate", "on the longest rows", job_key, partial(training_queue.try_one_step, recipe)
    )
    if found is not None and found.cut is not None and not _reads_own(recipe):  # else it is said before
        _cut_texts(recipe, found.cut)
    return found


def _where(recipe: Recipe, known: Estimate | None) -> None:
    """On what the run would train, its free memory, and how long it takes if that is known, in one line."""
    try:
        here = planned(recipe)
    except StrataError as error:  # of a recipe of another machine
        st.warning(messages.plain(str(error)), icon=":material/memory:")
        return
    line = messages.plain(WHERE.format(here.where, in_words.size(hardware.free_memory(here.device))))
    if known is None:
        st.caption(line)
        return
    takes = TAKES.format(in_words.duration(known.seconds), known.steps)
    st.markdown(f"{takes} :small[{line}]", help=messages.plain(ESTIMATE.format(known.words)))


def _scoring(recipe: Recipe | None) -> jobs.Job | None:
    """The job that scores the base where the run begins; None without a recipe, or of a large text."""
    text = training_form.text_defaults(recipe.data, recipe.method, recipe.columns) if recipe else None
    if recipe is None or text is None or text.rows > PREVIEWED:
        return None
    # what decides it: base, texts and pairs as they are, and how they are read
    now = cached.inputs_digest((recipe.model,), (*recipe.data, recipe.dev))
    parts = (
        recipe.dev,
        recipe.watch,
        recipe.device,
        recipe.prompt,
        sorted(recipe.columns.items()),
        recipe.kind.rows,
        recipe.every_setting(),
    )
    return jobs.follow(f"first point {now} {parts}", "what the run begins with", lambda: _first_point(recipe))


def _preview(recipe: Recipe | None, job: jobs.Job | None, total: int) -> None:
    """The dev score and the cosines of the base, where the run will begin; empty without them."""
    facts = RunFacts() if recipe is None else RunFacts(dev=recipe.dev)
    status = statuses.Status(state=statuses.WAITING, total=total, facts=facts)
    lines: list[run_folder.MetricLine] = []
    found: FirstPoint | None = None if job is None else job.result
    if found is not None and recipe is not None:
        facts = replace(facts, watched=found.pairs, measures=dict.fromkeys(("dev", "test"), found.measure))
        status = replace(status, base=found.dev, facts=facts)
        lines = [run_folder.Evaluation(1, recipe.seeds[0], 0, dev=found.dev, cosines=found.cosines)]
    run_curves.curves(lines, status, "of the form")


def _first_point(recipe: Recipe) -> progress.Work[FirstPoint]:
    from explorer.studies.room_to_gain import first_point

    return (yield from first_point(recipe))


def _is_on_own_rows(recipe: Recipe) -> bool:
    """Whether a training is tested on a set of the visitor."""
    test = recipe.test
    if test is None or not recipe.trains:
        return False
    return test.is_own_rows or _is_own(test)


def _reads_own(recipe: Recipe) -> bool:
    """Whether a training reads or is tested on something of the visitor."""
    return _is_on_own_rows(recipe) or any(map(_is_own, recipe.data))


def _is_own(given: SetIdentity) -> bool:
    """Whether a text or a set is the visitor's: uploaded, or on this disk."""
    return given.kind == SetKind.UPLOADED or sources.is_file(str(given)) or sources.is_folder(str(given))


def _timed(recipe: Recipe) -> jobs.Job | None:
    """The job that says how long a training on few own rows takes, without being asked; None beside another run."""
    _stop_timing()  # of a form that has changed since
    text = training_form.text_defaults(recipe.data, recipe.method, recipe.columns)
    few = FEW if _is_on_own_rows(recipe) else FEW_OF_OTHERS
    if text is None or text.rows > few or training_queue.under_way():
        return None
    st.session_state[_TIMED] = training_queue.trial_key(recipe)
    return training_queue.try_one_step(recipe)


def _stop_timing() -> None:
    job = jobs.find(st.session_state.get(_TIMED, ""))
    if job is not None and job.live:
        job.stop()


def _base_on_test(recipe: Recipe) -> None:
    """What is too long and the base's score, once a background job has both; nothing for what is not the visitor's."""
    if not _reads_own(recipe):
        return
    # what decides the score: the models and texts as they are, the rows that are held out, and the device
    now = cached.inputs_digest((recipe.model,), (*recipe.data, *recipe.tests))
    length = recipe.schedule().max_length if recipe.trains else 0
    parts = recipe.data, sorted(recipe.columns.items()), recipe.tests, recipe.keeps_duplicates, recipe.device, length
    key = f"base on test {now} {recipe.kind.rows} {parts}"
    job = jobs.follow(key, "the base on the test rows", lambda: _tested(recipe))
    if jobs.has_ended(job, READING) and job.result is not None:  # of a failed one the start shows the error
        _gain(recipe, job.result)


def _cut_texts(recipe: Recipe, cut: CutTexts) -> None:
    """How many texts are longer than is read of them, and a button that has more read."""
    if not cut.text:
        return
    line = st.container(horizontal=True, vertical_alignment="center")
    line.markdown(messages.plain(cut.text), width="stretch")
    field = training_form.knob_key(recipe.method, "max_length")
    if cut.can_read_more and field in st.session_state:
        read = partial(st.session_state.update, {field: cut.read_limit})
        line.button(READ_MORE.format(cut.read_limit), key="read more", icon=":material/expand:", on_click=read)


def _gain(recipe: Recipe, every: BeforeStart) -> None:
    if every.cut is not None:
        _cut_texts(recipe, every.cut)
    found = every.room
    if found is None:
        return
    if found.is_little:
        st.info(messages.plain(found.text), icon=":material/trending_flat:")
    else:
        st.caption(messages.plain(found.text))
    if found.misses:
        with st.expander("Queries that the base misses", icon=":material/search_off:"):
            for miss in found.misses:
                for heading, text in (("query", miss.query), ("at rank 1", miss.first), ("right", miss.right)):
                    st.caption(heading)
                    st.text(messages.shortened(text, messages.LONGEST))


def _tested(recipe: Recipe) -> progress.Work[BeforeStart]:
    from explorer.studies.room_to_gain import before_start

    return (yield from before_start(recipe, scored=_is_on_own_rows(recipe)))
