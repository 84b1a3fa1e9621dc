"""Read vectors from one JSON document: rows with a sentence each, or the answer of an API with a text file."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer import in_words, typed_json
from explorer.data.tables import files, text_files
from explorer.data.vectors import vector_files
from explorer.data.vectors.json_lines import is_vector
from explorer.data.vectors.vector_files import TEXT_NAMES, VECTOR_NAMES, Block, VectorFiles, chosen, closed
from explorer.errors import DataError, UnreadableFile
from explorer.places import check_regular

INSIDE = ("data", "embeddings", "vectors", "float")  # names under which answers of APIs hold their rows
NO_TEXT = ("object", "id", "model", "type")  # texts in a row of an API that are no sentence
INDEX = "index"  # of a row: its place, in answers that may be in any order


class JsonVectors(VectorFiles):
    """The vectors of a JSON document, in memory: lists of numbers, or little-endian float32 as base64.

    The document is a list of vectors or of objects with one, or an object that holds such a list, as embedding APIs
    answer. Rows with an `index` are put in its order. Sentences are in the objects, or in a text file.
    """

    def __init__(
        self, path: Path, text: Path | None = None, sentence: str | None = None, vector: str | None = None
    ) -> None:
        self.name = path.name
        rows = _in_order(path.name, _rows(path.name, _document(path)))
        first = rows[0]
        texts: list[str] = []
        if isinstance(first, Mapping):
            coded = [name for name in VECTOR_NAMES if _decoded(first.get(name)) is not None]
            lists = [name for name, value in first.items() if is_vector(value)] or coded
            of_vectors = chosen(path.name, "lists of numbers", "vectors", lists, vector, VECTOR_NAMES)
            texts = [name for name, value in first.items() if isinstance(value, str) and name not in (*NO_TEXT, *coded)]
            self.columns = (of_vectors,)
            numbers = [row.get(of_vectors) if isinstance(row, Mapping) else None for row in rows]
        else:
            numbers = rows
        self._vectors = self._stacked(numbers)
        if texts or sentence is not None:
            if text is not None:
                raise vector_files.own_sentences(path.name)
            of_text = chosen(path.name, "text", "sentences", texts, sentence, TEXT_NAMES)
            self.columns, self.files, self._text = (of_text, *self.columns), (path,), None
            self._sentences = [self._sentence(place, row, of_text) for place, row in enumerate(rows)]
        else:
            self._text = vector_files.text_of(path, text)
            self.files, self._sentences = (path, self._text), []
        (self.rows, self.width), self.dtype = self._vectors.shape, self._vectors.dtype
        self.text_bytes = sum(file.stat().st_size for file in self.files)
        vector_files.check_shape(self.name, self._vectors.shape, self.dtype)

    def blocks(self) -> Iterator[Block]:
        """All rows in order; an error if a text file has more lines or fewer."""
        given = iter(self._sentences) if self._text is None else (one for _, one in text_files.sentences(self._text))
        for start in range(0, self.rows, vector_files.AT_ONCE):
            vectors = self._vectors[start : start + vector_files.AT_ONCE]
            texts = list(islice(given, len(vectors)))
            if len(texts) < len(vectors):
                raise self._other_count(start + len(texts))
            yield vectors, texts
        if more := sum(1 for _ in given):
            raise self._other_count(self.rows + more)

    def _other_count(self, lines: int) -> DataError:
        assert self._text is not None, "each row of objects has its sentence"
        return vector_files.other_count(self.name, self.rows, self._text, lines)

    def _stacked(self, rows: list[Any]) -> NDArray[np.float64]:
        """The vectors of the rows (row, width); an error that names a row without one, or with another width."""
        vectors = [row if is_vector(row) else _decoded(row) for row in rows]
        width = len(vectors[0] or ()) if vectors else 0
        for place, vector in enumerate(vectors):
            if not vector or len(vector) != width:
                count = f"{len(vector):,} numbers; the first row has {width:,}" if vector else "no list of numbers"
                raise DataError(
                    f"Row {place:,} of {self.name} has {count}. Every row needs a vector of the same width, as a list "
                    "of numbers or as float32 in base64."
                )
        return np.array(vectors, dtype=np.float64)

    def _sentence(self, place: int, row: Any, name: str) -> str:
        text = row.get(name)
        if not isinstance(text, str):
            raise DataError(f"Row {place:,} of {self.name} has no sentence: '{name}' is not text. Add it.")
        return text


def _document(path: Path) -> Any:
    """What the file holds."""
    check_regular(path)
    try:
        size = path.stat().st_size
        if size > files.LARGEST:
            raise UnreadableFile(
                f"{path.name} has {in_words.size(size)}; at most {in_words.size(files.LARGEST)} of JSON are read at "
                "once. Write the vectors as .npy with a text file, as .parquet, or as .jsonl."
            )
        return typed_json.parsed(path.read_bytes())
    except OSError as error:
        raise closed(path, error) from error
    except ValueError as error:
        reason = str(error).partition("\n")[0][:120]
        raise UnreadableFile(f"{path.name} is not readable JSON ({reason}). Write it again with json.dump.") from None


def _rows(name: str, content: Any) -> list[Any]:
    """The list of rows in a document, which an answer of an API holds under one of some names."""
    while isinstance(content, Mapping):
        content = next((content[inner] for inner in INSIDE if isinstance(content.get(inner), (list, Mapping))), None)
    if not isinstance(content, list) or not content:
        what = "an empty list" if content == [] else "no list of vectors"
        raise DataError(
            f"{name} holds {what}. Write a list of vectors, of objects such as "
            '{"text": "It is far.", "embedding": [0.1, 0.2]}, or the answer of an embedding API: '
            '{"data": [{"index": 0, "embedding": [0.1, 0.2]}]}.'
        )
    return content


def _in_order(name: str, rows: list[Any]) -> list[Any]:
    """The rows in the order of their index, if they have one."""
    if not all(isinstance(row, Mapping) and type(row.get(INDEX)) is int for row in rows):
        return rows
    places = [row[INDEX] for row in rows]
    if sorted(places) != list(range(len(rows))):
        wrong = next(place for place, number in enumerate(sorted(places)) if place != number)
        raise DataError(
            f"{name} has {len(rows):,} rows, and their index is not 0 to {len(rows) - 1:,}, each once: {wrong:,} is "
            "missing or twice. Join the answers of several requests with a new index for each row, or leave it out."
        )
    return sorted(rows, key=lambda row: row[INDEX])


def _decoded(value: Any) -> list[float] | None:
    """The numbers of a vector in base64; None if it is none."""
    if not isinstance(value, str):
        return None
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    numbers: list[float] = np.frombuffer(data, dtype="<f4").tolist() if len(data) % 4 == 0 else []
    return numbers or None
