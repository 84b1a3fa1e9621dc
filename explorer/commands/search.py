"""search: the sentences nearest to a query, under one encoder or two.

Find the sentences of a corpus with the highest cosine to a query. With two encoders, each result shows its rank under
the other, and whether it was kept, lost or gained.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from explorer.commands.parts import flags, output
from explorer.data.corpora import of_source
from explorer.data.vectors.vector_corpus import VectorCorpus, opened, prepared
from explorer.encoding.load.declared import named
from explorer.encoding.locate import lookup
from explorer.encoding.locate.model_names import Found, find
from explorer.errors import BadChoice, ModelError
from explorer.knobs import Knob
from explorer.measuring.neighbours import query_results
from explorer.measuring.neighbours.vector_index import FLAT, HNSW, IVF, Index, overlap
from explorer.measuring.neighbours.vector_search import searchable
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences.sentence_vectors import of_reading

if TYPE_CHECKING:
    from explorer.encoding.read.pooling import Reading

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
    Knob("whole", False, "Also use every sentence of the corpus as a query: Jaccard@k (0 to 1, 1: same neighbours)."),
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
    flags.check(options, *VECTOR_FLAGS, *FLAGS)
    if options.vectors:
        if len(options.model) > 1:
            raise BadChoice(
                f"--model was given {len(options.model)} times. One encoder made the vectors: give it once."
            )
        print(_of_vectors(options))
        return
    query, models = query_results.asked(options.query), options.model or [lookup.BUNDLED]
    if len(models) > 2:
        raise BadChoice(f"--model was given {len(models)} times. Give it once for A, twice for A and B.")
    if options.whole and len(models) == 1:
        raise BadChoice(
            "--whole compares two encoders, but only one was named. Give --model twice, or leave --whole out."
        )
    searched = of_source(options.corpus or "sample", online=options.online)
    place, settings = query_results.place_of(query, searched.texts), flags.read(options, Settings)
    sides: list[query_results.SearchSide] = []
    used: list[tuple[Found, Reading]] = []
    found = [find(name, online=options.online) for name in models]
    for model, title in zip(found, (options.reading, options.other_reading or options.reading), strict=False):
        encoder, reading = load_encoder(model, settings), named(title, model.folder)
        vectors = output.shown(of_reading(encoder, searched.texts, reading, options.max_length))
        vector = query_results.vector_of(encoder, query, reading, options.max_length) if place is None else place
        sides.append(query_results.SearchSide(Index(vectors), vector))
        used.append((model, reading))
    one, other = sides[0], sides[1] if len(sides) > 1 else None
    findings = query_results.search(one, other, options.k)
    whole = output.shown(overlap(one.index, other.index, options.k)) if options.whole and other else None
    about = query, searched, used, findings, whole
    print(query_results.as_json(*about, options.k) if options.json else query_results.as_text(*about))


def _of_vectors(options: argparse.Namespace) -> str:
    """The sentences nearest to the query, and what the search cost, as text or JSON."""
    query = query_results.asked(options.query)
    files = opened(options.vectors, options.text, flags.roles(options), options.reading)
    found = output.shown(prepared(files), logged=10)
    search = output.shown(searchable(found, INDEXES.get(options.index or "")), logged=10)
    place = found.place_of(query)
    by = _encoder(found, options) if place is None else place
    longest = options.max_length or (found.origin.max_length if found.origin else None)
    wanted = (
        by
        if isinstance(by, int)
        else query_results.vector_of(load_encoder(by[0], flags.read(options, Settings)), query, by[1], longest)
    )
    for _ in range(2):  # the first search reads the files, and is not timed
        started = time.perf_counter()
        hits = search.found(wanted, options.k)
    answer = query, search, hits, time.perf_counter() - started, by
    return query_results.answer_as_json(*answer, options.k) if options.json else query_results.answer_as_text(*answer)


def _encoder(found: VectorCorpus, options: argparse.Namespace) -> tuple[Found, Reading]:
    """The encoder of the query: that which is named, or that which made the vectors."""
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
