"""shrink: which layers, dimensions and bits an encoder can do without.

Score and time an encoder that is cut after each layer, under each pooling, with fewer dimensions and fewer bits, all
from one encoding. The difference is to the whole model as people use it. With --export, write one of them as a folder
that transformers and sentence-transformers open.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.commands.parts import flags
from explorer.commands.parts.output import ProgressLine
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import BadChoice, NotWritable
from explorer.measuring.scores.measure import Settings
from explorer.places import given_path
from explorer.studies.size.points import SizeOptions

if TYPE_CHECKING:
    from explorer.studies.size.points import Size

FORMS = ("json", "csv", "markdown", "latex")


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("model", metavar="MODEL", help="A name, a folder, a hub id, or run:NAME")
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
    flags.add(verb, *SizeOptions.knobs.values())
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
    form = verb.add_mutually_exclusive_group()
    for name in FORMS:
        form.add_argument(f"--{name}", action="store_true", help=f"The table as {name}")


def run(options: argparse.Namespace) -> None:
    """Measure the sizes, and print the table."""
    from explorer.data import sources
    from explorer.data.search_corpus import of_source
    from explorer.encoding.locate.model_names import find
    from explorer.evaluating.tasks.judges import evaluated_on, judge_of
    from explorer.measuring.scores.measure import load_encoder
    from explorer.progress import finish
    from explorer.studies.size import points as size_points
    from explorer.studies.size.export import export
    from explorer.studies.size.picture import besides, limited, picture

    sizes = flags.read(options, SizeOptions)
    if options.export:
        _check_export(sizes, options.export)
    given = evaluated_on(sources.identity(options.on), options.online)
    text = of_source(options.text, online=options.online)
    models = [find(name, online=options.online) for name in (options.model, *options.others)]
    settings = flags.read(options, Settings)
    encoder, *more = [limited(load_encoder(one, settings), settings.max_length) for one in models]
    with ProgressLine() as line:
        found = finish(picture(encoder, given, text, sizes, more), line.tell)
        if options.export:
            point = next(one for one in found.points if _is_named(one.size, sizes))
            fit_on = besides(text, judge_of(given, encoder))
            finish(export(encoder, models[0], found, point, fit_on, options.export), line.tell)
    form = next((form for form in FORMS if getattr(options, form)), "text")
    print(size_points.as_text(found, form), end="")


def _check_export(sizes: SizeOptions, folder: Path) -> None:
    """Refuse an export of several sizes, or onto a folder that exists, before anything is measured."""
    layers = 1 if sizes.poolings == (MODEL_DEFAULT,) else len(sizes.layers)
    if {layers, len(sizes.poolings), len(sizes.dimensions), len(sizes.stored)} != {1}:
        raise BadChoice(
            "--export writes one encoder. Give --layers, --poolings, --dimensions and --stored one value each, for "
            "example --layers 3 --poolings mean --dimensions 128 --stored int8."
        )
    if folder.exists():
        raise NotWritable(f"{folder} exists already and is not overwritten. Choose another name, or remove it.")


def _is_named(size: Size, sizes: SizeOptions) -> bool:
    return (size.pooling, size.dimensions, size.stored) == (*sizes.poolings, *sizes.dimensions, *sizes.stored)
