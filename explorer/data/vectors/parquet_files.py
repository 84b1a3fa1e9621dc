"""Vectors and sentences in columns of parquet files, read a part of a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from explorer import typed_json
from explorer.data.tables.regular_files import check_regular
from explorer.data.vectors.manifest import ABOUT
from explorer.data.vectors.vector_files import AT_ONCE, Block, Numbers, VectorFiles, VectorOrigin, check_shape
from explorer.errors import DataError, UnreadableFile, WrongColumns

TEXTS = ("text", "sentence")  # usual names, tried in this order
VECTORS = ("model default", "vector", "embedding", "embeddings")
LISTED = 12  # columns that an error names


class ParquetFiles(VectorFiles):
    """Files with the same columns, one after the other; columns that are not named are recognised."""

    def __init__(
        self,
        name: str,
        paths: Sequence[Path],
        text: str | None = None,
        vectors: str | None = None,
        title: str | None = None,
    ) -> None:
        import pyarrow as pa

        self.name, self.files = name, tuple(paths)
        schema = _opened(paths[0]).schema_arrow
        try:
            stated = typed_json.parsed((schema.metadata or {}).get(ABOUT, b"null"))
        except ValueError:
            stated = None
        self.origin = typed_json.read(VectorOrigin, stated)
        if self.origin is not None:  # `embed` names columns of vectors by their layer & pooling
            vectors = vectors or title
        kinds = {field.name: field.type for field in schema}
        texts = [column for column, kind in kinds.items() if _is_text(kind)]
        lists = [column for column, kind in kinds.items() if is_vector(kind)]
        self._text = _chosen(name, "text", "sentences", texts, text, TEXTS)
        self._vectors = _chosen(name, "lists of floats", "vectors", lists, vectors, VECTORS)
        self.columns = self._text, self._vectors
        kind = kinds[self._vectors]
        self.dtype = np.dtype(kind.value_type.to_pandas_dtype())
        self.rows = sum(_opened(path).metadata.num_rows for path in paths)
        self.width = kind.list_size if pa.types.is_fixed_size_list(kind) else self._first_width()
        check_shape(name, (self.rows, self.width), self.dtype)
        self.title = self._vectors if self.origin else None

    def blocks(self) -> Iterator[Block]:
        """All rows in order."""
        import pyarrow as pa

        row = 0
        for path in self.files:
            try:
                for batch in _opened(path).iter_batches(AT_ONCE, columns=list(self.columns)):
                    vectors = self._values(batch.column(self._vectors), row)
                    texts = [" ".join((text or "").split()) for text in batch.column(self._text).to_pylist()]
                    row += len(texts)
                    yield Block(vectors, texts)
            except KeyError:
                raise WrongColumns(
                    f"{path.name} lacks '{self._text}' or '{self._vectors}', which {self.files[0].name} has. All files "
                    "need the same columns."
                ) from None
            except (OSError, ValueError, pa.ArrowException) as error:
                raise _damaged(path, error) from None

    def _values(self, column: Any, row: int) -> Numbers:
        """The vectors of a column; one that is missing or of another width is an error."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_fixed_size_list(column.type):
            widths = np.where(column.is_valid().to_numpy(zero_copy_only=False), self.width, -1)
        else:
            widths = pc.fill_null(pc.list_value_length(column), -1).to_numpy(zero_copy_only=False)
        (others,) = np.nonzero(widths != self.width)
        if len(others):
            width = int(widths[others[0]])
            told = "no vector" if width < 0 else f"a vector of width {width:,}; that of row 0 is {self.width:,}"
            raise DataError(
                f"Row {row + int(others[0]):,} of {self.name} has {told}. Every row of '{self._vectors}' needs a "
                "vector of the same width."
            )
        numbers = column.flatten().to_numpy(zero_copy_only=False)  # a missing number becomes NaN
        return np.asarray(numbers, dtype=self.dtype).reshape(len(column), self.width)

    def _first_width(self) -> int:
        import pyarrow as pa

        for path in self.files:
            try:
                for batch in _opened(path).iter_batches(1, columns=[self._vectors]):
                    return len(batch.column(0)[0].as_py() or ())
            except (OSError, ValueError, pa.ArrowException) as error:
                raise _damaged(path, error) from None
        return 0


def _opened(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_regular(path)
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)  # `embed` writes the checksums
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _damaged(path, error) from None


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    found = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found))


def is_vector(kind: Any) -> bool:
    """Whether a column of this type holds vectors: lists of floats."""
    import pyarrow as pa

    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(lists and pa.types.is_floating(kind.value_type))


def _chosen(name: str, kind: str, what: str, there: Sequence[str], asked: str | None, usual: Sequence[str]) -> str:
    """The column that is asked for; else the one with a usual name, or the only one."""
    listed = ", ".join(f"'{one}'" for one in there[:LISTED]) or "none"
    if asked is not None and asked not in there:
        raise WrongColumns(f"{name} has no column '{asked}' of {kind} for the {what}. Columns of {kind}: {listed}.")
    found = asked or next((one for one in usual if one in there), there[0] if len(there) == 1 else None)
    if found is None:
        step = "Rename the right one to" if there else "Add one, named"
        raise WrongColumns(
            f"{name} has {len(there)} columns of {kind} that could hold the {what}: {listed}. {step} '{usual[-1]}'; "
            "`search` takes its name with --column."
        )
    return found


def _damaged(path: Path, error: Exception) -> UnreadableFile:
    reason = str(error).partition("\n")[0][:200]
    return UnreadableFile(f"{path.name} is not a readable Parquet file ({reason}). Write it again.")
