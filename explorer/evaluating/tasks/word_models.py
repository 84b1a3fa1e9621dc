"""Score models without a transformer: the mean of word vectors (GloVe), shared words, and BM25.

The first two are baselines of the papers on STS sets: the mean of GloVe vectors is in Table 1 of Kim et al. 2021, the
cosine of binary bags of words is the baseline of SemEval's STS tasks (Agirre et al. 2012, Cer et al. 2017).

Word vectors are read from a text file line by line; only those of wanted words are kept. A line is `word v1 … vn`, as
in GloVe's files; a first line with the numbers of words and dimensions, as in word2vec's text format, is recognised.
The file may be compressed (.gz). If a word is in the file twice, its first vector counts.

BM25 is a search by words, which an encoder has to beat. As in MTEB's baseline of that name: words of two characters or
more, lower-cased, without the English stop words of bm25s, as stems of the English Snowball stemmer; BM25 in Lucene's
form, with k1 = 1.5 and b = 0.75. A document that shares no word with a query is not found.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import re
import string
import time
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data import retrieval_sets, sources, text_sets
from explorer.data.graded.sets import SetKind
from explorer.encoding.locate import lookup
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import BadChoice, DataError, UnreadableFile
from explorer.evaluating import encoded, tasks
from explorer.evaluating.results import scored_task
from explorer.evaluating.results.result_files import ScoredModel, revision_of
from explorer.evaluating.results.scored_task import EVALUATED, RETRIEVAL, STS, Items, Measured, Options, Setting
from explorer.measuring.neighbours.rankings import DEPTH, MEASURES, measures
from explorer.measuring.scores.bootstrap import mean_ends
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.metrics import agreement, measures_of
from explorer.places import given_path
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
K1, B = 1.5, 0.75
SETTING: dict[str, Setting] = {"k1": K1, "b": B, "form": "Lucene", "words": "stems, without English stop words"}
AT_ONCE = 256  # queries between two progress reports
BAG = "bag-of-words"  # the name of the model that compares shared words
BM25 = "bm25"  # the name of the search by words
_RULES = {BAG: [IN_BAG], BM25: [repr(SETTING)]}  # what decides the scores of a model without a file
ENDINGS = (".txt", ".gz", ".vec")  # of files of word vectors


def forms_of(text: str) -> set[str]:
    """Every form in which a word of a text may be looked up, by the rule `SPLIT`."""
    written = text.split()
    stripped = [word.strip(string.punctuation) for word in written]
    return {*written, *stripped, *(word.lower() for word in stripped)}


def _bag(text: str) -> set[str]:
    """The words of a text, by the rule `IN_BAG`."""
    return set(_IN_BAG.findall(text.lower()))


class BagOfWords:
    """The cosine of binary vectors that have a 1 for every word of a sentence."""

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


WordModel = BagOfWords | WordVectors


def word_scores(model: WordModel, pairs: text_sets.GradedPairs, split: str = "all") -> Measured:
    """Score a set: every metric × 100 and, if it has sub-corpora, its mean and weighted mean over them."""
    started = time.perf_counter()
    cosines = model.cosines(pairs.first, pairs.second)
    gold = np.array(pairs.gold, dtype=np.float64)
    measures = measures_of(gold, pairs.parts)
    scores = [100 * agreement(gold, cosines, pairs.parts, *measure) for measure in measures.values()]
    return Measured(
        split=split,
        titles=(MODEL_DEFAULT,),
        measures=tuple(measures),
        table=np.array(scores, dtype=np.float64).reshape(1, -1, 1),
        setting={**model.setting, "sentences without a known word": [*map(model.knows, pairs.sentences)].count(False)},
        items=Items(cosines, gold, pairs.parts, pairs.digest),
        seconds=time.perf_counter() - started,
        ends=scored_task.agreement_ends(gold, cosines, pairs.parts),
    )


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


@dataclass(frozen=True)
class WordSubject:
    """A file of word vectors, the bag of words, or BM25."""

    source: str
    settings: Settings = EVALUATED  # of the other models in the table; they decide no score of this one

    every_title: ClassVar[tuple[str, ...]] = (MODEL_DEFAULT,)

    @property
    def scored(self) -> ScoredModel:
        """The model as its results name it, by the content of its file."""
        if self.source in _RULES:
            name, digest = self.source, text_sets.digest_of([self.source, *_RULES[self.source]])
        else:
            path = given_path(self.source)
            name, digest = path.name, text_sets.digest_of([SPLIT, lookup.file_digest(path)])
        return ScoredModel(name, revision_of(digest, None), digest)

    def unload(self) -> None:
        """Nothing: its vectors are read for each task."""

    def titles(self, task: tasks.Task[Any], options: Options) -> tuple[str, ...]:
        """The title of its only result; an error for a task that such a model cannot be scored on."""
        if self.source == BM25:
            if task.kind != RETRIEVAL:
                raise DataError(f"{BM25} is a search: it is scored on retrieval sets only, not on {task.name}.")
        elif task.kind != STS:
            raise DataError(f"{self.source} is scored on STS sets and files of scored pairs only, not on {task.name}.")
        return self.every_title

    def score(self, task: tasks.Task[Any], options: Options) -> Work[Measured]:
        """Score it on scored pairs, or BM25 on a retrieval set."""
        self.titles(task, options)
        if self.source == BM25:
            return (yield from bm25(task.data))
        forms = {form for sentence in task.texts for form in forms_of(sentence)}
        path = given_path(self.source)
        model = BagOfWords() if self.source == BAG else (yield from read_word_vectors(path, forms))
        given = sources.identity(task.name)  # pairs that are no split of a published set are scored all
        of_split = given.kind == SetKind.PUBLISHED and not given.items
        return word_scores(model, task.data, given.piece or "test" if of_split else "all")

    def cost(self, task: tasks.Task[Any], options: Options) -> Work[encoded.TaskCost | None]:
        """Nothing to estimate: it has no transformer."""
        yield from ()
        return None


def is_word_model(source: str) -> bool:
    """Whether a model is named that has no transformer."""
    with suppress(BadChoice, OSError):
        return source in _RULES or (source.endswith(ENDINGS) and given_path(source).is_file())
    return False


def bm25(task: retrieval_sets.RetrievalSet) -> Work[Measured]:
    """Rank the documents of every query by BM25."""
    import bm25s

    started = time.perf_counter()
    yield Progress("building the index", 0, 0)
    words = word_splitter()
    index = bm25s.BM25(method="lucene", k1=K1, b=B, backend="numpy")
    index.index(words(task.documents), show_progress=False)
    places = np.full((len(task), min(DEPTH, len(task.documents))), -1)
    for query, asked in enumerate(words(task.queries)):
        if query % AT_ONCE == 0:
            yield Progress("searching", query, len(task))
        known = [word for word in asked if word in index.vocab_dict]
        if known:
            scores = index.get_scores(known)
            # those above 0; of equal ones the earlier first
            first = np.argsort(-scores, kind="stable")[: places.shape[1]]
            first = first[scores[first] > 0]
            places[query, : len(first)] = first
    of_query = measures(places, task.judgements)
    return Measured(
        split=task.split,
        titles=(MODEL_DEFAULT,),
        measures=MEASURES,
        table=100 * of_query.mean(axis=1)[None, :, None],
        setting={"documents": len(task.documents), "queries": len(task), **task.counts, **SETTING},
        items=Items(of_query[0], digest=task.digest),
        seconds=time.perf_counter() - started,
        ends=scored_task.ends(zip(MEASURES, map(mean_ends, of_query), strict=True)),
    )


def word_splitter() -> Callable[[Sequence[str]], list[list[str]]]:
    """Split texts into words; every different word is stemmed once."""
    import bm25s
    from nltk.stem.snowball import SnowballStemmer

    stem = cache(SnowballStemmer("english").stem)

    def words(texts: Sequence[str]) -> list[list[str]]:
        split: list[list[str]] = bm25s.tokenize(list(texts), stopwords="en", return_ids=False, show_progress=False)
        return [[stem(word) for word in text] for text in split]

    return words
