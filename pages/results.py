"""Results: which models really differ, the scores of all models on all tasks, and the evaluation of more."""

import streamlit as st

from explorer.ui.frame import page_frame
from explorer.ui.results import evaluate_form, filters, first_view, table_view
from explorer.ui.widgets import first_screen

TABLE, LAYERS, PUBLISHED, EVALUATE = "Table", "By layer", "Published scores", "Evaluate models"

page_frame.enter()
evaluate_form.collect()
results = table_view.every_result()
answer, figure, row = first_screen.answer(), first_screen.figure(), first_screen.controls_row()
if not results:
    answer.info("No model was evaluated yet. Choose models and suites below.", icon=":material/info:")
    evaluate_form.show()
    st.stop()
with row:
    chosen = filters.chosen(results)
    first_view.evaluate_button(EVALUATE)
first_view.answer_and_figure(chosen, answer, figure)
table_view.warn_of_unreadable()
tab = first_screen.tabs([TABLE, LAYERS, PUBLISHED, EVALUATE])
if tab == TABLE:
    table_view.show(chosen)
elif tab == LAYERS:
    table_view.show_by_layer(chosen)
elif tab == PUBLISHED:
    table_view.show_published(chosen)
else:
    evaluate_form.show()
