"""reproduce: run a table of one of the papers, with the published scores beside.

Train and evaluate every row of a table; 'reproduce list' shows the tables and figures. Each row has the paper's
values, and says in what it differs: another encoder, other text, fewer steps or seeds. A row that cannot be run says
why. What is measured already is not trained again, so a stopped table goes on.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from explorer.commands.parts import flags, output, plan_steps
from explorer.errors import StrataError
from explorer.knobs import Knob

if TYPE_CHECKING:
    from explorer.studies.plans.plan import Plan

LIST = "list"
AGAIN = "the same command"
POOLINGS = {"paper": ("as in the paper",), "default": ("model default",), "both": ("as in the paper", "model default")}

STEPS = Knob("steps", None, "Fewer updates than in the paper.", item=int, low=1)


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    from explorer.studies.reproduce import ReproductionOptions

    verb.add_argument("table", metavar="TABLE", help="Such as sg-bert-5; or 'list'")
    flags.add(verb, *ReproductionOptions.knobs.values(), STEPS, flags.SET)
    verb.add_argument(
        "--pooling",
        default="paper",
        choices=POOLINGS,
        help="Train under the paper's pooling ([CLS] mostly; default), the encoder's model default, or both",
    )
    verb.add_argument("--estimate", action="store_true", help="Print what it takes, and stop")
    verb.add_argument("--table", dest="only_table", action="store_true", help="Print the table as it stands, and stop")
    flags.add_forms(verb)


def run(options: argparse.Namespace) -> None:
    """Train and evaluate the rows, and print the table."""
    from explorer.studies import reproduce as reproduction

    if options.table == LIST:
        for one in reproduction.paper_tables():
            how = "" if not one.elsewhere else f"; not run here: {one.elsewhere}"
            print(f"{one.name:24}{one.paper}, {one.title}: {one.about}{how}")
        return
    output.say_unreadable()
    settings: dict[str, Any] = dict(flags.settings(options))
    if options.steps is not None:
        settings["steps"] = options.steps
    stated = flags.values(options, reproduction.ReproductionOptions.knobs)
    scale = reproduction.ReproductionOptions(**stated, settings=settings, poolings=POOLINGS[options.pooling])
    found = reproduction.reproduction(reproduction.paper_table(options.table), scale)
    if options.estimate:
        for plan in found.plans.values():
            plan_steps.tell_estimate(plan)
        return
    failed = False
    if not options.only_table:
        for plan in found.plans.values():
            failed |= worked_off(plan)
        output.finish_or_stop(reproduction.base_scores(found), f"Interrupted. Go on with {AGAIN}.")
    header, rows = reproduction.written(found)
    notes: list[str] = []
    if not flags.form(options):  # in a terminal, what rows share is a note below them
        notes = list(dict.fromkeys(row[-1] for row in rows))
        rows = [[*row[:-1], f"[{notes.index(row[-1]) + 1}]"] for row in rows]
    print(flags.table(options, header, rows), end="")
    for number, note in enumerate(notes, start=1):
        print(f"[{number}] {note}")
    if failed:
        raise SystemExit(1)


def worked_off(plan: Plan) -> bool:
    """Train and evaluate what is missing; whether something failed."""
    from explorer.studies.plans import plan_folder

    try:
        begun = plan_folder.find(plan.name)
    except StrataError:
        begun = plan_folder.new(plan)
    plan_steps.check_same(plan, begun)  # its name has six digits of a digest, which another plan may have
    return plan_steps.work_off(begun, AGAIN)
