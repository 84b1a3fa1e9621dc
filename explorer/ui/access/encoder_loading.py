"""Is the encoder in memory, and if it is not, how far is it?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from explorer.encoding.locate.model_names import Found
from explorer.errors import StrataError
from explorer.measuring.scores.measure import Settings
from explorer.progress import Progress, Work
from explorer.ui import messages
from explorer.ui.access import cached, job_progress, jobs

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

AT_ONCE = 0.3  # seconds: what is in memory already is there without a word


def encoder(found: Found, settings: Settings) -> Encoder | None:
    """The encoder; until it is loaded, how far that is, or what is wrong."""
    return _opened(f"{settings.precision} {settings.device}", found, lambda: cached.encoder(found, settings))


def attending(found: Found) -> Encoder | None:
    """The same model once more, loaded so that it shows its attention."""
    return _opened("eager", found, lambda: cached.attending(found))


def _opened(how: str, found: Found, load: Callable[[], Encoder]) -> Encoder | None:
    key = f"loading {how} {found.folder} {found.digest}"
    job = jobs.follow(key, f"Loading {found.name}", lambda: _loading(load), lane=jobs.LOADING)
    if not job.ends_within(AT_ONCE) or job.state != jobs.DONE:
        job_progress.progress_of(job)
        return None
    try:
        with st.spinner(messages.plain(f"Loading {found.name} …")):  # only where it had to make room for another
            return load()
    except StrataError as error:
        messages.trouble(error)
        return None


def _loading(load: Callable[[], Encoder]) -> Work[None]:
    yield Progress("reading weights", 0, 0)
    load()
