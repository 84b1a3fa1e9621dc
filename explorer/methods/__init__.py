"""The base class of training methods, and the folder that lists them: one file, one method."""

from __future__ import annotations

import difflib
import importlib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from explorer.data.kinds import Corpus
from explorer.data.needs import Need
from explorer.data.row_kinds import Kind
from explorer.encoding.read.batches import in_order
from explorer.encoding.read.encoder import Encoder, States
from explorer.encoding.read.head import Head
from explorer.encoding.read.head_facts import RolePrompts
from explorer.encoding.tune.editing import Edit
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.knobs import Knobs, Values, knob
from explorer.losses import cosines
from explorer.methods._mining import Mining
from explorer.methods._papers import Paper
from explorer.methods._sampling import Sampler
from explorer.methods._schedule import EARLY_STOPS, Schedule
from explorer.methods._suggestion import DEMONSTRATION, Suggestion
from explorer.optimizers import Group, adamw, learning_rate
from explorer.progress import Progress, Work, finish

__all__ = ["DEMONSTRATION", "EARLY_STOPS", "Method", "Paper", "Schedule", "Suggestion", "knob", "load", "names"]

Autocast = Callable[[], AbstractContextManager[object]]
See = Callable[[list[int], States], object]
TRAINED_POOLINGS = ("cls", "mean", "max")
MODEL_DEFAULT = "model default"  # the pooling, and the maps after it, that a model declares


