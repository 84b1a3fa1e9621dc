"""The fields of dev set and test sets that runs and plans share, their defaults for a text, and warnings on them."""

from collections.abc import Sequence

import streamlit as st

from explorer.data import shared_rows
from explorer.data.graded import sets
from explorer.data.sample import PROBE_PACKS
from explorer.data.set_items import ItemSet
from explorer.data.sources import AT_HAND, CROSS_FITTED, HELD_OUT, OWN_ROWS
from explorer.data.text_sets import SCORED_PAIRS
from explorer.errors import BadChoice, StrataError
from explorer.evaluating.kinds import shipped
from explorer.ui import messages
from explorer.ui.access import cached_texts, set_choice, sidebar_choice
from explorer.ui.runs.training_form import BY_HAND, MethodCard, setting, text_defaults
from explorer.ui.widgets import controls

NO_TEST = "none"
ELSEWHERE = "sets elsewhere"
OPTIMISTIC = (
    "The training text contains {}: these scores are optimistic. Choose another text or another evaluation set."
)
ALL_OF, SOME_OF = "all {} sentences", "{:,} of the {:,} {} sentences"


def held_out_of(cards: Sequence[MethodCard], *, staged: bool = False) -> list[str]:
    """Rows of the text as an evaluation set, held out or cross-fitted, if every method has them.

    With stages no rows are cross-fitted.
    """
    judged = [card.kind.rows.is_judged for card in cards]
    fitted = [card.kind.trains() and (own or card.kind.predicts()) for card, own in zip(cards, judged, strict=True)]
    return [
        *([CROSS_FITTED] if cards and all(fitted) and not staged else []),
        *([HELD_OUT] if cards and all(judged) else []),
    ]


def dev_field(key: str, held_out: list[str]) -> tuple[str | None, ItemSet | None]:
    """The menu of dev sets: the name, None if it is of a set that cannot be read, and the set that was read."""
    return _set_field(
        "dev",
        key,
        held_out,
        "The model is evaluated on this set during training; the checkpoint with the best score is kept. Scored "
        "pairs give Spearman, with two labels average precision, a retrieval set nDCG@10, held-out rows of your pairs "
        "MRR@10, triplets and probe packs the share in the right order, translations the share that find each other.",
    )


def test_field(key: str, held_out: list[str]) -> tuple[str | None, ItemSet | None]:
    """The menu of test sets, in the same way."""
    return _set_field(
        "test",
        key,
        [NO_TEST, *held_out],
        "The base and the best checkpoint are evaluated on this set at the end. Report this score.",
    )


def choose_set(key: str, name: str) -> None:
    """Set a field of an evaluation set as if the visitor had; only in a callback."""
    st.session_state[key] = name
    _by_hand(key)


def _set_field(of: str, key: str, first: list[str], help: str) -> tuple[str | None, ItemSet | None]:
    knob = setting(of, f"{of.capitalize()} set")
    name: str = controls.draw(
        "",
        knob,
        key=key,
        offered=[*first, *every_set()],
        format_func=set_choice.in_menu(),
        on_change=_by_hand,
        args=(key,),
        help=f"{help} The path of a file or of a folder in BEIR's layout can be typed.",
    )
    given = None if name in (NO_TEST, *OWN_ROWS) else set_choice.evaluated_on(knob.checked(name), for_runs=True)
    return name if name in first or given is not None else None, given


def elsewhere_field() -> tuple[sets.SetIdentity, ...] | None:
    """The sets that runs are scored on, but not trained for, chosen once for runs and plans; None if one is missing."""
    options = (AT_HAND, *(name for name in every_set() if name != PROBE_PACKS))
    knob, menu = setting("elsewhere"), set_choice.in_menu()
    names: list[str] = controls.draw("", knob, key=ELSEWHERE, offered=options, format_func=menu, placeholder=NO_TEST)
    given: tuple[sets.SetIdentity, ...] = knob.checked(tuple(names))
    missing = [one for one in given if one != sets.AT_HAND and set_choice.evaluated_on(one, for_runs=True) is None]
    return None if missing else given


