"""evaluate: score models on suites of tasks, such as all STS sets.

Score each model on each task under every layer & pooling, write the results in MTEB's layout (STRATA_RESULTS names
the folder), and print the scores of the model defaults × 100. Models that share a letter do not differ significantly:
paired bootstrap over all tasks, Holm's correction, 5 %.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from explorer.commands.parts import flags
from explorer.commands.parts.output import ProgressLine, code, finish_or_stop, say, say_unreadable
from explorer.errors import BadChoice
from explorer.evaluating.results.scored_task import EVALUATED, Options
from explorer.knobs import Knob
from explorer.measuring.scores.measure import Settings
from explorer.places import given_path
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.evaluating.evaluation import EvaluationResult, Forecast
    from explorer.evaluating.results.result_files import Result, ScoredModel
    from explorer.evaluating.results.scored_task import ScoredTask
    from explorer.evaluating.tasks import Subject
    from explorer.evaluating.word_subject import WordSubject
    from explorer.studies.fine_tuning import TuningOptions
    from explorer.training.loop.processes import World

PROBE = "fine-tuned"  # the choice of --probe


class _Suites(str):
    """The help of --suite, made when it is printed, since no task is loaded before the command is chosen."""

    def __mod__(self, values: object) -> str:
        from explorer.evaluating.tasks import every_suite

        usual, *others = every_suite()
        about = [f"{one.name} ({one.about})" if one.about else one.name for one in others]
        return (
            f"{usual.name} ({usual.about}, default), {', '.join(about)}, or glue (classification by fine-tuning the "
            "whole encoder); repeatable"
        )


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="Names, folders, hub ids, or run:NAME; for STS also a file of word vectors (GloVe), or bag-of-words; for "
        "retrieval also bm25",
    )
    verb.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="SUITE",
        help=_Suites("the suites by name"),
    )
    verb.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="TASK|FILE",
        help="One task, such as STS12 or MR; a file of scored pairs, of texts with labels, or of queries with "
        "passages; a folder with labelled train and test files, or with a retrieval set in BEIR's layout; repeatable",
    )
    verb.add_argument(
        "--data", type=given_path, metavar="FOLDER", help="The folder of data sets (default: STRATA_DATA)"
    )
    verb.add_argument(
        "--set", action="append", default=[], metavar="KNOB=VALUE", help="Of fine-tuning: any setting of the training"
    )
    flags.add(verb, *_settings().values(), flags.ONLINE)
    verb.add_argument(
        "--measure", metavar="NAME", help="For the table: 'spearman wmean', 'pearson', … (default: the task's main one)"
    )
    verb.add_argument(
        "--estimate",
        action="store_true",
        help="Print what each task takes that is not saved, from a short trial, and stop",
    )
    form = verb.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="Every layer & pooling, as JSON")
    for name in ("csv", "markdown", "latex"):
        form.add_argument(f"--{name}", action="store_true", help=f"The table as {name}")


def _settings() -> dict[str, Knob]:
    """What decides scores, as flags: of the classifier, fine-tuning the encoder is another choice."""
    probe = Options.knobs["probe"]
    tuned = replace(
        probe,
        choices=(*probe.choices, PROBE),
        help=f"{probe.help} '{PROBE}' trains the whole encoder with a classification layer instead, "
        "as --suite glue does.",
    )
    prompts = {
        name: replace(Options.knobs[name], help=f"Put before every {role} of a retrieval set; '' for none.")
        for name, role in (("query_prompt", "query"), ("document_prompt", "document"))
    }
    # the one of a training is chosen by the machine
    precision = replace(Settings.knobs["precision"], default=None, empty=f"{EVALUATED.precision}; of fine-tuning auto")
    return {**Options.knobs, "probe": tuned, **prompts, **Settings.knobs, "precision": precision}


def _measurement(options: argparse.Namespace) -> Settings:
    return Settings(options.precision or EVALUATED.precision, options.device, options.max_length)


def run(options: argparse.Namespace) -> None:
    """Evaluate, and print the table."""
    from explorer.data.graded import sts
    from explorer.errors import BadChoice, StrataError
    from explorer.evaluating.evaluation import evaluation, forecast
    from explorer.evaluating.tasks import transfer
    from explorer.progress import finish

    if options.data:
        os.environ[sts.VARIABLE] = str(options.data)
    tasks, tuned = _divided(options.suite, options.task, options.probe)
    given = flags.values(options, Options.knobs)
    if options.probe == PROBE:
        del given["probe"]
    chosen = Options(**given, online=options.online)
    transfer.check_choice(chosen.probe, chosen.seeds)
    subjects = [_subject(name, options) for name in options.models]
    models = [(_scored(subject), subject) for subject in subjects]
    training = _tuning(options, tuned, chosen.seeds)
    if tuned:
        say_unreadable()
    world = None if options.estimate else _processes(options)
    if world and tuned:
        raise BadChoice("Fine-tuned tasks are evaluated by one process. Start the command without torchrun.")
    if options.estimate:
        with ProgressLine() as line:
            expected = finish(forecast(models, tasks, chosen), line.tell)
        _tell_forecast(expected)
        _estimate(options.models, tuned, training)
        return
    share = slice(world.rank, None, world.size) if world else slice(None)
    try:
        with ProgressLine() as line:
            found = finish_or_stop(evaluation(models, tasks, chosen, share), line.tell)
            more = finish_or_stop(_fine_tuned(options.models, tuned, training), line.tell)
    except KeyboardInterrupt as stop:
        if not world or world.main:
            say("Stopped. What was measured is saved; the same command goes on from there.")
        raise SystemExit(code(stop)) from None
    if world:
        found = _of_all(found, list(product([model for model, _ in models], found.columns)), world)
        world.leave()
        if not world.main:
            return
    found = found.and_(more)
    for text in (*_reused(found), *found.repeated, *found.missing, *found.failed):
        say(text)
    if not found.results and not found.failed:
        raise StrataError("No task could be scored. Set STRATA_DATA, or --data, to a folder with their files.")
    if found.results:
        print(_table(found.results, found.columns, options), end="")
    if found.failed:
        raise StrataError("Not everything could be scored; what could be is saved. The messages above say why.")


def _processes(options: argparse.Namespace) -> World | None:
    """The processes that torchrun started; None for a single one."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return None
    from explorer.training.loop.processes import PATIENCE, World

    settings = _measurement(options)
    return World(settings.precision, settings.device, PATIENCE)


