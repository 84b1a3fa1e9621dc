"""Base of the methods that map an encoder's vectors without training the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor, nn

from explorer.data.row_kinds import SENTENCES
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import FIRST_LAST, POOLINGS, titled
from explorer.encoding.read.readings import parse
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.methods import MODEL_DEFAULT, Method, knob
from explorer.methods._schedule import ADAPTERS
from explorer.progress import Work, finish


def reads_knob(paper: str | None = None) -> str:
    """The setting of the layer & pooling to map; `paper` is the paper's value, if it is not the default."""
    return knob(
        FIRST_LAST,
        front=True,
        paper=paper,
        help="The layer & pooling to map: 'cls', 'mean', 'max', 'last', 'weighted mean' or 'sqrt mean' of the last "
        "layer; 'first-last mean' (layers 1 and last) or 'first-last mean, from layer 0'; 'mean of the last two "
        "layers'; a pooling of one layer, of two or of a range, such as 'mean of layer 2' or 'last of layers 4-6'; or "
        "'model default'.",
    )


class After(Method):
    """A map of the vectors of one layer & pooling; the encoder is not trained."""

    eats = SENTENCES
    unused = ADAPTERS

    reads: str = reads_knob()

    def build(self) -> None:
        """Find the layer & pooling, and freeze the encoder."""
        self.base.requires_grad_(False)
        self.read_as = head_of(self.base, self.reads)

    def constant(self) -> tuple[nn.Module, ...]:
        """The encoder."""
        return (self.base,)

    def start(self) -> Head:
        """The layer & pooling before the map."""
        return self.read_as

    def unmapped(self, sentences: Sequence[str]) -> Work[Tensor]:
        """Vectors (sentence, width) before the map, in float32, since the maps amplify rounding errors."""
        return self.reading(sentences, self.read_as)

    def unmapped_width(self) -> int:
        """The width of these vectors."""
        return finish(self.unmapped(["one"])).shape[-1]


def head_of(base: Tunable, reading: str) -> Head:
    """The layer & pooling with this name, for this encoder."""
    if reading == MODEL_DEFAULT:
        own = base.encoder.head
        if own is None:
            raise BadChoice(
                f"'{base.encoder.name}' declares no pooling, so there is no model default. Set reads to mean or "
                "another pooling."
            )
        # the map takes the vector before it is normalised; the prompt belongs to the encoder
        return replace(own, normalize=False, prompt="", remark="")
    if reading in POOLINGS or reading == FIRST_LAST:
        return Head((reading,))
    found = parse(titled(reading, base.layers), base.layers)
    # one name for one thing
    if found.row.layers == (base.layers,):
        return Head((found.pooling,))
    first_last = (found.pooling, found.row.layers) == ("mean", (1, base.layers))
    return Head((FIRST_LAST if first_last else found.title,))
