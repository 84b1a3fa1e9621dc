"""Samplers: which rows are trained on, and which come together in a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from explorer.data.text_sets import Corpus
from explorer.errors import TooFewRows


class Sampler:
    """Rows in random order."""

    remark: str = ""  # which rows are left out, in words

    def usable(self, corpus: Corpus) -> Sequence[int]:
        """The rows that can be trained on: all."""
        return range(len(corpus))

    def batches(self, corpus: Corpus, order: Sequence[int], size: int) -> list[Sequence[int]]:
        """The rows of each batch of an epoch, from all its rows in random order; what fills no batch is left out.

        There are as many batches as the rows can fill, and each is full. They follow from the arguments alone, so that
        a stopped run goes on with the same ones.
        """
        return [order[start : start + size] for start in range(0, len(order) - size + 1, size)]


class NoDuplicates(Sampler):
    """No text twice in a batch, as in sentence-transformers: a row that has a text of the batch waits for the next.

    sentence-transformers has fewer batches if the rows left at the end of an epoch share texts; here, the first rows of
    the epoch fill these batches.
    """

    def batches(self, corpus: Corpus, order: Sequence[int], size: int) -> list[Sequence[int]]:
        """The same, without a text twice in a batch."""
        found: list[Sequence[int]] = []
        waiting: list[int] = []
        fresh = iter(order)
        for _ in range(len(order) // size):
            batch: list[int] = []
            texts: set[str] = set()
            earlier = iter(waiting)
            put_off = _fill(batch, texts, corpus, earlier, size)
            waiting = [*put_off, *earlier, *_fill(batch, texts, corpus, fresh, size)]
            _fill(batch, texts, corpus, iter(order), size)
            if len(batch) < size:
                raise TooFewRows(
                    f"{corpus.name} does not fill batches of {size} without a text twice: only {len(batch)} rows were "
                    f"found that share no text. Set batch_size to {len(batch)} or less, or no_duplicates to off."
                )
            found.append(batch)
        return found


def _fill(batch: list[int], texts: set[str], corpus: Corpus, rows: Iterator[int], size: int) -> list[int]:
    """Add rows to a batch until it is full; gives those that have a text of the batch."""
    put_off = []
    while len(batch) < size:
        row = next(rows, None)
        if row is None:
            break
        own = {column[row] for column in corpus.texts}
        if texts.isdisjoint(own):
            batch.append(row)
            texts |= own
        else:
            put_off.append(row)
    return put_off
