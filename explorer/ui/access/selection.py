"""The visitor's sentences and pair, the same on every page: chosen anywhere, kept on this disk, named in the address.

They are chosen in callbacks (`on_click`, `on_change`, `on_select`), since a run that has drawn the address cannot
change it. A page shows `sentences` and `pair`, and has no text box of its own for what was typed before.
"""

from collections.abc import Sequence

import streamlit as st

from explorer.data import selections
from explorer.errors import StrataError
from explorer.measuring.sentences.marked_pairs import Mark

SENTENCES, PAIR, MARKS = "sentences", "pair", "marks"  # in the address
SAME, DIFFERENT = "same", "different"  # of a mark on the disk
MOST = 200
# exchanged roles, synonyms, negation; few shared words; one word with two meanings; another number
FIRST_SEEN = (
    "A dog chases a cat through the garden.",
    "A cat chases a dog through the garden.",
    "A puppy runs after a kitten outside.",
    "No dog chases a cat through the garden.",
    "The bank raised its interest rates again.",
    "Borrowing money has become more expensive.",
    "We sat on the bank of the river.",
    "We rested by the water.",
    "The concert starts at seven.",
    "The concert starts at nine.",
)
_READ = "_selections"  # what was read or written in this session, by its digest


def into_address(*others: str) -> None:
    """Bind the digests of all, and other texts of the frame, to the address, where they outlast a change of page."""
    with st.container(key="selection in address"):
        st.html("<style>.st-key-selection-in-address { display: none; }</style>")
        for key in (SENTENCES, PAIR, MARKS, *others):
            st.text_input(key, key=key, bind="query-params", label_visibility="collapsed")


def sentences() -> tuple[str, ...]:
    """The chosen sentences, up to MOST of them; those of the first visit until some are chosen."""
    return _of(SENTENCES) or FIRST_SEEN


def pair() -> tuple[str, str] | None:
    """The chosen pair; None until one is chosen, and a page shows one of its own."""
    chosen = _of(PAIR)
    return (chosen[0], chosen[1]) if len(chosen) == 2 else None


def marks() -> tuple[Mark, ...]:
    """The pairs that the visitor has marked as same or different."""
    kept = _of(MARKS)
    return tuple(
        Mark(first, second, kind == SAME)
        for kind, first, second in zip(kept[::3], kept[1::3], kept[2::3], strict=False)
        if kind in (SAME, DIFFERENT)
    )


def mark(first: str, second: str, same: bool | None) -> None:
    """Mark a pair as same or different in meaning, or with None as neither; in a callback."""
    others = [one for one in marks() if {one.first, one.second} != {first, second}]
    kept = [*others, *([] if same is None else [Mark(first, second, same)])]
    if kept:
        _choose(MARKS, tuple(part for one in kept for part in (SAME if one.same else DIFFERENT, one.first, one.second)))
    else:
        clear(MARKS)


def is_chosen(key: str) -> bool:
    """Whether SENTENCES, or PAIR, are the visitor's own."""
    return bool(_of(key))


def faults() -> list[str]:
    """Why sentences that the address names cannot be shown."""
    found = []
    for key in (SENTENCES, PAIR, MARKS):
        try:
            _read(st.session_state.get(key) or "")
        except StrataError as error:
            found.append(str(error))
    return found


def choose_sentences(chosen: Sequence[str]) -> None:
    """Make these the sentences of every page; in a callback."""
    _choose(SENTENCES, tuple(chosen[:MOST]))


def choose_pair(first: str, second: str) -> None:
    """Make this the pair of every page; in a callback."""
    _choose(PAIR, (first, second))


def clear(key: str) -> None:
    """Choose no SENTENCES, no PAIR or no MARKS; in a callback."""
    st.session_state[key] = ""


def _choose(key: str, chosen: tuple[str, ...]) -> None:
    digest = selections.keep(chosen)
    st.session_state.setdefault(_READ, {})[digest] = chosen
    st.session_state[key] = digest


def _of(key: str) -> tuple[str, ...]:
    try:
        return _read(st.session_state.get(key) or "")
    except StrataError:  # `faults` says why
        return ()


def _read(digest: str) -> tuple[str, ...]:
    known: dict[str, tuple[str, ...]] = st.session_state.setdefault(_READ, {})
    if digest and digest not in known:
        known[digest] = selections.read(digest)
    return known.get(digest, ())
