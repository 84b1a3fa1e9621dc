"""Share one selection of sentences between both maps, by lasso or by a search word, and keep it in the address.

A redrawn map loses its lasso selection. So only the other map is redrawn with the selection, and the map with the
lasso keeps it. A search word is kept in the address instead of the sentences that it selects; a lasso selection
clears the word.
"""

from collections.abc import Hashable, Sequence

import streamlit as st

from explorer.knobs import whole_in
from explorer.ui import messages

ADDRESS = "selected"  # the parameter; at most MOST numbers, because addresses have a maximum length
MOST = 100
WORD = "find"  # the parameter of the word
_SELECTED, _LIT, _SUBJECT, _DRAWN_WITH = "_map_selected", "_map_lit", "_map_subject", "_map_drawn_with"
_TIMES = "_map_times"
SIDES = ("A", "B")
LONGEST_WORD = 200  # characters
NONE_FOUND = "No sentence contains “{}”."


def current(subject: Hashable, drawn_with: Hashable, count: int, found: Sequence[int] | None) -> tuple[int, ...]:
    """The indices of the selected sentences, of `count`; for new sentences, those that contain the search word.

    If the maps' projection or colour changed, both are redrawn with the selection.
    """
    if st.session_state.get(_SUBJECT) != subject:
        opened = _SUBJECT not in st.session_state  # only the first address may come from a shared link
        numbers = map(whole_in, st.query_params.get(ADDRESS, "").split("-") if opened else ())
        linked = dict.fromkeys(number for number in numbers if number is not None and number < count)
        st.session_state[_SELECTED] = tuple(linked if found is None else found)
        st.session_state[_SUBJECT] = subject
        st.session_state.pop(_DRAWN_WITH, None)
    selected: tuple[int, ...] = st.session_state[_SELECTED]
    if st.session_state.get(_DRAWN_WITH) != drawn_with:
        st.session_state[_DRAWN_WITH] = drawn_with
        select(selected)
    if found is None and 0 < len(selected) <= MOST:
        st.query_params[ADDRESS] = "-".join(map(str, selected))
    else:
        st.query_params.pop(ADDRESS, None)
    return selected


def lit(side: str) -> tuple[int, ...] | None:
    """The selection that a map is drawn with; None if nothing is selected."""
    return st.session_state[_LIT][side] or None


def times(side: str) -> int:
    """How often a map's selection was set; as a revision number, it forces a redraw for an equal selection."""
    of_sides: dict[str, int] = st.session_state[_TIMES]
    return of_sides[side]


def select(places: Sequence[int]) -> None:
    """Select these sentences in both maps."""
    st.session_state[_SELECTED] = tuple(places)
    for side in SIDES:
        _redraw(side, tuple(places))


def clear() -> None:
    """Select none; only in a callback."""
    st.session_state[WORD] = ""
    select(())


def take(side: str, key: str) -> None:
    """Take over the lasso selection of a map; in its callback."""
    points = st.session_state[key]["selection"]["points"]
    # a line or a bar has no number
    places = tuple(dict.fromkeys(int(point["customdata"]) for point in points if "customdata" in point))
    st.session_state[WORD] = ""
    st.session_state[_SELECTED] = places
    for other in SIDES:
        if other != side:
            _redraw(other, places)


def _redraw(side: str, places: tuple[int, ...]) -> None:
    st.session_state[_LIT] = st.session_state.get(_LIT, {}) | {side: places}
    st.session_state[_TIMES] = st.session_state.get(_TIMES, {}) | {
        side: st.session_state.get(_TIMES, {}).get(side, 0) + 1
    }


def containing(where: st.delta_generator.DeltaGenerator, texts: Sequence[str]) -> tuple[int, ...] | None:
    """The indices of the sentences that contain the typed text; None if nothing is typed."""
    typed: str = where.text_input(
        "Find",
        key=WORD,
        bind="query-params",
        max_chars=LONGEST_WORD,
        on_change=lambda: select(_holding(st.session_state[WORD], texts) or ()),
        placeholder="a word, then Enter",
        width=240,
        help="Selects every sentence that contains it, ignoring case.",
    )
    places = _holding(typed, texts)
    if places == ():
        st.caption(NONE_FOUND.format(messages.plain(messages.shortened(typed))))
    return places


def _holding(typed: str, texts: Sequence[str]) -> tuple[int, ...] | None:
    word = " ".join(typed.split()).casefold()
    if not word:
        return None
    return tuple(place for place, text in enumerate(texts) if word in " ".join(text.split()).casefold())
