"""Show how often A and B distinguish small differences in meaning: two bars for each probe pack."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.data.graded import probes
from explorer.drawing.sentences import probe_shares
from explorer.errors import StrataError
from explorer.measuring.sentences.probes import Probed, changed, probed, sentences_of
from explorer.ui import messages
from explorer.ui.access.side_readers import Reader
from explorer.ui.compare.compared import Compared
from explorer.ui.widgets import picture_format


def show(compared: Compared, headline: DeltaGenerator) -> None:
    """The bars, once both sides have encoded the packs; until then progress. Significant changes go to the headline."""
    st.subheader("Probe packs")
    packs = probes.packs()
    readings = compared.about.one_reading, compared.about.other_reading
    readers = [
        Reader(name, shown.found, reading, choice.settings)
        for name, shown, reading, choice in zip("AB", compared.sides, readings, compared.choices, strict=True)
    ]
    try:
        by_key = {key: reader.vectors(sentences_of(packs)) for key, reader in {r.key: r for r in readers}.items()}
    except StrataError as error:
        messages.trouble(error)
        return
    made = {reader.name: by_key[reader.key] for reader in readers}
    known = {name: probed(packs, vectors) for name, vectors in made.items() if vectors is not None}
    if len(known) < len(readers):
        return  # progress is shown
    shares = {
        name: {pack.name: side.distinguished(pack.name).value for pack in packs if not pack.same}
        for name, side in known.items()
    }
    with headline.container():
        _headline(known["A"], known["B"])
    picture_format.draw(
        probe_shares.shares_side_by_side(shares),
        key="probe shares",
        config=picture_format.config("probe-shares"),
        alt="Share of cases in which A and B distinguish a paraphrase, for every pack. The Sentences page has a table.",
    )
    if not changed(known["A"], known["B"]):
        st.markdown("No significant change: every difference could be chance.")
    st.caption(
        " · ".join(reader.title for reader in readers)
        + ". Share of cases in which a paraphrase has a higher cosine than a sentence with this difference in meaning. "
        "Higher is better, 50 % is chance. The Sentences page shows every pair."
    )
    st.page_link(
        "pages/sentences.py", label="All probe pairs", icon=":material/notes:", query_params={"look": "Probe packs"}
    )


def _headline(one: Probed, other: Probed) -> None:
    """One sentence on what B distinguishes more often than A, one on what less often; only significant changes."""
    for word, better, box, icon in (
        ("Better at small differences", True, st.success, ":material/trending_up:"),
        ("Worse at small differences", False, st.error, ":material/trending_down:"),
    ):
        parts = [
            f"**{name}** in {b.value:.0%} of cases (A: {a.value:.0%})"
            for name, a, b in changed(one, other)
            if (b.value > a.value) == better
        ]
        if parts:
            box(f"**{word}**: B distinguishes a paraphrase from {', from '.join(parts)}; chance is 50 %.", icon=icon)
