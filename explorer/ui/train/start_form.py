"""Start a run: its name, the buttons, the estimate, what the base leaves to gain, and the same run from a command."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer import progress
from explorer.data import sources
from explorer.data.graded.sets import SetKind
from explorer.ui import messages
from explorer.ui.access import cached, jobs
from explorer.ui.runs import run_status, training_form, training_queue
from explorer.ui.train import knob_form
from explorer.ui.widgets import controls, downloads

if TYPE_CHECKING:
    from explorer.measuring.sentences.cut_texts import CutTexts
    from explorer.studies.room_to_gain import BeforeStart
    from explorer.training.recipe import Recipe

NAME = "run name"
_STARTED, _TIMED = "_run started", "_recipe timed"
FEW = 2000  # rows, of which a step is timed without being asked
ESTIMATE = "Estimate: {}."
READ_MORE = "Read {:,} tokens"


def buttons(recipe: Recipe | None) -> None:
    """Start, estimate, and the same run from the command line."""
    if st.session_state.pop(_STARTED, False):
        st.session_state[NAME] = ""  # the next run has another name
    if recipe is not None:
        _base_on_test(recipe)
    line = st.container(horizontal=True, vertical_alignment="bottom")
    name = line.text_input(
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
    controls.button(line, "Start", act, key="run start", type="primary", icon=":material/play_arrow:")
    if recipe is None:
        asked = st.session_state.get(training_form.ASKED_FOR_FILE)
        st.caption("A text is needed to start." if asked else "Fix the highlighted fields to start.")
        return
    if recipe.trains:
        job = jobs.find(training_queue.trial_key(recipe)) or _timed(recipe)
        found = run_status.estimate(
            job, line, "run estimate", "on the longest rows", lambda: training_queue.try_one_step(recipe)
        )
        if found is not None:
            st.info(messages.plain(ESTIMATE.format(found.words)), icon=":material/speed:")
            if found.cut is not None and not _reads_own(recipe):  # else it is said before
                _cut_texts(recipe, found.cut)
    st.caption("The same run from the command line:")
    st.code(recipe.command(), language=None, wrap_lines=True)
    again = "Repeat the run with `python -m explorer train --recipe recipe.yaml`."
    downloads.file("recipe.yaml", recipe.as_yaml(), "recipe.yaml", help=again)


def _is_on_own_rows(recipe: Recipe) -> bool:
    """Whether a training is tested on a set of the visitor."""
    test = recipe.test
    if test is None or not recipe.trains:
        return False
    return test in sources.OWN_ROWS or _is_own(test)


def _reads_own(recipe: Recipe) -> bool:
    """Whether a training reads or is tested on something of the visitor."""
    return _is_on_own_rows(recipe) or any(map(_is_own, recipe.data))


def _is_own(source: str) -> bool:
    """Whether a text or a set is the visitor's: uploaded, or on this disk."""
    uploaded = sources.identity(source).kind == SetKind.UPLOADED
    return uploaded or sources.is_file(source) or sources.is_folder(source)


def _timed(recipe: Recipe) -> jobs.Job | None:
    """The job that says how long a training on few own rows takes, without being asked; None beside another run."""
    _stop_timing()  # of a form that has changed since
    text = training_form.text_defaults(recipe.data, recipe.method, recipe.columns)
    if text is None or text.rows > FEW or not _is_on_own_rows(recipe) or training_queue.under_way():
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
    st.fragment(_gain, run_every=1.0 if job.live else None)(recipe, job, job.live)


def _cut_texts(recipe: Recipe, cut: CutTexts) -> None:
    """How many texts are longer than is read of them, and a button that has more read."""
    if not cut.text:
        return
    line = st.container(horizontal=True, vertical_alignment="center")
    line.markdown(messages.plain(cut.text), width="stretch")
    field = knob_form.key_of(recipe.method, "max_length")
    if cut.can_read_more and field in st.session_state:
        read = partial(st.session_state.update, {field: cut.read_limit})
        if line.button(READ_MORE.format(cut.read_limit), key="read more", icon=":material/expand:", on_click=read):
            st.rerun()  # the form, of which this fragment is a part


def _gain(recipe: Recipe, job: jobs.Job, was_live: bool) -> None:
    if job.live:
        st.caption("Reading your text and testing the base …")
        return
    if was_live:
        st.rerun()  # the whole page: with it this fragment's clock goes
    every: BeforeStart | None = job.result  # a failed job says nothing: the start shows its error
    if every is None:
        return
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
