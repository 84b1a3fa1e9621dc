"""Embed sentences, search them, and explain their cosines by words."""

from __future__ import annotations

import argparse
import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from explorer.commands.parts import flags, output
from explorer.data import corpora, sources
from explorer.data.labelled import labelled_sets
from explorer.data.vectors import embedding_folder, opening, vector_corpus
from explorer.encoding.load import declared, loading
from explorer.encoding.locate import lookup
from explorer.encoding.locate.model_names import Found, find
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.pooling import PAD, REFERENCES, Reading
from explorer.encoding.read.windows import windows as windows_of
from explorer.errors import BadChoice, ModelError, WrongColumns
from explorer.evaluating.tasks.judges import Evaluated, evaluated_on, held, judged
from explorer.knobs import Knob
from explorer.measuring.neighbours import query_results, vector_search
from explorer.measuring.neighbours.vector_index import FLAT, HNSW, IVF, Index, WindowIndex, overlap
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences import sentence_vectors, word_pairs, word_tables
from explorer.places import given_path
from explorer.progress import Progress, finish
from explorer.run_folder import RUN
from explorer.studies.embedding import corpus, embedding

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder


def embed_flags(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("model", metavar="MODEL", help=f"The encoder: {flags.A_MODEL}")
    verb.add_argument(
        "texts",
        nargs="+",
        metavar="TEXT",
        help="Files of sentences (.txt with one per line is streamed, so it may be of any size), 'sample', 'STS-B', …",
    )
    verb.add_argument("--out", type=given_path, required=True, metavar="FOLDER", help="The folder of the vectors")
    flags.add(verb, *embedding.Request.knobs.values(), flags.COLUMN)
    verb.add_argument(
        "--estimate", action="store_true", help="Try a few sentences, print time and bytes on disk, and stop"
    )
    flags.add(verb, *Settings.knobs.values(), flags.ONLINE)


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
                estimated = finish(embedding.estimate(request, world), tell)
                text = estimated.text if estimated else ""
            else:
                done = finish(embedding.embed(request, world), tell)
                text = _result_text(done, request, world.size) if done else ""
    except KeyboardInterrupt as stop:
        if world.main:
            there = embedding_folder.read_manifest(options.out) if options.out.is_dir() else None
            whole = len(embedding_folder.shards_in(options.out)) if there else 0
            where = shlex.quote(str(options.out))
            output.say(
                f"Stopped. {whole:,} of {there.shards:,} shards are written in {where}; the same command resumes."
                if there
                else "Stopped before the first shard."
            )
        raise SystemExit(output.code(stop)) from None
    if text:
        print(text)
    world.leave()


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
        "shards": manifest.shards,
        "vectors": {column.title: column.width for column in manifest.vectors},
        "embedded": done.embedded,
        "processes": processes,
        "seconds": round(done.seconds, 1),
        "merged": str(done.merged) if done.merged else None,
    }
    return json.dumps(result, ensure_ascii=False, indent=1)