def _of_all(found: EvaluationResult, cells: list[tuple[ScoredModel, ScoredTask]], world: World) -> EvaluationResult:
    """The evaluation of all processes, in the order of the cells; results are read from their files."""
    from explorer.evaluating.evaluation import EvaluationResult
    from explorer.evaluating.results.result_files import path_of, read

    saved, reused = (
        set(world.gathered([path_of(one.model, one.task) for one in of])) for of in (found.results, found.reused)
    )
    paths = [path for path in (path_of(*cell) for cell in cells) if path in saved]
    results = {path: result for path in paths if (result := read(path)) is not None}
    return EvaluationResult(
        tuple(results.values()),
        tuple(result for path, result in results.items() if path in reused),
        tuple(dict.fromkeys(world.gathered(found.missing))),
        tuple(dict.fromkeys(world.gathered(found.failed))),
        found.columns,
        found.repeated,
    )


def _reused(found: EvaluationResult) -> list[str]:
    """One line that says which results were saved already."""
    from explorer.evaluating.results import scored_task

    labels = scored_task.labels(found.columns)
    tasks: dict[str, list[str]] = {}
    for result in found.reused:
        tasks.setdefault(result.model.name, []).append(labels[result.task.digest])
    models: dict[str, list[str]] = {}
    for name, of_model in tasks.items():
        models.setdefault(", ".join(of_model), []).append(name)
    text = "; ".join(f"{', '.join(names)}: {of_models}" for of_models, names in models.items())
    return [f"Saved results, not measured again (--again does): {text}"] if text else []


def _tell_forecast(expected: Forecast) -> None:
    from explorer import in_words

    for name, task, cost in expected.costs:
        if cost is None:
            print(f"{name}, {task}: not estimated, since it has no transformer")
            continue
        usual, most = in_words.duration(cost.seconds), in_words.duration(cost.at_most)
        about = f"{cost.texts:,} texts"
        if cost.fits:
            about += f", {cost.fits:,} trainings, {in_words.size(cost.disk)} on the disk meanwhile"
        print(f"{name}, {task}: about {usual}, at most {most}; {about}")
    if expected.reused:
        print(f"{expected.reused} more {'are' if expected.reused > 1 else 'is'} saved already.")
    for text in (*expected.missing, *expected.failed):
        say(text)


def _subject(name: str, options: argparse.Namespace) -> Subject | WordSubject:
    from explorer.encoding.locate.model_names import find
    from explorer.evaluating.tasks import Subject
    from explorer.evaluating.word_subject import WordSubject, is_word_model

    settings = _measurement(options)
    if is_word_model(name):
        return WordSubject(name, settings)
    return Subject(find(name, online=options.online), settings)


