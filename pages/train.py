"""Train: the form of a new run, or the run under way or chosen, each with its figure."""

from explorer.ui.frame import page_frame, talk_steps
from explorer.ui.runs import training_form
from explorer.ui.train import run_view, start_form
from explorer.ui.widgets import controls

page_frame.enter()
controls.refused()
run = training_form.asked_for(talk_steps.place())
if run is None:
    start_form.page()
else:
    run_view.page(run)
