"""Find the chosen model or set on this disk, or offer to fetch it."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import streamlit as st

from explorer.data import sources, uploads
from explorer.data.graded import sets, sts, user_sets
from explorer.data.kinds import GradedPairs
from explorer.data.sources import EvaluationSet
from explorer.encoding.locate import model_names
from explorer.encoding.locate.model_names import Found
from explorer.errors import HubUnreachable, SetNotFound, StrataError
from explorer.evaluating.tasks.judges import Evaluated
from explorer.progress import Progress, Work
from explorer.ui import messages
from explorer.ui.access import cached, cached_text, job_progress, jobs

FETCH = "Fetch {} from the hub"
NOT_ON_DISK = "{} is not on this disk. Fetch it from the hub, or set {}"
NOT_ON_HUB = "{} is not on this disk, and the hub does not have it. Set {}"


def encoder(source: str) -> Found | None:
    """The encoder; None, with the error and a fetch button, if it is not on this disk."""
    try:
        return cached.found(source)
    except HubUnreachable as error:
        messages.trouble(error)
        offer(FETCH.format(source), lambda: model_names.fetch(source))
    except StrataError as error:
        messages.trouble(error)
    return None


def pairs(name: str) -> GradedPairs | None:
    """The pairs of a set; None, with a card and a fetch button, or the error, if they are not on this disk."""
    try:
        return cached_text.graded_file(name) if sources.is_file(name) else cached_text.graded_pairs(name)
    except SetNotFound as error:
        set_not_found(error, *published(name)[-1:])  # without a split it is the test split, the last one
    except StrataError as error:
        messages.trouble(error)
    return None


def evaluation_set(name: str) -> EvaluationSet | None:
    """The evaluation set of a name; None, with the error, if it is not on this disk."""
    if name not in sources.NAMED_SETS and not sources.is_file(name) and not sources.is_folder(name):
        return pairs(name)
    try:
        return cached_text.evaluation_set(name)
    except StrataError as error:
        messages.trouble(error)
    return None


def evaluated_on(name: str) -> Evaluated | None:
    """The evaluation set of a name, of any kind; None, with the error, if it is not on this disk."""
    if _is_scored_set(name):
        return pairs(name)
    try:
        return cached_text.evaluated_on(uploads.located(name))
    except StrataError as error:
        messages.trouble(error)
    return None


def _is_scored_set(source: str) -> bool:
    """Whether a name can only be that of a set of scored pairs."""
    with suppress(SetNotFound):
        sets.check(source)
        return True
    return False


def on_this_disk(name: str) -> bool:
    """Whether a set can be loaded without a network."""
    try:
        cached_text.graded_pairs(name)
    except StrataError:
        return False
    return True


def published(name: str) -> tuple[str, ...]:
    """The titles of the published splits that a name means: one, all of a set named without a split, or none."""
    if user_sets.is_own(name):
        return ()
    with suppress(SetNotFound):
        found = sts.find(name)
        return tuple(f"{found.name} {split.name}" for split in found.splits)
    with suppress(SetNotFound):
        known, split = sts.name_and_split(name)
        title = f"{sts.find(known).name} {sts.split_name(split)}"
        return (title,) if title in sts.menu() else ()
    return ()


def set_not_found(error: SetNotFound, *titles: str) -> None:
    """A card for each published split that is not on this disk; the error, if it is about anything else."""
    missing = {split: title for title in titles if (split := _missing_split(title))}
    if error.split not in missing:
        messages.trouble(error)
    for title in missing.values():
        offer_set(title)


def _missing_split(title: str) -> tuple[str, str] | None:
    """The published split with this title, if it is not on this disk."""
    try:
        cached_text.graded_pairs(title)
    except SetNotFound as error:
        return error.split
    except StrataError:
        pass
    return None


def offer_set(title: str) -> None:
    """A card for a published split that is not on this disk, with a button that fetches it if the hub has it."""
    name, split = sts.name_and_split(title)
    (found,) = (one for one in sts.find(name).splits if one.name == split)
    folder = f"`{sts.VARIABLE}` to a folder that has it as `{found.file}`."
    if not found.on_hub:
        st.info(NOT_ON_HUB.format(messages.plain(title), folder), icon=":material/database_off:")
        return
    st.info(NOT_ON_DISK.format(messages.plain(title), folder), icon=":material/cloud_download:")
    offer(FETCH.format(title), partial(_fetch_set, title))


def offer(label: str, make: jobs.Make) -> None:
    """A button that starts a download; nothing is fetched without a click."""
    job = jobs.find(label)
    if job is not None and job.state != jobs.DONE:
        job_progress.progress_of(job)
    elif st.button(messages.plain(label), icon=":material/download:", key=label):
        jobs.forget(label)
        jobs.follow(label, label, make, lane=jobs.NETWORK)
        st.rerun()


def _fetch_set(name: str) -> Work[None]:
    yield Progress("connecting to huggingface.co", 0, 0)
    sets.by_name(name, online=True)
