"""Score every layer & pooling on a retrieval set: how high an encoder ranks the documents relevant to a query.

The 100 documents with the highest cosine are ranked by an exact search. Scores are means over queries × 100.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.data.retrieval.retrieval_set import RetrievalSet
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.encoded import checked_titles
from explorer.evaluating.measured import Items, Measured
from explorer.evaluating.tasks.ranking_measures import DEPTH, MEASURES, measures
from explorer.evaluating.tasks.rankings import ranked
from explorer.measuring.neighbours.batch_search import Found, IndexSetting
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder


def retrieval(
    encoder: Encoder, task: RetrievalSet, *, titles: Sequence[str] | None = None, max_length: int | None = None
) -> Work[Measured]:
    """Rank the documents under some layers & poolings, by default all, from one encoding.

    The items are the nDCG@10 of each query under the model default.
    """
    started = time.perf_counter()
    kept, limit = checked_titles(encoder, titles), encoder.limit(max_length)
    of_query = np.full((len(kept), len(MEASURES), len(task)), np.nan)

    def take(title: str, found: Found) -> None:
        of_query[kept.index(title)] = measures(found.places, task.judgements)

    texts = task.documents, task.queries
    encodings = yield from ranked(
        encoder, *texts, titles=kept, k=DEPTH, index=IndexSetting(), max_length=limit, take=take
    )
    return Measured(
        task=task.name,
        split=task.split,
        titles=kept,
        measures=MEASURES,
        table=100 * of_query.mean(axis=2, keepdims=True),
        setting={
            "documents": len(task.documents),
            "queries": len(task),
            "queries without a relevant document (excluded)": task.report.unjudged,
            "relevant documents per query": round(sum(map(len, task.judgements)) / len(task), 2),
            "distinct texts truncated": encodings.truncated,
            "index": "flat",
            "max length": limit,
            "precision": encoder.precision,
            "device": encoder.device,
        },
        items=Items(of_query[kept.index(MODEL_DEFAULT), 0], digest=task.digest),
        seconds=time.perf_counter() - started,
    )
