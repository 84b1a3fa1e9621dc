"""Layer-wise attention pooling (Oh and others 2022): attention over all layers, then a dense layer, in four methods.

Section 3. Every pooler of the paper's Table 2 can be chosen, so that its comparison can be repeated.
"""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.layer_attention import ACTIVATIONS, NORMALISERS, LayerAttention
from explorer.encoding.read.pooling import FIRST_LAST, FIRST_LAST_FROM_0, titled
from explorer.knobs import Values
from explorer.methods import UNEVEN, Method, Schedule, _objectives, cited, knob

# by name: poolings of the last layers, then the poolings that are query and value of the attention; in Table 2's order
POOLERS: dict[str, tuple[tuple[str, ...], tuple[str, str] | None]] = {
    "cls": (("cls",), None),
    "mean": (("mean",), None),
    FIRST_LAST: ((FIRST_LAST,), None),
    FIRST_LAST_FROM_0: ((FIRST_LAST_FROM_0,), None),
    f"mean, {FIRST_LAST}": (("mean", FIRST_LAST), None),
    f"mean, {FIRST_LAST_FROM_0}": (("mean", FIRST_LAST_FROM_0), None),
    "cls, mean": (("cls", "mean"), None),
    "attention of cls": ((), ("cls", "cls")),
    "attention of mean": ((), ("mean", "mean")),
    "attention of cls to mean": ((), ("cls", "mean")),
    "attention of cls to mean, cls": (("cls",), ("cls", "mean")),
}
AFTERWARDS = ("as trained", "cls")
# of Table 4, on pairs and on triplets
ON_LABELS: Mapping[str, Values] = {"RoBERTa-base": {"learning_rate": 3e-5}, "RoBERTa-large": {"learning_rate": 5e-5}}


class LayerAttentionPooling(Method):
    """Vectors are tanh(W [cls ; attention over layers] + b)."""

    family = "layer attention"
    paper = cited("oh-etal-2022-dont")
    released: ClassVar[Values] = {"activation": "rrelu", "normaliser": "softmax"}
    unused: ClassVar[tuple[str, ...]] = ("blend",)  # a base has no attention over layers

    pooler: str = knob(
        "attention of cls to mean, cls",
        choices=tuple(POOLERS),
        front=True,
        help="How the layers are pooled to one vector: a row of the paper's Table 2, of which the last and best is "
        "the default. first-last mean averages layers 1 and last; from layer 0, as in the released code, layers 0 and "
        "last.",
    )
    activation: str = knob(
        "rrelu",
        choices=ACTIVATIONS,
        paper="none",
        help="Activation after the query, key and value maps; in the released code only.",
    )
    normaliser: str = knob(
        "softmax",
        choices=NORMALISERS,
        paper="literal",
        help="How attention weights are computed: softmax, as released; linear or literal, equation 1 with two indices "
        "or with one as printed. These two divide by sums that can be 0, so training may fail.",
    )
    attention_width: int = knob(
        0,
        low=0,
        high=65_536,
        help="Width of the query, key and value maps' output; 0: that of the encoder, as in the released code. A small "
        "number makes a small pooler with fewer weights.",
    )
    with_embeddings: bool = knob(True, help="Use the embedding output as a layer too, as the released code does.")
    afterwards: str = knob(
        "as trained",
        choices=AFTERWARDS,
        help="Pooling of the trained model: the pooler (Tables 1 and 2), or [CLS] alone (Table 3).",
    )

    @classmethod
    def needs_layers(cls) -> bool:
        """Attention is over layers."""
        return True

    def build(self) -> None:
        """Build the pooler and the dense layer, initialised at random."""
        super().build()
        poolings, attention = POOLERS[self.pooler]
        self.maps = nn.ParameterDict()
        width = self.attention_width or self.width
        if attention:
            for name in ("query", "key", "value"):
                self.maps[name] = nn.Parameter(torch.empty(width, self.width).normal_(std=0.02))
        self.dense = nn.Linear(self.width * len(poolings) + width * bool(attention), self.width)
        nn.init.normal_(self.dense.weight, std=0.02)
        nn.init.zeros_(self.dense.bias)

    def head(self) -> Head:
        """The pooler and the dense layer, or [CLS] alone."""
        return Head(("cls",)) if self.afterwards == "cls" else self._pooler(noisy=False)

    def projected(self, sentences: list[str]) -> Tensor:
        """The vectors (sentence, width) of the loss."""
        return self.encode(sentences, self._pooler(noisy=self.training))

    def _pooler(self, noisy: bool) -> Head:
        poolings, attention = POOLERS[self.pooler]
        layers = None
        if attention:
            query, values = attention
            layers = LayerAttention(
                self.maps["query"],
                self.maps["key"],
                self.maps["value"],
                asks=query,
                answers=values,
                first_layer=0 if self.with_embeddings else 1,
                activation=self.activation,
                normaliser=self.normaliser,
                noisy=noisy,
            )
        poolings = tuple(titled(name, self.base.layers) for name in poolings)
        return Head(poolings, (Dense(self.dense.weight, self.dense.bias, "Tanh"),), layers=layers)


