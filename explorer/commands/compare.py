"""Compare two encoders on one evaluation set or on several, as a gate before one takes the place of the other."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from explorer.commands.parts import flags, output
from explorer.data import sample, sources
from explorer.data.graded import sets
from explorer.data.retrieval_sets import RetrievalSet, among
from explorer.data.set_items import ItemSet
from explorer.data.text_sets import related_pairs
from explorer.encoding.load import declared, loading
from explorer.encoding.load.chosen_prompts import SidePrompts
from explorer.encoding.locate.model_names import Found, find
from explorer.encoding.read.attention import EAGER
from explorer.errors import UNMEASURED, BadChoice, StrataError
from explorer.evaluating.kinds import judged
from explorer.evaluating.results.scored_task import Options
from explorer.measuring.comparing import comparison_report, learned_facts, splits
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_verdict import ComparisonVerdict
from explorer.measuring.geometry.layer_geometry import GeometryOptions, check_pooling, layer_geometry
from explorer.measuring.scores import best_cell
from explorer.measuring.scores.best_cell import ComparedReadings
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences.probe_cosines import probed, sentences_of
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.measuring.sentences.word_pairs import ExplainedPairs, of_pairs
from explorer.places import file_to_write, given_path, write_whole
from explorer.studies.gate import GateOptions, ScoredBy, compared, gate
from explorer.training.record.run_results import known_probes, named_set

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

WINDOWS, CORPUS = Options.knobs["windows"], Options.knobs["corpus"]


def compare_flags(verb: argparse.ArgumentParser) -> None:
    """Take two models, the sets that they are compared on, and the limits of a gate."""
    verb.add_argument("model_a", metavar="A", help=f"An encoder: {flags.A_MODEL} for the model of a run")
    verb.add_argument("model_b", metavar="B", help="The encoder to compare with A, given in the same way")
    test = sets.halves()[1].written
    verb.add_argument(
        "--on",
        "--sts",
        action="append",
        metavar="SET|FILE",
        help="Evaluation set of any kind: scored pairs, queries with passages, triplets, translations or labelled "
        f"texts, by name or path (default: '{test}', since runs choose their checkpoint on the other half); repeatable",
    )
    flags.add(verb, GateOptions)
    verb.add_argument("--junit", type=given_path, metavar="FILE", help="Write the gate as JUnit XML")
    flags.add(
        verb, ComparedReadings, SidePrompts, splits.SplitOptions, WINDOWS, CORPUS, ScoredBy, Settings, flags.ONLINE
    )
    flags.add(verb, GeometryOptions)
    flags.add_report(verb, "Write everything")
    verb.add_argument("--json", action="store_true", help="Everything, as JSON")


def compare(options: argparse.Namespace) -> int:
    """Score two encoders on the same set, with intervals on the differences.

    Score A and B on the same items, each under its model default, and print the verdict first. An interval is the 95 %
    CI by a paired bootstrap, of few items by Student's t: if it includes 0, the difference could be chance. With
    several sets, or as a gate, print a line for each.
    """
    names = options.on or [sets.halves()[1].written]
    gated = options.fail_if_worse or options.junit is not None or options.by is not None
    if gated or len(names) > 1:
        return _gated(options, names)
    _on_one_set(options, names[0])
    return 0


def _gated(options: argparse.Namespace, names: list[str]) -> int:
    """A line for each set; without `--fail-if-worse` a worse model does not change the exit code."""
    readings, limits = flags.read(options, ComparedReadings), flags.read(options, GateOptions)
    given = {"--dev": options.dev, "--geometry": options.geometry, "--report": options.report, "--split": options.split}
    for flag, stated in given.items():
        if stated:
            raise BadChoice(f"{flag} is for one set, without --fail-if-worse, --by and --junit. Leave it out.")
    try:
        if options.junit:
            file_to_write(options.junit)  # refused here, and not with the flags, for the exit code of the gate
        models = _models(options)
        corpus = sources.passages(options.corpus) if options.corpus else None
        sides, by = readings.of_both(*models), flags.read(options, ScoredBy)
        about = names, sides, _settings(options), by.metric, by.aggregate, by.seed, limits.by
        outcome = output.shown(gate(models, *about, online=options.online, corpus=corpus))
        outcome = replace(outcome, keeps_out=options.fail_if_worse)
        if options.junit:
            page = outcome.junit()
            write_whole(options.junit, lambda file: file.write(page), "Choose another path for the JUnit file.")
    except StrataError as error:
        if not options.fail_if_worse:
            raise
        output.say(error)  # an exit code of 1 would read as worse
        return UNMEASURED
    print(json.dumps(outcome.as_json(), indent=1, ensure_ascii=False) if options.json else "\n".join(outcome.lines()))
    return outcome.exit_code


def _models(options: argparse.Namespace) -> tuple[Found, Found]:
    found = find(options.model_a, online=options.online), find(options.model_b, online=options.online)
    return flags.read(options, SidePrompts).of_both(*found)


def _settings(options: argparse.Namespace) -> Settings:
    return replace(flags.read(options, Settings), windows=options.windows)


def _evaluation_set(options: argparse.Namespace, name: str) -> ItemSet:
    """The set by its name; flags that have no effect on it are refused."""
    given = named_set(name, options.online)
    for flag, stated in (("--windows", options.windows), ("--corpus", options.corpus)):
        if stated and not given.pool:
            raise BadChoice(f"{flag} is for queries with passages, and {given.name} has none. Leave it out.")
    if options.geometry and related_pairs(given) is None:
        raise BadChoice(
            f"--geometry is of pairs of texts, and {given.name} has single texts with labels. Leave it out, or name "
            "scored pairs, triplets or queries."
        )
    if options.corpus and isinstance(given, RetrievalSet):
        return among(given, sources.passages(options.corpus))
    return given


def _dev_set(options: argparse.Namespace, given: ItemSet, metric: str) -> ItemSet | None:
    """The set that chooses the layers & poolings, if one is named; it has the metric of the evaluation set."""
    dev = named_set(options.dev, options.online) if options.dev else None
    if dev is not None and metric not in judged(dev).measures:
        raise BadChoice(
            f"--dev {options.dev} has no {metric}, by which {given.name} is scored. Name a dev set of the same kind of "
            "data, or leave it out."
        )
    return dev


def _on_one_set(options: argparse.Namespace, name: str) -> None:
    """The verdict and every layer & pooling, as text or JSON, and as a report."""
    by, models, settings = flags.read(options, ScoredBy), _models(options), _settings(options)
    # flags that contradict each other or the models are refused before minutes of work
    grids = [declared.poolings(model.folder) for model in models]
    check_pooling(options.pooling, [pooling for pooling in grids[0] if pooling in grids[1]])
    readings, given = flags.read(options, ComparedReadings), _evaluation_set(options, name)
    metric = judged(given).measure_named(by.metric)
    dev = _dev_set(options, given, metric)
    column = splits.named(given.split_columns, options.split, given.name) if options.split else None
    how = settings, metric, by.aggregate, by.seed
    result, picked = output.shown(compared(models, given, readings.of_both(*models), *how)), None
    if dev is not None:
        sides = (output.shown(judged(dev).measured(model, settings)) for model in models)
        picked = best_cell.pick(dev, (next(sides), next(sides)), given, metric)
        result = output.shown(compared(models, given, picked.readings, *how))
    comparison, verdict, metric = result.comparison, result.verdict, result.metric
    differences = verdict.shown(comparison.differences(metric, by.aggregate))
    probes = known_probes(models, verdict, [settings])
    if probes is None:
        probes = _encoded_probes(models, result.about, verdict, settings)
    words, geometry, pairs = ExplainedPairs(), None, related_pairs(given)
    if options.report:
        words = _words(models, result.about, probes, settings)
    if pairs is not None and (options.geometry or options.report):
        both = comparison.one_reading, comparison.other_reading
        geometry = output.shown(layer_geometry(models, pairs, options.pooling, both, settings))
    split = splits.split(comparison, column, metric, intervals=verdict.is_test) if column else None
    named = comparison_report.NamedAs((options.model_a, options.model_b), name, settings, options.dev)
    numbers = comparison, differences, metric, by.aggregate, geometry, picked, verdict, probes
    findings = comparison_report.Findings(models, given, *numbers, named, split)
    print(comparison_report.as_json(findings) if options.json else comparison_report.as_text(findings))
    if options.report:
        from explorer.drawing.reports.report import report

        output.write_report(options.report, report(findings, options.pooling, words))


def _encoded_probes(
    models: tuple[Found, Found], about: Comparison, verdict: ComparisonVerdict, settings: Settings
) -> learned_facts.Learned:
    packs, sides = sample.probe_packs(), list(zip(models, (about.one_reading, about.other_reading), strict=True))
    if verdict.tuning and verdict.trained:  # the base, as it is trained
        sides.append((models[1 - verdict.tuning.tuned], verdict.trained))
    made = []
    for side, reading in sides:
        work = of_reading(load_encoder(side, settings), sentences_of(packs), reading, settings.max_length)
        made.append(probed(packs, output.shown(work)).by_pack)
    return verdict.probe_changes(packs, *made)


def _words(
    models: tuple[Found, Found], about: Comparison, probes: learned_facts.Learned, settings: Settings
) -> ExplainedPairs:
    @cache
    def loaded(model: Found) -> Encoder:
        return loading.load(model, "float32", settings.device, attention=EAGER)

    sides = dict(zip("AB", zip(models, (about.one_reading, about.other_reading), strict=True), strict=True))
    pairs = [(one.first, one.second) for one in probes.shown_pairs]
    return output.shown(of_pairs(sides, pairs, loaded, settings.max_length, settings.device))
