"""Blend what a run trained with its base, from the command line."""

from __future__ import annotations

import argparse
import json

from explorer.commands.parts import flags, output
from explorer.data import sources
from explorer.data.graded import sets
from explorer.errors import NotWritable
from explorer.knobs import Knob
from explorer.places import given_path
from explorer.studies.blend import blending
from explorer.studies.blend.blend_curve import POINTS, as_json, as_text
from explorer.training.record import runs

DEV, TEST = map(sources.written, sets.halves())
FLAGS = (
    Knob(
        "alpha",
        None,
        "The share of the tuned model, from 0 to 1; six decimals count.",
        item=float,
        low=0,
        high=1,
        empty="the best of the curve on the dev set",
        metavar="NUMBER",
    ),
    Knob("points", POINTS, "How many shares the curve has, the base and the tuned model included.", low=2, high=101),
    Knob(
        "base",
        None,
        "The model that others are blended with: then each RUN is a model, and no run's evaluation sets are used.",
        metavar="MODEL",
        empty="that of the runs",
    ),
    Knob("dev", DEV, "With --base: the set that chooses α.", metavar="FILE|NAME", needs="base"),
    Knob(
        "test",
        (),
        "With --base: a set that blends are judged on.",
        metavar="FILE|NAME",
        empty=TEST,
        repeated=True,
        needs="base",
    ),
)


def blend_flags(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("runs", nargs="+", metavar="RUN", help="The name of a run, or its folder")
    flags.add(verb, *FLAGS, flags.ONLINE)
    verb.add_argument("--export", type=given_path, metavar="DIR", help="Write the blend; the folder must not exist yet")
    verb.add_argument("--json", action="store_true", help="The curve and the verdicts, as JSON")


def blend(options: argparse.Namespace) -> None:
    """Score the models between a base and its tuned model, and export one.

    Blend the weights of a run's tuned model with those of its base: W + α (W' - W). Print the scores on the run's own
    evaluation sets for α from 0 (the base) to 1 (the tuned model), and the verdict on the α that is best on the dev
    set. Of several runs of one base, W' is the mean of their weights. With --export, write one blend as a folder that
    transformers and sentence-transformers open. With --base, blend any two models of one architecture.
    """
    if options.export and options.export.exists():  # refused before anything is measured
        raise NotWritable(f"{options.export} exists already and is not overwritten. Choose another name, or remove it.")
    flags.check(options, *FLAGS)
    given = flags.values(options, {one.name: one for one in FLAGS})
    alpha, shares = given["alpha"], blending.even_shares(given["points"])
    if alpha is not None:
        shares = (*shares, alpha)
    if given["base"] is None:
        work = blending.of_runs([runs.named(one) for one in options.runs], shares)
    else:
        tests = given["test"] or (TEST,)
        work = blending.of_models(given["base"], options.runs, given["dev"], tests, shares, online=options.online)
    models, found = output.shown(work)
    chosen = found.best if alpha is None else alpha
    if options.export:
        output.shown(blending.export(models, found, chosen, options.export))
    if options.json:
        print(json.dumps(as_json(found, alpha), ensure_ascii=False, indent=1))
    else:
        print(as_text(found, alpha), end="")
