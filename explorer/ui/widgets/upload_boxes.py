"""Upload boxes for files that are only read, and for files that are kept on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import streamlit as st

from explorer.data import sources, uploads
from explorer.data.tables.files import ENDINGS
from explorer.data.tables.table import Table
from explorer.ui.access import cached_text
from explorer.ui.widgets import clicks

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

TYPES = [ending.removeprefix(".") for ending in ENDINGS]


def to_stay(
    label: str,
    key: str,
    take: Callable[[str], object],
    help: str | None = None,
    text: str = "",
    *,
    opened: bool = False,
) -> None:
    """An upload box, or a button that opens it; the file is kept, and `take` gets its path before the page reruns."""
    with st.container() if opened else st.popover("Upload a file", icon=":material/upload_file:"):
        st.file_uploader(label, type=TYPES, key=key, on_change=_keep, args=(key, take), help=help)
        if text:
            st.caption(text)


def to_read(label: str, help: str, others: Iterable[str] = ()) -> UploadedFile | None:
    """An upload box for tables, and for files of other endings; the file is not kept."""
    return st.file_uploader(label, type=[*TYPES, *others], help=help)


def table(upload: UploadedFile) -> Table:
    """The uploaded file as a table."""
    data = upload.getvalue()
    return cached_text.table(upload.name, hashlib.sha256(data).hexdigest(), data)


def offered(options: list[str]) -> list[str]:
    """The options of a menu, with the uploaded files; a link contains a file's label."""
    kept = uploads.paths()
    labels = set(map(sources.label, kept))
    return list(dict.fromkeys([*(one for one in options if one not in labels), *kept]))


def _keep(key: str, take: Callable[[str], object]) -> None:
    upload = st.session_state[key]
    if upload is not None:
        clicks.attempt(lambda: take(uploads.keep(upload.name, upload.getvalue())))
