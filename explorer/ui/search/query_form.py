"""The query: its box with a Search button, its place in the address, and the results that belong to it."""

from __future__ import annotations

import re

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer.measuring.neighbours.query_results import SIZES
from explorer.ui import messages
from explorer.ui.widgets import segments

QUERY = "query"  # the key of the box, and the name in the address
SEARCH, RESULTS = "search", "results"
# one sample sentence mentions a parrot, others ask for a price: the ranking depends on the encoder
DEFAULT = "How much is that parrot, if I may ask?"
LEFT_OUT = "The query is one of them, and is left out of what is found."
EMPTY = "Type a sentence to search for."
NAMED = "Results for “{}”"
TYPED = "Press Enter to search."
MOST = 5000  # characters, far more than an encoder's maximum length
_ASKED, _IN_THE_BOX = "_query of the visitor", "_query in the box"
_NAMED, _HINT = "results of", "typed"

# Streamlit writes "Press Enter to submit form" over the end of a long text
_BOX_LOOK = f"""<style>.st-key-{QUERY} [data-testid="InputInstructions"] {{ display: none; }}</style>"""
# React keeps the attribute `value` of the box in step with what is typed, which the server learns only with Enter
_LOOK = """<style>
.st-key-{hint} {{ display: none; padding-left: 1rem; }}
.st-key-{named} {{ flex-wrap: nowrap; }}
.st-key-{named} > :first-child {{ min-width: 0; }}
.st-key-{named} p {{ overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }}
[data-testid="stMain"]:has(.st-key-{box} input:not([value="{query}"])) {{
    .st-key-{hint} {{ display: flex; }}
    .st-key-{results} {{ filter: grayscale(1); opacity: 0.5; }}
}}
</style>"""


def query(place: DeltaGenerator, usual: str | None) -> str | None:
    """The query, its box drawn into `place`; None, with a message, if it is empty.

    `usual` is searched until the visitor or the address gives another one. None: the corpus is not known yet.
    """
    _take(usual)
    place.html(_BOX_LOOK)
    with place, st.form("query form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        found: str = st.text_input("Query", max_chars=MOST, key=QUERY)
        st.form_submit_button("Search", icon=":material/search:", key=SEARCH)
    if not found and usual is not None:
        place.info(EMPTY, icon=":material/edit:")
    return found or None


def _take(usual: str | None) -> None:
    """Put the query into the box and into the address: of the address if it was opened, else what was typed or chosen.

    Not `bind="query-params"`: in a form it writes every key pressed into the address, before the query is searched.
    """
    state, given = st.session_state, st.query_params.get(QUERY)
    context = get_script_run_ctx()
    if (context and context.is_history_navigation) or (QUERY not in state and given is not None):
        state[_ASKED] = given
    elif QUERY in state and state[QUERY] != state.get(_IN_THE_BOX):
        state[_ASKED] = state[QUERY]
    asked = state.get(_ASKED)
    state[_IN_THE_BOX] = one_line((usual or "") if asked is None else asked)
    if state.get(QUERY) != state[_IN_THE_BOX]:
        state[QUERY] = state[_IN_THE_BOX]
    if asked is None:
        st.query_params.pop(QUERY, None)
    elif given != state[_IN_THE_BOX]:
        st.query_params[QUERY] = state[_IN_THE_BOX]


def one_line(text: str) -> str:
    """A text as the box holds it, with the spaces of a corpus; no browser keeps a zero character in a page."""
    return " ".join(text.replace("\0", " ").split())[:MOST].rstrip()


def size(line: DeltaGenerator) -> int:
    """The number of results of each side."""
    with line:
        k: int = segments.chosen("Results", SIZES, default=10, key="k")
    return k


def choose(text: str) -> None:
    """Make a sentence the query; only in a callback."""
    st.session_state[QUERY] = text


def results(query: str) -> DeltaGenerator:
    """Where to draw the results, below a line that names their query; grey while the box holds another text."""
    keys = {"box": QUERY, "hint": _HINT, "named": _NAMED.replace(" ", "-"), "results": RESULTS}
    st.html(_LOOK.format(**keys, query=in_css(query)))
    with st.container(horizontal=True, vertical_alignment="center", gap=None, key=_NAMED):
        st.markdown(f"**{NAMED.format(messages.plain(messages.shortened(query, 200)))}**")
        with st.container(width="content", key=_HINT):
            st.caption(TYPED, width="content")
    return st.container(key=RESULTS)


def in_css(text: str) -> str:
    """A text inside a CSS string: all but the letters and digits of ASCII as hexadecimal escapes."""
    return re.sub(r"[^A-Za-z0-9]", lambda found: f"\\{ord(found[0]):x} ", text)
