"""A `Reading` is a layer & pooling: one layer (or several averaged) under one pooling.

Layer 0 is the output of the embedding block, layer L the last. The papers also average pairs of layers token by token
before pooling; "first-last" has two definitions, with layer 0 and with layer 1, so every pair is named by its layers.

The grid has every layer and the pairs of the papers under three poolings. Other layers & poolings are computed if they
are named: any pooling, of one layer, of two, or of a range of layers.
"""

from dataclasses import dataclass

from explorer.encoding.read.pooling import LAST, POOLINGS, layer_numbers, layers_of, layers_title, title_of
from explorer.errors import BadChoice

GRID_POOLINGS = tuple(name for name, pooling in POOLINGS.items() if pooling.in_grid)
# of a decoder: the first token sees no other, so its state is the same in all sentences that begin with it
DECODER_POOLINGS = tuple(POOLINGS[name].for_decoders or name for name in GRID_POOLINGS)
MODEL_DEFAULT = "model default"
# what replaces a sentence's words where the effect of each word on its vector is measured
PAD, MASK, MEAN = "[PAD]", "[MASK]", "mean embedding"
REFERENCES = (PAD, MASK, MEAN)
WORD_TOKENS = 64  # most of a sentence whose pairs of words are weighed, if no maximum length is set: a minute's work


@dataclass(frozen=True)
class Row:
    """One layer, or averaged layers: two, or a range."""

    layers: tuple[int, ...]

    @property
    def label(self) -> str:
        """The label on an axis: `6`, `0+6`, `4-6`."""
        return layer_numbers(self.layers, "+")

    @property
    def title(self) -> str:
        """The name in a sentence: `layer 6`, `layers 0 + 6`, `layers 4-6`."""
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


def readings(last: int, poolings: tuple[str, ...] = GRID_POOLINGS) -> tuple[Reading, ...]:
    """Every layer & pooling of the grid of an encoder whose last layer is `last`, in the order of the grid."""
    return tuple(Reading(row, pooling) for row in rows(last) for pooling in poolings)


def cell_of(reading: Reading, rows: tuple[Row, ...], poolings: tuple[str, ...]) -> tuple[int, int] | None:
    """The position (row, pooling) of a layer & pooling in a grid; None if it is not a cell of it."""
    inside = reading.row in rows and reading.pooling in poolings
    return (rows.index(reading.row), poolings.index(reading.pooling)) if inside else None


def parse(title: str, last: int) -> Reading:
    """The layer & pooling with this title, in an encoder whose last layer is `last`."""
    if title == MODEL_DEFAULT:
        return OWN
    pooling, layers = layers_of(title)
    found = reading_of(pooling, layers, last)
    if found is None:
        low, wrong = max(0, last - 2), _what_is_wrong(pooling, layers, last)
        raise BadChoice(
            f"There is no layer & pooling '{title}' here{wrong}. Give a pooling ({', '.join(POOLINGS)}) and a "
            f"layer from 0 to {last}, two layers, or a range of layers, such as 'mean of layer {last}', 'mean of "
            f"layers 0 + {last}' or 'mean of layers {low}-{last}'; or '{MODEL_DEFAULT}'."
        )
    return found


def reading_of(pooling: str, layers: tuple[int, ...], last: int) -> Reading | None:
    """A pooling of these layers, in an encoder whose last layer is `last`; None if there is no such layer & pooling."""
    return Reading(Row(tuple(sorted(layers))), pooling) if _what_is_wrong(pooling, layers, last) is None else None


def _what_is_wrong(pooling: str, layers: tuple[int, ...], last: int) -> str | None:
    """The reason why there is no such layer & pooling, to follow its title; None if there is one."""
    if LAST in layers:  # no layer is named
        return ""
    if pooling not in POOLINGS:
        return f", since there is no pooling '{pooling}'"
    if not layers:
        return ", since a range of layers starts with the lower one"
    if len(set(layers)) < len(layers):
        return ", since both layers are the same"
    return f", since the last layer is {last}" if max(layers) > last else None
