"""Objectives that several methods share: classify the positive of a sentence, or detect tokens that were replaced.

InfoNCE on sentences, on pairs and on triplets is that of SimCSE (Gao, Yao and Chen 2021, equations 4 and 5), which
layer-wise attention pooling reuses (its equations 6 to 8).

Replaced token detection is the second loss of DiffCSE (Chuang and others 2022, section 3). A frozen masked language
model fills in masked words; a second encoder, whose first token is the vector of the original sentence, detects which
words were replaced.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer.data.text_sets import PAIRS, SENTENCES, TRIPLETS
from explorer.encoding.load import language_models
from explorer.encoding.locate import model_names
from explorer.encoding.tune.editing import Edit
from explorer.gathering import gathered, mean_of_all
from explorer.knobs import Values, knob
from explorer.losses import info_nce, info_nce_hard
from explorer.methods._additions import temperature_knob
from explorer.methods._method import Method, cited

DETECTION_PARTS = ("generator_model", "discriminator", "classify_tokens")  # that are for training only


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
            states = self.discriminator(filled_in, mask, edit=with_first_token(vectors[rows])).hidden[-1]
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
