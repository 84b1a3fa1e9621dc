"""compare: score two encoders on the same pairs, with intervals on the differences.

Score A and B on the same scored pairs, each under its model default, and print the verdict first. An interval is the
95 % CI of 1,000 paired bootstrap resamples: if it includes 0, the difference could be chance.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from explorer.commands.parts import flags, output
from explorer.data import sample, sources
from explorer.encoding.load import declared, loading
from explorer.encoding.locate.model_names import Found, find
from explorer.encoding.read.attention import EAGER
from explorer.knobs import Knob
from explorer.measuring.comparing.comparison import Comparison, ComparisonVerdict
from explorer.measuring.comparing.comparison_report import Findings, as_json, as_text
from explorer.measuring.comparing.learned import Learned
from explorer.measuring.geometry.layer_geometry import check_pooling, layer_geometry
from explorer.measuring.scores.best_cell import pick
from explorer.measuring.scores.measure import Settings, load_encoder, measure
from explorer.measuring.sentences.probe_cosines import probed, sentences_of
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.measuring.sentences.word_pairs import ExplainedPairs, of_pairs
from explorer.places import given_path
from explorer.training.record.run_results import known_probes, verdict_on

if TYPE_CHECKING:
    from explorer.data.text_sets import GradedPairs
    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.read.pooling import Reading
    from explorer.measuring.scores.layer_scores import LayerScores

CHOSEN = (
    *flags.READINGS,
    Knob("same", False, "One layer & pooling for both: A's model default.", excludes=("reading", "other_reading")),
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
    metric = flags.metric(options)
    found = find(options.one, online=options.online), find(options.other, online=options.online)
    # flags that contradict each other or the models are refused before minutes of work
    grids = [declared.poolings(one.folder) for one in found]
    check_pooling(options.pooling, [pooling for pooling in grids[0] if pooling in grids[1]])
    flags.check(options, *CHOSEN)
    pairs, _ = sources.scored_pairs(options.sts, online=options.online)
    dev = sources.scored_pairs(options.dev, online=options.online)[0] if options.dev else None
    settings = flags.read(options, Settings)

    def scored(on: GradedPairs, *chosen: Reading) -> tuple[LayerScores, LayerScores]:
        one, other = (
            output.shown(measure(side, on, settings, also=[at])) for side, at in zip(found, chosen, strict=True)
        )
        return one, other

    titles = options.reading, options.other_reading or options.reading
    if options.same:
        default = declared.default_cell(found[0].folder).title
        titles = default, default
    asked = declared.named(titles[0], found[0].folder), declared.named(titles[1], found[1].folder)
    sides = scored(pairs, *asked)
    picked = None if dev is None else pick(dev, scored(dev, *asked), pairs, metric[0])
    readings = picked.readings if picked else asked
    comparison = Comparison(*sides, *readings, options.seed)
    differences = comparison.differences(*metric)
    about, verdict = verdict_on(
        found,
        pairs,
        comparison,
        *metric,
        lambda one: differences.chosen if one is comparison else one.chosen(*metric),
    )
    probes = known_probes(found, verdict, [settings])
    if probes is None:
        probes = _encoded_probes(found, about, verdict, settings)
    words, geometry = ExplainedPairs(), None
    if options.report:
        words = _words(found, about, probes, settings)
    if options.geometry or options.report:
        geometry = output.shown(layer_geometry(found, pairs, options.pooling, readings, settings))
    findings = Findings(found, pairs, comparison, differences, *metric, geometry, picked, verdict, probes)
    print(as_json(findings) if options.json else as_text(findings))
    if options.report:
        from explorer.drawing.reports.report import report

        output.write_report(options.report, report(findings, options.pooling, words))


def _encoded_probes(
    found: tuple[Found, Found], about: Comparison, verdict: ComparisonVerdict, settings: Settings
) -> Learned:
    """The changes of the probe packs, which both models encode."""
    packs, sides = sample.probe_packs(), []
    for side, reading in zip(found, (about.one_reading, about.other_reading), strict=True):
        work = of_reading(load_encoder(side, settings), sentences_of(packs), reading, settings.max_length)
        sides.append(probed(packs, output.shown(work)).by_pack)
    return verdict.probe_changes(packs, *sides)


def _words(found: tuple[Found, Found], about: Comparison, probes: Learned, settings: Settings) -> ExplainedPairs:
    """The words behind the pairs that show what was learned."""

    @cache
    def loaded(model: Found) -> Encoder:
        return loading.load(model, "float32", settings.device, attention=EAGER)

    sides = dict(zip("AB", zip(found, (about.one_reading, about.other_reading), strict=True), strict=True))
    pairs = [(one.first, one.second) for one in probes.pairs]
    return output.shown(of_pairs(sides, pairs, loaded, settings.max_length, settings.device))
