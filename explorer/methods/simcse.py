"""SimCSE (Gao, Yao and Chen 2021) on sentences, pairs and triplets, and DiffCSE (Chuang and others 2022).

SimCSE is InfoNCE through a dense layer; DiffCSE adds the detection of replaced words to SimCSE without labels.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from explorer.encoding.read.head import Dense, Head
from explorer.gathering import gathered, own_share
from explorer.knobs import Values
from explorer.methods import Pooled, Schedule, _objectives, cited, knob

PROJECTORS = ("batch norm", "tanh")  # of DiffCSE


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


class SimCSE(DenseHead, _objectives.InfoNCEOnSentences):
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


class SimCSEPairs(KeptDenseHead, _objectives.InfoNCEOnPairs):
    """SimCSE on pairs: a sentence and one that it entails are a positive pair.

    Gao, Yao and Chen 2021, section 4: premise and entailed hypothesis, the others of the batch as negatives. The
    trained model keeps the dense layer unless `keep_head` is off.
    """

    name = "simcse-sup"
    when_to_use = "Pairs, and [CLS] must be the vector; with SNLI, the model default did not improve."


class SimCSETriplets(KeptDenseHead, _objectives.InfoNCEOnTriplets):
    """SimCSE on triplets: as on pairs, with a contradiction as a hard negative per row.

    Gao, Yao and Chen 2021, equation 5. `weight` is added to the logit of the row's own hard negative: 0 in SimCSE's
    code, 1 in that of layer-wise attention pooling. The trained model keeps the dense layer unless `keep_head` is off.
    """

    name = "simcse-hard"
    when_to_use = "Triplets, and [CLS] must be the vector; with SNLI, the model default did not improve."


class DiffCSE(_objectives.ReplacedTokenDetection, Pooled):
    """DiffCSE: SimCSE without labels, plus detecting replaced words from the sentence's vector.

    Chuang and others 2022, equations 1 to 4 and appendix A. The projector is used in training only: the trained model
    uses the pooled vector ([CLS] in the paper). The projector has batch norms, or is SimCSE's dense layer (Table 6).
    """

    # trains sensitivity to edits that change the meaning, in addition to SimCSE's invariance to dropout
    name = "diffcse"
    when_to_use = "Only sentences and time for many updates: 200 of 16 rows gave [CLS] one point."
    training_only = (*_objectives.DETECTION_PARTS, "project")
    schedule = Schedule(batch_size=64, learning_rate=7e-6, max_length=32, epochs=2, evaluate_every=125)

    projector: str = knob(
        "batch norm",
        choices=PROJECTORS,
        help="Projector: two linear maps with batch norm (paper), or SimCSE's dense layer with tanh.",
    )

    def build(self) -> None:
        """Build the projector and the DiffCSE parts."""
        super().build()
        width, pooled = self.width, self.pooled.width(self.width)
        if self.projector == "tanh":
            dense = nn.Linear(pooled, width)
            nn.init.zeros_(dense.bias)
            self.project = nn.Sequential(dense, nn.Tanh())
        else:
            self.project = nn.Sequential(
                nn.Linear(pooled, 2 * width, bias=False),
                nn.BatchNorm1d(2 * width),
                nn.ReLU(),
                nn.Linear(2 * width, width, bias=False),
                nn.BatchNorm1d(width, affine=False),
            )
        for layer in self.project:
            if isinstance(layer, nn.Linear):  # as the released code, which starts them as the encoder's own maps
                nn.init.normal_(layer.weight, std=0.02)

    def projected(self, sentences: list[str]) -> Tensor:
        """Vectors of sentences after the projector."""
        # batch norm over few rows needs more precision than bfloat16
        with torch.autocast(self.base.model.device.type, enabled=False):
            return own_share(self.project(gathered(self.encode(sentences, self.before_normalising)).float()))
