"""Show what improved from A to B and what got worse: pairs with examples and filters, queries, triplets or rows."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from explorer import in_words
from explorer.data.set_items import counted, several
from explorer.data.text_sets import GradedPairs, digest_of
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.item_changes import NO_ITEMS, RANKED, item_changes, pair_rows
from explorer.measuring.comparing.pair_changes import BROKEN, FAR, FIXED, KINDS, ItemChanges, traits
from explorer.measuring.scores import metrics
from explorer.ui import messages
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.compare.compared import Compared
from explorer.ui.widgets import controls, cosine_meaning, downloads, microscope

MOST = 500  # rows of a table; the file contains all
ANY = "any"
EXAMPLE = "_example pair"  # two sentences of `examples` that the microscope shows
DIFFER = "that differ", "that do not"
NONE_PASSES = "No pair passes the filters. Relax them, or choose another kind."
SELECT_ROW = "Select a row to see its pair token by token."
UNCHANGED = "unchanged"
SHOWN = 5  # items of either kind; the table has all
_ICONS = {FIXED: ":material/trending_up:", BROKEN: ":material/trending_down:", UNCHANGED: ":material/trending_flat:"}


def flipped_pairs(pairs: GradedPairs | None, comparison: Comparison, choices: tuple[Choice, Choice]) -> None:
    """The counts, the filters and the rows; nothing unless the set is scored pairs."""
    if pairs is None:
        return
    st.subheader("Improved and worsened pairs")
    if comparison.chosen_not_measured:
        st.info("  \n".join(comparison.chosen_not_measured), icon=":material/block:")
        return
    errors = comparison.rank_errors()
    found = {kind: errors.places(kind) for kind in KINDS}
    st.caption(
        f"A pair is wrong if its rank error is above {FAR:.0%}. Rank error: distance between its ranks by cosine and "
        f"by gold score, in percent of all {len(pairs):,} pairs. Improved: wrong in A, right in B. Got worse: right "
        "in A, wrong in B. Still wrong: wrong in both."
    )
    kind: str = controls.segments("Kind", list(KINDS), default=FIXED, key="flips")  # in the address, so without a count
    st.caption(" · ".join(f"{one} {len(found[one]):,}" for one in KINDS))
    places = _filtered(pairs, found[kind])
    st.caption(f"{len(places):,} of {len(found[kind]):,} pairs pass the filters.")
    if not len(places):
        st.info(NONE_PASSES, icon=":material/filter_alt_off:")
        return
    rows = pair_rows(pairs, comparison, errors, places)
    number = st.column_config.NumberColumn(format="%.3f", width="small", help="−1 to 1. Higher is more similar.")
    error = "Distance between the ranks by cosine and by gold score. Lower is better; 0 % is right."
    share = st.column_config.NumberColumn(format="percent", width="small", help=error)
    event = st.dataframe(
        list(map(cosine_meaning.columns, rows[:MOST])),
        hide_index=True,
        # one table key per set of rows, so that new rows clear the selected row
        key=f"flipped {kind} {digest_of(map(str, places))[:12]}",
        on_select=lambda: _open(None),
        selection_mode="single-row",
        column_config={
            **{name: st.column_config.TextColumn(width="medium") for name in ("first", "second")},
            "cosine A": number,
            "cosine B": number,
            "gold score": st.column_config.NumberColumn(
                format="%.2f",
                width="small",
                help="Similarity that people assigned to the pair. Higher is more similar.",
            ),
            "rank error A": share,
            "rank error B": share,
        },
    )
    downloads.rows(rows, f"{pairs.name} {kind}", "Pairs (CSV)")
    chosen = event["selection"]["rows"]
    if not chosen:
        st.caption(SELECT_ROW)
        return
    if st.session_state.get(EXAMPLE) is not None:  # the page has one microscope
        st.caption("The pair microscope above shows an example pair. Select a row to show that pair instead.")
        return
    st.subheader(microscope.TITLE)
    place = places[chosen[0]]
    microscope.show(*choices, pairs.first[place], pairs.second[place])


def _filtered(pairs: GradedPairs, places: np.typing.NDArray[np.intp]) -> np.typing.NDArray[np.intp]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.number_input(
            "Minimum words",
            1,
            value=1,
            key="flips_words",
            bind="query-params",
            width=190,
            help="Counted in the longer of the two sentences.",
        )
        overlap = _choice("Shared words", ("under half", "half or more"), "flips_shared")
        negation = _choice("Negation", ("in one only", "in either", "in neither"), "flips_negation")
        numbers = _choice("Numbers", DIFFER, "flips_numbers")
        names = _choice("Names", DIFFER, "flips_names", "A name is a capitalised word inside a sentence.")
        part = _choice("Sub-corpus", sorted(set(pairs.parts)), "flips_part")
        tag = _choice("Tag", sorted(set(pairs.tags)), "flips_tag", "A label of the pair in the evaluation set.")
    kept = []
    for place in places:
        text = traits(pairs.first[place], pairs.second[place])
        fits = text.words >= words and (overlap == ANY or (text.overlap < 0.5) == (overlap == "under half"))
        if negation == "in one only":
            fits = fits and text.negated
        elif negation != ANY:
            fits = fits and text.negation == (negation == "in either")
        fits = fits and _differs(text.numbers, numbers) and _differs(text.names, names)
        fits = fits and part in (ANY, pairs.parts[place])
        if fits and (tag == ANY or tag == pairs.tags[place]):
            kept.append(place)
    return np.array(kept, dtype=np.intp)


def _choice(label: str, options: Sequence[str], key: str, text: str | None = None) -> str:
    """One filter, kept in the address; not drawn if there is only one option."""
    if len(options) < 2:
        return ANY
    if st.session_state.get(key) not in (ANY, *options):
        st.session_state.pop(key, None)  # another set has other sub-corpora
    chosen: str = st.selectbox(label, (ANY, *options), key=key, bind="query-params", width=160, help=text)
    return chosen


def _differs(does: bool, asked: str) -> bool:
    return asked == ANY or does == (asked == DIFFER[0])


def examples(compared: Compared) -> None:
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
    about = compared.about
    cosines = about.one.cosines_of(about.one_reading), about.other.cosines_of(about.other_reading)
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
                f"Cosine {in_words.arrow(before[place], after[place], digits=3)}  \n"
                f"Rank error {in_words.arrow(100 * errors.one[place], 100 * errors.other[place], digits=1)} %"
            )
            st.button(
                "Show token by token", icon=":material/biotech:", key=f"open {kind}", on_click=_open, args=(pair,)
            )
    opened: tuple[str, str] | None = st.session_state.get(EXAMPLE)
    if opened is not None:
        st.subheader(microscope.TITLE)
        st.button("Close", icon=":material/close:", key="close microscope", on_click=_open, args=(None,))
        microscope.show(*compared.choices, *opened)


def _open(pair: tuple[str, str] | None) -> None:
    st.session_state[EXAMPLE] = pair


def changed_items(compared: Compared) -> None:
    """Both lists, most changed first, and the table of all items; nothing of scored pairs, whose lists are others."""
    pairs, metric = compared.sides[0].pairs, compared.metric
    if isinstance(pairs, GradedPairs):
        return
    found = item_changes(pairs, compared.columns, compared.about, metric, compared.after)
    one, many = pairs.item, several(pairs.item)
    st.subheader(f"{many.capitalize()} that improved and got worse")
    if not np.isfinite(found.gaps).all():
        st.info(NO_ITEMS.format(many), icon=":material/block:")
        return
    better, worse, same = found.counts
    st.caption(
        f"{counted(len(found.gaps), one, pairs.pool)} of {messages.plain(pairs.name)}: {better:,} improved, "
        f"{worse:,} got worse, {same:,} did not change." + RANKED * (found.ranks is not None)
    )
    columns = st.columns(2, gap="medium")
    for column, title, icon, improved in (
        (columns[0], "Improved", ":material/trending_up:", True),
        (columns[1], "Got worse", ":material/trending_down:", False),
    ):
        with column:
            st.markdown(f"**{icon} {title}**")
            items = found.changed(improved=improved)[:SHOWN]
            if not items:
                st.markdown(f"No {one}.")
            for item in items:
                _item(found, item, metric)
    rows = found.rows(metric)
    with st.expander(f"All {many}", icon=":material/table_rows:"):
        st.dataframe(rows, hide_index=True, height=38 * min(12, len(rows) + 1), placeholder=messages.MISSING)
    downloads.rows(rows, f"{compared.stem} {many}", f"All {many} (CSV)")


def _item(found: ItemChanges, item: int, measure: str) -> None:
    with st.container(border=True, gap=None):
        for heading, cells in found.texts.items():
            st.caption(heading)
            st.text(messages.shortened(cells[item], messages.LONGEST))
        values = f"{_value(measure, found.before[item])} → {_value(measure, found.after[item])}"
        first, score = found.ranks_text(item) or values, f"{measure} {values}"
        more = [found.cosines_text(item), score if found.ranks is not None else ""]
        st.markdown(" · ".join([f"**{first}**", *filter(None, more)]))
        for when, after in (("before", False), ("after", True)):
            if wrong := found.in_place_of(item, after=after):
                st.caption(f"Rank 1 {when}, in place of it:")
                st.text(messages.shortened(wrong, messages.LONGEST))


def _value(measure: str, value: float) -> str:
    """What an item gets: right or wrong where that is all there is."""
    if measure == metrics.ACCURACY:
        return metrics.DECIDED.get(100 * value, "undecided")
    return f"{100 * value:.1f}"
