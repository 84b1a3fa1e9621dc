"""Export vectors as NumPy, Parquet, and files for the embedding projector."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

# a fixed time in the zip file, so that equal vectors give equal files
_WHEN = (1980, 1, 1, 0, 0, 0)


def as_npy(vectors: NDArray[np.float32]) -> bytes:
    """Vectors (sentence, width) for `numpy.load`."""
    file = io.BytesIO()
    np.save(file, vectors)
    return file.getvalue()


def as_parquet(
    sentences: Sequence[str], vectors: NDArray[np.float32], labels: Mapping[str, Sequence[object]] | None = None
) -> bytes:
    """A row for each sentence: the text, its labels if there are any, and its vector as a list."""
    import pyarrow as pa
    from pyarrow import parquet

    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel())
    columns = {
        "sentence": pa.array(list(sentences), pa.string()),
        **{name: pa.array(list(values)) for name, values in (labels or {}).items()},
        "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
    }
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def as_projector(
    sentences: Sequence[str], vectors: NDArray[np.float32], labels: Mapping[str, Sequence[object]] | None = None
) -> bytes:
    """A zip of vectors.tsv and metadata.tsv, as projector.tensorflow.org loads them.

    Its metadata has a header only with more than one column.
    """
    columns: dict[str, Sequence[object]] = {"sentence": sentences, **(labels or {})}
    rows = list(zip(*columns.values(), strict=True))
    lines = [*[tuple(columns)] * (len(columns) > 1), *rows]
    # nine digits represent any float32 exactly
    numbers = "".join("\t".join(f"{number:.9g}" for number in vector) + "\n" for vector in vectors.tolist())
    metadata = "".join("\t".join(map(_cell, line)) + "\n" for line in lines)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (("vectors.tsv", numbers), ("metadata.tsv", metadata)):
            archive.writestr(zipfile.ZipInfo(name, _WHEN), text.encode("utf-8"), zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _cell(value: object) -> str:
    """A text as one line and one cell; an empty one becomes "-", since empty lines are skipped."""
    if value is None:
        return "-"
    return " ".join(str(value).split()) or "-"
