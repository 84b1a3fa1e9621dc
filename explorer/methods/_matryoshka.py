"""Matryoshka learning in two dimensions: losses of shorter vectors, and of the vectors of every layer."""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from explorer.encoding.tune import editing
from explorer.errors import BadChoice
from explorer.knobs import knob
from explorer.losses import score_divergence
from explorer.methods._additions import Pooled
from explorer.methods._method import Pool

SOFTENED = 0.3  # temperature of the divergence, as in sentence-transformers


class ShorterVectors(Pooled):
    """Vectors that can be truncated (Kusupati and others 2022)."""

    matryoshka: int = knob(
        0,
        low=0,
        high=100_000,
        help="Train vectors that can be truncated (Matryoshka learning, Kusupati and others 2022): the loss is summed "
        "over the whole vector, its first half, its first quarter and so on, down to this many dimensions. 0: the "
        "whole vector alone.",
    )

    def build(self) -> None:
        """Refuse to train shorter vectors of which there are none."""
        super().build()
        whole = self.widths[0]
        if self.matryoshka and len(self.widths) == 1:
            raise BadChoice(
                f"matryoshka cannot be {self.matryoshka}: the vectors have {whole} dimensions, and no half of them has "
                f"as many. Choose {whole // 2} or less, or 0 to train the whole vector alone."
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """The dimensions at which the loss is computed: all, and the halves of halves that are trained too."""
        whole = self.head().width(self.width)
        halves = (whole >> times for times in range(1, whole.bit_length())) if self.matryoshka else ()
        return (whole, *(half for half in halves if half >= self.matryoshka))

    def remark(self) -> str:
        """To what dimensions the vectors may be truncated."""
        shorter = ", ".join(map(str, self.widths[1:]))
        return f"Vectors are trained for these numbers of first dimensions too: {shorter}." if shorter else ""


class AdaptiveLayers(ShorterVectors):
    """The loss of the last layer, and if it is set of the layers below (2D Matryoshka, Li and others 2024)."""

    adaptive_layers: bool = knob(
        False,
        help="Train the vectors of every layer, so that the encoder can be cut after any: to the loss of the last "
        "layer are added the mean of the losses of the layers below and the divergence of their vectors from those of "
        "the last, as sentence-transformers' AdaptiveLayerLoss of all layers. With matryoshka, the vectors of every "
        "layer can be truncated, too (2D Matryoshka, Li and others 2024). The mean of the dev scores after every "
        "layer chooses the best checkpoint.",
    )

    def build(self) -> None:
        """Refuse a layer & pooling that is not of one layer."""
        super().build()
        if self.adaptive_layers and not self.head().of_last_layer:
            raise BadChoice(
                f"adaptive_layers cannot be on here: '{self.base.encoder.name}' pools other layers than the last. Set "
                "pooling to mean or cls."
            )

    @property
    def trained_layers(self) -> int:
        """How many layers have a loss; the lowest is the embedding output."""
        return self.base.layers + 1 if self.adaptive_layers else 1

    @property
    def every_layer(self) -> Pool | None:
        """What pools every layer as that of an encoder which is cut there: (sentence, layer × width)."""
        if not self.adaptive_layers:
            return None
        head, norm = self.head(), self.base.model.get_submodule(self._last_norm) if self._last_norm else None

        def pooled(hidden: Sequence[Tensor] | Tensor, mask: Tensor) -> Tensor:
            *below, last = hidden
            layers = [last, *(below if norm is None else map(norm, below))]
            return torch.cat([head([layer], mask) for layer in layers], dim=1)

        return pooled

    @cached_property
    def _last_norm(self) -> str:
        """The name of the norm that an encoder which is cut has after its last layer; "" for none."""
        encoder = self.base.encoder
        norm = editing.stack(encoder).norm
        return next((name for name, part in encoder.model.named_modules() if norm is not None and part is norm), "")

    def encode_layers(self, texts: list[str]) -> Tensor:
        """Vectors of the trained layers side by side: (sentence, layer × width), the last layer first."""
        return self.encode(texts, self.every_layer)

    def of_layers(self, losses: list[Tensor], vectors: list[Tensor]) -> Tensor:
        """The loss of all layers, from that of each and from its vectors (sentence, width), the last layer first."""
        own, *below = losses
        if not below:
            return own
        taught = vectors[0].detach()
        divergences = [score_divergence(layer, taught, SOFTENED) / SOFTENED for layer in vectors[1:]]
        return own + torch.stack(below).mean() + torch.stack(divergences).sum()
