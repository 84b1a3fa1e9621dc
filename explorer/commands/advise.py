"""Advise from the command line whether to fine-tune on a text."""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.commands import plans
from explorer.commands.parts import flags, output
from explorer.errors import BadChoice, StrataError
from explorer.places import file_to_write

if TYPE_CHECKING:
    from explorer.studies.plans.advice import Advice, AdviceOptions, Proposal
    from explorer.studies.plans.own_data import OwnData
    from explorer.studies.plans.plan_folder import PlanFolder
    from explorer.training.record.runs import Run


def advise_flags(verb: argparse.ArgumentParser) -> None:
    """Take a text, and the options of the advice on it."""
    from explorer.measuring.scores.in_use import InUse
    from explorer.studies.plans.advice import AdviceOptions
    from explorer.studies.plans.plan import Plan
    from explorer.training.workers.trainers import ExecutionOptions

    verb.add_argument("data", metavar="FILE|NAME", help="The text: a file, or a set such as 'STS-B'")
    name = replace(Plan.knobs["name"], metavar="NAME", empty="made of the text's name")
    flags.add(verb, AdviceOptions, InUse, name, ExecutionOptions)
    flags.add_estimate(verb, "Print what the text holds and what is proposed")
    verb.add_argument(
        "--delete-models",
        action="store_true",
        help="After the answer, delete the models that were trained for it, but for the one that it is of; their runs "
        "stay with all scores",
    )
    verb.add_argument("--html", type=file_to_write, metavar="FILE", help="Also write the answer as one HTML file")
    verb.add_argument("--json", action="store_true", help="The answer and all numbers, as JSON")


def advise(options: argparse.Namespace) -> None:
    """Say whether to fine-tune on a text, with which method, and whether more text would help.

    Read a file of scored pairs, pairs, triplets or sentences, and propose a plan: the methods that fit, seeds, and the
    share of the tuned weights chosen on the dev set, within a time limit. Train it, then the best method on a quarter
    and half of the rows, and answer by the test rows. The same command goes on with an answer that was stopped.
    """
    from explorer.measuring.scores.in_use import InUse
    from explorer.studies.plans import advice, answer, extension, own_data, plan_folder, plan_table

    chosen, in_use = flags.read(options, advice.AdviceOptions), flags.read(options, InUse)
    plans.check_workers(options)
    data = own_data.read(options.data, chosen.model, chosen.dev, chosen.test)
    for line in data.lines:
        output.say(line)
    name = options.name or advice.usual_name(data, chosen)
    begun = _begun(name)
    if begun is None:
        proposal = _proposal(data, chosen, name)
        if options.estimate:
            return
        begun = advice.begin(proposal)
    known = _same(begun, data, chosen)
    if options.estimate:
        output.say(f"'{begun.name}' was begun already; the same command without --estimate goes on with it.")
        return
    plan = begun.plan()
    if chosen.minutes != plan.budget.minutes:
        begun.redefine(replace(plan, budget=replace(plan.budget, minutes=chosen.minutes)))
    failed = plans.work_off(begun, plans.AGAIN, options)
    table, status = plan_table.table(begun.plan()), begun.status()
    given = answer.answer(table, known, status, in_use)
    if options.html:
        output.write_report(options.html, answer.report(table, known, status, in_use))
    as_json = answer.as_json(given, known, status, table) if options.json else None
    print(json.dumps(as_json, ensure_ascii=False, indent=1) if options.json else given.text)
    if status.state == plan_folder.FINISHED:
        _tidied(extension.other_models(table, status, given.run), given.run, delete=options.delete_models)
    if failed and given.best is None:
        raise SystemExit(1)


def _proposal(data: OwnData, chosen: AdviceOptions, name: str) -> Proposal:
    """Propose a plan, and say what it is, what was left out and what it takes."""
    from explorer.studies.plans import advice

    proposal = output.shown(advice.proposal(data, chosen, name))
    for line in (*(f"{method}: {error}" for method, error in proposal.advice.failures.items()), *proposal.cut):
        output.say(line)
    output.say(f"{advice.in_text(proposal)}, about {in_words.duration(proposal.seconds)}")
    return proposal


def _tidied(others: list[Run], run: str, *, delete: bool) -> None:
    """Delete the models that the answer is not of, or say what they weigh and how."""
    if not others:
        return
    weight = in_words.size(sum(one.model_bytes for one in others))
    kept = f"but for that of {run}" if run else "none of which differs from the base"
    several = f"the model{'s' * (len(others) > 1)} of {len(others):,} run{'s' * (len(others) > 1)}"
    if not delete:
        output.say(f"On the disk are {weight} of models, {kept}. The same command with --delete-models deletes them.")
        return
    for one in others:
        one.delete_model()
    output.say(f"Deleted {several} ({weight}), {kept}; their scores stay.")


def _same(begun: PlanFolder, data: OwnData, chosen: AdviceOptions) -> Advice:
    """The advice that was begun; an error if it was on another text or with other options than the time limit."""
    from explorer.studies.plans import advice

    known = advice.of_folder(begun)
    if known is None or known.data != data or replace(known.options, minutes=chosen.minutes) != chosen:
        raise BadChoice(f"'{begun.name}' is a plan of another text, model, set or method. Give another --name.")
    return known


def _begun(name: str) -> PlanFolder | None:
    from explorer.studies.plans import plan_folder

    with suppress(StrataError):
        return plan_folder.find(name)
    return None
