"""Show how often A and B distinguish a paraphrase from a negation, exchanged roles or another number."""

from __future__ import annotations

import streamlit as st

from explorer.data.graded import probes
from explorer.drawing.sentences import probe_bars
from explorer.measuring.scores.bootstrap import RESAMPLES
from explorer.measuring.sentences.probes import Probed, pack_rows, pair_rows, probed, sentences_of, verdict
from explorer.ui import messages
from explorer.ui.access.side_readers import Reader
from explorer.ui.microscope import microscope
from explorer.ui.sentences import pack_words_view
from explorer.ui.widgets import downloads, picture_format, segments

COSINE = "Cosine of the two sentences, −1 to 1. Higher is more similar."
GOOD = "Share of cases in which a paraphrase has a higher cosine than a pair with different meaning. Higher is better."


def show(sides: tuple[Reader, ...]) -> None:
    """The shares, the bars of every pack, the pairs, and the microscope for a selected pair."""
    packs = probes.packs()
    made = [(side.name, side.vectors(sentences_of(packs))) for side in sides]
    known = {name: probed(packs, vectors) for name, vectors in made if vectors is not None}
    if len(known) < len(sides):
        return  # progress is shown
    one, other = known["A"], known.get("B")
    st.markdown(" · ".join(side.title for side in sides))
    _headline(known)
    picture_format.draw(
        probe_bars.packs_side_by_side(known),
        key="probes",
        config=picture_format.config("probes"),
        alt="Mean cosine of every pack. The table below has the numbers.",
    )
    st.caption(
        "Bar: mean cosine of a pack. Point: one pair. Good: high bars left of the line (same meaning), low bars right "
        "of it (different meaning). The opposite means that the model compares words, not meaning."
    )
    _packs(one, other)
    pack_words_view.show(sides, packs)
    _pairs(sides, one, other)


def _headline(known: dict[str, Probed]) -> None:
    cards = st.container(horizontal=True)
    for name, side in known.items():
        share = side.distinguished_from_all()
        interval = f"95 % CI {100 * share.low:.0f} to {100 * share.high:.0f} %, chance 50 %"
        messages.number(cards, f"Distinguished by {name}", str(share), interval, border=True, help=GOOD)
    different = sum(len(pack) for pack in known["A"].packs if not pack.same)
    alike = len(known["A"].of(probes.PARAPHRASE))
    st.caption(
        f"Share of the {alike * different:,} cases, each a paraphrase and a pair with different meaning, in which the "
        "paraphrase has the higher cosine. Higher is better; 50 % is chance. "
        f"This is a probe of {alike + different} pairs, not a benchmark."
    )


def _packs(one: Probed, other: Probed | None) -> None:
    of_cases = st.column_config.TextColumn(alignment="right", help=f"{GOOD} 50 % is chance.")
    number = st.column_config.NumberColumn(
        format="%.3f",
        help="−1 to 1. High is good for pairs with the same meaning, low for pairs with different meaning.",
    )
    sides = [(name, side) for name, side in (("A", one), ("B", other)) if side is not None]
    rows = [
        # shares as text: a browser rounds halves another way than the sentences below
        {**row, "about": pack.about}
        | {f"distinguished {name}": None if pack.same else str(side.distinguished(pack.name)) for name, side in sides}
        for row, pack in zip(pack_rows(one, other), one.packs, strict=True)
    ]
    st.dataframe(
        rows,
        hide_index=True,
        column_order=["pack", "about", *(key for key in rows[0] if key not in ("pack", "about", "pairs"))],
        column_config={
            "about": st.column_config.TextColumn(width="medium"),
            **{f"mean cosine {name}": number for name, _ in sides},
            **{f"distinguished {name}": of_cases for name, _ in sides},
        },
        placeholder=messages.MISSING,
    )
    _verdicts(one, other)
    same = " and ".join(pack.name for pack in one.packs if pack.same)
    st.caption(
        f"Confidence interval: {RESAMPLES:,} bootstrap resamples of the pairs. "
        f"{messages.MISSING}: pairs of {same} have the same meaning, so there is nothing to distinguish."
    )


def _verdicts(one: Probed, other: Probed | None) -> None:
    """A line for each pack of another meaning: whether A and B notice the difference."""
    sides = [(name, side) for name, side in (("A", one), ("B", other)) if side is not None]
    st.markdown(
        "\n".join(
            f"- **{pack.name}**: "
            + " ".join(verdict(name, pack.name, side.distinguished(pack.name)) for name, side in sides)
            for pack in one.packs
            if not pack.same
        )
    )


def _pairs(sides: tuple[Reader, ...], one: Probed, other: Probed | None) -> None:
    st.subheader("Pairs")
    names = [pack.name for pack in one.packs]
    name: str = segments.chosen("Pack", names, default="negation", key="pack")
    every = pair_rows(one, other)
    rows = [row for row in every if row["pack"] == name]
    number = st.column_config.NumberColumn(format="%.3f", help=COSINE)
    event = st.dataframe(
        [{key: value for key, value in row.items() if key not in ("pack", "meaning")} for row in rows],
        hide_index=True,
        height="content",
        key=f"pairs of {name}",
        on_select="rerun",
        selection_mode="single-row",
        column_config=dict.fromkeys(("cosine A", "cosine B", "B - A"), number),
        placeholder=messages.MISSING,
    )
    downloads.rows(every, f"probes {' '.join(side.found.name for side in sides)}", "Probes (CSV)")
    st.subheader("Pair microscope")
    chosen = event["selection"]["rows"]
    if not chosen:
        st.caption("Select a row of the table to see its pair token by token.")
        return
    row = rows[chosen[0]]
    microscope.of_sides(sides, str(row["first"]), str(row["second"]))
