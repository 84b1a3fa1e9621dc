"""Divide pairs into chunks, so that every sentence is encoded once and few vectors are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Chunk:
    """Some pairs and their sentences; `first` and `second` are indices of `sentences`."""

    pairs: Places
    sentences: Places
    first: Places
    second: Places


def chunks(first: Places, second: Places, lengths: Sequence[int], most: int) -> Iterator[Chunk]:
    """All pairs, in chunks of about `most` sentences; pairs that share a sentence stay together.

    `first` and `second` are the sentences of each pair, `lengths` the lengths of the sentences. Families of pairs come
    longest first, so that the batches of a chunk have little padding. Only a family larger than a chunk is divided,
    and then a sentence is encoded twice.
    """
    batch: list[int] = []
    seen: set[int] = set()
    for pair in _by_family(first, second, np.asarray(lengths)):
        new = {int(first[pair]), int(second[pair])} - seen
        if batch and len(seen) + len(new) > most:
            yield _chunk(np.array(batch), first, second)
            batch, seen, new = [], set(), {int(first[pair]), int(second[pair])}
        batch.append(int(pair))
        seen |= new
    if batch:
        yield _chunk(np.array(batch), first, second)


def _by_family(first: Places, second: Places, lengths: Places) -> Places:
    """An order of pairs in which those that share sentences, directly or through others, are adjacent."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(first)), (first, second)), shape=(len(lengths), len(lengths)))
    _, family = connected_components(links, directed=False)
    longest = np.zeros(family.max() + 1, dtype=np.intp)
    np.maximum.at(longest, family, lengths)
    order: Places = np.lexsort((family[first], -longest[family[first]]))
    return order


def _chunk(pairs: Places, first: Places, second: Places) -> Chunk:
    sentences, places = np.unique(np.concatenate([first[pairs], second[pairs]]), return_inverse=True)
    return Chunk(pairs, sentences, places[: len(pairs)], places[len(pairs) :])
