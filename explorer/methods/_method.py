"""The base class of training methods: the rows that one trains on, its loss, what is exported, and its schedule."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from explorer.data.text_sets import Corpus, Kind
from explorer.data.wordnet import Need
from explorer.encoding.locate import families
from explorer.encoding.read.batching import in_order
from explorer.encoding.read.encoder import States
from explorer.encoding.read.head import Head
from explorer.encoding.tune.editing import Edit
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import UnsupportedModel
from explorer.knobs import Knobs, Values
from explorer.losses import cosines
from explorer.methods._schedule import ADAPTERS, Updates
from explorer.progress import Progress, Work

Autocast = Callable[[], AbstractContextManager[object]]
OnStates = Callable[[list[int], States], object]
# a head, or what else makes vectors of the states of all layers and the mask
Pool = Callable[[Sequence[Tensor] | Tensor, Tensor], Tensor]
DEMONSTRATION = "demonstration"  # the preset of the run that a first visit to the Train page shows
UNEVEN = "uneven layer weights"  # the preset of the run that the Layer attention page offers first
PAPERS = Path(__file__).parent / "papers.bib"
_ENTRY = re.compile(r"^%\s([^\n]+)\n(@\w+\{(\S+),\n.*?^\})$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Paper:
    """A publication: its authors as texts name them, and its entry in BibTeX."""

    authors: str
    bibtex: str

    @property
    def title(self) -> str:
        """The title, without the braces that keep its capitals."""
        return self._field("title")

    @property
    def year(self) -> int:
        """The year of publication."""
        return int(self._field("year"))

    @property
    def link(self) -> str:
        """The address of its page."""
        return self._field("url")

    @property
    def line(self) -> str:
        """`Kim, Yoo and Lee 2021, Self-Guided Contrastive Learning for BERT Sentence Representations`."""
        return f"{self.authors} {self.year}, {self.title}"

    def _field(self, name: str) -> str:
        (value,) = re.findall(rf"^\s*{name}\s=\s\{{(.*?)\}},?$", self.bibtex, re.MULTILINE | re.DOTALL)
        return " ".join(re.sub(r"[{}]", "", value).split())


@cache
def papers() -> Mapping[str, Paper]:
    """The papers of `papers.bib` by the keys of their entries."""
    entries = _ENTRY.findall(PAPERS.read_text(encoding="utf-8"))
    return {key: Paper(authors, bibtex) for authors, bibtex, key in entries}


def cited(key: str) -> Paper:
    """The paper of `papers.bib` with this key."""
    return papers()[key]


@dataclass(frozen=True)
class Suggestion:
    """The rows that a method is suggested for, of the kind that it trains on."""

    rows: str  # their name
    texts: int  # sentences in each
    why: str  # a clause
    most: int = 0  # rows up to which it is suggested in place of the one for many; 0: any number

    def sentence(self, text: str, method: str) -> str:
        """What a text has, which method fits, and why."""
        return f"{text} has {self.rows}; {method} fits them: {self.why}."


class Described:
    """What menus, forms, commands, model cards and the documentation show of a method.

    Its docstring is shown, too: the first line as its title, the rest where there is room.
    """

    name: ClassVar[str]  # in recipes, commands and addresses
    family: ClassVar[str]  # the heading in the menu
    paper: ClassVar[Paper]
    when_to_use: ClassVar[str] = ""  # one line for the menu, from measured results
    suggestion: ClassVar[Suggestion | None] = None  # for which rows it is chosen where nobody has chosen a method
    needs: ClassVar[tuple[Need, ...]] = ()  # what has to be installed or downloaded

    as_published: ClassVar[bool] = True  # whether the values of its settings are the paper's
    paper_schedule: ClassVar[Values] = {}  # settings of the schedule in which the paper differs from the default
    released: ClassVar[Values] = {}  # settings in which the released code differs from the paper
    by_family: ClassVar[Mapping[str, Values]] = {}  # the paper's values for other encoders than BERT-base
    presets: ClassVar[Mapping[str, Values]] = {}  # more sets of settings by name; "quick" adds to that of all methods

    makes_smaller: ClassVar[bool] = False  # whether it trains the first layers of an encoder, as many as `keep_layers`

    @classmethod
    def title(cls) -> str:
        """The first line of its docstring, for a menu."""
        return (inspect.getdoc(cls) or "").partition("\n")[0]

    @classmethod
    def about(cls) -> str:
        """The rest of its docstring, a line for each paragraph: details, equations and tables."""
        paragraphs = (inspect.getdoc(cls) or "").split("\n\n")[1:]
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

    @classmethod
    def is_for_few(cls) -> bool:
        """Whether it is suggested for few rows, in place of the method for many."""
        return cls.suggestion is not None and cls.suggestion.most > 0


class Method(Described, Updates, Knobs):
    """A loss over rows of text that fine-tunes an encoder.

    Four things make a method: `rows`, `loss`, `head` (what is exported) and `schedule`. `build` makes the parts that it
    adds to the encoder; weights with `requires_grad` are trained. Everything else has a default, or is an addition: a
    class of `_additions.py` to inherit from. A method without a loss trains no weights.
    """

    rows: ClassVar[Kind]
    training_only: ClassVar[tuple[str, ...]] = ()  # parts that are not exported
    # for tests of all methods: whether a row's loss depends on its batch, on the order, and whether rows are pairs
    compares_rows: ClassVar[bool] = True
    order_matters: ClassVar[bool] = False
    has_positive_pairs: ClassVar[bool] = True

    def __init__(self, base: Tunable, values: Values | None = None, classes: tuple[str, ...] = ()) -> None:
        """`classes` are those of the rows, for a method on labelled texts."""
        super().__init__()
        for need in self.needs:
            need.check()
        self.set(values or {})
        self.base, self.classes, self.width = base, classes, base.width
        self.similarities: tuple[Tensor, Tensor] | None = None  # of positive and of random pairs of the last batch
        self.candidate = ""  # the copy that is evaluated and exported, by its name among the candidates
        self.build()
        self.train()  # encoders are in evaluation mode, and so are copies of them

    @classmethod
    def needs_layers(cls) -> bool:
        """Whether it needs layers or dropout, which static embeddings lack: they make two views of a sentence alone."""
        return len(cls.rows.texts) == 1 and cls.rows.answer is None

    def build(self) -> None:
        """Build the parts this method adds; torch's seed initialises their weights."""

    def without_dropout(self) -> tuple[nn.Module, ...]:
        """Parts that have no dropout in training: none, or the encoder where a setting `dropout` is off."""
        return () if getattr(self, "dropout", True) else (self.base,)

    def train(self, mode: bool = True) -> Self:
        """Switch between training and evaluation; some parts may have no dropout in either."""
        super().train(mode)
        for part in self.without_dropout():
            part.eval()
        return self

    def loss(self, *columns: Any) -> Tensor:
        """The loss of a batch: a list for each column of its rows, of sentences, labels, or scores from 0 to 1."""
        raise NotImplementedError

    def forward(self, *columns: Any) -> Tensor:
        """The loss; several processes need it as the module's call."""
        return self.loss(*columns)

    def head(self) -> Head:
        """The layer & pooling of the trained model; the same one is evaluated in training and exported."""
        return Head(("cls",))

    def base_head(self) -> Head:
        """The layer & pooling of the base, for comparison: `head` without the parts that training adds."""
        return Head(self.head().poolings or ("cls",))

    def encode(
        self,
        sentences: list[str],
        head: Pool | None = None,
        edit: Edit | None = None,
        position_ids: Edit | None = None,
        copy: Tunable | None = None,
    ) -> Tensor:
        """Vectors (sentence, width) with gradients, for a loss; `head` replaces the layer & pooling.

        `edit` and `position_ids` change embeddings and positions, see `Tunable.states`. `copy` replaces the base, in a
        method that has several copies.
        """
        pool = head or self.head()
        passes = (copy or self.base).grouped(sentences, edit, position_ids)
        return in_order((places, pool(states.hidden, states.mask)) for places, states in passes)

    def vectors(
        self,
        sentences: Sequence[str],
        head: Pool | None = None,
        autocast: Autocast = nullcontext,
        on_states: OnStates | None = None,
    ) -> Work[Tensor]:
        """Vectors (sentence, width) as after training, without dropout; `head` replaces the layer & pooling.

        `on_states` is called with the states of every batch and the places of its sentences.
        """
        if not sentences:
            raise ValueError("no sentences to read")
        training, done, pool = self.training, 0, head or self.head()
        found = torch.empty(0)
        self.eval()
        try:
            for places, states in self.exported.read(sentences, autocast):
                with torch.no_grad():
                    vectors = pool(states.hidden, states.mask).float().cpu()
                    if on_states:
                        on_states(places, states)
                if not done:
                    found = vectors.new_empty(len(sentences), vectors.shape[-1])
                found[places] = vectors
                done += len(places)
                yield Progress("encoding sentences", done, len(sentences))
        finally:
            self.train(training)
        return found

    def record_similarities(self, first: Tensor, second: Tensor) -> None:
        """Record the mean similarity of positive and of random pairs; rows i of both sides are a positive pair."""
        with torch.no_grad():
            alike = cosines(first, second)
            positive = alike.diagonal().mean()
            random = (alike.sum() - alike.diagonal().sum()) / (alike.numel() - len(alike))
            self.similarities = positive, random

    def record_class_similarities(self, vectors: Tensor, numbers: Tensor) -> None:
        """Record the mean similarity of two rows of one class, and of two classes, by the numbers of their classes."""
        with torch.no_grad():
            alike, same = cosines(vectors, vectors), numbers[:, None] == numbers[None, :]
            others = same.logical_not()
            same = same.logical_and(torch.eye(len(numbers), device=same.device).logical_not())
            self.similarities = (alike * same).sum() / same.sum(), (alike * others).sum() / others.sum()

    def remark(self) -> str:
        """A remark about the rows so far, or ""."""
        return ""

    @classmethod
    def trains(cls) -> bool:
        """Whether it has a loss to minimise."""
        return cls.loss is not Method.loss

    @classmethod
    def trains_encoder(cls) -> bool:
        """Whether it changes the weights of the encoder, and not only what is done with its vectors."""
        return cls.trains() and not set(ADAPTERS) <= set(cls.unused)

    @classmethod
    def learns(cls) -> bool:
        """Whether the result depends on the text."""
        return cls.trains()

    @classmethod
    def named_models(cls, values: Values) -> dict[str, str]:
        """The models that these settings name, which are found before training, by the name of the setting."""
        return {name: str(values[name]) for name, one in cls.knobs.items() if one.names_model(values[name])}

    @classmethod
    def predicts(cls) -> bool:
        """Whether it predicts classes; if so, labelled rows are held out that choose the checkpoint and test it."""
        return False

    @classmethod
    def rows_under(cls, values: Values) -> Kind:
        """The kind of rows that it trains on under these settings: `rows`, or the same with more columns."""
        return cls.rows

    @classmethod
    def check_rows(cls, corpus: Corpus) -> None:
        """Raise if it cannot train on rows of this kind."""

    @classmethod
    def check_layers(cls, values: Values, model: str, layers: int) -> None:
        """Raise if it cannot train a model with so many layers under these settings; static embeddings have none."""
        if not layers and cls.needs_layers():
            raise UnsupportedModel(
                f"'{model}' is static embeddings, without layers and dropout, and {cls.name} needs them. Choose a "
                "method that trains on pairs, triplets, scored pairs or labelled texts, or a transformer, "
                f"{families.SUCH_AS}."
            )

    def constant(self) -> tuple[nn.Module, ...]:
        """Parts that nothing changes in training, such as a frozen base; the state of a stopped run leaves them out."""
        return ()

    def rows_in_memory(self, rows: int) -> int:
        """Of a batch of so many rows, those whose activations are held at a time: all."""
        return rows

    @property
    def every_layer(self) -> Pool | None:
        """If every layer is trained, what pools the vectors of all, side by side and the last layer first."""
        return None

    @property
    def trained_layers(self) -> int:
        """How many layers have a loss."""
        return 1

    def candidates(self) -> Mapping[str, Tunable]:
        """Trained copies by name, among which each evaluation chooses by its score: the base alone."""
        return {"": self.base}

    @property
    def exported(self) -> Tunable:
        """The trained copy that is evaluated and exported."""
        return self.candidates()[self.candidate] if self.candidate else self.base
