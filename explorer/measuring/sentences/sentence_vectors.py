"""Vectors of sentences under one layer & pooling, or under one pooling of every layer; those not finite are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.readings import OWN, Reading, Row, cell_of
from explorer.errors import BadChoice, ModelError, NotWeights, UnsupportedModel
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder, Views

Vectors = NDArray[np.float32]
SHOWN = 80  # characters of a sentence in an error


@dataclass(frozen=True)
class Pick:
    """What is wanted of a batch, (…, sentence, width), and the layers & poolings that have to be computed for it."""

    of: Callable[[Views], Tensor]
    needs: tuple[Reading, ...] = ()


def of_reading(
    encoder: Encoder, sentences: Sequence[str], reading: Reading, max_length: int | None = None
) -> Work[Vectors]:
    """Vectors (sentence, width) of one layer & pooling."""
    (found,) = yield from gathered(encoder, sentences, [pick(encoder, reading)], max_length)
    return found


def gathered(
    encoder: Encoder,
    sentences: Sequence[str],
    picks: Sequence[Pick],
    max_length: int | None = None,
    stage: str = "encoding sentences",
) -> Work[tuple[Vectors, ...]]:
    """What each pick wants, of all sentences in their order, from one pass over their batches."""
    found: list[Vectors] = []
    done = 0
    for views in encoder.views(sentences, max_length, [needed for wanted in picks for needed in wanted.needs]):
        parts = [wanted.of(views) for wanted in picks]
        if not found:  # the width is known only now: a model default can have another one
            shapes = [(*part.shape[:-2], len(sentences), part.shape[-1]) for part in parts]
            found = [np.empty(shape, dtype=np.float32) for shape in shapes]
        for all_of_it, part in zip(found, parts, strict=True):
            all_of_it[..., views.positions, :] = part.float().cpu().numpy()
        done += len(views.positions)
        yield Progress(stage, done, len(sentences))
    return tuple(found) or tuple(np.empty((0, encoder.width), dtype=np.float32) for _ in picks)


def pick(encoder: Encoder, reading: Reading) -> Pick:
    """Of a batch, the vectors under one layer & pooling."""
    if reading == OWN:
        if encoder.head is None:
            raise BadChoice(f"'{encoder.name}' declares no model default. Choose a layer & pooling.")
        return Pick(_own)
    cell = cell_of(reading, encoder.rows, encoder.poolings)
    return Pick(lambda views: views.also[reading], (reading,)) if cell is None else Pick(lambda views: views.grid[cell])


def every_layer(encoder: Encoder, pooling: str) -> Pick:
    """Of a batch, the vectors of every layer under a pooling: (layer, sentence, width)."""
    layers = encoder.rows[-1].layers[-1] + 1
    if pooling in encoder.poolings:
        column = encoder.poolings.index(pooling)
        return Pick(lambda views: views.grid[:layers, column])
    import torch

    each = tuple(Reading(Row((layer,)), pooling) for layer in range(layers))
    return Pick(lambda views: torch.stack([views.also[one] for one in each]), each)


def _own(views: Views) -> Tensor:
    assert views.own is not None, "the encoder declares a model default"
    return views.own


def check_finite(
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
