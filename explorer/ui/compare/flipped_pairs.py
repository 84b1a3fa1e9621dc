"""List the pairs that improved from A to B, that got worse, and that are wrong in both, with filters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs, digest_of
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.flip_tables import pair_rows
from explorer.measuring.comparing.pair_traits import PairTraits, traits
from explorer.measuring.comparing.rank_errors import FAR, FIXED, KINDS
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.microscope import microscope
from explorer.ui.widgets import downloads

MOST = 500  # rows of a table; the file has all
ANY = "any"
EXAMPLE = "_example pair"  # two sentences that another part of the page shows in the microscope
DIFFER = "that differ", "that do not"
OF_LONGER = "Of the longer sentence of the two."


def show(pairs: GradedPairs, comparison: Comparison, choices: tuple[Choice, Choice]) -> None:
    """The counts, the filters and the rows."""
    st.subheader("Pairs that flipped")
    if comparison.chosen_not_measured:
        st.info("  \n".join(comparison.chosen_not_measured), icon=":material/block:")
        return
    errors = comparison.rank_errors()
    found = {kind: errors.places(kind) for kind in KINDS}
    st.caption(
        f"A pair is in the wrong place if its rank among the {len(pairs):,} pairs, by cosine, is more than {FAR:.0%} "
        "of all places from its rank by gold score. Improved: wrong in A and not in B. Got worse: the other way round."
    )
    kind: str = st.segmented_control(
        "Kind",
        list(KINDS),
        default=FIXED,
        required=True,
        key="flips",
        bind="query-params",  # the address holds the label, so no count is in it
    )
    st.caption(" · ".join(f"{one} {len(found[one]):,}" for one in KINDS))
    places = _filtered(pairs, found[kind])
    st.caption(f"{len(places):,} of {len(found[kind]):,} pairs")
    if not len(places):
        st.info("No pair is left. Loosen the filters, or look at another kind.", icon=":material/filter_alt_off:")
        return
    rows = pair_rows(pairs, comparison, errors, places)
    number = st.column_config.NumberColumn(format="%.3f", width="small")
    share = st.column_config.NumberColumn(format="percent", width="small")
    event = st.dataframe(
        rows[:MOST],
        hide_index=True,
        # other rows are another table: a row that was chosen in the last one is none of these
        key=f"flipped {kind} {digest_of(map(str, places))[:12]}",
        on_select=_close_example,
        selection_mode="single-row",
        column_config={
            **{name: st.column_config.TextColumn(width="medium") for name in ("first", "second")},
            "cosine A": number,
            "cosine B": number,
            "gold score": st.column_config.NumberColumn(format="%.2f", width="small"),
            "rank error A": share,
            "rank error B": share,
        },
    )
    downloads.rows(rows, f"{pairs.name} {kind}", "Pairs (CSV)")
    chosen = event["selection"]["rows"]
    if not chosen:
        st.caption("Choose a row to see its pair token by token.")
        return
    if st.session_state.get(EXAMPLE) is not None:  # the page has one microscope
        st.caption("The pair microscope above shows an example. Choose a row to see that row instead.")
        return
    st.subheader("Pair microscope")
    place = places[chosen[0]]
    microscope.show(*choices, pairs.first[place], pairs.second[place])


def _close_example() -> None:
    st.session_state[EXAMPLE] = None


def _filtered(pairs: GradedPairs, places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those that the filters let through."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.number_input(
            "At least so many words", 1, value=1, key="flips_words", bind="query-params", width=190, help=OF_LONGER
        )
        overlap = _choice("Words they share", ("under half", "half or more"), "flips_shared")
        negation = _choice("Negation", ("in one only", "in either", "in neither"), "flips_negation")
        numbers = _choice("Numbers", DIFFER, "flips_numbers")
        names = _choice("Names", DIFFER, "flips_names", "A name is a word with a capital within a sentence.")
        part = _choice("Sub-corpus", sorted(set(pairs.parts)), "flips_part")
        tag = _choice("Tag", sorted(set(pairs.tags)), "flips_tag", "What the set itself says of a pair.")
    kept = []
    for place in places:
        told = traits(pairs.first[place], pairs.second[place])
        fits = told.words >= words and _shares(told, overlap) and _negates(told, negation)
        fits = fits and _differs(told.numbers, numbers) and _differs(told.names, names)
        fits = fits and part in (ANY, pairs.parts[place])
        if fits and (tag == ANY or tag == pairs.tags[place]):
            kept.append(place)
    return np.array(kept, dtype=np.intp)


def _choice(label: str, options: Sequence[str], key: str, told: str | None = None) -> str:
    """One filter, which the address remembers; a single option leaves nothing to choose."""
    if len(options) < 2:
        return ANY
    if st.session_state.get(key) not in (ANY, *options):
        st.session_state.pop(key, None)  # another set has other sub-corpora
    chosen: str = st.selectbox(label, (ANY, *options), key=key, bind="query-params", width=160, help=told)
    return chosen


def _shares(told: PairTraits, asked: str) -> bool:
    return asked == ANY or (told.overlap < 0.5) == (asked == "under half")


def _negates(told: PairTraits, asked: str) -> bool:
    if asked == "in one only":
        return told.negated
    return asked == ANY or told.negation == (asked == "in either")


def _differs(does: bool, asked: str) -> bool:
    return asked == ANY or does == (asked == DIFFER[0])
