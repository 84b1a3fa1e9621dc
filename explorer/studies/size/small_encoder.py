"""Build an encoder of one size: layers removed, and the projection as a layer after the pooling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.measuring.scores.correlation import unit
from explorer.progress import Progress, Work
from explorer.studies.size.picture import cells_of, projection_for
from explorer.studies.size.points import Size, Wanted
from explorer.studies.size.storage import step_of

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.read.head import Head


@dataclass(frozen=True, eq=False)
class SmallEncoder:
    """A cut encoder, its layer & pooling with projection and normalisation, and the step of int8."""

    encoder: Encoder
    head: Head
    size: Size
    step: float


def built(encoder: Encoder, size: Size, fit_on: Sequence[str], way: str) -> Work[SmallEncoder]:
    """Fit what a point of the picture needs, as the picture does, and cut the encoder."""
    from explorer.encoding.read.head import Head
    from explorer.encoding.tune.cutting import cut, stack

    whole = size.pooling == MODEL_DEFAULT
    where = stack(encoder)
    layers, poolings = ((), ()) if whole else ((size.layers,), (size.pooling,))
    *_, cell = yield from cells_of(encoder, where, (), fit_on, layers, poolings)
    wanted, text = Wanted(dimensions=(size.dimensions,), way=way), cell.text
    projection = projection_for(wanted, text, text.shape[1])
    text = text if projection is None else projection(text)
    prompts = encoder.default_head
    head = prompts if whole else Head((size.pooling,), prompt=prompts.prompt, roles=prompts.roles)
    steps = head.dense if projection is None else (*head.dense, projection.as_dense())
    yield Progress("cutting the encoder", 0, 0)
    return SmallEncoder(
        encoder=cut(encoder, size.layers, where),
        head=replace(head, dense=steps, normalize=True),
        size=size,
        step=step_of(unit(text)),
    )
