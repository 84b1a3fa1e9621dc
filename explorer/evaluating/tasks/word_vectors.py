"""Read word vectors, such as GloVe's, and compare sentences by the means of them.

Word vectors are read from a text file line by line; only those of wanted words are kept. A line is `word v1 … vn`, as
in GloVe's files; a first line with the numbers of words and dimensions, as in word2vec's text format, is recognised.
The file may be compressed (.gz). If a word is in the file twice, its first vector counts.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import string
import zlib
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.errors import UnreadableFile
from explorer.evaluating.results.scored_task import Setting
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

Floats = NDArray[np.float64]

MOST_BYTES = 2**30  # of the vectors that are kept
LONGEST = 2**20  # bytes of a line; a longer one is not text
EVERY = 20_000  # lines between two progress reports
EXPECTED = "Expected: a word and its numbers, separated by spaces, such as `the 0.418 0.24968 …`"
# the rule of sentence-transformers, whose paper the GloVe rows of the three papers come from
SPLIT = (
    "between spaces; as written, else without the punctuation around it, else lower-cased; English stop words left out"
)
ENDINGS = (".txt", ".gz", ".vec")  # of files of word vectors


def forms_of(text: str) -> set[str]:
    """Every form in which a word of a text may be looked up, by the rule `SPLIT`."""
    written = text.split()
    stripped = [word.strip(string.punctuation) for word in written]
    return {*written, *stripped, *(word.lower() for word in stripped)}


@dataclass(frozen=True, eq=False)
class WordVectors:
    """The vectors (word, width) of some words, such as GloVe's; a sentence is the mean of those of its known words."""

    name: str  # of the file
    place: dict[str, int]  # of a word in `vectors`
    vectors: NDArray[np.float32]
    digest: str  # of the whole file, decompressed
    words_in_file: int

    @property
    def width(self) -> int:
        """The number of dimensions."""
        return int(self.vectors.shape[1])

    @property
    def setting(self) -> Mapping[str, Setting]:
        """The rule for words, and the vectors."""
        return {"words": SPLIT, "vectors": self.name, "width": self.width, "digest": self.digest}

    @cached_property
    def _tokenizer(self) -> WhitespaceTokenizer:
        from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

        return WhitespaceTokenizer(self.place)

    def _places(self, sentence: str) -> list[int]:
        """The places of the known words; sorted, so that sentences of the same words are equal to the last bit."""
        return sorted(self._tokenizer.tokenize(sentence))

    def knows(self, sentence: str) -> bool:
        """Whether any word of a sentence has a vector."""
        return bool(self._places(sentence))

    def means(self, sentences: Sequence[str]) -> Floats:
        """Vectors (sentence, width); 0 for a sentence without a known word."""
        found = np.zeros((len(sentences), self.width))
        for at, sentence in enumerate(sentences):
            if places := self._places(sentence):
                found[at] = self.vectors[places].astype(np.float64).mean(axis=0)
        return found

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """Cosines of the means, as 1 - d²/2 of the normalised vectors: equal ones have exactly 1."""
        one, other = self.means(first), self.means(second)
        lengths, of_other = (np.linalg.norm(vectors, axis=1) for vectors in (one, other))
        known = (lengths > 0) & (of_other > 0)
        apart = one[known] / lengths[known, None] - other[known] / of_other[known, None]
        found = np.zeros(len(first))
        found[known] = 1 - np.vecdot(apart, apart) / 2
        return found


def read_word_vectors(path: str | Path, wanted: Collection[str], most_bytes: int = MOST_BYTES) -> Work[WordVectors]:
    """Read the vectors of the wanted words; the others are checked for their length only."""
    path = Path(path)
    kept = _KeptVectors(path.name, frozenset(word.encode() for word in wanted), most_bytes)
    try:
        size = path.stat().st_size
        with ExitStack() as opened:
            raw = opened.enter_context(path.open("rb"))
            lines = opened.enter_context(gzip.open(raw)) if path.suffix.lower() == ".gz" else raw
            for number, line in enumerate(iter(lambda: lines.readline(LONGEST), b""), start=1):
                if number % EVERY == 1:
                    yield Progress("reading word vectors", raw.tell(), size, "bytes")
                kept.take(number, line)
    except (FileNotFoundError, IsADirectoryError, ValueError):  # ValueError: a null byte in the name
        raise UnreadableFile(f"There is no file {path}. Give the path of a file of word vectors.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UnreadableFile(f"{path.name} is no whole gzip file ({error}). Download it again.") from None
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror}. Check its permissions.") from None
    return kept.result()


class _KeptVectors:
    """The vectors of the wanted words, as far as a file was read."""

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
        fields = line.split()
        if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
            self._announced, self.width = map(int, fields)
            return
        word, _, values = line.partition(b" ")
        if not self.width:
            self.width = len(fields) - 1
            self._numbers(number, fields[1:])
        self._count += 1
        if values.count(b" ") + 1 != self.width:
            word, values = self._uneven(number, fields)
        if word not in self._wanted or word in self._kept:
            return
        needed = 4 * self.width * (len(self._kept) + 1)
        if needed > self._most_bytes:
            raise UnreadableFile(
                f"{self.name}: the vectors of the {len(self._kept) + 1:,} words found up to line {number:,} take "
                f"{in_words.size(needed)}; at most {in_words.size(self._most_bytes)} are allowed. "
                "Choose vectors with fewer dimensions, or a shorter text."
            )
        self._kept[word] = np.array(self._numbers(number, values.split()), dtype=np.float32)

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

    def _uneven(self, number: int, fields: list[bytes]) -> tuple[bytes, bytes]:
        """The word and its numbers in a line with another number of spaces: a word with spaces, or a damaged line."""
        word, *values = fields
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


def _is_number(value: bytes) -> bool:
    try:
        return math.isfinite(float(value))
    except ValueError:
        return False


def _shown(field: bytes) -> str:
    return repr(field[:40].decode("utf-8", "replace"))
