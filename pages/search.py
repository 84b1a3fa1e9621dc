"""Search: the nearest sentences of a corpus for A and B, and how neighbourhoods changed."""

import streamlit as st

from explorer.data.vectors.opening import is_vectors
from explorer.measuring.neighbours.query_results import place_of, scored, search
from explorer.ui.access import side_readers, sidebar_choice
from explorer.ui.frame import page_frame, second_encoder
from explorer.ui.microscope import word_view
from explorer.ui.search import (
    corpus_form,
    judged_queries,
    neighbour_changes,
    query_form,
    result_list,
    side_index,
    vector_results,
)
from explorer.ui.widgets import opened_words

page_frame.enter()
choice, other = sidebar_choice.chosen(), second_encoder.beside()
box, line = st.container(), st.container(horizontal=True, vertical_alignment="bottom")
source = corpus_form.source(line)
k = query_form.size(line)
if is_vectors(source):
    vector_results.show(source, choice, bool(other), box, k)
    st.stop()
corpus = corpus_form.corpus(source, choice)
query = query_form.query(box, corpus.usual_query if corpus else None)
if corpus is not None and corpus.task is not None:
    judged_queries.choose(corpus.task, query)
if query is None or corpus is None:
    st.stop()
searched = corpus.sentences
relevant = judged_queries.relevant(corpus.task, query, searched.texts) if corpus.task else {}
itself = place_of(query, searched.texts) is not None
with query_form.results(query):
    if itself:
        st.caption(query_form.LEFT_OUT)
    told = st.container()
    reading = side_readers.readers(choice, other)
    columns = st.columns(2, gap="medium") if len(reading) > 1 else [st.container()]
if not reading:
    st.stop()
with columns[0]:
    one = side_index.read(reading[0], searched, query)
two = None
if len(reading) > 1:
    with columns[1]:
        two = side_index.read(reading[1], searched, query)
if one is None:
    st.stop()
word_view.over(opened_words.SEARCH, reading)
findings = search(one.side, two.side if two else None, k)
with columns[0]:
    if relevant:
        judged_queries.tell(scored(one.side, relevant))
    result_list.found(findings.one, searched.texts, "A", "B" if two else "", query, relevant)
if not other:
    with told:
        side_readers.ask_for_b()
if two is None or findings.other is None:
    st.stop()
with columns[1]:
    if relevant:
        judged_queries.tell(scored(two.side, relevant))
    result_list.found(findings.other, searched.texts, "B", "A", query, relevant)
with told:
    result_list.summary(findings, len(searched) - itself)
if corpus.task:
    judged_queries.changes(reading, corpus.task, searched.texts)
neighbour_changes.show(one, two, searched.texts, k)
