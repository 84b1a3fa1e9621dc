"""Show a verdict, or what a model learned: a line in a coloured box, how sure it is, and pairs that show it."""

from collections.abc import Sequence

import streamlit as st

from explorer.measuring.comparing.learned import HOW_CHOSEN, HOW_SURE, Learned, differing, line, sure, what_is_right
from explorer.measuring.scores.judge import PairChange
from explorer.measuring.scores.verdict import BETTER, CHANCE, MIXED, UNKNOWN, WORSE, Marked, Sentence, rendered
from explorer.ui import messages
from explorer.ui.widgets import microscope

_LOOKS = {
    BETTER: (st.success, ":material/trending_up:"),
    WORSE: (st.error, ":material/trending_down:"),
    MIXED: (st.warning, ":material/swap_vert:"),
    CHANCE: (st.info, ":material/casino:"),
    UNKNOWN: (st.warning, ":material/help:"),
}


def show(*verdicts: Sentence, icon: str = "") -> None:
    """Show verdicts in a box in the colour of the first; its icon, by default that of its kind, repeats the meaning."""
    draw, usual = _LOOKS[verdicts[0].kind]
    draw("\n\n".join(_markdown(one.pieces) for one in verdicts), icon=icon or usual)


def learned(found: Learned) -> bool:
    """The line in a box, coloured by its kind, then how sure it is; False if nothing was measured."""
    text = line(found)
    if text is None:
        return False
    show(text)
    help = HOW_SURE if found.packs else None
    st.markdown(f"**How sure:** {messages.plain(sure(found))}", help=help)
    return True


def learned_pairs(found: Sequence[PairChange], sides: str = "base → tuned", page: str = "") -> None:
    """The pairs side by side, with the cosine of each under both models, and a button for their words on a `page`."""
    if not found:
        return
    st.markdown(f"**Pairs that show it**, cosine {sides}", help=HOW_CHOSEN)
    for number, (column, pair) in enumerate(zip(st.columns(len(found), gap="small"), found, strict=True), start=1):
        with column.container(border=True, gap="xsmall"):
            first, second = differing(pair.first, pair.second)
            st.caption(messages.plain(what_is_right(pair.pack)))
            st.markdown(f"{_markdown(first)}  \n{_markdown(second)}")
            with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
                st.markdown(f"**{pair.before:.2f} → {pair.after:.2f}**", width="content")
                if page:
                    microscope.words_button(page, f"of pair {number}", pair.first, pair.second)


def _markdown(pieces: Marked) -> str:
    return rendered(pieces, messages.plain, lambda text: f"**{text}**")
