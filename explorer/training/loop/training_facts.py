"""What a training has found out, as its run records it: facts of the model and the verdict on the kept weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import torch

from explorer.data import sources
from explorer.encoding.read.head_facts import HeadFacts
from explorer.encoding.tune.adapters import effective
from explorer.measuring.comparing.learned_facts import NOTHING, pack_items_changes
from explorer.measuring.comparing.nothing_learned import (
    BELOW,
    IN_FOLDS,
    NO_GRADIENT,
    NO_RATE,
    STOPPED,
    TIED,
    NothingLearned,
    excluded_gain,
)
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.judge import PACKS, Floats
from explorer.measuring.sentences.cut_texts import CutTexts
from explorer.methods import Method
from explorer.progress import Phase, Work, in_phase
from explorer.training.loop import folds, judging, preparing, processes, stages, training_texts
from explorer.training.loop.computed import DeviceMeter
from explorer.training.loop.learner import Learner
from explorer.training.loop.measured_facts import (
    SAME,
    Adapters,
    Cut,
    FoldFacts,
    FoldScores,
    OverriddenSettings,
    SeedScores,
    StageFacts,
    overridden,
)
from explorer.training.recipe import Recipe

OVERRIDDEN = "Settings with another value than the recipe states: {}."


class TrainingFacts:
    """What a training holds, and the facts that follow from it."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.world = processes.World(recipe.precision, recipe.device)
        self.meter = DeviceMeter(self.world.device.type)
        self._prepared: preparing.Prepared | None = None
        self.learner: Learner | None = None
        self.base: dict[str, Floats] = {}  # (2, item), by evaluation set, and of the probe packs
        self.texts_cut: CutTexts | None = None  # of the last text that was counted
        self.results: list[SeedScores] = []
        self.folds: list[FoldScores] = []  # of the seed under way
        self.judged: list[Floats] = []  # of each fold, what its items got from everything that was tried (tried, item)
        self.best_seed = recipe.seeds[0]  # the seed whose weights the model has in the end
        self.is_over = False  # it has ended, or is stopped, and the weights in place are those that are saved

    @property
    def prepared(self) -> preparing.Prepared:
        """Encoder, text and evaluation sets, which the first steps load."""
        assert self._prepared is not None, "nothing is loaded before the first step of a training"
        return self._prepared

    @property
    def parts(self) -> int:
        """The trainings of a seed, one after the other: stages, or the folds and that on all rows; mostly one."""
        return len(self.prepared.folds) + 1 if self.prepared.folds else len(self.recipe.chain)

    @property
    def best_earlier_score(self) -> float | None:
        """The best selection score of the seeds that are done; None before there is one."""
        return max((score for one in self.results if (score := one.selection_score) is not None), default=None)

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
        done = self.kept.folds if self.kept else ()
        best = tuple(one.best for one in done)
        chosen = folds.chosen(self.prepared, done) if done else None
        return FoldFacts(
            len(self.prepared.folds), len(self.prepared.corpus), not folds.by_steps(self.prepared), best, chosen
        )

    @property
    def adapters(self) -> Adapters | None:
        """The adapters that are trained; None if all weights are."""
        return Adapters.of(self.learner.method.exported) if self.learner else None

    @property
    def layers(self) -> int | None:
        """How many layers are trained, if the mean of their dev scores chooses the checkpoint."""
        method = self.learner and self.learner.method
        return method.trained_layers if method and method.every_layer is not None else None

    @property
    def nothing(self) -> NothingLearned | None:
        """Why the saved model equals the base; None if it does not, or if no weights of the encoder are trained."""
        if self.kept is not None:
            return self.kept.nothing
        return self.nothing_now if self.is_over else None

    @property
    def nothing_now(self) -> NothingLearned | None:
        """The same of the weights that are in place."""
        if self.learner is None or not self.recipe.trains_encoder:
            return None
        found, done = why_nothing_learned(self.learner), self.folds
        if found is None or not self.prepared.folds or not done or folds.chosen(self.prepared, done):
            return found
        of_base, *tried = folds.tried_by_all(self.prepared, self.judged)
        excluded = excluded_gain(self.prepared.dev, of_base, tried)
        if folds.by_steps(self.prepared):
            return NothingLearned(IN_FOLDS, sum(not one.best for one in done), items=len(done), excluded=excluded)
        scores = folds.mean_scores(done)
        base, *others = (scores[share] for share in sorted(scores))
        on = sources.CROSS_FITTED, len(self.prepared.corpus)
        return NothingLearned(BELOW, len(others), base, max(others), *on, excluded)

    @property
    def blend(self) -> float | None:
        """The share of the tuned weights in the saved model; None if they are not blended with the base."""
        return self.kept.blend if self.kept else None

    @property
    def kept(self) -> SeedScores | None:
        """The scores of the seed whose weights the model has; None before it is done."""
        return next((one for one in self.results if one.seed == self.best_seed), None)

    @property
    def overridden(self) -> OverriddenSettings:
        """The settings of the training under way of which it uses another value than the recipe states."""
        learner = self.learner
        if learner is None or not learner.method.trains():
            return OverriddenSettings()
        return overridden(learner.schedule, learner.total, learner.method.base.encoder.max_length)

    def notes(self, learner: Learner) -> tuple[str, ...]:
        """What to know of a stage, or of all folds, before its first step: texts that are cut, settings overridden."""
        if self.prepared.folds and self.texts_cut is not None:
            return ()  # they are those of the first fold
        corpus = self.prepared.corpus if self.prepared.folds else learner.prepared.corpus
        longest = learner.schedule.max_length if learner.method.trains() else None
        self.texts_cut = training_texts.cut(corpus, self.prepared.encoder, longest)
        cut = self.texts_cut.text if self.texts_cut else ""
        return tuple(filter(None, (cut, OVERRIDDEN.format(self.overridden.words) * bool(self.overridden))))

    @property
    def cut(self) -> Cut | None:
        """What remains of the base's layers and weights; None if all do."""
        return Cut.of(self.prepared.encoder, self.learner.method.exported.encoder) if self.learner else None

    @property
    def verdict(self) -> verdicts.RunVerdict:
        """The verdict on the exported weights; of a seed that did not finish, the base's scores."""
        found = self.kept and self.kept.verdict
        if found is not None or not self.base:
            return found or verdicts.RunVerdict()
        judged = self.prepared.judged.items()
        before = {name: verdicts.before_training(judge, self.base[name]) for name, judge in judged}
        others = self.prepared.elsewhere.items()
        elsewhere = tuple(one.verdict(verdicts.before_training(one.judge, self.base[use])) for use, one in others)
        return verdicts.of_uses(before, self.prepared.optimistic, elsewhere=elsewhere)


