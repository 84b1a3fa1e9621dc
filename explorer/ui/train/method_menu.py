"""Choose the training method; list all methods by what they train on, and say why some do not fit the text."""

from __future__ import annotations

from functools import partial
from itertools import groupby

import streamlit as st

from explorer.data import measured_methods
from explorer.data.row_kinds import KINDS
from explorer.data.wordnet import Need
from explorer.progress import Progress, Work
from explorer.ui import messages
from explorer.ui.access import availability, method_cards
from explorer.ui.access.method_cards import MethodCard
from explorer.ui.runs.train_form_keys import METHOD, METHOD_BY_HAND
from explorer.ui.train import text_form

FETCH = "Fetch {} ({})"
MISSING = "{} needs {}, which is not on this machine. {}"


def method() -> MethodCard:
    """The chosen method."""
    cards = method_cards.methods()
    name: str = st.selectbox(
        "Method",
        list(cards),
        key=METHOD,
        on_change=_by_hand,
        bind="query-params",
        help="Sorted by family. The list below says which methods fit the text. The name is the same on the command "
        "line.",
    )
    card = cards[name]
    st.caption(f"{messages.plain(card.kind.title())} Trains on {card.kind.rows.title}.")
    if card.kind.when_to_use:
        st.caption(_advice(card), help=messages.plain(measured_methods.source()))
    return card


def about(card: MethodCard) -> None:
    """What the method does, and its paper."""
    with st.expander(f"About {messages.plain(card.name)}", icon=":material/menu_book:"):
        st.markdown(messages.plain(card.kind.about()))
        st.markdown(f"Paper: [{messages.plain(card.kind.paper.line)}]({card.kind.paper.link})")


def ready(card: MethodCard) -> bool:
    """Whether everything the method needs is on this machine; if not, show what is missing and a fetch button."""
    for need in card.lacks:
        st.warning(
            MISSING.format(*map(messages.plain, (card.name, need.name, need.how))),
            icon=":material/extension:",
        )
        availability.offer(FETCH.format(need.name, need.size), partial(_fetch, need))
    return not card.lacks


def every(sources: tuple[str, ...]) -> None:
    """List the methods by what they train on; those that do not fit the text cannot be chosen, and say why."""
    cards = sorted(method_cards.methods().values(), key=lambda card: KINDS.index(card.kind.rows))
    lacks = {card.name: text_form.lacks(sources, card.kind.rows) or _missing(card) for card in cards}
    fitting = sum(not lack for lack in lacks.values())
    fit = f"{fitting} of {len(lacks)} fit this text" if sources else f"{len(lacks)}"
    folded = st.expander(
        f"All methods by what they train on: {fit}",
        icon=":material/rule:",
        key="every method",
        on_change="rerun",
    )
    if not folded.open:
        return
    with folded:
        st.caption(messages.plain(measured_methods.source()))
        for kind, of_kind in groupby(cards, key=lambda card: card.kind.rows):
            st.markdown(f"**Trained on {kind.title}**")
            for family, of_family in groupby(of_kind, key=lambda card: card.kind.family):
                st.caption(messages.plain(family))
                for card in of_family:
                    _one_of_many(card, lacks[card.name])


def _one_of_many(card: MethodCard, lack: str) -> None:
    button, about = st.columns([1, 3], vertical_alignment="center")
    button.button(
        card.name, key=f"choose {card.name}", on_click=_choose, args=(card,), disabled=bool(lack), width="stretch"
    )
    told = messages.plain(card.kind.title())
    about.markdown(f":gray[{told} Does not fit: {messages.plain(lack)}.]" if lack else told)
    if card.kind.when_to_use:
        about.caption(_advice(card))


def _advice(card: MethodCard) -> str:
    return messages.plain(measured_methods.advice(card.name, card.kind.when_to_use))


def _choose(card: MethodCard) -> None:
    st.session_state[METHOD] = card.name
    _by_hand()


def _by_hand() -> None:
    st.session_state[METHOD_BY_HAND] = True


def _missing(card: MethodCard) -> str:
    return "; ".join(f"{need.name} is not on this machine" for need in card.lacks)


def _fetch(need: Need) -> Work[None]:
    yield Progress(f"fetching {need.name}", 0, 0)
    need.fetch()
