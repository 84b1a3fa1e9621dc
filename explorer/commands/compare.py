"""compare: what changed from one encoder to another, and how surely?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.commands import reading_flags
from explorer.commands.line import Line

if TYPE_CHECKING:
    from explorer.data.kinds import GradedPairs
    from explorer.encoding.readings import Reading
    from explorer.measuring.findings import Findings
    from explorer.measuring.scores import LayerScores


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
    verb.add_argument("--dev", metavar="FILE|NAME", help="take the best reading of A and of B on these graded pairs")
    verb.add_argument("--metric", default="Spearman", type=str.capitalize, help="spearman (default) or pearson")
    verb.add_argument("--aggregate", default="all", help="all (default), mean or wmean over sub-corpora")
    verb.add_argument("--seed", type=int, default=0, help="of the resamples (default 0)")
    reading_flags.add(verb)
    verb.add_argument("--geometry", action="store_true", help="how the layers lie in space and how far each moved, too")
    verb.add_argument("--pooling", default="mean", help="of the layers in the geometry and the lines: cls, mean or max")
    verb.add_argument("--report", metavar="FILE", help="all of it as one HTML file that stands alone")
    verb.add_argument("--json", action="store_true", help="everything, as JSON")


def _compare(options: argparse.Namespace) -> None:
    from explorer.measuring.findings import as_json, as_text

    findings = _found(options)
    print(as_json(findings) if options.json else as_text(findings))
    if options.report:
        _write(findings, options.pooling, Path(options.report).expanduser())


def _found(options: argparse.Namespace) -> Findings:
    from explorer.encoding.finding import find
    from explorer.errors import BadChoice
    from explorer.measuring.comparing import Comparison
    from explorer.measuring.findings import Findings
    from explorer.measuring.layer_geometry import check_pooling, layer_geometry
    from explorer.measuring.measure import Settings, measure
    from explorer.measuring.picking import pick
    from explorer.measuring.scores import check_agreement
    from explorer.progress import finish
    from explorer.training.preparing import graded

    ways = options.metric, options.aggregate
    check_agreement(*ways)  # before minutes of work, not after
    check_pooling(options.pooling)
    if options.dev and (options.reading or options.other_reading):
        raise BadChoice(f"--dev {options.dev} picks both readings. Leave --reading and --other-reading away, or --dev.")
    pairs = graded(options.sts, options.online)
    dev = graded(options.dev, options.online) if options.dev else None
    found = find(options.one, online=options.online), find(options.other, online=options.online)
    settings = Settings(options.precision, options.device, options.max_length)
    geometry = None
    with Line() as line:

        def scored(on: GradedPairs) -> tuple[LayerScores, LayerScores]:
            one, other = (finish(measure(side, on, settings), line.tell) for side in found)
            return one, other

        sides = scored(pairs)
        picked = None if dev is None else pick(dev, scored(dev), pairs, options.metric)
        readings = picked.readings if picked else _asked_for(options, sides)
        comparison = Comparison(*sides, *readings)
        differences = comparison.differences(*ways, seed=options.seed)
        if options.geometry or options.report:
            work = layer_geometry(found, pairs, options.pooling, readings, settings)
            geometry = finish(work, line.tell)
    return Findings(found, pairs, comparison, differences, *ways, options.seed, geometry, picked)


def _asked_for(options: argparse.Namespace, sides: tuple[LayerScores, LayerScores]) -> tuple[Reading, Reading]:
    """The readings that were named; without a name the mean of the last layer."""
    from explorer.encoding.readings import Reading, Row, parse

    titles = options.reading, options.other_reading or options.reading
    one, other = (
        parse(title, scores.last) if title else Reading(Row((scores.last,)), "mean")
        for title, scores in zip(titles, sides, strict=True)
    )
    return one, other


def _write(findings: Findings, pooling: str, path: Path) -> None:
    from explorer.drawing.report import report
    from explorer.places import write_whole

    page = report(findings, pooling)
    write_whole(path, lambda file: file.write(page), "Choose another place for the report.")
    print(f"The report is {path}.", file=sys.stderr)