def why_nothing_learned(learner: Learner) -> NothingLearned | None:
    """Why the weights in place equal those of the base, compared one by one; None if one of them differs."""
    if not learner.starts_as_base or not _is_base(learner):
        return None
    dev, held_out = learner.prepared.dev, learner.held_out
    on, items = (dev.name, len(dev)) if held_out is None else (held_out.name, len(held_out))
    base, *later = learner.scores or [math.nan]
    known = [score for score in later if not math.isnan(score)]
    best = max(known, default=math.nan)
    if not later and learner.step < learner.total:
        why = STOPPED
    elif not any(learner.rate(step) for step in range(learner.step)):
        why = NO_RATE
    elif learner.best_step == 0:
        why = TIED if base - best <= SAME else BELOW
    else:
        why = NO_GRADIENT
    before, after = (None if math.isnan(score) else score for score in (base, best))
    known_items = [of_each for _, of_each in learner.judged]
    excluded = None
    if why == BELOW and learner.chosen_by_dev and len(known_items) == len(learner.scores):
        excluded = excluded_gain(dev, known_items[0], known_items[1:])
    measure = dev.measure if held_out is None else ""
    return NothingLearned(why, len(later), before, after, on, items, excluded, measure)


def _is_base(learner: Learner) -> bool:
    """Whether the weights that would be saved are the base's, to the bit."""
    exported, before = learner.method.exported, learner.prepared.base
    weights = dict((before or exported.encoder).model.named_parameters())
    now = effective(exported.model)
    return weights.keys() == now.keys() and all(
        torch.equal(weight.detach(), weights[name].to(weight)) for name, weight in now.items()
    )


@dataclass(frozen=True)
class Outcome:
    """The verdict on the best checkpoint of a seed, and its cosines of dev set, test set and random pairs."""

    verdict: verdicts.RunVerdict
    cosines: dict[str, Floats]


def outcome(
    method: Method,
    prepared: preparing.Prepared,
    base: Mapping[str, Floats],
    known: Mapping[str, Floats] = MappingProxyType({}),
    *,
    unchanged: bool = False,
) -> Work[Outcome]:
    """Judge the exported model on everything that the base was scored on; `unchanged` if its weights are the base's.

    `known` is what the items of some sets get from models that did not see them.
    """
    if unchanged:  # its scores are those of the base as it was trained, and there is no difference to test
        before = {name: verdicts.before_training(judge, base[name]) for name, judge in prepared.judged.items()}
        found = {name: replace(one, after=one.before_as_trained) for name, one in before.items()}
        return Outcome(verdicts.of_uses(found), {})
    found, learned = {}, NOTHING
    elsewhere: list[verdicts.ElsewhereVerdict] = []
    cosines: dict[str, Floats] = {}
    for name, judge in prepared.measured.items():
        items, drawn = yield from in_phase(judging.tuned_items(method, judge, known.get(name)), Phase.EVALUATING_BEST)
        cosines |= {name: items} if name in ("dev", "test") else {}
        cosines |= {judging.RANDOM: drawn} if name == "dev" or name in known else {}
        if name in prepared.elsewhere:
            elsewhere.append(prepared.elsewhere[name].verdict(verdicts.judged(judge, base[name], items)))
        elif name != PACKS:
            found[name] = verdicts.judged(judge, base[name], items, chose=name in prepared.choosing)
        if prepared.packs is not None and judge.digest == prepared.packs.digest and name in base:
            learned = pack_items_changes(base[name][0], items, base[name][1])
    verdict = verdicts.of_uses(found, prepared.optimistic, learned.packs, learned.pairs, tuple(elsewhere))
    return Outcome(verdict, cosines)
