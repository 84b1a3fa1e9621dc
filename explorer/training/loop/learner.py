"""Train one seed: weights, optimiser, order of the rows, the best checkpoint so far, and when to stop early."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from explorer import optimizers, run_folder
from explorer.encoding.export import exporting
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, Diverged
from explorer.evaluating.probes.class_rows import RowsJudge
from explorer.evaluating.probes.class_scores import class_scores
from explorer.measuring.geometry.vector_geometry import Checkup
from explorer.measuring.scores.judge import Floats, Judge
from explorer.methods import Batch, Feed, Fitting, Method, PredictedClasses, sow
from explorer.progress import Work
from explorer.training.loop import judging, preparing, processes
from explorer.training.loop.measured_facts import Blend, Ties

# steps between two fetches of what was measured, unless the device is this processor: each one makes a GPU wait
FETCH_EVERY = 20
SHARES = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))  # of which a blend is chosen


class Learner:
    """One seed's training, a step at a time."""

    def __init__(self, prepared: preparing.Prepared, seed: int, world: processes.World) -> None:
        recipe = prepared.recipe
        self.prepared, self.seed, self.world = prepared, seed, world
        self.schedule = recipe.schedule()
        sow(seed)  # every process initialises the same weights …
        again = self.schedule.gradient_checkpointing and recipe.kind.trains_encoder()
        base = Tunable(prepared.encoder, self.schedule.max_length, self.schedule.lora, checkpointing=again)
        self.method: Method = recipe.kind(base, recipe.method_values(), prepared.corpus.classes)
        self._module = world.place(self.method)
        self.method.train()
        sow(seed + 7919 * world.rank)  # … but draws its own dropout
        self.corpus, self.held_out = prepared.rows[seed], prepared.held_out
        if isinstance(self.method, PredictedClasses):
            self.method.training_rows = self.corpus
        if self.method.trains():
            exporting.check_head(prepared.encoder, self.method.head())
            sampler = self.method.sampler()
            self.feed = Feed(self.corpus, self.schedule, seed, world.rank, world.size, sampler)
            self.optimizer = self.method.make_optimizer(self.method.groups(self.schedule), self.schedule)
            self.captured = world.capturing(self.method, self.schedule)
        self.names = {weight: name for name, weight in self.method.named_parameters() if weight.requires_grad}
        self.step = 0
        self.scores: list[float] = []  # the selection score of every evaluation, step 0 first
        self.best_dev: float | None = None  # score × 100 on the dev set at the best step
        self.evaluated_at = -1
        self.best_step: int | None = None
        self.best_candidate = ""
        self.by_loss = False  # whether the loss on held-out rows has decided between equal scores
        self.judged: list[tuple[float, Floats]] = []  # steps, and what each item of dev set or fold got
        self.kept: dict[str, Tensor] = {}
        self._losses: dict[int | None, float | None] = {}  # on held-out rows, by step, where they had to decide
        self.blend: Blend | None = None  # of the best checkpoint with the base, once the seed is over
        self.fetch_every = 1 if world.device.type == "cpu" else FETCH_EVERY
        # step, learning rate, and on the device: loss, gradient norm, similarity of positive and of random pairs
        self._measured: list[tuple[int, float, Tensor]] = []
        self.trouble: Diverged | None = None
        if self.shares:
            self._check_blend()

    @property
    def total(self) -> int:
        """The number of updates of the whole training."""
        return self.feed.steps if self.method.trains() else 0

    def rate(self, step: int) -> float:
        """The learning rate of an update, counted from 0."""
        return self.method.rate(step, self.total, self.schedule)

    @property
    def ties(self) -> Ties | None:
        """How many evaluations have the best score, and what decided between them; None if it is one."""
        count = judging.tied(self._counted)
        return Ties(count, self.by_loss) if count > 1 or self.by_loss else None

    @property
    def last(self) -> int:
        """The number of the last update: of all, unless the folds have chosen fewer."""
        return self.total if self.prepared.until is None else self.prepared.until

    @property
    def left_out(self) -> str:
        """Which rows are not trained on, in words; "" if all are."""
        return self.feed.sampler.remark if self.method.trains() else ""

    @property
    def evaluate_every(self) -> int:
        """Steps between two evaluations on the dev set: the paper's value, but at least ten evaluations per run."""
        return self.schedule.evaluation_interval(self.total)

    @property
    def enough(self) -> bool:
        """Whether early stopping applies; this changes with evaluations only, which after the folds have no score."""
        return self.prepared.fold != 0 and self.schedule.stops_early(self.scores)

    @property
    def evaluation_due(self) -> bool:
        """Whether an evaluation is due at this step and was not made yet."""
        on_time = self.step % self.evaluate_every == 0 or self.step == self.last
        return on_time and self.evaluated_at != self.step

    @property
    def changed(self) -> bool:
        """Whether the model differs from the base yet."""
        return self.step > 0 or (not self.total and self.evaluated_at == 0)

    def skip_first_evaluation(self) -> None:
        """Take the evaluation before the first step as made, with a score that chooses nothing."""
        self.scores, self.evaluated_at = [math.nan], self.step

    def fit(self) -> Work[None]:
        """Fit the part of a method that needs all of the text at once, before the first update."""
        if isinstance(self.method, Fitting):
            yield from self.method.fit(list(dict.fromkeys(one for column in self.corpus.texts for one in column)))

    @property
    def fetch_due(self) -> bool:
        """Whether the updates so far are to be fetched after this step; they always are before an evaluation."""
        return self.step % self.fetch_every == 0 or self.evaluation_due

    @property
    def sound(self) -> bool:
        """Whether every update so far is known to be finite."""
        return self.trouble is None and not self._measured

    def update(self) -> None:
        """Make one update: accumulate gradients, clip them, step the optimiser; nothing is fetched from the device."""
        many, losses = self.schedule.accumulate, []
        for part in range(many):
            with self.captured.batch():
                losses.append(self.gradients(self.feed.batch(self.step * many + part), share=1 / many))
        length = torch.nn.utils.clip_grad_norm_(list(self.names), self.schedule.clip or math.inf)
        rate = self.rate(self.step)
        for group in self.optimizer.param_groups:
            group["lr"], group[optimizers.UPDATE] = rate, self.step
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.method.after_update()
        self.step += 1
        unknown = losses[0].new_full((), math.nan)
        similarities = self.method.similarities or (unknown, unknown)  # of the last accumulated batch
        measured = [torch.stack(losses).double().mean(), length, *similarities]
        self._measured.append((self.step, rate, torch.stack([each.detach().double() for each in measured])))

    def fetch(self) -> tuple[run_folder.TrainingStep, ...]:
        """The updates since the last fetch, in one copy, up to a loss or gradient that is not finite.

        After such a one, `trouble` is set: the weights are spoiled, and none was evaluated, kept or saved since.
        Whoever records them adds the number of the seed and the time.
        """
        if not self._measured:
            return ()
        steps, rates, rows = zip(*self._measured, strict=True)
        self._measured = []
        found: list[run_folder.TrainingStep] = []
        for step, rate, (loss, length, *similarities) in zip(steps, rates, torch.stack(rows).tolist(), strict=True):
            for what, size in (("loss", loss), ("gradient", length)):
                if not math.isfinite(size):
                    self.trouble = Diverged(
                        f"The {what} of step {step} is {size}. Lower learning_rate "
                        f"({self.schedule.learning_rate:g}), raise warmup, or set precision to float32; the run's "
                        "folder holds the last good state."
                    )
                    return tuple(found)
            found.append(run_folder.TrainingStep(0, self.seed, step, 0.0, loss, rate, *similarities))
        return tuple(found)

    def gradients(self, columns: Batch, share: float = 1.0) -> Tensor:
        """Add the gradients of a batch and return its loss, on the device."""
        with self.world.autocast():
            loss: Tensor = self._module(*columns)
        self.world.backward(loss * share)
        return loss.detach()

    def evaluate(self, dev: Judge) -> Work[Checkup]:
        """Evaluate the current weights on the dev set, and choose the best candidate if there are several.

        What judges rows is in float32, as the base and the saved model are.
        """
        exact = self.prepared.fold is not None
        how = (nullcontext, "float32") if exact else (self.world.autocast, self.world.precision)
        found: dict[str, Checkup] = {}
        for name in self.method.candidates():
            self.method.candidate = name
            found[name] = yield from judging.checked(self.method, dev, *how)
            if self.prepared.fold and isinstance(dev, RowsJudge) and isinstance(self.method, PredictedClasses):
                words = yield from self.method.predicted(dev.rows.texts)
                score = class_scores(dev.rows.labels, words).measure(self.schedule.validate_by)
                found[name] = replace(found[name], items=dev.numbers(words), score=score)
        scores = {name: -math.inf if math.isnan(one.score) else one.score for name, one in found.items()}
        self.method.candidate = best = max(scores, key=scores.__getitem__)
        return found[best]

    def held_out_score(self) -> Work[float | None]:
        """The score × 100 of the current weights on the held-out rows; None if none are held out."""
        if self.held_out is None:
            return None
        by = self.schedule.validate_by
        return (yield from judging.held_out_score(self.method, self.held_out, by, self.world.autocast))

    @property
    def chosen_by_dev(self) -> bool:
        """Whether the dev score alone chooses the best checkpoint."""
        return self.held_out is None and self.method.every_layer is None

    def criterion(self, found: Checkup, held_out: float | None) -> float:
        """The score that chooses the best checkpoint: that of the dev set, of held-out rows, or their mean.

        Of labelled texts it is that of the validation rows; on the dev set, the mean over all layers that are trained.
        """
        dev = found.score if found.every_layer is None else found.every_layer
        if held_out is None:
            return dev
        return (dev + held_out) / 2 if self.schedule.select_by == "both" else held_out

    def record_score(self, score: float, dev: float | None = None) -> bool:
        """Keep the weights if `score` is the best so far, and return whether it is; of equal scores see `is_better`.

        `dev` is the dev score, if `score` is another one.
        """
        self.scores.append(score)
        self.evaluated_at = self.step
        if self.prepared.fold is not None and self.shares:  # the last weights are blended, not the best
            self.keep_all()
            return False
        so_far = [earlier for earlier in self._counted[:-1] if not math.isnan(earlier)]
        if not self._counted or math.isnan(score):
            return False
        if so_far and not judging.is_better(score, max(so_far), self._has_lower_loss):
            return False
        self.best_step, self.best_dev = self.step, score if dev is None else dev
        self.keep_all()
        return True

    def restore_best(self) -> None:
        """Restore the best checkpoint; without one, keep the current weights."""
        self._put(self.kept)
        if self.kept:
            self.method.candidate = self.best_candidate

    def held_out_loss(self) -> float | None:
        """The loss of the current weights on held-out rows; None if there are none, or several processes train."""
        rows = self.prepared.loss_rows
        return None if rows is None or self.world.size > 1 else judging.loss_of(self.method, rows, self.feed.size)

    def _has_lower_loss(self) -> bool | None:
        """Whether the current weights have a loss on held-out rows as low as the best ones; None if not known."""
        now = self.held_out_loss()
        if now is None or not self.kept:
            return None
        if self.best_step not in self._losses:
            current = self._copied()
            self._put(self.kept)
            self._losses[self.best_step] = self.held_out_loss()
            self._put(current)
        before = self._losses[self.best_step]
        self._losses[self.step], self.by_loss = now, True
        return before is None or now <= before

    def _copied(self) -> dict[str, Tensor]:
        return {name: weight.detach().clone() for weight, name in self._kept()}

    def _put(self, weights: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for weight, name in self._kept():
                if name in weights:
                    weight.copy_(weights[name])

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares of the tuned weights that are tried in the end; none if all of them are kept."""
        given = self.schedule.blend
        return () if given == 1 or not self.method.trains() else (given,) if given else SHARES

    def blended(self, dev: Judge) -> Work[Blend | None]:
        """Blend the weights with those of the base, by the share of the schedule or the one that scores best.

        None if all of them are kept, or if the base is best.
        """
        if not self.shares or self.best_step == 0:
            return None
        set_share = self.mixer()
        found = yield from self.tried(self.shares, dev, set_share)
        best = self.world.shared(self.best_blend([one for one, _ in found], set_share))  # rounding may differ
        set_share(best.alpha)
        self.method.candidate = best.candidate
        return best

    def mixer(self) -> Callable[[float], None]:
        """What sets the weights to a share of those in place now, the rest being the base's."""
        copies = self.method.candidates().values()
        tuned = [{name: one.detach().clone() for name, one in copy.own_weights().items()} for copy in copies]

        def set_share(alpha: float) -> None:
            for copy, weights in zip(copies, tuned, strict=True):
                copy.set_share(alpha, weights, self.prepared.base)

        return set_share

    def tried(
        self, shares: Sequence[float], dev: Judge, set_share: Callable[[float], None]
    ) -> Work[list[tuple[Blend, Floats | None]]]:
        """The blends at some shares, and what each item of the dev set gets from them."""
        found = []
        for alpha in shares:
            set_share(alpha)
            checked = yield from self.evaluate(dev)
            held_out = yield from self.held_out_score()
            score = self.criterion(checked, held_out)
            found.append((Blend(alpha, checked.score, score, self.method.candidate), checked.items))
        return found

    def best_blend(self, found: Sequence[Blend], set_share: Callable[[float], None]) -> Blend:
        """The blend with the best score, the shares in rising order.

        Of equal ones that with the lowest loss on held-out rows, or the largest: a small one hides what was trained.
        """
        best = found[0]
        for one in found[1:]:
            lower_loss = partial(self._loss_is_lower, set_share, one, best)
            if math.isnan(best.score) or (
                not math.isnan(one.score) and judging.is_better(one.score, best.score, lower_loss)
            ):
                best = one
        return best

    def _loss_is_lower(self, set_share: Callable[[float], None], one: Blend, other: Blend) -> bool | None:
        """Whether a blend has a loss on held-out rows as low as another; None if not known."""
        losses = []
        for blend in (one, other):
            set_share(blend.alpha)
            losses.append(self.held_out_loss())
        known = [loss for loss in losses if loss is not None]
        self.by_loss |= bool(known)
        return known[0] <= known[1] if known else None

    def keep_blend(self, blend: Blend) -> None:
        """Make a blend whose weights are in place the best checkpoint."""
        self.blend, self.best_candidate = blend, blend.candidate
        self.kept = self._copied()

    @property
    def starts_as_base(self) -> bool:
        """Whether the model before the first update is the base: it adds no weights, and no layer that is trained."""
        layer = isinstance(self.method, PredictedClasses) and not self.method.classifies_exported
        return not self.adds_weights and not layer

    @property
    def adds_weights(self) -> bool:
        """Whether the saved model has weights after the encoder that the base lacks."""
        head, before = self.method.head(), self.prepared.base
        base = before.default_head if before else self.method.base_head()
        return len(head.dense) > len(base.dense) or bool(head.layers and not base.layers)

    def _check_blend(self) -> None:
        """Refuse a method whose saved model has trained weights that the base lacks."""
        if self.adds_weights:
            raise BadChoice(
                f"blend cannot be {self.schedule.blend:g} here: the saved model has weights after the encoder "
                f"({self.method.head().describe()}) that the base lacks. Set blend to 1, or train without them."
            )

    @property
    def best_score(self) -> float | None:
        """The selection score of the best checkpoint; None before there is one."""
        if self.blend is not None:
            return self.blend.score
        return None if self.best_step is None else max(score for score in self._counted if not math.isnan(score))

    @property
    def _counted(self) -> list[float]:
        """Scores that can be the best; step 0 counts if it is the base and may be best, or if nothing is trained."""
        base = not self.total or (self.schedule.keep_base and self.starts_as_base)
        return self.scores if base else self.scores[1:]

    def keep_all(self) -> None:
        """Make the weights in place the best checkpoint."""
        self.kept, self.best_candidate = self._copied(), self.method.candidate

    def load_weights(self, weights: Mapping[str, Tensor], candidate: str = "") -> None:
        """Load weights that were kept, and choose the candidate that was best then."""
        self.kept, self.best_candidate = dict(weights), candidate
        self.restore_best()

    def _kept(self) -> list[tuple[Tensor, str]]:
        """The trained weights that are saved: all except heads that only the loss uses."""
        scored_with = self.method.kept_for_scores if isinstance(self.method, PredictedClasses) else ()
        outside = tuple(f"{name}." for name in set(self.method.training_only) - set(scored_with))
        return [(weight, name) for weight, name in self.names.items() if not name.startswith(outside)]
