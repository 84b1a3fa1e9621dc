"""Open what a user names as vectors: a folder of `embed`, parquet, JSON, or .npy with its text, also several."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

import numpy as np

from explorer import places
from explorer.data.vectors import embedding_folder, json_lines, json_vectors, vector_files
from explorer.data.vectors.vector_files import Block, VectorFiles, damaged_shard
from explorer.errors import DataError, StrataError, UnreadableFile, WrongColumns
from explorer.places import Stamps, check_regular, given_path

NPY, PARQUET, JSON = ".npy", ".parquet", ".json"
ROLES = ("sentence", "vector")  # of columns


def is_vectors(source: str) -> bool:
    """Whether a source names vectors: a file with some, a folder that `embed` wrote, or one of such files."""
    with suppress(OSError, StrataError):  # the path of its manifest is too long, or its own cannot be looked up
        path = given_path(source)
        if path.suffix.lower() == NPY or (path / embedding_folder.NAME).is_file():
            return True
        if path.suffix.lower() in json_lines.ENDINGS and path.is_file():
            return json_lines.holds_vectors(path)
        if path.suffix.lower() == PARQUET and path.is_file():  # one of text alone is a table
            import pyarrow as pa
            import pyarrow.parquet as pq

            with suppress(pa.ArrowException, ValueError, OSError):
                return any(vector_files.is_vector(field.type) for field in pq.read_schema(path))
        return path.is_dir() and bool(_inside(path))
    return False


def stamps(source: str) -> Stamps:
    """A value that differs once one of the files of a source is another one, or is written to."""
    path = given_path(source)
    if not path.is_dir():
        return places.stamps([path, path.with_suffix(".txt")])
    shards = (path / embedding_folder.SHARDS).glob("*.parquet")
    return places.stamps([path / embedding_folder.NAME, *sorted((*path.iterdir(), *shards))])


def _inside(folder: Path) -> list[Path]:
    """The files of vectors in a folder, in the order of their names."""
    endings = {NPY, PARQUET, *json_lines.ENDINGS}  # first, since a page asks this of the folder of each model
    return sorted(
        path for path in folder.iterdir() if path.suffix.lower() in endings and path.is_file() and is_vectors(str(path))
    )


def opened(
    source: str | Path,
    text: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    title: str | None = None,
) -> VectorFiles:
    """The vectors of a source.

    `text` is the file of the sentences of a .npy or of the answer of an API, `columns` are names by role, and `title`
    is the layer & pooling whose vectors are taken of those that `embed` wrote.
    """
    path, ending = given_path(source), Path(source).suffix.lower()
    chosen = dict(columns or {})
    for role in chosen:
        if role not in ROLES:
            raise WrongColumns(f"Vectors have no role {role!r}; their roles are {' and '.join(ROLES)}.")
    if not path.exists():
        raise UnreadableFile(f"There is no {path}. Check the spelling, or give the full path.")
    if text is not None and ending not in (NPY, JSON):
        raise vector_files.own_sentences(path.name)
    if path.is_dir() and (path / embedding_folder.NAME).exists():
        return _of_embed(path, chosen, title)
    if path.is_dir() and (several := _inside(path)):
        return SeveralFiles(path.name, [opened(one, None, columns, title) for one in several])
    if ending in json_lines.ENDINGS:
        return json_lines.JsonLines(path, chosen.get("sentence"), chosen.get("vector"))
    if ending == JSON:
        lines = None if text is None else given_path(text)
        return json_vectors.JsonVectors(path, lines, chosen.get("sentence"), chosen.get("vector"))
    if ending == PARQUET:
        return vector_files.ParquetFiles(path.name, [path], chosen.get("sentence"), chosen.get("vector"), title)
    if ending != NPY:
        raise UnreadableFile(
            f"{path.name} is no file of vectors. Choose a folder that `embed` wrote, a {PARQUET} file with columns of "
            f"sentences and vectors, JSON with both ({JSON}, .jsonl), a {NPY} file or the {JSON} answer of an API with "
            "a .txt file of the same name, or a folder of such files."
        )
    if chosen:
        raise WrongColumns(f"{path.name} has no columns. Leave their names out.")
    return vector_files.NpyFile(path, given_path(text) if text is not None else None)


def _of_embed(folder: Path, columns: Mapping[str, str], title: str | None) -> VectorFiles:
    """The shards of an embedding, which has to be complete and to hold its sentences."""
    check_regular(folder / embedding_folder.NAME)
    manifest = embedding_folder.read_manifest(folder)
    assert manifest is not None, "it was there"
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
    found = vector_files.ParquetFiles(
        folder.name, paths, columns.get("sentence", embedding_folder.TEXT), columns.get("vector"), title
    )
    found.checksums = tuple(embedding_folder.stated_checksum(folder, path) for path in paths)
    return found


class SeveralFiles(VectorFiles):
    """Files of vectors of one width, one after the other."""

    def __init__(self, name: str, parts: Sequence[VectorFiles]) -> None:
        self.name, self._parts = name, tuple(parts)
        first, *others = self._parts
        for part in others:
            if part.width != first.width:
                raise DataError(
                    f"{name}: {first.name} has vectors of width {first.width:,}, and {part.name} of width "
                    f"{part.width:,}. Files of one encoder have the same width: put them into folders of their own."
                )
        self.files = tuple(chain.from_iterable(part.files for part in parts))
        self.columns = tuple(chain.from_iterable(part.columns for part in parts))
        self.dtype = np.result_type(*(part.dtype for part in parts))
        self.rows, self.width = sum(part.rows for part in parts), first.width
        self.text_bytes = sum(part.text_bytes for part in parts)

    def blocks(self) -> Iterator[Block]:
        """All rows in order."""
        return chain.from_iterable(part.blocks() for part in self._parts)
