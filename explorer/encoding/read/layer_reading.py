"""A sentence-transformers module that pools all layers; it is saved with exported models.

sentence-transformers runs it between the transformer and the dense layer; with transformers alone, `read` takes the
model's hidden states. It needs torch and safetensors, and nothing of Strata.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from explorer.encoding.read.layer_attention import LayerAttention
from explorer.encoding.read.pooling import pooled
from explorer.encoding.read.word_weights import WordWeights

MAPS = ("query", "key", "value")


class LayerReading(nn.Module):
    """Poolings of the last layer, or of the layers they name, concatenated with a pooling over all layers."""

    def __init__(self, poolings: Sequence[str], layers: LayerAttention | WordWeights | None) -> None:
        super().__init__()
        self.poolings = tuple(poolings)
        self.words = layers if isinstance(layers, WordWeights) else None
        attention = layers if isinstance(layers, LayerAttention) else None
        self.attention = {name: getattr(attention, name) for name in settings()} if attention else None
        for name in MAPS if attention else ():
            self.register_buffer(name, getattr(attention, name).detach())

    def read(self, hidden: Sequence[Tensor], mask: Tensor | None) -> Tensor:
        """Compute vectors (sentence, width) from hidden states (layer, sentence, token, width) and the attention "
        "mask."""
        parts = [pooled(name, hidden, mask) for name in self.poolings]
        if self.attention is not None:
            maps = {name: getattr(self, name) for name in MAPS}
            parts.append(LayerAttention(**maps, **self.attention)(hidden, mask))
        if self.words is not None:
            parts.append(self.words(hidden, mask))
        return torch.cat(parts, dim=-1)

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Process the features dictionary of sentence-transformers."""
        hidden = features["all_layer_embeddings"]
        # the layers are a tuple in this dictionary of tensors
        features["sentence_embedding"] = self.read(hidden, features["attention_mask"])  # type: ignore[arg-type]
        return features

    def save(self, folder: str, *_: object, **__: object) -> None:
        """Save settings and maps in an existing folder."""
        words = self.words and asdict(self.words)
        content = {"poolings": self.poolings, "attention": self.attention, "words": words}
        (Path(folder) / "config.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        maps = {name: value.float().cpu().contiguous() for name, value in self.state_dict().items()}
        if maps:
            save_file(maps, Path(folder) / "model.safetensors", {"format": "pt"})

    @classmethod
    def load(cls, folder: str) -> LayerReading:
        """Load what `save` wrote."""
        content = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        layers: LayerAttention | WordWeights | None = None
        if content.get("words"):
            layers = WordWeights(**content["words"])
        elif content["attention"] is not None:
            layers = LayerAttention(**load_file(Path(folder) / "model.safetensors"), **content["attention"])
        return cls(content["poolings"], layers)


def settings() -> list[str]:
    """The settings of an attention over layers, without its maps and its training noise."""
    return [one.name for one in fields(LayerAttention) if one.name not in (*MAPS, "noisy")]
