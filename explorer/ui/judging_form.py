"""How often is it trained, which pairs choose the best step, and which ones is it judged on?"""

from __future__ import annotations

import re
from dataclasses import dataclass

import streamlit as st

from explorer.data import sets
from explorer.errors import BadChoice
from explorer.ui import knob_form, notices, reach

SEEDS, DEV, TEST = "recipe seeds", "recipe dev", "recipe test"
NO_TEST = "none"


@dataclass(frozen=True)
class Judging:
    """Seeds, development pairs, and test pairs if there are any."""

    seeds: tuple[int, ...]
    dev: str
    test: str | None


def judging() -> Judging | None:
    """What the fields say; None where something has to be mended first."""
    _fill_once()
    dev_offered = _with_current([*sets.halves(), *sets.names()], DEV)
    test_offered = _with_current([NO_TEST, *sets.halves(), *sets.names()], TEST)
    left, middle, right = st.columns(knob_form.COLUMNS)
    with left:
        dev = st.selectbox(
            "Development pairs",
            dev_offered,
            key=DEV,
            persist_state="session",
            help="Graded pairs that choose the best step. They are looked at during the run.",
        )
        there = reach.pairs(dev) is not None
    with middle:
        test = st.selectbox(
            "Test pairs",
            test_offered,
            key=TEST,
            persist_state="session",
            help="Graded pairs that the base and the best step are scored on: the number to report.",
        )
        there &= test == NO_TEST or reach.pairs(test) is not None
    with right:
        typed = st.text_input(
            "Seeds",
            key=SEEDS,
            persist_state="session",
            help="Whole numbers. With several, such as `1, 2, 3`, the run is trained once for each, and tells mean "
            "and spread.",
        )
        seeds = _seeds(typed)
    if dev == test:
        st.warning(
            "The best step is chosen on the pairs that it is then scored on: the score will be too good.",
            icon=":material/balance:",
        )
    if seeds is None or not there:
        return None
    return Judging(seeds, dev, None if test == NO_TEST else test)


def fill(judging: Judging) -> None:
    """Make the fields say this; only in a callback."""
    state = st.session_state
    state[SEEDS] = ", ".join(map(str, judging.seeds))
    state[DEV], state[TEST] = judging.dev, judging.test or NO_TEST


def read_seeds(typed: str) -> tuple[int, ...]:
    """`1, 2, 3` as numbers."""
    words = re.split(r"[\s,;]+", typed.strip(" ,;\t"))
    if not all(re.fullmatch(r"[0-9]{1,10}", word) for word in words):
        raise BadChoice(f"Seeds cannot be '{typed}'. Type whole numbers with commas between them, such as 1, 2, 3.")
    return tuple(map(int, words))


def _seeds(typed: str) -> tuple[int, ...] | None:
    try:
        return read_seeds(typed)
    except BadChoice as error:
        notices.trouble(error)
        return None


def _fill_once() -> None:
    """What the fields say before anybody has touched them."""
    state = st.session_state
    if SEEDS not in state:
        state[SEEDS] = "1"
    if DEV not in state:
        published = "STS-B dev", "STS-B test"
        state[DEV], state[TEST] = published if all(map(reach.on_this_disk, published)) else sets.halves()


def _with_current(options: list[str], key: str) -> list[str]:
    """Options, and what is chosen already if it is not among them."""
    current = st.session_state.get(key)
    return options if current is None or current in options else [*options, current]
