"""The tasks of `evaluate` that fine-tune the whole encoder: which they are, their settings and their results."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from explorer.commands.parts import flags
from explorer.commands.parts.line import ProgressLine
from explorer.errors import BadChoice
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.evaluating.evaluation import EvaluationResult
    from explorer.studies.fine_tuning import TuningOptions

PROBE = "fine-tuned"  # the choice of --probe


def divided(suites: Sequence[str], named: Sequence[str], probe: str) -> tuple[list[str], list[str]]:
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


def options_of(given: argparse.Namespace, tuned: Sequence[str], seeds: tuple[int, ...]) -> TuningOptions:
    """The options of the fine-tuning; settings without a task to fine-tune on are refused."""
    from explorer.studies.fine_tuning import TuningOptions

    settings: dict[str, Any] = dict(flags.settings(given))
    if settings and not tuned:
        raise BadChoice("--set is for tasks that are fine-tuned on. Add --suite glue, or --probe fine-tuned.")
    if given.max_length:
        settings = {"max_length": given.max_length, **settings}
    return TuningOptions(seeds, settings, given.precision or "auto", given.device, given.online)


def evaluation(models: Sequence[str], tuned: Sequence[str], options: TuningOptions) -> Work[EvaluationResult]:
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


def estimate(models: Sequence[str], tuned: Sequence[str], options: TuningOptions) -> None:
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
    from explorer.data.row_kinds import LABELLED_TEXTS
    from explorer.evaluating.tasks import transfer

    if task in transfer.TASKS:
        return True
    known = sources.is_folder(task) or sources.is_file(task)
    return known and not corpora.serves(task)[LABELLED_TEXTS]
