"""The training loop, as a generator of steps; to stop, take no next step.

The background thread, the command line and the tests iterate it. It writes only states and the model; the caller
records what it yields.
"""

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from explorer import methods, run_folder, typed_json
from explorer.encoding.read.head_facts import HeadFacts
from explorer.measuring.comparing.learned import NOTHING, pack_items_changes
from explorer.measuring.geometry.vector_geometry import Checkup
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.judge import PACKS, Floats
from explorer.measuring.scores.metrics import ClassScores, class_scores
from explorer.progress import Phase, Progress, Work
from explorer.training.loop import estimate, judging, preparing, processes, resume_state
from explorer.training.loop.learner import Learner
from explorer.training.loop.measured_facts import Adapters, Cut, Estimate, SeedScores
from explorer.training.recipe import Recipe

# a state of a large model takes a second to write: one per minute costs little and loses little
SAVE_EVERY = 60.0


@dataclass(frozen=True)
class Step:
    """One step of a run; fields that are not None are new."""

    progress: Progress
    seed: int
    number: int  # of the seed, from 1
    step: int = 0
    total: int = 0
    updates: tuple[run_folder.TrainingStep, ...] = ()
    checkup: Checkup | None = None
    held_out: float | None = None  # the score of held-out rows, at an evaluation
    criterion: float | None = None  # what the best checkpoint is chosen by, at an evaluation
    best: bool = False
    message: str = ""
    evaluated_at: int = -1  # of a resumed run: its last evaluation, which is not repeated
    result: SeedScores | None = None
    predicted: tuple[tuple[str, str], ...] = ()  # true and predicted class of each test row, with the result
    items: Floats | None = None  # what each item of the test set gets, with the result


