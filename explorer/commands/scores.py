"""Score encoders on one evaluation set: one under every layer & pooling, two in comparison, or one in many sizes."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from explorer.commands.parts import flags, output
from explorer.data import corpora, sample, sources, text_sets
from explorer.data.graded import sets
from explorer.encoding.load import declared, loading
from explorer.encoding.locate.model_names import Found, find
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.pooling import MODEL_DEFAULT, Reading
from explorer.errors import BadChoice, NotWritable
from explorer.evaluating.tasks.judges import evaluated_on, judge_of
from explorer.knobs import Knob
from explorer.measuring.comparing import comparison_report, learned_facts
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_verdict import ComparisonVerdict
from explorer.measuring.geometry.layer_geometry import check_pooling, layer_geometry
from explorer.measuring.scores import best_cell, layer_scores
from explorer.measuring.scores.measure import Settings, load_encoder, measure
from explorer.measuring.sentences.probe_cosines import probed, sentences_of
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.measuring.sentences.word_pairs import ExplainedPairs, of_pairs
from explorer.places import given_path
from explorer.studies.size import picture, points, small_encoder
from explorer.training.record.run_results import known_probes, verdict_on

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

READING = Knob(
    "reading",
    (),
    "Also print one layer & pooling, in the grid or outside of it: 'last of layer 3', 'mean of layers 4-6', ….",
    metavar="TITLE",
    repeated=True,
)


def score_flags(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument(
        "model",
        metavar="MODEL",
        help="all-MiniLM-L6-v2 (bundled), a folder, a hub id, optionally with @REVISION, or run:NAME",
    )
    verb.add_argument(
        "--sts",
        default="sample",
        metavar="FILE|NAME",
        help="A file of scored pairs, a set by name ('STS-B', 'STS-B dev', 'STS12', …), or 'sample' (default)",
    )
    flags.add(verb, flags.COLUMN, READING, flags.METRIC, flags.AGGREGATE, *Settings.knobs.values(), flags.ONLINE)
    form = verb.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="Everything, as JSON")
    form.add_argument("--csv", action="store_true", help="One row per layer & pooling, as CSV")


def score(options: argparse.Namespace) -> None:
    """Evaluate every layer & pooling on scored pairs.

    Spearman's and Pearson's correlation (× 100) with human scores, for every layer & pooling. Higher is better, at most
    100.
    """
    # what cannot be is refused before minutes of work
    metric, columns = flags.metric(options), flags.roles(options)
    if columns and not sources.is_file(options.sts):
        raise BadChoice(f"--column is for files, but '{options.sts}' is a set whose columns are known. Leave it out.")
    pairs, report = sources.scored_pairs(options.sts, columns, options.online)
    if report is not None:
        output.say(report)
    found = find(options.model, online=options.online)
    asked = [declared.named(title, found.folder) for title in options.reading]
    also = [one for reading in asked for one in declared.outside(reading, found.folder)]
    scores = output.shown(measure(found, pairs, flags.read(options, Settings), also=also))
    if options.json:
        print(layer_scores.as_json(found, pairs, scores))
    elif options.csv:
        print(layer_scores.as_csv(layer_scores.score_rows(scores)), end="")
    else:
        print(layer_scores.as_text(found, pairs, scores, *metric, asked))


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


def compare_flags(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("one", metavar="A", help=f"An encoder: {flags.A_MODEL} for the model of a run")
    verb.add_argument("other", metavar="B", help="The encoder to compare with A, given in the same way")
    test = sources.written(sets.halves()[1])
    help = f"Evaluation set (default: '{test}', since runs choose their checkpoint on the other half)"
    verb.add_argument("--sts", default=test, metavar="FILE|NAME", help=help)
    flags.add(verb, *CHOSEN)
    flags.add(verb, flags.METRIC, flags.AGGREGATE, SEED, *Settings.knobs.values(), flags.ONLINE)
    verb.add_argument("--geometry", action="store_true", help="Also the embedding geometry of every layer, and drift")
    verb.add_argument("--pooling", default="mean", help="Pooling of geometry and line plots: a column of the grid")
    verb.add_argument("--report", type=given_path, metavar="FILE", help="Write everything as one HTML file")
    verb.add_argument("--json", action="store_true", help="Everything, as JSON")


def compare(options: argparse.Namespace) -> None:
    """Score two encoders on the same pairs, with intervals on the differences.

    Score A and B on the same scored pairs, each under its model default, and print the verdict first. An interval is
    the 95 % CI by a paired bootstrap, of few pairs by Student's t: if it includes 0, the difference could be chance.
    """
    metric = flags.metric(options)
    found = find(options.one, online=options.online), find(options.other, online=options.online)
    # flags that contradict each other or the models are refused before minutes of work
    grids = [declared.poolings(one.folder) for one in found]
    check_pooling(options.pooling, [pooling for pooling in grids[0] if pooling in grids[1]])
    flags.check(options, *CHOSEN)
    pairs, _ = sources.scored_pairs(options.sts, online=options.online)
    dev = sources.scored_pairs(options.dev, online=options.online)[0] if options.dev else None
    settings = flags.read(options, Settings)

    def scored(
        on: text_sets.GradedPairs, *chosen: Reading
    ) -> tuple[layer_scores.LayerScores, layer_scores.LayerScores]:
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
    picked = None if dev is None else best_cell.pick(dev, scored(dev, *asked), pairs, metric[0])
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
    differences = verdict.shown(differences)
    probes = known_probes(found, verdict, [settings])
    if probes is None:
        probes = _encoded_probes(found, about, verdict, settings)
    words, geometry = ExplainedPairs(), None
    if options.report:
        words = _words(found, about, probes, settings)
    if options.geometry or options.report:
        geometry = output.shown(layer_geometry(found, pairs, options.pooling, readings, settings))
    findings = comparison_report.Findings(
        found, pairs, comparison, differences, *metric, geometry, picked, verdict, probes
    )
    print(comparison_report.as_json(findings) if options.json else comparison_report.as_text(findings))
    if options.report:
        from explorer.drawing.reports.report import report

        output.write_report(options.report, report(findings, options.pooling, words))


def _encoded_probes(
    found: tuple[Found, Found], about: Comparison, verdict: ComparisonVerdict, settings: Settings
) -> learned_facts.Learned:
    packs, sides = sample.probe_packs(), list(zip(found, (about.one_reading, about.other_reading), strict=True))
    if verdict.tuning and verdict.trained:  # the base, as it is trained
        sides.append((found[1 - verdict.tuning.tuned], verdict.trained))
    made = []
    for side, reading in sides:
        work = of_reading(load_encoder(side, settings), sentences_of(packs), reading, settings.max_length)
        made.append(probed(packs, output.shown(work)).by_pack)
    return verdict.probe_changes(packs, *made)


def _words(
    found: tuple[Found, Found], about: Comparison, probes: learned_facts.Learned, settings: Settings
) -> ExplainedPairs:
    @cache
    def loaded(model: Found) -> Encoder:
        return loading.load(model, "float32", settings.device, attention=EAGER)

    sides = dict(zip("AB", zip(found, (about.one_reading, about.other_reading), strict=True), strict=True))
    pairs = [(one.first, one.second) for one in probes.pairs]
    return output.shown(of_pairs(sides, pairs, loaded, settings.max_length, settings.device))


def shrink_flags(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("model", metavar="MODEL", help=f"The encoder: {flags.A_MODEL}")
    verb.add_argument(
        "--on",
        default="sample",
        metavar="SET|FILE",
        help="Scored pairs, a retrieval set, triplets, or labelled texts such as TREC, by name or path (default: the "
        "sample pairs)",
    )
    verb.add_argument(
        "--text",
        default="sample",
        metavar="FILE|NAME",
        help="Sentences that PCA and int8 are fitted on (default: the sample); those of the set are left out",
    )
    flags.add(verb, *points.SizeOptions.knobs.values())
    verb.add_argument(
        "--with",
        dest="others",
        action="append",
        default=[],
        metavar="MODEL",
        help="Another encoder to show in the same table, such as run:NAME of method distil; repeatable",
    )
    verb.add_argument(
        "--export",
        type=given_path,
        metavar="DIR",
        help="Write the encoder of the one size that is named by --layers, --poolings, --dimensions and --stored",
    )
    flags.add(verb, *Settings.knobs.values(), flags.ONLINE)
    flags.add_forms(verb, json="The table as json")


def shrink(options: argparse.Namespace) -> None:
    """Which layers, dimensions and bits an encoder can do without.

    Score and time an encoder that is cut after each layer, under each pooling, with fewer dimensions and fewer bits,
    all from one encoding. The difference is to the whole model as people use it. With --export, write one of them as a
    folder that transformers and sentence-transformers open.
    """
    sizes = flags.read(options, points.SizeOptions)
    if options.export:  # refused before anything is measured
        layers = 1 if sizes.poolings == (MODEL_DEFAULT,) else len(sizes.layers)
        if {layers, len(sizes.poolings), len(sizes.dimensions), len(sizes.stored)} != {1}:
            raise BadChoice(
                "--export writes one encoder. Give --layers, --poolings, --dimensions and --stored one value each, for "
                "example --layers 3 --poolings mean --dimensions 128 --stored int8."
            )
        if options.export.exists():
            raise NotWritable(
                f"{options.export} exists already and is not overwritten. Choose another name, or remove it."
            )
    given = evaluated_on(sources.identity(options.on), options.online)
    text = corpora.of_source(options.text, online=options.online)
    models = [find(name, online=options.online) for name in (options.model, *options.others)]
    settings = flags.read(options, Settings)
    encoder, *more = [picture.limited(load_encoder(one, settings), settings.max_length) for one in models]
    found = output.shown(picture.picture(encoder, given, text, sizes, more))
    if options.export:
        named = (*sizes.poolings, *sizes.dimensions, *sizes.stored)
        sized = ((one, one.size) for one in found.points)
        point = next(one for one, size in sized if (size.pooling, size.dimensions, size.stored) == named)
        fitted_on = picture.besides(text, judge_of(given, encoder))
        judged = small_encoder.cosine_sets(given, sources.identity(options.on), encoder)
        output.shown(small_encoder.export(encoder, models[0], found, point, fitted_on, judged, options.export))
    print(points.as_text(found, flags.form(options) or "text"), end="")
