"""Train a plan, estimate it, and check that what was begun under its name is the same: for plan and reproduce."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.commands.parts import output
from explorer.commands.parts.output import ProgressLine, say
from explorer.errors import BadChoice, StrataError

if TYPE_CHECKING:
    from explorer.studies.plans.plan import Plan
    from explorer.studies.plans.plan_folder import PlanFolder, PlanStatus


def check_same(plan: Plan, begun: PlanFolder) -> None:
    """Refuse to go on with a plan that was begun with other values; another budget is taken over."""
    from dataclasses import fields

    from explorer.studies.plans.plan import with_sets

    known = begun.plan()
    given, there = with_sets(plan), with_sets(known)
    names = [one.name for one in fields(plan) if one.name != "budget"]
    other = [name for name in names if getattr(given, name) != getattr(there, name)]
    if other:
        raise BadChoice(
            f"The plan '{plan.name}' was begun with other values of {', '.join(other)}. Give this one another name, or "
            "delete that plan; what both have in common is not trained again."
        )
    if plan.budget != known.budget:
        begun.redefine(plan)


def work_off(begun: PlanFolder, again: str, processes: int = 1) -> PlanStatus:
    """Execute a plan with its progress on standard error; a signal saves the run under way. `again` resumes it."""
    from explorer.studies.plans import execution
    from explorer.studies.plans.execution import trained_by
    from explorer.training import running

    say(str(begun.folder))
    train = running.train if processes == 1 else trained_by(processes)
    work = execution.execute(begun, lambda run: running.or_nothing(run, train(run)))  # the plan's status names it
    try:
        with ProgressLine() as line:
            status = output.finish_or_stop(work, line.tell)
    except KeyboardInterrupt as stop:
        say(f"Interrupted. Go on with {again}.")
        raise SystemExit(output.code(stop)) from None
    for cell, error in status.failures.items():
        say(f"{cell}: {error}")
    if status.left_out:
        say(f"Not trained, because the budget is used up: {'; '.join(status.left_out)}.")
    for missing in status.missing:
        say(missing)
    return status


def tell_estimate(plan: Plan) -> None:
    """Print what a plan takes; an error if no row of it can be trained."""
    from explorer.progress import finish
    from explorer.studies.plans.execution import estimate

    with ProgressLine() as line:
        found = finish(estimate(plan), line.tell)
    for row, error in found.failures.items():
        say(f"{row}: {error}")
    if len(found.failures) == plan.rows:
        raise StrataError("No row of the plan can be trained.")
    print(found.text)