def every_set() -> list[str]:
    """Every evaluation set that has a name."""
    own = set_choice.paths_of(*set_choice.READ_FOR_TRAINING)
    divided = [sets.SAMPLE, *(one for one in sets.kept_sets() if not cached_texts.why_not_split(one))]
    halves = [half for one in divided for half in sets.halves(one)]
    return [*map(str, (*halves, *sets.known())), *own, *shipped()]


def _by_hand(key: str) -> None:
    st.session_state[BY_HAND] = {*st.session_state.get(BY_HAND, ()), key}


def fill_untouched(
    text: tuple[sets.SetIdentity, ...], cards: Sequence[MethodCard], keys: tuple[str, str], *, staged: bool = False
) -> None:
    """Set the fields of dev set and test set, given by their keys, to the defaults unless the visitor changed them."""
    state = st.session_state
    untouched = {*keys} - state.get(BY_HAND, set())
    for key, name in zip(keys, _defaults(text, cards, staged=staged), strict=True):
        if key in untouched and state.get(key) != name:
            state[key] = name


def _defaults(text: tuple[sets.SetIdentity, ...], cards: Sequence[MethodCard], *, staged: bool) -> tuple[str, str]:
    """The dev set and test set that belong to the text; else the halves of the sidebar's uploaded set; else STS-B.

    Of several methods, the sets are those that the text has for one of them and that all of them can use. The
    demonstration is always evaluated on the sample.
    """
    from explorer.training.text_defaults import demonstration

    shown = demonstration()
    if (text, [card.name for card in cards]) == (shown.data, [shown.method]) and shown.test is not None:
        return str(shown.dev), str(shown.test)
    of_text = (text_defaults(text, card.name) for card in cards)
    every = [found.sets_with(None, staged=staged) for found in of_text if found is not None]
    own = held_out_of(cards, staged=staged)
    for dev, test in filter(None, every):
        if all(str(one) in own for one in (dev, test) if one.is_own_rows):
            return str(dev), str(test)
    chosen = sidebar_choice.chosen().evaluation_set
    *_, dev, test = sets.published("STS-B")
    if chosen.kind == sets.SetKind.UPLOADED and not cached_texts.why_not_split(chosen):
        dev, test = sets.halves(chosen)
    elif not all(map(set_choice.on_this_disk, (dev, test))):
        dev, test = sets.halves()
    return str(dev), str(test)


def are_apart(dev: ItemSet | None, tests: Sequence[ItemSet | None]) -> bool:
    """Whether test sets have rows of their own; an error is shown if the dev set has all of one, a warning if some."""
    apart = True
    for test in tests:
        if dev is None or test is None:
            continue
        try:
            if found := shared_rows.check(dev, test):
                st.warning(messages.plain(f"{test.name}: {found.words}"), icon=":material/balance:")
        except BadChoice as error:
            messages.trouble(error)
            apart = False
    return apart


def warn(
    text: tuple[sets.SetIdentity, ...],
    columns: dict[str, str],
    card: MethodCard,
    dev: ItemSet | None,
    test: ItemSet | None,
) -> None:
    """Warn if the training text shares sentences with the dev set or the test set: scores on them are optimistic."""
    if not text or not card.kind.learns() or card.kind.rows == SCORED_PAIRS:  # their shared rows are held out
        return
    parts = []
    for what, given in (("dev", dev), ("test", test)):
        try:
            count = given and cached_texts.shared(text, card.kind.rows, columns, given, card.kind.predicts())
        except StrataError:
            return  # the text form shows the error
        if given is not None and count:
            of = len(given.sentences)
            parts.append(ALL_OF.format(what) if count == of else SOME_OF.format(count, of, what))
    if parts:
        st.warning(OPTIMISTIC.format(" and ".join(parts)), icon=":material/visibility:")
