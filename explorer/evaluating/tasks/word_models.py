"""Score STS sets with models without a transformer: the mean of word vectors (GloVe), and shared words.

Both are baselines of the papers: the mean of GloVe vectors is in Table 1 of Kim et al. 2021, the cosine of binary
bags of words is the baseline of SemEval's STS tasks (Agirre et al. 2012, Cer et al. 2017).

Word vectors are read from a text file line by line; only those of wanted words are kept. A line is `word v1 … vn`, as
in GloVe's files; a first line with the numbers of words and dimensions, as in word2vec's text format, is recognised.
The file may be compressed (.gz). If a word is in the file twice, its first vector counts.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import re
import string
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import UnreadableFile
from explorer.evaluating.results.scored_task import Items, Measured, Setting
from explorer.measuring.scores.metrics import agreement, measures_of
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
# of the baseline of SemEval-2017's STS task; with it the published correlations come out to 0.1
IN_BAG = "lower-cased; words and punctuation marks"
_IN_BAG = re.compile(r"\w+|[^\w\s]")


def forms_of(text: str) -> set[str]:
    """Every form in which a word of a text may be looked up, by the rule `SPLIT`."""
    written = text.split()
    stripped = [word.strip(string.punctuation) for word in written]
    return {*written, *stripped, *(word.lower() for word in stripped)}


def _bag(text: str) -> set[str]:
    """The words of a text, by the rule `IN_BAG`."""
    return set(_IN_BAG.findall(text.lower()))


class WordModel(Protocol):
    """What scores need of a model."""

    @property
    def name(self) -> str:
        """The name in tables."""

    @property
    def setting(self) -> Mapping[str, Setting]:
        """What decides its scores."""

    def knows(self, sentence: str) -> bool:
        """Whether any word of a sentence is known."""

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """The cosine of the two sentences of every pair; 0 if one of them has no known word."""


class BagOfWords:
    """The cosine of binary vectors that have a 1 for every word of a sentence."""

    name = "binary bag of words"
    setting: Mapping[str, Setting] = {"words": IN_BAG}

    def knows(self, sentence: str) -> bool:
        """Whether a sentence has a word."""
        return bool(_bag(sentence))

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """The number of shared words, divided by the root of the product of both numbers of words."""
        found = np.zeros(len(first))
        for at, (one, other) in enumerate(zip(first, second, strict=True)):
            of_one, of_other = _bag(one), _bag(other)
            if of_one and of_other:
                found[at] = len(of_one & of_other) / np.sqrt(len(of_one) * len(of_other))
        return found


@dataclass(frozen=True, eq=False)
class MeanWordVectors:
    """The mean of the vectors of the known words of a sentence, such as GloVe's."""

    words: WordVectors

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"mean of {self.words.name}"

    @property
    def setting(self) -> Mapping[str, Setting]:
        """The rule for words, and the vectors."""
        return {"words": SPLIT, "vectors": self.words.name, "width": self.words.width, "digest": self.words.digest}

    @cached_property
    def _tokenizer(self) -> WhitespaceTokenizer:
        from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

        return WhitespaceTokenizer(self.words.place)

    def _places(self, sentence: str) -> list[int]:
        """The places of the known words; sorted, so that sentences of the same words are equal to the last bit."""
        return sorted(self._tokenizer.tokenize(sentence))

    def knows(self, sentence: str) -> bool:
        """Whether any word of a sentence has a vector."""
        return bool(self._places(sentence))

    def vectors(self, sentences: Sequence[str]) -> Floats:
        """Vectors (sentence, width); 0 for a sentence without a known word."""
        found = np.zeros((len(sentences), self.words.width))
        for at, sentence in enumerate(sentences):
            places = self._places(sentence)
            if places:
                found[at] = self.words.vectors[places].astype(np.float64).mean(axis=0)
        return found

    def cosines(self, first: Sequence[str], second: Sequence[str]) -> Floats:
        """Cosines of the means, as 1 - d²/2 of the normalised vectors: equal ones have exactly 1."""
        one, other = self.vectors(first), self.vectors(second)
        lengths, of_other = (np.linalg.norm(vectors, axis=1) for vectors in (one, other))
        known = (lengths > 0) & (of_other > 0)
        apart = one[known] / lengths[known, None] - other[known] / of_other[known, None]
        found = np.zeros(len(first))
        found[known] = 1 - np.vecdot(apart, apart) / 2
        return found


def mean_word_vectors(path: str | Path, sentences: Iterable[str]) -> Work[MeanWordVectors]:
    """Read the vectors of the words of some sentences from a file, such as glove.6B.300d.txt."""
    wanted = {form for sentence in sentences for form in forms_of(sentence)}
    return MeanWordVectors((yield from read_word_vectors(path, wanted)))


def word_scores(model: WordModel, pairs: GradedPairs, split: str = "all") -> Measured:
    """Score a set: every metric × 100 and, if it has sub-corpora, its mean and weighted mean over them."""
    started = time.perf_counter()
    cosines = model.cosines(pairs.first, pairs.second)
    gold = np.array(pairs.gold, dtype=np.float64)
    measures = measures_of(gold, pairs.parts)
    table = [100 * agreement(gold, cosines, pairs.parts, *measure) for measure in measures.values()]
    unknown = sum(not model.knows(sentence) for sentence in pairs.sentences)
    return Measured(
        split=split,
        titles=(MODEL_DEFAULT,),
        measures=tuple(measures),
        table=np.array(table, dtype=np.float64).reshape(1, -1, 1),
        setting={**model.setting, "sentences without a known word": unknown},
        items=Items(cosines, gold, pairs.parts, pairs.digest),
        seconds=time.perf_counter() - started,
    )


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
    kept = _KeptVectors(path.name, frozenset(word.encode() for word in wanted), most_bytes)
    try:
        size = path.stat().st_size
        with ExitStack() as opened:
            raw = opened.enter_context(path.open("rb"))
            lines = opened.enter_context(gzip.open(raw)) if path.suffix.lower() == ".gz" else raw
            for number, line in enumerate(_lines(lines), start=1):
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


def _lines(file: BufferedReader | gzip.GzipFile) -> Iterator[bytes]:
    """The lines of a file, in pieces if they are longer than a line can be."""
    return iter(lambda: file.readline(LONGEST), b"")


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
