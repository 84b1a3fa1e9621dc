"""generator: train a masked language model from an encoder, for DiffCSE."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.parts.line import ProgressLine, say
from explorer.commands.parts.shared_flags import role_and_name, seed, whole_number
from explorer.places import given_path


def add(verbs: Any) -> None:
    """State the flags."""
    verb = verbs.add_parser(
        "generator",
        help="train a masked language model from an encoder, for the method diffcse",
        description="Train a copy of an encoder to predict masked words of plain sentences. Pass the folder to diffcse "
        "as its setting 'generator' if the paper's model is not available.",
    )
    verb.set_defaults(verb=_generator)
    verb.add_argument("--model", default="all-MiniLM-L6-v2", help="the encoder: name or folder")
    verb.add_argument("--data", action="append", default=[], metavar="FILE|NAME", help="sentences (default: sample)")
    verb.add_argument("--out", required=True, type=given_path, metavar="FOLDER", help="where the generator is written")
    verb.add_argument("--column", action="append", default=[], metavar="ROLE=NAME", help="the column that has a role")
    verb.add_argument("--steps", type=whole_number, default=1000, help="updates (default 1000)")
    verb.add_argument("--seed", type=seed, default=1, help="random seed (default 1)")
    verb.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    verb.add_argument("--online", action="store_true", help="download missing models from the hub")


def _generator(options: argparse.Namespace) -> None:
    from explorer.data.corpora import SAMPLE, corpus
    from explorer.data.row_kinds import SENTENCES
    from explorer.encoding.load.loading import load
    from explorer.encoding.locate.model_names import find
    from explorer.errors import BadChoice
    from explorer.progress import finish
    from explorer.training.generator import make_generator

    if options.steps < 1:
        raise BadChoice(f"--steps is {options.steps}; at least 1 is needed.")
    columns = dict(role_and_name(column) for column in options.column)
    text, reports = corpus(options.data or [SAMPLE], SENTENCES, columns, online=options.online)
    for report in reports:
        say(report)
    encoder = load(find(options.model, online=options.online), precision="float32", device=options.device)
    with ProgressLine() as line:
        work = make_generator(encoder, text.texts[0], options.out, steps=options.steps, seed=options.seed)
        found = finish(work, line.tell)
    say(
        f"Of {found.words:,} masked words in held-out sentences, it predicts {100 * found.after:.1f} % right "
        f"({100 * found.before:.1f} % before)."
    )
    print(options.out)