class LayerAttentionAlone(LayerAttentionPooling, _objectives.InfoNCEOnSentences):
    """Layer attention without labels: SimCSE on a vector pooled from every layer.

    Oh, Kim, Lee, Huang and Lim 2022, equation 7 (Don't Judge a Language Model by Its Last Layer). Batch size and
    learning rate are those of Table 4 for BERT-base; other settings are those of SimCSE.
    """

    # dropout and the pooler's random slopes are the noise
    name = "layer-attention"
    when_to_use = "To study attention over layers; better than [CLS] before, and below the model default."
    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, evaluate_every=125)
    by_family: ClassVar[Mapping[str, Values]] = {
        "RoBERTa-base": {"batch_size": 256, "learning_rate": 1e-5},
        "RoBERTa-large": {"batch_size": 256, "learning_rate": 3e-5},
    }


class LayerAttentionPairs(LayerAttentionPooling, _objectives.InfoNCEOnPairs):
    """Layer attention on pairs: SimCSE on pairs, with a vector pooled from every layer.

    Oh, Kim, Lee, Huang and Lim 2022, equation 6. Batch size and learning rate are those of Table 4 for BERT-base;
    epochs, length and evaluation steps those of the released code for triplets.
    """

    name = "layer-attention-sup"
    when_to_use = "To study attention over layers on pairs; better than [CLS] before, below the model default."
    schedule = Schedule(batch_size=256, learning_rate=1e-5, max_length=64, epochs=3, evaluate_every=100)
    by_family = ON_LABELS


class LayerAttentionTriplets(LayerAttentionPooling, _objectives.InfoNCEOnTriplets):
    """Layer attention on triplets: SimCSE with hard negatives on a vector pooled from every layer.

    Oh, Kim, Lee, Huang and Lim 2022, equation 8, and the objective of its Table 2. Batch size and learning rate are
    those of Table 4 for BERT-base, the rest those of the released code.
    """

    name = "layer-attention-hard"
    when_to_use = "To study attention over layers on triplets; better than [CLS] before, below the model default."
    schedule = Schedule(batch_size=256, learning_rate=2e-5, max_length=64, epochs=3, evaluate_every=100)
    by_family = ON_LABELS
    released: ClassVar[Values] = {**LayerAttentionPooling.released, "weight": 1.0}
    # found by measurement; docs/results.md, "Layer weights", has the numbers
    presets: ClassVar[Mapping[str, Values]] = {
        UNEVEN: {
            "pooler": "attention of cls to mean",
            "attention_width": 64,
            "steps": 200,
            "batch_size": 16,
            "learning_rate": 1e-3,
            "temperature": 0.1,
            "select_by": "both",
            "lora_rank": 1,
        }
    }


class LayerAttentionDiffCSE(LayerAttentionPooling, _objectives.ReplacedTokenDetection):
    """Layer attention with DiffCSE: detect replaced words from a vector pooled from every layer.

    Oh, Kim, Lee, Huang and Lim 2022, Table 5: DiffCSE (Chuang and others 2022) without batch norm, its projector
    replaced by attention over layers. Learning rate of the paper's Table 4; the trained model uses the pooler.
    """

    # the trained model's vector is the one that the discriminator uses
    name = "layer-attention-diffcse"
    when_to_use = "To study attention over layers: it gained more on [CLS] than DiffCSE alone."
    released: ClassVar[Values] = {**LayerAttentionPooling.released, **_objectives.ReplacedTokenDetection.released}
    training_only = _objectives.DETECTION_PARTS
    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, epochs=2, evaluate_every=125)
