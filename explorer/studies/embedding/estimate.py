"""Estimate what embedding a corpus takes, in time and on the disk, from a few of its sentences."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.data.vectors import embedding_folder
from explorer.progress import Progress, Work
from explorer.studies.embedding import corpus as corpora
from explorer.studies.embedding import shard_files
from explorer.studies.embedding.embedding import Request, check_folder, pieces_of, planned, vectors_of

if TYPE_CHECKING:
    from explorer.training.loop.processes import World

PLACES = 8  # of the corpus from which sentences are tried
SENTENCES = 512  # that are tried
WARM_UP = 32  # of them first: the first pass through a model takes longer


@dataclass(frozen=True)
class EmbeddingEstimate:
    """What an embedding takes, if every process is as fast as this one while all of them try."""

    rows: int
    shards: int
    processes: int
    tried: int
    rows_per_second: float  # of all processes together
    disk: int  # bytes of the shards
    merged: int  # bytes of the merged file; 0 without one
    free: int

    @property
    def seconds(self) -> float:
        """Of the whole corpus."""
        return self.rows / self.rows_per_second

    @property
    def text(self) -> str:
        """`1,000,000 rows in 50 shards: about 2 h 20 min, 119 rows/s with 1 process; 1.31 GB on disk (20 GB free)`."""
        merged = f" and {in_words.size(self.merged)} for {embedding_folder.MERGED}" if self.merged else ""
        return (
            f"{self.rows:,} rows in {self.shards:,} shards: about {in_words.duration(self.seconds)}, "
            f"{self.rows_per_second:,.0f} rows/s with {self.processes} process{'es' * (self.processes > 1)} "
            f"(from {self.tried:,} rows); {in_words.size(self.disk)}{merged} on disk ({in_words.size(self.free)} free)"
        )


def estimate(request: Request, world: World) -> Work[EmbeddingEstimate | None]:
    """Embed a few sentences of every part of the corpus; the main process returns what the whole would take."""
    plan = yield from planned(request, world)
    if world.main:
        check_folder(request.folder, plan.manifest)
    shards = plan.corpus.shards  # of which some are tried, spread evenly over the corpus
    chosen = [shards[at * len(shards) // PLACES] for at in range(PLACES)] if len(shards) > PLACES else shards
    each = -(-SENTENCES // len(chosen))
    texts = tuple(text for shard in chosen for text in corpora.sentences(plan.corpus, shard)[:each])

    def progress(share: float) -> Progress:
        return Progress("trying", round(share * len(texts)), len(texts))

    yield from vectors_of(plan, texts[:WARM_UP], progress)
    world.wait()
    started = time.monotonic()
    pieces = yield from pieces_of(plan, texts)
    vectors = yield from vectors_of(plan, pieces.texts, progress)
    seconds = time.monotonic() - started
    world.wait()
    if not world.main:
        return None
    tried = replace(shards[0], rows=len(texts))
    disk = int(shard_files.written(plan.manifest, tried, pieces, vectors) / len(texts) * plan.corpus.rows)
    home = next(place for place in (request.folder, *request.folder.absolute().parents) if place.is_dir())
    return EmbeddingEstimate(
        rows=plan.corpus.rows,
        shards=len(shards),
        processes=world.size,
        tried=len(texts),
        rows_per_second=len(texts) / seconds * world.size,
        disk=disk,
        merged=disk if request.merge else 0,
        free=shutil.disk_usage(home).free,
    )
