"""score: evaluate every layer & pooling of an encoder on scored pairs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from explorer.commands.parts import shared_flags
from explorer.commands.parts.line import ProgressLine, say
from explorer.commands.parts.shared_flags import role_and_name

if TYPE_CHECKING:
    from explorer.data.kinds import GradedPairs


def add(verbs: Any) -> None:
    """State the flags."""
    score = verbs.add_parser(
        "score",
        help="evaluate every layer & pooling on scored pairs",
        description="Spearman's and Pearson's correlation (× 100) with human scores, for every layer & pooling. "
        "Higher is better, at most 100.",
    )
    score.set_defaults(verb=_score)
    score.add_argument(
        "model",
        metavar="MODEL",
        help="all-MiniLM-L6-v2 (bundled), a folder, or a hub id, optionally with @REVISION",
    )
    score.add_argument(
        "--sts",
        default="sample",
        metavar="FILE|NAME",
        help="a file of scored pairs, a set by name ('STS-B', 'STS-B dev', 'STS12', …), or 'sample' (default)",
    )
    score.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="ROLE=NAME",
        help="the column of FILE that has a role, if detected wrongly: first=…, second=…, score=…, part=…",
    )
    score.add_argument(
        "--reading",
        action="append",
        default=[],
        metavar="TITLE",
        help="also print one layer & pooling, in the grid or outside of it: 'last of layer 3', 'mean of layers 4-6', "
        "…; repeatable",
    )
    shared_flags.add_of_scores(score)
    shared_flags.add(score)
    form = score.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="everything, as JSON")
    form.add_argument("--csv", action="store_true", help="one row per layer & pooling, as CSV")


def _score(options: argparse.Namespace) -> None:
    from explorer.encoding.load.declared import named, outside
    from explorer.encoding.locate.model_names import find
    from explorer.measuring.scores import score_tables
    from explorer.measuring.scores.measure import measure
    from explorer.progress import finish

    ways = shared_flags.ways(options)  # before minutes of work
    pairs = _graded_pairs(options)
    found = find(options.model, online=options.online)
    settings = shared_flags.settings(options)
    asked = [named(title, found.folder) for title in options.reading]
    also = [one for reading in asked for one in outside(reading, found.folder)]
    with ProgressLine() as line:
        scores = finish(measure(found, pairs, settings, also=also), line.tell)
    if options.json:
        print(score_tables.as_json(found, pairs, scores))
    elif options.csv:
        print(score_tables.as_csv(score_tables.score_rows(scores)), end="")
    else:
        print(score_tables.as_text(found, pairs, scores, *ways, asked))


def _graded_pairs(options: argparse.Namespace) -> GradedPairs:
    from explorer.data import sources
    from explorer.errors import BadChoice

    columns = dict(role_and_name(column) for column in options.column)
    if columns and not sources.is_file(options.sts):
        raise BadChoice(f"--column is for files, but '{options.sts}' is a set whose columns are known. Leave it out.")
    pairs, report = sources.scored_pairs(options.sts, columns, options.online)
    if report is not None:
        say(report)
    return pairs
