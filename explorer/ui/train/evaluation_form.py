"""Choose the seeds, the dev set that selects the best checkpoint, and the test set that is reported."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from explorer.data import uploads
from explorer.data.corpora import evaluated_beside
from explorer.data.graded import sets, user_sets
from explorer.data.row_kinds import SCORED_PAIRS
from explorer.data.sources import HELD_OUT, NAMED_SETS, EvaluationSet, texts_of
from explorer.errors import BadChoice, StrataError
from explorer.ui import messages
from explorer.ui.access import availability, cached_text, evaluation_sets, sidebar_choice
from explorer.ui.access.method_cards import MethodCard
from explorer.ui.runs import typed_seeds
from explorer.ui.runs.train_form_keys import BY_HAND
from explorer.ui.train import knob_form, text_form

SEEDS, DEV, TEST, MORE_TESTS = "recipe seeds", "recipe dev", "recipe test", "recipe more tests"
NO_TEST = "none"
TEST_IN_DEV = "The dev set contains sentences of the test set: the test score will be too good. Choose another dev set."
OPTIMISTIC = (
    "The training text contains {}: these scores are optimistic. Choose another text or another evaluation set."
)
ALL_OF, SOME_OF = "all {} sentences", "{:,} of the {:,} {} sentences"


@dataclass(frozen=True)
class Judging:
    """Seeds, dev set, and test set if there is one, with further ones."""

    seeds: tuple[int, ...]
    dev: str
    test: str | None
    more_tests: tuple[str, ...] = ()


def judging(sources: tuple[str, ...], card: MethodCard) -> Judging | None:
    """The values of the fields; None if one of them is invalid."""
    _fill_untouched(sources, card)
    held_out = [HELD_OUT] if card.eats.pairs_up else []
    left, middle, right = st.columns(knob_form.COLUMNS)
    with left:
        dev, dev_set = _set_field(
            "Dev set",
            DEV,
            held_out,
            "The model is evaluated on this set during training; the checkpoint with the best score is kept. Scored "
            "pairs give Spearman, a retrieval set nDCG@10, held-out rows of your pairs MRR@10, triplets and probe "
            "packs the share in the right order.",
        )
    with middle:
        test, test_set = _set_field(
            "Test set",
            TEST,
            [NO_TEST, *held_out],
            "The base and the best checkpoint are evaluated on this set at the end. Report this score.",
        )
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
    _warn(sources, card, dev_set, test_set)
    if seeds is None or (dev_set is None and dev not in held_out):
        return None
    if test_set is None and test not in (NO_TEST, *held_out):
        return None
    if any(name not in held_out and availability.evaluation_set(name) is None for name in more):
        return None
    return Judging(seeds, dev, None if test == NO_TEST else test, more)


def fill(judging: Judging) -> None:
    """Set the fields to these values; only in a callback."""
    state = st.session_state
    state[SEEDS] = ", ".join(map(str, judging.seeds))
    state[DEV], state[TEST], state[MORE_TESTS] = judging.dev, judging.test or NO_TEST, list(judging.more_tests)
    state[BY_HAND] = {DEV, TEST}


def _seeds(typed: str) -> tuple[int, ...] | None:
    try:
        return typed_seeds.read(typed)
    except BadChoice as error:
        messages.trouble(error)
        return None


def _set_field(label: str, key: str, first: list[str], help: str) -> tuple[str, EvaluationSet | None]:
    """A menu of sets: the chosen name, and the set if it can be loaded."""
    options = _with_current([*first, *_every_set()], key)
    name: str = st.selectbox(
        label,
        options,
        key=key,
        format_func=uploads.label,
        on_change=_by_hand,
        args=(key,),
        accept_new_options=True,
        persist_state="session",
        help=f"{help} The path of a file or of a folder in BEIR's layout can be typed.",
    )
    return name, None if name in (NO_TEST, HELD_OUT) else availability.evaluation_set(name)


def _more_tests(test: str, held_out: list[str]) -> tuple[str, ...]:
    """Further test sets beside the main one; without one there are none."""
    if test == NO_TEST:
        return ()
    state = st.session_state
    chosen = [name for name in state.get(MORE_TESTS, ()) if name != test]
    if MORE_TESTS in state and chosen != state[MORE_TESTS]:
        state[MORE_TESTS] = chosen
    options = dict.fromkeys(name for name in (*held_out, *_every_set(), *chosen) if name != test)
    found: list[str] = st.multiselect(
        "Further test sets",
        list(options),
        key=MORE_TESTS,
        format_func=uploads.label,
        accept_new_options=True,
        persist_state="session",
        placeholder="none",
        help="The base and the best checkpoint are evaluated on these too. Each has a comparison of its own.",
    )
    return tuple(found)


def _every_set() -> list[str]:
    own = evaluation_sets.paths_of(*evaluation_sets.READ_FOR_TRAINING)
    return [*sets.halves(), *_own_halves(), *sets.names(), *own, *NAMED_SETS]


def _own_halves() -> list[str]:
    """The halves of every uploaded set that can be split."""
    return [half for name in user_sets.names() if not cached_text.why_not_split(name) for half in sets.halves(name)]


def _by_hand(key: str) -> None:
    st.session_state[BY_HAND] = {*st.session_state.get(BY_HAND, ()), key}


def _fill_untouched(sources: tuple[str, ...], card: MethodCard) -> None:
    """Set every field that the visitor has not changed to its default."""
    state = st.session_state
    if SEEDS not in state:
        state[SEEDS] = "1"
    untouched = {DEV, TEST} - state.get(BY_HAND, set())
    for key, name in zip((DEV, TEST), _defaults(sources, card), strict=True):
        if key in untouched and state.get(key) != name:
            state[key] = name


def _defaults(sources: tuple[str, ...], card: MethodCard) -> tuple[str, str]:
    """The dev part and test half that match a train part in the text; else an uploaded set's halves; else STS-B."""
    beside = evaluated_beside(sources, card.eats)
    if beside is not None:
        return beside
    chosen = sidebar_choice.chosen().sts
    if user_sets.is_own(chosen) and not cached_text.why_not_split(chosen):
        return sets.halves(chosen)
    published = "STS-B dev", "STS-B test"
    return published if all(map(availability.on_this_disk, published)) else sets.halves()


def _warn(sources: tuple[str, ...], card: MethodCard, dev: EvaluationSet | None, test: EvaluationSet | None) -> None:
    """Warn if dev set, test set and training text share sentences: scores on them are optimistic."""
    from explorer.methods import load

    if dev is not None and test is not None:
        tested = {*texts_of(test)}
        if 2 * len(tested & {*texts_of(dev)}) > len(tested):
            st.warning(TEST_IN_DEV, icon=":material/balance:")
    if not sources or not load(card.name).learns() or card.eats == SCORED_PAIRS:  # their shared rows are held out
        return
    told = []
    for what, given in (("dev", dev), ("test", test)):
        try:
            count = given and cached_text.shared(
                sources, card.eats, text_form.columns(sources, card.eats), given, card.predicts
            )
        except StrataError:
            return  # the text form shows the error
        if given is not None and count:
            of = len(texts_of(given))
            told.append(ALL_OF.format(what) if count == of else SOME_OF.format(count, of, what))
    if told:
        st.warning(OPTIMISTIC.format(" and ".join(told)), icon=":material/visibility:")


def _with_current(options: list[str], key: str) -> list[str]:
    """The options, with the current value added if it is missing."""
    current = st.session_state.get(key)
    return options if current is None or current in options else [*options, current]
