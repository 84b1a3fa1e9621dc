"""Train and evaluate many runs: those of a plan, or those of a table of one of the papers."""

from __future__ import annotations

import argparse
import json
import shlex
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.commands.parts import flags, output
from explorer.data.sources import shown
from explorer.errors import BadChoice, StrataError
from explorer.places import given_path
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.studies.plans.plan import Plan
    from explorer.studies.plans.plan_folder import PlanFolder
    from explorer.training.record.runs import Run
    from explorer.training.workers.trainers import Trainers


def plan_flags(verb: argparse.ArgumentParser) -> None:
    """Take a plan, and whether it is estimated, trained or shown."""
    from explorer.training.workers.trainers import ExecutionOptions

    verb.add_argument("plan", metavar="FILE|NAME", help="The file of a plan, or the name of one that was begun")
    verb.add_argument("--resume", action="store_true", help="Go on with a plan that was begun")
    flags.add_estimate(verb, "Print what it takes, from one step of each row")
    verb.add_argument(
        "--commands", action="store_true", help="Print the 'train' command of each run, for a cluster, and stop"
    )
    verb.add_argument("--table", action="store_true", help="Print the table as it stands now, and stop")
    flags.add(verb, ExecutionOptions)
    flags.add_report(verb, "Also write the table")
    flags.add_forms(verb, json="The table as JSON, with the run of each cell")


def plan(options: argparse.Namespace) -> None:
    """Train and evaluate many runs, such as methods × settings × seeds, and print one table.

    Work off a plan: a YAML file with lists of methods, models, texts, values of settings and seeds. Runs that are
    finished already are not trained again; a run that fails is left behind and named. The runs are in checkpoints (or
    in STRATA_RUNS), and the Train page shows them too.
    """
    from explorer.studies.plans import execution
    from explorer.studies.plans.plan import cells, sets_of, with_sets

    begun, plan = _named(options.plan)
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
        tell_estimate(plan)
        return
    failed = False
    if not options.table:
        check_workers(options)
        begun = _begun(plan, begun, resume=options.resume)
        failed = work_off(begun, _again(begun, options), options)
    _print_table(plan, options)
    if failed:
        raise SystemExit(1)


def _named(plan: str) -> tuple[PlanFolder | None, Plan]:
    """The plan in a file, or one that was begun, by its name, with its folder."""
    from explorer.studies.plans import plan_file, plan_folder

    path = given_path(plan)
    if path.is_file():
        return None, plan_file.read(path)
    if path.suffix in (".yaml", ".yml") or "/" in plan:
        raise BadChoice(f"There is no file {plan}. Give the file of a plan, or the name of one that was begun.")
    begun = plan_folder.find(plan)
    return begun, begun.plan()


def _begun(plan: Plan, begun: PlanFolder | None, *, resume: bool) -> PlanFolder:
    """The folder to work in: that of a plan which is resumed, or a new one."""
    from explorer.studies.plans import execution, plan_folder

    if begun is not None:
        if not resume:
            raise BadChoice(f"The plan '{plan.name}' was begun already. Add --resume to go on with it.")
        return begun
    if resume and (plan_folder.plans_folder() / plan.name / plan_folder.PLAN).is_file():
        begun = plan_folder.find(plan.name)
        check_same(plan, begun)
        return begun
    execution.check(plan)
    return plan_folder.new(plan)


def _again(begun: PlanFolder, options: argparse.Namespace) -> str:
    """The command that goes on with a plan, with the flags of how its runs are trained."""
    from explorer.training.workers.trainers import ExecutionOptions

    chosen = flags.read(options, ExecutionOptions)
    words = [word for name, value in chosen.stated().items() for word in chosen.knobs[name].words(value)]
    return shlex.join(["python", "-m", "explorer", "plan", begun.name, "--resume", *words])


def _print_table(plan: Plan, options: argparse.Namespace) -> None:
    """Print the table of a plan, after messages on what it lacks and on more rows."""
    from explorer.studies.plans import plan_columns, plan_report, plan_table, row_curve

    table = plan_table.table(plan)
    for text in table.unmeasured:
        output.say(text)
    if (forgotten := plan_report.forgotten(table)) is not None:
        output.say(forgotten.text)
    if text := plan_report.unscored(table):
        output.say(text)
    curves = row_curve.curves(table)
    for curve in curves:
        output.say(plan_report.of_rows(curve, len(curves) > 1).text)
    if curves:
        output.say(plan_report.about_rows(curves))
    if options.report:
        output.write_report(options.report, plan_report.report(table))
    if options.json:
        numbers = {**plan_table.as_json(table), "row_curves": row_curve.as_json(curves)}
        print(json.dumps(numbers, ensure_ascii=False, indent=1))
    else:
        print(flags.table(options, *plan_columns.written(table)), end="")


LIST = "list"
AGAIN = "the same command"


