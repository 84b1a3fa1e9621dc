"""List the methods, and make what some of them need: back-translations, a generator, or hard negatives."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING, Any

from explorer.commands.parts import flags, output
from explorer.data import corpora, reference_scores, sources, text_sets
from explorer.encoding.load import loading
from explorer.encoding.locate import lookup
from explorer.encoding.locate.model_names import find
from explorer.evaluating.results import table_formats
from explorer.knobs import Knob, Values
from explorer.measuring.scores.measure import Settings
from explorer.places import file_to_write, given_path

if TYPE_CHECKING:
    from explorer.methods import Method

PREFACE = """\
# The methods

Written by `python -m explorer methods --markdown`. A method with settings of its own lists them; what all share (steps,
batch size, learning rate and others) is shown by `python -m explorer methods NAME`, with every default and range. The
preset *quick*, which all have, is a short trial: 100 steps of at most 16 rows, and what the method adds to it.

{}\
"""
FEW = 20  # negatives that are printed
STOPPED = "Stopped. The vectors of an encoder that were complete are kept; the same command goes on from there."
CLOSER, FARTHER = "closer than the positive: perhaps a right answer", "farther than the positive"
NUMBERS = ("rank", "cosine", "guide")  # columns of the printed table, before the texts
TEXTS = ("anchor", "positive", "negative")
SHORT = 40  # characters of a text in it


def methods_flags(verb: argparse.ArgumentParser) -> None:
    """Take a method to show, or none for the list."""
    verb.add_argument("method", nargs="?", metavar="METHOD", help="Show one method with its settings")
    verb.add_argument("--json", action="store_true", help="All methods with all settings, as JSON")
    verb.add_argument("--markdown", action="store_true", help="All methods as a page of Markdown")


def methods(options: argparse.Namespace) -> None:
    """List the methods and their settings.

    Every method with its paper and settings.
    """
    from explorer.methods import load, names

    kinds = [load(name) for name in ([options.method] if options.method else names())]
    if options.json:
        print(json.dumps([_facts(kind) for kind in kinds], indent=1, ensure_ascii=False))
    elif options.markdown:
        families: dict[str, list[type[Method]]] = {}
        for kind in kinds:
            families.setdefault(kind.family, []).append(kind)
        sections = ([f"## {family}", *map(_section, of_family)] for family, of_family in families.items())
        print("\n\n".join([PREFACE.format(reference_scores.measured_source()), *chain.from_iterable(sections)]))
    elif options.method:
        print("\n".join(_page(kinds[0])))
    else:
        width = max(len(kind.name) for kind in kinds)
        for kind in kinds:
            print(f"{kind.name:{width}}  {kind.title()}")


def _facts(kind: type[Method]) -> dict[str, Any]:
    from explorer.methods import knobs_of, presets, released_values

    released = released_values(kind)
    return {
        "name": kind.name,
        "title": kind.title(),
        "about": kind.about(),
        "when_to_use": kind.when_to_use,
        "measured": [asdict(row) for row in reference_scores.measured_rows(kind.name)],
        "family": kind.family,
        "trains": kind.trains(),
        "rows": kind.rows.name,
        "paper": kind.paper.line,
        "link": kind.paper.link,
        "by_family": {family: dict(values) for family, values in kind.by_family.items()},
        "presets": {name: dict(values) for name, values in presets(kind).items() if values},
        "needs": [{"name": need.name, "there": need.there(), "how": need.how} for need in kind.needs],
        "knobs": [
            {
                "name": knob.name,
                "default": knob.default,
                "paper": knob.paper_value,
                "released": released[knob.name],
                "allowed": knob.allowed,
                "help": knob.help,
            }
            for knob in knobs_of(kind).values()
        ],
    }


def _page(kind: type[Method]) -> Iterator[str]:
    from explorer.methods import knobs_of, presets, released_values

    for paragraph in _described(kind):
        yield from (paragraph, "")
    yield f"Family: {kind.family}. Trains on {kind.rows.title}. {kind.paper.line}: {kind.paper.link}"
    for need in kind.needs:
        here = "on this machine." if need.there() else f"not on this machine. {need.how}"
        yield f"Needs {need.name}, which is {here}"
    yield ""
    released = released_values(kind)
    for name, knob in knobs_of(kind).items():
        paper = "" if knob.paper_value == knob.default else f"; the paper's value: {Knob.text(knob.paper_value)}"
        code = "" if released[name] == knob.paper_value else f"; the released code's: {Knob.text(released[name])}"
        yield f"  {name} = {knob.default}   ({knob.allowed}{paper}{code})"
        yield f"      {knob.help}"
    yield from (f"  The paper's values for {family}: {values}" for family, values in _in_words(kind.by_family))
    yield from (f"  Preset '{preset}': {values}" for preset, values in _in_words(presets(kind)))


def _section(kind: type[Method]) -> str:
    settings = []
    for name, knob in kind.knobs.items():
        paper = "" if knob.paper is None else f"; paper: {Knob.text(knob.paper)}"
        code = f"; released code: {Knob.text(kind.released[name])}" if name in kind.released else ""
        settings.append(f"- `{name}` = {Knob.text(knob.default)} ({knob.allowed}{paper}{code}): {knob.help}")
    settings += [f"- The paper's values for {family}: {values}." for family, values in _in_words(kind.by_family)]
    settings += [f"- Preset *{preset}*: {values}." for preset, values in _in_words(kind.presets)]
    needs = "".join(f" Needs {need.name}." for need in kind.needs)
    source = f"Trains on {kind.rows.title}. [{kind.paper.line}]({kind.paper.link}).{needs}"
    title, about, *advice = _described(kind)
    return "\n\n".join([f"### `{kind.name}`", title, *advice, about, source, *["\n".join(settings)] * bool(settings)])


def _described(kind: type[Method]) -> list[str]:
    """Its title, what it does in lines of 120 characters at most, and when to use it, if that is known."""
    about = "\n\n".join(fill(paragraph, 120, break_on_hyphens=False) for paragraph in kind.about().split("\n\n"))
    advice = reference_scores.advice(kind.name, kind.when_to_use)
    return [kind.title(), about, *[advice] * bool(advice)]


def _in_words(sets: Mapping[str, Values]) -> Iterator[tuple[str, str]]:
    """Sets of values by name, in words; empty ones are left out."""
    for name, values in sets.items():
        if values:
            yield name, ", ".join(f"{knob} {Knob.text(value)}" for knob, value in values.items())


def backtranslate_flags(verb: argparse.ArgumentParser) -> None:
    """Take sentences, the two translators, and the file to write."""
    from explorer.training.backtranslation import TranslationOptions

    verb.add_argument("data", nargs="+", metavar="FILE|NAME", help="Sentences: files, 'sample', 'STS-B', …")
    verb.add_argument(
        "--there",
        required=True,
        metavar="MODEL",
        help="Translates into the other language: a name, a folder, or a hub id",
    )
    verb.add_argument("--back", required=True, metavar="MODEL", help="Translates back: a name, a folder, or a hub id")
    verb.add_argument(
        "--out",
        required=True,
        type=file_to_write,
        metavar="FILE",
        help="The TSV to write: sentence and back_translation",
    )
    flags.add(verb, flags.COLUMN, TranslationOptions, Settings.knobs["device"], flags.ONLINE)


def backtranslate(options: argparse.Namespace) -> None:
    """Translate sentences there and back, for the methods bt and bt-sg-opt.

    Translate sentences into another language and back. An interrupted job continues where it stopped. The paper's
    models are facebook/wmt19-en-de and facebook/wmt19-de-en, with a beam of 100.
    """
    from explorer.training.backtranslation import TranslationOptions, backtranslate

    given = sources.texts(options.data)
    text, reports = corpora.corpus(given, text_sets.SENTENCES, flags.roles(options), online=options.online)
    for report in reports:
        output.say(report)
    there, back = (find(model, online=options.online) for model in (options.there, options.back))
    wanted = flags.read(options, TranslationOptions)
    work = backtranslate(text.texts[0], there, back, options.out, **wanted.by_name(), device=options.device)
    output.finish_or_stop(
        work, f"Stopped. What was translated is in {options.out}; the same command goes on from there."
    )
    print(options.out)


def generator_flags(verb: argparse.ArgumentParser) -> None:
    """Take the encoder, the sentences to train on, and the folder of the generator."""
    from explorer.training.generator import GeneratorOptions

    verb.add_argument(
        "--model",
        default=lookup.BUNDLED,
        metavar="MODEL",
        help=f"The encoder: {flags.A_MODEL} (default: {lookup.BUNDLED})",
    )
    verb.add_argument("--data", action="append", default=[], metavar="FILE|NAME", help="Sentences (default: sample)")
    verb.add_argument("--out", required=True, type=given_path, metavar="FOLDER", help="Where the generator is written")
    flags.add(verb, flags.COLUMN, GeneratorOptions, Settings.knobs["device"], flags.ONLINE)


def generator(options: argparse.Namespace) -> None:
    """Train a masked language model from an encoder, for the method diffcse.

    Train a copy of an encoder to predict masked words of plain sentences. Pass the folder to diffcse as its setting
    'generator' if the paper's model is not available.
    """
    from explorer.training.generator import GeneratorOptions, make_generator

    given = sources.texts(options.data or [corpora.SAMPLE])
    text, reports = corpora.corpus(given, text_sets.SENTENCES, flags.roles(options), online=options.online)
    for report in reports:
        output.say(report)
    encoder = loading.load(find(options.model, online=options.online), precision="float32", device=options.device)
    wanted = flags.read(options, GeneratorOptions)
    found = output.shown(make_generator(encoder, text.texts[0], options.out, **wanted.by_name()))
    output.say(
        f"Of {found.words:,} masked words in held-out sentences, it predicts {100 * found.after:.1f} % right "
        f"({100 * found.before:.1f} % before)."
    )
    print(options.out)


def mine_flags(verb: argparse.ArgumentParser) -> None:
    """Take a text of pairs, the encoder that mines, and how."""
    from explorer.training.recipe import Recipe

    verb.add_argument("texts", nargs="+", metavar="TEXT", help="Files of pairs, or sets of pairs by name")
    flags.add(verb, *(Recipe.knobs[name] for name in ("model", "device")), *_mining(), flags.COLUMN, flags.ONLINE)
    forms = verb.add_mutually_exclusive_group()
    forms.add_argument("--csv", action="store_true", help="All, as CSV: triplets that 'train' reads")
    forms.add_argument("--json", action="store_true", help="All, as JSON")


def mine(options: argparse.Namespace) -> None:
    """Mine hard negatives of pairs, and say which may be right answers.

    For each row: the second texts of other rows that are nearest to the first, with their rank, their cosine, and
    whether a guide finds them closer than the row's own second text. It says how many are, and prints those first;
    --csv and --json have all in the order of the text. 'train contrast --set hard_negatives=1' mines with the same
    settings among the rows that it trains on, and takes the same --set guide=…, --set drop_closer=on, --set dropped=….
    """
    from explorer.methods import MinedNegatives
    from explorer.studies import mined_rows

    wanted = MinedNegatives.mining({one.name: getattr(options, one.name) for one in _mining()})
    assert wanted is not None, "at least one for each row"
    given = sources.texts(options.texts)
    rows, reports = corpora.corpus(given, text_sets.PAIRS, flags.roles(options), online=options.online)
    for report in reports:
        for line in report.dropped:
            output.say(line)
    model = find(options.model, online=options.online)
    if wanted.guide != MinedNegatives.knobs["guide"].default:
        find(wanted.guide, online=options.online)  # refused before anything is encoded
    mined = output.finish_or_stop(mined_rows.of_rows(rows, model, wanted, options.device), STOPPED)
    text = mined_rows.summary(mined)
    if options.json:
        content = {"summary": text, "rows": len(rows), "negatives": mined_rows.as_rows(mined)}
        print(json.dumps(content, ensure_ascii=False, indent=1))
    elif options.csv:
        output.say(text)
        print(mined_rows.as_csv(mined), end="")
    else:
        first = mined_rows.as_rows(mined, mined_rows.suspicious_first(mined)[:FEW])
        print(f"{text}\n\n{_mined_table(first)}")


def _mining() -> tuple[Knob, ...]:
    """The settings of mining, with one negative for each row where none is asked for."""
    from explorer.methods import MinedNegatives, mining_knobs

    knobs = mining_knobs(MinedNegatives)
    help = (
        "Hard negatives per row: the second texts nearest to the first one, within the window of ranks and the margin."
    )
    knobs["hard_negatives"] = replace(knobs["hard_negatives"], default=1, low=1, help=help)
    return tuple(knobs.values())


def _mined_table(lines: list[dict[str, object]]) -> str:
    """The first lines as a table, with the beginnings of their texts."""
    header = [table_formats.TableColumn(name, is_text=True) for name in (*NUMBERS, "opinion", "id", *TEXTS)]
    rows = [
        [
            *("" if line[name] is None else str(line[name]) for name in NUMBERS),
            CLOSER if line["is_closer"] else FARTHER,
            str(line["id"]),
            *(_beginning(str(line[name])) for name in TEXTS),
        ]
        for line in lines
    ]
    return table_formats.as_text(header, rows)


def _beginning(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"
