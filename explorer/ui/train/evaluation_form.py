"""Choose the seeds, the dev set that selects the best checkpoint, and the test set that is reported."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from explorer.data.sources import identity, label
from explorer.errors import BadChoice
from explorer.ui import messages
from explorer.ui.access import availability
from explorer.ui.access.method_cards import MethodCard
from explorer.ui.runs import set_fields
from explorer.ui.train import knob_form, text_form

SEEDS, DEV, TEST, MORE_TESTS = "recipe seeds", "recipe dev", "recipe test", "recipe more tests"


@dataclass(frozen=True)
class Judging:
    """Seeds, dev set, and test set if there is one, with further ones."""

    seeds: tuple[int, ...]
    dev: str
    test: str | None
    more_tests: tuple[str, ...] = ()


def judging(sources: tuple[str, ...], card: MethodCard) -> Judging | None:
    """The values of the fields; None if one of them is invalid."""
    if SEEDS not in st.session_state:
        st.session_state[SEEDS] = "1"
    set_fields.fill_untouched(sources, (card,), (DEV, TEST))
    held_out = set_fields.held_out_of((card,))
    left, middle, right = st.columns(knob_form.COLUMNS)
    with left:
        dev, dev_set = set_fields.dev_field(DEV, held_out)
    with middle:
        test, test_set = set_fields.test_field(TEST, held_out)
        more = _more_tests(test, held_out)
    with right:
        typed = st.text_input(
            "Seeds",
            key=SEEDS,
            persist_state="session",
            help="Whole numbers. With several, such as `1, 2, 3`, the run trains once per seed and reports mean and "
            "standard deviation.",
        )
        seeds = _seeds(typed)
    set_fields.warn(sources, text_form.columns(sources, card.kind.rows), card, dev_set, test_set)
    if (
        seeds is None
        or not set_fields.is_usable(dev, dev_set, held_out)
        or not set_fields.is_usable(test, test_set, [set_fields.NO_TEST, *held_out])
    ):
        return None
    if any(name not in held_out and availability.evaluation_set(identity(name)) is None for name in more):
        return None
    return Judging(seeds, dev, None if test == set_fields.NO_TEST else test, more)


def fill(judging: Judging) -> None:
    """Set the fields to these values; only in a callback."""
    state = st.session_state
    state[SEEDS], state[MORE_TESTS] = ", ".join(map(str, judging.seeds)), list(judging.more_tests)
    set_fields.choose(DEV, judging.dev)
    set_fields.choose(TEST, judging.test or set_fields.NO_TEST)


def _seeds(typed: str) -> tuple[int, ...] | None:
    try:
        return set_fields.typed_seeds(typed)
    except BadChoice as error:
        messages.trouble(error)
        return None


def _more_tests(test: str, held_out: list[str]) -> tuple[str, ...]:
    """Further test sets beside the main one; without one there are none."""
    if test == set_fields.NO_TEST:
        return ()
    state = st.session_state
    chosen = [name for name in state.get(MORE_TESTS, ()) if name != test]
    if MORE_TESTS in state and chosen != state[MORE_TESTS]:
        state[MORE_TESTS] = chosen
    options = dict.fromkeys(name for name in (*held_out, *set_fields.every_set(), *chosen) if name != test)
    found: list[str] = st.multiselect(
        "Further test sets",
        list(options),
        key=MORE_TESTS,
        format_func=label,
        accept_new_options=True,
        persist_state="session",
        placeholder="none",
        help="The base and the best checkpoint are evaluated on these too. Each has a comparison of its own.",
    )
    return tuple(found)
