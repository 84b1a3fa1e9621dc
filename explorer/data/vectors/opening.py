"""Open vectors with their sentences: a folder of `embed`, a parquet file, or a .npy file with its text."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from explorer.data.vectors import embedding_folder
from explorer.data.vectors.vector_files import NpyFile, ParquetFiles, VectorFiles, damaged_shard, is_vector
from explorer.errors import DataError, StrataError, UnreadableFile, WrongColumns
from explorer.places import check_regular, given_path

NPY, PARQUET = ".npy", ".parquet"
ROLES = ("sentence", "vector")  # of columns


def is_vectors(source: str) -> bool:
    """Whether a source names vectors: a file by its ending, or a folder that `embed` wrote."""
    with suppress(OSError, StrataError):  # the path of its manifest is too long, or its own cannot be looked up
        path = given_path(source)
        return path.suffix.lower() == NPY or (path / embedding_folder.NAME).is_file() or _is_parquet_of_vectors(path)
    return False


def opened(
    source: str | Path,
    text: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    title: str | None = None,
) -> VectorFiles:
    """The vectors of a source.

    `text` is the file of the sentences of a .npy, `columns` are names by role, and `title` is the layer & pooling
    whose vectors are taken of those that `embed` wrote.
    """
    path, ending = given_path(source), Path(source).suffix.lower()
    chosen = dict(columns or {})
    for role in chosen:
        if role not in ROLES:
            raise WrongColumns(f"Vectors have no role {role!r}; their roles are {' and '.join(ROLES)}.")
    if not path.exists():
        raise UnreadableFile(f"There is no {path}. Check the spelling, or give the full path.")
    if text is not None and ending != NPY:
        raise DataError(f"{path.name} holds its own sentences, so a text file cannot be given. Leave it out.")
    if path.is_dir():
        return _of_embed(path, chosen, title)
    if ending == PARQUET:
        return ParquetFiles(path.name, [path], chosen.get("sentence"), chosen.get("vector"), title)
    if ending != NPY:
        raise UnreadableFile(
            f"{path.name} is no file of vectors. Choose a folder that `embed` wrote, a {PARQUET} file with columns of "
            f"sentences and vectors, or a {NPY} file with a .txt file of the same name."
        )
    if chosen:
        raise WrongColumns(f"{path.name} has no columns. Leave their names out.")
    return NpyFile(path, given_path(text) if text is not None else None)


def _of_embed(folder: Path, columns: Mapping[str, str], title: str | None) -> VectorFiles:
    """The shards of an embedding, which has to be complete and to hold its sentences."""
    check_regular(folder / embedding_folder.NAME)
    manifest = embedding_folder.read_manifest(folder) if (folder / embedding_folder.NAME).is_file() else None
    if manifest is None:
        raise UnreadableFile(
            f"{folder} has no {embedding_folder.NAME}, so `embed` did not write it. Choose its folder --out, or a file."
        )
    there = embedding_folder.shards_in(folder)
    lost = next((number for number in range(manifest.shards) if number not in there), None)
    if lost is not None:
        count = manifest.shards - sum(number < manifest.shards for number in there)
        raise DataError(
            f"{folder.name} lacks {count:,} of {manifest.shards:,} shards, such as "
            f"{embedding_folder.shard_path(folder, lost).name}. Start the same `embed` command again: it embeds the "
            "rest."
        )
    if not manifest.with_text:
        raise DataError(
            f"{folder.name} was embedded without its sentences. Embed the text again with --with-text into another "
            "folder."
        )
    paths = [embedding_folder.shard_path(folder, number) for number in range(manifest.shards)]
    for number, path in enumerate(paths):
        if not embedding_folder.has_rows(path, manifest, *manifest.range_of(number)):
            raise damaged_shard(
                path.name, folder.name, f"does not have the rows that its {embedding_folder.NAME} states"
            )
    found = ParquetFiles(
        folder.name, paths, columns.get("sentence", embedding_folder.TEXT), columns.get("vector"), title
    )
    found.checksums = tuple(embedding_folder.stated_checksum(folder, path) for path in paths)
    return found


def _is_parquet_of_vectors(path: Path) -> bool:
    """Whether a parquet file has a column of vectors; one of text alone is a table."""
    if path.suffix.lower() != PARQUET or not path.is_file():
        return False
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(pa.ArrowException, ValueError, OSError):
        return any(is_vector(field.type) for field in pq.read_schema(path))
    return False
