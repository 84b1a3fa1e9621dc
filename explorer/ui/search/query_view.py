"""Type the query (kept in the address), and show what it finds in the corpus or in vectors on disk."""

import re
import time
from collections.abc import Container, Sequence
from dataclasses import replace

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer import in_words
from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.encoding.load import declared
from explorer.encoding.locate import layout
from explorer.measuring.neighbours import query_results
from explorer.measuring.neighbours.query_results import SIZES, SearchOptions
from explorer.measuring.neighbours.vector_search import INDEXES, VectorOptions
from explorer.ui import messages
from explorer.ui.access import cached, selection, sidebar_choice
from explorer.ui.widgets import controls, cosine_meaning, downloads, pair_words

QUERY = "query"  # the key of the box, and the name in the address
SEARCH, RESULTS = "search", "results"
LEFT_OUT = "The query is one of them, and is left out of what is found."
EMPTY = "Type a sentence to search for."
NAMED = "Results for “{}”"
TYPED = "Press Enter to search."
MOST = 5000  # characters, far more than an encoder's maximum length
_GIVEN, _IN_THE_BOX = "_query of the visitor", "_query in the box"
_NAMED, _HINT = "results of", "typed"
NEAREST_WINDOW = "Nearest window: … {} …"
SHOWN = 400  # characters of a sentence; the file contains all
TALL, PRESENTED = 360, 270  # pixels of a list of results, which scrolls: both lists are on the first screen
# never by colour alone: each mark has a word and an icon
BADGES = {
    query_results.KEPT: ":gray-badge[:material/check: {}]",
    query_results.LOST: ":orange-badge[:material/remove: {}]",
    query_results.GAINED: ":blue-badge[:material/add: {}]",
}

# Streamlit writes "Press Enter to submit form" over the end of a long text
_BOX_LOOK = f"""<style>.st-key-{QUERY} [data-testid="InputInstructions"] {{ display: none; }}</style>"""
# React keeps the attribute `value` of the box in step with what is typed, which the server learns only with Enter
_LOOK = """<style>
.st-key-{hint} {{ display: none; padding-left: 1rem; }}
.st-key-{named} {{ flex-wrap: nowrap; }}
.st-key-{named} > :first-child {{ min-width: 0; }}
.st-key-{named} p {{ overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }}
@media (max-width: 640px) {{
    .st-key-{named} {{ flex-wrap: wrap; }}
    .st-key-{named} p {{ white-space: normal; }}
}}
[data-testid="stMain"]:has(.st-key-{box} input:not([value="{query}"])) {{
    .st-key-{hint} {{ display: flex; }}
    .st-key-{results} {{ filter: grayscale(1); opacity: 0.5; }}
}}
</style>"""
AUTOMATIC = "automatic"
OTHER_MODEL = (
    "{} was made by **{}**, whose weights differ from those of model A. Choose that model as A, or search for a "
    "sentence of the corpus."
)
NO_MODEL = "No probability of a match: {} does not state its model."
ITS_MODEL = (
    "No probability of a match: {} was made by **{}**, whose weights differ from those of model A. Choose that model "
    "as A."
)


def query(place: st.delta_generator.DeltaGenerator, usual: str | None) -> str | None:
    """The query, its box drawn into `place`; None, with a message, if it is empty.

    `usual` is searched until the visitor or the address gives another one. None: the corpus is not known yet.
    """
    # Put the query into the box and into the address: of the address if it was opened, else what was typed or chosen.
    # Not `bind="query-params"`: in a form it writes every key pressed into the address, before the query is searched.
    state, linked = st.session_state, st.query_params.get(QUERY)
    context = get_script_run_ctx()
    if (context and context.is_history_navigation) or (QUERY not in state and linked is not None):
        state[_GIVEN] = linked
    elif QUERY in state and state[QUERY] != state.get(_IN_THE_BOX):
        state[_GIVEN] = state[QUERY]
    given = state.get(_GIVEN)
    state[_IN_THE_BOX] = one_line((usual or "") if given is None else given)
    if state.get(QUERY) != state[_IN_THE_BOX]:
        state[QUERY] = state[_IN_THE_BOX]
    if given is None:
        st.query_params.pop(QUERY, None)
    elif linked != state[_IN_THE_BOX]:
        st.query_params[QUERY] = state[_IN_THE_BOX]
    place.html(_BOX_LOOK)
    with place, st.form("query form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        found: str = st.text_input("Query", max_chars=MOST, key=QUERY, label_visibility="collapsed")
        st.form_submit_button("Search", icon=":material/search:", key=SEARCH)
    if not found and usual is not None:
        place.info(EMPTY, icon=":material/edit:")
    return found or None


def one_line(text: str) -> str:
    """A text as the box holds it, with the spaces of a corpus; no browser keeps a zero character in a page."""
    return " ".join(text.replace("\0", " ").split())[:MOST].rstrip()


def size(line: st.delta_generator.DeltaGenerator) -> int:
    """The number of results of each side."""
    with line:
        k: int = controls.segments_of(replace(SearchOptions.knobs["k"], title="Results"), "k", SIZES)
    return k


def choose(text: str) -> None:
    """Make a sentence the query; only in a callback."""
    st.session_state[QUERY] = text


def results_area(query: str, note: str = "") -> st.delta_generator.DeltaGenerator:
    """Where to draw the results, below a line that names their query; grey while the box holds another text."""
    keys = {"box": QUERY, "hint": _HINT, "named": _NAMED.replace(" ", "-"), "results": RESULTS}
    st.html(_LOOK.format(**keys, query=in_css(query)))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=_NAMED):
        st.markdown(f"**{NAMED.format(messages.plain(messages.shortened(query, 200)))}**")
        with st.container(width="content", key=_HINT):
            st.caption(TYPED, width="content")
        if note:
            st.caption(note)
    return st.container(key=RESULTS)


