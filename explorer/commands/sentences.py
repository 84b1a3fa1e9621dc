"""Embed sentences, and search them."""

from __future__ import annotations

import argparse
import json
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.commands.parts import flags, output
from explorer.data import corpora, sources
from explorer.data.vectors import embedding_folder, opening, vector_corpus
from explorer.encoding.load import declared
from explorer.encoding.locate import lookup
from explorer.encoding.locate.model_names import Found, find
from explorer.encoding.read.pooling import Reading
from explorer.errors import BadChoice, ModelError
from explorer.measuring.neighbours import query_results, vector_search
from explorer.measuring.neighbours.vector_index import Index, indexed_in_windows, overlap
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences import sentence_vectors
from explorer.places import given_path
from explorer.progress import finish
from explorer.studies.embedding import corpus, embedding, estimate

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder


def embed_flags(verb: argparse.ArgumentParser) -> None:
    """Take an encoder, the texts, and the folder of their vectors."""
    verb.add_argument("model", metavar="MODEL", help=f"The encoder: {flags.A_MODEL}")
    verb.add_argument(
        "texts",
        nargs="+",
        metavar="TEXT",
        help="Files of sentences (.txt with one per line is streamed, so it may be of any size), 'sample', 'STS-B', …",
    )
    verb.add_argument("--out", type=given_path, required=True, metavar="FOLDER", help="The folder of the vectors")
    flags.add(verb, embedding.Request, flags.COLUMN)
    flags.add_estimate(verb, "Try a few sentences, print time and bytes on disk")
    flags.add(verb, Settings, flags.ONLINE)


def embed(options: argparse.Namespace) -> None:
    """Encode a corpus into parquet files of vectors.

    Encode every sentence of a corpus and write the vectors as parquet files of a fixed number of rows (shards). The
    same command resumes an embedding that was stopped or killed. Several processes: torchrun --nproc-per-node 2 -m
    explorer embed …
    """
    from explorer.training.loop.processes import PATIENCE, World

    columns = tuple(flags.roles(options).items())
    request = embedding.Request(
        model=find(options.model, online=options.online),
        texts=tuple(corpus.TextSource(text, columns, options.online) for text in options.texts),
        folder=options.out,
        settings=flags.read(options, Settings),
        **flags.values(options, embedding.Request.knobs),
    )
    world = World(request.settings.precision, request.settings.device, PATIENCE)
    try:
        with output.ProgressLine() as line:
            tell = line.tell if world.main else lambda progress: None
            if options.estimate:
                estimated = finish(estimate.estimate(request, world), tell)
                text = estimated.text if estimated else ""
            else:
                done = finish(embedding.embed(request, world), tell)
                text = _result_text(done, request, world.size) if done else ""
    except KeyboardInterrupt as stop:
        if world.main:
            output.say(_stopped_text(options.out))
        raise SystemExit(output.code(stop)) from None
    if text:
        print(text)
    world.leave()


def _stopped_text(folder: Path) -> str:
    there = embedding_folder.read_manifest(folder) if folder.is_dir() else None
    if there is None:
        return "Stopped before the first shard."
    written = f"{len(embedding_folder.shards_in(folder)):,} of {there.shards:,} shards are written"
    return f"Stopped. {written} in {shlex.quote(str(folder))}; the same command resumes."


def _result_text(done: embedding.Embedded, request: embedding.Request, processes: int) -> str:
    if done.empty:
        output.say(f"{done.empty:,} rows without a word were left out.")
    if done.other_releases:
        output.say(
            f"Another release of {', '.join(done.other_releases)} began {request.folder}: the last digits of vectors "
            "may differ between shards."
        )
    manifest = done.manifest
    result = {
        "folder": str(request.folder),
        "rows": manifest.rows,
        **({"windows": done.vectors} if manifest.windows else {}),
        "shards": manifest.shards,
        "vectors": {column.title: column.width for column in manifest.vectors},
        "embedded": done.embedded,
        "processes": processes,
        "seconds": round(done.seconds, 1),
        "merged": str(done.merged) if done.merged else None,
    }
    return json.dumps(result, ensure_ascii=False, indent=1)


OPTIONS = query_results.SearchedText, declared.SideReadings, query_results.SearchOptions


def search_flags(verb: argparse.ArgumentParser) -> None:
    """Take a query, the texts or vectors that are searched, and one encoder or two."""
    verb.add_argument("query", metavar="QUERY", help="A sentence; a sentence of the corpus does not find itself")
    flags.add(verb, *OPTIONS, vector_search.VectorOptions, Settings, flags.ONLINE)
    verb.add_argument("--json", action="store_true", help="Everything, as JSON")


