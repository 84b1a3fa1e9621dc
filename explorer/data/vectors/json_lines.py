"""Read vectors from JSON lines, each with a sentence and its vector."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from explorer import typed_json
from explorer.data.vectors import vector_files
from explorer.data.vectors.vector_files import (
    TEXT_NAMES,
    VECTOR_NAMES,
    Block,
    VectorFiles,
    check_shape,
    chosen,
    closed,
)
from explorer.errors import DataError, UnreadableFile
from explorer.places import check_regular

ENDINGS = (".jsonl", ".ndjson")
LONGEST = 2**24  # bytes of a line: a vector of the greatest width takes a tenth


class _Line(NamedTuple):
    number: int  # from 1
    content: dict[str, Any]


class JsonLines(VectorFiles):
    """A JSON object in each line, with a sentence and a list of numbers under names that are usual, given, or alone."""

    def __init__(self, path: Path, text: str | None = None, vectors: str | None = None) -> None:
        self.name, self.files = path.name, (path,)
        first = next(_lines(path), None)
        if first is None:
            raise UnreadableFile(f"{path.name} is empty. Write an object with a sentence and its vector in each line.")
        texts = [name for name, value in first.content.items() if isinstance(value, str)]
        lists = [name for name, value in first.content.items() if is_vector(value)]
        self._text = chosen(path.name, "text", "sentences", texts, text, TEXT_NAMES)
        self._vectors = chosen(path.name, "lists of floats", "vectors", lists, vectors, VECTOR_NAMES)
        self.columns = self._text, self._vectors
        self.dtype = np.dtype(np.float64)
        self.rows, self.width = sum(1 for _ in _raw_lines(path)), len(first.content[self._vectors])
        self.text_bytes = path.stat().st_size
        check_shape(self.name, (self.rows, self.width), self.dtype)

    def blocks(self) -> Iterator[Block]:
        """All rows in order."""
        lines = _lines(self.files[0])
        while some := list(islice(lines, vector_files.AT_ONCE)):
            for number, content in some:
                self._check(number, content)
            vectors = np.array([content[self._vectors] for _, content in some], dtype=self.dtype)
            yield vectors, [content[self._text] for _, content in some]

    def _check(self, number: int, content: dict[str, Any]) -> None:
        text, vector = content.get(self._text), content.get(self._vectors)
        if not isinstance(text, str):
            raise DataError(f"Line {number:,} of {self.name} has no sentence: '{self._text}' is not text. Add it.")
        if not is_vector(vector) or len(vector) != self.width:
            found = f"{len(vector):,} numbers" if is_vector(vector) else "no list of numbers"
            raise DataError(
                f"Line {number:,} of {self.name} has {found} as '{self._vectors}'; the first line has "
                f"{self.width:,}. Every line needs a vector of the same width."
            )


def is_vector(value: object) -> TypeGuard[list[float]]:
    """Whether a value of JSON is a list of numbers; NaN is one, and is refused with its row."""
    return isinstance(value, list) and bool(value) and all(type(number) in (int, float) for number in value)


def holds_vectors(path: Path) -> bool:
    """Whether the first line of a file of JSON lines has a vector; damage in a later line is an error of reading."""
    try:
        first = next(_lines(path), None)
    except (DataError, OSError):
        return False
    return first is not None and any(is_vector(value) for value in first.content.values())


def _lines(path: Path) -> Iterator[_Line]:
    for number, line in _raw_lines(path):
        try:
            content = typed_json.parsed(line)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise UnreadableFile(
                f"Line {number:,} of {path.name} is not an object of JSON. Write one with a sentence and its vector, "
                'such as {"text": "It is far.", "embedding": [0.1, 0.2]}.'
            )
        yield _Line(number, content)


def _raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, with their numbers."""
    check_regular(path)
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST + 1):
                number += 1
                if len(line) > LONGEST:
                    raise UnreadableFile(
                        f"Line {number:,} of {path.name} has more than {LONGEST:,} bytes. Write one vector a line."
                    )
                if line.strip():
                    yield number, line
    except OSError as error:
        raise closed(path, error) from error
