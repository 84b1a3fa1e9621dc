"""generator: train a masked language model from an encoder, for the method diffcse.

Train a copy of an encoder to predict masked words of plain sentences. Pass the folder to diffcse as its setting
'generator' if the paper's model is not available.
"""

import argparse
from dataclasses import replace

from explorer.commands.parts import flags, output
from explorer.data.corpora import SAMPLE, corpus
from explorer.data.text_sets import SENTENCES
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.knobs import Knob
from explorer.measuring.scores.measure import Settings
from explorer.places import given_path

STEPS = Knob("steps", 1000, "Updates.", low=1)
SEED = replace(flags.SEED, default=1)


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("--model", default="all-MiniLM-L6-v2", help="The encoder: name or folder")
    verb.add_argument("--data", action="append", default=[], metavar="FILE|NAME", help="Sentences (default: sample)")
    verb.add_argument("--out", required=True, type=given_path, metavar="FOLDER", help="Where the generator is written")
    flags.add(verb, flags.COLUMN, STEPS, SEED, Settings.knobs["device"], flags.ONLINE)


def run(options: argparse.Namespace) -> None:
    """Train the generator, and print its folder."""
    from explorer.training.generator import make_generator

    text, reports = corpus(options.data or [SAMPLE], SENTENCES, flags.roles(options), online=options.online)
    for report in reports:
        output.say(report)
    encoder = load(find(options.model, online=options.online), precision="float32", device=options.device)
    found = output.shown(make_generator(encoder, text.texts[0], options.out, steps=options.steps, seed=options.seed))
    output.say(
        f"Of {found.words:,} masked words in held-out sentences, it predicts {100 * found.after:.1f} % right "
        f"({100 * found.before:.1f} % before)."
    )
    print(options.out)
