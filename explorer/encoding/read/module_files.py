"""Write the files of a module: its settings and its weights."""

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor


def write(folder: str, settings: Mapping[str, object], tensors: Mapping[str, Tensor]) -> None:
    """Write config.json, and model.safetensors if there are weights, to an existing folder."""
    (Path(folder) / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    plain = {name: tensor.detach().float().cpu().contiguous() for name, tensor in tensors.items()}
    if plain:
        save_file(plain, Path(folder) / "model.safetensors", {"format": "pt"})
