"""shrink: which layers, dimensions and bits an encoder can do without.

Score and time an encoder that is cut after each layer, under each pooling, with fewer dimensions and fewer bits, all
from one encoding. The difference is to the whole model as people use it. With --export, write one of them as a folder
that transformers and sentence-transformers open.
"""

import argparse

from explorer.commands.parts import flags, output
from explorer.data import sources
from explorer.data.corpora import of_source
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import BadChoice, NotWritable
from explorer.evaluating.tasks.judges import evaluated_on, judge_of
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.places import given_path
from explorer.studies.size.picture import besides, export, limited, picture
from explorer.studies.size.points import SizeOptions, as_text


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
    flags.add_forms(verb, json="The table as json")


def run(options: argparse.Namespace) -> None:
    """Measure the sizes, and print the table."""
    sizes = flags.read(options, SizeOptions)
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
    text = of_source(options.text, online=options.online)
    models = [find(name, online=options.online) for name in (options.model, *options.others)]
    settings = flags.read(options, Settings)
    encoder, *more = [limited(load_encoder(one, settings), settings.max_length) for one in models]
    found = output.shown(picture(encoder, given, text, sizes, more))
    if options.export:
        named = (*sizes.poolings, *sizes.dimensions, *sizes.stored)
        sized = ((one, one.size) for one in found.points)
        point = next(one for one, size in sized if (size.pooling, size.dimensions, size.stored) == named)
        output.shown(export(encoder, models[0], found, point, besides(text, judge_of(given, encoder)), options.export))
    print(as_text(found, flags.form(options) or "text"), end="")
