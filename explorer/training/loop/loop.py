"""The training loop, as a generator of steps; to stop, take no next step.

The background thread, the command line and the tests iterate it. It writes only states and the model; the caller
records what it yields.
"""

import math
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from explorer import methods, run_folder, typed_json
from explorer.measuring.geometry.vector_geometry import Checkup
from explorer.measuring.scores.judge import Floats
from explorer.methods import random_states, set_random_states
from explorer.progress import Phase, Progress, Work, finish
from explorer.training.loop import estimate, folds, judging, preparing, resume_state, stages
from explorer.training.loop.learner import Learner
from explorer.training.loop.measured_facts import Blend, Estimate, FoldScores, SeedScores, StageScores
from explorer.training.loop.training_facts import TrainingFacts, outcome
from explorer.training.recipe import Recipe, naming

SAVE_EVERY = 60.0  # seconds: a state of a large model takes one to write, so this costs little and loses little


@dataclass(frozen=True)
class Step:
    """One step of a run; fields that are not None are new."""

    progress: Progress
    seed: int
    number: int  # of the seed, from 1
    step: int = 0  # counted from the start of the first stage
    total: int = 0
    stage: int | None = None  # from 1; None in a run without stages
    of_fold: bool = False  # of a model that judges rows, and is not saved
    updates: tuple[run_folder.TrainingStep, ...] = ()
    checkup: Checkup | None = None
    watched: tuple[float, ...] = ()  # the cosines of the pairs that are watched, at an evaluation
    held_out: float | None = None  # the score of held-out rows, at an evaluation
    criterion: float | None = None  # what the best checkpoint is chosen by, at an evaluation
    best: bool = False
    message: str = ""
    evaluated_at: int = -1  # the last evaluation of a resumed run, which is not repeated
    result: SeedScores | None = None
    predicted: tuple[tuple[str, str], ...] = ()  # true and predicted class of each test row, with the result
    items: Floats | None = None  # what each item of the test set gets, with the result
    in_use: Mapping[str, Floats] | None = None  # what a product needs is computed from, with the result


