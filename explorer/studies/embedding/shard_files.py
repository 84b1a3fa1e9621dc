"""Write vectors as parquet files, check them, and merge them into one file.

A file has the number of each row, its sentence if asked for, and a column of vectors for each layer & pooling. Its
bytes depend on the vectors and the release of pyarrow alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.vectors.manifest import ABOUT, KEY, MERGED, ROW, TEXT, Manifest, opened, shard_path
from explorer.errors import BadChoice, RunError
from explorer.progress import Progress, Work
from explorer.studies.embedding.corpus import Shard

Vectors = NDArray[np.float32]  # (row, width)


def write(folder: Path, manifest: Manifest, shard: Shard, texts: Sequence[str], vectors: Sequence[Vectors]) -> None:
    """Write a shard atomically."""
    columns = _columns(manifest, shard, texts, vectors)
    with opened(shard_path(folder, shard.number)) as file:
        _write(file, manifest, columns)


def written(manifest: Manifest, shard: Shard, texts: Sequence[str], vectors: Sequence[Vectors]) -> int:
    """The bytes that a shard of these vectors has, without writing it."""
    import io

    _write(file := io.BytesIO(), manifest, _columns(manifest, shard, texts, vectors))
    return len(file.getvalue())


def is_whole(path: Path, manifest: Manifest, rows: int) -> bool:
    """Whether a file has a readable footer, and as many rows of this embedding as it should."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        footer = pq.read_metadata(path)
    except (OSError, pa.ArrowException, ValueError):
        return False
    return footer.num_rows == rows and (footer.metadata or {}).get(KEY) == manifest.key.encode()


def merge(folder: Path, manifest: Manifest) -> Work[Path]:
    """Join all shards into one file, of which one shard at a time is in memory; nothing if there is such a file."""
    path = folder / MERGED
    if is_whole(path, manifest, manifest.rows):
        return path
    with opened(path) as file, _writer(file, manifest) as writer:
        for number in range(manifest.shards):
            yield Progress("merging shards", number, manifest.shards)
            writer.write_table(_read(shard_path(folder, number), manifest), row_group_size=manifest.rows_per_shard)
    return path


def _read(path: Path, manifest: Manifest) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, page_checksum_verification=True)
        reason = "" if table.schema.equals(_schema(manifest)) else "it has other columns"
    except (OSError, pa.ArrowException, ValueError) as error:
        reason = str(error).partition("\n")[0][:200]
    if reason:
        raise RunError(f"{path} is damaged ({reason}). Delete it, and start the same command again.")
    return table


def _write(file: IO[bytes], manifest: Manifest, columns: Any) -> None:
    with _writer(file, manifest) as writer:
        writer.write_table(columns, row_group_size=manifest.rows_per_shard)


def _writer(file: IO[bytes], manifest: Manifest) -> Any:
    import pyarrow.parquet as pq

    # the bytes of floats, sorted by their place, take 16 % less room; statistics of single floats help nobody
    split = {f"{column.title}.list.element": "BYTE_STREAM_SPLIT" for column in manifest.vectors}
    return pq.ParquetWriter(
        file,
        _schema(manifest),
        compression="zstd",
        use_dictionary=False,
        column_encoding=split,
        write_statistics=[ROW],
        write_page_checksum=True,
    )


def _schema(manifest: Manifest) -> Any:
    import pyarrow as pa

    number = pa.float16() if manifest.dtype == "float16" else pa.float32()
    about = json.dumps(manifest.settings | {"model": manifest.model}, sort_keys=True, ensure_ascii=False)
    return pa.schema(
        [
            pa.field(ROW, pa.int64(), nullable=False),
            *([pa.field(TEXT, pa.string(), nullable=False)] if manifest.with_text else []),
            *(pa.field(column.title, pa.list_(number, column.width)) for column in manifest.vectors),
        ],
        metadata={KEY: manifest.key.encode(), ABOUT: about.encode("utf-8", "surrogatepass")},
    )


def _columns(manifest: Manifest, shard: Shard, texts: Sequence[str], vectors: Sequence[Vectors]) -> Any:
    import pyarrow as pa

    columns = [pa.array(np.arange(shard.start, shard.start + len(texts), dtype=np.int64))]
    if manifest.with_text:
        columns.append(pa.array(texts, pa.string()))
    for column, values in zip(manifest.vectors, vectors, strict=True):
        flat = pa.array(_stored(values, manifest.dtype, column.title).reshape(-1))
        columns.append(pa.FixedSizeListArray.from_arrays(flat, column.width))
    return pa.Table.from_arrays(columns, schema=_schema(manifest))


def _stored(values: Vectors, dtype: str, title: str) -> NDArray[np.floating[Any]]:
    if dtype != "float16":
        return values
    largest, most = float(np.abs(values).max(initial=0)), float(np.finfo(np.float16).max)
    if largest > most:
        raise BadChoice(
            f"'{title}' has the number {largest:,.0f}; float16 holds at most {most:,.0f}. Use --dtype float32."
        )
    return values.astype(np.float16)
