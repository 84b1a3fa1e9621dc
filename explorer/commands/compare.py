"""compare: what changed from one encoder to another, and how surely?"""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.line import Line


def add(verbs: Any) -> None:
    """State the flags."""
    verb = verbs.add_parser(
        "compare",
        help="score two encoders on the same pairs, with intervals on the differences",
        description="Score A and B on the same graded pairs. An interval is the middle 95 %% of 1,000 paired bootstrap "
        "resamples; a difference whose interval holds 0 is within what the draw of pairs can bring about.",
    )
    verb.set_defaults(verb=_compare)
    verb.add_argument("one", metavar="A", help="an encoder: name, folder, or run:NAME for the model of a run")
    verb.add_argument("other", metavar="B", help="the one that is compared with it")
    verb.add_argument("--sts", default="sample", metavar="FILE|NAME", help="graded pairs (default: the sample)")
    verb.add_argument("--reading", metavar="TITLE", help="of A: 'mean of layer 6', 'own reading', … (default: mean)")
    verb.add_argument("--other-reading", metavar="TITLE", help="of B (default: A's)")
    verb.add_argument("--metric", default="Spearman", type=str.capitalize, help="spearman (default) or pearson")
    verb.add_argument("--aggregate", default="all", help="all (default), mean or wmean over sub-corpora")
    verb.add_argument("--seed", type=int, default=0, help="of the resamples (default 0)")
    verb.add_argument("--max-length", type=int, metavar="TOKENS", help="cut longer sentences")
    verb.add_argument("--precision", default="auto", help="auto (default), float32 or bfloat16")
    verb.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    verb.add_argument("--online", action="store_true", help="fetch from the hub what is not on this disk")
    verb.add_argument("--json", action="store_true", help="everything, as JSON")


def _compare(options: argparse.Namespace) -> None:
    from explorer.encoding.finding import find
    from explorer.encoding.readings import Reading, Row, parse
    from explorer.measuring.comparing import Comparison
    from explorer.measuring.comparison_tables import as_json, as_text
    from explorer.measuring.measure import Settings, measure
    from explorer.measuring.scores import check_agreement
    from explorer.progress import finish
    from explorer.training.preparing import graded

    check_agreement(options.metric, options.aggregate)  # before minutes of work, not after
    pairs = graded(options.sts, options.online)
    found = find(options.one, online=options.online), find(options.other, online=options.online)
    settings = Settings(options.precision, options.device, options.max_length)
    with Line() as line:
        one, other = (finish(measure(side, pairs, settings), line.tell) for side in found)
    titles = options.reading, options.other_reading or options.reading
    chosen = [
        parse(title, scores.last) if title else Reading(Row((scores.last,)), "mean")
        for title, scores in zip(titles, (one, other), strict=True)
    ]
    comparison, ways = Comparison(one, other, *chosen), (options.metric, options.aggregate)
    interval = comparison.chosen(*ways, seed=options.seed)
    grid = comparison.grid(*ways, seed=options.seed) if comparison.rows else None
    if options.json:
        print(as_json(found, pairs, comparison, interval, grid, *ways, options.seed))
    else:
        print(as_text(found, pairs, comparison, interval, grid, *ways))
