"""Set every control that a shortcut to another page needs; only in callbacks."""

from __future__ import annotations

import streamlit as st

from explorer import run_folder
from explorer.data.graded import sets
from explorer.data.row_kinds import SCORED_PAIRS
from explorer.measuring.scores.verdict_text import SPEARMAN
from explorer.training.record.runs import Run
from explorer.ui.access import method_cards
from explorer.ui.frame import second_encoder, sidebar
from explorer.ui.runs import run_in_address, train_form_keys


def compare_with_base(run: Run) -> None:
    """The base of a run as A, its model as B, each under its model default, on the run's test set.

    The base stays the model that is trained next.
    """
    facts = run.status().facts
    if facts.model:
        sidebar.choose_encoder(facts.model)
    second_encoder.choose(run_folder.model_name(run.name))
    second_encoder.choose_each_default()
    scored = [facts.set_of(use) for use in ("test", "dev") if facts.measure_of(use) == SPEARMAN and facts.set_of(use)]
    if scored:  # a retrieval set has no pairs to compare on
        sidebar.choose_set(scored[0])


def train_on_own_pairs(name: str) -> dict[str, str]:
    """The form of the Train page: the train part of an own set as text, its dev and test set, a method that fits.

    Gives what the address says of it, for a reload.
    """
    from explorer.training.recipe import suggested

    run_in_address.leave()
    address = {train_form_keys.SOURCES: sets.parts(name)[0]}
    train_form_keys.choose(list(address.values()))
    train_form_keys.follow_text()
    sidebar.choose_set(name)
    method_cards.methods()  # with a message, since the first call loads torch
    method = suggested(SCORED_PAIRS, len(SCORED_PAIRS.texts))
    st.session_state[train_form_keys.METHOD] = address[train_form_keys.METHOD] = method
    st.session_state[train_form_keys.METHOD_BY_HAND] = False
    return address