FLAGS = (
    Knob("corpus", None, "A file, or a set such as 'STS-B dev'.", metavar="FILE|NAME", empty="the sample"),
    Knob(
        "model",
        (),
        f"An encoder, A: {flags.A_MODEL}; given twice, the second is B.",
        metavar="MODEL",
        empty="the bundled one",
        repeated=True,
    ),
    *flags.READINGS,
    Knob("k", 10, "Number of results.", low=1),
    Knob("whole", False, "Also use every sentence of the corpus as a query: Jaccard@k (0 to 1, 1: same neighbours)."),
    Knob(
        "windows",
        False,
        "Read texts of the corpus that are longer than the maximum length in overlapping windows: the one that is most "
        "similar to the query counts, and is printed.",
        excludes=("whole",),
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
        excludes=("corpus", "other_reading", "whole", "windows"),
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


def search_flags(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("query", metavar="QUERY", help="A sentence; a sentence of the corpus does not find itself")
    flags.add(verb, *FLAGS, *VECTOR_FLAGS, *Settings.knobs.values(), flags.ONLINE)
    verb.add_argument("--json", action="store_true", help="Everything, as JSON")


def search(options: argparse.Namespace) -> None:
    """The sentences nearest to a query, under one encoder or two.

    Find the sentences of a corpus with the highest cosine to a query. With two encoders, each result shows its rank
    under the other, and whether it was kept, lost or gained.
    """
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
    searched = corpora.of_source(options.corpus or "sample", online=options.online)
    place, settings = query_results.place_of(query, searched.texts), flags.read(options, Settings)
    sides: list[query_results.SearchSide] = []
    used: list[tuple[Found, Reading]] = []
    found = [find(name, online=options.online) for name in models]
    for model, title in zip(found, (options.reading, options.other_reading or options.reading), strict=False):
        encoder, reading = load_encoder(model, settings), declared.named(title, model.folder)
        index = _index(encoder, searched.texts, reading, options)
        vector = query_results.vector_of(encoder, query, reading, options.max_length) if place is None else place
        sides.append(query_results.SearchSide(index, vector))
        used.append((model, reading))
    one, other = sides[0], sides[1] if len(sides) > 1 else None
    findings = query_results.search(one, other, options.k)
    whole = output.shown(overlap(one.index, other.index, options.k)) if options.whole and other else None
    about = query, searched, used, findings, whole
    print(query_results.as_json(*about, options.k) if options.json else query_results.as_text(*about))


def _index(encoder: Encoder, texts: Sequence[str], reading: Reading, options: argparse.Namespace) -> Index:
    """The texts under a layer & pooling; in windows, each after the prompt that the model puts before any sentence."""
    if not options.windows:
        return Index(output.shown(sentence_vectors.of_reading(encoder, texts, reading, options.max_length)))
    cut = output.shown(windows_of(encoder, texts, options.max_length, encoder.default_head.prompt))
    vectors = sentence_vectors.of_reading(encoder, cut.texts, reading, options.max_length)
    return WindowIndex(output.shown(vectors), cut)


def _of_vectors(options: argparse.Namespace) -> str:
    query = query_results.asked(options.query)
    files = opening.opened(options.vectors, options.text, flags.roles(options), options.reading)
    found = output.shown(vector_corpus.prepared(files))
    search = output.shown(vector_search.searchable(found, INDEXES.get(options.index or "")))
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
        hits = search.found(wanted, options.k)
    answer = query, search, hits, time.perf_counter() - started, by
    return query_results.answer_as_json(*answer, options.k) if options.json else query_results.answer_as_text(*answer)


def _encoder(found: vector_corpus.VectorCorpus, options: argparse.Namespace) -> tuple[Found, Reading]:
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
    return model, declared.named(found.title if origin else options.reading, model.folder)


Pairs = tuple[tuple[str, str], ...]
Sides = dict[str, tuple[Found, Reading]]

NEXT = (
    'Give two sentences, as in explain "It is far." "It is not far." A B, or a file of pairs: explain --pairs FILE A B.'
)

REFERENCE = Knob(
    "reference", PAD, "What replaces the words in the sentence that the sum starts from.", choices=REFERENCES
)
MEASURED = Settings.knobs["max_length"], Settings.knobs["device"]  # all is computed in float32


def explain_flags(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("first", nargs="?", metavar="FIRST", help="A sentence; left out with --pairs")
    verb.add_argument("second", nargs="?", metavar="SECOND", help="Another sentence; left out with --pairs")
    verb.add_argument("model", nargs="?", metavar="A", help=f"An encoder: {flags.A_MODEL} (default: the bundled one)")
    verb.add_argument("other", nargs="?", metavar="B", help="An encoder to compare with A")
    verb.add_argument(
        "--pairs",
        metavar="FILE|NAME",
        help="Every pair of a file or set: scored pairs, queries with passages, pairs of texts, and of triplets both "
        "that an anchor is in",
    )
    flags.add(verb, *flags.READINGS, REFERENCE, *MEASURED, flags.ONLINE)
    verb.add_argument("--report", "--html", type=given_path, metavar="FILE", help="Write everything as one HTML file")
    verb.add_argument("--json", action="store_true", help="Everything, as JSON; of --pairs, as a list")


def explain(options: argparse.Namespace) -> None:
    """Which words make two sentences similar, under one encoder or two.

    Split the cosine of two sentences, or of every pair in a file, into an exact sum over their words (integrated
    gradients of the whole encoder). With two encoders, the change of every word is shown too.
    """
    pairs, names = _given(options)
    titles = options.reading, options.other_reading or options.reading
    sides: Sides = {}
    for side, name, title in zip("AB", names, titles, strict=False):
        found = find(name, online=options.online)
        sides[side] = found, declared.named(title, found.folder)
    models = {
        side: {
            "model": found.name,
            "model_revision": found.revision,
            "model_digest": found.digest,
            "reading": declared.described(reading, found.folder),
        }
        for side, (found, reading) in sides.items()
    }
    explained, stop = _explained(pairs, sides, options)
    if options.json:
        values = [word_tables.content(one, options.reference, models) for one in explained]
        print(json.dumps(values if options.pairs else values[0], ensure_ascii=False, indent=1))
    else:
        print("\n\n".join(word_tables.as_text(one.sentences, models, one.pairs) for one in explained))
    if options.report:
        from explorer.drawing.reports.report import words_page

        output.write_report(options.report, words_page(explained, options.reference, models))
    if stop is not None:
        raise SystemExit(output.code(stop))


def _given(options: argparse.Namespace) -> tuple[Pairs, list[str]]:
    words = [word for word in (options.first, options.second, options.model, options.other) if word is not None]
    if options.pairs is None:
        if len(words) < 2:
            raise BadChoice(f"{'One sentence was' if words else 'No sentences were'} given; two are needed. {NEXT}")
        return ((words[0], words[1]),), words[2:] or [lookup.BUNDLED]
    # a text with spaces names a model if it is that of a run, or a folder
    texts = (word for word in words if " " in word.strip() and not word.startswith(RUN))
    sentence = next((text for text in texts if not sources.is_folder(text)), None)
    if len(words) > 2 or sentence is not None:
        text = f"'{sentence}'" if sentence is not None else "two sentences"
        raise BadChoice(f"Both --pairs {options.pairs} and {text} were given. {NEXT}")
    return _pairs_of(options.pairs, options.online), words or [lookup.BUNDLED]


def _pairs_of(source: str, online: bool) -> Pairs:
    """The pairs of sentences of a file or set of any kind: of a triplet anchor and positive, anchor and negative."""
    is_file = sources.is_file(source) and not sources.is_folder(source)
    given: Evaluated | None = sources.triplets(source) if is_file else None
    if given is None and is_file:
        try:
            pairs, report = sources.sentence_pairs(source, online=online)
        except WrongColumns:
            if not labelled_sets.is_labelled(source):
                raise
        else:
            for dropped in report.dropped if report else ():
                output.say(f"{source}: {dropped}")
            return pairs
    given = given or evaluated_on(sources.identity(source), online)
    columns = judged(given).texts
    if isinstance(given, labelled_sets.LabelledSet):  # pairs with labels, such as those of MRPC
        if len(columns) < 2:
            raise BadChoice(f"--pairs is for pairs of sentences, and {held(given, source)}")
        return tuple(zip(*columns.values(), strict=True))
    known = judged(given).pairs
    assert known is not None, "all other kinds have pairs"
    return tuple(zip(known.first, known.second, strict=True))


def _explained(
    pairs: Pairs, sides: Sides, options: argparse.Namespace
) -> tuple[list[word_pairs.Explained], KeyboardInterrupt | None]:
    """Every pair under every side, or those that were done when a signal came."""
    loads = {
        side: cache(partial(loading.load, found, "float32", options.device, attention=EAGER))
        for side, (found, _) in sides.items()
    }
    settings = options.reference, options.max_length, options.device
    whole = options.json or options.report is not None
    done: list[word_pairs.Explained] = []
    with output.ProgressLine() as line:

        def tell(progress: Progress) -> None:
            of = f"pair {len(done) + 1:,} of {len(pairs):,}: " if len(pairs) > 1 else ""
            line.tell(replace(progress, stage=f"{of}{progress.text}"))

        try:
            for pair in pairs:
                found = {
                    side: finish(word_pairs.measured(model, pair, reading, loads[side], *settings, matrix=whole), tell)
                    for side, (model, reading) in sides.items()
                }
                done.append(word_pairs.Explained(pair, found))
        except KeyboardInterrupt as stop:
            if not done:
                raise
            line.say(f"Stopped after {len(done):,} of {len(pairs):,} pairs; the same command goes on from there.")
            return done, stop
    return done, None
