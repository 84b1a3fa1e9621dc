"""Score a model without a transformer: a file of word vectors, such as GloVe's, shared words alone, or BM25.

BM25 is a search by words, which an encoder has to beat. As in MTEB's baseline of that name: words of two characters or
more, lower-cased, without the English stop words of bm25s, as stems of the English Snowball stemmer; BM25 in Lucene's
form, with k1 = 1.5 and b = 0.75. A document that shares no word with a query is not found.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from explorer.data import sources
from explorer.data.graded.sets import SetKind
from explorer.data.retrieval_sets import RetrievalSet
from explorer.data.text_sets import digest_of
from explorer.encoding.locate import lookup
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import BadChoice, DataError
from explorer.evaluating.encoded import TaskCost
from explorer.evaluating.results.result_files import ScoredModel, revision_of
from explorer.evaluating.results.scored_task import EVALUATED, RETRIEVAL, STS, Items, Measured, Options, Setting
from explorer.evaluating.tasks import Task
from explorer.evaluating.tasks.word_models import IN_BAG, SPLIT, BagOfWords, mean_word_vectors, word_scores
from explorer.measuring.neighbours.ranking_judge import DEPTH, MEASURES, measures
from explorer.measuring.scores.measure import Settings
from explorer.places import given_path
from explorer.progress import Progress, Work

K1, B = 1.5, 0.75
SETTING: dict[str, Setting] = {"k1": K1, "b": B, "form": "Lucene", "words": "stems, without English stop words"}
AT_ONCE = 256  # queries between two progress reports
BAG = "bag-of-words"  # the name of the model that compares shared words
BM25 = "bm25"  # the name of the search by words
_RULES = {BAG: [IN_BAG], BM25: [repr(SETTING)]}  # what decides the scores of a model without a file
ENDINGS = (".txt", ".gz", ".vec")  # of files of word vectors


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
            name, digest = self.source, digest_of([self.source, *_RULES[self.source]])
        else:
            path = given_path(self.source)
            name, digest = path.name, digest_of([SPLIT, lookup.file_digest(path)])
        return ScoredModel(name, revision_of(digest, None), digest)

    def unload(self) -> None:
        """Nothing: its vectors are read for each task."""

    def titles(self, task: Task[Any], options: Options) -> tuple[str, ...]:
        """The title of its only result; an error for a task that such a model cannot be scored on."""
        if self.source == BM25:
            if task.kind != RETRIEVAL:
                raise DataError(f"{BM25} is a search: it is scored on retrieval sets only, not on {task.name}.")
        elif task.kind != STS:
            raise DataError(f"{self.source} is scored on STS sets and files of scored pairs only, not on {task.name}.")
        return self.every_title

    def score(self, task: Task[Any], options: Options) -> Work[Measured]:
        """Score it on scored pairs, or BM25 on a retrieval set."""
        self.titles(task, options)
        if self.source == BM25:
            return (yield from bm25(task.data))
        path, sentences = given_path(self.source), task.texts
        model = BagOfWords() if self.source == BAG else (yield from mean_word_vectors(path, sentences))
        given = sources.identity(task.name)  # pairs that are no split of a published set are scored all
        return word_scores(model, task.data, given.piece or "test" if given.kind == SetKind.PUBLISHED else "all")

    def cost(self, task: Task[Any], options: Options) -> Work[TaskCost | None]:
        """Nothing to estimate: it has no transformer."""
        yield from ()
        return None


def is_word_model(source: str) -> bool:
    """Whether a model is named that has no transformer."""
    with suppress(BadChoice, OSError):
        return source in _RULES or (source.endswith(ENDINGS) and given_path(source).is_file())
    return False


def bm25(task: RetrievalSet) -> Work[Measured]:
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
            _rank(index.get_scores(known), places[query])
    of_query = measures(places, task.judgements)
    return Measured(
        split=task.split,
        titles=(MODEL_DEFAULT,),
        measures=MEASURES,
        table=100 * of_query.mean(axis=1)[None, :, None],
        setting={"documents": len(task.documents), "queries": len(task), **task.counts, **SETTING},
        items=Items(of_query[0], digest=task.digest),
        seconds=time.perf_counter() - started,
    )


def _rank(scores: NDArray[np.float32], places: NDArray[np.int64]) -> None:
    """The documents with the highest scores above 0; of equal ones the earlier first."""
    first = np.argsort(-scores, kind="stable")[: len(places)]
    found = first[scores[first] > 0]
    places[: len(found)] = found


def word_splitter() -> Callable[[Sequence[str]], list[list[str]]]:
    """Split texts into words; every different word is stemmed once."""
    from functools import cache

    import bm25s
    from nltk.stem.snowball import SnowballStemmer

    stem = cache(SnowballStemmer("english").stem)

    def words(texts: Sequence[str]) -> list[list[str]]:
        split: list[list[str]] = bm25s.tokenize(list(texts), stopwords="en", return_ids=False, show_progress=False)
        return [[stem(word) for word in text] for text in split]

    return words
