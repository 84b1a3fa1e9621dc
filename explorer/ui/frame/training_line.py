"""Show the run that is being trained, on every page."""

from __future__ import annotations

import streamlit as st

from explorer.ui import messages
from explorer.ui.runs import run_status_text, training_queue

PAGE = "pages/train.py"
TRAINING = "Training: {}"


def line() -> None:
    """A link to the running run that updates itself; nothing, and no polling, when no run is training."""
    if training_queue.under_way():
        st.fragment(_line, run_every=2.0)()


def _line() -> None:
    live = training_queue.under_way()
    if not live:
        st.rerun()  # the whole page: with it this fragment's clock goes
    run, status = live[0]
    told = TRAINING.format(run_status_text.place(status))
    if len(live) > 1:
        told += f" (+{len(live) - 1})"
    st.page_link(
        PAGE,
        label=messages.plain(told),
        icon=":material/model_training:",
        query_params={"run": run.name},
        help=messages.plain(run.name),
    )
