"""Fine-tune models on classification tasks, with a run for each, and save the scores of their test rows as results.

The suite `glue` is Table 10 of SG-BERT (Kim, Yoo and Lee 2021): whole encoders are fine-tuned, the first tenth of the
dev split validates and the rest is the test.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from explorer import methods, run_folder
from explorer.data import corpora, sources
from explorer.data.labelled import labelled_sets
from explorer.data.tables.columns import plain
from explorer.data.text_sets import LABELLED_TEXTS, Corpus
from explorer.encoding.locate import model_names
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import DataError, RunError
from explorer.evaluating.evaluation import EvaluationResult, with_name
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import Result
from explorer.evaluating.results.scored_task import FINE_TUNING, GLUE, Items, Measured, ScoredTask, Setting, unscored
from explorer.evaluating.tasks import column_of
from explorer.knobs import Values
from explorer.measuring.scores.metrics import MEASURES
from explorer.progress import Progress, Work
from explorer.studies.recipe_runs import RecipeRuns
from explorer.training import running
from explorer.training.loop.estimate import try_out
from explorer.training.loop.measured_facts import Estimate
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record.run_results import scored
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED

SUITE = GLUE
TASKS = tuple(known.name for known in labelled_sets.GLUE)
MAIN = {"GLUE CoLA": "Matthews"}  # GLUE's measure where it is not accuracy


@dataclass(frozen=True)
class TuningOptions:
    """What decides the scores besides model and task."""

    seeds: tuple[int, ...] = (1,)
    settings: Values = field(default_factory=dict)  # of the training that are not the default
    precision: str = "auto"
    device: str = "auto"
    online: bool = False


def named(task: str) -> str | None:
    """The task of the suite with this name, ignoring case and punctuation; None if there is none."""
    return next((name for name in TASKS if plain(name) == plain(task)), None)


@dataclass(frozen=True)
class FineTuned:
    """A classification task that a whole encoder is fine-tuned on, by its name or path."""

    name: str

    @property
    def column(self) -> tuple[str, str]:
        """The name of the task, and the end of the path of its folder."""
        known = labelled_sets.is_known(self.name) and not sources.is_folder(self.name)
        return (labelled_sets.find(self.name).name, "") if known else column_of(self.name)

    def load(self) -> Corpus:
        """Its rows, some of which validate and test."""
        return corpora.corpus([self.name], LABELLED_TEXTS)[0]

    def recipe(self, model: str, options: TuningOptions) -> Recipe:
        """The recipe of the run that fine-tunes a model."""
        settings = {"validate_by": MAIN.get(self.name, MEASURES[0]), **options.settings}
        return Recipe(
            _method(),
            model,
            (self.name,),
            settings=settings,
            seeds=options.seeds,
            precision=options.precision,
            device=options.device,
        ).checked()

    def cost(self, model: str, options: TuningOptions) -> Work[Estimate]:
        """Estimate time and memory of the training, from one step."""
        return try_out(self.recipe(model, options), options.online)

    def key(self, data: str, recipe: Recipe, precision: str, device: str) -> ScoredTask:
        """The task as results identify it, from the digest of its rows and the recipe that is trained on them."""
        settings: dict[str, Setting] = {
            **recipe.every_setting(),
            "seeds": ", ".join(map(str, recipe.seeds)),
            "precision": precision,
            "device": device,
        }
        return ScoredTask(SUITE if self.name in TASKS else FINE_TUNING, data, settings, *self.column)

    def score(self, model: str, options: TuningOptions, known: RecipeRuns) -> Work[Result]:
        """Train a run, or find it among those that are known, and take the scores of its test rows."""
        name, _ = self.column
        yield Progress(f"{model}: {name}", 0, 0)
        rows, recipe = self.load(), self.recipe(model, options)
        found = model_names.find(model, online=options.online)
        (run,) = known.of([recipe])
        if run is None:
            run = runs.new(recipe)
            yield from running.or_nothing(run, _trained(run, options.online, name))
        elif run.status().state != FINISHED:
            runs.restarted(run)
            yield from _trained(run, options.online, name)
        facts = run.status().facts
        key = self.key(rows.digest, recipe, facts.precision or "", facts.device or "")
        return Result(scored(found), key, _measured(run, self.name, rows))


def fine_tuning(models: Sequence[str], tasks: Sequence[str], options: TuningOptions) -> Work[EvaluationResult]:
    """Fine-tune every model on every task; a task without its data is left out and named."""
    results: list[Result] = []
    missing: dict[str, None] = {}
    failed: dict[str, None] = {}
    columns: dict[FineTuned, dict[str, ScoredTask]] = {FineTuned(task): {} for task in tasks}
    known = RecipeRuns()
    for model, task in product(models, columns):
        try:
            result = yield from task.score(model, options, known)
        except DataError as error:
            missing[str(error)] = None
        except RunError as error:
            failed[f"{model} ({task.column[0]}): {error}"] = None
        else:
            result_files.write(result)
            results.append(result)
            columns[task][result.task.digest] = result.task
    every = [one for task, found in columns.items() for one in found.values() or (unscored(task.name, *task.column),)]
    return EvaluationResult(tuple(results), (), tuple(missing), tuple(failed), tuple(every))


def _method() -> str:
    """The method that fine-tunes on labelled texts and predicts their classes."""
    kinds = {name: methods.load(name) for name in methods.names()}
    return next(name for name, kind in kinds.items() if kind.rows == LABELLED_TEXTS and kind.predicts())


def _trained(run: Run, online: bool, task: str) -> Work[None]:
    """Train a run to its end."""
    yield from with_name(running.train(run, online), task)  # to stop it saves the state
    if not run.folder.is_dir() or run.status().state != FINISHED:
        raise RunError(f"The run '{run.name}' was stopped before its end. Evaluate again to resume it.")


def _measured(run: Run, task: str, rows: Corpus) -> Measured:
    """The scores of the test rows of each seed; the items are whether a row is right, averaged over seeds."""
    status, recipe = run.status(), run.recipe()
    scores = [one.classes for one in status.results if one.classes is not None]
    if len(scores) < len(recipe.seeds) or rows.test is None:
        raise RunError(f"The run '{run.name}' has no scores of its test rows. Delete it, then evaluate again.")
    main = MAIN.get(task, MEASURES[0])
    measures = (main, *(name for name in MEASURES if name != main))
    table = np.array([[[one.measure(name) for one in scores] for name in measures]])
    right = [_right(run, seed) for seed in recipe.seeds]
    items = None
    if all(len(one) == len(rows.test) for one in right):
        items = Items(np.mean(right, axis=0), digest=rows.test.digest)
    setting: dict[str, Setting] = {
        "training": "whole encoder",
        "run": run.name,
        "precision": status.facts.precision,
        "train rows": len(rows),
        "validation rows": len(rows.validation or ()),
        **recipe.every_setting(),
    }
    # under the pooling that was fine-tuned, by default the model's own
    return Measured("test", (MODEL_DEFAULT,), measures, table, recipe.seeds, setting, items, status.seconds)


def _right(run: Run, seed: int) -> list[float]:
    """For each test row 1 if its predicted class is right, else 0; empty if the file is damaged."""
    try:
        lines = run_folder.predictions_file(run.folder, seed).read_text("utf-8", "surrogatepass").split("\n")[1:-1]
    except OSError:
        return []
    return [float(label == predicted) for label, _, predicted in (line.partition("\t") for line in lines)]
