"""Name the published family that an encoder belongs to, such as `RoBERTa-base`, by architecture and size."""

from __future__ import annotations

from pathlib import Path

from explorer.encoding.locate import configuration, layout, model_names
from explorer.errors import StrataError

_TYPES = (("bert", "BERT"), ("roberta", "RoBERTa"))
_SIZES = (((12, 768), "base"), ((24, 1024), "large"))


def of_folder(folder: Path) -> str:
    """The family of a model's folder; "" for any other architecture or size."""
    stated = configuration.settings(layout.transformer(folder) / "config.json")
    size = stated.get("num_hidden_layers"), stated.get("hidden_size")
    kinds = [name for kind, name in _TYPES if stated.get("model_type") == kind]
    sizes = [name for known, name in _SIZES if size == known]
    return f"{kinds[0]}-{sizes[0]}" if kinds and sizes else ""


def of_model(source: str, online: bool = False) -> str:
    """The family of a model by its name; "" if it is not on this disk, from where `online` lets it be downloaded."""
    try:
        return of_folder(model_names.find(source, online).folder)
    except StrataError:  # whoever loads the model reports it
        return ""
