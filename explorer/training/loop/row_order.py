"""Order the training rows by seed and step number, so that nothing has to be stored to resume."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from explorer.data.text_sets import Corpus
from explorer.errors import BadChoice, TooFewRows
from explorer.methods import Sampler, Schedule

Batch = tuple[list[str] | list[float], ...]  # a list for each column: sentences, or scores


class Feed:
    """The batches of a run: every epoch is shuffled anew, and the method's sampler divides it."""

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
        rows = len(self.rows)
        if rows < self.size:
            left_out = f" to train on ({self.sampler.remark})" if self.sampler.remark else ""
            remedies = [f"set batch_size to {rows} or less"] * (rows > 1) + ["use more rows"]
            remedies += ["choose settings that leave out fewer"] * bool(left_out)
            lower = ", or ".join(remedies).capitalize()
            raise TooFewRows(f"{corpus.name} has {rows:,} rows{left_out}, but a batch takes {self.size}. {lower}.")
        if self.size % world:
            raise BadChoice(
                f"batch_size cannot be {self.size} with {world} processes: each takes an equal share. "
                f"Set it to a multiple of {world}."
            )
        self.a_batch = rows // self.size
        self.steps = schedule.updates(rows)
        self._epoch = -1
        self._batches: list[Sequence[int]] = []

    def batch(self, number: int) -> Batch:
        """The rows of a batch for this process."""
        epoch, place = divmod(number, self.a_batch)
        if epoch != self._epoch:
            order = _order(len(self.rows), self.seed, epoch).tolist()
            self._batches = self.sampler.batches(self.corpus, [self.rows[row] for row in order], self.size)
            self._epoch = epoch
        start = self.rank * self.share
        return self._rows(self._batches[place][start : start + self.share])

    def longest(self, rows: int) -> Batch:
        """The rows with the most text, which need the most memory."""
        texts = self.corpus.texts
        longest_first = sorted(self.rows, key=lambda row: -sum(len(column[row]) for column in texts))
        return self._rows(longest_first[:rows])

    def _rows(self, places: Sequence[int]) -> Batch:
        return tuple([column[place] for place in places] for column in self.corpus.columns)  # type: ignore[misc]


def _order(rows: int, seed: int, epoch: int) -> torch.Tensor:
    mixed = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(rows, generator=mixed)
