"""What a method may add to the four things that each one has: small classes that it inherits from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar

import torch
from torch import Tensor, nn

from explorer.data.text_sets import Corpus
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.encoding.read.prompts import RolePrompts
from explorer.encoding.tune.adapters import effective
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, WrongColumns
from explorer.gathering import gathered
from explorer.knobs import Values, knob
from explorer.methods._class_layer import ClassLayer
from explorer.methods._method import Autocast, Method
from explorer.methods._schedule import Schedule
from explorer.optimizers import Group, adamw
from explorer.progress import Work, finish

MODEL_DEFAULT = "model default"  # the pooling, and the maps after it, that a model declares; the mean without one
TRAINED_POOLINGS = ("cls", "mean", "max")
THE_BASE = "the base"  # as a frozen encoder: the one that training starts from


def pooling_knob(paper: str | None = None) -> str:
    """The setting of the pooling; `paper` is the paper's value, if it is one of them."""
    return knob(
        MODEL_DEFAULT,
        choices=(MODEL_DEFAULT, *TRAINED_POOLINGS),
        paper=paper,
        help="Pooling in training and afterwards. model default: the pooling that the model declares, with its dense "
        "layers unchanged; the mean of the last layer if the model declares none, as in sentence-transformers. cls, "
        "mean and max: of the last layer, without those dense layers.",
    )


def guide_knob(
    text: str, *, width: bool = True, others: Mapping[str, str] = MappingProxyType({}), front: bool = True
) -> str:
    """The setting of a frozen encoder; `text` says what it is for, `width` whether it may have another one.

    `others` are values in place of an encoder, and what they stand for.
    """
    return knob(
        THE_BASE,
        front=front,
        encoder=True,
        no_models=tuple(others),
        help=f"{text} the base: a frozen copy of the encoder that is trained. Or another encoder on this disk, by name "
        f"or folder; it may have another tokenizer{' and width' * width}. Both are read under their model default."
        + "".join(f" {name}: {meaning}" for name, meaning in others.items()),
    )


def temperature_knob(default: float, source: str = "", front: bool = True) -> float:
    """The setting of the temperature; `source` says where its value is from."""
    text = f"Temperature. Lower penalises close negatives more{f' ({source})' if source else ''}."
    return knob(default, low=0.001, high=1.0, front=front, help=text)


class Pooled(Method):
    """A choice of poolings: the vector is one pooling of the last layer, with nothing added by default."""

    pooling: str = pooling_knob("cls")

    _on_device: Mapping[str, tuple[str, Head]] = MappingProxyType({})

    @property
    def pooled(self) -> Head:
        """The chosen pooling, with the maps that the model declares after it, on the current device."""
        return self.on_device("pooled", self._chosen)

    def on_device(self, name: str, make: Callable[[], Head]) -> Head:
        """The head with this name on the current device; it is made once for each device."""
        device = str(self.base.model.device)
        if name not in self._on_device or self._on_device[name][0] != device:
            head = make().to(device)  # which may ask for another
            self._on_device = {**self._on_device, name: (device, head)}
        return self._on_device[name][1]

    @property
    def before_normalising(self) -> Head:
        """The chosen pooling before normalisation: for a head that is trained on top."""
        return replace(self.pooled, normalize=False)

    def head(self) -> Head:
        """The pooling alone."""
        return self.pooled

    def base_head(self) -> Head:
        """The pooling alone, as afterwards."""
        return self.pooled

    def _chosen(self) -> Head:
        if self.pooling != MODEL_DEFAULT:
            return Head((self.pooling,))
        # the tokenizer adds the prompt already
        return replace(self.base.encoder.default_head, prompt="", remark="")


class Fitting(Method):
    """A part that is fitted to all sentences at once, before the first batch; without a loss, that is all of it."""

    def fit(self, sentences: Sequence[str]) -> Work[None]:
        """Fit to all sentences."""
        raise NotImplementedError

    @classmethod
    def learns(cls) -> bool:
        """This method learns, with a loss or without."""
        return True


