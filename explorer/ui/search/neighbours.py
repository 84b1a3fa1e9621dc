"""Encode corpus and query with each side, and show how neighbours changed from A to B over the whole corpus."""

import streamlit as st

from explorer import in_words
from explorer.data.text_sets import Sentences
from explorer.drawing.scores.distributions import neighbours_kept
from explorer.errors import StrataError
from explorer.measuring.neighbours import query_results, vector_index
from explorer.ui import messages
from explorer.ui.access import jobs, sidebar_choice
from explorer.ui.access.sidebar_choice import Reader
from explorer.ui.search import query_view
from explorer.ui.widgets import downloads

CUT = "The query is too long: only its first {:,} tokens were encoded."
ONE_SENTENCE = "The corpus has one sentence, so there are no neighbours to compare."
MEAN, NONE_KEPT = "Mean Jaccard@{}", "None kept"
SHOWN = 8  # sentences of either kind; the file contains all


def search_side(reader: Reader, corpus: Sentences, query: str) -> query_results.SearchSide | None:
    """Corpus and query, encoded by one side; None, with progress or the error below the side's title, until then."""
    st.markdown(reader.title)
    try:
        vectors = reader.vectors(corpus.texts)
        if vectors is None:
            return None
        index: vector_index.Index | None = jobs.result(
            f"index {_key(reader, corpus)}", f"Index of {corpus.name}", lambda: vector_index.indexed(vectors)
        )
        if index is None:
            return None
        place = query_results.place_of(query, corpus.texts)
        if place is not None:  # a query that is a sentence of the corpus uses that sentence's vector
            return query_results.SearchSide(index, place)
        encoder = sidebar_choice.loaded(reader.found, reader.settings)
        if encoder is None:
            return None
        most = reader.settings.max_length
        if encoder.tokens([query], most).truncated:
            st.warning(CUT.format(encoder.limit(most)), icon=":material/content_cut:")
        return query_results.SearchSide(index, query_results.vector_of(encoder, query, reader.reading, most))
    except StrataError as error:
        messages.trouble(error)
        return None


def _key(reader: Reader, corpus: Sentences) -> str:
    """What identifies encoder, layer & pooling, settings and corpus."""
    return f"{reader.key} {corpus.digest}"


def changes(
    readers: tuple[Reader, ...],
    corpus: Sentences,
    one: query_results.SearchSide,
    other: query_results.SearchSide,
    k: int,
) -> None:
    """Numbers, a histogram, and the sentences whose neighbours changed most and least from A to B."""
    st.subheader("Neighbours over the whole corpus")
    found: vector_index.Overlap | None = jobs.result(
        f"neighbours {' '.join(_key(reader, corpus) for reader in readers)} {k}",
        f"Neighbours of {len(corpus):,} sentences",
        lambda: vector_index.overlap(one.index, other.index, k),
    )
    if found is None:
        return
    if not found.k:
        st.info(ONE_SENTENCE, icon=":material/search_off:")
        return
    st.caption(
        f"Each sentence is a query once; it is left out of its own results. Jaccard@{found.k}: neighbours shared by A "
        "and B, divided by all neighbours of either. 1: the same neighbours. 0: none in common."
    )
    counts = found.counts()
    cards = st.container(horizontal=True)
    jaccard = "0 to 1. High: A and B have similar neighbourhoods. It shows the size of the change, not its quality."
    messages.number(cards, MEAN.format(found.k), in_words.number(found.mean), border=True, help=jaccard)
    messages.number(
        cards,
        "Neighbours kept",
        f"{found.kept.mean():.1f} of {found.k}",
        border=True,
        help="Mean number of A's neighbours that are also neighbours in B.",
    )
    every, none = "Sentences with the same neighbours in A and B.", "Sentences without a common neighbour in A and B."
    messages.number(cards, "All kept", _sentences(int(counts[-1])), border=True, help=every)
    messages.number(cards, NONE_KEPT, _sentences(int(counts[0])), border=True, help=none)
    downloads.draw(
        neighbours_kept(found),
        config=downloads.config("neighbours"),
        alt="Number of sentences by number of neighbours kept. The download lists every sentence.",
    )
    columns = st.columns(2, gap="medium")
    for column, title, most_changed in ((columns[0], "Changed most", True), (columns[1], "Changed least", False)):
        with column:
            st.markdown(f"**{title}**")
            for rank, place in enumerate(found.order(most_changed=most_changed)[:SHOWN].tolist(), start=1):
                share = in_words.number(found.jaccard[place])
                note = f":small[{found.kept[place]} of {found.k} kept · Jaccard {share}]"
                query_view.item(f"{title} {place}", rank, corpus.texts[place], note)
    rows = query_results.changed_rows(found, corpus.texts, most_changed=True)
    downloads.rows(rows, "neighbourhoods", "All sentences (CSV)")


def _sentences(count: int) -> str:
    return f"{count:,} sentence{'' if count == 1 else 's'}"
