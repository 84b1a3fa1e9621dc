"""Say before the start what the base scores on the visitor's own test rows, and whether there is little to gain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from explorer.data import sources
from explorer.data.graded.set_identity import SetKind
from explorer.data.sources import HELD_OUT
from explorer.progress import Work
from explorer.ui import messages
from explorer.ui.access import cached, jobs
from explorer.ui.access.jobs import Job

if TYPE_CHECKING:
    from explorer.training.loop.room_to_gain import RoomToGain
    from explorer.training.recipe import Recipe

TESTING = "Testing the base on your test rows …"


def show(recipe: Recipe) -> None:
    """The base's score, once a background job has it; nothing for sets that are not the visitor's."""
    if recipe.test is None or not recipe.kind.trains() or not _is_own(recipe.test):
        return
    job = jobs.follow(_key(recipe), "the base on the test rows", lambda: _tested(recipe))
    st.fragment(_found, run_every=1.0 if job.live else None)(job, job.live)


def _found(job: Job, was_live: bool) -> None:
    if job.live:
        st.caption(TESTING)
        return
    if was_live:
        st.rerun()  # the whole page: with it this fragment's clock goes
    found: RoomToGain | None = job.result  # a failed job says nothing: the start shows its error
    if found is None:
        return
    if found.is_little:
        st.info(messages.plain(found.told), icon=":material/trending_flat:")
    else:
        st.caption(messages.plain(found.told))


def _is_own(test: str) -> bool:
    """Whether a test set is the visitor's: rows of the training text, an uploaded set, a file or a folder."""
    uploaded = sources.identity(test).kind == SetKind.UPLOADED
    return test == HELD_OUT or uploaded or sources.is_file(test) or sources.is_folder(test)


def _key(recipe: Recipe) -> str:
    """What decides the score: the models and texts as they are, the rows that are held out, and the device."""
    now = cached.as_they_are((recipe.model,), (*recipe.data, *recipe.tests))
    parts = recipe.data, sorted(recipe.columns.items()), recipe.tests, recipe.keeps_duplicates, recipe.device
    return f"base on test {now} {recipe.kind.eats} {parts}"


def _tested(recipe: Recipe) -> Work[RoomToGain | None]:
    from explorer.training.loop.room_to_gain import room_to_gain

    return (yield from room_to_gain(recipe))
