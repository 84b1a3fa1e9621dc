"""Load an encoder in the background, with progress shown until it is in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from explorer.encoding.locate.model_names import Found
from explorer.errors import StrataError
from explorer.measuring.scores.measure import Settings
from explorer.progress import Progress, Work
from explorer.ui import messages
from explorer.ui.access import cached, job_results, jobs

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder


def encoder(found: Found, settings: Settings) -> Encoder | None:
    """The encoder; None, with progress or the error shown, until it is loaded."""
    return _opened(f"{settings.precision} {settings.device}", found, lambda: cached.encoder(found, settings))


def attending(found: Found) -> Encoder | None:
    """A second instance of the model that returns attention weights."""
    return _opened("eager", found, lambda: cached.attending(found))


def _opened(how: str, found: Found, load: Callable[[], Encoder]) -> Encoder | None:
    key = f"loading {how} {found.folder} {found.digest}"
    if job_results.finished(key, f"Loading {found.name}", lambda: _loading(load), jobs.LOADING) is None:
        return None
    try:
        with st.spinner(messages.plain(f"Loading {found.name} …")):  # only if it was evicted meanwhile
            return load()
    except StrataError as error:
        messages.trouble(error)
        return None


def _loading(load: Callable[[], Encoder]) -> Work[None]:
    yield Progress("loading weights", 0, 0)
    load()
