"""Controls of a form: fields of settings, segments in the address, upload boxes, metrics, and buttons that act once.

Who types into a field and then clicks a button changes the field and clicks at once. A callback has the values that its
button was drawn with, those from before the change, so `button` acts on what the fields say by then. Only for the page
itself: a fragment runs without `page_run`.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import RerunException
from streamlit.runtime.uploaded_file_manager import UploadedFile

from explorer.data import sources, uploads
from explorer.data.tables.files import ENDINGS
from explorer.data.tables.table import Table
from explorer.encoding.read.pooling import OWN, Reading
from explorer.errors import StrataError
from explorer.evaluating.kinds import MeasureOptions, explained
from explorer.knobs import Knob, Knobs, knob
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.metrics import AGGREGATES, METRICS
from explorer.ui import messages
from explorer.ui.access import cached_texts

T = TypeVar("T")

WIDTH = 320
TYPES = [ending.removeprefix(".") for ending in ENDINGS]
_NOTED, _CLICKED = "_click that was noted", "_click of this run"
REFUSED = "_refused"
FEW = 4  # metrics that fit side by side
_FROM_THE_TOP = "_from the top"
_SCROLL = "<script>document.querySelector('[data-testid=stMain]').scrollTo(0, 0)</script>"


@dataclass(frozen=True)
class UploadedTable(Knobs):
    """What an uploaded table holds, where it was not recognised rightly."""

    kind: str = knob(
        "",
        title="holds",
        empty="as recognised",
        help="As recognised by the names and the content of its columns. Choose another kind if this is wrong.",
    )
    column: str = knob("", title="Column", empty="as recognised", help="")  # of a role


def key_of(form: str, name: str) -> str:
    """The key of a field, which each form has for itself."""
    return f"{form} {name}"


def draw(
    form: str,
    knob: Knob,
    *,
    key: str = "",
    menu: bool = False,
    slider: bool = False,
    offered: Iterable[str] = (),
    **how: Any,
) -> Any:
    """Draw the field of a setting and return what it says; `how` goes to the widget.

    One of several choices is a radio button, or of a `menu` an entry; a number with bounds may be a `slider`. What is
    `offered` is a menu in which other values can be typed, and stay; the default of a single value is the first.
    """
    how = {"key": key or key_of(form, knob.name), "help": knob.help, **how}
    how = how if how.get("bind") else {"persist_state": "session", **how}
    label, default, choices = knob.label, knob.default, knob.choices
    if knob.kind is bool:
        return st.toggle(label, default, **how)
    if entries := list(dict.fromkeys(offered)):
        typed = st.session_state.get(how["key"]) if how.get("accept_new_options", "bind" not in how) else None
        entries += [one for one in ([typed] if isinstance(typed, str) else typed or ()) if one not in entries]
        how = {"accept_new_options": True, **how}
        if not knob.many:
            return st.selectbox(label, entries, **how)
        return st.multiselect(label, entries, **{"default": None if _is_filled(how) else knob.plain(default), **how})
    if choices:
        how = {"format_func": _title_in(knob), **how}
        if knob.many:
            return st.multiselect(label, choices, default=default or choices, select_all=False, **how)
        at, horizontal = choices.index(default), {"horizontal": True}
        return st.selectbox(label, choices, at, **how) if menu else st.radio(label, choices, at, **horizontal | how)
    low, high = (None if bound is None else knob.kind(bound) for bound in (knob.low, knob.high))
    if slider:
        return st.slider(label, low, high, default, **how)
    how = {"width": WIDTH, "placeholder": knob.empty or None, **how}
    if knob.kind in (int, float) and not knob.many:
        value: Any = default
        if default is not None and _is_filled(how):
            value = None if low is None else "min"
        return st.number_input(label, low, high, value, **{"step": knob.kind(1), **how})
    return st.text_input(label, None if default is None else Knob.text(default), **how)


def unbounded(knob: Knob) -> Knob:
    """The setting for a field whose value is checked where it is used, with the error that disables the button there.

    Streamlit keeps to itself a number outside of the bounds of its field, which is red and shows it, while the page
    goes on with the last one inside.
    """
    return replace(knob, low=None, high=None)


def _is_filled(how: Mapping[str, Any]) -> bool:
    """Whether a field was filled before it is drawn: Streamlit warns if it has a default, too."""
    return how["key"] in st.session_state


def _title_in(knob: Knob) -> Callable[[str], str]:
    return lambda one: knob.titles.get(one, str(one))


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
    how = {"wrap": True, "bind": "query-params", **how}
    found = st.segmented_control(label, options, default=default, required=True, key=key, **how)
    return default if found is None else found


def segments_of(knob: Knob, key: str, offered: Sequence[Any] = (), **how: Any) -> Any:
    """The selected choice of a setting, of all or of those that are offered."""
    how = {"format_func": _title_in(knob), "help": knob.help or None, **how}
    return segments(knob.label, offered or knob.choices, default=knob.default, key=key, **how)


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
            attempt(lambda: take(uploads.keep(upload.name, upload.getvalue())))

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
    return cached_texts.table(upload.name, hashlib.sha256(data).hexdigest(), data)


def of_table(knob: Knob, options: Sequence[str], recognised: str, key: str, **how: Any) -> str:
    """A menu of what was recognised in a table, which can be corrected; a table of another name has another one."""
    entries = list(dict.fromkeys(options))  # a column may be called as another entry is
    how = {"accept_new_options": False, "index": entries.index(recognised), "persist_state": None, **how}
    chosen: str = draw("", knob, key=key, offered=entries, **how)
    return chosen


def with_uploads(options: list[str]) -> list[str]:
    """The options of a menu, with the uploaded files; a link contains a file's label."""
    kept = uploads.paths()
    labels = set(map(sources.label, kept))
    return list(dict.fromkeys([*(one for one in options if one not in labels), *kept]))