def _scored(subject: Subject | WordSubject) -> ScoredModel:
    from explorer.evaluating.tasks import Subject
    from explorer.training.record.run_results import scored

    return scored(subject.found) if isinstance(subject, Subject) else subject.scored


def _table(results: Sequence[Result], tasks: Sequence[ScoredTask], options: argparse.Namespace) -> str:
    from explorer.evaluating.results import result_table, scored_task, table_formats
    from explorer.evaluating.tasks import retrieval

    if options.json:
        return table_formats.as_json(results)
    rows = result_table.models(results)
    ranking = None if options.measure else result_table.ranked(rows, tasks)
    letters = dict(zip(ranking.names, ranking.letters, strict=True)) if ranking else {}
    header, cells = result_table.cells(rows, tasks, measure=options.measure, letters=letters)
    form = next((form for form in table_formats.FORMATS if getattr(options, form)), None)
    if form:
        return table_formats.written(form, header, cells)
    labels = scored_task.labels(tasks)
    choices = [
        f"{labels[one.task.digest]}, {one.model.name}, {retrieval.intervals_text(one.measured.intervals)}\n"
        for one in results
        if one.measured.intervals
    ]
    return table_formats.as_text(header, cells) + "".join(choices)


def _divided(suites: Sequence[str], named: Sequence[str], probe: str) -> tuple[list[str], list[str]]:
    """The tasks that are scored as they are, by default those of the first suite, and those that are fine-tuned on."""
    from explorer.evaluating import tasks as known
    from explorer.studies import fine_tuning

    tasks: list[str] = []
    for suite in suites:
        tasks += fine_tuning.TASKS if suite == fine_tuning.SUITE else known.tasks_of(suite)
    tasks += [fine_tuning.named(task) or known.named(task) for task in named]
    tasks = list(dict.fromkeys(tasks)) or list(known.every_suite()[0].tasks)
    tuned = [task for task in tasks if task in fine_tuning.TASKS or (probe == PROBE and _is_classification(task))]
    if probe == PROBE and not tuned:
        raise BadChoice(
            "--probe fine-tuned is for classification tasks, and none is named. Add --suite glue, --suite transfer, or "
            "--task with a labelled file."
        )
    return [task for task in tasks if task not in tuned], tuned


def _tuning(given: argparse.Namespace, tuned: Sequence[str], seeds: tuple[int, ...]) -> TuningOptions:
    """The options of the fine-tuning; settings without a task to fine-tune on are refused."""
    from explorer.studies.fine_tuning import TuningOptions

    settings: dict[str, Any] = dict(flags.settings(given))
    if settings and not tuned:
        raise BadChoice("--set is for tasks that are fine-tuned on. Add --suite glue, or --probe fine-tuned.")
    if given.max_length:
        settings = {"max_length": given.max_length, **settings}
    return TuningOptions(seeds, settings, given.precision or "auto", given.device, given.online)


def _fine_tuned(models: Sequence[str], tuned: Sequence[str], options: TuningOptions) -> Work[EvaluationResult]:
    """Fine-tune every model on every task; files of word vectors have nothing to train, and are named."""
    from explorer.evaluating.evaluation import EvaluationResult
    from explorer.evaluating.word_subject import is_word_model
    from explorer.studies import fine_tuning

    if not tuned:
        return EvaluationResult((), (), (), (), ())
    encoders = [model for model in models if not is_word_model(model)]
    found = yield from fine_tuning.fine_tuning(encoders, tuned, options)
    left_out = tuple(f"{model} has no encoder to fine-tune." for model in models if model not in encoders)
    return replace(found, missing=found.missing + left_out)


def _estimate(models: Sequence[str], tuned: Sequence[str], options: TuningOptions) -> None:
    """Print the time and memory of each training, from one step."""
    if not tuned:
        return
    from explorer.progress import finish
    from explorer.studies import fine_tuning

    for model, task in product(models, tuned):
        with ProgressLine() as line:
            found = finish(fine_tuning.FineTuned(task).cost(model, options), line.tell)
        print(f"{model}, {fine_tuning.FineTuned(task).column[0]}: {found.words}")


def _is_classification(task: str) -> bool:
    """Whether a task has labels: a transfer task, or a labelled file or folder."""
    from explorer.data import corpora, sources
    from explorer.data.text_sets import LABELLED_TEXTS
    from explorer.evaluating.tasks import transfer

    if task in transfer.TASKS:
        return True
    known = sources.is_folder(task) or sources.is_file(task)
    return known and not corpora.serves(task)[LABELLED_TEXTS]
