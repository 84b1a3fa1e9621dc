"""Show a number, an error, a verdict, and text of a user or a file, safely."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import errors, escaping
from explorer.measuring.comparing.headline import line
from explorer.measuring.comparing.learned import HOW_SURE, sure
from explorer.measuring.comparing.learned_facts import Learned
from explorer.measuring.comparing.verdict_sentence import Marked, Sentence, rendered
from explorer.measuring.scores.verdict import BETTER, CHANCE, CHOSE, MIXED, TRAINED_ON, UNKNOWN, UNLEARNED, WORSE

LONGEST = 240  # characters that a page shows of a text
MISSING = "–"  # in a cell of a table that has no number
_MARKUP = re.compile(r"([!-/:-@\[-`{-~])")
# Streamlit makes arrows and signs of such words (-> <- <-> -- >= <= ~=) too; a directive that is empty cuts them up
_FOUND_LATER = re.compile(escaping.FOUND_LATER + r"|(?<=[<>~-])(?=[-=>]+(?!\S))", re.IGNORECASE)
_NOTHING = ":small[]"
_LOOKS = {
    BETTER: (st.success, ":material/trending_up:"),
    WORSE: (st.error, ":material/trending_down:"),
    MIXED: (st.warning, ":material/swap_vert:"),
    CHANCE: (st.info, ":material/casino:"),
    UNKNOWN: (st.warning, ":material/help:"),
    UNLEARNED: (st.warning, ":material/block:"),
    CHOSE: (st.info, ":material/science_off:"),
    TRAINED_ON: (st.info, ":material/science_off:"),
}
CUT = "Only the first {:,} tokens were read of “{}”."


def plain(text: str) -> str:
    """Text that a user or a file brought, safe inside markdown: nothing in it is read as markup."""
    lines = re.split(r"[ \t]*(?:\r\n?|\n)[ \t]*", re.sub(r"^[ \t]+", " ", text))  # an indented line would be code
    return "  \n".join(escaping.cut_and_escaped(line, _FOUND_LATER, _MARKUP, _NOTHING) for line in lines)


def number(
    where: DeltaGenerator, label: str, value: str, note: str = "", *, border: bool = False, help: str | None = None
) -> None:
    """A number in large type; its note is no change, so it has neither arrow nor colour. Boxes share a row evenly."""
    width: Literal["stretch", "content"] = "stretch" if border else "content"
    where.metric(
        label, value, note or None, delta_color="off", delta_arrow="off", border=border, width=width, help=help
    )


def changed(
    where: DeltaGenerator, label: str, value: str, change: float, note: str, *, lower_is_better: bool, help: str
) -> None:
    """A number in a box with its change: an arrow, green where it became better and red where it became worse.

    Streamlit takes a note for a loss only if it begins with a hyphen, so colour and arrow are stated.
    """
    better = (change < 0) == lower_is_better
    colour: Literal["normal", "inverse", "off"] = "off" if not change else "normal" if better else "inverse"
    arrow: Literal["up", "down", "off"] = "off" if not change else "up" if change > 0 else "down"
    where.metric(label, value, note, delta_color=colour, delta_arrow=arrow, border=True, help=help)


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show an error of Strata where it is raised; what follows the block is done all the same."""
    try:
        yield
    except errors.StrataError as error:
        trouble(error)


def trouble(error: errors.StrataError | str, details: str = "") -> None:
    """An error, with its next step."""
    st.error(plain(str(error)), icon=":material/error:")
    if details:
        with st.expander("What the program saw"):
            st.code(details, language=None)


def replaced(error: errors.StrataError, used: str) -> None:
    """What is wrong with a value of the address or of a menu, which stays there, and what is used in its place."""
    st.warning(plain(f"{error} Until then '{used}' is used."), icon=":material/block:")


def verdict(*verdicts: Sentence, icon: str = "") -> None:
    """Show verdicts in a box in the colour of the first; its icon, by default that of its kind, repeats the meaning."""
    draw, usual = _LOOKS[verdicts[0].kind]
    draw("\n\n".join(marked(one.pieces) for one in verdicts), icon=icon or usual)


def answer(learned: Learned) -> bool:
    """The headline in a box, coloured by its kind; False without one."""
    text = line(learned)
    if text is not None:
        verdict(text)
    return text is not None


def how_sure(learned: Learned) -> bool:
    """How sure the `answer` is; False without one."""
    if line(learned) is None:
        return False
    st.markdown(f"**How sure:** {plain(sure(learned))}", help=HOW_SURE if learned.packs else None)
    return True


def learned(learned: Learned) -> bool:
    """The `answer`, and `how_sure` it is; False without one."""
    answer(learned)
    return how_sure(learned)


def marked(pieces: Marked) -> str:
    """A text in markdown, with its marked pieces in bold."""
    return rendered(pieces, plain, lambda text: f"**{text}**")


def warn_of_cuts(sentences: tuple[str, str], cut: tuple[bool, ...], most: int) -> None:
    """Say which sentence was encoded in part only."""
    for sentence, is_cut in zip(sentences, cut, strict=True):
        if is_cut:
            st.warning(CUT.format(most, plain(shortened(sentence))), icon=":material/content_cut:")


def shortened(sentence: str, most: int = 120) -> str:
    """The beginning of a sentence, in one line."""
    line = " ".join(sentence.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def ends(name: str, most: int = 32) -> str:
    """A name with its middle left out: names of runs often differ only at the end."""
    half = most // 2
    return name if len(name) <= most else f"{name[: most - half - 1]}…{name[-half:]}"
