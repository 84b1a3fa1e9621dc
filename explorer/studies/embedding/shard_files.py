"""Write vectors as parquet files, check and merge them, and lock their folder for the processes that write.

A file has the number of each row, its sentence if asked for, and a column of vectors for each layer & pooling. Of texts
in windows it has a row for each window: the number of its text, and where it begins and ends. Its bytes depend on the
vectors and the release of pyarrow alone.
"""

from __future__ import annotations

import errno
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.text_sets import digest_of
from explorer.data.vectors import embedding_folder
from explorer.data.vectors.embedding_folder import Manifest, shard_path
from explorer.encoding.read.windows import Windows
from explorer.errors import BadChoice, NotWritable, RunBusy, RunError
from explorer.places import writing
from explorer.progress import Progress, Work
from explorer.studies.embedding.corpus import Shard

if TYPE_CHECKING:
    from explorer.training.loop.processes import World

Vectors = NDArray[np.float32]  # (row, width)

OF_SHARDS = b"strata.shards"  # of the metadata of a merged file: the digest of the checksums of its shards
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)  # some network disks have none


def write(folder: Path, manifest: Manifest, shard: Shard, texts: Windows, vectors: Sequence[Vectors]) -> None:
    """Write a shard atomically."""
    columns = _columns(manifest, shard, texts, vectors)
    with embedding_folder.written_with_checksum(folder, shard_path(folder, shard.number)) as file:
        _write(file, manifest, columns)


def written(manifest: Manifest, shard: Shard, texts: Windows, vectors: Sequence[Vectors]) -> int:
    """The bytes that a shard of these vectors has, without writing it."""
    _write(file := io.BytesIO(), manifest, _columns(manifest, shard, texts, vectors))
    return len(file.getvalue())


def is_whole(folder: Path, manifest: Manifest, shard: Shard) -> bool:
    """Whether a shard is there, with its own rows and the bytes that were written.

    Without a checksum, since the process was killed before it wrote one, its rows are read and written anew in memory:
    if that gives the same bytes, it gets one.
    """
    path = shard_path(folder, shard.number)
    if not embedding_folder.has_rows(path, manifest, shard.start, shard.rows):
        return False
    stated = embedding_folder.stated_checksum(folder, path)
    if stated is not None:
        return stated == embedding_folder.computed_checksum(path)
    table = _read(path, manifest)
    if isinstance(table, str):
        return False
    _write(file := io.BytesIO(), manifest, table)
    if file.getvalue() != path.read_bytes():
        return False
    embedding_folder.write_checksum(folder, path, embedding_folder.computed_checksum(path))
    return True


def merge(folder: Path, manifest: Manifest) -> Work[Path]:
    """Join all shards into one file, of which one shard at a time is in memory; nothing if there is such a file."""
    import pyarrow.parquet as pq

    path = folder / embedding_folder.MERGED
    shards = [shard_path(folder, number) for number in range(manifest.shards)]
    joined = {OF_SHARDS: digest_of(embedding_folder.stated_checksum(folder, shard) or "" for shard in shards).encode()}
    if embedding_folder.has_rows(path, manifest, 0, manifest.rows):
        of_shards = joined.items() <= (pq.read_metadata(path).metadata or {}).items()
        if of_shards and embedding_folder.stated_checksum(folder, path) == embedding_folder.computed_checksum(path):
            return path
    with embedding_folder.written_with_checksum(folder, path) as file, _writer(file, manifest, joined) as writer:
        for number, shard in enumerate(shards):
            yield Progress("merging shards", number, manifest.shards)
            table = _read(shard, manifest)
            if isinstance(table, str):
                raise RunError(f"{shard} is damaged ({table}). Start the same command again: it writes it again.")
            writer.write_table(table, row_group_size=manifest.rows_per_shard)
    return path


