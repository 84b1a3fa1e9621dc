"""Find the chosen model or set on this disk, or offer to fetch it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import streamlit as st

from explorer.data.graded import sets, sts
from explorer.data.graded.set_identity import SetIdentity, SetKind
from explorer.data.kinds import GradedPairs
from explorer.data.sources import EvaluationSet
from explorer.encoding.locate import model_names
from explorer.encoding.locate.model_names import Found
from explorer.errors import HubUnreachable, SetNotFound, StrataError
from explorer.evaluating.tasks.judges import Evaluated
from explorer.progress import Progress, Work
from explorer.ui import messages
from explorer.ui.access import cached, cached_text, job_results, jobs

Loaded = TypeVar("Loaded")
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


def evaluation_set(given: SetIdentity) -> EvaluationSet | None:
    """An evaluation set of a kind that training reads; None, with the error, if it is not on this disk."""
    return _loaded(given, cached_text.evaluation_set)


def evaluated_on(given: SetIdentity) -> Evaluated | None:
    """An evaluation set of any kind; None, with the error, if it is not on this disk."""
    return _loaded(given, cached_text.evaluated_on)


def _loaded(given: SetIdentity, load: Callable[[SetIdentity], Loaded]) -> Loaded | GradedPairs | None:
    """What `load` gives, or scored pairs; None, with a card and a fetch button, or the error, if it is not there."""
    try:
        return cached_text.graded_pairs(given) if given.is_scored else load(given)
    except SetNotFound as error:
        set_not_found(error, *published(given)[-1:])  # without a split it is the test split, the last one
    except StrataError as error:
        messages.trouble(error)
    return None


def on_this_disk(given: SetIdentity) -> bool:
    """Whether a set can be loaded without a network."""
    try:
        cached_text.graded_pairs(given)
    except StrataError:
        return False
    return True


def published(given: SetIdentity) -> tuple[SetIdentity, ...]:
    """The published splits that a set is: one, all of a set without a split, or none."""
    if given.kind == SetKind.PUBLISHED and given.piece:
        return (given,)
    return sets.published(given.name) if given.kind in (SetKind.PUBLISHED, SetKind.OTHER) else ()


def set_not_found(error: SetNotFound, *splits: SetIdentity) -> None:
    """A card for each published split that is not on this disk; the error, if it is about anything else."""
    missing = {why: split for split in splits if (why := _missing(split))}
    if error.split not in missing:
        messages.trouble(error)
    for split in missing.values():
        offer_set(split)


def _missing(split: SetIdentity) -> tuple[str, str] | None:
    """The name and split of a published set, if it is not on this disk."""
    try:
        cached_text.graded_pairs(split)
    except SetNotFound as error:
        return error.split
    except StrataError:
        pass
    return None


def offer_set(split: SetIdentity) -> None:
    """A card for a published split that is not on this disk, with a button that fetches it if the hub has it."""
    title, found = split.title, sts.find_split(sts.find(split.name), split.piece)
    folder = f"`{sts.VARIABLE}` to a folder that has it as `{found.file}`."
    if not found.on_hub:
        st.info(NOT_ON_HUB.format(messages.plain(title), folder), icon=":material/database_off:")
        return
    st.info(NOT_ON_DISK.format(messages.plain(title), folder), icon=":material/cloud_download:")
    offer(FETCH.format(title), partial(_fetch_set, split))


def offer(label: str, make: jobs.Make) -> None:
    """A button that starts a download; nothing is fetched without a click."""
    job = jobs.find(label)
    if job is not None and job.state != jobs.DONE:
        job_results.progress_of(job)
    elif st.button(messages.plain(label), icon=":material/download:", key=label):
        jobs.forget(label)
        jobs.follow(label, label, make, lane=jobs.NETWORK)
        st.rerun()


def _fetch_set(split: SetIdentity) -> Work[None]:
    yield Progress("connecting to huggingface.co", 0, 0)
    sets.load(split, online=True)
