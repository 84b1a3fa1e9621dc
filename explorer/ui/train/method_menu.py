"""Which method trains? Those that the text can serve are told from those that it cannot, with the reason."""

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
    """The method that is chosen."""
    cards = method_cards.methods()
    name: str = st.selectbox(
        "Method",
        list(cards),
        key=METHOD,
        bind="query-params",
        help="As it is called on the command line. First those that learn from plain sentences, then those that need "
        "pairs, triplets, back-translations or graded pairs.",
    )
    card = cards[name]
    st.caption(f"{messages.plain(card.title)} Learns from {card.eats}.")
    return card


def about(card: MethodCard) -> None:
    """What the method does, and where it is from."""
    with st.expander(f"About {messages.plain(card.name)}", icon=":material/menu_book:"):
        st.markdown(messages.plain(card.about))
        st.markdown(f"Paper: [{messages.plain(card.paper)}]({card.link})")


def ready(card: MethodCard) -> bool:
    """Whether all it needs is on this machine; if not, what is missing and a button that fetches it."""
    for need in card.lacks:
        st.warning(
            f"{messages.plain(card.name)} needs {messages.plain(need.name)}, which is not on this machine. "
            f"{messages.plain(need.told)}",
            icon=":material/extension:",
        )
        availability.offer(f"Fetch {need.name} ({need.size})", partial(_fetch, need))
    return not card.lacks


def every(sources: tuple[str, ...]) -> None:
    """What the text can be learned from with, and what keeps it from serving the other methods."""
    fit, others = [], []
    for card in method_cards.methods().values():
        name, family, title = map(messages.plain, (card.name, card.family, card.title))
        told = f"**{name}** · {family} · {card.eats}: {title}"
        lack = text_form.lacks(sources, card.eats) or _missing(card)
        if lack:
            others.append(f"- :gray[{told} Not here: {messages.plain(lack)}.]")
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
