"""Explain the cosine of two sentences by their words, under one encoder or two."""

import argparse
import json
from dataclasses import replace
from functools import cache, partial

from explorer.commands.parts import flags, output
from explorer.data import sources
from explorer.data.labelled import labelled_sets
from explorer.data.set_items import ItemSet
from explorer.data.text_sets import related_pairs
from explorer.encoding.load import declared, loading
from explorer.encoding.locate import lookup
from explorer.encoding.locate.model_names import Found, find
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.pooling import Reading
from explorer.errors import BadChoice, WrongColumns
from explorer.evaluating.kinds import held
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences import edit_tables, word_pairs, word_tables
from explorer.progress import Progress, finish
from explorer.run_folder import RUN
from explorer.training.record.run_results import named_set

Pairs = tuple[tuple[str, str], ...]
Sides = dict[str, tuple[Found, Reading]]

NEXT = (
    'Give two sentences, as in explain "It is far." "It is not far." A B, or a file of pairs: explain --pairs FILE A B.'
)

MEASURED = Settings.knobs["max_length"], Settings.knobs["device"]  # all is computed in float32


def explain_flags(verb: argparse.ArgumentParser) -> None:
    """Take two sentences or a file of pairs, one model or two, and what words are compared with."""
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
    flags.add(verb, declared.SideReadings, word_pairs.WordOptions, *MEASURED, flags.ONLINE)
    flags.add_report(verb, "Write everything", "--html")
    verb.add_argument("--json", action="store_true", help="Everything, as JSON; of --pairs, a list and the mean cost")


def explain(options: argparse.Namespace) -> None:
    """Which difference lowers a cosine, and which words make two sentences similar, under one encoder or two.

    Share out 1 minus the cosine of two sentences, or of every pair in a file, among the words that differ (Shapley
    values), and split the cosine into an exact sum over all words (integrated gradients of the whole encoder). With two
    encoders, the change of every word is shown too. Of several pairs, the mean cost follows them.
    """
    pairs, names = _given(options)
    found = [find(name, online=options.online) for name in names]
    readings = flags.read(options, declared.SideReadings).of(*(one.folder for one in found))
    sides: Sides = dict(zip("AB", zip(found, readings, strict=True), strict=False))
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
    mean = word_tables.mean_of(explained)
    if options.json:
        values = [word_tables.content(one, options.reference, models) for one in explained]
        whole = {"pairs": values, "mean cost": None if mean is None else edit_tables.mean_content(mean)}
        print(json.dumps(whole if options.pairs else values[0], ensure_ascii=False, indent=1))
    else:
        print("\n\n".join(word_tables.as_text(one.sentences, models, one.pairs) for one in explained))
        if mean is not None:
            print(f"\n{edit_tables.mean_text(mean)}")
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
    given: ItemSet | None = sources.triplets(source) if is_file else None
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
    given = given or named_set(source, online)
    if known := related_pairs(given):
        return tuple(zip(known.first, known.second, strict=True))
    columns = [*given.text_columns.values()]  # pairs with labels, such as those of MRPC
    if len(columns) < 2:
        raise BadChoice(f"--pairs is for pairs of sentences, and {held(given, source)}")
    return tuple(zip(columns[0], columns[1], strict=True))


def _explained(
    pairs: Pairs, sides: Sides, options: argparse.Namespace
) -> tuple[list[word_pairs.Explained], KeyboardInterrupt | None]:
    """Every pair under every side, or those that were done when a signal came."""
    loads = {
        side: cache(partial(loading.load, found, "float32", options.device, attention=EAGER))
        for side, (found, _) in sides.items()
    }
    settings = flags.read(options, word_pairs.WordOptions).reference, options.max_length, options.device
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
