"""plan: train and evaluate many runs, such as methods × settings × seeds, and print one table.

Work off a plan: a YAML file with lists of methods, models, texts, values of settings and seeds. Runs that are
finished already are not trained again; a run that fails is left behind and named. The runs are in checkpoints (or in
STRATA_RUNS), and the Train page shows them too.
"""

import argparse
import json

from explorer.commands.parts import flags, output, plan_steps
from explorer.data.sources import shown
from explorer.errors import BadChoice
from explorer.knobs import Knob
from explorer.places import given_path

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
    flags.add_forms(verb, json="The table as JSON, with the run of each cell")


def run(options: argparse.Namespace) -> None:
    """Work off the plan, and print its table."""
    from explorer.studies.plans import execution, plan_folder, plan_table
    from explorer.studies.plans.plan import cells, read, sets_of, with_sets

    # the plan in a file, or one that was begun, by its name
    path = given_path(options.plan)
    begun = None
    if path.is_file():
        plan = read(path)
    elif path.suffix in (".yaml", ".yml") or "/" in options.plan:
        raise BadChoice(f"There is no file {options.plan}. Give the file of a plan, or the name of one that was begun.")
    else:
        begun = plan_folder.find(options.plan)
        plan = begun.plan()
    plan = with_sets(plan)
    output.say_unreadable()
    if options.commands:
        for cell in execution.check(plan):
            print(cell.recipe.command())
        return
    dev, test = sets_of(cells(plan))
    output.say(f"dev set: {' or '.join(map(shown, dev))}; test set: {' or '.join(map(shown, test))}")
    if options.estimate and not options.table:
        execution.check(plan)
        plan_steps.tell_estimate(plan)
        return
    failed = False
    if not options.table:
        if begun is None:
            if options.resume and (plan_folder.plans_folder() / plan.name / plan_folder.PLAN).is_file():
                begun = plan_folder.find(plan.name)
                plan_steps.check_same(plan, begun)
            else:
                execution.check(plan)
                begun = plan_folder.new(plan)
        elif not options.resume:
            raise BadChoice(f"The plan '{plan.name}' was begun already. Add --resume to go on with it.")
        failed = plan_steps.work_off(begun, f"python -m explorer plan {begun.name} --resume", options.processes)
    found = plan_table.table(plan)
    for text in found.unmeasured:
        output.say(text)
    if options.json:
        print(json.dumps(plan_table.as_json(found), ensure_ascii=False, indent=1))
    else:
        print(flags.table(options, *plan_table.written(found)), end="")
    if failed:
        raise SystemExit(1)
