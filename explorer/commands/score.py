"""score: evaluate every layer & pooling on scored pairs.

Spearman's and Pearson's correlation (× 100) with human scores, for every layer & pooling. Higher is better, at most
100.
"""

import argparse

from explorer.commands.parts import flags, output
from explorer.data import sources
from explorer.encoding.load.declared import named, outside
from explorer.encoding.locate.model_names import find
from explorer.errors import BadChoice
from explorer.knobs import Knob
from explorer.measuring.scores import layer_scores
from explorer.measuring.scores.measure import Settings, measure

READING = Knob(
    "reading",
    (),
    "Also print one layer & pooling, in the grid or outside of it: 'last of layer 3', 'mean of layers 4-6', ….",
    metavar="TITLE",
    repeated=True,
)


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument(
        "model",
        metavar="MODEL",
        help="all-MiniLM-L6-v2 (bundled), a folder, or a hub id, optionally with @REVISION",
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


def run(options: argparse.Namespace) -> None:
    """Score, and print the scores."""
    # what cannot be is refused before minutes of work
    metric, columns = flags.metric(options), flags.roles(options)
    if columns and not sources.is_file(options.sts):
        raise BadChoice(f"--column is for files, but '{options.sts}' is a set whose columns are known. Leave it out.")
    pairs, report = sources.scored_pairs(options.sts, columns, options.online)
    if report is not None:
        output.say(report)
    found = find(options.model, online=options.online)
    asked = [named(title, found.folder) for title in options.reading]
    also = [one for reading in asked for one in outside(reading, found.folder)]
    scores = output.shown(measure(found, pairs, flags.read(options, Settings), also=also))
    if options.json:
        print(layer_scores.as_json(found, pairs, scores))
    elif options.csv:
        print(layer_scores.as_csv(layer_scores.score_rows(scores)), end="")
    else:
        print(layer_scores.as_text(found, pairs, scores, *metric, asked))
