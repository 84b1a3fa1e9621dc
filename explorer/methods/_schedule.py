"""The training schedule of a method, and the updates that follow from it: batches of rows, optimiser, learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar

import torch
from torch import nn

from explorer.data.text_sets import LABELLED_TEXTS, SENTENCES, TRIPLETS, Corpus
from explorer.encoding.tune.adapters import ATTENTION, TARGETS, Lora
from explorer.errors import TooFewRows
from explorer.knobs import Knobs, Values, knob
from explorer.optimizers import Group, adamw, learning_rate
from explorer.typed_numbers import percent_in, whole_in

ALL_ROWS = "100 %"
EARLY_STOPS = ("none", "drops", "no new best")
SELECTIONS = ("dev", "held-out triplets", "both")
VALIDATIONS = ("accuracy", "macro F1", "Matthews")
# settings that a method without a trained encoder does not have
ADAPTERS = ("lora_rank", "lora_alpha", "lora_targets")
ENCODERS = (*ADAPTERS, "blend", "gradient_checkpointing")


class UpdateSettings(Knobs):
    """How many updates there are, and how each changes the weights."""

    steps: int = knob(0, low=0, high=10**9, front=True, help="Number of updates; 0: as many as the epochs need.")
    epochs: int = knob(1, low=1, high=100, help="Passes over the data, if steps is 0.")
    batch_size: int = knob(
        16, low=2, high=4096, front=True, help="Rows per batch; each row is a negative for the others."
    )
    learning_rate: float = knob(
        5e-5, low=1e-7, high=1e-2, front=True, help="Peak learning rate; above 1e-4 encoders tend to degrade."
    )
    max_length: int = knob(
        128, low=3, high=8192, help="Most tokens of a sentence in training; longer sentences are truncated."
    )
    warmup: float = knob(
        0.0,
        low=0.0,
        high=1.0,
        help="Share of the steps in which the learning rate rises linearly; there is none if that is less than a step.",
    )
    decay: str = knob(
        "linear", choices=("linear", "none"), help="Learning rate after warmup: linear decay to zero, or constant."
    )
    weight_decay: float = knob(0.0, low=0.0, high=1.0, help="Weight decay of AdamW; not for biases and norms.")
    beta2: float = knob(0.999, low=0.5, high=0.9999, help="β2 of AdamW: decay of the average of squared gradients.")
    epsilon: float = knob(1e-8, low=1e-12, high=1e-3, help="ε of AdamW, added to the denominator.")
    clip: float = knob(1.0, low=0.0, high=1e6, help="Largest norm of the gradient; 0: no clipping.")
    accumulate: int = knob(
        1,
        low=1,
        high=1024,
        help="Batches per update (gradient accumulation). Saves memory; the negatives are still those of one batch.",
    )

    def updates(self, items: int) -> int:
        """The number of updates for a number of rows, or of pairs of rows where these fill the batches."""
        return self.steps or max(1, items // self.batch_size * self.epochs // self.accumulate)

    def warmup_updates(self, updates: int) -> int:
        """In how many of so many updates the rate rises: never a larger share than `warmup`, and none below one."""
        return math.floor(self.warmup * updates + 1e-9)  # 0.29 * 100 is a little less than 29


class SelectionSettings(UpdateSettings):
    """When a training is evaluated, when it stops early, and which checkpoint is the best."""

    evaluate_every: int = knob(
        50,
        low=1,
        high=1_000_000,
        help="Steps between two evaluations on the dev set; at least ten evaluations per run.",
    )
    early_stop: str = knob(
        "none",
        choices=EARLY_STOPS,
        help="drops: stop after this many evaluations below the one before, counted over the whole run, as in the code "
        "of SG-BERT; step 0 does not count. no new best: stop after this many evaluations in a row without a new best.",
    )
    endurance: int = knob(10, low=1, high=1000, help="Number of such evaluations before training stops early.")
    keep_base: bool = knob(
        True,
        paper=False,
        help="Whether the base, step 0, is kept if each later evaluation is below it: then nothing was learned. off: "
        "the best trained checkpoint is kept, however low its score, as in the papers' code.",
    )
    select_by: str = knob(
        "dev",
        choices=SELECTIONS,
        rows=TRIPLETS,
        help="What chooses the best checkpoint: Spearman on the dev set; the accuracy on triplets held out of training "
        "(one in ten; right if the anchor is nearer to the positive); or the mean of both. Higher is better.",
    )
    validate_by: str = knob(
        "accuracy",
        choices=VALIDATIONS,
        rows=LABELLED_TEXTS,
        help="The score on the validation rows that chooses the best checkpoint: accuracy, the mean F1 of the classes, "
        "or Matthews' correlation. Higher is better.",
    )

    def evaluation_interval(self, updates: int) -> int:
        """Steps between two evaluations on the dev set: the paper's value, but at least ten evaluations per run."""
        return max(1, min(self.evaluate_every, updates // 10))

    def stops_early(self, scores: Sequence[float]) -> bool:
        """Whether the dev scores so far, step 0 first, meet the rule for it; the score of step 0 is ignored."""
        trained = scores[1:]
        if self.early_stop == "drops":
            return drops(trained) >= self.endurance
        if self.early_stop == "no new best":
            return since_best(trained) >= self.endurance
        return False


class Schedule(SelectionSettings):
    """The settings of every method's training; a method states its paper's values."""

    keep_duplicates: bool = knob(
        True,
        rows=SENTENCES,
        help="Train on a sentence as often as it is in the text, as the papers' code does; a batch may then hold it "
        "twice, as a negative of itself. off: once.",
    )
    rows: str = knob(
        ALL_ROWS,
        part=True,
        help="How many rows of the text are trained on: a share such as 25 %, or a number such as 2000. They are drawn "
        "with the run's seed, and a larger number holds the rows of a smaller one. Dev and test set stay the same.",
    )
    keep_steps: bool = knob(
        False,
        help="Save the model at every evaluation, so that all steps can be compared; each takes the space of a model.",
    )

    gradient_checkpointing: bool = knob(
        False,
        help="Keep the input of each layer alone for the backward pass, which computes it again (Chen and others "
        "2016). Loss and gradients stay the same; a step takes a third to a half longer, and large batches need half "
        "of the memory or less.",
    )
    blend: float = knob(
        1.0,
        low=0.0,
        high=1.0,
        help="Share of the tuned weights in the saved model; the rest of every weight is the base's (WiSE-FT, Wortsman "
        "and others 2022), which often forgets less. 1: all of them, as in the papers. 0: the share from 0.1 to 1 with "
        "the best score by what chooses the checkpoint. It scales adapters.",
    )
    lora_rank: int = knob(
        0,
        low=0,
        high=256,
        help="LoRA (Hu and others 2021): train an adapter of this rank beside each weight matrix, and leave the "
        "encoder's own weights as they are; it takes less memory. Adapters are merged when the model is saved. 0: "
        "train all weights. The paper has rank 8 and learning rates from 2e-4 to 5e-4 for RoBERTa.",
    )
    lora_alpha: float = knob(
        16.0,
        low=0.01,
        high=10_000,
        help="Adapters are scaled by this number divided by lora_rank (paper, for RoBERTa-large: 16). Without "
        "lora_rank it does nothing.",
    )
    lora_targets: str = knob(
        ATTENTION,
        choices=TARGETS,
        help="Layers with an adapter: query and value in each attention block, as in the paper, or all linear layers. "
        "Where one matrix is query, key and value, it has one adapter. Without lora_rank it does nothing.",
    )

    def __init__(self, **values: bool | int | float | str) -> None:
        self.set(values)

    @property
    def lora(self) -> Lora | None:
        """The adapters that are trained; None if all weights are."""
        return Lora(self.lora_rank, self.lora_alpha, self.lora_targets) if self.lora_rank else None

    def with_values(self, values: Values) -> Schedule:
        """A schedule with some other values."""
        return Schedule(**{**self.by_name(), **values})

    def rows_of(self, rows: int, name: str, items: Callable[[int], int] = int) -> int:
        """How many of so many rows are trained on; an error if there are fewer than `rows` or a batch needs.

        `items` is how many items of batches a number of rows has: as many, unless a method pairs them.
        """
        percent = percent_in(self.rows)
        taken = round(percent / 100 * rows) if percent is not None else whole_in(self.rows) or 0
        if taken > rows:
            raise TooFewRows(
                f"rows cannot be {taken:,}: {name} has {rows:,} rows to train on. Set rows to {rows} or less or to a "
                "share such as 50 %, or add text."
            )
        if items(taken) < self.batch_size and self.rows != ALL_ROWS:
            raise TooFewRows(
                f"rows cannot be {self.rows}: of the {rows:,} rows of {name} these are {taken:,}, but a batch takes "
                f"{self.batch_size}. Raise rows, lower batch_size, or add text."
            )
        batches = items(taken) // self.batch_size
        if 0 < batches < self.accumulate:
            raise TooFewRows(
                f"accumulate cannot be {self.accumulate}: the {taken:,} rows of {name} that are trained on fill "
                f"{batches:,} batch{'es' * (batches != 1)} of {self.batch_size}, so an update would read them more "
                f"than once. Set accumulate to {batches} or less, or lower batch_size."
            )
        return taken


def drops(scores: Sequence[float]) -> int:
    """How often a score was lower than the one before, counted over the whole run as in the code of SG-BERT."""
    return sum(later < earlier for earlier, later in pairwise(scores))


def since_best(scores: Sequence[float]) -> int:
    """The number of scores after the best one; all of them if every score is NaN."""
    known = [score for score in scores if not math.isnan(score)]
    return len(scores) - 1 - scores.index(max(known)) if known else len(scores)


class Updates(nn.Module):
    """How weights are updated under a schedule; a method overrides what its paper does otherwise."""

    schedule: ClassVar[Schedule]
    unused: ClassVar[tuple[str, ...]] = ()  # settings of the schedule that it does not have
    rows_each: ClassVar[int] = 1  # rows that an item of a batch is made of

    @classmethod
    def items(cls, values: Values, rows: int) -> int:
        """How many items the batches of an epoch are made of, for so many rows under these settings: the rows."""
        return rows

    def sampler(self) -> Sampler:
        """How its batches are drawn from the rows: all rows, in random order."""
        return Sampler()

    def groups(self, schedule: Schedule) -> list[Group]:
        """The trained weights for an optimiser: matrices with weight decay, biases and norms (one axis) without."""
        trained = [weight for weight in self.parameters() if weight.requires_grad]
        groups: list[Group] = [
            {"params": [weight for weight in trained if weight.dim() > 1], "weight_decay": schedule.weight_decay},
            {"params": [weight for weight in trained if weight.dim() <= 1], "weight_decay": 0.0},
        ]
        return [group for group in groups if group["params"]]

    def make_optimizer(self, groups: list[Group], schedule: Schedule) -> torch.optim.Optimizer:
        """The optimiser of these weights: AdamW with the settings of the schedule."""
        return adamw(groups, schedule.learning_rate, schedule.beta2, schedule.epsilon)

    def rate(self, step: int, total: int, schedule: Schedule) -> float:
        """The learning rate of an update, counted from 0: linear warmup, then linear decay or none."""
        return learning_rate(step, schedule.learning_rate, schedule.warmup_updates(total), total, schedule.decay)

    def after_update(self) -> None:
        """Change what follows the trained weights, such as a momentum copy or a queue."""


class Sampler:
    """Rows in random order."""

    remark: str = ""  # which rows are left out, in words
    rows_each: int = 1  # rows that an item of a batch is made of: 2 where it is a pair of rows

    def usable(self, corpus: Corpus) -> Sequence[int]:
        """The rows that can be trained on: all."""
        return range(len(corpus))

    def items(self, rows: int) -> int:
        """How many items the batches of an epoch are made of, for so many rows: the rows themselves."""
        return rows

    def batches(self, corpus: Corpus, order: Sequence[int], size: int, random: torch.Generator) -> list[Sequence[int]]:
        """The rows of each batch of an epoch, from all its rows in random order; what fills no batch is left out.

        There are as many batches as the items can fill, and each is full: it has `size` items, one after the other with
        all their rows. They follow from the arguments alone, so that a stopped run goes on with the same ones; what
        else is drawn comes from `random`, which has drawn the order.
        """
        return [order[start : start + size] for start in range(0, len(order) - size + 1, size)]
