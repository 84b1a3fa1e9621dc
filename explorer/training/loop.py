"""The one loop: a recipe becomes steps, one at a time. To stop is to take no next step.

The background thread, the command line and the tests all iterate it. It writes nothing but states and the model;
what it yields is for whoever records it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from explorer.data.kinds import GradedPairs
from explorer.encoding.head import Head
from explorer.measuring.checkup import Checkup
from explorer.progress import Progress, Work
from explorer.training import memento
from explorer.training import state as states
from explorer.training.learner import Learner, Update
from explorer.training.preparing import Prepared, prepare
from explorer.training.recipe import Recipe
from explorer.training.state import State
from explorer.training.trial import Estimate, check_reading, estimate
from explorer.training.world import World

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
        self.base: dict[str, float | None] = {}
        self.results: list[dict[str, Any]] = []
        self.champion: dict[str, Tensor] = {}  # the best of earlier seeds
        self.worn = recipe.seeds[0]  # the seed whose weights the model has in the end
        self._saved_at = time.monotonic()

    def steps(self, resume: bool = False) -> Iterator[Step]:
        """The loop, over every seed."""
        self.prepared = yield from self._telling(prepare(self.recipe, self.world.device.type, self.online))
        state = states.load(self.folder / "state") if resume else None
        if state is not None:
            yield from self._recall(state)
        for seed in self.recipe.seeds[len(self.results) :]:
            yield self._step(Progress("building the method", 0, 0), seed)
            learner = self.learner = Learner(self.prepared, seed, self.world)
            if state is not None and state.notes["seed"] == seed:
                memento.restore(learner, state)
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
        state = memento.state_of(learner)
        champion = {f"champion/{name}": weight for name, weight in self.champion.items()}
        notes = {"results": self.results, "base": self.base}
        states.save(self.folder / "state", State({**state.tensors, **champion}, {**state.notes, **notes}))
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
            self.worn = next(one["seed"] for one in self.results if one["dev"] == champion)
        else:
            learner.take_best()
            self.worn = learner.seed
        return learner

    def _champion_score(self) -> float | None:
        return max((one["dev"] for one in self.results if one["dev"] is not None), default=None)

    def _before(self, learner: Learner) -> Iterator[Step]:
        """What it will take, and what the base scores."""
        check_reading(learner)
        if self.world.size == 1 and learner.method.trains():
            yield self._step(Progress("trying a step", 0, 0))
            self.estimate = estimate(learner, self.folder, len(self.recipe.seeds))
            yield self._step(Progress("trying a step", 1, 1), told=f"estimate: {self.estimate.told}")
        head, base = learner.method.start(), {}
        base["dev"] = yield from self._score("scoring the base", learner, self.prepared.dev, head)
        if self.prepared.test:
            base["test"] = yield from self._score("scoring the base", learner, self.prepared.test, head)
        self.base = base  # all of it at once: a state that is kept before has to score the base anew
        told = ", ".join(f"{name} {score:.2f}" for name, score in self.base.items() if score is not None)
        yield self._step(Progress("scoring the base", 1, 1), told=f"the base scores {told or 'nothing'}")

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
        look = yield from self._telling(learner.look(self.prepared.dev), "looking at the development pairs")
        best = learner.note(look.spearman)
        yield self._step(Progress("training", learner.step, learner.total), look=look, best=best)

    def _save_if_due(self) -> None:
        if time.monotonic() - self._saved_at > SAVE_EVERY:  # once it is recorded: a state knows no more than the record
            self.save()

    def _conclude(self, learner: Learner) -> Iterator[Step]:
        """The best step of a seed, scored on the test pairs."""
        learner.take_best()
        test = None
        if self.prepared.test:
            test = yield from self._score("scoring the best step", learner, self.prepared.test, learner.method.head())
        own, champion = learner.best_score, self._champion_score()
        if own is not None and (champion is None or own > champion):
            # a copy even on the processor: a state cannot hold one tensor under two names
            self.champion = {name: weight.to("cpu", copy=True) for name, weight in learner.kept.items()}
        remark = learner.method.remark()
        result = {"seed": learner.seed, "steps": learner.step, "best_step": learner.best_step, "dev": own, "test": test}
        self.results.append(result | ({"remark": remark} if remark else {}))
        yield self._step(Progress("training", learner.step, learner.total), result=self.results[-1], told=remark)

    def _score(
        self, stage: str, learner: Learner, pairs: GradedPairs, head: Head
    ) -> Generator[Step, None, float | None]:
        """Spearman × 100 of graded pairs; None where there is none."""
        found = yield from self._telling(learner.look(pairs, head), stage)
        return None if math.isnan(found.spearman) else found.spearman

    def _recall(self, state: State) -> Iterator[Step]:
        self.results, self.base = list(state.notes["results"]), dict(state.notes["base"])
        self.champion = state.under("champion/")
        if len(self.results) == len(self.recipe.seeds):  # all that was left to do is to write the model
            self.learner = Learner(self.prepared, state.notes["seed"], self.world)
            memento.restore(self.learner, state)
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
