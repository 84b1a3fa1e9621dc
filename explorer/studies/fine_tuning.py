"""Fine-tune models on classification tasks, with a run for each, and save the scores of their test rows as results.

The suite `glue` is Table 10 of SG-BERT (Kim, Yoo and Lee 2021): whole encoders are fine-tuned, the first tenth of the
dev split validates and the rest is the test.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from explorer import knobs, methods, run_folder
from explorer.data import corpora, sources, text_sets
from explorer.data.labelled import labelled_sets
from explorer.data.tables.columns import plain
from explorer.encoding.locate import model_names
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import DataError, RunError
from explorer.evaluating.evaluation import EvaluationResult, with_name
from explorer.evaluating.probes.class_scores import MEASURES
from explorer.evaluating.results import result_files
from explorer.evaluating.results.scored_task import FINE_TUNING, GLUE, Items, Measured, ScoredTask, Setting, unscored
from explorer.evaluating.tasks import column_of
from explorer.progress import Progress, Work
from explorer.studies.recipe_runs import RecipeRuns
from explorer.training import running
from explorer.training.loop import estimate, measured_facts
from explorer.training.recipe import Recipe
from explorer.training.record import run_results, runs
from explorer.training.record.status import FINISHED

SUITE = GLUE
TASKS = tuple(known.name for known in labelled_sets.GLUE)
MAIN = {"GLUE CoLA": "Matthews"}  # GLUE's measure where it is not accuracy


@dataclass(frozen=True)
class TuningOptions:
    """What decides the scores besides model and task."""

    seeds: tuple[int, ...] = (1,)
    settings: knobs.Values = field(default_factory=dict)  # of the training that are not the default
    precision: str = "auto"
    device: str = "auto"
    online: bool = False


def named(task: str) -> str | None:
    """The task of the suite with this name, ignoring case and punctuation; None if there is none."""
    return next((name for name in TASKS if plain(name) == plain(task)), None)


def column(task: str) -> tuple[str, str]:
    """The name of a task, given by its name or path, and the end of the path of its folder."""
    known = labelled_sets.is_known(task) and not sources.is_folder(task)
    return (labelled_sets.find(task).name, "") if known else column_of(task)


def recipe(task: str, model: str, options: TuningOptions) -> Recipe:
    """The recipe of the run that fine-tunes a model on a task."""
    kinds = map(methods.load, methods.names())
    predicting = (kind for kind in kinds if issubclass(kind, methods.PredictedClasses))
    return Recipe(
        next(kind.name for kind in predicting if not kind.classifies_exported),  # its layer is trained with the encoder
        model,
        (sources.text(task),),
        elsewhere=(),  # its result is the score of the test rows
        settings={"validate_by": MAIN.get(task, MEASURES[0]), **options.settings},
        seeds=options.seeds,
        precision=options.precision,
        device=options.device,
    )


def cost(task: str, model: str, options: TuningOptions) -> Work[measured_facts.Estimate]:
    """Estimate time and memory of the training, from one step."""
    return estimate.try_out(recipe(task, model, options), options.online)


def score(task: str, model: str, options: TuningOptions, known: RecipeRuns) -> Work[result_files.Result]:
    """Train a run, or find it among those that are known, and take the scores of its test rows."""
    name, folder = column(task)
    yield Progress(f"{model}: {name}", 0, 0)
    (rows, _), wanted = corpora.corpus([sources.text(task)], text_sets.LABELLED_TEXTS), recipe(task, model, options)
    found = model_names.find(model, online=options.online)
    (run,) = known.of([wanted])
    if run is None:
        run = runs.new(wanted)
        yield from running.or_nothing(run, _trained(run, options.online, name))
    elif run.status().state != FINISHED:
        runs.restarted(run)
        yield from _trained(run, options.online, name)
    facts = run.status().facts
    settings: dict[str, Setting] = {
        **wanted.every_setting(),
        "seeds": ", ".join(map(str, wanted.seeds)),
        "precision": facts.precision or "",
        "device": facts.device or "",
    }
    key = ScoredTask(SUITE if task in TASKS else FINE_TUNING, rows.digest, settings, name, folder)
    return result_files.Result(run_results.scored(found), key, _measured(run, task, rows))


def fine_tuning(models: Sequence[str], tasks: Sequence[str], options: TuningOptions) -> Work[EvaluationResult]:
    """Fine-tune every model on every task; a task without its data is left out and named."""
    results: list[result_files.Result] = []
    missing: dict[str, None] = {}
    failed: dict[str, None] = {}
    columns: dict[str, dict[str, ScoredTask]] = {task: {} for task in tasks}
    known = RecipeRuns()
    for model, task in product(models, columns):
        try:
            result = yield from score(task, model, options, known)
        except DataError as error:
            missing[str(error)] = None
        except RunError as error:
            failed[f"{model} ({column(task)[0]}): {error}"] = None
        else:
            result_files.write(result)
            results.append(result)
            columns[task][result.task.digest] = result.task
    every = [one for task, found in columns.items() for one in found.values() or (unscored(task, *column(task)),)]
    return EvaluationResult(tuple(results), (), tuple(missing), tuple(failed), tuple(every))


def _trained(run: runs.Run, online: bool, task: str) -> Work[None]:
    """Train a run to its end."""
    yield from with_name(running.train(run, online), task)
    if not run.folder.is_dir() or run.status().state != FINISHED:
        raise RunError(f"The run '{run.name}' was stopped before its end. Evaluate again to resume it.")


def _measured(run: runs.Run, task: str, rows: text_sets.Corpus) -> Measured:
    """The scores of the test rows of each seed; the items are whether a row is right, averaged over seeds."""
    status, made_by = run.status(), run.recipe()
    scores = [one.classes for one in status.results if one.classes is not None]
    if len(scores) < len(made_by.seeds) or rows.test is None:
        raise RunError(f"The run '{run.name}' has no scores of its test rows. Delete it, then evaluate again.")
    main = MAIN.get(task, MEASURES[0])
    measures = (main, *(name for name in MEASURES if name != main))
    table = np.array([[[one.measure(name) for one in scores] for name in measures]])
    right = []  # of each seed, for each test row 1 if its predicted class is right, else 0
    for seed in made_by.seeds:
        with suppress(OSError):
            text = run_folder.predictions_file(run.folder, seed).read_text("utf-8", "surrogatepass")
            parts = (line.partition("\t") for line in text.split("\n")[1:-1])
            right.append([float(label == predicted) for label, _, predicted in parts])
    items = None
    if len(right) == len(made_by.seeds) and all(len(one) == len(rows.test) for one in right):
        items = Items(np.mean(right, axis=0), digest=rows.test.digest)
    setting: dict[str, Setting] = {
        "training": "whole encoder",
        "run": run.name,
        "precision": status.facts.precision,
        "train rows": len(rows),
        "validation rows": len(rows.validation or ()),
        **made_by.every_setting(),
        **run_results.of_training(status.facts),
    }
    # under the pooling that was fine-tuned, by default the model's own
    return Measured("test", (MODEL_DEFAULT,), measures, table, made_by.seeds, setting, items, status.seconds)
