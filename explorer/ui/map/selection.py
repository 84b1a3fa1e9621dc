"""Which sentences are selected, in both maps alike? What one map tells is shown by the other.

A map that is drawn anew forgets what was selected in it. So of the two only the one that did not tell is drawn
anew with the selection, and the other keeps what the visitor drew on it. A word that is looked for stands in the
address in place of what it selects; whoever selects otherwise looks for it no more.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import streamlit as st

ADDRESS = "selected"  # its parameter; so many numbers at most stand there, since addresses have an end
MOST = 100
WORD = "find"  # the parameter of the word
_SELECTED, _LIT, _SUBJECT, _LOOKS = "_map_selected", "_map_lit", "_map_subject", "_map_looks"
_TIMES = "_map_times"
SIDES = ("A", "B")


def current(subject: Hashable, looks: Hashable, count: int, found: Sequence[int] | None) -> tuple[int, ...]:
    """The numbers of the selected sentences, of so many; where other ones are mapped than before, those that hold the
    word that is looked for, and none where none is.

    Where the maps look otherwise than before, both are drawn anew, and both with the selection.
    """
    if st.session_state.get(_SUBJECT) != subject:
        opened = _SUBJECT not in st.session_state  # a link that someone gave; later ones are our own
        told = _of_address(count) if opened else ()
        st.session_state[_SELECTED] = told if found is None else tuple(found)
        st.session_state[_SUBJECT] = subject
        st.session_state.pop(_LOOKS, None)
    selected: tuple[int, ...] = st.session_state[_SELECTED]
    if st.session_state.get(_LOOKS) != looks:
        st.session_state[_LOOKS] = looks
        show(selected)
    _into_address(selected if found is None else ())
    return selected


def lit(side: str) -> tuple[int, ...] | None:
    """What a map is drawn with; None where nothing is selected."""
    return st.session_state[_LIT][side] or None


def times(side: str) -> int:
    """How often a map has been told what is selected; drawn with this, it is drawn anew though it be told the same."""
    told: dict[str, int] = st.session_state[_TIMES]
    return told[side]


def show(places: Sequence[int]) -> None:
    """Select these, in both maps."""
    st.session_state[_SELECTED] = tuple(places)
    for side in SIDES:
        _tell(side, tuple(places))


def clear() -> None:
    """Select none; only in a callback."""
    st.session_state[WORD] = ""
    show(())


def take(side: str, key: str) -> None:
    """Select what was drawn round in a map; in its callback."""
    points = st.session_state[key]["selection"]["points"]
    # a line or a bar has no number
    places = tuple(dict.fromkeys(int(point["customdata"]) for point in points if "customdata" in point))
    st.session_state[WORD] = ""
    st.session_state[_SELECTED] = places
    for other in SIDES:
        if other != side:
            _tell(other, places)


def _tell(side: str, places: tuple[int, ...]) -> None:
    st.session_state[_LIT] = st.session_state.get(_LIT, {}) | {side: places}
    st.session_state[_TIMES] = st.session_state.get(_TIMES, {}) | {
        side: st.session_state.get(_TIMES, {}).get(side, 0) + 1
    }


def _of_address(count: int) -> tuple[int, ...]:
    """What the address says is selected; numbers that no sentence has are left out."""
    numbers = st.query_params.get(ADDRESS, "").split("-")
    return tuple(dict.fromkeys(int(one) for one in numbers if one.isdecimal() and int(one) < count))


def _into_address(selected: tuple[int, ...]) -> None:
    told = "-".join(map(str, selected)) if len(selected) <= MOST else ""
    if told:
        st.query_params[ADDRESS] = told
    else:
        st.query_params.pop(ADDRESS, None)