def reproduce_flags(verb: argparse.ArgumentParser) -> None:
    """Take a table of a paper, and the scale at which it is repeated."""
    from explorer.studies.reproduce.reproduction import ReproductionOptions
    from explorer.training.workers.trainers import ExecutionOptions

    verb.add_argument("table", metavar="TABLE", help="Such as sg-bert-5; or 'list'")
    flags.add(verb, ReproductionOptions, flags.SET, ExecutionOptions)
    flags.add_estimate(verb, "Print what it takes")
    verb.add_argument("--table", dest="only_table", action="store_true", help="Print the table as it stands, and stop")
    flags.add_forms(verb)


def reproduce(options: argparse.Namespace) -> None:
    """Run a table of one of the papers, with the published scores beside.

    Train and evaluate every row of a table; 'reproduce list' shows the tables and figures. Each row has the paper's
    values, and says in what it differs: another encoder, other text, fewer steps or seeds. A row that cannot be run
    says why. What is measured already is not trained again, so a stopped table goes on.
    """
    from explorer.studies.reproduce import paper_tables, reproduced_scores, reproduction

    if options.table == LIST:
        for one in paper_tables.paper_tables():
            how = "" if not one.elsewhere else f"; not run here: {one.elsewhere}"
            print(f"{one.name:24}{one.paper}, {one.title}: {one.about}{how}")
        return
    output.say_unreadable()
    scale = replace(flags.read(options, reproduction.ReproductionOptions), settings=flags.settings(options))
    found = reproduction.reproduction(paper_tables.paper_table(options.table), scale)
    if options.estimate:
        for plan in found.plans.values():
            tell_estimate(plan)
        return
    failed = False
    if not options.only_table:
        check_workers(options)
        for plan in found.plans.values():
            failed |= worked_off(plan, options)
        output.finish_or_stop(reproduced_scores.base_scores(found), f"Interrupted. Go on with {AGAIN}.")
    print(flags.table(options, *reproduced_scores.written(found)), end="")
    if failed:
        raise SystemExit(1)


def worked_off(plan: Plan, options: argparse.Namespace) -> bool:
    """Train and evaluate what is missing; whether something failed."""
    from explorer.studies.plans import plan_folder

    try:
        begun = plan_folder.find(plan.name)
    except StrataError:
        begun = plan_folder.new(plan)
    check_same(plan, begun)  # its name has six digits of a digest, which another plan may have
    return work_off(begun, AGAIN, options)


def check_same(plan: Plan, begun: PlanFolder) -> None:
    """Refuse to go on with a plan that was begun with other values; another budget is taken over."""
    from explorer.studies.plans.plan import with_sets

    known = begun.plan()
    given, there = with_sets(replace(plan, fitted=known.fitted)), with_sets(known)
    names = [one.name for one in fields(plan) if one.name != "budget"]
    other = [name for name in names if getattr(given, name) != getattr(there, name)]
    if other:
        raise BadChoice(
            f"The plan '{plan.name}' was begun with other values of {', '.join(other)}. Give this one another name, or "
            "delete that plan; what both have in common is not trained again."
        )
    if plan.budget != known.budget:
        begun.redefine(replace(known, budget=plan.budget))


def check_workers(options: argparse.Namespace) -> None:
    """Refuse flags of how runs are trained, before anything is begun."""
    _trainers(options, Path())


def _trainers(options: argparse.Namespace, folder: Path) -> Trainers:
    """What trains the runs, by the flags."""
    from explorer.studies.plans.plan_estimate import number_at_once
    from explorer.training.workers.trainers import ExecutionOptions, Trainers

    chosen = flags.read(options, ExecutionOptions)
    return Trainers(chosen, folder, number_at_once, flags.jobs(chosen.job))


def work_off(begun: PlanFolder, again: str, options: argparse.Namespace) -> bool:
    """Execute a plan with its progress on standard error, and return whether something failed.

    A signal saves the runs under way; `again` is the command that goes on with it.
    """
    from explorer.studies.plans import extension, plan_folder
    from explorer.training import running

    output.say(str(begun.folder))
    trainers = _trainers(options, begun.folder / plan_folder.JOBS)

    def train(run: Run) -> Work[Run | None]:
        return running.or_nothing(run, trainers.train(run))  # the plan's status names it

    work = extension.execute(begun, train, trainers.at_once)
    status = output.finish_or_stop(work, f"Interrupted. Go on with {again}.")
    for cell, error in status.failures.items():
        output.say(f"{cell}: {error}")
    if status.left_out:
        output.say(f"Not trained, because the budget is used up: {'; '.join(status.left_out)}.")
    for missing in status.missing:
        output.say(missing)
    return bool(status.failures) or status.state != plan_folder.FINISHED


def tell_estimate(plan: Plan) -> None:
    """Print what a plan takes; an error if no row of it can be trained."""
    from explorer.studies.plans.plan_estimate import estimate

    found = output.shown(estimate(plan))
    for row, error in found.failures.items():
        output.say(f"{row}: {error}")
    if len(found.failures) == plan.rows:
        raise StrataError("No row of the plan can be trained.")
    print(found.text)
