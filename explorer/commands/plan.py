"""plan: train and evaluate many runs, such as methods × settings × seeds, and print one table.

Work off a plan: a YAML file with lists of methods, models, texts, values of settings and seeds. Runs that are
finished already are not trained again; a run that fails is left behind and named. The runs are in checkpoints (or in
STRATA_RUNS), and the Train page shows them too.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from explorer.commands.parts import flags, plan_steps
from explorer.commands.parts.output import say, say_unreadable
from explorer.errors import BadChoice
from explorer.knobs import Knob
from explorer.places import given_path

if TYPE_CHECKING:
    from explorer.studies.plans.plan import Plan
    from explorer.studies.plans.plan_folder import PlanFolder

PROCESSES = Knob("processes", 1, "Train each run with this many processes, started by torchrun.", low=1)


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("plan", metavar="FILE|NAME", help="The file of a plan, or the name of one that was begun")
    verb.add_argument("--resume", action="store_true", help="Go on with a plan that was begun")
    verb.add_argument(
        "--estimate", action="store_true", help="Print what it takes, from one step of each row, and stop"
    )
    verb.add_argument(
        "--commands", action="store_true", help="Print the 'train' command of each run, for a cluster, and stop"
    )
    verb.add_argument("--table", action="store_true", help="Print the table as it stands now, and stop")
    flags.add(verb, PROCESSES)
    form = verb.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="The table as JSON, with the run of each cell")
    for name in ("csv", "markdown", "latex"):
        form.add_argument(f"--{name}", action="store_true", help=f"The table as {name}")


def run(options: argparse.Namespace) -> None:
    """Work off the plan, and print its table."""
    from explorer.data.sources import shown
    from explorer.studies.plans import execution, plan_folder
    from explorer.studies.plans.plan import cells, sets_of, with_sets

    plan, begun = _named(options.plan)
    plan = with_sets(plan)
    say_unreadable()
    if options.commands:
        for cell in execution.check(plan):
            print(cell.recipe.command())
        return
    dev, test = sets_of(cells(plan))
    say(f"dev set: {' or '.join(map(shown, dev))}; test set: {' or '.join(map(shown, test))}")
    if options.table:
        print(table_text(plan, options), end="")
        return
    if options.estimate:
        execution.check(plan)
        plan_steps.tell_estimate(plan)
        return
    if begun is None:
        if options.resume and (plan_folder.plans_folder() / plan.name / plan_folder.PLAN).is_file():
            begun = plan_folder.find(plan.name)
            plan_steps.check_same(plan, begun)
        else:
            execution.check(plan)
            begun = plan_folder.new(plan)
    elif not options.resume:
        raise BadChoice(f"The plan '{plan.name}' was begun already. Add --resume to go on with it.")
    status = plan_steps.work_off(begun, f"python -m explorer plan {begun.name} --resume", options.processes)
    print(table_text(plan, options), end="")
    if status.failures or status.state != plan_folder.FINISHED:
        raise SystemExit(1)


def _named(given: str) -> tuple[Plan, PlanFolder | None]:
    """The plan in a file, or one that was begun, by its name."""
    from explorer.studies.plans import plan as plans
    from explorer.studies.plans import plan_folder

    path = given_path(given)
    if path.is_file():
        return plans.read(path), None
    if path.suffix in (".yaml", ".yml") or "/" in given:
        raise BadChoice(f"There is no file {given}. Give the file of a plan, or the name of one that was begun.")
    begun = plan_folder.find(given)
    return begun.plan(), begun


def table_text(plan: Plan, options: argparse.Namespace) -> str:
    """The table of a plan in the form that was asked for."""
    from explorer.evaluating.results import table_formats
    from explorer.studies.plans import plan_table

    found = plan_table.table(plan)
    for text in found.unmeasured:
        say(text)
    if options.json:
        return json.dumps(plan_table.as_json(found), ensure_ascii=False, indent=1) + "\n"
    header, rows = plan_table.written(found)
    form = next((form for form in table_formats.FORMATS if getattr(options, form)), None)
    return table_formats.written(form, header, rows) if form else table_formats.as_text(header, rows)
