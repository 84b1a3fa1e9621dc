"""The batches of a run: rows that are shuffled anew in every epoch, if need be without a text twice in a batch."""

from collections.abc import Iterator, Sequence
from itertools import cycle, islice

import torch

from explorer.data.text_sets import Corpus
from explorer.errors import BadChoice, TooFewRows
from explorer.methods._schedule import Sampler, Schedule

Batch = tuple[list[str] | list[float], ...]  # a list for each column: sentences, or scores


class NoDuplicates(Sampler):
    """No text twice in a batch, as in sentence-transformers: a row that has a text of the batch waits for the next.

    sentence-transformers has fewer batches if the rows left at the end of an epoch share texts; here, the first rows of
    the epoch fill these batches.
    """

    def batches(self, corpus: Corpus, order: Sequence[int], size: int, random: torch.Generator) -> list[Sequence[int]]:
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


class Feed:
    """The batches of a run: every epoch is shuffled anew, and the method's sampler divides it.

    Seed and number of the batch alone decide its rows, so that nothing has to be stored to resume.
    """

    def __init__(
        self,
        corpus: Corpus,
        schedule: Schedule,
        seed: int,
        rank: int = 0,
        world: int = 1,
        sampler: Sampler | None = None,
    ) -> None:
        self.corpus, self.seed, self.rank = corpus, seed, rank
        self.sampler = sampler or Sampler()
        self.rows = self.sampler.usable(corpus)
        self.size, self.share = schedule.batch_size, schedule.batch_size // world
        items = self.sampler.items(len(self.rows))
        if items < self.size:
            left_out = f" ({self.sampler.remark})" if self.sampler.remark else ""
            given = f"{len(self.rows):,} row{'s' * (len(self.rows) != 1)} to train on{left_out}"
            given += f", which make {items:,} pairs" * (self.sampler.rows_each == 2)
            remedies = [f"set batch_size to {items} or less"] * (items > 1) + ["use more rows"]
            remedies += ["choose settings that leave out fewer"] * bool(left_out)
            lower = ", or ".join(remedies).capitalize()
            raise TooFewRows(f"{corpus.name} has {given}, but a batch takes {self.size}. {lower}.")
        if self.size % world:
            raise BadChoice(
                f"batch_size cannot be {self.size} with {world} processes: each takes an equal share. "
                f"Set it to a multiple of {world}."
            )
        self.a_batch, self.steps = items // self.size, schedule.updates(items)
        self._epoch = -1
        self._batches: list[Sequence[int]] = []

    @property
    def rows_a_batch(self) -> int:
        """The rows of a batch, of all processes together."""
        return self.size * self.sampler.rows_each

    def batch(self, number: int) -> Batch:
        """The rows of a batch for this process."""
        epoch, place = divmod(number, self.a_batch)
        if epoch != self._epoch:
            mixed = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
            order = torch.randperm(len(self.rows), generator=mixed).tolist()
            self._batches = self.sampler.batches(self.corpus, [self.rows[row] for row in order], self.size, mixed)
            self._epoch = epoch
        share = self.share * self.sampler.rows_each
        return self._rows(self._batches[place][self.rank * share : (self.rank + 1) * share])

    def longest(self, items: int) -> Batch:
        """So many items of the rows with the most text, which need the most memory; of few rows again and again."""
        texts = self.corpus.texts
        longest_first = sorted(self.rows, key=lambda row: -sum(len(column[row]) for column in texts))
        return self._rows(list(islice(cycle(longest_first), items * self.sampler.rows_each)))

    def _rows(self, places: Sequence[int]) -> Batch:
        return tuple([column[place] for place in places] for column in self.corpus.columns)  # type: ignore[misc]
