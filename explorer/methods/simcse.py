"""SimCSE (Gao, Yao and Chen 2021) on sentences, on pairs and on triplets: InfoNCE through a dense layer."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from torch import Tensor, nn

from explorer.encoding.read.head import Dense, Head
from explorer.knobs import Values
from explorer.methods import Pooled, Schedule, cited, knob
from explorer.methods._objectives import InfoNCEOnPairs, InfoNCEOnSentences, InfoNCEOnTriplets


class DenseHead(Pooled):
    """The loss uses tanh(W h + b) of the pooled vector h; the trained model uses h."""

    family = "SimCSE"
    paper = cited("gao-etal-2021-simcse")

    def build(self) -> None:
        """Build the dense layer, initialised at random."""
        width = self.pooled.width(self.width)
        self.dense = nn.Linear(width, width)
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def projected(self, sentences: list[str]) -> Tensor:
        """The vectors (sentence, width) of the loss."""
        return self.encode(sentences, self.with_dense())

    def with_dense(self) -> Head:
        """The pooling and the dense layer."""
        pooled = self.pooled
        return replace(pooled, dense=(*pooled.dense, Dense(self.dense.weight, self.dense.bias, "Tanh")))


class KeptDenseHead(DenseHead):
    """The trained model keeps the dense layer unless `keep_head` is off."""

    schedule = Schedule(batch_size=512, learning_rate=5e-5, max_length=32, epochs=3, evaluate_every=125)
    by_family: ClassVar[Mapping[str, Values]] = {
        "BERT-large": {"learning_rate": 1e-5},
        "RoBERTa-large": {"learning_rate": 1e-5},
    }

    keep_head: bool = knob(
        True,
        help="Keep the dense layer in the exported model, as the paper does. It starts from random weights, which "
        "lowers the score of an encoder already tuned for similarity: all-MiniLM-L6-v2 scores 79.84 with it and "
        "80.53 without on the sample's pairs before the first step, 76.74 and 77.70 after 80 steps of simcse-hard. "
        "off: the dense layer is used in training only.",
    )

    def head(self) -> Head:
        """The pooling, through the dense layer where it is kept."""
        return self.with_dense() if self.keep_head else self.pooled


class SimCSE(DenseHead, InfoNCEOnSentences):
    """SimCSE without labels: the same sentence under two dropout masks is a positive pair.

    Gao, Yao and Chen 2021, equation 4. The dense layer is used in training only (section 6.3); settings as in their
    appendix A and Table D.1 for BERT-base.
    """

    # dropout is the only noise, so an encoder without dropout cannot be trained by it
    name = "simcse"
    when_to_use = "Only sentences and the model default: a gain at low cost; SG gave [CLS] almost twice as much."
    training_only = ("dense",)
    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, evaluate_every=125)
    by_family: ClassVar[Mapping[str, Values]] = {
        "BERT-large": {"learning_rate": 1e-5},
        "RoBERTa-base": {"batch_size": 512, "learning_rate": 1e-5},
        "RoBERTa-large": {"batch_size": 512, "learning_rate": 3e-5},
    }


class SimCSEPairs(KeptDenseHead, InfoNCEOnPairs):
    """SimCSE on pairs: a sentence and one that it entails are a positive pair.

    Gao, Yao and Chen 2021, section 4: premise and entailed hypothesis, the others of the batch as negatives. The
    trained model keeps the dense layer unless `keep_head` is off.
    """

    name = "simcse-sup"
    when_to_use = "Pairs, and [CLS] must be the vector; those of SNLI gave the model default nothing."


class SimCSETriplets(KeptDenseHead, InfoNCEOnTriplets):
    """SimCSE on triplets: as on pairs, with a contradiction as a hard negative per row.

    Gao, Yao and Chen 2021, equation 5. `weight` is added to the logit of the row's own hard negative: 0 in SimCSE's
    code, 1 in that of layer-wise attention pooling. The trained model keeps the dense layer unless `keep_head` is off.
    """

    name = "simcse-hard"
    when_to_use = "Triplets, and [CLS] must be the vector; those of SNLI gave the model default nothing."
