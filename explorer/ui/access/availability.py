"""Is what was chosen on this disk, and if it is not, shall it be fetched?"""

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
    """The encoder; where there is none, what is in the way and a button that fetches it."""
    try:
        return cached.found(source)
    except HubUnreachable as error:
        messages.trouble(error)
        offer(f"Fetch {source} from the hub", lambda: model_names.fetch(source))
    except StrataError as error:
        messages.trouble(error)
    return None


def pairs(name: str) -> GradedPairs | None:
    """The graded pairs of a name in the menu; where there are none, what is in the way and a button that fetches."""
    try:
        return cached_text.graded_file(name) if _is_file(name) else cached_text.graded_pairs(name)
    except SetNotFound as error:
        messages.trouble(error)
        offer_set(name)
    except StrataError as error:
        messages.trouble(error)
    return None


def _is_file(name: str) -> bool:
    """Whether it is a file, which the command line takes too."""
    return name not in sets.names() and bool(Path(name).suffix) and Path(name).is_file()


def on_this_disk(name: str) -> bool:
    """Whether graded pairs can be read without a network."""
    try:
        cached_text.graded_pairs(name)
    except StrataError:
        return False
    return True


def offer_set(name: str) -> None:
    """A button that fetches a published set; one named without a split has several."""
    for title in sts.menu():
        if name in (title, title.rpartition(" ")[0]) and not on_this_disk(title):
            offer(f"Fetch {title} from the hub", partial(_fetch_set, title))


def offer(label: str, make: jobs.Make) -> None:
    """A button that starts work on the network: never without being asked."""
    job = jobs.find(label)
    if job is not None and job.state != jobs.DONE:
        job_progress.progress_of(job)
    elif st.button(messages.plain(label), icon=":material/download:", key=label):
        jobs.forget(label)
        jobs.follow(label, label, make, lane=jobs.NETWORK)
        st.rerun()


def _fetch_set(name: str) -> Work[None]:
    yield Progress("asking huggingface.co", 0, 0)
    sets.by_name(name, online=True)
