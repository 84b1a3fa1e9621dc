"""Show three example pairs: one that improved, one that got worse, one that did not change."""

from __future__ import annotations

import streamlit as st

from explorer.measuring.comparing.rank_errors import BROKEN, FIXED
from explorer.ui import messages
from explorer.ui.compare import flipped_pairs
from explorer.ui.compare.compared import Compared
from explorer.ui.microscope import microscope

UNCHANGED = "unchanged"
_ICONS = {FIXED: ":material/trending_up:", BROKEN: ":material/trending_down:", UNCHANGED: ":material/trending_flat:"}


def show(compared: Compared) -> None:
    """The pairs side by side, and the microscope for the selected one."""
    pairs = compared.sides[0].graded
    if pairs is None:
        return
    errors = compared.about.rank_errors()
    if compared.after == 0:
        errors = type(errors)(errors.other, errors.one)
    places = dict(zip((FIXED, BROKEN, UNCHANGED), errors.examples(), strict=True))
    if not any(place is not None for place in places.values()):
        return
    st.subheader("Example pairs")
    st.caption(
        "Rank error: distance between the rank of a pair's cosine and the rank of its human score, in percent of all "
        "pairs. Lower is better; 0 % is right, random order gives 33 % on average."
    )
    cosines = [
        scores.cosines_of(reading)
        for scores, reading in (
            (compared.about.one, compared.about.one_reading),
            (compared.about.other, compared.about.other_reading),
        )
    ]
    before, after = cosines[1 - compared.after], cosines[compared.after]
    for column, (kind, place) in zip(st.columns(3, gap="medium"), places.items(), strict=True):
        with column.container(border=True):
            st.markdown(f"**{_ICONS[kind]} {kind.capitalize()}**")
            if place is None:
                st.markdown("No pair.")
                continue
            pair = pairs.first[place], pairs.second[place]
            for sentence in pair:
                st.markdown(f"> {messages.plain(messages.shortened(sentence, 200))}")
            st.markdown(
                f"Human score {pairs.gold[place]:.2f}  \n"
                f"Cosine {before[place]:.3f} → {after[place]:.3f}  \n"
                f"Rank error {errors.one[place]:.1%} → {errors.other[place]:.1%}"
            )
            st.button(
                "Show token by token", icon=":material/biotech:", key=f"open {kind}", on_click=_open, args=(pair,)
            )
    opened: tuple[str, str] | None = st.session_state.get(flipped_pairs.EXAMPLE)
    if opened is not None:
        _microscope(compared, opened)


def _microscope(compared: Compared, pair: tuple[str, str]) -> None:
    st.subheader(microscope.TITLE)
    st.button("Close", icon=":material/close:", key="close microscope", on_click=_open, args=(None,))
    microscope.show(*compared.choices, *pair)


def _open(pair: tuple[str, str] | None) -> None:
    st.session_state[flipped_pairs.EXAMPLE] = pair
