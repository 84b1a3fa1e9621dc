"""search: the sentences nearest to a query, under one encoder or two.

Find the sentences of a corpus with the highest cosine to a query. With two encoders, each result shows its rank under
the other, and whether it was kept, lost or gained.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from explorer.commands.parts import flags
from explorer.commands.parts.output import ProgressLine
from explorer.errors import BadChoice, ModelError
from explorer.knobs import Knob
from explorer.measuring.neighbours.vector_index import FLAT, HNSW, IVF
from explorer.measuring.scores.measure import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from explorer.data.vectors.vector_corpus import VectorCorpus
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.pooling import Reading
    from explorer.measuring.neighbours.query_results import SearchSide
    from explorer.measuring.neighbours.vector_index import Hits
    from explorer.measuring.neighbours.vector_search import VectorSearch

FLAGS = (
    Knob("corpus", None, "A file, or a set such as 'STS-B dev'.", metavar="FILE|NAME", empty="the sample"),
    Knob(
        "model",
        (),
        "An encoder, A; given twice, the second is B.",
        metavar="MODEL",
        empty="the bundled one",
        repeated=True,
    ),
    *flags.READINGS,
    Knob("k", 10, "Number of results.", low=1),
    Knob(
        "whole",
        False,
        "Also use every sentence of the corpus as a query: Jaccard@k (0 to 1, 1: same neighbours).",
    ),
)
EXACT = "exact"
INDEXES = {EXACT: FLAT, IVF: IVF, HNSW: HNSW}
VECTOR_FLAGS = (
    Knob(
        "vectors",
        None,
        "Search vectors on disk instead of a text: a folder of `embed --with-text`, a .parquet file with columns of "
        "sentences and vectors, or a .npy file. The model and the layer & pooling of a folder are those it states.",
        metavar="FOLDER|FILE",
        excludes=("corpus", "other_reading", "whole"),
    ),
    Knob(
        "text",
        None,
        "The sentences of a .npy, one a line.",
        metavar="FILE",
        empty="its name with .txt",
        needs="vectors",
    ),
    replace(flags.COLUMN, help="Of a .parquet file, the column that has a role: sentence, vector.", needs="vectors"),
    Knob(
        "index",
        None,
        "Of --vectors: search all, inverted lists, or a graph.",
        choices=tuple(INDEXES),
        empty=f"{EXACT} up to 200,000, then ivf",
        needs="vectors",
    ),
)


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("query", metavar="QUERY", help="A sentence; a sentence of the corpus does not find itself")
    flags.add(verb, *FLAGS, *VECTOR_FLAGS, *Settings.knobs.values(), flags.ONLINE)
    verb.add_argument("--json", action="store_true", help="Everything, as JSON")


def run(options: argparse.Namespace) -> None:
    """Search, and print the sentences."""
    from explorer.data.search_corpus import of_source
    from explorer.encoding.locate import lookup
    from explorer.encoding.locate.model_names import find
    from explorer.measuring.neighbours.query_results import SearchRequest, as_json, as_text, asked, search
    from explorer.measuring.neighbours.vector_index import overlap
    from explorer.progress import finish

    _check(options, *FLAGS)
    if options.vectors:
        print(_of_vectors(options))
        return
    query, models = asked(options.query), options.model or [lookup.BUNDLED]
    if len(models) > 2:
        raise BadChoice(f"--model was given {len(models)} times. Give it once for A, twice for A and B.")
    if options.whole and len(models) == 1:
        raise BadChoice(
            "--whole compares two encoders, but only one was named. Give --model twice, or leave --whole out."
        )
    searched = of_source(options.corpus or "sample", online=options.online)
    found = [find(name, online=options.online) for name in models]
    titles = (options.reading, options.other_reading or options.reading)
    with ProgressLine() as line:
        sides = [
            _side(one, query, searched.texts, title, options, line) for one, title in zip(found, titles, strict=False)
        ]
        one, other = sides[0][0], sides[1][0] if len(sides) > 1 else None
        findings = search(one, other, options.k)
        whole = finish(overlap(one.index, other.index, options.k), line.tell) if options.whole and other else None
    text = SearchRequest(
        query, options.k, searched, tuple((at, side[1]) for at, side in zip(found, sides, strict=True))
    )
    print((as_json if options.json else as_text)(text, findings, whole))


def _side(
    found: Found,
    query: str,
    sentences: tuple[str, ...],
    title: str | None,
    options: argparse.Namespace,
    line: ProgressLine,
) -> tuple[SearchSide, Reading]:
    """Encode the corpus and the query with one encoder."""
    from explorer.encoding.load.declared import named
    from explorer.measuring.neighbours.query_results import SearchSide, place_of, vector_of
    from explorer.measuring.neighbours.vector_index import Index
    from explorer.measuring.scores.measure import load_encoder
    from explorer.measuring.sentences import sentence_vectors
    from explorer.progress import finish

    encoder = load_encoder(found, flags.read(options, Settings))
    reading = named(title, found.folder)
    vectors = finish(sentence_vectors.of_reading(encoder, sentences, reading, options.max_length), line.tell)
    place = place_of(query, sentences)
    asked = vector_of(encoder, query, reading, options.max_length) if place is None else place
    return SearchSide(Index(vectors), asked), reading


def _check(options: argparse.Namespace, *others: Knob) -> None:
    """Refuse flags that have no effect together."""
    flags.check(options, *VECTOR_FLAGS, *others)
    if options.vectors and len(options.model) > 1:
        raise BadChoice(f"--model was given {len(options.model)} times. One encoder made the vectors: give it once.")


def _of_vectors(options: argparse.Namespace) -> str:
    """The sentences nearest to the query, and what the search cost, as text or JSON."""
    from explorer.data.vectors.vector_corpus import opened, prepared
    from explorer.measuring.neighbours.query_results import Answer, answer_as_json, answer_as_text, asked
    from explorer.measuring.neighbours.vector_search import searchable
    from explorer.progress import finish

    query = asked(options.query)
    columns = flags.roles(options)
    files = opened(options.vectors, options.text, columns, options.reading)
    with ProgressLine(logged=10) as line:
        found = finish(prepared(files), line.tell)
        search = finish(searchable(found, INDEXES.get(options.index or "")), line.tell)
        place = found.place_of(query)
        by = _encoder(found, options) if place is None else None
        wanted = _vector(query, by, found, options) if by is not None else place
    assert wanted is not None, "it is a row, or an encoder is named"
    hits, seconds = _timed(search, wanted, options.k)
    text = Answer(query, options.k, search, hits, seconds, by, place)
    return (answer_as_json if options.json else answer_as_text)(text)


def _timed(search: VectorSearch, query: NDArray[np.float32] | int, k: int) -> tuple[Hits, float]:
    """The results, and the seconds of a search after one that has read the files."""
    for _ in range(2):
        started = time.perf_counter()
        hits = search.found(query, k)
    return hits, time.perf_counter() - started


def _encoder(found: VectorCorpus, options: argparse.Namespace) -> tuple[Found, Reading]:
    """The encoder of the query: that which is named, or that which made the vectors."""
    from explorer.encoding.load.declared import named
    from explorer.encoding.locate.model_names import find

    origin = found.origin
    if not options.model and origin is None:
        raise BadChoice(
            f"No sentence of {found.name} is the query, and nothing says which encoder made its vectors. Name the "
            "encoder with --model (and --reading), or ask for a sentence of the corpus."
        )
    name = options.model[0] if options.model else origin.model if origin else ""
    try:
        model = find(name, online=options.online)
    except ModelError as error:
        if options.model:
            raise
        raise BadChoice(f"{found.name} was made by '{name}'. {error} Or name its folder with --model.") from error
    if origin is not None and model.digest != origin.model_digest:
        raise BadChoice(
            f"{found.name} was made by '{origin.model}' with other weights than '{model.name}' has here. Name the "
            "model that made it with --model, or embed the text again."
        )
    return model, named(found.title if origin else options.reading, model.folder)


def _vector(
    query: str, by: tuple[Found, Reading], found: VectorCorpus, options: argparse.Namespace
) -> NDArray[np.float32]:
    from explorer.measuring.neighbours.query_results import vector_of
    from explorer.measuring.scores.measure import load_encoder

    longest = options.max_length or (found.origin.max_length if found.origin else None)
    encoder = load_encoder(by[0], flags.read(options, Settings))
    return vector_of(encoder, query, by[1], longest)
