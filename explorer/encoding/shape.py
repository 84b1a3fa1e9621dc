"""How many layers has a model, before it is loaded?"""

from __future__ import annotations

from pathlib import Path

from explorer.encoding import layout
from explorer.errors import UnsupportedModel

# what the families call the number of their layers, most common name first
_NAMES = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers")


def last_layer(folder: Path) -> int:
    """The number of the last layer; layer 0 is the output of the embeddings, so there is one layer more."""
    place = layout.transformer(folder)
    config = layout.settings(place / "config.json")
    for name in _NAMES:
        if isinstance(config.get(name), int):
            return int(config[name])
    raise UnsupportedModel(
        f"config.json in {place} does not say how many layers the model has (one of {', '.join(_NAMES)}). "
        "Save the model again with transformers' save_pretrained."
    )
