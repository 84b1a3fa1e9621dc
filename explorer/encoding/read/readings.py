"""A `Reading` is a layer & pooling: one layer (or two averaged) under one pooling.

Layer 0 is the output of the embedding block, layer L the last. The papers also average pairs of layers token by token
before pooling; "first-last" has two definitions, with layer 0 and with layer 1, so every pair is named by its layers.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.encoding.read.reading_titles import layers_title, title_of
from explorer.errors import BadChoice

# keys of POOLINGS, repeated here so that this module does not import torch
GRID_POOLINGS = ("cls", "mean", "max")
MODEL_DEFAULT = "model default"
# its former name in addresses and commands
_ONCE = "own reading"


@dataclass(frozen=True)
class Row:
    """One layer, or two averaged layers."""

    layers: tuple[int, ...]

    @property
    def label(self) -> str:
        """The label on an axis: `6`, `0+6`."""
        return "+".join(map(str, self.layers))

    @property
    def title(self) -> str:
        """The name in a sentence: `layer 6`, `layers 0 + 6`."""
        return layers_title(self.layers)


@dataclass(frozen=True)
class Reading:
    """A row under a pooling."""

    row: Row
    pooling: str

    @property
    def title(self) -> str:
        """`mean of layer 6`: the name in menus, addresses and tables."""
        return title_of(self.pooling, self.row.layers) if self.row.layers else MODEL_DEFAULT


# the model default: the declared pooling and what follows it (such as a dense layer); not a cell of the grid
OWN = Reading(Row(()), "own")


def rows(last: int) -> tuple[Row, ...]:
    """Every layer from 0 to `last`, then the pairs of the papers: first-last twice, and the last two."""
    pairs = dict.fromkeys(pair for pair in ((0, last), (1, last), (last - 1, last)) if 0 <= pair[0] < pair[1])
    return (*(Row((layer,)) for layer in range(last + 1)), *(Row(pair) for pair in pairs))


def pair_name(row: Row, last: int) -> str:
    """The papers' name of a pair of layers in an encoder whose last layer is `last`."""
    first, second = row.layers
    if (first, second) == (last - 1, last):
        return "last two"
    return f"first-last, from layer {first}"


def readings(last: int) -> tuple[Reading, ...]:
    """Every layer & pooling of an encoder whose last layer is `last`, in the order of the grid."""
    return tuple(Reading(row, pooling) for row in rows(last) for pooling in GRID_POOLINGS)


def parse(title: str, last: int) -> Reading:
    """The layer & pooling with this title."""
    by_title = {reading.title: reading for reading in (*readings(last), OWN)} | {_ONCE: OWN}
    if title not in by_title:
        raise BadChoice(
            f"There is no layer & pooling '{title}' here. Give a pooling ({', '.join(GRID_POOLINGS)}) and a layer "
            f"from 0 to {last}, or two layers, such as 'mean of layer {last}' or 'mean of layers 0 + {last}'; or "
            f"'{MODEL_DEFAULT}'."
        )
    return by_title[title]