class Training(TrainingFacts):
    """The training of a recipe: `steps` is the loop; `save` and `restore_best` are called at its end."""

    def __init__(self, recipe: Recipe, folder: Path, online: bool = False) -> None:
        super().__init__(recipe)
        self.folder, self.online = folder, online
        self.estimate: Estimate | None = None
        self.best_weights: dict[str, Tensor] = {}  # the best weights of earlier seeds
        self.cosines: dict[str, Floats] = {}  # of the best seed: of dev and test set, and of random pairs
        self.frozen: dict[str, tuple[str, ...]] = {}  # classes of test rows by the base, by the digest of what it saw
        self.stage = 1  # of the learner
        self.finished: list[StageScores] = []  # stages of the seed under way, or its folds
        self._lengths: tuple[int, ...] = ()  # steps that each part takes
        self._saved_at = time.monotonic()
        self._stopped_early = False  # the seed under way

    def steps(self, resume: bool = False) -> Iterator[Step]:
        """The loop, over every seed."""
        work = preparing.prepare(self.recipe, self.world.device.type, self.online, resumed=resume)
        self._prepared = yield from self._reported(work)
        state = resume_state.load(self.folder / run_folder.STATE) if resume else None
        if state is not None:
            yield from self._restore(state)
        for seed in self.recipe.seeds[len(self.results) :]:
            resumed = state if state is not None and state.notes["seed"] == seed else None
            first = resumed.notes.get("stage", 1) if resumed else 1
            if not resumed:
                self.finished, self.folds, self.judged = [], [], []
            for number in range(first, self.parts + 1):
                with naming(self.recipe, number):
                    yield from self._train_part(seed, number, resumed if number == first else None)

    def _train_part(self, seed: int, number: int, state: resume_state.State | None) -> Iterator[Step]:
        """Train a stage or a fold of a seed; a run without them has one part."""
        prepared = yield from self._reported(self._prepared_for(seed, number, self.finished))
        yield self._step(Progress(Phase.BUILDING, 0, 0), seed)
        learner = Learner(prepared, seed, self.world)
        self.learner, self.stage = learner, number
        if state is not None:
            resume_state.restore(learner, state)
            yield self._resumed(learner, f"resumed at step {self.numbered(learner.step)} of seed {seed}")
        else:
            if number > 1 and learner.total and self.recipe.stages:
                learner.skip_first_evaluation()  # the best checkpoint of the stage before has been evaluated
            of = f", {self._named(number)}" if self.parts > 1 else ""
            notes = self.notes(learner) if seed == self.recipe.seeds[0] else ()
            mined = prepared.reports if self.parts > 1 else ()  # a run with one part has recorded them
            for message in filter(None, (f"seed {seed}{of}", *notes, *mined, learner.left_out)):
                note = message if message in notes else ""
                yield self._step(Progress(Phase.STARTING, 0, 0, note=note), message=message)
            yield from self._reported(learner.fit(), Phase.FITTING)
        if not self.base:
            yield from self._measure_base(learner)
        yield from self._train_seed(learner)
        yield from self._conclude(learner) if number == self.parts else self._finish_part(learner)

    def _named(self, number: int) -> str:
        """A part of a seed, for the log."""
        if self.recipe.stages:
            return f"stage {number} of {self.parts}: {self.recipe.chain[number - 1].method}"
        return "all rows" if number == self.parts else f"fold {number} of {self.parts - 1}"

    def _prepared_for(
        self, seed: int, number: int, finished: Sequence[StageScores], *, mine: bool = True
    ) -> Work[preparing.Prepared]:
        """What a part of a seed needs; a stage starts from what the one before left."""
        if self.prepared.folds:
            return (yield from folds.prepare(self.prepared, number, seed, self.folds, mine=mine))
        device = self.world.device.type
        return (yield from stages.prepare(self.prepared, number, seed, self.folder, finished, device, mine=mine))

    def numbered(self, step: int) -> int:
        """The number of a step of the learner, counted from the start of the first stage or fold.

        A later stage that is fitted in closed form counts as one step.
        """
        if self.stage == 1:
            return step
        before = (self.folds or self.finished)[self.stage - 2]
        fitted = self.learner is not None and not self.learner.total
        return before.steps + step + fitted

    def save(self) -> None:
        """Save what resuming needs, between two steps; never weights that may be spoiled."""
        learner = self.learner
        if learner is None or not self.base or not self.world.main or not learner.sound:
            return
        state, folder = resume_state.state_of(learner), self.folder / run_folder.STATE
        best_weights = {f"best_of_seeds/{name}": weight for name, weight in self.best_weights.items()}
        base = {f"base/{name}": torch.from_numpy(items) for name, items in self.base.items()}
        cosines = {f"cosines/{name}": torch.from_numpy(found) for name, found in self.cosines.items()}
        notes = {**state.notes, "recipe": self.recipe.how_trained()}
        notes["results"] = [one.as_json() for one in self.results]
        judged = {f"fold/{place}": torch.from_numpy(items) for place, items in enumerate(self.judged)}
        if self.parts > 1:
            notes |= {"stage": self.stage, "lengths": self._lengths}
            notes["finished"] = [asdict(one) for one in self.finished[: self.stage - 1]]
            notes["folds"] = [asdict(one) for one in self.folds[: self.stage - 1]]
        tensors = {**state.tensors, **best_weights, **base, **cosines, **judged}
        resume_state.save(folder, resume_state.State(tensors, notes))
        self._saved_at = time.monotonic()

    def rest(self) -> Step | None:
        """What was measured and not yet yielded; to be recorded before a stopped run is saved."""
        learner = self.learner
        if learner is None or learner.sound:
            return None
        updates = learner.fetch()
        if learner.trouble:
            raise learner.trouble
        return self._training(learner, updates=updates)

    def restore_best(self) -> Learner | None:
        """The learner with the best weights of any seed; None if nothing was trained yet.

        Before the first evaluation, the weights are those of the last step.
        """
        learner = self.learner
        if learner is None or not (learner.changed or self.best_weights):
            return None
        self.is_over = True
        last = self.parts
        if self.prepared.folds:  # of several seeds the first is kept: none is chosen by the rows that judge it
            if self.stage < last and not self.best_weights:
                return None  # no model is trained on all rows yet
            learner.load_weights(self.best_weights, self.results[0].candidate if self.results else "")
            self.best_seed = self.recipe.seeds[0]
            return learner
        own, earlier = learner.best_score, self.best_earlier_score
        if earlier is not None and (own is None or earlier >= own or self.stage < last):
            best = next(one for one in self.results if one.selection_score == earlier)
            if self.recipe.stages and (best.seed, last) != (learner.seed, self.stage):  # it started from another model
                work = self._prepared_for(best.seed, last, best.stages, mine=False)
                self.learner = learner = Learner(finish(work), best.seed, self.world)
                self.stage, self.finished = last, list(best.stages)
            learner.load_weights(self.best_weights, best.candidate)
            self.best_seed = best.seed
        else:
            learner.restore_best()
            self.best_seed = learner.seed
        return learner

    def _measure_base(self, learner: Learner) -> Iterator[Step]:
        """Estimate the run and score the base."""
        trains = self.world.size == 1 and (bool(self.recipe.stages) or learner.method.trains())
        if trains:
            yield self._step(Progress(Phase.MEASURING_STEP, 0, 0))
        drawn = random_states()
        if self.prepared.folds:
            tried = estimate.try_folds(learner, self.prepared, self.folder)
        else:
            learners = stages.tried(self.prepared, learner.seed, self.world, learner)
            tried = estimate.try_stages(learners, self.prepared, self.folder)
        self.estimate, self._lengths = tried.estimate, tried.steps
        if self.recipe.stages:  # each of them has drawn weights
            set_random_states(drawn)
        if trains and self.estimate is not None:
            yield self._step(Progress(Phase.MEASURING_STEP, 1, 1), message=f"estimate: {self.estimate.words}")
        base = {}
        for name, judge in self.prepared.measured.items():
            work = judging.base_items(self.prepared.encoder, tried.last.method, judge)
            base[name] = yield from self._reported(work)
        self.base = base  # assigned at once: a state saved before it scores the base again
        scores = {name: found.before for name, found in self.verdict.by_use.items()}
        shown = ", ".join(f"{name} {score:.2f}" for name in base if (score := scores.get(name)) is not None)
        text = f"base scores, model default: {shown or 'none'}"
        yield self._step(Progress(Phase.EVALUATING_BASE, 1, 1), message=text)

    def _train_seed(self, learner: Learner) -> Iterator[Step]:
        self._stopped_early = learner.enough  # of a resumed run
        yield from self._evaluate_if_due(learner)
        self._save_if_due()
        while learner.step < learner.last and not self._stopped_early:
            self.meter.begin()
            learner.update()
            news = "; ".join(learner.captured.news())
            yield self._training(learner, updates=learner.fetch() if learner.fetch_due else (), message=news)
            if learner.trouble:
                raise learner.trouble
            yield from self._evaluate_if_due(learner)
            self._save_if_due()

    def _evaluate_if_due(self, learner: Learner) -> Iterator[Step]:
        if not learner.evaluation_due:
            return
        found = yield from self._reported(learner.evaluate(learner.prepared.dev), Phase.EVALUATING_DEV)
        if learner.prepared.fold == 0:  # its rows are trained on, and judge nothing
            found = replace(found, score=math.nan, every_layer=None)
        elif found.items is not None and (learner.prepared.fold or learner.starts_as_base):
            learner.judged.append((learner.step, found.items))
        cosines = judging.watched_cosines(learner.method, self.prepared.watched)
        watched = yield from self._reported(cosines, Phase.EVALUATING_DEV)
        held_out = yield from self._reported(learner.held_out_score(), Phase.EVALUATING_HELD_OUT)
        criterion = learner.criterion(found, held_out)
        best = learner.record_score(criterion, found.score)
        self._stopped_early = self.world.shared(learner.enough)  # rounding may differ between processes
        news = {"checkup": found, "watched": watched, "held_out": held_out, "criterion": criterion, "best": best}
        yield self._training(learner, **news)

    def _save_if_due(self) -> None:
        if time.monotonic() - self._saved_at > SAVE_EVERY:  # after recording: a state is never ahead of the record
            self.save()

    def _finish_part(self, learner: Learner) -> Iterator[Step]:
        """Keep what a stage or a fold before the last part leaves: its best checkpoint, or what judges its rows."""
        yield self._step(Progress(Phase.SAVING, 0, 0))
        self.save()  # whatever happens in the next part, this one need not be trained again
        message = f"{self._named(self.stage)} is done"
        if self.prepared.folds:
            work = folds.finish(learner, self.numbered(learner.step))
            fold, items = yield from self._reported(work, Phase.EVALUATING_HELD_OUT)
            self.folds = [*self.folds[: self.stage - 1], fold]
            self.judged = [*self.judged[: self.stage - 1], items]
            yield self._training(learner, message=f"{message}: the best is {fold.best:g}")
            return
        learner.restore_best()
        digest = ""
        if self.world.main:
            digest = stages.keep(learner, stages.folder_of(self.folder, learner.seed, self.stage), self.stage)
        best = None if learner.best_step is None else self.numbered(learner.best_step)
        criterion = None if learner.chosen_by_dev else learner.best_score
        found = (self.numbered(learner.step), best, learner.best_dev, criterion, self.world.shared(digest))
        self.finished = [*self.finished[: self.stage - 1], StageScores(learner.prepared.recipe.method, *found)]
        yield self._training(learner, message=message + (f": the best step is {best}" if best is not None else ""))

    def _conclude(self, learner: Learner) -> Iterator[Step]:
        """The best checkpoint of a seed, compared with the base on every evaluation set."""
        learner.restore_best()
        blend: Blend | None = None
        if self.prepared.folds:
            of_folds = folds.outcome(self.prepared, learner, self.folds, self.judged)
        else:
            blend = yield from self._reported(learner.blended(learner.prepared.dev), Phase.EVALUATING_DEV)
            of_folds = folds.FoldOutcome({}, None if blend is None else blend.alpha)
        nothing = self.nothing_now
        work = outcome(learner.method, self.prepared, self.base, of_folds.known, unchanged=nothing is not None)
        found = yield from self._reported(work)
        tested, method, judged = self.prepared.corpus.test, learner.method, of_folds.rows
        if tested is not None and isinstance(method, methods.PredictedClasses):  # test rows of labelled texts
            of_rows = judging.judged_rows(method, tested, learner.corpus, self.prepared.encoder, self.frozen)
            judged = yield from self._reported(of_rows, Phase.EVALUATING_TEST_ROWS)
        # only now, together with the result: a state saved before it has the weights that are to be blended
        if blend is not None:
            learner.keep_blend(blend)
        if self.prepared.folds:
            learner.keep_all()
        own, earlier = learner.best_score, self.best_earlier_score
        is_kept = not self.results if self.prepared.folds else own is not None and (earlier is None or own > earlier)
        if is_kept:
            # a copy, since a state cannot hold one tensor under two names
            self.best_weights = {name: weight.to("cpu", copy=True) for name, weight in learner.kept.items()}
        if is_kept or (earlier is None and not self.prepared.folds):
            self.cosines = found.cosines
        remark, verdict = learner.method.remark(), found.verdict
        result = SeedScores(
            seed=learner.seed,
            steps=self.numbered(learner.step),
            best_step=None if learner.best_step is None else self.numbered(learner.best_step),
            dev=verdict.dev.after if verdict.dev else None,
            test=verdict.test.after if verdict.test else None,
            verdict=verdict,
            criterion=own,
            dev_at_best_step=learner.best_dev,
            candidate=learner.best_candidate,
            blend=of_folds.share,
            remark=remark,
            classes=judged.classes,
            frozen=judged.frozen,
            stages=tuple(self.finished),
            folds=tuple(self.folds),
            nothing=nothing,
            ties=learner.ties,
        )
        self.results.append(result)
        in_use = judging.kept_in_use(self.prepared.judged, self.base, found.cosines)
        of_items = {"predicted": judged.predicted, "items": found.cosines.get("test"), "in_use": in_use}
        yield self._training(learner, result=result, message=remark, **of_items)

    def _restore(self, state: resume_state.State) -> Iterator[Step]:
        resume_state.check(state, self.recipe.how_trained())
        self.results = typed_json.read_each(SeedScores, state.notes["results"])
        self.base = {name: items.numpy() for name, items in state.under("base/").items()}
        self.cosines = {name: found.numpy() for name, found in state.under("cosines/").items()}
        self.best_weights = state.under("best_of_seeds/")
        self.finished = typed_json.read_each(StageScores, state.notes.get("finished", ()))
        self.folds = typed_json.read_each(FoldScores, state.notes.get("folds", ()))
        self.judged = [items.numpy() for _, items in sorted(state.under("fold/").items(), key=lambda one: int(one[0]))]
        self._lengths = tuple(state.notes.get("lengths", ()))
        if len(self.results) == len(self.recipe.seeds):  # only the model is left to write
            last, seed = self.parts, state.notes["seed"]
            self.stage = last
            prepared = yield from self._reported(self._prepared_for(seed, last, self.finished, mine=False))
            self.learner = Learner(prepared, seed, self.world)
            resume_state.restore(self.learner, state)
            yield self._resumed(self.learner, "resumed after the last seed")

    def _resumed(self, learner: Learner, message: str) -> Step:
        return self._step(
            Progress(Phase.RESUMING, 0, 0), message=message, evaluated_at=self.numbered(learner.evaluated_at)
        )

    def _reported(self, work: Work[Any], phase: Phase | None = None) -> Generator[Step, None, Any]:
        """Yield a step for each progress report of some work, which is of this phase or says its own."""
        while True:
            try:
                progress = next(work)
            except StopIteration as end:
                return end.value
            yield self._step(Progress(phase, progress.done, progress.total) if phase else progress)

    def _training(self, learner: Learner, updates: Sequence[run_folder.TrainingStep] = (), **news: Any) -> Step:
        if updates:
            self.meter.fetched(len(updates), len(updates) * learner.schedule.accumulate * learner.feed.rows_a_batch)
        if self.parts > 1:
            updates = [replace(one, step=self.numbered(one.step), stage=self.stage) for one in updates]
        of_run = self._step(Progress(Phase.TRAINING, 0, 0), updates=tuple(updates), **news)
        return replace(of_run, progress=Progress(Phase.TRAINING, of_run.step, of_run.total))

    def _step(self, progress: Progress, seed: int | None = None, **news: Any) -> Step:
        learner = self.learner
        seed = seed if seed is not None else learner.seed if learner else self.recipe.seeds[0]
        if learner is None or learner.seed != seed:
            several = self._prepared is not None and self.parts > 1
            return Step(progress, seed, len(self.results) + 1, stage=1 if several else None, **news)
        number = self.recipe.seeds.index(seed) + 1
        if self.parts == 1:
            return Step(progress, seed, number, learner.step, learner.total, **news)
        total = self.numbered(learner.last) + sum(length or 1 for length in self._lengths[self.stage :])
        at = self.numbered(learner.step), total, self.stage, bool(learner.prepared.fold)
        return Step(progress, seed, number, *at, **news)
