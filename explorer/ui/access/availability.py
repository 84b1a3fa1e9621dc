"""Find the chosen model or set on this disk, or offer to fetch it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from explorer.data.graded import sets, sts
from explorer.data.kinds import GradedPairs
from explorer.encoding.locate import model_names
from explorer.encoding.locate.model_names import Found
from explorer.errors import HubUnreachable, SetNotFound, StrataError
from explorer.progress import Progress, Work
from explorer.ui import messages
from explorer.ui.access import cached, cached_text, job_progress, jobs


def encoder(source: str) -> Found | None:
    """The encoder; None, with the error and a fetch button, if it is not on this disk."""
    try:
        return cached.found(source)
    except HubUnreachable as error:
        messages.trouble(error)
        offer(f"Fetch {source} from the hub", lambda: model_names.fetch(source))
    except StrataError as error:
        messages.trouble(error)
    return None


def pairs(name: str) -> GradedPairs | None:
    """The pairs of a set; None, with the error and a fetch button, if they are not on this disk."""
    try:
        return cached_text.graded_file(name) if _is_file(name) else cached_text.graded_pairs(name)
    except SetNotFound as error:
        messages.trouble(error)
        offer_set(name)
    except StrataError as error:
        messages.trouble(error)
    return None


def _is_file(name: str) -> bool:
    """Whether the name is a file, as on the command line."""
    return name not in sets.names() and bool(Path(name).suffix) and Path(name).is_file()


def on_this_disk(name: str) -> bool:
    """Whether a set can be loaded without a network."""
    try:
        cached_text.graded_pairs(name)
    except StrataError:
        return False
    return True


def offer_set(name: str) -> None:
    """A button that fetches a published set; one button for each split if the name has none."""
    for title in sts.menu():
        if name in (title, title.rpartition(" ")[0]) and not on_this_disk(title):
            offer(f"Fetch {title} from the hub", partial(_fetch_set, title))


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
