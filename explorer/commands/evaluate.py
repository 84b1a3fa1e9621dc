"""evaluate: score models on suites of tasks, keep the results, and print a table of models × tasks."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from explorer.commands import fine_tuned_tasks, reading_flags
from explorer.commands.line import Line

if TYPE_CHECKING:
    from explorer.evaluating.results.result_files import Result, Scored
    from explorer.evaluating.suites import Options, Subject
    from explorer.evaluating.word_subject import WordSubject

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
    verb.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="names, folders, hub ids, or run:NAME; for STS also a file of word vectors (GloVe), or bag-of-words",
    )
    verb.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="SUITE",
        help="sts (the seven sets of papers, default), transfer (classification), search, sts-more, or glue "
        "(classification by fine-tuning the whole encoder); repeatable",
    )
    verb.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="TASK|FILE",
        help="one task, such as STS12 or MR; a file of scored pairs or of texts with labels; or a folder with labelled "
        "train and test files; repeatable",
    )
    verb.add_argument("--data", metavar="FOLDER", help="the folder of data sets (default: STRATA_DATA)")
    verb.add_argument("--text", default="raw", choices=TEXTS, help="of STS sets: raw (default), or SentEval's")
    verb.add_argument(
        "--probe",
        default="logistic",
        choices=("logistic", "senteval", fine_tuned_tasks.PROBE),
        help="classifier of transfer tasks: logistic regression (default), or SentEval's MLP, as in papers; "
        "'fine-tuned' trains the whole encoder with a classification layer instead, as --suite glue does",
    )
    verb.add_argument(
        "--seeds", default="1", metavar="N,N", help="seeds of the classifier, or of the fine-tuning (default 1)"
    )
    verb.add_argument(
        "--set", action="append", default=[], metavar="KNOB=VALUE", help="of fine-tuning: any setting of the training"
    )
    verb.add_argument("--index", default="flat", choices=("flat", "ivf"), help="of searches: exact (default), or IVF")
    verb.add_argument(
        "--reading",
        action="append",
        default=[],
        metavar="TITLE",
        help="layer & pooling for transfer and search, such as 'mean of layer 6'; repeatable (default: all; with "
        "SentEval's MLP, which takes minutes for each, the model default); 'all' for every one",
    )
    verb.add_argument(
        "--measure", metavar="NAME", help="for the table: 'spearman wmean', 'pearson', … (default: the task's main one)"
    )
    verb.add_argument(
        "--estimate",
        action="store_true",
        help="print what each classification task takes, from a short trial, and stop",
    )
    reading_flags.add(verb)
    form = verb.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="every layer & pooling, as JSON")
    for name in ("csv", "markdown", "latex"):
        form.add_argument(f"--{name}", action="store_true", help=f"the table as {name}")


def _evaluate(options: argparse.Namespace) -> None:
    from explorer.data.graded import sts
    from explorer.errors import StrataError
    from explorer.evaluating.evaluation import evaluation
    from explorer.evaluating.suites import Options, column
    from explorer.progress import finish

    if options.data:
        os.environ[sts.VARIABLE] = options.data
    tasks, tuned = fine_tuned_tasks.divided(options.suite, options.task, options.probe)
    chosen = Options(
        text=TEXTS[options.text],
        probe="logistic" if options.probe == fine_tuned_tasks.PROBE else options.probe,
        seeds=_seeds(options.seeds),
        index=options.index,
        titles=tuple(options.reading),
        online=options.online,
    )
    subjects = [_subject(name, options) for name in options.models]
    training = fine_tuned_tasks.options_of(options, tuned, chosen.seeds)
    if options.estimate:
        _estimate(subjects, tasks, chosen)
        fine_tuned_tasks.estimate(options.models, tuned, training)
        return
    with Line() as line:
        found = finish(evaluation([(_scored(subject), subject) for subject in subjects], tasks, chosen), line.tell)
        more = finish(fine_tuned_tasks.evaluation(options.models, tuned, training), line.tell)
    for told in (*found.missing, *more.missing):
        print(told, file=sys.stderr)
    results = (*found.results, *more.results)
    if not results:
        raise StrataError("No task could be scored. Set STRATA_DATA, or --data, to a folder with their files.")
    columns = [column(task, chosen) for task in tasks] + fine_tuned_tasks.columns(tuned)
    print(_told(results, columns, options), end="")


def _estimate(subjects: list[Subject | WordSubject], tasks: list[str], options: Options) -> None:
    from explorer import in_words
    from explorer.evaluating.suites import Subject, column, cost
    from explorer.progress import finish

    for subject, task in product(subjects, tasks):
        if isinstance(subject, Subject):
            with Line() as line:
                found = finish(cost(subject, task, options), line.tell)
            most = in_words.duration(found.encoding + found.probing_at_most)
            about = f"{found.texts:,} texts, {found.fits:,} trainings, {found.disk / 1e9:.2f} GB on the disk meanwhile"
            usual, which = in_words.duration(found.seconds), f"{subject.found.name}, {column(task, options)}"
            print(f"{which}: about {usual}, at most {most}; {about}")


def _seeds(given: str) -> tuple[int, ...]:
    from explorer.errors import BadChoice

    try:
        return tuple(dict.fromkeys(int(seed) for seed in given.split(",")))
    except ValueError as error:
        raise BadChoice(
            f"--seeds {given} are not whole numbers with commas between them. Write --seeds 1,2,3."
        ) from error


def _subject(name: str, options: argparse.Namespace) -> Subject | WordSubject:
    from explorer.encoding.locate.model_names import find
    from explorer.evaluating.suites import Subject
    from explorer.evaluating.word_subject import WordSubject, is_word_model
    from explorer.measuring.scores.measure import Settings

    if is_word_model(name):
        return WordSubject(name)
    # float32, since rounding to bfloat16 alone changes a score by up to 0.1
    precision = "float32" if options.precision == "auto" else options.precision
    return Subject(find(name, online=options.online), Settings(precision, options.device, options.max_length))


def _scored(subject: Subject | WordSubject) -> Scored:
    from explorer.evaluating.suites import Subject
    from explorer.training.record.run_origin import scored

    return scored(subject.found) if isinstance(subject, Subject) else subject.scored


def _told(results: Sequence[Result], tasks: list[str], options: argparse.Namespace) -> str:
    from explorer.evaluating.results import result_table, table_formats

    if options.json:
        return table_formats.as_json(results)
    rows = result_table.models(results)
    ranking = None if options.measure else result_table.ranked(rows, tasks)
    letters = dict(zip(ranking.names, ranking.letters, strict=True)) if ranking else {}
    header, cells = result_table.cells(rows, tasks, measure=options.measure, letters=letters)
    form = next((form for form in table_formats.FORMATS if getattr(options, form)), None)
    return table_formats.written(form, header, cells) if form else table_formats.as_text(header, cells)
