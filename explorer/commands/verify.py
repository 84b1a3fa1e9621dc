"""Compare vectors of a server with those of a model here, and name the setting that explains a difference."""

import argparse
import json

from explorer.commands.parts import flags, output
from explorer.data.vectors import opening
from explorer.encoding.load import chosen_prompts
from explorer.encoding.locate.model_names import find
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.studies.serving import given_vectors, verification
from explorer.studies.size.picture import limited


def verify_flags(verb: argparse.ArgumentParser) -> None:
    """Take a model, and the vectors that a server computed with it."""
    verb.add_argument("model", metavar="MODEL", help=f"The encoder that the server runs: {flags.A_MODEL}")
    verb.add_argument(
        "vectors",
        metavar="VECTORS",
        help="Its vectors: .npy with a text file, .parquet, .jsonl or .json with sentences and vectors, or the .json "
        "answer of an API with a text file",
    )
    flags.add(verb, given_vectors.VerifyOptions, chosen_prompts.ChosenPrompt, Settings, flags.ONLINE)
    verb.add_argument("--json", action="store_true", help="Everything, as JSON")


def verify(options: argparse.Namespace) -> int:
    """Check that a server computes the vectors of a model.

    Compare vectors that a server, an API or another library computed with those of the same model here. If they
    differ, try other settings until one explains the difference: pooling, layer, normalisation, prompt, length, case,
    special tokens, padding, dense layers, dimensions, rounding, order of the rows, or two at once. Exit with 1 if the
    vectors differ by more than rounding.
    """
    asked = flags.read(options, given_vectors.VerifyOptions)
    model = chosen_prompts.after(find(options.model, online=options.online), options.prompt)
    files = opening.opened(options.vectors, asked.text, flags.roles(options))
    given = output.shown(given_vectors.read(files))
    encoder = limited(load_encoder(model, flags.read(options, Settings)), options.max_length)
    found = output.shown(verification.verify(model, encoder, given, asked))
    print(json.dumps(found.as_json(), ensure_ascii=False, indent=1) if options.json else found.as_text())
    return 0 if found.agrees else 1
