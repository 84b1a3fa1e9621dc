"""Does a folder hold a model as the SimCSE code saves it: an encoder, and its training head beside it?

Gao, Yao and Chen 2021; the head is the dense layer on [CLS] that supervised SimCSE keeps at test time. The
class is BertForCL or RobertaForCL, the encoder's weights start with its family's name, the head's with `mlp.dense`.
"""

from __future__ import annotations

from pathlib import Path

from explorer.encoding import layout, weights
from explorer.encoding.head import Dense, Head

_PREFIX = "mlp.dense."


def head(transformer: Path) -> Head | None:
    """[CLS] through the saved dense layer; None for any other model."""
    classes = layout.settings(transformer / "config.json").get("architectures") or []
    if not any(str(name).endswith("ForCL") for name in classes):
        return None
    for path in layout.weights(transformer):
        found = weights.tensors(path, _PREFIX)
        if found:
            return Head(("cls",), (Dense(found["weight"], found["bias"], "Tanh"),))
    return None
