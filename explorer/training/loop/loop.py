"""The one loop: a recipe becomes steps, one at a time. To stop is to take no next step.

The background thread, the command line and the tests all iterate it. It writes nothing but states and the model;
what it yields is for whoever records it.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer.data.kinds import GradedPairs
from explorer.measuring.geometry.dev_check import Checkup
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.verdict import BaseCosines, Verdict
from explorer.progress import Progress, Work
from explorer.training.loop import judging, resume_state
from explorer.training.loop.estimate import Estimate, check_reading, estimate
from explorer.training.loop.learner import Learner, Update
from explorer.training.loop.preparing import Prepared, prepare
from explorer.training.loop.processes import World
from explorer.training.loop.resume_state import State
from explorer.training.recipe import Recipe

# a state takes a second to write where the model is large: one a minute costs little, and little is lost
SAVE_EVERY = 60.0


@dataclass(frozen=True)
class Step:
    """One look at a run under way; what is not None is new."""

    progress: Progress
    seed: int
    number: int  # of the seed, from 1
    step: int = 0
    total: int = 0
    update: Update | None = None
    look: Checkup | None = None
    accuracy: float | None = None  # on held-out triplets, at a look
    criterion: float | None = None  # what the best checkpoint is chosen by, at a look
    best: bool = False
    told: str = ""
    looked_at: int = -1  # of a run that is gone on with: its last look that is not to be taken again
    result: Mapping[str, Any] | None = None


class Training:
    """A recipe on its way: `steps` is the loop; `save` and `finish` are for whoever ends it."""

    def __init__(self, recipe: Recipe, folder: Path, online: bool = False) -> None:
        self.recipe, self.folder, self.online = recipe, folder, online
        self.world = World(recipe.precision, recipe.device)
        self.prepared: Prepared
        self.learner: Learner | None = None
        self.estimate: Estimate | None = None
        self.base: dict[str, BaseCosines] = {}  # by evaluation set: dev, and test if there is one
        self.results: list[dict[str, Any]] = []
        self.champion: dict[str, Tensor] = {}  # the best of earlier seeds
        self.worn = recipe.seeds[0]  # the seed whose weights the model has in the end
        self._saved_at = time.monotonic()

    def steps(self, resume: bool = False) -> Iterator[Step]:
        """The loop, over every seed."""
        self.prepared = yield from self._telling(prepare(self.recipe, self.world.device.type, self.online))
        state = resume_state.load(self.folder / "state") if resume else None
        if state is not None:
            yield from self._recall(state)
        for seed in self.recipe.seeds[len(self.results) :]:
            yield self._step(Progress("building the method", 0, 0), seed)
            learner = self.learner = Learner(self.prepared, seed, self.world)
            if state is not None and state.notes["seed"] == seed:
                resume_state.restore(learner, state)
                yield self._resumed(learner, f"resumed at step {learner.step} of seed {seed}")
            else:
                yield self._step(Progress("beginning", 0, 0), told=f"seed {seed}")
                yield from self._telling(learner.fit(), "fitting")
            if not self.base:
                yield from self._before(learner)
            yield from self._one_seed(learner)
            yield from self._conclude(learner)

    @property
    def reading(self) -> str:
        """Which reading is trained, in words: `cls of the last layer`."""
        return self.learner.method.head().describe() if self.learner else ""

    def save(self) -> None:
        """Keep what resuming needs, as it is between two steps."""
        learner = self.learner
        if learner is None or not self.base or not self.world.main:
            return
        state = resume_state.state_of(learner)
        champion = {f"champion/{name}": weight for name, weight in self.champion.items()}
        base = {f"base/{name}": _stacked(cosines) for name, cosines in self.base.items()}
        notes = {**state.notes, "results": self.results}
        resume_state.save(self.folder / "state", State({**state.tensors, **champion, **base}, notes))
        self._saved_at = time.monotonic()

    def wear_best(self) -> Learner | None:
        """The learner with the best weights so far on, of any seed; None where nothing was learned yet.

        Where the development pairs were not looked at yet, the weights are those of the last step.
        """
        learner = self.learner
        if learner is None or not (learner.changed or self.champion):
            return None
        own, champion = learner.best_score, self._champion_score()
        if champion is not None and (own is None or champion >= own):
            learner.wear(self.champion)
            self.worn = next(one["seed"] for one in self.results if _chosen_by(one) == champion)
        else:
            learner.take_best()
            self.worn = learner.seed
        return learner

    def _champion_score(self) -> float | None:
        return max((score for one in self.results if (score := _chosen_by(one)) is not None), default=None)

    @property
    def verdict(self) -> Verdict:
        """What the weights that are worn come to, as exported; of a seed that did not finish, the base's scores."""
        found = next((one.get("verdict") for one in self.results if one["seed"] == self.worn), None)
        if found is not None or not self.base:
            return verdicts.read(found) or Verdict()
        before = {name: verdicts.base_outcome(pairs, self.base[name]) for name, pairs in self.judged()}
        return Verdict(**before, optimistic=bool(self.prepared.seen))

    def judged(self) -> list[tuple[str, GradedPairs]]:
        """The evaluation sets by what they are for."""
        test = self.prepared.test
        return [("dev", self.prepared.dev), *([("test", test)] if test else [])]

    def _before(self, learner: Learner) -> Iterator[Step]:
        """What it will take, and what the base scores."""
        check_reading(learner)
        if self.world.size == 1 and learner.method.trains():
            yield self._step(Progress("trying a step", 0, 0))
            self.estimate = estimate(learner, self.folder, len(self.recipe.seeds))
            yield self._step(Progress("trying a step", 1, 1), told=f"estimate: {self.estimate.told}")
        base = {}
        for name, pairs in self.judged():
            work = judging.base_cosines(self.prepared.encoder, learner.method.start(), pairs)
            base[name] = yield from self._telling(work)
        self.base = base  # all of it at once: a state that is kept before has to score the base anew
        scores = {name: getattr(self.verdict, name).declared_base for name in base}
        told = ", ".join(f"{name} {score:.2f}" for name, score in scores.items() if score is not None)
        done = Progress("evaluating the base", 1, 1)
        yield self._step(done, told=f"the base, as people use it, scores {told or 'nothing'}")

    def _one_seed(self, learner: Learner) -> Iterator[Step]:
        yield from self._look_if_due(learner)
        self._save_if_due()
        while not self.world.said(int(learner.done)):
            update = learner.update()
            yield self._step(Progress("training", learner.step, learner.total), update=update)
            yield from self._look_if_due(learner)
            self._save_if_due()

    def _look_if_due(self, learner: Learner) -> Iterator[Step]:
        if not learner.look_due:
            return
        look = yield from self._telling(learner.look(self.prepared.dev), "evaluating on the dev set")
        accuracy = yield from self._telling(learner.held_out_accuracy(), "evaluating on held-out triplets")
        criterion = learner.criterion(look.spearman, accuracy)
        best = learner.note(criterion, look.spearman)
        done = Progress("training", learner.step, learner.total)
        yield self._step(done, look=look, accuracy=accuracy, criterion=criterion, best=best)

    def _save_if_due(self) -> None:
        if time.monotonic() - self._saved_at > SAVE_EVERY:  # once it is recorded: a state knows no more than the record
            self.save()

    def _conclude(self, learner: Learner) -> Iterator[Step]:
        """The best checkpoint of a seed, compared with the base on every evaluation set."""
        learner.take_best()
        found = {}
        for name, pairs in self.judged():
            work = judging.tuned_outcome(learner.method, pairs, self.base[name])
            found[name] = yield from self._telling(work, "evaluating the best checkpoint")
        verdict = Verdict(**found, optimistic=bool(self.prepared.seen))
        own, champion = learner.best_score, self._champion_score()
        if own is not None and (champion is None or own > champion):
            # a copy even on the processor: a state cannot hold one tensor under two names
            self.champion = {name: weight.to("cpu", copy=True) for name, weight in learner.kept.items()}
        remark = learner.method.remark()
        result = {"seed": learner.seed, "steps": learner.step, "best_step": learner.best_step, "dev": learner.best_dev,
                  "test": verdict.test and verdict.test.exported, "verdict": verdict.as_json()}  # fmt: skip
        if self.prepared.held_out:
            result["criterion"] = own
        self.results.append(result | ({"remark": remark} if remark else {}))
        yield self._step(Progress("training", learner.step, learner.total), result=self.results[-1], told=remark)

    def _recall(self, state: State) -> Iterator[Step]:
        self.results = list(state.notes["results"])
        self.base = {name: BaseCosines(*cosines.numpy()) for name, cosines in state.under("base/").items()}
        self.champion = state.under("champion/")
        if len(self.results) == len(self.recipe.seeds):  # all that was left to do is to write the model
            self.learner = Learner(self.prepared, state.notes["seed"], self.world)
            resume_state.restore(self.learner, state)
            yield self._resumed(self.learner, "resumed when every seed was done")

    def _resumed(self, learner: Learner, told: str) -> Step:
        return self._step(Progress("resuming", 0, 0), told=told, looked_at=learner.looked_at)

    def _telling(self, work: Work[Any], stage: str = "") -> Generator[Step, None, Any]:
        """Work, a step for each of its tellings."""
        while True:
            try:
                progress = next(work)
            except StopIteration as end:
                return end.value
            yield self._step(Progress(stage, progress.done, progress.total) if stage else progress)

    def _step(self, progress: Progress, seed: int | None = None, **news: Any) -> Step:
        learner = self.learner
        if seed is None:
            seed = learner.seed if learner else self.recipe.seeds[0]
        if learner is None or learner.seed != seed:
            return Step(progress, seed, len(self.results) + 1, **news)
        number = self.recipe.seeds.index(seed) + 1
        return Step(progress, seed, number, learner.step, learner.total, **news)


def _chosen_by(result: Mapping[str, Any]) -> float | None:
    """What the best checkpoint of a seed was chosen by: the dev score, unless held-out triplets have a say."""
    score: float | None = result.get("criterion", result["dev"])
    return score


def _stacked(cosines: BaseCosines) -> Tensor:
    """Both rows of cosines (layer & pooling, pair), as a state keeps them."""
    return torch.from_numpy(np.stack([cosines.declared, cosines.same_reading]))
