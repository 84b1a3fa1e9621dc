"""Train: the form of a new run or the card of one, and the list of all runs."""

from explorer.ui.frame import page_frame
from explorer.ui.runs import run_list, train_page
from explorer.ui.train import recipe_form, run_view, start_form
from explorer.ui.widgets import clicks

page_frame.enter()
clicks.refused()
run = train_page.asked_for()
if run is None:
    start_form.buttons(recipe_form.recipe())
else:
    run_view.actions(run)
    run_view.show(run)
run_list.table(run.name if run else "the form", train_page.choose, "show its run")
