"""Search with each side, and show how neighbours and judged queries changed from A to B over the whole corpus."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import streamlit as st

from explorer import in_words
from explorer.data import retrieval_sets, text_sets
from explorer.data.set_items import counted
from explorer.drawing.scores.distributions import neighbours_kept
from explorer.encoding.load import declared
from explorer.measuring.comparing.pair_changes import QueryChanges
from explorer.measuring.neighbours import query_results, rankings, vector_index
from explorer.measuring.scores import correlation, verdict
from explorer.progress import Progress, Work
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import jobs, loaded_encoders, sidebar_choice
from explorer.ui.search import query_view
from explorer.ui.widgets import downloads

CUT = "The query is too long: only its first {:,} tokens were encoded."
IN_WINDOWS = (
    "{:,} of {:,} texts have more than {:,} tokens, and were read in overlapping windows. The nearest one counts."
)
NOT_IN_WINDOWS = (
    "Texts in windows are not compared with each other: switch the windows off in the sidebar to see how neighbours "
    "changed over the whole corpus."
)
ONE_SENTENCE = "The corpus has one sentence, so there are no neighbours to compare."
MEAN, NONE_KEPT = "Mean Jaccard@{}", "None kept"
SHOWN = 8  # sentences of either kind; the file contains all
MENU = "judged query"
MOST_RANKS = 5  # shown of one query; the list has a badge for each document it shows
SCORE_HELP = (
    "nDCG@10 × 100 of this query: relevant documents count more the higher they are ranked. 100: all are on top."
)
NO_SCORE = "A layer & pooling under which all documents have one vector has no ranking, so queries cannot be compared."


def search_side(
    reader: sidebar_choice.Reader, corpus: text_sets.Sentences, query: str
) -> query_results.SearchSide | None:
    """Encode corpus and query with one model; None, with progress or the error below its title, until then."""
    described = declared.described(reader.reading, reader.found.folder)
    st.markdown(
        f"**{reader.name}** {messages.plain(runs.model_title(reader.found.name))}", help=messages.plain(described)
    )
    with messages.errors_shown():
        index = _index(reader, corpus)
        if index is None:
            return None
        if reader.settings.windows:
            encoder = sidebar_choice.loaded(reader.found, reader.settings)
            if encoder is None:
                return None
            limit = encoder.limit(reader.settings.max_length)
            st.caption(IN_WINDOWS.format(index.in_windows, len(corpus), limit))
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
    return None


def _index(reader: sidebar_choice.Reader, corpus: text_sets.Sentences) -> vector_index.Index | None:
    """The index of a corpus, in windows if the settings say so; None, with progress shown, while it is computed."""
    key, title, settings = f"index {_key(reader, corpus)}", f"Index of {corpus.name}", reader.settings

    def in_windows() -> Work[vector_index.Index]:
        yield Progress(f"loading {reader.found.name}", 0, 0)
        encoder = loaded_encoders.encoder(reader.found, settings)
        made = vector_index.indexed_in_windows(encoder, corpus.texts, reader.reading, settings.max_length)
        return (yield from made)

    if settings.windows:
        return jobs.result(key, title, in_windows)
    vectors = reader.vectors(corpus.texts)
    return None if vectors is None else jobs.result(key, title, lambda: vector_index.indexed(vectors))


def _key(reader: sidebar_choice.Reader, corpus: text_sets.Sentences) -> str:
    return f"{reader.key} {corpus.digest}"


def changes(
    readers: tuple[sidebar_choice.Reader, ...],
    corpus: text_sets.Sentences,
    sides: Sequence[query_results.SearchSide],
    k: int,
) -> None:
    """Numbers, a histogram, and the sentences whose neighbours changed most and least from A to B."""
    st.subheader("Neighbours over the whole corpus")
    if any(reader.settings.windows for reader in readers):
        st.info(NOT_IN_WINDOWS, icon=":material/splitscreen:")
        return
    found: vector_index.Overlap | None = jobs.result(
        f"neighbours {' '.join(_key(reader, corpus) for reader in readers)} {k}",
        f"Neighbours of {len(corpus):,} sentences",
        lambda: vector_index.overlap(sides[0].index, sides[1].index, k),
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
    _cards(found)
    downloads.draw(
        neighbours_kept(found),
        config=downloads.config("neighbours"),
        alt="Number of sentences by number of neighbours kept. The download lists every sentence.",
    )

    def items(most_changed: bool) -> Iterator[tuple[int, str, str]]:
        for place in found.order(most_changed=most_changed)[:SHOWN].tolist():
            share = in_words.number(found.jaccard[place])
            yield place, corpus.texts[place], f"{found.kept[place]} of {found.k} kept · Jaccard {share}"

    _two_lists({"Changed most": items(True), "Changed least": items(False)})
    rows = query_results.changed_rows(found, corpus.texts, most_changed=True)
    downloads.rows(rows, "neighbourhoods", "All sentences (CSV)")


def _cards(overlap: vector_index.Overlap) -> None:
    """How many neighbours are shared, on average and by sentence."""
    counts = overlap.counts()
    cards = st.container(horizontal=True)
    jaccard = "0 to 1. High: A and B have similar neighbourhoods. It shows the size of the change, not its quality."
    messages.number(cards, MEAN.format(overlap.k), in_words.number(overlap.mean), border=True, help=jaccard)
    messages.number(
        cards,
        "Neighbours kept",
        f"{overlap.kept.mean():.1f} of {overlap.k}",
        border=True,
        help="Mean number of A's neighbours that are also neighbours in B.",
    )
    every, none = "Sentences with the same neighbours in A and B.", "Sentences without a common neighbour in A and B."
    messages.number(cards, "All kept", counted(int(counts[-1]), "sentence"), border=True, help=every)
    messages.number(cards, NONE_KEPT, counted(int(counts[0]), "sentence"), border=True, help=none)


def _two_lists(lists: Mapping[str, Iterator[tuple[int, str, str]]]) -> None:
    """Two lists next to each other, by title: of each item its place, its text and a note."""
    for column, (title, items) in zip(st.columns(2, gap="medium"), lists.items(), strict=True):
        with column:
            st.markdown(f"**{title}**")
            rank = 0
            for rank, (place, text, note) in enumerate(items, start=1):
                query_view.item(f"{title} {place}", rank, text, f":small[{note}]")
            if not rank:
                st.caption("No query.")


def choose_judged_query(task: retrieval_sets.RetrievalSet, query: str | None) -> None:
    """A menu of the judged queries; the chosen one becomes the query."""
    queries = {query_results.checked_query(text): number for number, text in enumerate(task.queries, start=1)}
    st.session_state[MENU] = query if query in queries else None

    def take() -> None:
        if (chosen := st.session_state[MENU]) is not None:
            query_view.choose(chosen)

    st.selectbox(
        "Judged query",
        list(queries),
        key=MENU,
        format_func=lambda text: f"{queries[text]} · {text}",
        placeholder=f"one of {len(queries):,}",
        on_change=take,
        help="Queries of the retrieval set whose relevant documents are known. Each side then has a score. This page "
        "reads them without the prompts that a model may declare for queries and documents; Results reads them with.",
    )


def relevant(task: retrieval_sets.RetrievalSet, query: str, corpus: Sequence[str]) -> retrieval_sets.Judged:
    """The grades of the documents relevant to a query, by their position in the corpus; none if it is not judged."""
    judged = next(
        (
            of
            for text, of in zip(task.queries, task.judgements, strict=True)
            if query_results.checked_query(text) == query
        ),
        {},
    )
    grades = {task.documents[place]: grade for place, grade in judged.items()}
    return {place: grades[text] for place, text in enumerate(corpus) if text in grades}


def show_score(ndcg: float, of_relevant: tuple[int, ...]) -> None:
    """The score of a side, and the ranks of the relevant documents."""
    ranks = ", ".join(f"{rank:,}" for rank in of_relevant[:MOST_RANKS])
    more = len(of_relevant) - MOST_RANKS
    ranks += f" and {more:,} more" * (more > 0)
    st.markdown(f"**nDCG@10 {100 * ndcg:.2f}** · relevant at rank {ranks}", help=SCORE_HELP)


def query_changes(
    sides: tuple[sidebar_choice.Reader, ...],
    task: retrieval_sets.RetrievalSet,
    searched: tuple[str, ...],
    indexes: Sequence[vector_index.Index],
) -> None:
    """The means of both sides, the queries that changed most, and means by length and shared words.

    `searched` are the documents, each text once, with the index of each side; of a large set only some are searched,
    and nothing is shown.
    """
    if len(searched) < len(set(task.documents)):
        return
    st.subheader("Judged queries, A and B")
    each = [_scores(side, task, searched, index) for side, index in zip(sides, indexes, strict=True)]
    scores = [of_side for of_side in each if of_side is not None]
    if len(scores) < len(sides):
        return
    if not all(np.isfinite(of_side).all() for of_side in scores):
        st.info(NO_SCORE, icon=":material/search_off:")
        return
    found = QueryChanges(task, *scores)
    _query_cards(found, scores)
    better, worse, same = found.counts
    st.caption(f"{len(task):,} queries: {better:,} improved, {worse:,} got worse, {same:,} have the same score.")

    def items(improved: bool) -> Iterator[tuple[int, str, str]]:
        for query in found.changed(improved=improved)[:SHOWN]:
            both = in_words.arrow(100 * found.before[query], 100 * found.after[query], digits=1)
            share = in_words.percent(found.shared[query])
            yield query, task.queries[query], f"nDCG@10 {both} · {share} of its words in a relevant document"

    _two_lists({"Improved most": items(True), "Got worse most": items(False)})
    groups = downloads.with_signs(found.groups(), ("B - A",))
    signed = {"B - A": "B − A"}
    st.dataframe(groups, hide_index=True, key="groups of judged queries", column_config=signed)
    downloads.rows(found.query_rows(), f"queries {task.name}", "All queries (CSV)")


def _query_cards(changed: QueryChanges, scores: Sequence[np.typing.NDArray[np.float64]]) -> None:
    """The means of both sides, and their difference with its interval."""
    cards = st.container(horizontal=True)
    mean = "The mean nDCG@10 × 100 of all judged queries. Higher is better, at most 100."
    for name, of_side in zip("AB", scores, strict=True):
        messages.number(cards, f"nDCG@10 of {name}", f"{100 * of_side.mean():.2f}", border=True, help=mean)
    difference, gap = in_words.gap(*(100 * of_side.mean() for of_side in scores)), changed.difference
    interval = f"{verdict.CI} {in_words.ends(difference, float(gap.low), float(gap.high))}"
    text = in_words.signed(difference)
    messages.number(cards, "B − A", text, interval, border=True, help="Above 0: B is better.")


def _scores(
    reader: sidebar_choice.Reader,
    task: retrieval_sets.RetrievalSet,
    searched: tuple[str, ...],
    index: vector_index.Index | None = None,
) -> np.typing.NDArray[np.float64] | None:
    """The nDCG@10 of every query under a side, from 0 to 1; None while it is being computed."""
    place = {text: at for at, text in enumerate(searched)}
    places, windows = [place[text] for text in task.documents], None
    if isinstance(index, vector_index.WindowIndex):
        every, windows = index.passages(places)
    else:
        documents = reader.vectors(searched)
        if documents is None:
            return None
        every = correlation.unit(documents)[places]
    queries = reader.vectors(task.queries)
    if queries is None:
        return None
    scores: np.typing.NDArray[np.float64] | None = jobs.result(
        f"judged queries {reader.key} {task.digest}",
        f"Search for {len(task):,} queries",
        lambda: rankings.of_queries(every, correlation.unit(queries), task.judgements, windows=windows),
    )
    return scores