class Training:
    """The training of a recipe: `steps` is the loop; `save` and `finish` are called at its end."""

    def __init__(self, recipe: Recipe, folder: Path, online: bool = False) -> None:
        self.recipe, self.folder, self.online = recipe, folder, online
        self.world = processes.World(recipe.precision, recipe.device)
        self._prepared: preparing.Prepared | None = None
        self.learner: Learner | None = None
        self.estimate: Estimate | None = None
        self.base: dict[str, Floats] = {}  # (2, item), by evaluation set, and of the probe packs
        self.results: list[SeedScores] = []
        self.best_weights: dict[str, Tensor] = {}  # the best weights of earlier seeds
        self.cosines: dict[str, Floats] = {}  # of the best seed: of dev and test set, and of random pairs
        self.best_seed = recipe.seeds[0]  # the seed whose weights the model has in the end
        self._saved_at = time.monotonic()
        self._stopped_early = False  # the seed under way

    def steps(self, resume: bool = False) -> Iterator[Step]:
        """The loop, over every seed."""
        self._prepared = yield from self._reported(preparing.prepare(self.recipe, self.world.device.type, self.online))
        state = resume_state.load(self.folder / run_folder.STATE) if resume else None
        if state is not None:
            yield from self._restore(state)
        for seed in self.recipe.seeds[len(self.results) :]:
            yield self._step(Progress(Phase.BUILDING, 0, 0), seed)
            learner = self.learner = Learner(self.prepared, seed, self.world)
            if state is not None and state.notes["seed"] == seed:
                resume_state.restore(learner, state)
                yield self._resumed(learner, f"resumed at step {learner.step} of seed {seed}")
            else:
                yield self._step(Progress(Phase.STARTING, 0, 0), message=f"seed {seed}")
                if learner.left_out:
                    yield self._step(Progress(Phase.STARTING, 0, 0), message=learner.left_out)
                yield from self._reported(learner.fit(), Phase.FITTING)
            if not self.base:
                yield from self._measure_base(learner)
            yield from self._train_seed(learner)
            yield from self._conclude(learner)

    @property
    def prepared(self) -> preparing.Prepared:
        """Encoder, text and evaluation sets, which the first steps load."""
        assert self._prepared is not None, "nothing is loaded before the first step of a training"
        return self._prepared

    @property
    def reading(self) -> HeadFacts | None:
        """The layer & pooling that is trained; of a part of the base, as the base counts its layers."""
        if self.learner is None:
            return None
        method = self.learner.method
        return (method.head() if method.base.encoder is self.prepared.encoder else method.base_head()).facts()

    @property
    def adapters(self) -> Adapters | None:
        """The adapters that are trained; None if all weights are."""
        return Adapters.of(self.learner.method.exported) if self.learner else None

    @property
    def blend(self) -> float | None:
        """The share of the tuned weights in the saved model; None if they are not blended with the base."""
        return next((one.blend for one in self.results if one.seed == self.best_seed), None)

    @property
    def cut(self) -> Cut | None:
        """What remains of the base's layers and weights; None if all do."""
        return Cut.of(self.prepared.encoder, self.learner.method.exported.encoder) if self.learner else None

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
        resume_state.save(folder, resume_state.State({**state.tensors, **best_weights, **base, **cosines}, notes))
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
        own, earlier = learner.best_score, self._best_earlier_score()
        if earlier is not None and (own is None or earlier >= own):
            best = next(one for one in self.results if one.selection_score == earlier)
            learner.load_weights(self.best_weights, best.candidate)
            self.best_seed = best.seed
        else:
            learner.restore_best()
            self.best_seed = learner.seed
        return learner

    def _best_earlier_score(self) -> float | None:
        return max((score for one in self.results if (score := one.selection_score) is not None), default=None)

    @property
    def verdict(self) -> verdicts.RunVerdict:
        """The verdict on the exported weights; of a seed that did not finish, the base's scores."""
        found = next((one.verdict for one in self.results if one.seed == self.best_seed), None)
        if found is not None or not self.base:
            return found or verdicts.RunVerdict()
        judged = self.prepared.judged.items()
        before = {name: verdicts.before_training(judge, self.base[name]) for name, judge in judged}
        others = self.prepared.elsewhere.items()
        elsewhere = tuple(one.verdict(verdicts.before_training(one.judge, self.base[use])) for use, one in others)
        return verdicts.of_uses(before, bool(self.prepared.seen), elsewhere=elsewhere)

    def _measure_base(self, learner: Learner) -> Iterator[Step]:
        """Estimate the run and score the base."""
        estimate.check_reading(learner)
        if self.world.size == 1 and learner.method.trains():
            yield self._step(Progress(Phase.MEASURING_STEP, 0, 0))
            judges = list(self.prepared.measured.values())
            others = [one.judge for one in self.prepared.elsewhere.values()]
            self.estimate = estimate.estimate(learner, self.folder, len(self.recipe.seeds), judges, others)
            yield self._step(Progress(Phase.MEASURING_STEP, 1, 1), message=f"estimate: {self.estimate.words}")
        base = {}
        for name, judge in self.prepared.measured.items():
            work = judging.base_items(self.prepared.encoder, learner.method, judge)
            base[name] = yield from self._reported(work)
        self.base = base  # assigned at once: a state saved before it scores the base again
        scores = {name: found.declared_base for name, found in self.verdict.by_use.items()}
        shown = ", ".join(f"{name} {score:.2f}" for name in base if (score := scores.get(name)) is not None)
        done = Progress(Phase.EVALUATING_BASE, 1, 1)
        yield self._step(done, message=f"base scores, model default: {shown or 'none'}")

    def _train_seed(self, learner: Learner) -> Iterator[Step]:
        self._stopped_early = learner.enough  # of a resumed run
        yield from self._evaluate_if_due(learner)
        self._save_if_due()
        while learner.step < learner.total and not self._stopped_early:
            learner.update()
            yield self._training(learner, updates=learner.fetch() if learner.fetch_due else ())
            if learner.trouble:
                raise learner.trouble
            yield from self._evaluate_if_due(learner)
            self._save_if_due()

    def _evaluate_if_due(self, learner: Learner) -> Iterator[Step]:
        if not learner.evaluation_due:
            return
        found = yield from self._reported(learner.evaluate(self.prepared.dev), Phase.EVALUATING_DEV)
        held_out = yield from self._reported(learner.held_out_score(), Phase.EVALUATING_HELD_OUT)
        criterion = learner.criterion(found.score, held_out)
        best = learner.record_score(criterion, found.score)
        self._stopped_early = self.world.shared(learner.enough)  # rounding may differ between processes
        yield self._training(learner, checkup=found, held_out=held_out, criterion=criterion, best=best)

    def _save_if_due(self) -> None:
        if time.monotonic() - self._saved_at > SAVE_EVERY:  # after recording: a state is never ahead of the record
            self.save()

    def _conclude(self, learner: Learner) -> Iterator[Step]:
        """The best checkpoint of a seed, compared with the base on every evaluation set."""
        learner.restore_best()
        blend = yield from self._reported(learner.blended(self.prepared.dev), Phase.EVALUATING_DEV)
        found, learned, packs = {}, NOTHING, self.prepared.packs
        elsewhere: list[verdicts.ElsewhereVerdict] = []
        cosines: dict[str, Floats] = {}
        for name, judge in self.prepared.measured.items():
            work = judging.tuned_items(learner.method, judge)
            items, drawn = yield from self._reported(work, Phase.EVALUATING_BEST)
            cosines |= {name: items} if name in ("dev", "test") else {}
            cosines |= {judging.RANDOM: drawn} if name == "dev" else {}
            if name in self.prepared.elsewhere:
                outcome = verdicts.judged(judge, self.base[name], items)
                elsewhere.append(self.prepared.elsewhere[name].verdict(outcome))
            elif name != PACKS:
                found[name] = verdicts.judged(judge, self.base[name], items)
            if packs is not None and judge.digest == packs.digest and name in self.base:
                learned = pack_items_changes(self.base[name][0], items)
        classes: ClassScores | None = None
        predicted: tuple[tuple[str, str], ...] = ()
        rows, method = self.prepared.corpus.test, learner.method
        if rows is not None and isinstance(method, methods.PredictedClasses):  # test rows of labelled texts, in float32
            words = yield from self._reported(method.predicted(rows.texts), Phase.EVALUATING_TEST_ROWS)
            classes, predicted = class_scores(rows.labels, words), tuple(zip(rows.labels, words, strict=True))
        optimistic = bool(self.prepared.seen)
        verdict = verdicts.of_uses(found, optimistic, learned.packs, learned.pairs, tuple(elsewhere))
        # only now, together with the result: a state saved before it has the weights that are to be blended
        if blend is not None:
            learner.keep_blend(blend)
        own, earlier = learner.best_score, self._best_earlier_score()
        if own is not None and (earlier is None or own > earlier):
            # a copy, since a state cannot hold one tensor under two names
            self.best_weights = {name: weight.to("cpu", copy=True) for name, weight in learner.kept.items()}
        if earlier is None or (own is not None and own > earlier):
            self.cosines = cosines
        remark = learner.method.remark()
        result = SeedScores(
            seed=learner.seed,
            steps=learner.step,
            best_step=learner.best_step,
            dev=learner.best_dev,
            test=verdict.test.exported if verdict.test else None,
            verdict=verdict,
            criterion=own if self.prepared.held_out else None,
            candidate=learner.best_candidate,
            blend=blend and blend.alpha,
            remark=remark,
            classes=classes,
        )
        self.results.append(result)
        yield self._training(learner, result=result, predicted=predicted, items=cosines.get("test"), message=remark)

    def _restore(self, state: resume_state.State) -> Iterator[Step]:
        resume_state.check(state, self.recipe.how_trained())
        found = (typed_json.read(SeedScores, one) for one in state.notes["results"])
        self.results = [one for one in found if one is not None]
        self.base = {name: items.numpy() for name, items in state.under("base/").items()}
        self.cosines = {name: found.numpy() for name, found in state.under("cosines/").items()}
        self.best_weights = state.under("best_of_seeds/")
        if len(self.results) == len(self.recipe.seeds):  # only the model is left to write
            self.learner = Learner(self.prepared, state.notes["seed"], self.world)
            resume_state.restore(self.learner, state)
            yield self._resumed(self.learner, "resumed after the last seed")

    def _resumed(self, learner: Learner, message: str) -> Step:
        return self._step(Progress(Phase.RESUMING, 0, 0), message=message, evaluated_at=learner.evaluated_at)

    def _reported(self, work: Work[Any], phase: Phase | None = None) -> Generator[Step, None, Any]:
        """Yield a step for each progress report of some work, which is of this phase or says its own."""
        while True:
            try:
                progress = next(work)
            except StopIteration as end:
                return end.value
            yield self._step(Progress(phase, progress.done, progress.total) if phase else progress)

    def _training(self, learner: Learner, **news: Any) -> Step:
        return self._step(Progress(Phase.TRAINING, learner.step, learner.total), **news)

    def _step(self, progress: Progress, seed: int | None = None, **news: Any) -> Step:
        learner = self.learner
        if seed is None:
            seed = learner.seed if learner else self.recipe.seeds[0]
        if learner is None or learner.seed != seed:
            return Step(progress, seed, len(self.results) + 1, **news)
        number = self.recipe.seeds.index(seed) + 1
        return Step(progress, seed, number, learner.step, learner.total, **news)
