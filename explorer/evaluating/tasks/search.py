"""Measure semantic search: the rank at which an encoder finds a duplicate of a question, the time and the memory.

The protocol is that of the layer-attention pooling paper (Oh et al. 2022, Table 3); see `question_pairs`. The 10
documents with the highest cosine are retrieved. A query scores the reciprocal rank of its first answer among them, 0 if
there is none; MRR@10 is the mean. A document with the text of the query that is not labelled as its duplicate is a
miss.

The columns of the table are "MRR@10" (× 100; higher is better), "ms per query" (milliseconds of a search of all queries
at once, divided by their number) and "index MB" (millions of bytes); of the last two lower is better.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.graded.question_pairs import Collection, QuestionPairs
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.encoded import checked_titles, encoded
from explorer.evaluating.measured import COSTS, Items, Measured, Setting
from explorer.measuring.neighbours.batch_search import FLAT, PER_LIST, IndexSetting, batch_search
from explorer.measuring.scores.correlation import SAME_VECTOR, unit
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Vectors = NDArray[np.float32]

MEASURES = ("MRR@10", *COSTS)
TOP = 10
LENGTH = 64  # tokens of a question
MEGABYTE = 1e6


def search(
    encoder: Encoder,
    questions: QuestionPairs,
    *,
    titles: Sequence[str] | None = None,
    index: str = FLAT,
    nlist: int = 1024,
    nprobe: int = 5,
    max_length: int = LENGTH,
) -> Work[Measured]:
    """Search with an encoder under some layers & poolings, by default the model default; one encoding serves all."""
    started = time.perf_counter()
    chosen = IndexSetting(index, nlist, nprobe)
    asked = checked_titles(encoder, titles or (MODEL_DEFAULT,))
    task = questions.collection
    used = chosen.adapted(len(task.documents))
    texts = task.texts
    limit = min(max_length, encoder.max_length)
    encodings = yield from encoded(encoder, texts, limit, asked)
    place = {text: at for at, text in enumerate(texts)}
    documents, queries = ([place[text] for text in side] for side in (task.documents, task.queries))
    table = np.full((len(asked), len(MEASURES), 1), np.nan)
    items, threads = None, None
    for row, title in enumerate(asked):
        vectors = unit(encodings.of(title))
        corpus = vectors[documents]
        # equal documents, such as [CLS] of layer 0, have no ranking
        if not np.isfinite(vectors).all() or np.ptp(corpus, axis=0).max() <= SAME_VECTOR:
            continue
        found = yield from batch_search(corpus, vectors[queries], TOP, used)
        values = reciprocal_ranks(found.places, task.gold)
        table[row, :, 0] = 100 * values.mean(), 1000 * found.seconds / len(queries), found.index_bytes / MEGABYTE
        threads = found.threads
        if title == MODEL_DEFAULT:
            items = Items(values, digest=task.digest)
    return Measured(
        task=questions.task,
        split=questions.split,
        titles=asked,
        measures=MEASURES,
        table=table,
        setting=_setting(questions, chosen, used) | _of_encoder(encoder, limit) | {"threads": threads},
        items=items,
        seconds=time.perf_counter() - started,
    )


def reciprocal_ranks(places: NDArray[np.int64], gold: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """1 / rank of the first answer among the results (query, result) of every query; 0 if there is none."""
    values = np.zeros(len(gold))
    for query, (found, answers) in enumerate(zip(places.tolist(), map(set, gold), strict=True)):
        rank = next((rank for rank, document in enumerate(found, start=1) if document in answers), None)
        values[query] = 0 if rank is None else 1 / rank
    return values


def _setting(questions: QuestionPairs, chosen: IndexSetting, used: IndexSetting) -> dict[str, Setting]:
    """What decides the scores next to the encoder: the text, how questions are the same, and the index."""
    task: Collection = questions.collection
    setting: dict[str, Setting] = {
        "documents": len(task.documents),
        "queries": len(task.queries),
        "queries without an answer (excluded)": task.without_gold,
        "question key": "id" if questions.ids else "text",
        "rows dropped": questions.dropped,
        "results per query": TOP,
        "index": used.kind,
    }
    if used.kind != FLAT:
        setting |= {"nlist": used.nlist, "nprobe": used.nprobe}
    if used.nlist != chosen.nlist:
        setting["adapted"] = (
            f"nlist is {used.nlist:,} instead of {chosen.nlist:,}: FAISS wants at least {PER_LIST} training vectors "
            f"per list, and there are {len(task.documents):,} documents"
        )
    return setting


def _of_encoder(encoder: Encoder, limit: int) -> dict[str, Setting]:
    return {"max length": limit, "precision": encoder.precision, "device": encoder.device}
