"""Which method, on which text, makes this encoder better, and by how much?"""

import streamlit as st

from explorer.ui import clicks, frame, recipe_form, run_actions, run_history, run_view, shown_run, start_form

frame.enter()
st.title("Train")
clicks.refused()
run = shown_run.asked_for()
if run is None:
    start_form.buttons(recipe_form.recipe())
else:
    run_actions.bar(run)
    run_view.show(run)
run_history.table(run)