class Method(nn.Module, Knobs):
    """A loss over rows of text that fine-tunes an encoder.

    A method states the rows it trains on (`eats`) and its schedule, builds the parts it adds, and computes the loss of
    a batch: one list for each column of its rows, of sentences or of scores from 0 to 1. Weights with `requires_grad`
    are trained; a method without a loss trains none. `fit` uses all sentences at once, before the first batch. `head`
    is the layer & pooling of the trained model; the same one is evaluated in training and exported.
    """

    eats: ClassVar[Kind]
    paper: ClassVar[Paper]
    schedule: ClassVar[Schedule]
    paper_schedule: ClassVar[Values] = {}  # settings of the schedule in which the paper differs from the default
    as_published: ClassVar[bool] = True  # whether the values of its settings are the paper's
    released: ClassVar[Values] = {}  # settings in which the released code differs from the paper
    by_family: ClassVar[Mapping[str, Values]] = {}  # the paper's values for other encoders than BERT-base
    presets: ClassVar[Mapping[str, Values]] = {}  # more sets of settings by name; "quick" adds to that of all methods
    training_only: ClassVar[tuple[str, ...]] = ()  # parts that are not exported
    kept_for_scores: ClassVar[tuple[str, ...]] = ()  # those of them that held-out rows are scored with
    unused: ClassVar[tuple[str, ...]] = ()  # settings of the schedule that its optimiser or rate does not have
    needs: ClassVar[tuple[Need, ...]] = ()  # what has to be installed or downloaded
    when_to_use: ClassVar[str] = ""  # one line for the menu, from measured results
    suggestion: ClassVar[Suggestion | None] = None  # for which rows it is chosen where nobody has chosen a method
    first: ClassVar[bool] = False  # the default of the form
    # for tests of all methods: whether a row's loss depends on its batch, on the order, and whether rows have partners
    compares_rows: ClassVar[bool] = True
    order_matters: ClassVar[bool] = False
    has_partners: ClassVar[bool] = True
    prompts_rows: ClassVar[bool] = False  # whether rows are encoded after the prompts of queries and documents

    def __init__(self, base: Tunable, values: Values | None = None, classes: tuple[str, ...] = ()) -> None:
        """`classes` are those of the rows, for a method on labelled texts."""
        super().__init__()
        for need in self.needs:
            need.check()
        self.set(values or {})
        self.base, self.classes, self.width = base, classes, base.width
        self.watched: tuple[Tensor, Tensor] | None = None
        self.candidate = ""  # the candidate that is read and exported
        self.build()
        self.train()  # encoders are in evaluation mode, and so are copies of them

    @classmethod
    def title(cls) -> str:
        """The first line of its docstring, for a menu."""
        return inspect.getdoc(inspect.getmodule(cls)).partition("\n")[0]  # type: ignore[union-attr]

    @classmethod
    def about(cls) -> str:
        """The rest of its docstring: details, equations and tables."""
        return inspect.getdoc(inspect.getmodule(cls)).partition("\n")[2].strip()  # type: ignore[union-attr]

    def build(self) -> None:
        """Build the parts this method adds; torch's seed initialises their weights."""

    def sampler(self) -> Sampler:
        """How its batches are drawn from the rows: all rows, in random order."""
        return Sampler()

    def constant(self) -> tuple[nn.Module, ...]:
        """Parts that nothing changes in training, such as a frozen base; the state of a stopped run leaves them out."""
        return ()

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
        warmup = math.ceil(schedule.warmup * total)
        return learning_rate(step, schedule.learning_rate, warmup, total, schedule.decay)

    def after_update(self) -> None:
        """Change what follows the trained weights, such as a momentum copy or a queue."""

    def candidates(self) -> Mapping[str, Tunable]:
        """Trained copies by name, among which each evaluation chooses by its score; {} for the one copy."""
        return {}

    @property
    def exported(self) -> Tunable:
        """The trained copy that is read and exported."""
        return self.candidates()[self.candidate] if self.candidate else self.base

    def choose(self, candidate: str) -> None:
        """Read and export this copy from now on; "" is the base."""
        self.candidate = candidate

    @classmethod
    def trains(cls) -> bool:
        """Whether it has a loss to minimise; if not, `fit` is all of it."""
        return cls.loss is not Method.loss

    @classmethod
    def learns(cls) -> bool:
        """Whether the result depends on the text."""
        return cls.trains() or cls.fit is not Method.fit

    @classmethod
    def predicts(cls) -> bool:
        """Whether it predicts classes; if so, labelled rows are held out that choose the checkpoint and test it."""
        return cls.predicted is not Method.predicted

    @classmethod
    def check_rows(cls, corpus: Corpus) -> None:
        """Raise if it cannot train on rows of this kind."""

    @classmethod
    def check_layers(cls, values: Values, model: str, layers: int) -> None:
        """Raise if it cannot train a model with so many layers under these settings."""

    @classmethod
    def mining(cls, values: Values) -> Mining | None:
        """How hard negatives, each one more column of the rows, are mined before training; None if they are not."""
        return None

    @classmethod
    def prompts(cls, values: Values, encoder: Encoder) -> RolePrompts:
        """The prompts of queries and documents in evaluation and afterwards, under these settings: the encoder's."""
        return encoder.role_prompts

    def fit(self, sentences: Sequence[str]) -> Work[None]:
        """Fit to all sentences at once."""
        yield from ()

    def loss(self, *columns: Any) -> Tensor:
        """The loss of lists of sentences, and of scores if the rows have them."""
        raise NotImplementedError

    def prompted(self, columns: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
        """Columns of sentences as they are encoded: without prompts of their own."""
        return tuple(map(tuple, columns))

    def held_rows(self, rows: int) -> int:
        """Of a batch of so many rows, those whose activations are held at a time: all."""
        return rows

    def head(self) -> Head:
        """The layer & pooling of the trained model."""
        return Head(("cls",))

    def forward(self, *columns: Any) -> Tensor:
        """The loss; several processes need it as the module's call."""
        return self.loss(*columns)

    def read(self, states: States) -> Tensor:
        """The vectors (sentence, width) of states."""
        return self.head()(states.hidden, states.mask)

    def encoded(
        self,
        sentences: list[str],
        head: Head | None = None,
        edit: Edit | None = None,
        position_ids: Edit | None = None,
        copy: Tunable | None = None,
    ) -> Tensor:
        """Vectors (sentence, width) with gradients, in training; `head` replaces the layer & pooling.

        `edit` and `position_ids` change embeddings and positions, see `Tunable.states`. `copy` replaces the base, in a
        method that has several copies.
        """
        return in_order(
            (places, head(states.hidden, states.mask) if head else self.read(states))
            for places, states in (copy or self.base).grouped(sentences, edit, position_ids)
        )

    def reading(
        self,
        sentences: Sequence[str],
        head: Head | None = None,
        autocast: Autocast = nullcontext,
        see: See | None = None,
    ) -> Work[Tensor]:
        """Vectors (sentence, width) as after training, without dropout; `head` replaces the layer & pooling.

        `see` is called with the states of every batch and the places of its sentences.
        """
        if not sentences:
            raise ValueError("no sentences to read")
        learning, done = self.training, 0
        found = torch.empty(0)
        self.eval()
        try:
            for places, states in self.exported.read(sentences, autocast):
                with torch.no_grad():
                    vectors = (head(states.hidden, states.mask) if head else self.read(states)).float().cpu()
                    if see:
                        see(places, states)
                if not done:
                    found = vectors.new_empty(len(sentences), vectors.shape[-1])
                found[places] = vectors
                done += len(places)
                yield Progress("encoding sentences", done, len(sentences))
        finally:
            self.train(learning)
        return found

    def predicted(self, texts: Sequence[Sequence[str]], autocast: Autocast = nullcontext) -> Work[tuple[str, ...]]:
        """The class of each row, by a method on labelled texts; `texts` are its columns of sentences."""
        raise NotImplementedError

    def classification(self) -> dict[str, Tensor]:
        """The classification layer of a method that has one, to be saved next to the exported encoder."""
        return {}

    def vectors(self, sentences: Sequence[str]) -> Tensor:
        """The same, all at once."""
        return finish(self.reading(sentences))

    def start(self) -> Head:
        """The layer & pooling of the base, for comparison: `head` without the parts that training adds."""
        return Head(self.head().poolings or ("cls",))

    def remark(self) -> str:
        """A remark about the rows so far, or ""."""
        return ""

    def watch(self, one: Tensor, other: Tensor) -> None:
        """Record the mean similarity of positive and of random pairs; rows i of both sides are a positive pair."""
        with torch.no_grad():
            alike = cosines(one, other)
            partners = alike.diagonal().mean()
            strangers = (alike.sum() - alike.diagonal().sum()) / (alike.numel() - len(alike))
            self.watched = partners, strangers


@cache
def names() -> tuple[str, ...]:
    """The names of all methods, from the file names; nothing is imported."""
    return tuple(sorted(file.stem.replace("_", "-") for folder in __path__ for file in Path(folder).glob("[!_]*.py")))


def load(name: str) -> type[Method]:
    """The method with this name."""
    if name not in names():
        near = difflib.get_close_matches(name, names(), n=1)
        meant = f" Did you mean '{near[0]}'?" if near else ""
        raise BadChoice(f"There is no method '{name}'.{meant} There are: {', '.join(names())}.")
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    (found,) = (
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Method) and value.__module__ == module.__name__
    )
    return found
