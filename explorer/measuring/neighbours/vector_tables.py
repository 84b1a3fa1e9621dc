"""Results of a search of vectors on disk as tables, JSON and text, with what its index costs and misses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.data.vectors.vector_corpus import NAMED
from explorer.encoding.read.readings import Reading
from explorer.in_words import Rows, rounded
from explorer.measuring.neighbours.vector_index import FLAT, HNSW, IVF, Hits
from explorer.measuring.neighbours.vector_search import NEAREST, IndexFacts, VectorSearch

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found


@dataclass(frozen=True, eq=False)
class Answer:
    """A query and what was found."""

    query: str
    k: int
    search: VectorSearch
    hits: Hits
    seconds: float  # of the search
    by: tuple[Found, Reading] | None  # what encoded the query; None if it is a sentence of the corpus
    place: int | None  # of the query in the corpus


def rows(search: VectorSearch, hits: Hits) -> Rows:
    """A row for each result."""
    found = zip(hits.places.tolist(), hits.cosines.tolist(), search.corpus.texts(hits.places.tolist()), strict=True)
    return [
        {"rank": rank, "cosine": round(cosine, 6), "row": place, "sentence": text}
        for rank, (place, cosine, text) in enumerate(found, start=1)
    ]


def index_text(facts: IndexFacts) -> str:
    """The index in words, with the neighbours that it misses."""
    setting = facts.setting
    if facts.exact:
        return "Exact: every vector is compared."
    kinds = {
        IVF: f"IVF: {setting.nprobe:,} of {setting.nlist:,} lists are searched",
        HNSW: f"HNSW: {setting.links} links for each vector, {setting.ef} candidates",
    }
    recall = (
        f"Recall@{NEAREST} {facts.recall:.3f}: it finds {facts.recall:.1%} of the {NEAREST} nearest, measured on "
        f"{facts.queries:,} vectors of the corpus."
        if facts.recall is not None
        else "The corpus is too small to measure its recall."
    )
    return f"{kinds[setting.kind]}. {recall}"


def cost_text(facts: IndexFacts, vectors: int, seconds: float) -> str:
    """Time and bytes in words; `vectors` are the bytes that are searched without an index."""
    size = (
        f"{in_words.size(vectors)} of vectors"
        if facts.exact
        else f"an index of {in_words.size(facts.bytes)}, built in {in_words.duration(facts.seconds)}"
    )
    return f"{1000 * seconds:.1f} ms for this query; {size}."


def as_json(answer: Answer) -> str:
    """Everything as JSON."""
    corpus, facts = answer.search.corpus, answer.search.facts
    setting = facts.setting
    effort: dict[str, dict[str, object]] = {
        FLAT: {},
        IVF: {"lists": setting.nlist, "lists_searched": setting.nprobe},
        HNSW: {"links": setting.links, "candidates": setting.ef},
    }
    content: dict[str, object] = {
        "query": answer.query,
        "vectors": corpus.name,
        "vectors_digest": corpus.digest,
        "sentences": len(corpus),
        "width": corpus.width,
        "zero_vectors": len(corpus.zero),  # left out, as those of these rows
        "zero_rows": corpus.zero[:NAMED].tolist(),
        "k": answer.k,
        "index": {
            "kind": "exact" if facts.exact else setting.kind,
            **effort[setting.kind],
            "bytes": corpus.vectors.nbytes if facts.exact else facts.bytes,
            "build_seconds": round(facts.seconds, 1),
            f"recall_at_{NEAREST}": 1.0 if facts.exact else rounded(facts.recall),
            "recall_measured_on": facts.queries,
        },
        "milliseconds": round(1000 * answer.seconds, 2),
    }
    if answer.by is not None:
        found, reading = answer.by
        content |= {"model": found.name, "model_digest": found.digest, "reading": reading.title}
    else:
        content["query_row"] = answer.place
    return json.dumps(content | {"results": rows(answer.search, answer.hits)}, indent=1, ensure_ascii=False)


def as_text(answer: Answer) -> str:
    """The list as text for the terminal."""
    corpus, facts = answer.search.corpus, answer.search.facts
    how = (
        f"row {answer.place:,} of the corpus; it is left out of what is found"
        if answer.by is None
        else f"{answer.by[1].title} of {answer.by[0].name}"
    )
    lines = [corpus.note, index_text(facts), cost_text(facts, corpus.vectors.nbytes, answer.seconds)]
    lines += [f"query: {answer.query} ({how})", ""]
    found = rows(answer.search, answer.hits)
    return "\n".join([*lines, *(f"{row['rank']:>3}  {row['cosine']:.3f}  {row['sentence']}".rstrip() for row in found)])
