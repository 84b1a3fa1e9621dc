"""Search results as values, tables, JSON and text: of a query under A and B, or in vectors on disk with an index."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data import retrieval_sets, text_sets
from explorer.data.vectors.vector_corpus import NAMED
from explorer.encoding.read.pooling import Reading
from explorer.errors import BadChoice
from explorer.in_words import Rows, rounded
from explorer.knobs import Knobs, knob
from explorer.measuring.neighbours.rankings import TOP, measures
from explorer.measuring.neighbours.vector_index import FLAT, HNSW, IVF, Hits, Index, Overlap
from explorer.measuring.neighbours.vector_search import NEAREST, IndexFacts, VectorSearch
from explorer.measuring.sentences.sentence_vectors import check_finite, of_reading
from explorer.progress import finish

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder

Sides = Sequence[tuple["Found", Reading]]  # what encoded the query: A, or A and B
KEPT, LOST, GAINED = "kept", "lost", "gained"
SIZES = (5, 10, 20, 50)
CHANGED = 10  # most and least changed sentences to print in a terminal


@dataclass(frozen=True)
class SearchedText(Knobs):
    """What is searched, and by which encoders."""

    corpus: str | None = knob(
        None, metavar="FILE|NAME", empty="the sample", help="A file, or a set such as 'STS-B dev'."
    )
    model: tuple[str, ...] = knob(
        (),
        metavar="MODEL",
        empty="the bundled one",
        repeated=True,
        help="An encoder, A: a name, a folder, a hub id, or run:NAME; given twice, the second is B.",
    )


@dataclass(frozen=True)
class SearchOptions(Knobs):
    """How many results a search has, and how the corpus is read."""

    k: int = knob(10, low=1, help="Number of results.")
    whole: bool = knob(
        False, help="Also use every sentence of the corpus as a query: Jaccard@k (0 to 1, 1: same neighbours)."
    )
    windows: bool = knob(
        False,
        excludes=("whole",),
        help="Read texts of the corpus that are longer than the maximum length in overlapping windows: the one that is "
        "most similar to the query counts, and is printed.",
    )


@dataclass(frozen=True)
class FoundSentence:
    """A result on one side."""

    place: int  # in the corpus
    rank: int
    cosine: float
    elsewhere: int | None  # its rank on the other side; None without another side
    mark: str  # kept, lost or gained; "" without another side
    window: str = ""  # the window of a long passage that is nearest to the query; "" if it is the whole text


@dataclass(frozen=True, eq=False)
class SearchSide:
    """A corpus under one layer & pooling, and a query: a sentence of it by position, or the vector of another."""

    index: Index
    query: NDArray[np.float32] | int


@dataclass(frozen=True)
class SearchResults:
    """The results of A, and of B if there is one."""

    one: tuple[FoundSentence, ...]
    other: tuple[FoundSentence, ...] | None = None

    @property
    def kept(self) -> int:
        """How many results A and B have in common."""
        return sum(one.mark == KEPT for one in self.one)

    @property
    def jaccard(self) -> float:
        """Jaccard index: results of both divided by results of either; NaN without any."""
        either = len(self.one) + len(self.other or ()) - self.kept
        return self.kept / either if either else float("nan")


def scored(side: SearchSide, relevant: retrieval_sets.Judged) -> tuple[float, tuple[int, ...]]:
    """The nDCG@10 of a side on a query, from 0 to 1, and the ranks of the relevant documents, the best first.

    `relevant` has the grades of relevant documents by their position.
    """
    found = side.index.found(side.query, TOP).places
    ranks = side.index.ranks(np.array(list(relevant)), side.query)
    return float(measures(found[None], [relevant])[0, 0]), tuple(sorted(ranks))


def checked_query(query: str) -> str:
    """Normalise the spaces of a query as in a corpus; refuse an empty one."""
    squeezed = " ".join(query.split())
    if not squeezed:
        raise BadChoice("The query is empty. Enter a sentence.")
    return squeezed


def place_of(query: str, sentences: Sequence[str]) -> int | None:
    """The position of a query in the corpus; None if absent."""
    return sentences.index(query) if query in sentences else None


def vector_of(encoder: Encoder, query: str, reading: Reading, max_length: int | None = None) -> NDArray[np.float32]:
    """The vector (width,) of a query; one that has no cosine with any other is refused."""
    vectors: NDArray[np.float32] = finish(of_reading(encoder, [query], reading, max_length))
    check_finite(encoder, [query], reading, vectors, max_length)
    if not vectors.any():
        raise BadChoice(
            f"'{encoder.name}' gives the query a zero vector under {reading.title}, which has no cosine. Choose "
            "another layer & pooling, or ask in other words."
        )
    vector: NDArray[np.float32] = vectors[0]
    return vector


def search(one: SearchSide, other: SearchSide | None, k: int) -> SearchResults:
    """The k nearest on each side, each with its rank on the other."""
    hits = one.index.found(one.query, k)
    if other is None:
        return SearchResults(_results(hits))
    other_hits = other.index.found(other.query, k)
    kept = {*hits.places.tolist()} & {*other_hits.places.tolist()}
    return SearchResults(_results(hits, other, kept, LOST), _results(other_hits, one, kept, GAINED))


def _results(
    hits: Hits, other: SearchSide | None = None, kept: Collection[int] = (), alone: str = ""
) -> tuple[FoundSentence, ...]:
    """Results with their ranks on the other side; `alone` is the mark of those it did not find."""
    places = hits.places.tolist()
    elsewhere = [None] * len(places) if other is None else other.index.ranks(hits.places, other.query)
    marks = [KEPT if place in kept else alone for place in places]
    found = zip(places, hits.cosines.tolist(), elsewhere, marks, hits.windows or [""] * len(places), strict=True)
    return tuple(FoundSentence(place, rank, *more) for rank, (place, *more) in enumerate(found, start=1))


def found_rows(results: Sequence[FoundSentence], sentences: Sequence[str], other: str) -> Rows:
    """A row for each result of a side; `other` names the other, "" where there is none."""
    in_windows = any(result.window for result in results)
    return [
        {
            "rank": result.rank,
            "cosine": round(result.cosine, 6),
            **({"mark": result.mark, f"rank in {other}": result.elsewhere} if other else {}),
            "sentence": sentences[result.place],
            **({"window": result.window or None} if in_windows else {}),
        }
        for result in results
    ]


def changed_rows(overlap: Overlap, sentences: Sequence[str], *, most_changed: bool, most: int | None = None) -> Rows:
    """A row for each sentence of the corpus, most or least changed first."""
    return [
        {
            "kept": int(overlap.kept[place]),
            "of": overlap.k,
            "jaccard": rounded(overlap.jaccard[place]),
            "sentence": sentences[place],
        }
        for place in overlap.order(most_changed=most_changed)[:most]
    ]


def as_json(
    query: str, searched: text_sets.Sentences, sides: Sides, findings: SearchResults, whole: Overlap | None, k: int
) -> str:
    """Everything as JSON, with query, corpus and models."""
    sentences, names = searched.texts, "AB"[: len(sides)]
    content: dict[str, object] = {
        "query": query,
        "corpus": searched.name,
        "corpus_digest": text_sets.digest_of(sentences),
        "sentences": len(sentences),
        "k": k,
    }
    both = findings.one, findings.other
    for at, (name, (found, reading), results) in enumerate(zip(names, sides, both, strict=False)):
        content[name] = {
            "model": found.name,
            "model_revision": found.revision,
            "model_digest": found.digest,
            "reading": reading.title,
            "results": found_rows(results or (), sentences, names[1 - at] if len(names) > 1 else ""),
        }
    if findings.other is not None:
        content |= {"kept": findings.kept, "jaccard": rounded(findings.jaccard)}
    if whole is not None:
        content["whole"] = {
            "mean_jaccard": rounded(whole.mean),
            "sentences_by_neighbours_kept": whole.counts().tolist(),
            "changed": changed_rows(whole, sentences, most_changed=True),
        }
    return json.dumps(content, indent=1, ensure_ascii=False)


def as_text(
    query: str, searched: text_sets.Sentences, sides: Sides, findings: SearchResults, whole: Overlap | None
) -> str:
    """Both lists as text for the terminal."""
    sentences = searched.texts
    lines = [searched.note, f"query: {query}"]
    for name, other, (found, reading), results in zip("AB", "BA", sides, (findings.one, findings.other), strict=False):
        lines += ["", f"{name}  {reading.title} of {found.name}"]
        for one in results or ():
            mark = mark_text(one, other)
            lines.append(
                f"{one.rank:>3}  {in_words.cosine(one.cosine, 3)}  {mark:<18}  "
                f"{f'… {one.window} …' if one.window else sentences[one.place]}".rstrip()
            )
    if findings.other is not None:
        lines += ["", f"kept {findings.kept} of {len(findings.one)}; Jaccard {in_words.number(findings.jaccard)}"]
    if whole is not None:
        lines += ["", f"over the whole corpus: mean Jaccard@{whole.k} {in_words.number(whole.mean)}"]
        for most, title in ((True, "most changed"), (False, "least changed")):
            lines.append(f"{title}:")
            rows = changed_rows(whole, sentences, most_changed=most, most=CHANGED)
            lines += [f"{row['kept']:>4} of {row['of']} kept  {row['sentence']}" for row in rows]
    return "\n".join(lines)


def mark_text(result: FoundSentence, other: str) -> str:
    """`kept · 3 in B`, `lost · 37 in B`: the mark, and the rank on the other side; "" without another side."""
    return f"{result.mark} · {result.elsewhere:,} in {other}" if result.mark else ""


def hit_rows(search: VectorSearch, hits: Hits) -> Rows:
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
        f"Recall@{NEAREST} {facts.recall:.3f}: it finds {in_words.percent(facts.recall, 1)} of the "
        f"{NEAREST} nearest, measured on "
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


def answer_as_json(
    query: str, search: VectorSearch, hits: Hits, seconds: float, by: tuple[Found, Reading] | int, k: int
) -> str:
    """Everything as JSON; the query was encoded `by` a model, or is a row of the corpus."""
    corpus, facts = search.corpus, search.facts
    setting = facts.setting
    effort: dict[str, dict[str, object]] = {
        FLAT: {},
        IVF: {"lists": setting.nlist, "lists_searched": setting.nprobe},
        HNSW: {"links": setting.links, "candidates": setting.ef},
    }
    content: dict[str, object] = {
        "query": query,
        "vectors": corpus.name,
        "vectors_digest": corpus.digest,
        "sentences": len(corpus),
        "width": corpus.width,
        "zero_vectors": len(corpus.zero),  # left out, as those of these rows
        "zero_rows": corpus.zero[:NAMED].tolist(),
        "k": k,
        "index": {
            "kind": "exact" if facts.exact else setting.kind,
            **effort[setting.kind],
            "bytes": corpus.vectors.nbytes if facts.exact else facts.bytes,
            "build_seconds": round(facts.seconds, 1),
            f"recall_at_{NEAREST}": 1.0 if facts.exact else rounded(facts.recall),
            "recall_measured_on": facts.queries,
        },
        "milliseconds": round(1000 * seconds, 2),
    }
    if isinstance(by, int):
        content["query_row"] = by
    else:
        found, reading = by
        content |= {"model": found.name, "model_digest": found.digest, "reading": reading.title}
    return json.dumps(content | {"results": hit_rows(search, hits)}, indent=1, ensure_ascii=False)


def answer_as_text(
    query: str, search: VectorSearch, hits: Hits, seconds: float, by: tuple[Found, Reading] | int
) -> str:
    """The list as text for the terminal; the query was encoded `by` a model, or is a row of the corpus."""
    how = (
        f"row {by:,} of the corpus; it is left out of what is found"
        if isinstance(by, int)
        else f"{by[1].title} of {by[0].name}"
    )
    lines = [search.corpus.note, index_text(search.facts)]
    lines += [cost_text(search.facts, search.corpus.vectors.nbytes, seconds), f"query: {query} ({how})", ""]
    found = hit_rows(search, hits)
    return "\n".join([*lines, *(_hit_text(row) for row in found)])


def _hit_text(row: dict[str, object]) -> str:
    return f"{row['rank']:>3}  {in_words.cosine(float(str(row['cosine'])), 3)}  {row['sentence']}".rstrip()