def search(options: argparse.Namespace) -> None:
    """The sentences nearest to a query, under one encoder or two.

    Find the sentences of a corpus with the highest cosine to a query. With two encoders, each result shows its rank
    under the other, and whether it was kept, lost or gained.
    """
    flags.check(options, vector_search.VectorOptions, *OPTIONS)
    wanted = flags.read(options, query_results.SearchOptions)
    if options.vectors:
        if len(options.model) > 1:
            raise BadChoice(
                f"--model was given {len(options.model)} times. One encoder made the vectors: give it once."
            )
        print(_of_vectors(options, wanted.k))
        return
    query, models = query_results.checked_query(options.query), options.model or [lookup.BUNDLED]
    if len(models) > 2:
        raise BadChoice(f"--model was given {len(models)} times. Give it once for A, twice for A and B.")
    if wanted.whole and len(models) == 1:
        raise BadChoice(
            "--whole compares two encoders, but only one was named. Give --model twice, or leave --whole out."
        )
    searched = corpora.of_source(sources.text(options.corpus or corpora.SAMPLE), online=options.online)
    place, settings = query_results.place_of(query, searched.texts), flags.read(options, Settings)
    sides: list[query_results.SearchSide] = []
    used: list[tuple[Found, Reading]] = []
    found = [find(name, online=options.online) for name in models]
    readings = flags.read(options, declared.SideReadings).of(*(one.folder for one in found))
    for model, reading in zip(found, readings, strict=True):
        encoder = load_encoder(model, settings)
        index = _index(encoder, searched.texts, reading, settings, windows=wanted.windows)
        vector = query_results.vector_of(encoder, query, reading, options.max_length) if place is None else place
        sides.append(query_results.SearchSide(index, vector))
        used.append((model, reading))
    one, other = sides[0], sides[1] if len(sides) > 1 else None
    findings = query_results.search(one, other, wanted.k)
    whole = output.shown(overlap(one.index, other.index, wanted.k)) if wanted.whole and other else None
    about = query, searched, used, findings, whole
    print(query_results.as_json(*about, wanted.k) if options.json else query_results.as_text(*about))


def _index(encoder: Encoder, texts: Sequence[str], reading: Reading, settings: Settings, *, windows: bool) -> Index:
    """The texts under a layer & pooling, whole or in windows."""
    if windows:
        return output.shown(indexed_in_windows(encoder, texts, reading, settings.max_length))
    return Index(output.shown(sentence_vectors.of_reading(encoder, texts, reading, settings.max_length)))


def _of_vectors(options: argparse.Namespace, k: int) -> str:
    query = query_results.checked_query(options.query)
    given = flags.read(options, vector_search.VectorOptions)
    assert given.vectors, "they are searched"
    files = opening.opened(given.vectors, given.text, flags.roles(options), options.reading)
    found = output.shown(vector_corpus.prepared(files))
    search = output.shown(vector_search.searchable(found, vector_search.INDEXES.get(given.index or "")))
    place = found.place_of(options.query)
    by = _encoder(found, options) if place is None else place
    longest = options.max_length or (found.origin.max_length if found.origin else None)
    wanted = (
        by
        if isinstance(by, int)
        else query_results.vector_of(load_encoder(by[0], flags.read(options, Settings)), query, by[1], longest)
    )
    for _ in range(2):  # the first search reads the files, and is not timed
        started = time.perf_counter()
        hits = search.found(wanted, k)
    answer = query, search, hits, time.perf_counter() - started, by
    return query_results.answer_as_json(*answer, k) if options.json else query_results.answer_as_text(*answer)


def _encoder(searched: vector_corpus.VectorCorpus, options: argparse.Namespace) -> tuple[Found, Reading]:
    """The encoder of the query: that which is named, or that which made the vectors."""
    origin = searched.origin
    if not options.model and origin is None:
        raise BadChoice(
            f"No sentence of {searched.name} is the query, and nothing says which encoder made its vectors. Name the "
            "encoder with --model (and --reading), or ask for a sentence of the corpus."
        )
    name = options.model[0] if options.model else origin.model if origin else ""
    try:
        model = find(name, online=options.online)
    except ModelError as error:
        if options.model:
            raise
        raise BadChoice(f"{searched.name} was made by '{name}'. {error} Or name its folder with --model.") from error
    if origin is not None and model.digest != origin.model_digest:
        raise BadChoice(
            f"{searched.name} was made by '{origin.model}' with other weights than '{model.name}' has here. Name the "
            "model that made it with --model, or embed the text again."
        )
    return model, declared.named(searched.title if origin else options.reading, model.folder)
