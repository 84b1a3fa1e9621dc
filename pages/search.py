"""Search: the nearest sentences of a corpus for A and B, and how neighbourhoods changed."""

import streamlit as st

from explorer.data.vectors.opening import is_vectors
from explorer.measuring.neighbours.query_results import place_of, scored, search
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.search import neighbours, query_view, searched_corpus
from explorer.ui.widgets import cosine_meaning, first_screen, pair_words

CORPUS, JUDGED = "Whole corpus", "Judged queries"

page_frame.enter()
choice, other = sidebar_choice.chosen(), sidebar_choice.model_b()
with first_screen.controls_row():
    box = st.container(width="stretch", key="query-box")
    settings = first_screen.settings()
answer, figure = first_screen.answer(), first_screen.figure()
with answer:
    summary = st.container(gap="small")
source = searched_corpus.source(settings)
k = query_view.size(settings)
with settings:
    cosine_meaning.switch()
if is_vectors(source):
    with figure:
        query_view.show_vectors(source, choice, box, k, settings)
    st.stop()
with answer:
    corpus = searched_corpus.corpus(source, choice)
query = query_view.query(box, corpus.usual_query if corpus else None)
if corpus is not None and corpus.task is not None:
    with settings:
        neighbours.choose_judged_query(corpus.task, query)
if query is None or corpus is None:
    st.stop()
searched = corpus.sentences
relevant = neighbours.relevant(corpus.task, query, searched.texts) if corpus.task else {}
itself = place_of(query, searched.texts) is not None
with figure, query_view.results_area(query, query_view.LEFT_OUT * itself):
    sides = sidebar_choice.readers(choice, other)
    columns = st.columns(2, gap="medium") if len(sides) > 1 else [st.container()]
if not sides:
    st.stop()
with columns[0]:
    one = neighbours.search_side(sides[0], searched, query)
two = None
if len(sides) > 1:
    with columns[1]:
        two = neighbours.search_side(sides[1], searched, query)
if one is None:
    st.stop()
pair_words.words_over(pair_words.SEARCH, sides)
found = search(one, two, k)
with summary:
    cosine_meaning.find_for(sides, searched)
with columns[0]:
    if relevant:
        neighbours.show_score(*scored(one, relevant))
    query_view.show_results(found.one, searched.texts, "A", "B" if two else "", query, relevant)
if not other:
    with summary:
        query_view.nearest(found, searched.texts)
        st.caption(sidebar_choice.ASK_FOR_B)
if two is None or found.other is None:
    st.stop()
with columns[1]:
    if relevant:
        neighbours.show_score(*scored(two, relevant))
    query_view.show_results(found.other, searched.texts, "B", "A", query, relevant)
with summary:
    query_view.summary(found, len(searched) - itself)
judged = [JUDGED] if corpus.task else []
if first_screen.tabs([*judged, CORPUS]) == CORPUS:
    neighbours.changes(sides, searched, (one, two), k)
elif corpus.task:
    neighbours.query_changes(sides, corpus.task, searched.texts, (one.index, two.index))
