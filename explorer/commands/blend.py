"""Blend what a run trained with its base, from the command line."""

from __future__ import annotations

import argparse
import json

from explorer.commands.parts import flags, output
from explorer.errors import NotWritable
from explorer.knobs import Knob
from explorer.places import given_path
from explorer.studies.blend import blending
from explorer.studies.blend.blend_curve import POINTS, as_json, as_text
from explorer.training.record import runs

ALPHA = Knob(
    "alpha",
    None,
    "The share of the tuned model, from 0 to 1.",
    item=float,
    low=0,
    high=1,
    empty="the best of the curve on the dev set",
    metavar="NUMBER",
)
CURVE = Knob("points", POINTS, "How many shares the curve has, the base and the tuned model included.", low=2, high=101)


def blend_flags(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("runs", nargs="+", metavar="RUN", help="The name of a run, or its folder")
    flags.add(verb, ALPHA, CURVE)
    verb.add_argument("--export", type=given_path, metavar="DIR", help="Write the blend; the folder must not exist yet")
    verb.add_argument("--json", action="store_true", help="The curve and the verdicts, as JSON")


def blend(options: argparse.Namespace) -> None:
    """Score the models between a base and its tuned model, and export one.

    Blend the weights of a run's tuned model with those of its base: W + α (W' - W). Print the scores on the run's own
    evaluation sets for α from 0 (the base) to 1 (the tuned model), and the verdict on the α that is best on the dev
    set. Of several runs of one base, W' is the mean of their weights. With --export, write one blend as a folder that
    transformers and sentence-transformers open.
    """
    if options.export and options.export.exists():  # refused before anything is measured
        raise NotWritable(f"{options.export} exists already and is not overwritten. Choose another name, or remove it.")
    shares = blending.even_shares(options.points)
    if options.alpha is not None:
        shares = (*shares, options.alpha)
    models, found = output.shown(blending.of_runs([runs.named(one) for one in options.runs], shares))
    chosen = found.best if options.alpha is None else options.alpha
    if options.export:
        output.shown(blending.export(models, found, chosen, options.export))
    if options.json:
        print(json.dumps(as_json(found, options.alpha), ensure_ascii=False, indent=1))
    else:
        print(as_text(found, options.alpha), end="")
