"""Encode queries and documents once, and rank the documents of every query under each layer & pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from explorer.encoding.read.head_facts import RolePrompts
from explorer.evaluating.encoded import Encoded, encoded
from explorer.evaluating.measured import Setting
from explorer.measuring.neighbours.batch_search import FoundDocuments, batch_search, rankable
from explorer.measuring.neighbours.index_setting import IndexSetting
from explorer.measuring.scores.correlation import unit
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder


def ranked(
    encoder: Encoder,
    documents: Sequence[str],
    queries: Sequence[str],
    *,
    titles: Sequence[str],
    k: int,
    index: IndexSetting,
    max_length: int,
    prompts: RolePrompts,
    take: Callable[[str, FoundDocuments], None],
) -> Work[Encoded]:
    """Find the k documents with the highest cosine for every query; `take` gets a title and what was found.

    A prompt is put before every query and every document, in place of the model's. A layer & pooling under which all
    documents have the same vector, such as [CLS] of layer 0, has no ranking.
    """
    texts = *(prompts.document + text for text in documents), *(prompts.query + text for text in queries)
    encodings = yield from encoded(encoder, texts, max_length, titles, prompt="")
    for title in titles:
        vectors = unit(encodings.of(title))
        corpus, asked = vectors[: len(documents)], vectors[len(documents) :]
        if rankable(corpus, asked):
            take(title, (yield from batch_search(corpus, asked, k, index)))
    return encodings


def of_encoder(encoder: Encoder, limit: int) -> dict[str, Setting]:
    """What decides a ranking besides the texts, the prompts and the index."""
    return {"max length": limit, "precision": encoder.precision, "device": encoder.device}