@contextmanager
def page_run() -> Iterator[None]:
    """A run of a page in which the button that was clicked acts, once.

    Whether it ends, is stopped or fails: a click whose button it did not draw is forgotten, and does not act when the
    button is there again. A run that starts over leaves its click to the next one.
    """
    st.session_state[_CLICKED] = st.session_state.pop(_NOTED, None)
    try:
        yield
    except RerunException:
        st.session_state[_NOTED] = st.session_state[_CLICKED]
        raise


def button(place: DeltaGenerator, label: str, act: Callable[[], object] | None, *, key: str, **style: Any) -> None:
    """A button that acts, keeps an error for `refused`, and draws the page anew; disabled if there is nothing to do."""
    place.button(label, key=key, disabled=act is None, on_click=_note, args=(key,), **style)
    if st.session_state.get(_CLICKED) == key:
        st.session_state[_CLICKED] = None
        if act is not None:
            attempt(act)
            st.rerun()


def callback_button(
    label: str, act: Callable[[], object], *, place: DeltaGenerator | None = None, **style: Any
) -> None:
    """A button that acts before the page is drawn anew, on what fields said before; keeps an error for `refused`."""
    (place or st).button(label, on_click=attempt, args=(act,), **style)


def row_table(rows: Any, of: Sequence[T], act: Callable[[T], object], *, key: str, **how: Any) -> Any:
    """A table whose rows stand for the values `of`: to select one acts on its value, before the page is drawn anew."""

    def choose_selected() -> None:
        for place in st.session_state[key]["selection"]["rows"]:
            if place < len(of):  # fewer than when the row was selected
                act(of[place])

    how |= {"on_select": choose_selected, "selection_mode": "single-row", "hide_index": True}
    return st.dataframe(rows, key=key, **how)


def _note(key: str) -> None:
    # the run of the click may start over before it comes to the button, which then no longer counts as clicked
    st.session_state[_NOTED] = key


def attempt(act: Callable[[], object]) -> None:
    """Call `act`; keep its error for `refused`, since it is called where nothing can be shown yet."""
    try:
        act()
    except StrataError as error:
        st.session_state[REFUSED] = str(error)


def refused() -> None:
    """Show the error of the last click, once."""
    if REFUSED in st.session_state:
        messages.trouble(st.session_state.pop(REFUSED))


def clicked_place(key: str) -> int | None:
    """The number of the clicked cell, for the callback of the figure `key`; None if the click cleared it."""
    points = st.session_state[key]["selection"]["points"]
    return int(points[0]["customdata"]) if points else None


def clicked_cell(key: str, scores: LayerScores) -> Reading | None:
    """The layer & pooling of the clicked cell of a grid; None if the click cleared it."""
    place = clicked_place(key)
    return None if place is None else (*scores.grid, OWN)[place]


def from_the_top() -> None:
    """In a click handler: show what it opens from its first line, wherever the button was on the page before."""
    st.session_state[_FROM_THE_TOP] = True


def scroll() -> None:
    """Scroll to the first line of the page if a click has asked for it."""
    slot = st.empty()  # always there, so that what follows stays in its place
    if st.session_state.pop(_FROM_THE_TOP, False):
        slot.html(_SCROLL, unsafe_allow_javascript=True)


def metric_and_aggregate(scores: LayerScores) -> tuple[str, str]:
    """The chosen metric, and how sub-corpora are aggregated."""
    with st.container(horizontal=True):
        choose = partial(menu, width=180) if len(scores.metrics) > FEW else segments
        metric = choose(
            "Metric",
            list(scores.metrics),
            default=scores.metrics[0],
            key="metric",
            help=" ".join(dict.fromkeys(what_is_good(metric) for metric in scores.metrics)),
        )
        aggregate = "all"
        if scores.has_parts:
            knob = replace(MeasureOptions.knobs["aggregate"], title="Sub-corpora")
            aggregate = segments_of(knob, "aggregate", AGGREGATES)
    return metric, aggregate


def what_is_good(metric: str) -> str:
    """Direction, range and typical values of a score, for the help of its card."""
    if metric in METRICS:
        return METRICS[metric].help
    return f"{metric}: {explained()[metric]} Higher is better, at most 100."


def with_current(options: list[str], key: str) -> list[str]:
    """Options, and what is chosen already if it is not among them: a link may name anything."""
    current = st.session_state.get(key) or st.query_params.get(key)
    return options if current is None or current in options else [*options, current]


def source_menu(label: str, options: list[str], key: str, *, width: int, help: str) -> str:
    """A menu of texts or sets by their labels, with the uploaded files, in which a path can be typed."""
    chosen: str = st.selectbox(
        label,
        with_uploads(with_current(options, key)),
        format_func=sources.label,
        key=key,
        bind="query-params",
        accept_new_options=True,
        width=width,
        help=help,
    )
    return chosen.strip()
