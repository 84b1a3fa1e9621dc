"""Score models on suites of tasks."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from explorer import errors, in_words, knobs, places
from explorer.commands.parts import flags, output
from explorer.data import corpora, sources, text_sets
from explorer.data.graded import sts
from explorer.data.set_items import QUERY, counted
from explorer.encoding.locate.model_names import find
from explorer.evaluating import kinds
from explorer.evaluating import tasks as known
from explorer.evaluating.evaluation import AnySubject, EvaluationResult, Sets, evaluation, forecast, loaded
from explorer.evaluating.results import (
    group_scores,
    rank_groups,
    rank_verdict,
    result_table,
    scored_task,
    table_formats,
)
from explorer.evaluating.results.result_files import ScoredModel, path_of, read
from explorer.evaluating.tasks import Subject, retrieval, transfer, word_models
from explorer.measuring.comparing import splits
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.metrics import measure_in_words
from explorer.measuring.scores.verdict import CI
from explorer.progress import Work, map_progress
from explorer.studies.size import static_folder
from explorer.training.record.run_results import scored

if TYPE_CHECKING:
    from explorer.studies.fine_tuning import TuningOptions
    from explorer.training.loop.processes import World

PROBE = "fine-tuned"  # the choice of --probe
STOPPED = "Stopped. What was measured is saved; the same command goes on from there."


def evaluate_flags(verb: argparse.ArgumentParser) -> None:
    """Take models, the tasks that they are scored on, and the settings of the scores."""
    verb.add_argument(
        "models",
        nargs="+",
        metavar="MODEL",
        help="Names, folders, hub ids, or run:NAME; static: before one of them for its static encoder; for STS also a "
        "file of word vectors (GloVe), or bag-of-words; for retrieval also bm25",
    )
    usual, *others = known.every_suite()
    suites = ", ".join(f"{one.name} ({one.about})" if one.about else one.name for one in others)
    verb.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="SUITE",
        help=f"{usual.name} ({usual.about}, default), {suites}, or glue (classification by fine-tuning the whole "
        "encoder); repeatable",
    )
    verb.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="TASK|FILE",
        help="One task, such as STS12 or MR; a file of scored pairs, of triplets, of translations, of texts with "
        "labels, or of queries with passages; a folder with labelled train and test files, with a test file of pairs "
        "labelled 1 or 0 or of texts with labels, or with a retrieval set in BEIR's layout; repeatable",
    )
    verb.add_argument(
        "--data", type=places.given_path, metavar="FOLDER", help="The folder of data sets (default: STRATA_DATA)"
    )
    of_tuning = replace(flags.SET, help="Of fine-tuning: any setting of the training.")
    flags.add(verb, of_tuning, *_settings().values(), splits.SplitOptions, flags.ONLINE)
    verb.add_argument(
        "--measure", metavar="NAME", help="For the table: 'spearman wmean', 'pearson', … (default: the task's main one)"
    )
    flags.add_estimate(verb, "Print what each task takes that is not saved, from a short trial")
    flags.add_forms(verb, json="Every layer & pooling, as JSON")


def _settings() -> dict[str, knobs.Knob]:
    """What decides scores, as flags: of the classifier, fine-tuning the encoder is another choice."""
    probe = scored_task.Options.knobs["probe"]
    tuned = replace(
        probe,
        choices=(*probe.choices, PROBE),
        help=f"{probe.help} '{PROBE}' trains the whole encoder with a classification layer instead, "
        "as --suite glue does.",
    )
    prompts = {
        name: replace(
            scored_task.Options.knobs[name],
            help=f"Put before every {role} of a retrieval set: a text, or a name in the model's table; '' for none.",
        )
        for name, role in (("query_prompt", "query"), ("document_prompt", "document"))
    }
    # the one of a training is chosen by the machine
    precision = replace(
        Settings.knobs["precision"], default=None, empty=f"{scored_task.EVALUATED.precision}; of fine-tuning auto"
    )
    return {**scored_task.Options.knobs, "probe": tuned, **prompts, **Settings.knobs, "precision": precision}


def evaluate(options: argparse.Namespace) -> int:
    """Score models on suites of tasks, such as all STS sets.

    Score each model on each task under every layer & pooling (on transfer tasks under the model default unless
    --reading names others), write the results in MTEB's layout (STRATA_RESULTS names the folder), and print the scores
    of the model defaults × 100. Models that share a letter do not differ significantly, on these tasks (paired
    bootstrap of the items of each) or on tasks like these (paired t-test over the tasks); Holm's correction,
    5 %. The exit code is 2 if a task has no data.
    """
    from explorer.studies import fine_tuning

    if options.data:
        os.environ[sts.VARIABLE] = str(options.data)
    tasks, tuned = _divided(options)
    stated = flags.values(options, scored_task.Options.knobs)
    if options.probe == PROBE:
        del stated["probe"]
    chosen = scored_task.Options(**stated, online=options.online)
    measurement = Settings(options.precision or scored_task.EVALUATED.precision, options.device, options.max_length)
    models = _models(options, measurement)
    training = _tuning(options, chosen, tuned)
    if options.estimate:
        _print_estimate(models, tasks, chosen)
        for name, task in product(options.models, tuned):
            cost = output.shown(fine_tuning.cost(task, name, training))
            print(f"{name}, {fine_tuning.column(task)[0]}: {cost.words}")
        return 0
    sets = loaded(tasks, chosen) if options.split else None
    columns = _columns(sets, options) if sets is not None else {}
    world = _processes(measurement, tuned)
    if world:
        share = slice(world.rank, None, world.size)
        results = _of_all(models, evaluation(models, tasks, chosen, share, sets), world)
        if not world.main:
            return 0
    else:
        results = output.finish_or_stop(evaluation(models, tasks, chosen, slice(None), sets), STOPPED)
    if tuned:
        results = _with_fine_tuning(results, tuned, training, options.models)
    _print(results, options, columns)
    return errors.UNMEASURED if results.missing and not world else 0  # torchrun takes any other code for a crash


def _tuning(options: argparse.Namespace, chosen: scored_task.Options, tasks: Sequence[str]) -> TuningOptions:
    """How tasks are fine-tuned on."""
    from explorer.studies import fine_tuning

    settings: dict[str, Any] = dict(flags.settings(options))
    if settings and not tasks:
        raise errors.BadChoice("--set is for tasks that are fine-tuned on. Add --suite glue, or --probe fine-tuned.")
    if tasks and chosen.prompt is not None:
        raise errors.BadChoice(
            "--prompt is for models as they are, and not for tasks that are fine-tuned on. Leave it out, or train with "
            "'train classify --prompt'."
        )
    if tasks:
        output.say_unreadable()
    if options.max_length:
        settings = {"max_length": options.max_length, **settings}
    precision = options.precision or "auto"
    return fine_tuning.TuningOptions(chosen.seeds, settings, precision, options.device, options.online)


def _with_fine_tuning(
    results: EvaluationResult, tasks: list[str], training: TuningOptions, models: list[str]
) -> EvaluationResult:
    """Results with those of tasks that the encoders are fine-tuned on."""
    from explorer.studies import fine_tuning

    encoders = [name for name in models if not word_models.is_word_model(name)]
    results = results.and_(output.finish_or_stop(fine_tuning.fine_tuning(encoders, tasks, training), STOPPED))
    left_out = (f"{name} has no encoder to fine-tune." for name in models if name not in encoders)
    return replace(results, missing=(*results.missing, *left_out))


def _columns(sets: Sets, options: argparse.Namespace) -> group_scores.Columns:
    """The column of --split of each set that has it; what cannot be split is refused before minutes of work."""
    if flags.form(options) not in ("", "json"):
        raise errors.BadChoice("--split has no rows in the other forms of the table. Choose --json, or the text.")
    known: dict[str, None] = {}
    found: dict[tuple[str, str], group_scores.SplitColumn] = {}
    for task in sets.values():
        if isinstance(task, errors.DataError) or type(task.data) not in [kind.data for kind in kinds.every()]:
            continue
        for one in task.data.split_columns:
            known[one.name] = None
            if one.name.casefold() == options.split.casefold():
                found.setdefault((task.kind, task.data.digest), group_scores.SplitColumn(one, task.data.item))
    if known and not found:
        raise errors.BadChoice(f"No task can be split by '{options.split}'. Choose one of: {', '.join(known)}.")
    return found


def _print(results: EvaluationResult, options: argparse.Namespace, columns: group_scores.Columns) -> None:
    labels = scored_task.labels(results.columns)
    tasks: dict[str, list[str]] = {}
    for result in results.reused:
        tasks.setdefault(result.model.name, []).append(labels[result.task.digest])
    models: dict[str, list[str]] = {}
    for name, of_model in tasks.items():
        models.setdefault(", ".join(of_model), []).append(name)
    if models:
        reused = "; ".join(f"{', '.join(names)}: {of_models}" for of_models, names in models.items())
        output.say(f"Saved results, not measured again (--again does): {reused}")
    lacking = group_scores.lacking(results.columns, columns, options.split) if options.split else ""
    for text in filter(None, (*results.repeated, *results.missing, *results.failed, lacking)):
        output.say(text)
    if not results.results and not results.failed:
        raise errors.StrataError("No task could be scored. Set STRATA_DATA, or --data, to a folder with their files.")
    if results.results:
        print(_table(results, options, group_scores.of_results(results.results, columns)), end="")
    if results.failed:
        raise errors.StrataError("Not everything could be scored; what could be is saved. The messages above say why.")


def _models(options: argparse.Namespace, settings: Settings) -> list[tuple[ScoredModel, AnySubject]]:
    models: list[tuple[ScoredModel, AnySubject]] = []
    for name in options.models:
        if word_models.is_word_model(name):
            words = word_models.WordSubject(name, settings)
            models.append((words.scored, words))
        else:
            found = output.shown(static_folder.of_source(name, partial(find, online=options.online)))
            models.append((scored(found), Subject(found, settings)))
    return models


def _divided(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The tasks that are scored as they are, by default those of the first suite, and those that are fine-tuned on."""
    from explorer.studies import fine_tuning

    tasks: list[str] = []
    for suite in options.suite:
        tasks += fine_tuning.TASKS if suite == fine_tuning.SUITE else known.tasks_of(suite)
    tasks += [fine_tuning.named(task) or known.named(task) for task in options.task]
    tasks = list(dict.fromkeys(tasks)) or list(known.every_suite()[0].tasks)
    every = options.probe == PROBE

    def has_labels(task: str) -> bool:
        there = sources.is_folder(task) or sources.is_file(task)
        return task in transfer.TASKS or (there and not corpora.serves(sources.text(task))[text_sets.LABELLED_TEXTS])

    tuned = [task for task in tasks if task in fine_tuning.TASKS or (every and has_labels(task))]
    if every and not tuned:
        raise errors.BadChoice(
            "--probe fine-tuned is for classification tasks, and none is named. Add --suite glue, --suite transfer, or "
            "--task with a labelled file."
        )
    return [task for task in tasks if task not in tuned], tuned


