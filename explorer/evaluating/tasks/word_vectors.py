"""Read word vectors from a text file, line by line; only the vectors of wanted words are kept.

A line is `word v1 … vn`, as in GloVe's files; a first line with the numbers of words and dimensions, as in word2vec's
text format, is recognised. The file may be compressed (.gz). If a word is in the file twice, its first vector counts.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.errors import UnreadableFile
from explorer.progress import Progress, Work

MOST_BYTES = 2**30  # of the vectors that are kept
LONGEST = 2**20  # bytes of a line; a longer one is not text
EVERY = 20_000  # lines between two progress reports
EXPECTED = "Expected: a word and its numbers, separated by spaces, such as `the 0.418 0.24968 …`"


@dataclass(frozen=True, eq=False)
class WordVectors:
    """The vectors (word, width) of some words."""

    name: str
    place: dict[str, int]  # of a word in `vectors`
    vectors: NDArray[np.float32]
    digest: str  # of the whole file, decompressed
    words_in_file: int

    @property
    def width(self) -> int:
        """The number of dimensions."""
        return int(self.vectors.shape[1])


def read_word_vectors(path: str | Path, wanted: Collection[str], most_bytes: int = MOST_BYTES) -> Work[WordVectors]:
    """Read the vectors of the wanted words; the others are checked for their length only."""
    path = Path(path)
    reading = _Reading(path.name, frozenset(word.encode() for word in wanted), most_bytes)
    try:
        size = path.stat().st_size
        with ExitStack() as opened:
            raw = opened.enter_context(path.open("rb"))
            lines = opened.enter_context(gzip.open(raw)) if path.suffix.lower() == ".gz" else raw
            for number, line in enumerate(_lines(lines), start=1):
                if number % EVERY == 1:
                    yield Progress("reading word vectors", raw.tell(), size, "bytes")
                reading.take(number, line)
    except (FileNotFoundError, IsADirectoryError, ValueError):  # ValueError: a null byte in the name
        raise UnreadableFile(f"There is no file {path}. Give the path of a file of word vectors.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UnreadableFile(f"{path.name} is no whole gzip file ({error}). Download it again.") from None
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror}. Check its permissions.") from None
    return reading.result()


def _lines(file: BufferedReader | gzip.GzipFile) -> Iterator[bytes]:
    """The lines of a file, in pieces if they are longer than a line can be."""
    return iter(lambda: file.readline(LONGEST), b"")


class _Reading:
    """What was read of a file so far."""

    def __init__(self, name: str, wanted: frozenset[bytes], most_bytes: int) -> None:
        self.name = name
        self.width = 0
        self._wanted = wanted
        self._most_bytes = most_bytes
        self._kept: dict[bytes, NDArray[np.float32]] = {}
        self._count = 0
        self._announced: int | None = None
        self._sha = hashlib.sha256()

    def take(self, number: int, line: bytes) -> None:
        """Check a line, and keep its vector if the word is wanted."""
        self._sha.update(line)
        line = line.rstrip()
        if not line:
            return
        if number == 1 and self._is_header(line):
            return
        word, _, values = line.partition(b" ")
        if not self.width:
            self.width = len(line.split()) - 1
            self._numbers(number, line.split()[1:])
        self._count += 1
        if values.count(b" ") + 1 != self.width:
            word, values = self._uneven(number, line)
        if word in self._wanted and word not in self._kept:
            self._keep(number, word, values)

    def result(self) -> WordVectors:
        """The vectors that were kept, if the file is whole."""
        if not self._count:
            raise UnreadableFile(f"{self.name} has no word vectors: it is empty. {EXPECTED}.")
        if self._announced not in (None, self._count):
            raise UnreadableFile(
                f"{self.name}: line 1 announces {self._announced:,} words, but there are {self._count:,}. "
                "The file may be truncated: download it again."
            )
        if not self._kept:
            raise UnreadableFile(
                f"None of the {len(self._wanted):,} words of the text is among the {self._count:,} of {self.name}. "
                "Choose word vectors of the language of the text."
            )
        place = {word.decode(): at for at, word in enumerate(self._kept)}
        vectors = np.array(list(self._kept.values()), dtype=np.float32)
        return WordVectors(self.name, place, vectors, self._sha.hexdigest(), self._count)

    def _is_header(self, line: bytes) -> bool:
        fields = line.split()
        if len(fields) != 2 or not all(field.isdigit() for field in fields):
            return False
        self._announced, self.width = int(fields[0]), int(fields[1])
        return True

    def _uneven(self, number: int, line: bytes) -> tuple[bytes, bytes]:
        """The word and its numbers in a line with another number of spaces: a word with spaces, or a damaged line."""
        word, *values = line.split()
        more = len(values) - self.width
        spaced = more > 0 and not any(map(_is_number, values[:more])) and all(map(_is_number, values[more:]))
        if more != 0 and not spaced:
            raise UnreadableFile(
                f"{self.name}, line {number:,} has {len(values):,} numbers after {_shown(word)}; expected: "
                f"{self.width:,}, as in the lines before. Remove the line, or download the file again. {EXPECTED}."
            )
        # no word of a text has a space
        return b" ".join((word, *values[:more])), b" ".join(values[more:])

    def _numbers(self, number: int, values: list[bytes]) -> list[float]:
        try:
            found = [float(value) for value in values]
        except ValueError:
            found = []
        if not found or not all(map(math.isfinite, found)):
            wrong = next((value for value in values if not _is_number(value)), b"")
            raise UnreadableFile(
                f"{self.name}, line {number:,} has {_shown(wrong)} where a finite number is expected. {EXPECTED}."
            )
        return found

    def _keep(self, number: int, word: bytes, values: bytes) -> None:
        needed = 4 * self.width * (len(self._kept) + 1)
        if needed > self._most_bytes:
            raise UnreadableFile(
                f"{self.name}: the vectors of the {len(self._kept) + 1:,} words found up to line {number:,} take "
                f"{in_words.size(needed)}; at most {in_words.size(self._most_bytes)} are allowed. "
                "Choose vectors with fewer dimensions, or a shorter text."
            )
        self._kept[word] = np.array(self._numbers(number, values.split()), dtype=np.float32)


def _is_number(value: bytes) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _shown(field: bytes) -> str:
    return repr(field[:40].decode("utf-8", "replace"))
