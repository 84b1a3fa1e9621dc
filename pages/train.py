"""Train: the form of a new run or the card of one, and the list of all runs."""

from explorer.ui import blend
from explorer.ui.frame import page_frame
from explorer.ui.runs import run_status, training_form
from explorer.ui.train import recipe_form, run_view, start_form
from explorer.ui.widgets import controls

page_frame.enter()
controls.refused()
run = training_form.asked_for()
if run is None:
    start_form.buttons(recipe_form.recipe())
else:
    run_view.actions(run)
    run_view.show(run)
    blend.of_run(run)
run_status.table(run.name if run else "the form", training_form.choose, "show its run")
