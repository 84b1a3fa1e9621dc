"""Embed a corpus shard by shard, with one process or several, and resume what was killed.

A shard has fixed rows, and its batches depend on its sentences alone: the number of processes changes no vector.
Process r of n takes shards r, r + n, r + 2n, …, so no shard is written by two.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from explorer import in_words
from explorer.data.sources import shown
from explorer.data.vectors import embedding_folder
from explorer.data.vectors.embedding_folder import Manifest, StoredReading, has_rows, shard_path
from explorer.encoding.load.declared import named
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.encoding.read.windows import Windows, windows
from explorer.errors import NotWritable, RunError
from explorer.evaluating import encoded
from explorer.knobs import Knobs, knob
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences.sentence_vectors import check_finite
from explorer.places import PART, nearest, writing
from explorer.progress import Phase, Progress, Work, map_progress
from explorer.studies.embedding import corpus as corpora
from explorer.studies.embedding import shard_files

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder
    from explorer.training.loop.processes import World

DTYPES = ("float32", "float16")
OVERHEAD = 16  # bytes of a row besides text and vectors, at most; twice as many of a window
SPARE = 2**26  # bytes of the disk that stay free
EVERY = 2.0  # seconds between two counts of the shards that all processes have written
WINDOW_BYTES = 3  # of text for each token of a window, less what it shares with the one before


@dataclass(frozen=True)
class Request(Knobs):
    """What to embed, and how."""

    model: Found
    texts: tuple[corpora.TextSource, ...]
    folder: Path
    titles: tuple[str, ...] = knob(
        (),
        flag="reading",
        metavar="TITLE",
        repeated=True,
        empty="the model default",
        help="Layer & pooling: 'mean of layer 6', 'mean of layers 4-6', 'model default', ….",
    )
    settings: Settings = field(default_factory=Settings)
    rows_per_shard: int = knob(20_000, low=1, high=corpora.LARGEST_SHARD, help="Rows of a file.")
    dtype: str = knob(DTYPES[0], choices=DTYPES, help="float16 takes half the bytes.")
    with_text: bool = knob(False, help="Also store the sentences.")
    windows: bool = knob(
        False,
        help="Read texts that are longer than the maximum length in overlapping windows, each with a vector: a row "
        "for each window, with the number of its text and the characters at which it begins and ends.",
    )
    merge: bool = knob(False, help="Join all shards in vectors.parquet; needs the bytes of all once more.")


@dataclass(frozen=True)
class Embedded:
    """A folder of vectors that is complete."""

    manifest: Manifest
    embedded: int  # rows of this start; the others were there
    empty: int  # rows of the texts without a sentence
    vectors: int  # under each layer & pooling: one for each row, or for each window
    merged: Path | None
    seconds: float  # from the first shard of this start to the end
    other_releases: tuple[str, ...] = ()  # libraries of another release than that of the folder's first shards


@dataclass(frozen=True)
class EmbeddingPlan:
    """The corpus in shards, the loaded encoder, and what the folder will hold."""

    corpus: corpora.ShardedCorpus
    encoder: Encoder
    manifest: Manifest


def embed(request: Request, world: World) -> Work[Embedded | None]:
    """Embed the shards of this process; the main process waits for the others and returns the result."""
    plan = yield from planned(request, world)
    folder, corpus = request.folder, plan.corpus
    if world.main and check_folder(folder, plan.manifest) is None:
        _check_disk(request, plan)
    world.wait()  # until the folder is checked, nothing is made in it
    with shard_files.held(folder, world):
        yield from _remove_damaged(folder, plan, world)
        world.wait()
        other_releases = _prepare(request, plan) if world.main else ()
        world.wait()
        pace = Pace(folder, corpus, world.size)
        for shard in corpus.shards[world.rank :: world.size]:
            if not shard_path(folder, shard.number).exists():
                texts = corpora.sentences(corpus, shard)
                pieces = yield from pieces_of(plan, texts)
                vectors = yield from vectors_of(plan, pieces.texts, partial(pace.progress, shard.rows))
                shard_files.write(folder, plan.manifest, shard, pieces, vectors)
                yield pace.progress()
        yield Progress("waiting for the other processes", 0, 0)
        world.wait()
        if not world.main:
            return None
        yield from corpora.check_unchanged(corpus)
        lost = [
            path
            for shard in corpus.shards
            if not has_rows(path := shard_path(folder, shard.number), plan.manifest, shard.start, shard.rows)
        ]
        if lost:
            raise RunError(
                f"{len(lost)} shards are missing in {folder}, such as {lost[0].name}. All processes need the same "
                "folder: use a disk that all machines share, and start the same command again."
            )
        merged = (yield from shard_files.merge(folder, plan.manifest)) if request.merge else None
        count = embedding_folder.vectors_in(folder, plan.manifest)
    embedded = corpus.rows - pace.there
    return Embedded(plan.manifest, embedded, corpus.empty, count, merged, pace.seconds, other_releases)


def planned(request: Request, world: World) -> Work[EmbeddingPlan]:
    """Divide the corpus into shards in the main process, and load the encoder in each."""
    titles = tuple(named(title, request.model.folder).title for title in request.titles)  # refused before any work
    found = (yield from corpora.indexed(request.texts, request.rows_per_shard)) if world.main else None
    yield Progress("waiting for the main process to read the text", 0, 0)
    corpus = world.shared(found)
    assert corpus is not None, "the main process has indexed it"
    yield Progress(f"loading {request.model.name}", 0, 0)
    encoder = load_encoder(request.model, request.settings)
    # `checked_titles` sorts them, and adds the model default
    kept = [title for title in encoded.checked_titles(encoder, titles) if title in (titles or (MODEL_DEFAULT,))]
    manifest = Manifest(
        model=encoder.name,
        model_digest=encoder.digest,
        texts=tuple(shown(text.source) for text in request.texts),
        text_digest=corpus.digest,
        rows=corpus.rows,
        shards=len(corpus.shards),
        rows_per_shard=request.rows_per_shard,
        vectors=tuple(StoredReading(title, encoded.width_of(encoder, title)) for title in kept),
        max_length=encoder.limit(request.settings.max_length),
        precision=encoder.precision,
        dtype=request.dtype,
        with_text=request.with_text,
        windows=request.windows,
        versions=in_words.versions(embedding_folder.LIBRARIES),
    )
    embedding_folder.check_same(world.shared(manifest), manifest, "The main process")
    return EmbeddingPlan(corpus, encoder, manifest)


def check_folder(folder: Path, manifest: Manifest) -> Manifest | None:
    """The manifest of the folder, which is that of the same embedding; None if the folder is new or empty."""
    there = embedding_folder.read_manifest(folder)
    if there is not None:
        embedding_folder.check_same(there, manifest, str(folder))
    return there


def _remove_damaged(folder: Path, plan: EmbeddingPlan, world: World) -> Work[None]:
    """Remove what is in the place of a shard of this process and is not that shard, or not as it was written."""
    shards = plan.corpus.shards[world.rank :: world.size]
    for done, shard in enumerate(shards):
        path = shard_path(folder, shard.number)
        if path.exists() or path.is_symlink():
            yield Progress("checking the shards that are there", done, len(shards))
            if not shard_files.is_whole(folder, plan.manifest, shard):
                try:
                    path.unlink()
                except OSError as error:
                    raise NotWritable(
                        f"{path} is damaged: {error.strerror or error}. {embedding_folder.ROOM}"
                    ) from error


def _prepare(request: Request, plan: EmbeddingPlan) -> tuple[str, ...]:
    """Remove what a killed process left, check that the rest fits on the disk, and write the manifest.

    Returns the libraries of which another release began the folder.
    """
    folder = request.folder
    with writing(folder, embedding_folder.ROOM, embedding_folder.ELSEWHERE):
        for place in (folder, folder / embedding_folder.SHARDS, folder / embedding_folder.CHECKSUMS):
            place.mkdir(exist_ok=True)
            for left in place.glob(f"*{PART}"):
                left.unlink(missing_ok=True)
    _check_disk(request, plan)
    there = check_folder(folder, plan.manifest)
    if there is None:
        embedding_folder.write_manifest(folder, plan.manifest)
    versions = there.versions if there else plan.manifest.versions
    return tuple(name for name, version in plan.manifest.versions.items() if versions.get(name) != version)


def _check_disk(request: Request, plan: EmbeddingPlan) -> None:
    """Refuse a disk that the rest does not fit on; the folder need not be there yet."""
    with writing(request.folder, embedding_folder.ROOM, embedding_folder.ELSEWHERE):
        disk = shutil.disk_usage(nearest(request.folder))
    need, free = bytes_needed(request, plan) + SPARE, disk.free
    if disk.total and need > free:  # /proc has no size: making a folder in it fails
        raise NotWritable(
            f"The vectors need up to {in_words.size(need)} more in {request.folder}, where {in_words.size(free)} are "
            "free. Make room there, choose another folder, fewer layers & poolings or --dtype float16, or no --merge."
        )


def bytes_needed(request: Request, plan: EmbeddingPlan) -> int:
    """Bytes of the shards that are not there yet, and of the merged file; without the savings of compression.

    How many windows there are is known once they are cut: these are taken to have as many bytes as English text.
    """
    of_window = WINDOW_BYTES * plan.manifest.max_length

    def size(shard: corpora.Shard) -> int:
        text = shard.size if plan.manifest.with_text else 0
        of_row = plan.manifest.bytes_per_row + OVERHEAD
        if plan.manifest.windows:
            return text + (shard.rows + shard.size // of_window) * (of_row + OVERHEAD)
        return text + shard.rows * of_row

    shards = plan.corpus.shards
    left = sum(size(shard) for shard in shards if not shard_path(request.folder, shard.number).exists())
    merged = request.merge and not (request.folder / embedding_folder.MERGED).exists()
    return left + (sum(map(size, shards)) if merged else 0)


def pieces_of(plan: EmbeddingPlan, texts: Sequence[str]) -> Work[Windows]:
    """What has a vector: each text, or each of its windows."""
    if not plan.manifest.windows:
        return Windows(tuple(texts), np.arange(len(texts)))
    prompt = plan.encoder.default_head.prompt
    return (yield from windows(plan.encoder, texts, plan.manifest.max_length, prompt))


def vectors_of(
    plan: EmbeddingPlan, texts: tuple[str, ...], progress_at: Callable[[float], Progress]
) -> Work[tuple[shard_files.Vectors, ...]]:
    """Vectors (row, width) of each column, all finite; `progress_at` makes a progress of the share that is done."""
    titles = [column.title for column in plan.manifest.vectors]

    def of_shard(progress: Progress) -> Progress:
        return progress_at(progress.done / progress.total if progress.stage is Phase.ENCODING_TEXTS else 0)

    work = encoded.encoded(plan.encoder, texts, plan.manifest.max_length, titles)
    found = yield from map_progress(work, of_shard)
    vectors = tuple(found.of(title) for title in titles)
    for title, values in zip(titles, vectors, strict=True):
        reading = encoded.reading_of(plan.encoder, title)
        check_finite(plan.encoder, texts, reading, values, plan.manifest.max_length)
    return vectors


class Pace:
    """Counts rows from the files in the folder: every process writes there, on whichever machine it is."""

    def __init__(self, folder: Path, corpus: corpora.ShardedCorpus, processes: int) -> None:
        self._folder, self._corpus, self._processes = folder, corpus, processes
        self._left = {shard.number: shard.rows for shard in corpus.shards}
        self._counted = 0.0
        self.there = self._whole()
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._started

    def progress(self, of_shard: int = 0, share: float = 0) -> Progress:
        """The progress, a share of the rows of the current shard being done; other processes are taken to be as far."""
        rows = min(self._corpus.rows, self._whole() + round(share * of_shard * self._processes))
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
