"""Score models without a transformer: the mean of word vectors (GloVe), shared words, and BM25.

The first two are baselines of the papers on STS sets: the mean of GloVe vectors is in Table 1 of Kim et al. 2021, the
cosine of binary bags of words is the baseline of SemEval's STS tasks (Agirre et al. 2012, Cer et al. 2017).

BM25 is a search by words, which an encoder has to beat. As in MTEB's baseline of that name: words of two characters or
more, lower-cased, without the English stop words of bm25s, as stems of the English Snowball stemmer; BM25 in Lucene's
form, with k1 = 1.5 and b = 0.75. A document that shares no word with a query is not found.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from explorer.data import retrieval_sets, sources, text_sets
from explorer.data.graded.sets import SetKind
from explorer.encoding.locate import lookup
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import BadChoice, DataError
from explorer.evaluating import encoded, tasks
from explorer.evaluating.results import scored_task
from explorer.evaluating.results.result_files import ScoredModel, revision_of
from explorer.evaluating.results.scored_task import (
    EVALUATED,
    PAIR_CLASSIFICATION,
    RETRIEVAL,
    STS,
    Items,
    Measured,
    Options,
    Setting,
)
from explorer.evaluating.tasks.word_vectors import ENDINGS, SPLIT, WordVectors, forms_of, read_word_vectors
from explorer.measuring.neighbours.rankings import DEPTH, MEASURES, measures
from explorer.measuring.scores.bootstrap import mean_ends
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.metrics import agreement, measures_of
from explorer.places import given_path
from explorer.progress import Progress, Work

Floats = NDArray[np.float64]

# of the baseline of SemEval-2017's STS task; with it the published correlations come out to 0.1
IN_BAG = "lower-cased; words and punctuation marks"
_IN_BAG = re.compile(r"\w+|[^\w\s]")
K1, B = 1.5, 0.75
SETTING: dict[str, Setting] = {"k1": K1, "b": B, "form": "Lucene", "words": "stems, without English stop words"}
AT_ONCE = 256  # queries between two progress reports
BAG = "bag-of-words"  # the name of the model that compares shared words
BM25 = "bm25"  # the name of the search by words
_RULES = {BAG: [IN_BAG], BM25: [repr(SETTING)]}  # what decides the scores of a model without a file


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
        elif task.kind not in (STS, PAIR_CLASSIFICATION):
            raise DataError(
                f"{self.source} is scored on STS sets, pair classification and files of scored pairs only, not on "
                f"{task.name}."
            )
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
        of_split = task.kind == PAIR_CLASSIFICATION or (given.kind == SetKind.PUBLISHED and not given.items)
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
