"""Buttons for the run that is shown: train again, resume, duplicate, rename, delete."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.errors import BadChoice
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run
from explorer.ui.runs import run_in_address, training_queue
from explorer.ui.train import recipe_form
from explorer.ui.widgets import refused_clicks


def bar(run: Run) -> None:
    """The buttons; a run under way can only be duplicated."""
    status = training_queue.standing(run)
    with st.container(horizontal=True):
        st.button("New run", key="run new", icon=":material/add:", on_click=run_in_address.leave, help="Open the form.")
        st.button(
            "Duplicate and edit",
            key="run duplicate",
            icon=":material/content_copy:",
            on_click=_duplicate,
            args=(run,),
            help="Fills the form with this run's recipe.",
        )
        if run.is_example:
            st.button(
                "Train it again",
                key="run again",
                type="primary",
                icon=":material/replay:",
                on_click=_train_again,
                args=(run,),
                help="Starts a new run with the same recipe and saves its model.",
            )
        if status.live or run.is_example:
            return
        if status.state != statuses.FINISHED:
            st.button("Resume", key="run resume", icon=":material/resume:", on_click=_resume, args=(run,))
        with st.popover("Rename", icon=":material/edit:"):
            name = f"name for {run.name}"
            st.text_input("New name", run.name, key=name)
            st.button("Rename run", key="run rename", on_click=_rename, args=(run, name))
        with st.popover("Delete", icon=":material/delete:"):
            st.write("This deletes the run's folder and its model. It cannot be undone.")
            st.button("Delete run", key="run delete", type="primary", on_click=_delete, args=(run,))


def _train_again(run: Run) -> None:
    refused_clicks.attempt(lambda: run_in_address.choose(training_queue.start(replace(run.recipe(), made_with={}))))


def _resume(run: Run) -> None:
    refused_clicks.attempt(lambda: training_queue.resume(run))


def _duplicate(run: Run) -> None:
    def fill() -> None:
        recipe_form.fill(run.recipe())
        run_in_address.leave()

    refused_clicks.attempt(fill)


def _rename(run: Run, key: str) -> None:
    name = str(st.session_state[key]).strip()

    def rename() -> None:
        if not name:
            raise BadChoice("The new name is empty. Type letters, digits, '-', '_' and '.'.")
        if name != run.name:
            run_in_address.choose(training_queue.rename(run, name))

    refused_clicks.attempt(rename)


def _delete(run: Run) -> None:
    def delete() -> None:
        training_queue.delete(run)
        run_in_address.leave()

    refused_clicks.attempt(delete)
