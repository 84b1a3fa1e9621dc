"""How is what the form says tried, started, or taken to the command line?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from explorer.errors import StrataError
from explorer.ui import notices, shown_run, trainer, work

if TYPE_CHECKING:
    from explorer.training.recipe import Recipe

NAME = "run name"


def buttons(recipe: Recipe | None) -> None:
    """Start, try one step, and the same from the command line."""
    line = st.container(horizontal=True, vertical_alignment="bottom")
    line.text_input(
        "Name of the run",
        key=NAME,
        width=280,
        placeholder="method, model and a number",
        persist_state="session",
        help="Letters, digits, '-', '_' and '.'. It names the run's folder.",
    )
    line.button(
        "Start",
        type="primary",
        icon=":material/play_arrow:",
        disabled=recipe is None,
        on_click=_start,
        args=(recipe,),
    )
    if recipe is None:
        st.caption("Start waits until what is marked above is mended.")
        return
    _trial(recipe)
    with st.expander("The same from the command line", icon=":material/terminal:"):
        st.code(recipe.command(), language="bash", wrap_lines=True)
        st.download_button(
            "recipe.yaml", recipe.as_yaml(), "recipe.yaml", icon=":material/download:", on_click="ignore"
        )
        st.caption("`python -m explorer train --recipe recipe.yaml` repeats it too.")


def _start(recipe: Recipe) -> None:
    try:
        run = trainer.start(recipe, st.session_state.get(NAME, "").strip())
    except StrataError as error:
        notices.trouble(error)
        return
    st.session_state[NAME] = ""
    shown_run.choose(run)


def _trial(recipe: Recipe) -> None:
    """What a run would take: one step is tried, where no run is in the way."""
    job = work.find(trainer.trial_key(recipe))
    if job is not None and job.state == work.DONE:
        st.info(notices.plain(job.result.told), icon=":material/speed:")
    elif job is not None:
        notices.progress_of(job)
    elif trainer.busy():
        st.caption("To try one step first, wait for the run that is under way: side by side they would tell wrong times.")
    else:
        st.button(
            "Try one step",
            icon=":material/speed:",
            on_click=trainer.try_one_step,
            args=(recipe,),
            help="Loads everything and tries the longest rows: tells time, memory and disk, and keeps nothing.",
        )
