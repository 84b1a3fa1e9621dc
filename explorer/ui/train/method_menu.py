"""Choose the training method; list which methods fit the text, and why the others do not."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explorer.data.needs import Need
from explorer.progress import Progress, Work
from explorer.ui import messages
from explorer.ui.access import availability, method_cards
from explorer.ui.access.method_cards import MethodCard
from explorer.ui.runs.train_form_keys import METHOD
from explorer.ui.train import text_form


def method() -> MethodCard:
    """The chosen method."""
    cards = method_cards.methods()
    name: str = st.selectbox(
        "Method",
        list(cards),
        key=METHOD,
        bind="query-params",
        help="The name is the same on the command line. Methods for plain sentences come first, then those that need "
        "pairs, triplets, back-translations or scored pairs.",
    )
    card = cards[name]
    st.caption(f"{messages.plain(card.title)} Trains on {method_cards.kind(card.eats)}.")
    return card


def about(card: MethodCard) -> None:
    """What the method does, and its paper."""
    with st.expander(f"About {messages.plain(card.name)}", icon=":material/menu_book:"):
        st.markdown(messages.plain(card.about))
        st.markdown(f"Paper: [{messages.plain(card.paper)}]({card.link})")


def ready(card: MethodCard) -> bool:
    """Whether everything the method needs is on this machine; if not, show what is missing and a fetch button."""
    for need in card.lacks:
        st.warning(
            f"{messages.plain(card.name)} needs {messages.plain(need.name)}, which is not on this machine. "
            f"{messages.plain(need.told)}",
            icon=":material/extension:",
        )
        availability.offer(f"Fetch {need.name} ({need.size})", partial(_fetch, need))
    return not card.lacks


def every(sources: tuple[str, ...]) -> None:
    """List the methods that fit the text, and the reason why each other method does not."""
    fit, others = [], []
    for card in method_cards.methods().values():
        name, family, title = map(messages.plain, (card.name, card.family, card.title))
        told = f"**{name}** · {family} · {method_cards.kind(card.eats)}: {title}"
        lack = text_form.lacks(sources, card.eats) or _missing(card)
        if lack:
            others.append(f"- :gray[{told} Does not fit: {messages.plain(lack)}.]")
        else:
            fit.append(f"- {told}")
    count = f"{len(fit)} of {len(fit) + len(others)} methods fit this text"
    with st.expander(count, icon=":material/rule:"):
        st.markdown("\n".join([*fit, *others]))


def _missing(card: MethodCard) -> str:
    return "; ".join(f"{need.name} is not on this machine" for need in card.lacks)


def _fetch(need: Need) -> Work[None]:
    yield Progress(f"fetching {need.name}", 0, 0)
    need.fetch()
