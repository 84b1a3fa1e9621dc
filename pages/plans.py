"""Plans: the form of many runs under one plan or the result of one, and the list of all plans."""

from explorer.ui.frame import page_frame
from explorer.ui.plans import advice, plan_start, plan_view

page_frame.enter()
folder = plan_start.asked_for(usual=not advice.is_asked_for())
if folder is not None:
    plan_view.show(folder)
elif advice.is_asked_for():
    advice.form()
else:
    plan_start.form()
plan_start.table(folder.name if folder else "the form")
