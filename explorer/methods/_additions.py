"""What a method may add to the four things that each one has: small classes that it inherits from, and objectives.

InfoNCE on sentences, on pairs and on triplets is that of SimCSE (Gao, Yao and Chen 2021, equations 4 and 5), which
layer-wise attention pooling reuses (its equations 6 to 8).

Replaced token detection is the second loss of DiffCSE (Chuang and others 2022, section 3). A frozen masked language
model fills in masked words; a second encoder, whose first token is the vector of the original sentence, detects which
words were replaced.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer.data.text_sets import PAIRS, SENTENCES, TRIPLETS, Corpus
from explorer.encoding.load import language_models
from explorer.encoding.locate import model_names
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.encoding.read.head_facts import RolePrompts
from explorer.encoding.tune.adapters import effective
from explorer.encoding.tune.editing import Edit
from explorer.gathering import gathered, mean_of_all
from explorer.knobs import Values, knob
from explorer.losses import info_nce, info_nce_hard
from explorer.methods._class_layer import ClassLayer
from explorer.methods._method import Autocast, Method, cited
from explorer.methods._schedule import Schedule
from explorer.optimizers import Group, adamw
from explorer.progress import Work

MODEL_DEFAULT = "model default"  # the pooling, and the maps after it, that a model declares; the mean without one
TRAINED_POOLINGS = ("cls", "mean", "max")
DETECTION_PARTS = ("generator_model", "discriminator", "classify_tokens")  # that are for training only


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


@dataclass(frozen=True)
class Mining:
    """Of each anchor's nearest second texts, those ranked `first` to `last` that are far enough from the positive.

    A candidate's cosine is at most that of the positive less the share `margin`: what is closer is probably another
    right answer that nobody marked (a false negative).
    """

    negatives: int  # of each row
    first: int
    last: int
    margin: float


class MinedNegatives(Method):
    """Hard negatives that are mined from pairs with the base, each one more column of the rows."""

    @classmethod
    def mining(cls, values: Values) -> Mining | None:
        """How they are mined before training under these settings; None if they are not."""
        raise NotImplementedError


class PromptedRows(Method):
    """Rows that are encoded after the prompts of queries and documents."""

    @classmethod
    def prompts(cls, values: Values, encoder: Encoder) -> RolePrompts:
        """The prompts in training, in evaluation and afterwards, under these settings."""
        raise NotImplementedError

    def prompted(self, columns: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
        """Columns of rows as they are encoded: queries, then documents, after the prompts of their role."""
        roles = self.prompts(self.by_name(), self.base.encoder).pooled_ones()
        prompts = roles.query, *[roles.document] * (len(columns) - 1)
        return tuple(tuple(prompt + text for text in column) for prompt, column in zip(prompts, columns, strict=True))


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


class InfoNCE(Method):
    """Classify the positive of every sentence among the sentences of the batch."""

    temperature: float = temperature_knob(0.05, "paper, Table D.1: 0.05")

    def projected(self, sentences: list[str]) -> Tensor:
        """The vectors (sentence, width) of the loss."""
        raise NotImplementedError

    def sides(self, *columns: list[str]) -> list[Tensor]:
        """The vectors of each column, of all processes, computed in one pass."""
        together = self.projected([sentence for column in columns for sentence in column])
        return [gathered(side) for side in together.chunk(len(columns))]

    def loss(self, *columns: list[str]) -> Tensor:
        """The loss of first and second sentences."""
        one, other = self.sides(*columns)
        self.record_similarities(one, other)
        return info_nce(one, other, self.temperature)


class InfoNCEOnSentences(InfoNCE):
    """The positive is the sentence itself, under another dropout mask."""

    rows = SENTENCES

    def loss(self, *columns: list[str]) -> Tensor:
        """The loss of each sentence, encoded twice with different dropout."""
        return super().loss(*columns, *columns)


class InfoNCEOnPairs(InfoNCE):
    """The positive is the second column."""

    rows = PAIRS


class InfoNCEOnTriplets(InfoNCE):
    """The positive is the second column, the hard negative the third."""

    rows = TRIPLETS

    weight: float = knob(
        0.0, low=-100.0, high=100.0, front=True, help="Added to the logit of the row's own hard negative."
    )

    def loss(self, *columns: list[str]) -> Tensor:
        """The loss of anchors, positives and hard negatives."""
        anchor, positive, negative = self.sides(*columns)
        self.record_similarities(anchor, positive)
        return info_nce_hard(anchor, positive, negative, self.temperature, self.weight)


class ReplacedTokenDetection(InfoNCE):
    """L = L_contrast + λ L_RTD."""

    family = "DiffCSE"
    paper = cited("chuang-etal-2022-diffcse")
    rows = SENTENCES

    temperature: float = temperature_knob(0.05, "paper, appendix A: 0.05")
    detection: float = knob(
        0.005, low=0.0, high=10.0, front=True, help="λ: weight of replaced token detection (paper, appendix A: 0.005)."
    )
    by_family: ClassVar[Mapping[str, Values]] = {
        "RoBERTa-base": {"generator": "distilroberta-base"},
        "RoBERTa-large": {"generator": "distilroberta-base"},
    }
    released: ClassVar[Values] = {"generator_dropout": True, "count_padding": True}

    mask_share: float = knob(
        0.3, low=0.01, high=0.99, help="Share of the tokens that are masked (paper, appendix A: 0.3)."
    )
    generator: str = knob(
        "distilbert-base-uncased",
        help="A masked language model with the encoder's vocabulary, by name or folder (default: the paper's for "
        "BERT). Without a hub, 'python -m explorer generator' trains one from the encoder.",
        masked_model=True,
    )
    generator_dropout: bool = knob(False, help="Use dropout in the generator too.")
    count_padding: bool = knob(False, help="Average the loss over padding too; it then depends on the padding.")

    def build(self) -> None:
        """Build the generator and the discriminator with its output layer."""
        super().build()
        encoder = self.base.encoder
        self.masker = language_models.Masker(encoder, self.mask_share)
        self.generator_model = language_models.load_masked(model_names.find(self.generator), encoder)
        self.discriminator = self.base.another()
        self.classify_tokens = nn.Linear(self.width, 2)

    def constant(self) -> tuple[nn.Module, ...]:
        """The generator."""
        return (self.generator_model,)

    def without_dropout(self) -> tuple[nn.Module, ...]:
        """The generator, unless it is set."""
        return () if self.generator_dropout else (self.generator_model,)

    def loss(self, *columns: list[str]) -> Tensor:
        """Compute both losses of each sentence, encoded twice with different dropout and masks."""
        (sentences,) = columns
        vectors = self.projected(sentences + sentences)
        one, other = (gathered(side) for side in vectors.chunk(2))
        self.record_similarities(one, other)
        return info_nce(one, other, self.temperature) + self.detection * self.detected(sentences + sentences, vectors)

    def detected(self, sentences: list[str], vectors: Tensor) -> Tensor:
        """L_RTD: the cross-entropy of replaced token detection, averaged over tokens."""
        sums, counts = [], []
        for places, ids, mask, real in self.base.padded_groups(sentences):
            filled_in = self.filled_in(ids, mask, real)
            rows = torch.tensor(places).to(vectors.device, non_blocking=True)  # a list as index makes a GPU wait
            states = self.discriminator.states_of(filled_in, mask, edit=with_first_token(vectors[rows])).hidden[-1]
            if self.count_padding:
                counted = torch.arange(mask.numel(), device=mask.device)
            else:
                counted = language_models.chosen_places(mask, real)
            labels = ((filled_in != ids) & mask).flatten()[counted].long()
            with torch.autocast(states.device.type, enabled=False):
                scores = self.classify_tokens(states.float()).flatten(0, 1)[counted]
                sums.append(functional.cross_entropy(scores, labels, reduction="sum"))
            counts.append(len(counted))
        return mean_of_all(sums, counts)

    @torch.no_grad()
    def filled_in(self, ids: Tensor, mask: Tensor, real: int) -> Tensor:
        """Sentences as the generator fills them in: its most likely token everywhere but at the first place."""
        hidden, _ = self.masker(ids, mask)
        found = self.generator_model.guesses(hidden, mask, real)
        found[:, 0] = ids[:, 0]
        return found.where(mask, 0)


def with_first_token(vectors: Tensor) -> Edit:
    """An edit that makes these vectors (sentence, width) the embeddings of the first tokens."""
    return lambda embedded, _: torch.cat([vectors[:, None].to(embedded.dtype), embedded[:, 1:]], dim=1)
