"""backtranslate: paraphrase sentences by translating them into another language and back."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.parts.line import ProgressLine, say
from explorer.commands.parts.shared_flags import role_and_name, whole_number
from explorer.commands.parts.stop_signals import code, finish_or_stop
from explorer.places import given_path


def add(verbs: Any) -> None:
    """State the flags."""
    verb = verbs.add_parser(
        "backtranslate",
        help="translate sentences there and back, for the methods bt and bt-sg-opt",
        description="Translate sentences into another language and back. An interrupted job continues where it "
        "stopped. The paper's models are facebook/wmt19-en-de and facebook/wmt19-de-en, with a beam of 100.",
    )
    verb.set_defaults(verb=_backtranslate)
    verb.add_argument("data", nargs="+", metavar="FILE|NAME", help="sentences: files, 'sample', 'STS-B', …")
    verb.add_argument(
        "--there", required=True, metavar="MODEL", help="translates into the other language: name or folder"
    )
    verb.add_argument("--back", required=True, metavar="MODEL", help="translates back: name or folder")
    verb.add_argument(
        "--out", required=True, type=given_path, metavar="FILE", help="the TSV to write: sentence and back_translation"
    )
    verb.add_argument("--column", action="append", default=[], metavar="ROLE=NAME", help="the column that has a role")
    verb.add_argument("--beams", type=whole_number, default=5, help="beam size of the search (default 5; paper 100)")
    verb.add_argument(
        "--batch", type=whole_number, default=32, metavar="ROWS", help="sentences translated at once (default 32)"
    )
    verb.add_argument("--device", default="auto", help="auto (default), cpu, cuda or mps")
    verb.add_argument("--online", action="store_true", help="download missing models from the hub")


def _backtranslate(options: argparse.Namespace) -> None:
    from explorer.data.corpora import corpus
    from explorer.data.row_kinds import SENTENCES
    from explorer.encoding.locate.model_names import find
    from explorer.training.backtranslation import backtranslate

    columns = dict(role_and_name(column) for column in options.column)
    text, reports = corpus(options.data, SENTENCES, columns, online=options.online)
    for report in reports:
        say(report)
    there, back = (find(model, online=options.online) for model in (options.there, options.back))
    work = backtranslate(
        text.texts[0], there, back, options.out, beams=options.beams, batch=options.batch, device=options.device
    )
    try:
        with ProgressLine() as line:
            finish_or_stop(work, line.tell)
    except KeyboardInterrupt as stop:
        say(f"Stopped. What was translated is in {options.out}; the same command goes on from there.")
        raise SystemExit(code(stop)) from None
    print(options.out)
