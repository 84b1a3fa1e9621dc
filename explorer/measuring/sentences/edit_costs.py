"""What each edit between two sentences costs of their cosine, in the vector and in every layer.

The cosine of the first sentence with itself is 1, and applying edits lowers it, until all of them make the second
sentence. The cost of an edit is its Shapley value (Shapley 1953): the mean, over every order of the edits, of what the
cosine falls by when it is applied. So the costs add up to 1 minus the cosine of the sentences.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from math import factorial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.pooling import OWN, Reading
from explorer.measuring.scores.bootstrap import mean_difference
from explorer.measuring.sentences.edits import Edit, Edited, between
from explorer.measuring.sentences.sentence_pair import pooled_layers
from explorer.measuring.sentences.sentence_vectors import every_layer, gathered
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Floats = NDArray[np.float64]

EXACT = 8  # edits of which every subset is encoded
PASSES = 2**EXACT  # the most texts that are encoded of a pair
FEW, MOST_FIRST = 16, 64  # texts of a first answer: the fewest and the most
FIRST_TOKENS = 2048  # of a first answer: half a second of one processor with the bundled encoder
DRAWS = 2  # orders with their reverse: the fewest that have a standard error
Orders = tuple[tuple[int, ...], ...]
Mean = tuple[float, float, float]  # over pairs, with its 95 % confidence interval


@dataclass(frozen=True, eq=False)
class EditCosts:
    """What the edits of a pair cost: in its cosine (edit), and in every layer (layer, edit) under a pooling.

    `errors` are standard errors of sampled costs (edit); None if every order of the edits was taken.
    """

    edits: tuple[Edit, ...]
    costs: Floats
    by_layer: Floats
    pooling: str
    errors: Floats | None = None

    @property
    def total(self) -> float:
        """1 minus the cosine of the sentences."""
        return float(self.costs.sum())

    @property
    def totals(self) -> Floats:
        """1 minus the cosine, in every layer."""
        return np.asarray(self.by_layer.sum(axis=1))


def apart_from(gaps: Sequence[float]) -> int | None:
    """The layer from which on, to the last, a gap of every layer has the sign of the last one; None if that is 0."""
    last = gaps[-1] if len(gaps) else 0.0
    if not last:
        return None
    return next((at + 1 for at in range(len(gaps) - 1, -1, -1) if gaps[at] * last <= 0), 0)


def edit_costs(
    encoder: Encoder, first: str, second: str, reading: Reading, max_length: int | None = None
) -> Work[EditCosts | None]:
    """Encode the first sentence with every subset of the edits, or those of sampled orders; None without edits."""
    edited = between(first, second)
    if edited is None or not edited.edits:
        return None
    return (yield from costs_of(encoder, edited, reading, max_length))


def first_passes(encoder: Encoder, edited: Edited, max_length: int | None = None) -> int:
    """How many texts give a first answer in a moment: fewer of long sentences."""
    longest = min(max(encoder.lengths([edited.first, edited.second])), encoder.limit(max_length))
    return min(max(FIRST_TOKENS // longest, FEW), MOST_FIRST)


def costs_of(
    encoder: Encoder, edited: Edited, reading: Reading, max_length: int | None = None, passes: int = PASSES
) -> Work[EditCosts]:
    """The costs of edits, from one pass over every text if there are at most `passes`, or those of sampled orders."""
    count = len(edited.edits)
    orders = sampled_orders(count, passes) if 2**count > passes else ()
    masks = list(dict.fromkeys(mask for order in orders for mask in prefixes(order))) or list(range(2**count))
    texts = [edited.text(mask) for mask in masks]
    distinct = list(dict.fromkeys(texts))
    if reading == OWN and encoder.head is None:  # as `default_head`
        reading = every_layer(encoder, "mean")[-1]
    pooled = pooled_layers(encoder, reading)
    pooling = pooled.pooling if pooled else "mean"  # where maps follow its pooling
    readings = [reading, *every_layer(encoder, pooling)]
    vectors = yield from gathered(encoder, distinct, readings, max_length, "encoding edits")
    place = {text: number for number, text in enumerate(distinct)}
    at = [place[text] for text in texts]
    falls = np.array([_falls(side)[at] for side in vectors])  # (reading, mask)
    if not orders:
        values = shapley(falls, count)
        return EditCosts(edited.edits, values[0], values[1:], pooling)
    of_mask = {mask: number for number, mask in enumerate(masks)}
    steps = np.array([_steps(falls, of_mask, order) for order in orders])  # (order, reading, edit)
    values = steps.mean(axis=0)
    # an order and its reverse depend on each other: their mean is one draw
    draws = steps[:, 0].reshape(-1, 2, count).mean(axis=1)
    errors = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    return EditCosts(edited.edits, values[0], values[1:], pooling, errors)


def _falls(vectors: NDArray[np.float32]) -> Floats:
    """1 minus the cosine of each vector (text, width) with the first one; missing for zero vectors."""
    exact = vectors.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    falls = 1 - unit @ unit[0]
    falls[0] = 0 * falls[0]  # exactly 0, or missing
    return np.asarray(falls)


def shapley(values: Floats, count: int) -> Floats:
    """Shapley values (…, player) of a game with `values` (…, coalition); bit n of a coalition is its player n."""
    coalitions = np.arange(2**count)
    sizes = np.array([coalition.bit_count() for coalition in coalitions.tolist()])
    weights = np.array([factorial(size) * factorial(count - size - 1) for size in range(count)]) / factorial(count)
    found = []
    for player in range(count):
        without = coalitions[coalitions >> player & 1 == 0]
        gains = values[..., without | 1 << player] - values[..., without]
        found.append(gains @ weights[sizes[without]])
    return np.stack(found, axis=-1)


def sampled_orders(count: int, passes: int = PASSES) -> Orders:
    """Orders of the edits, each followed by its reverse, with at most `passes` subsets; the same in every process.

    At least `DRAWS` orders with their reverse, even if these have more subsets.
    """
    draw, orders, known = random.Random(0), list[tuple[int, ...]](), set[int]()
    while True:
        order = draw.sample(range(count), count)
        masks = known.union(prefixes(order), prefixes(order[::-1]))
        if len(masks) > passes and len(orders) >= 2 * DRAWS:
            return tuple(orders)
        known = masks
        orders += [tuple(order), tuple(order[::-1])]


def prefixes(order: Sequence[int]) -> list[int]:
    """The subsets of the first edits of an order, from none to all."""
    masks = [0]
    for number in order:
        masks.append(masks[-1] | 1 << number)
    return masks


def _steps(falls: Floats, of_mask: dict[int, int], order: Sequence[int]) -> Floats:
    """What each edit (reading, edit) adds in one order."""
    masks = [of_mask[mask] for mask in prefixes(order)]
    steps = np.empty((len(falls), len(order)))
    steps[:, list(order)] = np.diff(falls[:, masks], axis=1)
    return steps


@dataclass(frozen=True)
class MeanCosts:
    """What the edits of several pairs cost in the mean, of each side, the change of two sides, and both by layer."""

    pairs: int
    sides: Mapping[str, Mean]
    change: Mean | None
    by_layer: Mapping[str, tuple[Mean, ...]]
    changes: tuple[Mean, ...]  # (layer), as far as both sides have layers

    @property
    def apart_from(self) -> int | None:
        """The layer from which on, to the last, the change is significant, its sign that of the last layer."""
        return apart_from([mean if low > 0 or high < 0 else 0.0 for mean, low, high in self.changes])


def mean_costs(sides: Mapping[str, Sequence[EditCosts]]) -> MeanCosts:
    """The means over pairs of all edits of a pair; the same resamples of the pairs for all."""
    totals = {side: np.array([one.total for one in costs]) for side, costs in sides.items()}
    layers = {side: np.array([one.totals for one in costs]).T for side, costs in sides.items()}
    return MeanCosts(
        pairs=len(next(iter(totals.values()))),
        sides={side: _mean(np.zeros_like(values), values) for side, values in totals.items()},
        change=_mean(*totals.values()) if len(totals) > 1 else None,
        by_layer={side: tuple(_mean(np.zeros_like(of), of) for of in values) for side, values in layers.items()},
        changes=tuple(starmap(_mean, zip(*layers.values(), strict=False))) if len(layers) > 1 else (),
    )


def _mean(one: Floats, other: Floats) -> Mean:
    found = mean_difference(one, other, most=0.0)  # × 100
    return float(found.difference) / 100, float(found.low) / 100, float(found.high) / 100