def in_css(text: str) -> str:
    """A text inside a CSS string: all but the letters and digits of ASCII as hexadecimal escapes."""
    return re.sub(r"[^A-Za-z0-9]", lambda found: f"\\{ord(found[0]):x} ", text)


def show_results(
    results: Sequence[query_results.FoundSentence],
    sentences: Sequence[str],
    side: str,
    other_side: str,
    query: str,
    relevant: Container[int] = (),
) -> None:
    """List the results of a side, nearest first; `other_side` names the other side, "" if there is none.

    Those at the positions `relevant` are relevant to a judged query.
    """
    with st.container(height=PRESENTED if downloads.presenting() else TALL, border=False):
        for result in results:
            mark = BADGES[result.mark].format(query_results.mark_text(result, other_side)) if result.mark else ""
            answers = ":green-badge[:material/done_all: relevant]" if result.place in relevant else ""
            meaning = cosine_meaning.note(side, result.cosine)
            cosine = ": ".join(filter(None, (f"cosine {in_words.cosine(result.cosine, 3)}", meaning)))
            note = f":small[{cosine}] {mark} {answers}".rstrip()
            item(f"{side} {result.place}", result.rank, sentences[result.place], note, query, result.window)
    rows = query_results.found_rows(results, sentences, other_side)
    downloads.rows(rows, f"{side} {messages.shortened(query, 40)}", f"{side} (CSV)")


def nearest(results: query_results.SearchResults, sentences: Sequence[str]) -> None:
    """What A alone finds first."""
    if results.one:
        first = results.one[0]
        text = messages.plain(f"A finds “{messages.shortened(sentences[first.place], 80)}” nearest: cosine ")
        st.markdown(f"{text}**{in_words.cosine(first.cosine, 3)}**.")


def summary(results: query_results.SearchResults, count: int) -> None:
    """What B kept of what A found."""
    changed = len(results.one) - results.kept
    jaccard = in_words.number(results.jaccard)
    shares = f"**{results.kept} kept**, {changed} lost, {changed} gained · Jaccard {jaccard}"
    ranks = f"The number behind a mark is the rank that the other side gives the sentence, of {count:,}."
    st.markdown(f"Of A's {len(results.one)} results B has {shares}", help=ranks)


def item(key: str, rank: int, sentence: str, note: str, query: str = "", window: str = "") -> None:
    """A sentence, with a note in markdown below it, and a button for what it has in common with a query.

    Of a long text that is read in windows, `window` is the nearest one to the query.
    """
    with st.container(horizontal=True, gap="small", vertical_alignment="top"):
        st.button(
            str(rank),
            key=f"search for {key}",
            icon=":material/search:",
            type="tertiary",
            help="Search for this sentence",
            on_click=choose,
            args=(sentence,),
            width=52,
        )
        with st.container(gap=None, width="stretch"):
            st.text(messages.shortened(sentence, SHOWN))
            if window:
                st.caption(NEAREST_WINDOW.format(messages.plain(messages.shortened(window, SHOWN))))
            st.markdown(note)
        if query:
            pair_words.words_button(pair_words.SEARCH, f"of {key}", query, window or sentence, "Why?")
            st.button(
                "Pair",
                key=f"pair of {key}",
                type="tertiary",
                help="Make the query and this sentence the pair of every page",
                on_click=selection.choose_pair,
                args=(query, window or sentence),
            )


