"""Choose the model that a training starts from; on the model of a run, whether to stack another training."""

from contextlib import suppress
from dataclasses import replace

import streamlit as st

from explorer import errors, places, run_folder
from explorer.data import sources
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import sidebar
from explorer.ui.runs import training_form
from explorer.ui.widgets import controls

BASE = "recipe base"


def base() -> str | None:
    """The model to start from; None until the visitor has chosen whether to stack on another run."""
    source = sidebar_choice.chosen().source
    run = _run_of(source)
    if run is None:
        return source
    options = [source]
    with suppress(errors.StrataError):  # an unreadable recipe names no base
        options.append(run.recipe().model)
    if st.session_state.get(BASE) not in options:
        st.session_state[BASE] = None
    chosen: str | None = controls.draw(
        "",
        replace(training_form.setting("model", "Start from"), default=source, choices=tuple(options)),
        key=BASE,
        horizontal=False,
        format_func=lambda option: (
            messages.plain(sources.shown(option))
            + (f": stacks on run {messages.plain(run.name)}" if option == source else ": the base of that run")
        ),
        help=f"The sidebar's model comes from run '{messages.plain(run.name)}'. Training it further stacks two "
        "runs: the scores then show both together.",
    )
    if chosen is None:
        st.warning(
            f"The sidebar's model was trained by run {messages.plain(run.name)}. Choose under **Start from**: "
            "train it further, or start from its base.",
            icon=":material/layers:",
        )
    return chosen


def choose(source: str) -> None:
    """Make this the model to start from; only in a callback."""
    sidebar.choose_encoder(source)
    st.session_state[BASE] = source


def _run_of(source: str) -> runs.Run | None:
    """The run that trained a model or a checkpoint, found by the model's name or folder."""
    try:
        if source.startswith(run_folder.RUN):
            return runs.find(run_folder.run_and_checkpoint(source)[0])
        return runs.of_model(places.given_path(source).absolute())
    except (OSError, errors.StrataError):  # the page shows the model's error
        return None