def _read(path: Path, manifest: Manifest) -> Any:
    """The rows of a shard; as text, what is damaged in it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except (OSError, pa.ArrowException, ValueError) as error:
        return str(error).partition("\n")[0][:200]
    return table if table.schema.equals(_schema(manifest)) else "it has other columns"


def _write(file: IO[bytes], manifest: Manifest, columns: Any) -> None:
    with _writer(file, manifest) as writer:
        writer.write_table(columns, row_group_size=manifest.rows_per_shard)


def _writer(file: IO[bytes], manifest: Manifest, more: dict[bytes, bytes] | None = None) -> Any:
    import pyarrow.parquet as pq

    # the bytes of floats, sorted by their place, take 16 % less room; statistics of single floats help nobody
    split = {f"{column.title}.list.element": "BYTE_STREAM_SPLIT" for column in manifest.vectors}
    return pq.ParquetWriter(
        file,
        _schema(manifest, more),
        compression="zstd",
        use_dictionary=False,
        column_encoding=split,
        write_statistics=[embedding_folder.TEXT_ROW if manifest.windows else embedding_folder.ROW],
        write_page_checksum=True,
    )


def _schema(manifest: Manifest, more: dict[bytes, bytes] | None = None) -> Any:
    import pyarrow as pa

    of_windows = embedding_folder.TEXT_ROW, embedding_folder.START, embedding_folder.END
    numbers = of_windows if manifest.windows else (embedding_folder.ROW,)
    number = pa.float16() if manifest.dtype == "float16" else pa.float32()
    about = json.dumps(manifest.settings | {"model": manifest.model}, sort_keys=True, ensure_ascii=False)
    return pa.schema(
        [
            *(pa.field(name, pa.int64(), nullable=False) for name in numbers),
            *([pa.field(embedding_folder.TEXT, pa.string(), nullable=False)] if manifest.with_text else []),
            *(pa.field(column.title, pa.list_(number, column.width)) for column in manifest.vectors),
        ],
        metadata={
            embedding_folder.KEY: manifest.key.encode(),
            embedding_folder.ABOUT: about.encode("utf-8", "surrogatepass"),
            **(more or {}),
        },
    )


def _columns(manifest: Manifest, shard: Shard, texts: Windows, vectors: Sequence[Vectors]) -> Any:
    import pyarrow as pa

    columns = [pa.array(shard.start + texts.passages.astype(np.int64))]
    if manifest.windows:
        starts = np.array(texts.begins, dtype=np.int64)
        columns += [pa.array(starts), pa.array(starts + np.array(list(map(len, texts.texts)), dtype=np.int64))]
    if manifest.with_text:
        columns.append(pa.array(texts.texts, pa.string()))
    for column, values in zip(manifest.vectors, vectors, strict=True):
        if manifest.dtype == "float16":
            check_float16(values, column.title)
        flat = pa.array(values.astype(manifest.dtype, copy=False).reshape(-1))
        columns.append(pa.FixedSizeListArray.from_arrays(flat, column.width))
    return pa.Table.from_arrays(columns, schema=_schema(manifest))


def check_float16(values: Vectors, title: str) -> None:
    """Refuse numbers that float16 cannot hold, and vectors that would lose digits."""
    limits, largest = np.finfo(np.float16), np.abs(values).max(axis=1, initial=0)  # of each vector
    if largest.max(initial=0) > limits.max:
        raise BadChoice(
            f"'{title}' has the number {largest.max():,.0f}; float16 holds at most {limits.max:,.0f}. Use --dtype "
            "float32."
        )
    small = largest[(largest > 0) & (largest < limits.smallest_normal)]
    if len(small):
        raise BadChoice(
            f"'{title}' has a vector whose largest number is {small.min():.0e}; below {limits.smallest_normal:.0e}, "
            "float16 loses digits. Use --dtype float32."
        )


@contextmanager
def held(folder: Path, world: World) -> Iterator[None]:
    """Lock the folder for the processes of a world; the system releases the lock when the last of them ends.

    The main process asks for a lock of its own, which it gets only if no process of an earlier start is left. All of
    them then share it.
    """
    import fcntl

    with writing(folder, embedding_folder.ROOM, embedding_folder.ELSEWHERE):
        folder.mkdir(parents=True, exist_ok=True)
        opened = (folder / embedding_folder.LOCK).open("a+")
    with opened as lock:
        if world.main:
            _take(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, folder)
        world.wait()
        if world.size > 1:
            _take(lock, fcntl.LOCK_SH, folder)
        yield


def _take(lock: IO[str], kind: int, folder: Path) -> None:
    import fcntl

    try:
        fcntl.flock(lock, kind)
    except BlockingIOError as error:
        raise RunBusy(
            f"Another process writes vectors to {folder}. Wait until it ends, stop it, or choose another folder."
        ) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise NotWritable(
                f"{folder} cannot be locked: {error.strerror or error}. {embedding_folder.ROOM}"
            ) from error