def show_vectors(
    source: str,
    choice: sidebar_choice.Choice,
    box: st.delta_generator.DeltaGenerator,
    k: int,
    settings: st.delta_generator.DeltaGenerator,
) -> None:
    """Search vectors on disk: the index to choose in `settings`, the query in `box`, then the results."""
    with settings:
        knob = VectorOptions.knobs["index"]
        index = replace(knob, default=AUTOMATIC, help=f"{knob.help} Automatic: {knob.empty}.")
        kind = INDEXES.get(controls.segments_of(index, "index", (AUTOMATIC, *knob.choices)))
    corpus = None
    with messages.errors_shown():
        found = sidebar_choice.encoder(choice.source)
        corpus = cached.corpus_on_disk(source, choice.reading_of(found.folder).title) if found else None
    if corpus is not None:
        st.caption(messages.plain(corpus.note))
    asked = query(box, corpus.text(0) if corpus else None)
    if corpus is not None and asked is not None:
        with results_area(asked), messages.errors_shown():
            _show_hits(corpus, choice, asked, k, kind)
    if sidebar_choice.model_b():
        st.caption(cached.ONE_ENCODER)


def _show_hits(corpus: VectorCorpus, choice: sidebar_choice.Choice, query: str, k: int, kind: str | None) -> None:
    search = cached.index_on_disk(corpus, kind)
    if search is None:
        return
    place = corpus.place_of(query)
    if place is not None:
        st.caption(LEFT_OUT)
    searched = _encoded(corpus, choice, query) if place is None else place
    if searched is None:
        return
    cosine_meaning.find_in_vectors(corpus, _as_made(corpus, choice))
    started = time.perf_counter()
    hits = search.found(searched, k)
    seconds = time.perf_counter() - started
    st.caption(query_results.index_text(search.facts))
    st.caption(query_results.cost_text(search.facts, corpus.vectors.nbytes, seconds))
    rows = query_results.hit_rows(search, hits)
    for row in rows:
        sentence, rank = str(row["sentence"]), int(str(row["rank"]))
        cosine = float(str(row["cosine"]))
        note = ": ".join(filter(None, (f"cosine {in_words.cosine(cosine, 3)}", cosine_meaning.note("A", cosine))))
        item(f"vector {row['row']}", rank, sentence, f":small[{note}]")
    downloads.rows(rows, messages.shortened(query, 40), "Results (CSV)")


def _as_made(corpus: VectorCorpus, choice: sidebar_choice.Choice) -> sidebar_choice.Choice | None:
    """The choice of model A as it made the vectors; None, with the reason shown if it matters, if it did not."""
    found, origin = sidebar_choice.encoder(choice.source), corpus.origin
    if found is not None and origin is not None and origin.model_digest == found.digest:
        stated = declared.limits(layout.transformer(found.folder)).max_seq_length
        own = None if origin.max_length == stated else origin.max_length
        settings = replace(choice.settings, max_length=choice.settings.max_length or own)
        return replace(choice, reading=corpus.title, settings=settings)
    if st.session_state.get(cosine_meaning.KEY):
        text = NO_MODEL if origin is None else ITS_MODEL
        st.caption(text.format(messages.plain(corpus.name), messages.plain(origin.model if origin else "")))
    return None


def _encoded(corpus: VectorCorpus, choice: sidebar_choice.Choice, query: str) -> np.typing.NDArray[np.float32] | None:
    """The vector of the query under model A, with the layer & pooling of the vectors; None if it made none of them."""
    found = sidebar_choice.encoder(choice.source)
    if found is None:
        return None
    if corpus.origin is not None and corpus.origin.model_digest != found.digest:
        warning = OTHER_MODEL.format(messages.plain(corpus.name), messages.plain(corpus.origin.model))
        st.warning(warning, icon=":material/sync_problem:")
        return None
    encoder = sidebar_choice.loaded(found, choice.settings)
    if encoder is None:
        return None
    reading = declared.named(corpus.title, found.folder) if corpus.origin else choice.reading_of(found.folder)
    longest = choice.settings.max_length or (corpus.origin.max_length if corpus.origin else None)
    st.markdown(f"**A** {messages.plain(found.name)}, {messages.plain(declared.described(reading, found.folder))}")
    return query_results.vector_of(encoder, query, reading, longest)
