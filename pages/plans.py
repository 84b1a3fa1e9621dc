"""Plans: the form of many runs under one plan or the result of one, and the list of all plans."""

from explorer.ui.frame import page_frame
from explorer.ui.plans import plan_start, plan_view

page_frame.enter()
folder = plan_start.asked_for()
if folder is None:
    plan_start.form()
else:
    plan_view.show(folder)
plan_start.table(folder.name if folder else "the form")
