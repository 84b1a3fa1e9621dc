"""How does a file come from a visitor's disk, and where does it stay?"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from explorer.data.files import ENDINGS
from explorer.data.table import Table
from explorer.places import cache_folder, write_whole
from explorer.ui import cached_text, clicks

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

TYPES = [ending.removeprefix(".") for ending in ENDINGS]


def to_stay(label: str, key: str, take: Callable[[str], object], help: str | None = None, told: str = "") -> None:
    """A box behind a button; a file put into it is kept, and its path taken, before the page is drawn anew."""
    with st.popover("Bring a file", icon=":material/upload_file:"):
        st.file_uploader(label, type=TYPES, key=key, on_change=_keep, args=(key, take), help=help)
        if told:
            st.caption(told)


def to_read(label: str, help: str) -> UploadedFile | None:
    """A box whose file is only read."""
    return st.file_uploader(label, type=TYPES, help=help)


def table(upload: UploadedFile) -> Table:
    """What a file holds."""
    data = upload.getvalue()
    return cached_text.table(upload.name, hashlib.sha256(data).hexdigest(), data)


def paths() -> list[str]:
    """Of the files that were brought before."""
    return sorted(map(str, _folder().glob("*"))) if _folder().is_dir() else []


def _keep(key: str, take: Callable[[str], object]) -> None:
    upload = st.session_state[key]
    if upload is not None:
        clicks.attempt(lambda: take(_put_away(upload.name, upload.getvalue())))


def _put_away(name: str, data: bytes) -> str:
    """Keep a file on this machine, for every page; gives its path."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "text.txt"
    path = _folder() / f"{hashlib.sha256(data).hexdigest()[:8]}-{safe}"
    write_whole(path, lambda file: file.write(data))
    return str(path)


def _folder() -> Path:
    return cache_folder() / "texts"
