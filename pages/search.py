"""What does each side find for a query, and what changed?"""

import streamlit as st

from explorer.measuring.search_tables import told_share
from explorer.measuring.searching import search
from explorer.ui import controls, corpus_form, corpus_reader, frame, query_form, result_list, sides, whole_corpus

frame.enter()
choice, other = controls.chosen(), sides.beside()
st.title("Search")
query = query_form.query()
searched = corpus_form.asked_for(choice)
k = query_form.size()
if query is None or searched is None:
    st.stop()
told = st.container()
columns = st.columns(2, gap="medium") if other else [st.container()]
with columns[0]:
    one = corpus_reader.read("A", choice, searched, query)
two = None
if other:
    with columns[1]:
        two = corpus_reader.read("B", other, searched, query)
if one is None:
    st.stop()
findings = search(one.side, two.side if two else None, k)
with columns[0]:
    result_list.found(findings.one, searched.sentences, "A", "B" if two else "", query)
if not other:
    st.info("Choose B in the sidebar under **Beside it**, and see what it finds.", icon=":material/compare:")
if two is None or findings.other is None:
    st.stop()
with columns[1]:
    result_list.found(findings.other, searched.sentences, "B", "A", query)
changed = len(findings.one) - findings.kept
told.markdown(f"**{findings.kept} kept**, {changed} lost, {changed} gained · Jaccard {told_share(findings.jaccard)}")
whole_corpus.show(one, two, searched.sentences, k)
