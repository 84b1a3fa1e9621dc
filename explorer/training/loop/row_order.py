"""Order the training rows by seed and step number, so that nothing has to be stored to resume."""

from __future__ import annotations

from functools import lru_cache

import torch

from explorer.data.corpora import Corpus
from explorer.errors import BadChoice, TooFewRows
from explorer.methods import Schedule

Batch = tuple[list[str] | list[float], ...]  # a list for each column: sentences, or scores


class Feed:
    """The batches of a run: every epoch is shuffled anew, and an incomplete last batch is dropped."""

    def __init__(self, corpus: Corpus, schedule: Schedule, seed: int, rank: int = 0, world: int = 1) -> None:
        if len(corpus) < schedule.batch_size:
            raise TooFewRows(
                f"{corpus.name} has {len(corpus):,} rows, but a batch takes {schedule.batch_size}. Set batch_size to "
                f"{len(corpus)} or less, or use more rows."
            )
        if schedule.batch_size % world:
            raise BadChoice(
                f"batch_size cannot be {schedule.batch_size} with {world} processes: each takes an equal share. "
                f"Set it to a multiple of {world}."
            )
        self.corpus, self.seed = corpus, seed
        self.size, self.share, self.rank = schedule.batch_size, schedule.batch_size // world, rank
        self.a_batch = len(corpus) // self.size
        self.steps = schedule.updates(len(corpus))

    def batch(self, number: int) -> Batch:
        """The rows of a batch for this process."""
        epoch, place = divmod(number, self.a_batch)
        start = place * self.size + self.rank * self.share
        rows = _order(len(self.corpus), self.seed, epoch)[start : start + self.share].tolist()
        return self._rows(rows)

    def longest(self, rows: int) -> Batch:
        """The rows with the most text, which need the most memory."""
        lengths = [sum(map(len, row)) for row in zip(*self.corpus.texts, strict=True)]
        places = sorted(range(len(lengths)), key=lambda place: -lengths[place])[:rows]
        return self._rows(places)

    def _rows(self, places: list[int]) -> Batch:
        return tuple([column[place] for place in places] for column in self.corpus.columns)  # type: ignore[misc]


@lru_cache(maxsize=2)
def _order(rows: int, seed: int, epoch: int) -> torch.Tensor:
    mixed = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(rows, generator=mixed)
