"""Show how often A and B distinguish small differences in meaning: two bars for each probe pack."""

from __future__ import annotations

import streamlit as st

from explorer.data.graded import probes
from explorer.drawing.sentences import probe_bars
from explorer.errors import StrataError
from explorer.measuring.comparing.learned import ProbeChanges
from explorer.measuring.sentences.probes import probed, sentences_of
from explorer.training.record.model_comparison import known_probes
from explorer.ui import messages
from explorer.ui.access.side_readers import Reader
from explorer.ui.compare.compared import Compared
from explorer.ui.widgets import picture_format

NOT_ENCODED = "Small differences in meaning are not judged: the probe packs were not encoded."


def found(compared: Compared) -> ProbeChanges | None:
    """The changes, as the run measured them, or from vectors; None, with progress shown, until both sides have them."""
    one, other = compared.sides
    known = known_probes((one.found, other.found), compared.verdict, (choice.settings for choice in compared.choices))
    if known is not None:
        return known
    sides = readers(compared)
    packs = probes.packs()
    texts = sentences_of(packs)
    try:
        by_key = {key: reader.vectors(texts) for key, reader in {side.key: side for side in sides}.items()}
    except StrataError as error:
        return ProbeChanges(why_none=str(error))
    made = [vectors for reader in sides if (vectors := by_key[reader.key]) is not None]
    if len(made) < len(sides):
        return None if any(reader.is_coming(texts) for reader in sides) else ProbeChanges(why_none=NOT_ENCODED)
    return compared.verdict.probe_changes(packs, *(probed(packs, vectors).by_pack for vectors in made))


def show(compared: Compared, changes: ProbeChanges | None, *, drawn: bool = False) -> None:
    """The bars under their heading, unless they are drawn already, and what they are of."""
    st.subheader("Small differences in meaning")
    if changes is None:
        st.caption("The probe packs are being encoded; the bars follow.")
        return
    if not changes.packs:
        st.caption(messages.plain(changes.why_none))
        return
    if not drawn:
        bars(compared, changes)
    st.caption(
        " · ".join(reader.title for reader in readers(compared))
        + ". A case is a paraphrase and a pair with this difference in meaning; it is right if the paraphrase has the "
        "higher cosine. Higher is better; a coin would get 50 %. The Sentences page shows every pair of these probe "
        "packs."
    )
    st.page_link(
        "pages/sentences.py", label="All probe pairs", icon=":material/notes:", query_params={"look": "Probe packs"}
    )


def bars(compared: Compared, changes: ProbeChanges, height: int | None = None) -> None:
    """Two bars for each probe pack: the share of cases in which A and B are right; `height` is in pixels."""
    sides: dict[str, dict[str, float]] = {side: {} for side in "AB"}
    for change in changes.packs:
        shares = (change.before, change.after) if compared.after == 1 else (change.after, change.before)
        for side, share in zip("AB", shares, strict=True):
            sides[side][change.name] = share.value
    picture_format.draw(
        probe_bars.shares_side_by_side(sides),
        height=height,
        key="probe shares",
        config=picture_format.config("probe-shares"),
        alt="Share of cases in which A and B place a paraphrase above a sentence with a small difference in meaning, "
        "for every kind of difference. The Sentences page has a table.",
    )


def readers(compared: Compared) -> tuple[Reader, ...]:
    """The two sides, under the layers & poolings that the verdict compares."""
    readings = compared.about.one_reading, compared.about.other_reading
    return tuple(
        Reader(name, shown.found, reading, choice.settings)
        for name, shown, reading, choice in zip("AB", compared.sides, readings, compared.choices, strict=True)
    )
