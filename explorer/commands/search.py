"""search: the sentences nearest to a query, under one encoder or two.

Find the sentences of a corpus with the highest cosine to a query. With two encoders, each result shows its rank under
the other, and whether it was kept, lost or gained.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from explorer.commands.parts import flags, vector_query
from explorer.commands.parts.line import ProgressLine
from explorer.errors import BadChoice
from explorer.knobs import Knob
from explorer.measuring.scores.measure import Settings

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.readings import Reading
    from explorer.measuring.neighbours.query_results import SearchSide

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


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("query", metavar="QUERY", help="A sentence; a sentence of the corpus does not find itself")
    flags.add(verb, *FLAGS, *vector_query.FLAGS, *Settings.knobs.values(), flags.ONLINE)
    verb.add_argument("--json", action="store_true", help="Everything, as JSON")


def run(options: argparse.Namespace) -> None:
    """Search, and print the sentences."""
    from explorer.data.search_corpus import of_source
    from explorer.encoding.locate import bundled
    from explorer.encoding.locate.model_names import find
    from explorer.measuring.neighbours.neighbour_overlap import overlap
    from explorer.measuring.neighbours.query_results import asked, search
    from explorer.measuring.neighbours.search_tables import SearchRequest, as_json, as_text
    from explorer.progress import finish

    vector_query.check(options, *FLAGS)
    if options.vectors:
        print(vector_query.answer(options))
        return
    query, models = asked(options.query), options.model or [bundled.NAME]
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
    told = SearchRequest(
        query, options.k, searched, tuple((at, side[1]) for at, side in zip(found, sides, strict=True))
    )
    print((as_json if options.json else as_text)(told, findings, whole))


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
