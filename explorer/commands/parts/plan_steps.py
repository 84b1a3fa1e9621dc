"""Train a plan, estimate it, and check that what was begun under its name is the same: for plan and reproduce."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from explorer.commands.parts.output import finish_or_stop, say, shown
from explorer.errors import BadChoice, StrataError

if TYPE_CHECKING:
    from explorer.studies.plans.plan import Plan
    from explorer.studies.plans.plan_folder import PlanFolder


def check_same(plan: Plan, begun: PlanFolder) -> None:
    """Refuse to go on with a plan that was begun with other values; another budget is taken over."""
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


def work_off(begun: PlanFolder, again: str, processes: int = 1) -> bool:
    """Execute a plan with its progress on standard error, and return whether something failed.

    A signal saves the run under way; `again` is the command that goes on with it.
    """
    from explorer.studies.plans import execution, plan_folder
    from explorer.training import running

    say(str(begun.folder))
    train = running.train if processes == 1 else execution.trained_by(processes)
    work = execution.execute(begun, lambda run: running.or_nothing(run, train(run)))  # the plan's status names it
    status = finish_or_stop(work, f"Interrupted. Go on with {again}.")
    for cell, error in status.failures.items():
        say(f"{cell}: {error}")
    if status.left_out:
        say(f"Not trained, because the budget is used up: {'; '.join(status.left_out)}.")
    for missing in status.missing:
        say(missing)
    return bool(status.failures) or status.state != plan_folder.FINISHED


def tell_estimate(plan: Plan) -> None:
    """Print what a plan takes; an error if no row of it can be trained."""
    from explorer.studies.plans.execution import estimate

    found = shown(estimate(plan))
    for row, error in found.failures.items():
        say(f"{row}: {error}")
    if len(found.failures) == plan.rows:
        raise StrataError("No row of the plan can be trained.")
    print(found.text)
