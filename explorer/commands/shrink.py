"""shrink: score and time an encoder with fewer layers, dimensions and bits, and export one that is small enough."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.commands.parts import shared_flags
from explorer.commands.parts.line import ProgressLine
from explorer.commands.parts.shared_flags import whole_numbers
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.errors import BadChoice, NotWritable
from explorer.places import given_path

if TYPE_CHECKING:
    from explorer.studies.size.points import Size, Wanted

FORMS = ("json", "csv", "markdown", "latex")


def add(verbs: Any) -> None:
    """State the flags."""
    verb = verbs.add_parser(
        "shrink",
        help="which layers, dimensions and bits an encoder can do without",
        description="Score and time an encoder that is cut after each layer, under each pooling, with fewer dimensions "
        "and fewer bits, all from one encoding. The difference is to the whole model as people use it. With --export, "
        "write one of them as a folder that transformers and sentence-transformers open.",
    )
    verb.set_defaults(verb=_shrink)
    verb.add_argument("model", metavar="MODEL", help="a name, a folder, a hub id, or run:NAME")
    verb.add_argument(
        "--on",
        default="sample",
        metavar="SET|FILE",
        help="scored pairs, a retrieval set, triplets, or labelled texts such as TREC, by name or path (default: the "
        "sample pairs)",
    )
    verb.add_argument(
        "--text",
        default="sample",
        metavar="FILE|NAME",
        help="sentences that PCA and int8 are fitted on (default: the sample); those of the set are left out",
    )
    verb.add_argument("--layers", default="", metavar="N,N", help="cut after these layers (default: each)")
    verb.add_argument(
        "--poolings",
        default="",
        metavar="NAME,NAME",
        help="model default, cls, mean, max, last, weighted mean, sqrt mean (default: those of the grid)",
    )
    verb.add_argument(
        "--dimensions", default="", metavar="N,N", help="of a vector (default: all, and halves down to 32)"
    )
    verb.add_argument("--stored", default="", metavar="NAME,NAME", help="float32, float16, int8, bits (default: all)")
    verb.add_argument(
        "--cut-by",
        default="pca",
        choices=("pca", "first"),
        help="fewer dimensions by PCA (default), or the first ones, for models trained so (Matryoshka)",
    )
    verb.add_argument(
        "--with",
        dest="others",
        action="append",
        default=[],
        metavar="MODEL",
        help="another encoder to show in the same table, such as run:NAME of method distil; repeatable",
    )
    verb.add_argument(
        "--export",
        type=given_path,
        metavar="DIR",
        help="write the encoder of the one size that is named by --layers, --poolings, --dimensions and --stored",
    )
    shared_flags.add(verb)
    form = verb.add_mutually_exclusive_group()
    for name in FORMS:
        form.add_argument(f"--{name}", action="store_true", help=f"the table as {name}")


def _shrink(options: argparse.Namespace) -> None:
    from explorer.data import sources
    from explorer.data.search_corpus import of_source
    from explorer.encoding.locate.model_names import find
    from explorer.evaluating.tasks.judges import evaluated_on, judge_of
    from explorer.measuring.scores.measure import load_encoder
    from explorer.progress import finish
    from explorer.studies.size import tables
    from explorer.studies.size.export import export
    from explorer.studies.size.picture import besides, limited, picture
    from explorer.studies.size.points import Wanted

    wanted = Wanted(
        layers=whole_numbers("--layers", options.layers),
        poolings=_names(options.poolings),
        dimensions=whole_numbers("--dimensions", options.dimensions),
        stored=_names(options.stored),
        way=options.cut_by,
    )
    if options.export:
        _check_export(wanted, options.export)
    given = evaluated_on(sources.identity(options.on), options.online)
    text = of_source(options.text, online=options.online)
    models = [find(name, online=options.online) for name in (options.model, *options.others)]
    settings = shared_flags.settings(options)
    encoder, *more = [limited(load_encoder(one, settings), options.max_length) for one in models]
    with ProgressLine() as line:
        found = finish(picture(encoder, given, text, wanted, more), line.tell)
        if options.export:
            point = next(one for one in found.points if _is_named(one.size, wanted))
            fit_on = besides(text, judge_of(given, encoder))
            finish(export(encoder, models[0], found, point, fit_on, options.export), line.tell)
    form = next((form for form in FORMS if getattr(options, form)), "text")
    print(tables.as_text(found, form), end="")


def _check_export(wanted: Wanted, folder: Path) -> None:
    """Refuse an export of several sizes, or onto a folder that exists, before anything is measured."""
    layers = 1 if wanted.poolings == (MODEL_DEFAULT,) else len(wanted.layers)
    if {layers, len(wanted.poolings), len(wanted.dimensions), len(wanted.stored)} != {1}:
        raise BadChoice(
            "--export writes one encoder. Give --layers, --poolings, --dimensions and --stored one value each, for "
            "example --layers 3 --poolings mean --dimensions 128 --stored int8."
        )
    if folder.exists():
        raise NotWritable(f"{folder} exists already and is not overwritten. Choose another name, or remove it.")


def _is_named(size: Size, wanted: Wanted) -> bool:
    return (size.pooling, size.dimensions, size.stored) == (*wanted.poolings, *wanted.dimensions, *wanted.stored)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
