"""search: find the sentences nearest to a query under one encoder or two, and mark what changed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from explorer.commands.parts import shared_flags, vector_query
from explorer.commands.parts.line import ProgressLine
from explorer.commands.parts.shared_flags import whole_number
from explorer.errors import BadChoice

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.readings import Reading
    from explorer.measuring.neighbours.query_results import SearchSide


def add(verbs: Any) -> None:
    """State the flags."""
    verb = verbs.add_parser(
        "search",
        help="the sentences nearest to a query, under one encoder or two",
        description="Find the sentences of a corpus with the highest cosine to a query. With two encoders, each result "
        "shows its rank under the other, and whether it was kept, lost or gained.",
    )
    verb.set_defaults(verb=_search)
    verb.add_argument("query", metavar="QUERY", help="a sentence; a sentence of the corpus does not find itself")
    verb.add_argument("--corpus", metavar="FILE|NAME", help="a file, a set such as 'STS-B dev', or sample (default)")
    verb.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help="an encoder, A; given twice, the second is B (default: the bundled one)",
    )
    shared_flags.add_of_two(verb)
    verb.add_argument("--k", type=whole_number, default=10, help="number of results (default 10)")
    verb.add_argument(
        "--whole",
        action="store_true",
        help="also use every sentence of the corpus as a query: Jaccard@k (0 to 1, 1: same neighbours)",
    )
    vector_query.add(verb)
    shared_flags.add(verb)
    verb.add_argument("--json", action="store_true", help="everything, as JSON")


def _search(options: argparse.Namespace) -> None:
    from explorer.data.search_corpus import of_source
    from explorer.encoding.locate import bundled
    from explorer.encoding.locate.model_names import find
    from explorer.measuring.neighbours.neighbour_overlap import overlap
    from explorer.measuring.neighbours.query_results import asked, search
    from explorer.measuring.neighbours.search_tables import SearchRequest, as_json, as_text
    from explorer.progress import finish

    if options.k < 1:
        raise BadChoice(f"--k {options.k} is not possible. Choose 1 or more.")
    vector_query.check(options)
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

    encoder = load_encoder(found, shared_flags.settings(options))
    reading = named(title, found.folder)
    vectors = finish(sentence_vectors.of_reading(encoder, sentences, reading, options.max_length), line.tell)
    place = place_of(query, sentences)
    asked = vector_of(encoder, query, reading, options.max_length) if place is None else place
    return SearchSide(Index(vectors), asked), reading
