"""Choose the model a new run starts from; the model of a run only if the visitor confirms it."""

from __future__ import annotations

import streamlit as st

from explorer import run_folder
from explorer.data import sources
from explorer.errors import StrataError
from explorer.places import given_path
from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.ui import messages
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import sidebar

BASE = "recipe base"


def base() -> str | None:
    """The model to start from; None until the visitor has chosen whether to stack on another run."""
    source = sidebar_choice.chosen().source
    run = _run_of(source)
    if run is None:
        st.markdown(
            f"Fine-tunes a copy of **{messages.plain(sources.shown(source))}**, the model of the sidebar. The original "
            "is not changed; a new model is saved."
        )
        return source
    options = [source, *_base_of(run)]
    if st.session_state.get(BASE) not in options:
        st.session_state[BASE] = None
    chosen: str | None = st.radio(
        "Start from",
        options,
        key=BASE,
        format_func=lambda option: _told(option, run, source),
        persist_state="session",
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


def _told(option: str, run: Run, source: str) -> str:
    if option == source:
        return f"{messages.plain(sources.shown(option))}: stacks on run {messages.plain(run.name)}"
    return f"{messages.plain(sources.shown(option))}: the base of that run"


def _run_of(source: str) -> Run | None:
    """The run that trained a model or a checkpoint, found by the model's name or folder."""
    if source.startswith(run_folder.RUN):
        name = run_folder.run_and_checkpoint(source)[0]
        try:
            return runs.find(name)
        except StrataError:
            return None  # the page shows the model's error
    try:
        return runs.of_model(given_path(source).absolute())
    except (OSError, StrataError):  # the page shows the model's error
        return None


def _base_of(run: Run) -> list[str]:
    try:
        return [run.recipe().model]
    except StrataError:  # an unreadable recipe names no base
        return []
