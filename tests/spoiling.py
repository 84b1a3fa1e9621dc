"""Load a saved model in a test, and change or damage it in known ways."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.encoder import Encoder
from tests.tiny_models import WIDTH, save_tiny


def encoder_of(folder: Path, **options: str) -> Encoder:
    """The encoder in a folder, exact and on the processor unless told."""
    return load(of_folder("tiny", folder), **({"precision": "float32", "device": "cpu"} | options))


def configure(path: Path, **changes: object) -> None:
    """Change settings in a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def declare(folder: Path, *kinds: str, pooling: dict[str, object] | None = None) -> None:
    """List modules as sentence-transformers does, each after the first in a folder, and state a pooling's settings."""
    types = [f"sentence_transformers.models.{kind}" for kind in kinds]
    places = ["", *(f"{number}_{kind}" for number, kind in enumerate(kinds[1:], start=1))]
    listed = enumerate(zip(types, places, strict=True))
    lines = [{"idx": number, "name": str(number), "path": place, "type": kind} for number, (kind, place) in listed]
    (folder / "modules.json").write_text(json.dumps(lines))
    if pooling is not None:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))


def reweigh(
    folder: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]], suffix: str = ".safetensors"
) -> None:
    """Change the weights, and save them as safetensors or as torch saves them."""
    weights = change(load_file(folder / "model.safetensors"))
    (folder / "model.safetensors").unlink()
    if suffix == ".bin":
        torch.save(weights, folder / "pytorch_model.bin")
    else:
        save_file(weights, folder / "model.safetensors", {"format": "pt"})


def save_of_max(folder: Path) -> Path:
    """Save a tiny model that declares max pooling, with weights so large that few cosines are alike."""
    save_tiny("bert", folder)
    mode = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": True}
    declare(folder, "Transformer", "Pooling", pooling=mode)
    reweigh(folder, lambda weights: {name: each * (10 if each.dim() > 1 else 1) for name, each in weights.items()})
    return folder


class Malicious:
    """An object that makes a folder when a careless program unpickles it."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.marker),)
