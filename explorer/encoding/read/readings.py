"""What is a reading: which layers of an encoder, under which pooling, stand for a sentence?

Layer 0 is the output of the embedding block, layer L the last. Beside the single layers stand the pairs the
papers average token by token before they pool: two definitions go by the name "first-last", one with layer 0
and one with layer 1, so every pair is named by its layers.
"""

from __future__ import annotations

from dataclasses import dataclass

from explorer.errors import BadChoice

# keys of POOLINGS; they stand here so that naming a reading does not load torch
GRID_POOLINGS = ("cls", "mean", "max")
MODEL_DEFAULT = "model default"
# what it was called in addresses and commands before
_ONCE = "own reading"


@dataclass(frozen=True)
class Row:
    """One layer, or two that are averaged."""

    layers: tuple[int, ...]

    @property
    def label(self) -> str:
        """As it stands on an axis: `6`, `0+6`."""
        return "+".join(map(str, self.layers))

    @property
    def title(self) -> str:
        """As it stands in a sentence: `layer 6`, `layers 0 + 6`."""
        if len(self.layers) == 1:
            return f"layer {self.layers[0]}"
        return f"layers {self.layers[0]} + {self.layers[1]}"


@dataclass(frozen=True)
class Reading:
    """A row under a pooling."""

    row: Row
    pooling: str

    @property
    def title(self) -> str:
        """`mean of layer 6`: so it stands in menus, in addresses and in tables."""
        return f"{self.pooling} of {self.row.title}" if self.row.layers else MODEL_DEFAULT


# the pooling that the model declares, with what follows it (a dense layer, say); no cell of the grid
OWN = Reading(Row(()), "own")


def rows(last: int) -> tuple[Row, ...]:
    """Every layer from 0 to `last`, then the pairs of the papers: first-last twice, and the last two."""
    pairs = dict.fromkeys(pair for pair in ((0, last), (1, last), (last - 1, last)) if 0 <= pair[0] < pair[1])
    return (*(Row((layer,)) for layer in range(last + 1)), *(Row(pair) for pair in pairs))


def pair_name(row: Row, last: int) -> str:
    """What the papers call a pair of layers of an encoder whose last layer is `last`."""
    first, second = row.layers
    if (first, second) == (last - 1, last):
        return "last two"
    return f"first-last, from layer {first}"


def readings(last: int) -> tuple[Reading, ...]:
    """Every reading of an encoder whose last layer is `last`, in the order of the grid."""
    return tuple(Reading(row, pooling) for row in rows(last) for pooling in GRID_POOLINGS)


def parse(title: str, last: int) -> Reading:
    """The reading of that title."""
    by_title = {reading.title: reading for reading in (*readings(last), OWN)} | {_ONCE: OWN}
    if title not in by_title:
        raise BadChoice(
            f"There is no reading '{title}' here. A reading is a pooling ({', '.join(GRID_POOLINGS)}) and a layer "
            f"from 0 to {last}, or two layers: 'mean of layer {last}' or 'mean of layers 0 + {last}', for example; or "
            f"'{MODEL_DEFAULT}'."
        )
    return by_title[title]
