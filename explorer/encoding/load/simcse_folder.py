"""Read the head of a model saved by the SimCSE code.

Gao, Yao and Chen 2021. The class is BertForCL or RobertaForCL, the encoder's weights start with its family's name,
the head's with `mlp.dense`. Supervised SimCSE keeps the head at test time, unsupervised SimCSE drops it (section 6.3),
and a save does not say which of the two it is. The model default is with the head; for unsupervised SimCSE use `cls` of
the last layer.
"""

from __future__ import annotations

from pathlib import Path

from explorer.encoding.load.declared import SIMCSE_HEAD, is_named_so
from explorer.encoding.locate import layout, weights
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.head_facts import SIMCSE


def head(transformer: Path) -> Head | None:
    """[CLS] through the saved dense layer; None for any other model."""
    if not is_named_so(transformer):
        return None
    for path in layout.weights(transformer):
        found = weights.tensors(path, SIMCSE_HEAD)
        if found:
            weights.check_names(path, SIMCSE_HEAD, ("weight", "bias"), found)
            weights.check_finite(path, SIMCSE_HEAD, found)
            dense = Dense(found["weight"], found["bias"], "Tanh")
            return Head(("cls",), (dense,), remark=SIMCSE)
    return None
