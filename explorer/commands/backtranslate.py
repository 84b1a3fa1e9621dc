"""backtranslate: translate sentences there and back, for the methods bt and bt-sg-opt.

Translate sentences into another language and back. An interrupted job continues where it stopped. The paper's models
are facebook/wmt19-en-de and facebook/wmt19-de-en, with a beam of 100.
"""

import argparse

from explorer.commands.parts import flags, output
from explorer.data.corpora import corpus
from explorer.data.text_sets import SENTENCES
from explorer.encoding.locate.model_names import find
from explorer.knobs import Knob
from explorer.measuring.scores.measure import Settings
from explorer.places import given_path

BEAMS = Knob("beams", 5, "Beam size of the search; the paper's is 100.", low=1)
BATCH = Knob("batch", 32, "Sentences translated at once.", low=1, metavar="ROWS")


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("data", nargs="+", metavar="FILE|NAME", help="Sentences: files, 'sample', 'STS-B', …")
    verb.add_argument(
        "--there", required=True, metavar="MODEL", help="Translates into the other language: name or folder"
    )
    verb.add_argument("--back", required=True, metavar="MODEL", help="Translates back: name or folder")
    verb.add_argument(
        "--out", required=True, type=given_path, metavar="FILE", help="The TSV to write: sentence and back_translation"
    )
    flags.add(verb, flags.COLUMN, BEAMS, BATCH, Settings.knobs["device"], flags.ONLINE)


def run(options: argparse.Namespace) -> None:
    """Translate, and print the file."""
    from explorer.training.backtranslation import backtranslate

    text, reports = corpus(options.data, SENTENCES, flags.roles(options), online=options.online)
    for report in reports:
        output.say(report)
    there, back = (find(model, online=options.online) for model in (options.there, options.back))
    work = backtranslate(
        text.texts[0], there, back, options.out, beams=options.beams, batch=options.batch, device=options.device
    )
    output.finish_or_stop(
        work, f"Stopped. What was translated is in {options.out}; the same command goes on from there."
    )
    print(options.out)
