"""What a training has found out, as its run records it: facts of the model and the verdict on the kept weights."""

from __future__ import annotations

from explorer.encoding.read.head_facts import HeadFacts
from explorer.measuring.comparing.nothing_learned import NothingLearned
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.judge import Floats
from explorer.training.loop import folds, preparing, stages, unlearned
from explorer.training.loop.learner import Learner
from explorer.training.loop.measured_facts import Adapters, Cut, FoldFacts, SeedScores, StageFacts, Ties
from explorer.training.recipe import Recipe


class TrainingFacts:
    """The facts of a training, from what it holds."""

    recipe: Recipe
    _prepared: preparing.Prepared | None
    learner: Learner | None
    base: dict[str, Floats]  # (2, item), by evaluation set, and of the probe packs
    results: list[SeedScores]
    best_seed: int  # the seed whose weights the model has in the end
    is_over: bool  # it has ended, or is stopped, and the weights in place are those that are saved

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
        method, encoder = self.learner.method, self.learner.prepared.encoder
        return (method.head() if method.base.encoder is encoder else method.base_head()).facts()

    @property
    def stages(self) -> StageFacts | None:
        """The stages of the run; None if it has one training."""
        return stages.facts(self.prepared)

    @property
    def fold_facts(self) -> FoldFacts | None:
        """How every row is judged; None if no rows are cross-fitted."""
        if not self.prepared.folds:
            return None
        done = self._kept_result.folds if self._kept_result else ()
        by_share = self.recipe.schedule().blend != 1
        best = tuple(one.best for one in done)
        return FoldFacts(
            len(self.prepared.folds), len(self.prepared.corpus), by_share, best, folds.chosen(done) if done else None
        )

    @property
    def adapters(self) -> Adapters | None:
        """The adapters that are trained; None if all weights are."""
        return Adapters.of(self.learner.method.exported) if self.learner else None

    @property
    def nothing(self) -> NothingLearned | None:
        """Why the saved model equals the base; None if it does not, or if no weights of the encoder are trained."""
        if self._kept_result is not None:
            return self._kept_result.nothing
        if self.learner is None or not self.is_over or not self.recipe.trains_encoder:
            return None
        return unlearned.nothing_learned(self.learner)

    @property
    def ties(self) -> Ties | None:
        """What decided between evaluations with the best score; None if one of them has it."""
        return self._kept_result.ties if self._kept_result else None

    @property
    def blend(self) -> float | None:
        """The share of the tuned weights in the saved model; None if they are not blended with the base."""
        return self._kept_result.blend if self._kept_result else None

    @property
    def _kept_result(self) -> SeedScores | None:
        """The scores of the seed whose weights the model has; None before it is done."""
        return next((one for one in self.results if one.seed == self.best_seed), None)

    @property
    def cut(self) -> Cut | None:
        """What remains of the base's layers and weights; None if all do."""
        return Cut.of(self.prepared.encoder, self.learner.method.exported.encoder) if self.learner else None

    @property
    def verdict(self) -> verdicts.RunVerdict:
        """The verdict on the exported weights; of a seed that did not finish, the base's scores."""
        found = self._kept_result and self._kept_result.verdict
        if found is not None or not self.base:
            return found or verdicts.RunVerdict()
        judged = self.prepared.judged.items()
        before = {name: verdicts.before_training(judge, self.base[name]) for name, judge in judged}
        others = self.prepared.elsewhere.items()
        elsewhere = tuple(one.verdict(verdicts.before_training(one.judge, self.base[use])) for use, one in others)
        return verdicts.of_uses(before, bool(self.prepared.seen), elsewhere=elsewhere)
