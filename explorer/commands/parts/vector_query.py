"""The part of `search` that searches vectors on disk: its flags, the query's encoder, and the answer."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from explorer.commands.parts import flags
from explorer.commands.parts.line import ProgressLine
from explorer.errors import BadChoice, ModelError
from explorer.knobs import Knob
from explorer.measuring.scores.measure import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from explorer.data.vectors.vector_corpus import VectorCorpus
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.readings import Reading
    from explorer.measuring.neighbours.vector_index import Hits
    from explorer.measuring.neighbours.vector_search import VectorSearch

EXACT = "exact"
INDEXES = {EXACT: "flat", "ivf": "ivf", "hnsw": "hnsw"}  # as in `index_setting`, which is not loaded before

FLAGS = (
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


def check(options: argparse.Namespace, *others: Knob) -> None:
    """Refuse flags that have no effect together."""
    flags.check(options, *FLAGS, *others)
    if options.vectors and len(options.model) > 1:
        raise BadChoice(f"--model was given {len(options.model)} times. One encoder made the vectors: give it once.")


def answer(options: argparse.Namespace) -> str:
    """The sentences nearest to the query, and what the search cost, as text or JSON."""
    from explorer.data.vectors.opening import opened
    from explorer.data.vectors.preparing import corpus
    from explorer.measuring.neighbours.query_results import asked
    from explorer.measuring.neighbours.saved_index import searchable
    from explorer.measuring.neighbours.vector_tables import Answer, as_json, as_text
    from explorer.progress import finish

    query = asked(options.query)
    columns = flags.roles(options)
    files = opened(options.vectors, options.text, columns, options.reading)
    with ProgressLine(logged=10) as line:
        found = finish(corpus(files), line.tell)
        search = finish(searchable(found, INDEXES.get(options.index or "")), line.tell)
        place = found.place_of(query)
        by = _encoder(found, options) if place is None else None
        wanted = _vector(query, by, found, options) if by is not None else place
    assert wanted is not None, "it is a row, or an encoder is named"
    hits, seconds = _timed(search, wanted, options.k)
    told = Answer(query, options.k, search, hits, seconds, by, place)
    return (as_json if options.json else as_text)(told)


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