class PredictedClasses(Method):
    """Classes of labelled rows that the trained model predicts; they choose the checkpoint, and are tested."""

    kept_for_scores: ClassVar[tuple[str, ...]] = ()  # parts for training only that rows are scored with
    classifies_exported: ClassVar[bool] = False  # whether its layer is of vectors as the exported encoder gives them
    training_rows: Corpus | None = None  # set before the first step, for a layer that is fitted to them

    @classmethod
    def predicts(cls) -> bool:
        """This method predicts classes."""
        return True

    def predicted(self, texts: Sequence[Sequence[str]], autocast: Autocast = nullcontext) -> Work[tuple[str, ...]]:
        """The class of each row; `texts` are its columns of sentences."""
        raise NotImplementedError

    def classification(self) -> ClassLayer:
        """The classification layer, to be saved next to the exported encoder."""
        raise NotImplementedError


class FittedClasses(PredictedClasses):
    """Classes that a logistic layer predicts, which is fitted to the training rows under the encoder as it is."""

    classifies_exported: ClassVar[bool] = True

    @classmethod
    def check_rows(cls, corpus: Corpus) -> None:
        """Refuse rows of two sentences."""
        if len(corpus.texts) != 1:
            raise WrongColumns(
                f"{corpus.name} has two sentences per row: {cls.name} compares rows with each other, and encodes one "
                "sentence of each. Use rows of one text and its label, or choose the method classify."
            )

    def predicted(self, texts: Sequence[Sequence[str]], autocast: Autocast = nullcontext) -> Work[tuple[str, ...]]:
        """The class of each text by a layer that is fitted to the training rows under the encoder as it is."""
        layer = yield from self._fitted(autocast)
        vectors = yield from self.vectors(texts[0], None, autocast)
        return layer.predicted(vectors)

    def classification(self) -> ClassLayer:
        """The logistic layer of the encoder as it is."""
        return finish(self._fitted())

    def _fitted(self, autocast: Autocast = nullcontext) -> Work[ClassLayer]:
        if self.training_rows is None:
            raise ValueError("no rows to fit the layer to")
        vectors = yield from self.vectors(self.training_rows.texts[0], None, autocast)
        return ClassLayer.fitted(vectors, self.training_rows.labels)


