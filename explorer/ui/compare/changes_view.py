"""Show what improved from A to B and what got worse: pairs with examples and filters, queries, triplets or rows."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from explorer import in_words
from explorer.data.set_items import counted, several
from explorer.data.text_sets import GradedPairs, digest_of
from explorer.drawing.scores import distributions
from explorer.measuring.comparing import gold_bins
from explorer.measuring.comparing.comparison import Comparison, chosen_not_measured
from explorer.measuring.comparing.item_changes import NO_ITEMS, RANKED, item_changes, pair_rows
from explorer.measuring.comparing.learned_facts import Learned
from explorer.measuring.comparing.pair_changes import FAR, FIXED, KINDS, ItemChanges, traits
from explorer.measuring.scores import metrics
from explorer.ui import messages
from explorer.ui.access import selection
from explorer.ui.compare import verdict_view
from explorer.ui.compare.compared import Compared
from explorer.ui.widgets import controls, cosine_meaning, downloads, microscope, pair_words

MOST = 500  # rows of a table; the file contains all
ANY = "any"
DIFFER = "that differ", "that do not"
NONE_PASSES = "No pair passes the filters. Relax them, or choose another kind."
SELECT_ROW = "Select a row to choose its pair for every page."
NO_PAIR = "Choose a pair in the tab Pairs, or on any page."
LINES, ROW = 8, 35  # of the table of pairs, which scrolls, and pixels of a line
RANK_ERROR = (
    "Rank error: distance between the ranks of a pair by cosine and by human score, in percent of all pairs. "
    "Lower is better; 0 % is right, random order gives 33 % on average. "
)
KINDS_MEAN = (
    f"{RANK_ERROR}A pair is wrong if it is above {in_words.percent(FAR)}. "
    "Improved: wrong in A, right in B. Got worse: right in A, wrong in B. Still wrong: wrong in both."
)
EXAMPLES_MEAN = (
    f"{RANK_ERROR}The pairs whose rank error fell most and rose most, and one that did not change, however large the "
    "error is."
)
WRONG = f"Wrong: rank error above {in_words.percent(FAR)}."
SHOWN = 5  # items of either kind; the table has all
# of example pairs: a gain need not make a wrong pair right, as it does of a pair that improved
_EXAMPLES = {
    "largest gain": ":material/trending_up:",
    "largest loss": ":material/trending_down:",
    "unchanged": ":material/trending_flat:",
}


def flipped_pairs(pairs: GradedPairs | None, comparison: Comparison) -> None:
    """The counts, the filters and the rows; nothing unless the set is scored pairs."""
    if pairs is None:
        return
    st.markdown("**Improved and worsened pairs**", help=KINDS_MEAN)
    if unknown := chosen_not_measured(comparison):
        st.info("  \n".join(unknown), icon=":material/block:")
        return
    errors = comparison.rank_errors()
    found = {kind: errors.places(kind) for kind in KINDS}
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:  # the kind is in the address, so without a count
        kind: str = controls.segments("Kind", list(KINDS), default=FIXED, key="flips", label_visibility="collapsed")
    with row.popover("Filter", icon=":material/filter_alt:"):
        places = _filtered(pairs, found[kind])
    counts = " · ".join(f"{one} {len(found[one]):,}" for one in KINDS)
    st.caption(f"{counts}. {len(places):,} of {len(found[kind]):,} pairs pass the filters. {WRONG}")
    if not len(places):
        st.info(NONE_PASSES, icon=":material/filter_alt_off:")
        return
    rows = pair_rows(pairs, comparison, errors, places)
    key = f"flipped {kind} {digest_of(map(str, places))[:12]}"  # one for each set of rows: new ones clear the selection

    shown = [(pairs.first[place], pairs.second[place]) for place in places[:MOST]]
    event = controls.row_table(
        [cosine_meaning.columns(_in_percent(row)) for row in rows[:MOST]],
        shown,
        lambda pair: selection.choose_pair(*pair),
        key=key,
        height=ROW * min(LINES, len(rows) + 1) + 3,
        column_config=_columns(),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        downloads.rows(rows, f"{pairs.name} {kind}", "Pairs (CSV)")
        if chosen := event["selection"]["rows"]:
            pair_words.words_button(pair_words.COMPARE, "of the selected pair", *shown[chosen[0]])
        else:
            st.caption(SELECT_ROW, width="content")


def _columns() -> dict[str, Any]:
    text, number = st.column_config.TextColumn(width="medium"), partial(st.column_config.NumberColumn, width="small")
    cosine = number(format="%.3f", help="−1 to 1. Higher is more similar.")
    error = "Distance between the ranks by cosine and by gold score. Lower is better; 0 % is right."
    share = number(format="%.1f %%", help=error)
    gold = number(format="%.2f", help="Similarity that people assigned to the pair. Higher is more similar.")
    names = "first", "second", "cosine A", "cosine B", "gold score", "rank error A", "rank error B"
    return dict(zip(names, (text, text, cosine, cosine, gold, share, share), strict=True))


def _in_percent(row: dict[str, object]) -> dict[str, object]:
    """A row with its rank errors in percent."""
    return {name: 100 * value if "error" in name and isinstance(value, float) else value for name, value in row.items()}


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
    chosen: str = controls.menu(label, (ANY, *options), default=ANY, key=key, width=160, help=text)
    return chosen


def _differs(does: bool, wanted: str) -> bool:
    return wanted == ANY or does == (wanted == DIFFER[0])


def examples(compared: Compared) -> None:
    """The pairs side by side, each with a button for its words."""
    pairs = compared.sides[0].graded
    if pairs is None:
        return
    errors = compared.about.rank_errors()
    if compared.after == 0:
        errors = type(errors)(errors.other, errors.one)
    places = dict(zip(_EXAMPLES, errors.examples(), strict=True))
    if not any(place is not None for place in places.values()):
        return
    st.markdown("**Example pairs**", help=EXAMPLES_MEAN)
    about = compared.about
    cosines = about.one.cosines_of(about.one_reading), about.other.cosines_of(about.other_reading)
    scale = f" ({pairs.scale})" if pairs.scale else ""
    before, after = cosines[1 - compared.after], cosines[compared.after]
    for column, (kind, place) in zip(st.columns(3, gap="medium"), places.items(), strict=True):
        with column.container(border=True, gap="xsmall"):
            st.markdown(f"**{_EXAMPLES[kind]} {kind.capitalize()}**")
            if place is None:
                st.markdown("No pair.")
                continue
            pair = pairs.first[place], pairs.second[place]
            st.markdown("  \n".join(messages.plain(messages.shortened(sentence, 120)) for sentence in pair))
            st.caption(
                f"Human score {pairs.own_gold[place]:.2f}{scale}  \n"
                f"Cosine {in_words.cosines(before[place], after[place], digits=3)}  \n"
                f"Rank error {in_words.arrow(100 * errors.one[place], 100 * errors.other[place], digits=1)} %"
            )
            pair_words.words_button(pair_words.COMPARE, f"open {kind}", *pair)


def chosen_pair(compared: Compared, changes: Learned | None) -> None:
    """The visitor's pair word by word and token by token; until one is chosen, a pair that shows what was learned."""
    shown = [(one.first, one.second) for one in (changes.shown_pairs if changes else ())]
    pair = selection.pair() or next(iter(shown), None)
    if pair is None:
        st.info(NO_PAIR, icon=":material/touch_app:")
        return
    microscope.of_sides(verdict_view.readers(compared), *pair, where="tab")


