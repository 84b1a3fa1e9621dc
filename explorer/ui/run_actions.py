"""Buttons for the run that is shown: train again, resume, duplicate, rename, delete."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.errors import BadChoice
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run
from explorer.ui import clicks, recipe_form, shown_run, trainer


def bar(run: Run) -> None:
    """The buttons; a run under way can be duplicated, and nothing else."""
    status = trainer.standing(run)
    with st.container(horizontal=True):
        st.button("New run", icon=":material/add:", on_click=shown_run.leave, help="Back to the form.")
        st.button(
            "Duplicate and edit",
            icon=":material/content_copy:",
            on_click=_duplicate,
            args=(run,),
            help="Fills the form with this run's recipe.",
        )
        if run.is_example:
            st.button(
                "Train it again",
                type="primary",
                icon=":material/replay:",
                on_click=_train_again,
                args=(run,),
                help="Starts a run of yours with the same recipe, and saves its model.",
            )
        if status.live or run.is_example:
            return
        if status.state != statuses.FINISHED:
            st.button("Resume", icon=":material/resume:", on_click=_resume, args=(run,))
        with st.popover("Rename", icon=":material/edit:"):
            name = f"name for {run.name}"
            st.text_input("New name", run.name, key=name)
            st.button("Rename it", on_click=_rename, args=(run, name))
        with st.popover("Delete", icon=":material/delete:"):
            st.write("The run's folder will be deleted, with its model.")
            st.button("Yes, delete it", type="primary", on_click=_delete, args=(run,))


def _train_again(run: Run) -> None:
    clicks.attempt(lambda: shown_run.choose(trainer.start(replace(run.recipe(), made_with={}))))


def _resume(run: Run) -> None:
    clicks.attempt(lambda: trainer.resume(run))


def _duplicate(run: Run) -> None:
    def fill() -> None:
        recipe_form.fill(run.recipe())
        shown_run.leave()

    clicks.attempt(fill)


def _rename(run: Run, key: str) -> None:
    name = str(st.session_state[key]).strip()

    def rename() -> None:
        if not name:
            raise BadChoice("The new name is empty. Type letters, digits, '-', '_' and '.'.")
        if name != run.name:
            shown_run.choose(trainer.rename(run, name))

    clicks.attempt(rename)


def _delete(run: Run) -> None:
    def delete() -> None:
        trainer.delete(run)
        shown_run.leave()

    clicks.attempt(delete)
