"""A sentence-transformers module that pools all layers; it is saved with exported models.

sentence-transformers runs it between the transformer and the dense layer; with transformers alone, `read` takes the
model's hidden states. It needs torch and safetensors, and nothing of Strata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from explorer.encoding.locate import configuration
from explorer.encoding.read import parts
from explorer.encoding.read.pooling import is_pooling, pooled
from explorer.errors import UnsupportedModel

if TYPE_CHECKING:
    from explorer.encoding.read.parts import StatePooling


class LayerReading(nn.Module):
    """Poolings of the last layer, or of the layers they name, concatenated with a pooling over all layers."""

    module: ClassVar[str] = "layer_reading.LayerReading"
    pooling: ClassVar[type[StatePooling] | None] = None  # the class of the one in an export, in the file saved with it

    def __init__(self, poolings: Sequence[str], layers: StatePooling | None, include_prompt: bool = True) -> None:
        super().__init__()
        self.poolings = tuple(poolings)
        self.include_prompt = include_prompt
        self.kind = type(layers) if layers else None
        self.settings = layers.settings() if layers else {}
        for name, tensor in layers.tensors().items() if layers else ():
            self.register_buffer(name, tensor.detach())

    def read(self, hidden: Sequence[Tensor], mask: Tensor | None) -> Tensor:
        """Compute vectors (sentence, width) from hidden states (layer, sentence, token, width) and the attention
        mask."""
        vectors = [pooled(name, hidden, mask) for name in self.poolings]
        if self.kind is not None:
            vectors.append(self.kind.made(self.settings, dict(self.named_buffers()))(hidden, mask))
        return torch.cat(vectors, dim=-1)

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Process the features dictionary of sentence-transformers."""
        hidden, mask = features["all_layer_embeddings"], features["attention_mask"]
        if not self.include_prompt and "prompt_length" in features:
            # a number; in training by sentence-transformers a tensor of the same number for each sentence
            mask = mask.clone()
            mask[:, : int(torch.as_tensor(features["prompt_length"]).flatten()[0])] = 0
        # the layers are a tuple in this dictionary of tensors
        features["sentence_embedding"] = self.read(hidden, mask)  # type: ignore[arg-type]
        return features

    def save(self, folder: str, *_: object, **__: object) -> None:
        """Save settings and weights in an existing folder."""
        named = {} if self.kind is None else {self.kind.saved_as: self.settings}
        without_prompt = {} if self.include_prompt else {"include_prompt": False}
        write(folder, {"poolings": self.poolings, **without_prompt, **named}, dict(self.named_buffers()))

    @classmethod
    def load(cls, folder: str) -> LayerReading:
        """Load what `save` wrote."""
        content = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        weights = Path(folder) / "model.safetensors"
        tensors = load_file(weights) if weights.exists() else {}
        layers = cls.pooling.made(content[cls.pooling.saved_as], tensors) if cls.pooling else None
        return cls(content["poolings"], layers, content.get("include_prompt", True))


def opened(place: Path) -> tuple[tuple[str, ...], StatePooling | None, bool]:
    """The poolings of the LayerReading of an export, and whether prompts are pooled.

    Its Python file is for other libraries and is not run.
    """
    path = place / "config.json"
    written = configuration.of_strata(path, configuration.ModuleConfig, "LayerReading", *parts.LAYER_READING)
    poolings, include_prompt = written.poolings, bool(written.include_prompt)
    named, known = parts.stated(path), parts.state_poolings()
    refused = UnsupportedModel(f"{path} is not a LayerReading of Strata. Export the model again.")
    if not all(map(is_pooling, poolings)) or not (poolings or named) or len(named) > 1 or not set(named) <= set(known):
        raise refused
    for name, settings in named.items():
        layers: StatePooling | None = known[name].opened(place, settings)
        if layers is None:
            raise refused
        return poolings, layers, include_prompt
    return poolings, None, include_prompt


def write(folder: str, settings: Mapping[str, object], tensors: Mapping[str, Tensor]) -> None:
    """Write config.json, and model.safetensors if there are weights, to an existing folder."""
    (Path(folder) / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    plain = {name: tensor.detach().float().cpu().contiguous() for name, tensor in tensors.items()}
    if plain:
        save_file(plain, Path(folder) / "model.safetensors", {"format": "pt"})
