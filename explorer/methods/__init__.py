"""The contract of a training method, and the folder that is the list of them: one file, one method."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from explorer.data.corpora import Eats
from explorer.data.needs import Need
from explorer.encoding.read.encoder import States
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.knobs import Knobs, Values, knob
from explorer.losses import cosines
from explorer.methods._papers import Paper
from explorer.methods._schedule import EARLY_STOPS, Schedule
from explorer.progress import Progress, Work, finish

__all__ = ["EARLY_STOPS", "Eats", "Method", "Paper", "Schedule", "knob", "load", "names"]

Autocast = Callable[[], AbstractContextManager[object]]
See = Callable[[list[int], States], object]
TRAINED_POOLINGS = ("cls", "mean", "max")
MODEL_DEFAULT = "model default"  # the pooling, and the maps after it, that a model declares


class Method(nn.Module, Knobs):
    """Something to minimise over rows of text, starting from an encoder.

    A method states what it eats and its schedule, builds the parts it adds, and gives the loss of a batch: one list for
    each column of its rows, of sentences or of scores from 0 to 1. What is trained is what has `requires_grad`; without
    a loss nothing is. `fit` learns from all sentences at once, before the first batch. `head` says how a sentence is
    read afterwards; the same reading is scored in training and exported.
    """

    eats: ClassVar[Eats]
    paper: ClassVar[Paper]
    schedule: ClassVar[Schedule]
    as_published: ClassVar[bool] = True  # whether the values of its settings are the paper's
    training_only: ClassVar[tuple[str, ...]] = ()  # parts of it that nobody needs once it is trained
    needs: ClassVar[tuple[Need, ...]] = ()  # what does not come along
    first: ClassVar[bool] = False  # the one a form starts with

    def __init__(self, base: Tunable, values: Values | None = None) -> None:
        super().__init__()
        for need in self.needs:
            need.check()
        self.set(values or {})
        self.base = base
        self.width = base.width
        self.watched: tuple[Tensor, Tensor] | None = None
        self.build()
        self.train()  # an encoder rests, and so does a copy of it until it is told

    @classmethod
    def title(cls) -> str:
        """The first line of its docstring: what it is, for a menu."""
        return inspect.getdoc(inspect.getmodule(cls)).partition("\n")[0]  # type: ignore[union-attr]

    @classmethod
    def about(cls) -> str:
        """The rest of its docstring: what it does, equation and table."""
        return inspect.getdoc(inspect.getmodule(cls)).partition("\n")[2].strip()  # type: ignore[union-attr]

    def build(self) -> None:
        """Make the parts this method adds; their weights come from torch's seed."""

    @classmethod
    def trains(cls) -> bool:
        """Whether it has a loss to minimise; if not, it is done once it is fitted."""
        return cls.loss is not Method.loss

    @classmethod
    def learns(cls) -> bool:
        """Whether the text has a say in what becomes of an encoder."""
        return cls.trains() or cls.fit is not Method.fit

    def fit(self, sentences: Sequence[str]) -> Work[None]:
        """Learn in one go from every sentence there is."""
        yield from ()

    def loss(self, *columns: Any) -> Tensor:
        """What to minimise, of lists of sentences, and of scores where the rows have them."""
        raise NotImplementedError

    def head(self) -> Head:
        """How the last layer becomes a vector."""
        return Head(("cls",))

    def forward(self, *columns: Any) -> Tensor:
        """The loss; a module is called, and not its verbs, when several processes train together."""
        return self.loss(*columns)

    def read(self, states: States) -> Tensor:
        """The vectors (sentence, width) of states."""
        return self.head()(states.hidden, states.mask)

    def encoded(self, sentences: list[str], head: Head | None = None) -> Tensor:
        """Vectors (sentence, width) to learn from, with gradients; `head` reads another way."""
        return in_order(
            (places, head(states.hidden, states.mask) if head else self.read(states))
            for places, states in self.base.grouped(sentences)
        )

    def reading(
        self,
        sentences: Sequence[str],
        head: Head | None = None,
        autocast: Autocast = nullcontext,
        see: See | None = None,
    ) -> Work[Tensor]:
        """Vectors (sentence, width) as they are read after training, without dropout; `head` reads another way.

        `see` is shown the states of every batch, with the places of its sentences, before they are dropped.
        """
        if not sentences:
            raise ValueError("no sentences to read")
        learning, done = self.training, 0
        found = torch.empty(0)
        self.eval()
        try:
            for places, states in self.base.read(sentences, autocast):
                with torch.no_grad():
                    vectors = (head(states.hidden, states.mask) if head else self.read(states)).float().cpu()
                    if see:
                        see(places, states)
                if not done:
                    found = vectors.new_empty(len(sentences), vectors.shape[-1])
                found[places] = vectors
                done += len(places)
                yield Progress("reading sentences", done, len(sentences))
        finally:
            self.train(learning)
        return found

    def vectors(self, sentences: Sequence[str]) -> Tensor:
        """The same, all at once."""
        return finish(self.reading(sentences))

    def start(self) -> Head:
        """How the base is read for comparison: as `head`, without the parts that training adds."""
        return Head(self.head().poolings or ("cls",))

    def remark(self) -> str:
        """What is to be said about the rows so far, if anything."""
        return ""

    def watch(self, one: Tensor, other: Tensor) -> None:
        """Remember how alike partners and strangers are; row i of one side is the partner of row i of the other."""
        with torch.no_grad():
            alike = cosines(one, other)
            partners = alike.diagonal().mean()
            strangers = (alike.sum() - alike.diagonal().sum()) / (alike.numel() - len(alike))
            self.watched = partners, strangers


def in_order(parts: Iterable[tuple[list[int], Tensor]]) -> Tensor:
    """Rows that were computed in parts, in the order of their places."""
    places, rows = zip(*parts, strict=True)
    back = torch.tensor([place for part in places for place in part]).argsort()
    return torch.cat(rows)[back.to(rows[0].device)]


def names() -> tuple[str, ...]:
    """Every method, as it is called on the command line; the folder is listed, nothing is imported."""
    files = Path(__file__).parent.glob("[!_]*.py")
    return tuple(sorted(file.stem.replace("_", "-") for file in files))


def load(name: str) -> type[Method]:
    """The method of that name."""
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