def _print_estimate(
    models: Sequence[tuple[ScoredModel, AnySubject]], tasks: Sequence[str], options: scored_task.Options
) -> None:
    expected = output.shown(forecast(models, tasks, options))
    for name, task, cost in expected.costs:
        if cost is None:
            print(f"{name}, {task}: not estimated, since it has no transformer")
            continue
        usual, most = in_words.duration(cost.seconds), in_words.duration(cost.at_most)
        about = f"{cost.texts:,} texts"
        if cost.fits:
            about += f", {cost.fits:,} trainings, {in_words.size(cost.disk)} on the disk meanwhile"
        print(f"{name}, {task}: about {usual}, at most {most}; {about}")
        if cost.cut is not None and cost.cut.text:
            print(f"  {cost.cut.text}")
    if expected.reused:
        print(f"{len(expected.reused)} more {'are' if len(expected.reused) > 1 else 'is'} saved already.")
    for text in (*expected.missing, *expected.failed):
        output.say(text)


def _processes(settings: Settings, tuned: Sequence[str]) -> World | None:
    """The processes that torchrun started; None for a single one, which alone can fine-tune."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return None
    from explorer.training.loop.processes import PATIENCE, World

    world = World(settings.precision, settings.device, PATIENCE)
    if tuned:
        raise errors.BadChoice("Fine-tuned tasks are evaluated by one process. Start the command without torchrun.")
    return world


def _of_all(
    models: Sequence[tuple[ScoredModel, AnySubject]], work: Work[EvaluationResult], world: World
) -> EvaluationResult:
    """The evaluation of all processes, by model and task; results are read from their files."""
    if not world.main:
        work = map_progress(work, lambda progress: replace(progress, note=""))
    found = output.finish_or_stop(work, STOPPED if world.main else "")
    cells = list(product([model for model, _ in models], found.columns))
    saved, reused = (
        set(world.gathered([path_of(one.model, one.task) for one in of])) for of in (found.results, found.reused)
    )
    paths = [path for path in (path_of(*cell) for cell in cells) if path in saved]
    results = {path: result for path in paths if (result := read(path)) is not None}
    known = tuple(result for path, result in results.items() if path in reused)
    missing, failed = (tuple(dict.fromkeys(world.gathered(texts))) for texts in (found.missing, found.failed))
    world.leave()
    return replace(found, results=tuple(results.values()), reused=known, missing=missing, failed=failed)


def _table(evaluated: EvaluationResult, options: argparse.Namespace, groups: Mapping[str, splits.ScoreSplit]) -> str:
    results, tasks = evaluated.results, evaluated.columns
    if options.json:
        return table_formats.as_json(results, group_scores.as_json(groups))
    rows = result_table.models(results)
    ranking = None if options.measure else rank_groups.ranked(rows, tasks)
    groups_of = ranking.letters if ranking else {}
    header, cells = result_table.cells(rows, tasks, measure=options.measure, groups=groups_of)
    table = flags.table(options, header, cells)
    if flags.form(options):
        return table
    labels = scored_task.labels(tasks)
    lines = []
    for one in results:
        name, measured = f"{labels[one.task.digest]}, {one.model.name}", one.measured
        measure = options.measure or measured.measures[0]
        if measure in measured.ends:
            lines.append(f"{name}, {measure_in_words(measure)}: {CI} {in_words.interval(*measured.ends[measure])}\n")
        if measured.intervals and measured.intervals.choice:
            lines.append(f"{name}, {retrieval.choice_text(measured.intervals.choice)}\n")
    pools = {
        labels[one.task.digest]: counted(int(str(setting["queries"])), QUERY, int(str(setting["documents"])))
        for one in results
        if one.task.kind == scored_task.RETRIEVAL and {"queries", "documents"} <= {*(setting := one.measured.setting)}
    }
    lines += [f"{name}: {pool}\n" for name, pool in pools.items()]
    none = [
        f"{labels[one.task.digest]}, {one.model.name}: no score, {why}\n"
        for one in results
        if (why := one.measured.setting.get(scored_task.NO_SCORE))
    ]
    measures = result_table.measures_of(rows, tasks)
    verdict = [f"{table_formats.visible(rank_verdict.text_of(ranking, measures))}\n"] if ranking else []
    return table + "".join((*verdict, *lines, *none)) + group_scores.as_text(results, tasks, groups)
