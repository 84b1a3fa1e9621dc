"""Results: the scores of all models on all tasks, and which models really differ."""

import streamlit as st

from explorer.ui.frame import page_frame
from explorer.ui.results import evaluate_form, filters, table_view

page_frame.enter()
results = table_view.every_result()
table_view.warn_of_unreadable()
evaluate_form.show(unfolded=not results)
if not results:
    st.info("No model was evaluated yet. Choose models and suites above.", icon=":material/info:")
    st.stop()
chosen = filters.chosen(results)
table_view.show(chosen)
table_view.show_by_layer(chosen)
table_view.show_published(chosen)
