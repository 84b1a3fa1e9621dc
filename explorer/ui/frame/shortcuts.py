"""Set every control that a shortcut to another page needs; only in callbacks."""

import streamlit as st

from explorer import run_folder
from explorer.data import sample, sources
from explorer.data.graded import sets
from explorer.data.graded.sets import SetIdentity
from explorer.data.text_sets import SCORED_PAIRS, Kind
from explorer.training.record import run_results, runs
from explorer.ui.access import cached_text, method_cards
from explorer.ui.frame import sidebar
from explorer.ui.runs import train_page


def compare_with_base(run: runs.Run) -> None:
    """The base of a run as A, its model as B, each under its model default, on the run's test set.

    Test rows that the run held out are a set with a name. The base stays the model that is trained next.
    """
    facts = run.status().facts
    if facts.model:
        sidebar.choose_encoder(facts.model)
    sidebar.choose_model_b(run_folder.model_name(run.name))
    sidebar.choose_for_both()
    held_out = run_results.test_rows_of(run)
    tests = [facts.set_of(use) for use in ("test", "dev") if facts.set_of(use)]
    named = [sources.identity(name) for name in tests if name not in (sources.HELD_OUT, sample.PROBE_PACKS)]
    own = (
        [held_out]
        if held_out and (not tests or tests[0] in (sources.HELD_OUT, sample.PROBE_PACKS) or _predicts(run))
        else []
    )
    for chosen in (*own, *named)[:1]:  # probe packs are on the Compare page whatever the set is
        sidebar.choose_set(chosen)


def _predicts(run: runs.Run) -> bool:
    """Whether a run on labelled texts was tested on rows of its own."""
    return any(one.classes for one in run.status().results)


def train_on_own_pairs(given: SetIdentity) -> dict[str, str]:
    """Fill the form of the Train page: the train part of an own set as text, its dev and test set, a method that fits.

    Returns what the address says of it, for a reload.
    """
    part = sources.written(sets.parts(given)[0])
    method = _fill(part, SCORED_PAIRS, len(SCORED_PAIRS.texts))
    sidebar.choose_set(given)
    return {train_page.SOURCES: part} | method


def train_on_file(path: str, kind: Kind) -> dict[str, str]:
    """Fill the form of the Train page: a file as text, its dev and test set, and the method that fits its rows.

    Returns what the address says of it, for a reload.
    """
    found, texts = cached_text.kind_of((path,))
    method = _fill(path, kind, texts if found == kind else len(kind.texts))
    return {train_page.SOURCES: sources.label(path)} | method


def _fill(source: str, kind: Kind, texts: int) -> dict[str, str]:
    """Set the text and the method that fits its rows; returns what the address says of the method."""
    from explorer.training.recipe import suggested

    train_page.leave()
    train_page.choose_text([source])
    train_page.follow_text()
    method_cards.methods()  # with a message, since the first call loads torch
    method = suggested(kind, texts)
    if not method:
        return {}
    st.session_state[train_page.METHOD] = method
    st.session_state[train_page.METHOD_BY_HAND] = False
    return {train_page.METHOD: method}
