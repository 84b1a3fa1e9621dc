"""Score BM25 on a retrieval set: a search by words, which an encoder has to beat.

As in MTEB's baseline of that name: words of two characters or more, lower-cased, without the English stop words of
bm25s, as stems of the English Snowball stemmer; BM25 in Lucene's form, with k1 = 1.5 and b = 0.75. A document that
shares no word with a query is not found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from explorer.data.retrieval.retrieval_set import RetrievalSet
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.measured import Items, Measured, Setting
from explorer.measuring.neighbours.ranking_measures import DEPTH, MEASURES, measures
from explorer.progress import Progress, Work

K1, B = 1.5, 0.75
SETTING: dict[str, Setting] = {"k1": K1, "b": B, "form": "Lucene", "words": "stems, without English stop words"}
AT_ONCE = 256  # queries between two progress reports


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
        setting={"documents": len(task.documents), "queries": len(task), **task.report.counts, **SETTING},
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
