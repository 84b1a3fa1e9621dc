"""What the methods share that come after an encoder: they read it at any layer, leave it as it is, and map vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import FIRST_LAST, POOLINGS
from explorer.encoding.read.readings import parse
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.methods import MODEL_DEFAULT, Method, knob
from explorer.progress import Work, finish

OWN = "own"  # another spelling of MODEL_DEFAULT, in recipes that were written before it


class After(Method):
    """A map of the vectors of one reading; the encoder never learns."""

    eats = "sentences"

    reads: str = knob(
        FIRST_LAST,
        front=True,
        help="Whose vectors: 'cls', 'mean' or 'max' of the last layer, 'first-last mean' (layers 1 and last, the "
        "papers'), a cell of the grid such as 'mean of layer 2', or 'model default': as the model declares.",
    )

    def build(self) -> None:
        """Find the reading, and put the encoder to rest."""
        self.base.requires_grad_(False)
        self.read_as = head_of(self.base, self.reads)

    def start(self) -> Head:
        """The reading as it is, before anything is mapped."""
        return self.read_as

    def unmapped(self, sentences: Sequence[str]) -> Work[Tensor]:
        """Vectors (sentence, width) of the reading as it is; in float32, since maps enlarge what is rounded."""
        return self.reading(sentences, self.read_as)

    def unmapped_width(self) -> int:
        """How wide they are."""
        return finish(self.unmapped(["one"])).shape[-1]


def head_of(base: Tunable, reading: str) -> Head:
    """The reading of that name, of this encoder."""
    if reading in (MODEL_DEFAULT, OWN):
        own = base.encoder.head
        if own is None:
            raise BadChoice(
                f"'{base.encoder.name}' declares no pooling, so there is no model default. Set reads to mean, or to "
                "another one."
            )
        # what is mapped is the vector before it is brought to length 1; its prompt belongs to the encoder
        return replace(own, normalize=False, prompt="", remark="")
    if reading in POOLINGS or reading == FIRST_LAST:
        return Head((reading,))
    found = parse(reading, base.layers)
    # one name for one thing
    first_last = (found.pooling, found.row.layers) == ("mean", (1, base.layers))
    return Head((FIRST_LAST if first_last else found.title,))
