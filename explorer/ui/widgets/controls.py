"""Controls of a form: fields of settings that are stated as knobs, segments kept in the address, upload boxes."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from explorer.data import sources, uploads
from explorer.data.tables.files import ENDINGS
from explorer.data.tables.table import Table
from explorer.knobs import Knob
from explorer.ui.access import cached_text
from explorer.ui.widgets import clicks

WIDTH = 320
TYPES = [ending.removeprefix(".") for ending in ENDINGS]


def key_of(form: str, name: str) -> str:
    """The key of a field, which each form has for itself."""
    return f"{form} {name}"


def draw(form: str, knob: Knob, *, key: str = "", menu: bool = False, **how: Any) -> Any:
    """Draw the field of a setting and return what it says; `how` goes to the widget.

    One of several choices is a radio button, or of a `menu` an entry.
    """
    how = {
        "key": key or key_of(form, knob.name),
        "help": knob.help,
        **({} if how.get("bind") else {"persist_state": "session"}),
        **how,
    }
    label, default, choices = knob.label, knob.default, knob.choices
    if knob.kind is bool:
        return st.toggle(label, default, **how)
    if choices:
        how = {"format_func": _title_in(knob), **how}
        if knob.many:
            return st.multiselect(label, choices, default=default or choices, select_all=False, **how)
        at = choices.index(default)
        return st.selectbox(label, choices, at, **how) if menu else st.radio(label, choices, at, horizontal=True, **how)
    how = {"width": WIDTH, "placeholder": knob.empty or None, **how}
    if knob.kind in (int, float) and not knob.many:
        low, high = (None if bound is None else knob.kind(bound) for bound in (knob.low, knob.high))
        return st.number_input(label, low, high, default, **{"step": knob.kind(1), **how})
    return st.text_input(label, None if default is None else Knob.text(default), **how)


def _title_in(knob: Knob) -> Callable[[str], str]:
    return lambda one: knob.titles.get(one, one)


def written(form: str, knobs: Mapping[str, Knob]) -> dict[str, Any]:
    """What the fields say, as it was typed; in a callback too, where it is newer than what was drawn."""
    found = {name: st.session_state.get(key_of(form, name)) for name in knobs}
    missing = {name: (None, "") if one.default is None else (None,) for name, one in knobs.items()}
    return {name: value for name, value in found.items() if value not in missing[name]}


def checked(typed: Mapping[str, Any], knobs: Mapping[str, Knob]) -> dict[str, Any]:
    """The settings that were typed, in their types; an error names the field, the value and what is allowed."""
    return {name: replace(knobs[name], name=knobs[name].label).checked(value) for name, value in typed.items()}


def menu(label: str, options: Sequence[Any], *, default: Any, key: str, **how: Any) -> Any:
    """The selected option of many, which would not fit side by side; kept in the address like a segment."""
    _forget_unless_in(options, key)
    found = st.selectbox(label, options, index=options.index(default), key=key, bind="query-params", **how)
    return default if found is None else found


def segments(label: str, options: Sequence[Any], *, default: Any, key: str, **how: Any) -> Any:
    """The selected option; the default if a link has an empty value (`?k=`), which Streamlit takes for none."""
    _forget_unless_in(options, key)
    found = st.segmented_control(
        label, options, default=default, required=True, key=key, wrap=True, bind="query-params", **how
    )
    return default if found is None else found


def segments_of(knob: Knob, key: str) -> Any:
    """The selected choice of a setting."""
    return segments(
        knob.label, knob.choices, default=knob.default, key=key, format_func=_title_in(knob), help=knob.help
    )


def _forget_unless_in(options: Sequence[Any], key: str) -> None:
    """Forget a choice that is not offered: another model has other options."""
    if st.session_state.get(key) is not None and st.session_state[key] not in options:
        st.session_state.pop(key)


def upload_to_keep(
    label: str,
    key: str,
    take: Callable[[str], object],
    help: str | None = None,
    text: str = "",
    *,
    opened: bool = False,
) -> None:
    """An upload box, or a button that opens it; the file is kept, and `take` gets its path before the page reruns."""

    def keep() -> None:
        upload = st.session_state[key]
        if upload is not None:
            clicks.attempt(lambda: take(uploads.keep(upload.name, upload.getvalue())))

    with st.container() if opened else st.popover("Upload a file", icon=":material/upload_file:"):
        st.file_uploader(label, type=TYPES, key=key, on_change=keep, help=help)
        if text:
            st.caption(text)


def upload_to_read(label: str, help: str, others: Iterable[str] = ()) -> UploadedFile | None:
    """An upload box for tables, and for files of other endings; the file is not kept."""
    return st.file_uploader(label, type=[*TYPES, *others], help=help)


def uploaded_table(upload: UploadedFile) -> Table:
    """The uploaded file as a table."""
    data = upload.getvalue()
    return cached_text.table(upload.name, hashlib.sha256(data).hexdigest(), data)


def with_uploads(options: list[str]) -> list[str]:
    """The options of a menu, with the uploaded files; a link contains a file's label."""
    kept = uploads.paths()
    labels = set(map(sources.label, kept))
    return list(dict.fromkeys([*(one for one in options if one not in labels), *kept]))