def cosines_by_gold(compared: Compared) -> None:
    """Histograms of the cosines of A and B by gold score, with their file; nothing unless the set is scored pairs."""
    pairs = compared.sides[0].graded
    if pairs is None:
        return
    st.markdown("**Cosines by gold score**", help=gold_bins.HOW_TO_READ)
    bins = compared.comparison.gold_bins(pairs)
    downloads.draw(
        distributions.cosines_by_gold(bins),
        config=downloads.config("cosines"),
        alt="Histograms of the cosines of A and B, one for each fifth of the gold score scale. "
        "The file below has the numbers.",
    )
    downloads.rows(gold_bins.gold_bin_rows(bins), f"{compared.stem} cosines", "Histograms (CSV)")


def changed_items(compared: Compared) -> None:
    """Both lists, most changed first, and the table of all items; nothing of scored pairs, whose lists are others."""
    pairs, metric = compared.sides[0].pairs, compared.metric
    if isinstance(pairs, GradedPairs):
        return
    found = item_changes(pairs, compared.about, metric, compared.after)
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


def _item(changes: ItemChanges, item: int, measure: str) -> None:
    with st.container(border=True, gap=None):
        for heading, cells in changes.texts.items():
            st.caption(heading)
            st.text(messages.shortened(cells[item], messages.LONGEST))
        values = f"{_value(measure, changes.before[item])} → {_value(measure, changes.after[item])}"
        first, score = changes.ranks_text(item) or values, f"{measure} {values}"
        more = [changes.cosines_text(item), score if changes.ranks is not None else ""]
        st.markdown(" · ".join([f"**{first}**", *filter(None, more)]))
        for when, after in (("before", False), ("after", True)):
            if wrong := changes.in_place_of(item, after=after):
                st.caption(f"Rank 1 {when}, in place of it:")
                st.text(messages.shortened(wrong, messages.LONGEST))


def _value(measure: str, value: float) -> str:
    """What an item gets: right or wrong where that is all there is."""
    if measure == metrics.ACCURACY:
        return metrics.DECIDED.get(100 * value, "undecided")
    return f"{100 * value:.1f}"