class PromptedRows(Method):
    """Rows that are encoded after the prompts of queries and documents."""

    @classmethod
    def prompts(cls, values: Values, encoder: Encoder) -> RolePrompts:
        """The prompts in training, in evaluation and afterwards, under these settings."""
        raise NotImplementedError

    def prompted(self, columns: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
        """Columns of rows as they are encoded: queries, then documents, after the prompts of their role."""
        return after_prompts(columns, self.prompts(self.by_name(), self.base.encoder))


def after_prompts(columns: Sequence[Sequence[str]], roles: RolePrompts) -> tuple[tuple[str, ...], ...]:
    """A column of queries, then columns of documents, after the prompts of their role."""
    return roles.before_queries(columns[0]), *map(roles.before_documents, columns[1:])


class ChosenPrompts(PromptedRows):
    """A choice of the prompts of both roles: those that the model declares, or others."""

    query_prompt: str = knob(
        MODEL_DEFAULT,
        help="Text before the first text of each row, as before queries, such as 'query: '; empty for none. It is used "
        "in training and evaluation, and the exported model declares it. model default: the prompt that the model "
        "declares for queries, if it declares one.",
    )
    document_prompt: str = knob(
        MODEL_DEFAULT, help="The same before the other texts of a row, as before documents, such as 'passage: '."
    )

    @classmethod
    def prompts(cls, values: Values, encoder: Encoder) -> RolePrompts:
        """Those that are set, in place of the encoder's."""
        own = encoder.role_prompts
        names = ("query_prompt", "document_prompt")
        query, document = (values.get(name, MODEL_DEFAULT) for name in names)
        typed = [
            f"{name} {value!r}" for name, value in zip(names, (query, document), strict=True) if value != MODEL_DEFAULT
        ]
        if typed and encoder.default_head.prompt:
            raise BadChoice(
                f"{' and '.join(typed)} cannot be used: {encoder.name} puts {encoder.default_head.prompt!r} before "
                f"every text. Leave them at '{MODEL_DEFAULT}', or remove default_prompt_name from a copy of the model."
            )
        return replace(
            own,
            query=own.query if query == MODEL_DEFAULT else str(query),
            document=own.document if document == MODEL_DEFAULT else str(document),
        )


class FrozenEncoder(Pooled):
    """A frozen encoder beside the trained one: the base as it was, or any other encoder on this disk."""

    training_only: ClassVar[tuple[str, ...]] = ("frozen_guide",)

    @property
    def guide_name(self) -> str:
        """The encoder that a setting names, or `THE_BASE`; "" for none."""
        raise NotImplementedError

    def build(self) -> None:
        """Copy the base, or load the other encoder, which has a tokenizer of its own."""
        super().build()
        if self.guide_name == THE_BASE:
            self.frozen_guide = self.base.frozen()
        elif self.guide_name:
            other = loading.load(model_names.find(self.guide_name), precision="float32", device="cpu")
            self.frozen_guide = Tunable(other, self.base.max_length).requires_grad_(False)

    def constant(self) -> tuple[nn.Module, ...]:
        """The frozen encoder, if there is one."""
        return (self.frozen_guide,) if self.guide_name else ()

    def without_dropout(self) -> tuple[nn.Module, ...]:
        """The frozen encoder, and the trained one if that is set."""
        return (*self.constant(), *super().without_dropout())

    @property
    def guide_head(self) -> Head:
        """The model default of the frozen encoder; its tokenizer adds the prompt of all texts already."""
        default = self.frozen_guide.encoder.default_head
        return self.on_device("frozen_guide", lambda: replace(default, prompt="", remark=""))

    @torch.no_grad()
    def encode_by_guide(self, texts: list[str]) -> Tensor:
        """The vectors (text, width) of this process by the frozen encoder, under its model default."""
        return self.encode(texts, self.guide_head, copy=self.frozen_guide)


class FrozenGuide(FrozenEncoder, PromptedRows):
    """A frozen encoder of queries and documents, which it reads after their prompts."""

    def sides_of_guide(self, columns: Sequence[Sequence[str]]) -> list[Tensor]:
        """The vectors (row, width) of each column by the frozen encoder, of all processes."""
        same = self.guide_name == THE_BASE
        texts = self.prompted(columns) if same else after_prompts(columns, self.frozen_guide.encoder.role_prompts)
        together = self.encode_by_guide([text for column in texts for text in column])
        return [gathered(side) for side in together.chunk(len(columns))]


class Momentum(Pooled):
    """A copy without gradients, which moves a little towards the trained encoder after each update."""

    compares_rows = False  # but for batch norm in training

    def build(self) -> None:
        """Copy the encoder."""
        self.target = self.base.frozen()

    def encode_by_target(self, sentences: list[str], head: Head) -> Tensor:
        """Vectors (sentence, width) of the copy."""
        with torch.no_grad():
            return self.encode(sentences, head, copy=self.target)


@torch.no_grad()
def follow(copies: Iterable[nn.Module], trained: Iterable[nn.Module], momentum: float) -> None:
    """Move the weights of copies towards those of trained modules: momentum × theirs + (1 - momentum) × the others'.

    With adapters, the weights of the trained modules are those that they compute with.
    """
    moved: list[Tensor] = []
    towards: list[Tensor] = []
    for module, other in zip(copies, trained, strict=True):
        weights = effective(other)
        for name, weight in module.named_parameters():
            if weight is not weights[name]:  # a weight that adapters leave as it is may be one for both
                moved.append(weight)
                towards.append(weights[name])
    torch._foreach_lerp_(moved, towards, 1 - momentum)


class UncorrectedAdam(Method):
    """AdamW without bias correction, where the published code has none."""

    uncorrected_adam: bool = knob(
        False,
        help="AdamW without bias correction, as in the published code: early steps are up to 6.6 times as large, late "
        "ones the same.",
    )

    def make_optimizer(self, groups: list[Group], schedule: Schedule) -> torch.optim.Optimizer:
        """AdamW with the settings of the schedule."""
        corrected = not self.uncorrected_adam
        return adamw(groups, schedule.learning_rate, schedule.beta2, schedule.epsilon, corrected)
