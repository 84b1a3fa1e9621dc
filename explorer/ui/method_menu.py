"""Which method trains? Those that the text can serve are told from those that it cannot, with the reason."""

from __future__ import annotations

import streamlit as st

from explorer.ui import cached, notices, text_form
from explorer.ui.method_cards import MethodCard

METHOD = "method"  # the widget's name, and that of its parameter in the address


def method() -> MethodCard:
    """The method that is chosen."""
    cards = cached.methods()
    name: str = st.selectbox(
        "Method",
        list(cards),
        key=METHOD,
        bind="query-params",
        help="As it is called on the command line. First those that learn from plain sentences, then those that need "
        "pairs, triplets or back-translations.",
    )
    card = cards[name]
    st.caption(f"{notices.plain(card.title)} Learns from {card.eats}.")
    return card


def about(card: MethodCard) -> None:
    """What the method does, and where it is from."""
    with st.expander(f"About {notices.plain(card.name)}", icon=":material/menu_book:"):
        st.markdown(notices.plain(card.about))
        st.markdown(f"Paper: [{notices.plain(card.paper)}]({card.link})")


def every(sources: tuple[str, ...]) -> None:
    """A row for each method: what it does, what it learns from, and what keeps this text from serving it."""
    with st.expander("Which methods fit this text?", icon=":material/rule:"):
        rows = []
        for card in cached.methods().values():
            lack = text_form.lacks(sources, card.eats)
            rows.append({"Method": card.name, "Learns from": card.eats, "Fits": not lack, "What it does": card.title,
                         "Why not": lack or None})  # fmt: skip
        st.dataframe(rows, hide_index=True, column_config={"What it does": st.column_config.TextColumn(width="large")})
