"""Every pooling, token states to one vector per sentence, in one table, and the titles of layers & poolings.

Grids, forms, exports, model cards and the microscope read the table. Every function takes states (sentence, token,
width) and a mask (sentence, token) that is true for the tokens to pool, and returns float32 vectors (sentence, width).
These follow one another: padding is on the right, and the tokens of a prompt may be left out on the left. If none are
left, means and `last` give zeros, `cls` the first token and `max` -inf, as in sentence-transformers. A mask of None
means all tokens, which saves a pass over the states. torch is imported where it is used: the names are needed before
anything is encoded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.errors import BadChoice

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]
Function = Callable[["Tensor", "Tensor | None"], "Tensor"]

# the mean over tokens of layers 1 and L, averaged; another definition of this name uses layer 0
FIRST_LAST = "first-last mean"
LAST = -1  # the last layer, where no number is named
# the same with layer 0, and the last two layers: their numbers depend on the encoder
FIRST_LAST_FROM_0 = f"{FIRST_LAST}, from layer 0"
LAST_TWO = "mean of the last two layers"
_TITLE = re.compile(r"(.+) of layers? ([0-9]{1,4})(?: \+ ([0-9]{1,4})|-([0-9]{1,4}))?")
MODEL_DEFAULT = "model default"
# what replaces a sentence's words where the effect of each word on its vector is measured
PAD, MASK, MEAN = "[PAD]", "[MASK]", "mean embedding"
REFERENCES = (PAD, MASK, MEAN)
WORD_TOKENS = 64  # most of a sentence whose pairs of words are weighed, if no maximum length is set: a minute's work


@dataclass(frozen=True)
class Pooling:
    """A pooling by its name in Strata."""

    name: str
    library: str  # its name in sentence-transformers
    # for model cards, from states (sentence, token, width) and mask (sentence, token, 1), padded on the right
    code: str
    switch: str = ""  # what turns it on in sentence-transformers before 5.4, and its place among those that are on
    place: int = 0
    # what share of each dimension is a token's, from states (token, width) and how many tokens at the start are left
    # out; none if one token is all
    shares: Callable[[Floats, int], Floats] | None = None
    in_grid: bool = False  # else only if it is named
    for_decoders: str = ""  # of the grid: what takes its place in a decoder, in which the first token sees no other
    order: int = 9  # its place in menus, the most used first
    # of its lines in figures, safe for colour-blind readers, on white and on black (after Okabe and Ito); "" has none
    colour: str = ""
    symbol: str = "x"


def pool_cls(states: Tensor, mask: Tensor | None) -> Tensor:
    """The first token: [CLS] if the model has one, and no prompt is left out."""
    import torch

    if mask is None:
        return states[:, 0].float()
    return states[torch.arange(states.shape[0], device=states.device), mask.long().argmax(1)].float()


def pool_mean(states: Tensor, mask: Tensor | None) -> Tensor:
    """The mean over real tokens, [CLS] and [SEP] included."""
    if mask is None:
        return states.float().mean(1)
    return _filled(states, mask, 0.0).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


def pool_max(states: Tensor, mask: Tensor | None) -> Tensor:
    """The largest value of each dimension over real tokens."""
    # not zero: hidden values are often negative
    real = states.float() if mask is None else _filled(states, mask, float("-inf"))
    return real.amax(1)


def pool_last(states: Tensor, mask: Tensor | None) -> Tensor:
    """The last real token: the only one that depends on all tokens in a decoder."""
    import torch

    if mask is None:
        return states[:, -1].float()
    last = mask.shape[1] - 1 - mask.long().flip(1).argmax(1)
    found = states[torch.arange(states.shape[0], device=states.device), last].float()
    return found.masked_fill(~mask.bool().any(1, keepdim=True), 0.0)


def pool_weighted_mean(states: Tensor, mask: Tensor | None) -> Tensor:
    """The mean with weights 1, 2, 3, … along the sentence and its prompt (SGPT, Muennighoff 2022)."""
    import torch

    sentences, tokens = states.shape[:2]
    places = torch.arange(1, tokens + 1, device=states.device, dtype=torch.float32).expand(sentences, tokens)
    weights = places if mask is None else places * mask
    real = states.float() if mask is None else _filled(states, mask, 0.0)
    pooled: Tensor = torch.einsum("stw,st->sw", real, weights) / weights.sum(1, keepdim=True).clamp(min=1)
    return pooled


def pool_sqrt_mean(states: Tensor, mask: Tensor | None) -> Tensor:
    """The sum over real tokens, divided by the root of their number."""
    if mask is None:
        return states.float().sum(1) / math.sqrt(states.shape[1])
    return _filled(states, mask, 0.0).sum(1) / mask.sum(1, keepdim=True).clamp(min=1).sqrt()


def _filled(states: Tensor, mask: Tensor, value: float) -> Tensor:
    """States in float32 with one value for tokens that are not pooled, whatever they held."""
    import torch

    padding = ~mask.bool()
    if states.device.type != "cpu" or not torch.is_inference_mode_enabled():
        return states.float().masked_fill(padding[:, :, None], value)  # training never waits for a count of tokens
    # whole tokens at once: one number after another, as `masked_fill` does, takes a processor three times as long
    tokens = states.float().flatten(0, 1).index_fill(0, padding.flatten().nonzero()[:, 0], value)
    return tokens.view(states.shape)


FUNCTIONS: dict[str, Function] = {  # apart from the table below: exports carry their source, and need no more of it
    "cls": pool_cls,
    "mean": pool_mean,
    "max": pool_max,
    "last": pool_last,
    "weighted mean": pool_weighted_mean,
    "sqrt mean": pool_sqrt_mean,
}


def _alike(states: Floats, left_out: int) -> Floats:
    return _weighted(states, left_out, 1 / max(1, len(states) - left_out))


def _rooted(states: Floats, left_out: int) -> Floats:
    return _weighted(states, left_out, max(1, len(states) - left_out) ** -0.5)


def _rising(states: Floats, left_out: int) -> Floats:
    places = np.arange(1.0, len(states) + 1)
    return _weighted(states, left_out, places / max(1, places[left_out:].sum()))


def _weighted(states: Floats, left_out: int, weights: Floats | float) -> Floats:
    """The weight of each token in every dimension, 0 for those that are left out."""
    kept = weights * (np.arange(len(states)) >= left_out)
    return np.repeat(kept[:, None], states.shape[1], axis=1)


def _largest(states: Floats, left_out: int) -> Floats:
    """1 for the largest value of a dimension, equal shares for ties."""
    largest = states == states[left_out:].max(0, initial=-np.inf)
    largest[:left_out] = False
    return np.asarray(largest / np.maximum(1, largest.sum(0)))


POOLINGS = {
    pooling.name: pooling
    for pooling in (
        # its name here and in the library, code, switch and place
        Pooling("cls", "cls", "states[:, 0]", "pooling_mode_cls_token", 1, in_grid=True, for_decoders="last",
                order=2, colour="#D55E00", symbol="square"),
        Pooling("mean", "mean", "(states * mask).sum(1) / mask.sum(1)", "pooling_mode_mean_tokens", 3,
                shares=_alike, in_grid=True, order=0, colour="#009E73", symbol="circle"),
        Pooling("max", "max", 'states.masked_fill(mask == 0, float("-inf")).amax(1)', "pooling_mode_max_tokens", 2,
                shares=_largest, in_grid=True, order=3, colour="#0094D6", symbol="triangle-up"),
        Pooling("last", "lasttoken", "states[torch.arange(len(states)), mask.sum(1)[:, 0] - 1]",
                "pooling_mode_lasttoken", 6, order=1, colour="#CC79A7", symbol="diamond"),
        Pooling("weighted mean", "weightedmean",
                "(states * mask * mask.cumsum(1)).sum(1) / (mask * mask.cumsum(1)).sum(1)",
                "pooling_mode_weightedmean_tokens", 5, shares=_rising),
        Pooling("sqrt mean", "mean_sqrt_len_tokens", "(states * mask).sum(1) / mask.sum(1).sqrt()",
                "pooling_mode_mean_sqrt_len_tokens", 4,
                shares=_rooted),
    )
}  # fmt: skip


GRID_POOLINGS = tuple(name for name, pooling in POOLINGS.items() if pooling.in_grid)
# of a decoder: the first token sees no other, so its state is the same in all sentences that begin with it
DECODER_POOLINGS = tuple(POOLINGS[name].for_decoders or name for name in GRID_POOLINGS)


def switched() -> list[Pooling]:
    """Those with a switch, in the order in which sentence-transformers before 5.4 joins several."""
    return sorted((one for one in POOLINGS.values() if one.switch), key=lambda one: one.place)


def pooled(name: str, hidden: Sequence[Tensor] | Tensor, mask: Tensor | None) -> Tensor:
    """Pool states (layer, sentence, token, width): the last layer, or the layers that the pooling names."""
    pooling, layers = layers_of(name)
    if max(layers) >= len(hidden):
        raise ValueError(f"there is no layer {max(layers)}; the last is {len(hidden) - 1}")
    states = [hidden[layer] for layer in layers]
    if len(states) > 1:  # bfloat16 would round the sum
        states[0] = states[0].float()
    # layers are added token by token as in the papers, and the sum is divided after pooling
    return FUNCTIONS[pooling](sum(states[1:], states[0]), mask) / len(states)


def is_pooling(name: object) -> bool:
    """Whether `pooled` supports the name, in a model with enough layers."""
    pooling, layers = layers_of(str(name))
    return pooling in FUNCTIONS and bool(layers)


def title_of(pooling: str, layers: tuple[int, ...]) -> str:
    """The title of a pooling of one layer, or of several that are averaged."""
    return f"{pooling} of {layers_title(layers)}"


def layers_title(layers: tuple[int, ...]) -> str:
    """`layer 6`, `layers 0 + 6`, `layers 4-6`."""
    return f"layer{'s' * (len(layers) > 1)} {layer_numbers(layers)}"


def layer_numbers(layers: tuple[int, ...], plus: str = " + ") -> str:
    """`6`, `0 + 6`, `4-6`: three layers or more follow one another."""
    return f"{layers[0]}-{layers[-1]}" if len(layers) > 2 else plus.join(map(str, layers))


def titled(name: str, last: int) -> str:
    """The title of a pooling that is named without the number of the last layer; other names as they are."""
    pairs = {FIRST_LAST_FROM_0: (0, last), LAST_TWO: (last - 1, last)}
    return title_of("mean", pairs[name]) if name in pairs else name


def layers_of(title: str) -> tuple[str, tuple[int, ...]]:
    """The pooling in a title, and its layers, none for a reversed range; `LAST` where no layer is named."""
    if title == FIRST_LAST:
        return "mean", (1, LAST)
    named = _TITLE.fullmatch(title)
    if not named:
        return title, (LAST,)
    pooling, first, second, end = named.groups()
    if end:
        return pooling, tuple(range(int(first), int(end) + 1))
    return pooling, tuple(int(layer) for layer in (first, second) if layer)


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
