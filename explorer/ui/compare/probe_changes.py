"""Show how often A and B distinguish small differences in meaning: two bars for each probe pack."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from explorer.data.graded import probes
from explorer.drawing.sentences import probe_shares
from explorer.errors import StrataError
from explorer.measuring.comparing.learned import shown_pairs
from explorer.measuring.scores.meaning_judges import PackChange, PairChange, pack_changes
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences.probes import probed, sentences_of
from explorer.training.record.tuned_pair import packs_held_out
from explorer.ui import messages
from explorer.ui.access.side_readers import Reader
from explorer.ui.compare.compared import Compared
from explorer.ui.widgets import picture_format

NOT_HELD_OUT = (
    "The probe packs do not count here: a run trained on their sentences, or chose its checkpoint by them. The "
    "Sentences page shows them."
)


@dataclass(frozen=True)
class ProbeChanges:
    """What changed in the probe packs, from the model before to the model after; nothing, and why."""

    packs: tuple[PackChange, ...] = ()
    pairs: tuple[PairChange, ...] = ()
    why_none: str = ""


def found(compared: Compared) -> ProbeChanges | None:
    """The changes, as the run measured them, or from vectors; None, with progress shown, until both sides have them."""
    if not packs_held_out((compared.sides[0].found, compared.sides[1].found)):
        return ProbeChanges(why_none=NOT_HELD_OUT)
    tuning = compared.verdict.tuning
    if tuning and tuning.packs and {choice.settings for choice in compared.choices} == {Settings("float32")}:
        return ProbeChanges(tuning.packs, tuning.pairs)
    readers = _readers(compared)
    try:
        by_key = {
            key: reader.vectors(sentences_of(probes.packs())) for key, reader in {r.key: r for r in readers}.items()
        }
    except StrataError as error:
        return ProbeChanges(why_none=str(error))
    known = [vectors for reader in readers if (vectors := by_key[reader.key]) is not None]
    if len(known) < len(readers):
        return None
    sides = [probed(probes.packs(), vectors).by_pack for vectors in known]
    before, after = sides[1 - compared.after], sides[compared.after]
    packs = pack_changes(before, after)
    return ProbeChanges(packs, shown_pairs(compared.verdict.learned(packs), probes.judged(), before, after))


def show(compared: Compared, changes: ProbeChanges | None) -> None:
    """The bars."""
    st.subheader("Small differences in meaning")
    if changes is None:
        st.caption("The probe packs are being encoded; the bars follow.")
        return
    if not changes.packs:
        st.caption(messages.plain(changes.why_none))
        return
    sides: dict[str, dict[str, float]] = {side: {} for side in "AB"}
    for change in changes.packs:
        shares = (change.before, change.after) if compared.after == 1 else (change.after, change.before)
        for side, share in zip("AB", shares, strict=True):
            sides[side][change.name] = share.value
    st.plotly_chart(
        probe_shares.shares_side_by_side(sides),
        key="probe shares",
        config=picture_format.config("probe-shares"),
        alt="Share of cases in which A and B place a paraphrase above a sentence with a small difference in meaning, "
        "for every kind of difference. The Sentences page has a table.",
    )
    st.caption(
        " · ".join(reader.title for reader in _readers(compared))
        + ". A case is a paraphrase and a pair with this difference in meaning; it is right if the paraphrase has the "
        "higher cosine. Higher is better; a coin would get 50 %. The Sentences page shows every pair of these probe "
        "packs."
    )
    st.page_link(
        "pages/sentences.py", label="All probe pairs", icon=":material/notes:", query_params={"look": "Probe packs"}
    )


def _readers(compared: Compared) -> list[Reader]:
    readings = compared.about.one_reading, compared.about.other_reading
    return [
        Reader(name, shown.found, reading, choice.settings)
        for name, shown, reading, choice in zip("AB", compared.sides, readings, compared.choices, strict=True)
    ]
