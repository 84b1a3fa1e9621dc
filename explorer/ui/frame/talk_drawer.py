"""The drawer of talks: keep what a page shows as a view, edit the views of a talk, present it, and export it."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st

from explorer.errors import StrataError
from explorer.ui import messages
from explorer.ui.frame import talk_export, talk_steps, talks
from explorer.ui.frame.page_list import named
from explorer.ui.widgets import downloads

TITLE, ADD = "Talk", "Add to talk"
_OPEN, _CHOSEN, _FAULT = "_talk drawer", "_talk in drawer", "_fault of a talk"
_NEW, _TEXT = "name of a new talk", "text of a new view"
FIRST_NAME = "My talk"


def button() -> None:
    """The button that opens the drawer, and one that leaves the talk of the address."""
    if found := talk_steps.current():
        talk, number = found
        st.button(
            f"{number} / {len(talk.views)}",
            key="leave talk",
            icon=":material/close:",
            type="tertiary",
            on_click=talk_steps.leave,
            help=messages.plain(f"Leave the talk '{talk.name}'"),
        )
    st.button(
        TITLE,
        key="talk drawer",
        icon=":material/playlist_add:",
        type="tertiary",
        on_click=_set,
        args=(_OPEN, True),
        help=f"{ADD}: keep what this page shows as a view, to present it later.",
    )


def show() -> None:
    """The drawer, if it is open."""
    if st.session_state.get(_OPEN):
        close = partial(_set, _OPEN, False)
        st.dialog(TITLE, width="large", icon=":material/playlist_add:", on_dismiss=close)(_drawer)()


def _drawer() -> None:
    if not st.session_state.get(_OPEN):  # a click in it opens a view: of the whole page, not of the drawer alone
        st.rerun()
    with messages.errors_shown():
        _edit()
    if fault := st.session_state.pop(_FAULT, ""):
        messages.trouble(fault)


def _talk() -> talks.Talk:
    """The talk that is chosen, or typed as the name of a new one."""
    names, at = talks.names(), talk_steps.current()
    wanted = st.session_state.get(_CHOSEN) or (at[0].name if at else "") or (names[1] if len(names) > 1 else FIRST_NAME)
    names = names if wanted in names else [*names, wanted]
    chosen = st.selectbox(
        "Talk",
        names,
        names.index(wanted),
        key=_NEW,
        on_change=lambda: _set(_CHOSEN, st.session_state[_NEW]),
        accept_new_options=True,
        help="Choose a talk, or type the name of a new one.",
    )
    return talks.read(chosen) if chosen in talks.names() else talks.Talk(chosen)


def _edit() -> None:
    talk = _talk()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input("A line of text for this view", key=_TEXT, max_chars=talks.LONGEST)
        st.button(
            ADD, key="add to talk", type="primary", icon=":material/add:", on_click=_act, args=(partial(_add, talk),)
        )
    for number, view in enumerate(talk.views, start=1):
        _row(talk, number, view)
    if not talk.views:
        st.caption("No views yet. Add what this page shows, then open another page and add that.")
        shipped = talks.Talk(talks.SHIPPED)
        st.button(f"Present “{shipped.name}”", key="present shipped", on_click=_present, args=(shipped,))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("Present it", key="present talk", icon=":material/present_to_all:", on_click=_present, args=(talk,))
        downloads.file(
            "Export",
            talk_export.page(talk),
            f"{downloads.file_name(talk.name)}.html",
            "text/html",
            key="export talk",
            help="One HTML file that needs no server: the line, the answer and the figure of each view as you saw it, "
            "and for the form of Train the last run.",
        )
        if talks.is_changed(talk.name):
            _rename(talk)
    if missing := talk_export.not_shown(talk):
        st.caption(f"Exported without figures, because you have not opened them yet: {', '.join(missing)}.")


def _row(talk: talks.Talk, number: int, view: talks.View) -> None:
    """One view: its page, its line, and buttons that open, move and remove it."""
    key = f"{talk.name} {number} {len(talk.views)}"
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.button(
            f"{number}. {named(view.page).title}", key=f"open {key}", on_click=_go, args=(talk, number), width=170
        )
        # not by key alone: a view that has moved here has its own text
        written = f"line {key} {hash((view.page, tuple(view.address.items()), view.pair, view.text))}"
        st.text_input(
            "Text",
            view.text,
            key=written,
            max_chars=talks.LONGEST,
            label_visibility="collapsed",
            on_change=lambda: _act(lambda: _write(talk, number, replace(view, text=st.session_state[written]))),
        )
        for label, icon, act, able in (
            ("Move up", "arrow_upward", partial(_move, talk, number), number > 1),
            ("Remove", "delete", partial(_write, talk, number, None), True),
        ):
            st.button(
                "",
                key=f"{label} {key}",
                icon=f":material/{icon}:",
                type="tertiary",
                help=f"{label}: view {number}",
                disabled=not able,
                on_click=_act,
                args=(act,),
            )


def _rename(talk: talks.Talk) -> None:
    key = f"name of {talk.name}"

    def rename() -> None:
        renamed = talks.rename(talk.name, st.session_state[key])
        _choose(renamed.name)
        if st.session_state.get(talk_steps.TALK) == talk.name:
            st.session_state[talk_steps.TALK] = renamed.name

    def remove() -> None:
        talks.remove(talk.name)
        _choose("")

    st.text_input("Name", talk.name, key=key, max_chars=80, on_change=_act, args=(rename,))
    st.button("Delete talk", key="delete talk", icon=":material/delete:", on_click=_act, args=(remove,))


def _set(key: str, value: object) -> None:
    st.session_state[key] = value


def _choose(name: str) -> None:
    st.session_state[_CHOSEN] = name
    st.session_state.pop(_NEW, None)


def _act(act: Callable[[], object]) -> None:
    """Do what a click asks for; its error is shown in the drawer."""
    try:
        act()
    except StrataError as error:
        st.session_state[_FAULT] = str(error)


def _add(talk: talks.Talk) -> None:
    view = replace(talk_steps.shown(), text=(st.session_state.get(_TEXT) or "").strip())
    talks.write(replace(talk, views=(*talk.views, view)))
    st.session_state[_TEXT] = ""
    st.session_state[_CHOSEN] = talk.name


def _write(talk: talks.Talk, number: int, view: talks.View | None) -> None:
    """Put a view in place of one, or remove that."""
    talks.write(replace(talk, views=(*talk.views[: number - 1], *([view] if view else []), *talk.views[number:])))


def _move(talk: talks.Talk, number: int) -> None:
    views = list(talk.views)
    views[number - 2 : number] = views[number - 1], views[number - 2]
    talks.write(replace(talk, views=tuple(views)))


def _go(talk: talks.Talk, number: int) -> None:
    _set(_OPEN, False)
    talk_steps.go(talk.name, number)


def _present(talk: talks.Talk) -> None:
    st.session_state[downloads.PRESENTING] = "1"
    _go(talk, 1)
