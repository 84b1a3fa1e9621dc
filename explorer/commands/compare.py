"""compare: score two encoders on the same pairs, with intervals on the differences.

Score A and B on the same scored pairs, each under its model default, and print the verdict first. An interval is the
95 % CI of 1,000 paired bootstrap resamples: if it includes 0, the difference could be chance.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.commands.parts import flags
from explorer.commands.parts.output import ProgressLine, say
from explorer.knobs import Knob
from explorer.measuring.scores.measure import Settings
from explorer.places import given_path

if TYPE_CHECKING:
    from explorer.data.text_sets import GradedPairs
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.read.pooling import Reading
    from explorer.measuring.comparing.comparison import Comparison, ComparisonVerdict
    from explorer.measuring.comparing.comparison_report import Findings
    from explorer.measuring.comparing.learned import ProbeChanges
    from explorer.measuring.scores.bootstrap import Interval
    from explorer.measuring.scores.layer_scores import LayerScores
    from explorer.measuring.sentences.word_pairs import ExplainedPairs

CHOSEN = (
    *flags.READINGS,
    Knob(
        "same",
        False,
        "One layer & pooling for both: A's model default.",
        excludes=("reading", "other_reading"),
    ),
    Knob(
        "dev",
        None,
        "Use the layer & pooling of each that is best on this dev set.",
        metavar="FILE|NAME",
        excludes=("reading", "other_reading", "same"),
    ),
)
SEED = replace(flags.SEED, help="Of the bootstrap.")


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("one", metavar="A", help="An encoder: name, folder, or run:NAME for the model of a run")
    verb.add_argument("other", metavar="B", help="The encoder to compare with A")
    verb.add_argument("--sts", default="sample", metavar="FILE|NAME", help="Evaluation set (default: the sample)")
    flags.add(verb, *CHOSEN)
    flags.add(verb, flags.METRIC, flags.AGGREGATE, SEED, *Settings.knobs.values(), flags.ONLINE)
    verb.add_argument("--geometry", action="store_true", help="Also the embedding geometry of every layer, and drift")
    verb.add_argument("--pooling", default="mean", help="Pooling of geometry and line plots: a column of the grid")
    verb.add_argument("--report", type=given_path, metavar="FILE", help="Write everything as one HTML file")
    verb.add_argument("--json", action="store_true", help="Everything, as JSON")


def run(options: argparse.Namespace) -> None:
    """Compare, and print the verdict."""
    from explorer.measuring.comparing.comparison_report import as_json, as_text

    findings, words = _found(options)
    print(as_json(findings) if options.json else as_text(findings))
    if options.report:
        _write(findings, words, options.pooling, options.report)


def _found(options: argparse.Namespace) -> tuple[Findings, ExplainedPairs]:
    from explorer.data import sources
    from explorer.encoding.locate.model_names import find
    from explorer.measuring.comparing.comparison import Comparison
    from explorer.measuring.comparing.comparison_report import Findings
    from explorer.measuring.geometry.layer_geometry import layer_geometry
    from explorer.measuring.scores.best_cell import pick
    from explorer.measuring.scores.measure import measure
    from explorer.measuring.sentences.word_pairs import ExplainedPairs
    from explorer.progress import finish
    from explorer.training.record.run_results import verdict_on

    metric = flags.metric(options)
    found = find(options.one, online=options.online), find(options.other, online=options.online)
    _check(options, found)
    pairs, _ = sources.scored_pairs(options.sts, online=options.online)
    dev = sources.scored_pairs(options.dev, online=options.online)[0] if options.dev else None
    settings = flags.read(options, Settings)
    geometry = None
    with ProgressLine() as line:

        def scored(on: GradedPairs, *chosen: Reading) -> tuple[LayerScores, LayerScores]:
            work = (measure(side, on, settings, also=[one]) for side, one in zip(found, chosen, strict=True))
            one, other = (finish(side, line.tell) for side in work)
            return one, other

        asked = _asked_for(options, found)
        sides = scored(pairs, *asked)
        picked = None if dev is None else pick(dev, scored(dev, *asked), pairs, metric[0])
        readings = picked.readings if picked else asked
        comparison = Comparison(*sides, *readings)
        differences = comparison.differences(*metric, seed=options.seed)

        def chosen(about: Comparison) -> Interval:
            return differences.chosen if about is comparison else about.chosen(*metric, seed=options.seed)

        about, verdict = verdict_on(found, pairs, comparison, *metric, chosen)
        probes = _probes(found, about, verdict, settings, line)
        words = _words(found, about, probes, settings, line) if options.report else ExplainedPairs()
        if options.geometry or options.report:
            work = layer_geometry(found, pairs, options.pooling, readings, settings)
            geometry = finish(work, line.tell)
    findings = Findings(found, pairs, comparison, differences, *metric, options.seed, geometry, picked, verdict, probes)
    return findings, words


def _words(
    found: tuple[Found, Found], about: Comparison, probes: ProbeChanges, settings: Settings, line: ProgressLine
) -> ExplainedPairs:
    """The words behind the pairs that show what was learned."""
    from explorer.encoding.load.loading import load
    from explorer.encoding.read.attention import EAGER
    from explorer.measuring.sentences.word_pairs import of_pairs
    from explorer.progress import finish

    @cache
    def loaded(model: Found) -> Encoder:
        return load(model, "float32", settings.device, attention=EAGER)

    sides = dict(zip("AB", zip(found, (about.one_reading, about.other_reading), strict=True), strict=True))
    pairs = [(one.first, one.second) for one in probes.pairs]
    return finish(of_pairs(sides, pairs, loaded, settings.max_length, settings.device), line.tell)


def _probes(
    found: tuple[Found, Found], about: Comparison, verdict: ComparisonVerdict, settings: Settings, line: ProgressLine
) -> ProbeChanges:
    """The changes of the probe packs: as the run measured them, else both models encode them."""
    from explorer.data.sample import probe_packs
    from explorer.measuring.scores.measure import load_encoder
    from explorer.measuring.sentences.probe_cosines import probed, sentences_of
    from explorer.measuring.sentences.sentence_vectors import of_reading
    from explorer.progress import finish
    from explorer.training.record.run_results import known_probes

    known = known_probes(found, verdict, [settings])
    if known is not None:
        return known
    sides = []
    for side, reading in zip(found, (about.one_reading, about.other_reading), strict=True):
        work = of_reading(load_encoder(side, settings), sentences_of(probe_packs()), reading, settings.max_length)
        sides.append(probed(probe_packs(), finish(work, line.tell)).by_pack)
    return verdict.probe_changes(probe_packs(), *sides)


def _check(options: argparse.Namespace, found: tuple[Found, Found]) -> None:
    """Refuse flags that contradict each other or the models, before minutes of work."""
    from explorer.encoding.load import declared
    from explorer.measuring.geometry.layer_geometry import check_pooling

    grids = [declared.poolings(one.folder) for one in found]
    check_pooling(options.pooling, [pooling for pooling in grids[0] if pooling in grids[1]])
    flags.check(options, *CHOSEN)


def _asked_for(options: argparse.Namespace, found: tuple[Found, Found]) -> tuple[Reading, Reading]:
    """The layer & pooling of each side: the one named, else the model default."""
    from explorer.encoding.load.declared import default_cell, named

    if options.same:
        title = default_cell(found[0].folder).title
        return named(title, found[0].folder), named(title, found[1].folder)
    titles = options.reading, options.other_reading or options.reading
    return named(titles[0], found[0].folder), named(titles[1], found[1].folder)


def _write(findings: Findings, words: ExplainedPairs, pooling: str, path: Path) -> None:
    from explorer.drawing.reports.report import report
    from explorer.places import write_whole

    page = report(findings, pooling, words)
    write_whole(path, lambda file: file.write(page), "Choose another path for the report.")
    say(f"Report written to {path}.")
