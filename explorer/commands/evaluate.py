"""evaluate: score models on suites of tasks, keep the results, and print a table of models × tasks."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from explorer.commands import reading_flags
from explorer.commands.line import Line

if TYPE_CHECKING:
    from explorer.evaluating.result_files import Result
    from explorer.evaluating.tasks import Options, Subject

TEXTS = {"raw": "raw", "senteval": "SentEval's"}


def add(verbs: Any) -> None:
    """State the flags."""
    verb = verbs.add_parser(
        "evaluate",
        help="score models on suites of tasks, such as all STS sets",
        description="Score each model on each task under every layer & pooling, write the results in MTEB's layout "
        "(STRATA_RESULTS names the folder), and print the scores of the model defaults × 100. Models that share a "
        "letter do not differ significantly: paired bootstrap over all tasks, Holm's correction, 5 %%.",
    )
    verb.set_defaults(verb=_evaluate)
    verb.add_argument("models", nargs="+", metavar="MODEL", help="names, folders, hub ids, or run:NAME")
    verb.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="SUITE",
        help="sts (the seven sets of papers, default), sts-more, …; may be repeated",
    )
    verb.add_argument("--task", action="append", default=[], metavar="TASK", help="one task, such as STS12; repeatable")
    verb.add_argument("--data", metavar="FOLDER", help="the folder of data sets (default: STRATA_DATA)")
    verb.add_argument("--text", default="raw", choices=TEXTS, help="of STS sets: raw (default), or SentEval's")
    verb.add_argument("--seeds", default="1", metavar="N,N", help="seeds of classifiers (default 1)")
    verb.add_argument(
        "--measure", metavar="NAME", help="for the table: 'spearman wmean', 'pearson', … (default: the task's main one)"
    )
    reading_flags.add(verb)
    form = verb.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="every layer & pooling, as JSON")
    for name in ("csv", "markdown", "latex"):
        form.add_argument(f"--{name}", action="store_true", help=f"the table as {name}")


def _evaluate(options: argparse.Namespace) -> None:
    from explorer.data.graded import sts
    from explorer.errors import DataError, StrataError
    from explorer.evaluating import result_files
    from explorer.evaluating.tasks import Options, column, named, tasks_of

    if options.data:
        os.environ[sts.VARIABLE] = options.data
    tasks = [task for suite in options.suite for task in tasks_of(suite)] + [named(task) for task in options.task]
    tasks = list(dict.fromkeys(tasks)) or list(tasks_of("sts"))
    chosen = Options(TEXTS[options.text], _seeds(options.seeds), options.online)
    subjects = [_subject(name, options) for name in options.models]
    results, missing = [], dict[str, str]()
    with Line() as line:
        for subject in subjects:
            for task in [task for task in tasks if task not in missing]:
                try:
                    results.append(_scored(subject, task, chosen, line))
                except DataError as error:
                    missing[task] = str(error)
    for told in missing.values():
        print(told, file=sys.stderr)
    if not results:
        raise StrataError("No task could be scored. Set STRATA_DATA, or --data, to a folder with their files.")
    for result in results:
        result_files.write(result)
    print(_told(results, [column(task, chosen) for task in tasks], options), end="")


def _seeds(given: str) -> tuple[int, ...]:
    from explorer.errors import BadChoice

    try:
        return tuple(dict.fromkeys(int(seed) for seed in given.split(",")))
    except ValueError as error:
        raise BadChoice(
            f"--seeds {given} are not whole numbers with commas between them. Write --seeds 1,2,3."
        ) from error


def _subject(name: str, options: argparse.Namespace) -> Subject:
    from explorer.encoding.locate.model_names import find
    from explorer.evaluating.tasks import Subject
    from explorer.measuring.scores.measure import Settings

    # float32, since rounding to bfloat16 alone changes a score by up to 0.1
    precision = "float32" if options.precision == "auto" else options.precision
    return Subject(find(name, online=options.online), Settings(precision, options.device, options.max_length))


def _scored(subject: Subject, task: str, options: Options, line: Line) -> Result:
    from explorer.evaluating.result_files import Result
    from explorer.evaluating.tasks import evaluate
    from explorer.progress import finish
    from explorer.training.record.run_origin import scored

    return Result(scored(subject.found), finish(evaluate(subject, task, options), line.tell))


def _told(results: list[Result], tasks: list[str], options: argparse.Namespace) -> str:
    from explorer.evaluating import result_table, table_formats

    if options.json:
        return table_formats.as_json(results)
    rows = result_table.models(results)
    ranking = None if options.measure else result_table.ranked(rows, tasks)
    letters = dict(zip(ranking.names, ranking.letters, strict=True)) if ranking else {}
    header, cells = result_table.cells(rows, tasks, measure=options.measure, letters=letters)
    form = next((form for form in table_formats.FORMATS if getattr(options, form)), None)
    return table_formats.written(form, header, cells) if form else table_formats.as_text(header, cells)
