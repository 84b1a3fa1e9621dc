"""How fast the rows of all processes are embedded, and how long the rest takes."""

from __future__ import annotations

import time
from pathlib import Path

from explorer import in_words
from explorer.data.vectors.manifest import shard_path
from explorer.progress import Progress
from explorer.studies.embedding.corpus import Corpus

EVERY = 2.0  # seconds between two counts of the shards that all processes have written


class Pace:
    """Counts rows from the files in the folder: every process writes there, on whichever machine it is."""

    def __init__(self, folder: Path, corpus: Corpus, processes: int) -> None:
        self._folder, self._corpus, self._processes = folder, corpus, processes
        self._left = {shard.number: shard.rows for shard in corpus.shards}
        self._counted = 0.0
        self.there = self._whole()
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._started

    def progress(self, inside: float) -> Progress:
        """The progress, where `inside` rows of the current shard are done; the others are taken to be as far."""
        rows = min(self._corpus.rows, self._whole() + round(inside * self._processes))
        seconds, done = self.seconds, rows - self.there
        stage = "embedding"
        if done > 0 and seconds > 0:
            rate = done / seconds
            left = in_words.duration((self._corpus.rows - rows) / rate)
            stage = f"embedding, {rate:,.0f} rows/s, {left} left:"
        return Progress(stage, rows, self._corpus.rows)

    def _whole(self) -> int:
        """Rows of shards that are written."""
        if time.monotonic() - self._counted >= EVERY:
            self._counted = time.monotonic()
            written = {path.name for path in shard_path(self._folder, 0).parent.glob("*.parquet")}
            for number in [one for one in self._left if shard_path(self._folder, one).name in written]:
                del self._left[number]
        return self._corpus.rows - sum(self._left.values())
