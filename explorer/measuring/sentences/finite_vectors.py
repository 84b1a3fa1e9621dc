"""Refuse vectors that hold NaN or infinite numbers, and name the part of the model that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.readings import OWN, Reading
from explorer.errors import ModelError, NotWeights, UnsupportedModel

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

SHOWN = 80  # characters of a sentence


def check(
    encoder: Encoder, texts: Sequence[str], reading: Reading, vectors: NDArray[Any], max_length: int | None = None
) -> None:
    """Refuse vectors (text, width) under a layer & pooling if a number in them is not finite."""
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        text = texts[int(wrong[0])]
        shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
        kind, cause = _cause(encoder, text, reading, max_length)
        raise kind(
            f"'{encoder.name}' gives {len(wrong):,} of {len(texts):,} sentences vectors with NaN or infinite numbers "
            f"under {reading.title}, such as '{shown}'. {cause}"
        )


def _cause(encoder: Encoder, text: str, reading: Reading, max_length: int | None) -> tuple[type[ModelError], str]:
    """The kind of error, and the first part whose output for a text is not finite, with what to do."""
    import torch

    states = encoder.states([text], max_length)
    highest = len(states.hidden) - 1 if reading == OWN else max(reading.row.layers)
    for layer in range(highest + 1):
        if not states.hidden[layer].isfinite().all():
            where = f"They come from its layer {layer}" if layer else "They come from its embedding layer"
            if _damaged(encoder):
                return NotWeights, f"{where}, whose weights are damaged: copy or download the model again."
            below = "a layer below it, or " if layer else ""
            return UnsupportedModel, f"{where}. {_otherwise(encoder, f'Choose {below}another model.')}"
    if reading == OWN and encoder.head is not None:
        names = encoder.head.stage_names
        with torch.inference_mode():
            for at, found in enumerate(encoder.head.stages(states.hidden, states.mask)):
                if not found.isfinite().all():
                    after = f", after {' → '.join(names[:at])}" if at else ""
                    step = _otherwise(encoder, "Choose another layer & pooling, or another model.")
                    return UnsupportedModel, f"They come from its {names[at]}{after}. {step}"
    return UnsupportedModel, "Encoded alone, it is finite: start again, and look at this machine if it happens again."


def _otherwise(encoder: Encoder, step: str) -> str:
    """What to do if the weights are numbers."""
    return step if encoder.precision == "float32" else "Switch precision to float32."


def _damaged(encoder: Encoder) -> bool:
    """Whether a weight is NaN; or infinite, which in another precision than float32 may be rounding."""
    weights = list(encoder.model.parameters())
    return any(bool((~one.isfinite() if encoder.precision == "float32" else one.isnan()).any()) for one in weights)
