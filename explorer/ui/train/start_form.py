"""Start a run, estimate its time and memory, or show it as a command line and recipe.yaml."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.ui import messages
from explorer.ui.access import jobs
from explorer.ui.runs import estimate_button, run_in_address, train_form_keys, training_queue
from explorer.ui.train import base_on_test
from explorer.ui.widgets import late_clicks

if TYPE_CHECKING:
    from explorer.training.recipe import Recipe

NAME = "run name"
_STARTED = "_run started"
ESTIMATE = "Estimate: {}."


def buttons(recipe: Recipe | None) -> None:
    """Start, estimate, and the same run from the command line."""
    if st.session_state.pop(_STARTED, False):
        st.session_state[NAME] = ""  # the next run has another name
    if recipe is not None:
        base_on_test.show(recipe)
    line = st.container(horizontal=True, vertical_alignment="bottom")
    name = line.text_input(
        "Run name",
        key=NAME,
        width=280,
        placeholder="method, model and a number",
        persist_state="session",
        help="The name of the run's folder: letters, digits, '-', '_' and '.'. Optional.",
    )
    start = None if recipe is None else partial(_start, recipe, name.strip())
    late_clicks.button(line, "Start", start, key="run start", type="primary", icon=":material/play_arrow:")
    if recipe is None:
        asked = st.session_state.get(train_form_keys.ASKED_FOR_FILE)
        st.caption("A text is needed to start." if asked else "Fix the highlighted fields to start.")
        return
    if recipe.kind.trains():
        _trial(recipe, line)
    st.caption("The same run from the command line:")
    st.code(recipe.command(), language=None, wrap_lines=True)
    st.download_button(
        "recipe.yaml",
        recipe.as_yaml(),
        "recipe.yaml",
        icon=":material/download:",
        on_click="ignore",
        help="Repeat the run with `python -m explorer train --recipe recipe.yaml`.",
    )


def _start(recipe: Recipe, name: str) -> None:
    run_in_address.choose(training_queue.start(recipe, name))
    st.session_state[_STARTED] = True


def _trial(recipe: Recipe, line: DeltaGenerator) -> None:
    """Estimate what a run takes from one trial step, if no other run is under way."""
    job = jobs.find(training_queue.trial_key(recipe))
    found = estimate_button.show(
        job, line, "run estimate", "on the longest rows", lambda: training_queue.try_one_step(recipe)
    )
    if found is not None:
        st.info(messages.plain(ESTIMATE.format(found.words)), icon=":material/speed:")
