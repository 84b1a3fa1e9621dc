"""explain: split the cosine of two sentences into what each word adds, under one encoder or two."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.parts import reading_flags
from explorer.commands.parts.line import Line
from explorer.encoding.read.readings import PAD, REFERENCES


def add(verbs: Any) -> None:
    """State the flags."""
    verb = verbs.add_parser(
        "explain",
        help="which words make two sentences similar, under one encoder or two",
        description="Split the cosine of two sentences into an exact sum over their words (integrated gradients of the "
        "whole encoder). With two encoders, the change of every word is shown too.",
    )
    verb.set_defaults(verb=_explain)
    verb.add_argument("first", metavar="FIRST", help="a sentence")
    verb.add_argument("second", metavar="SECOND", help="another sentence")
    verb.add_argument("model", nargs="?", metavar="A", help="an encoder (default: the bundled one)")
    verb.add_argument("other", nargs="?", metavar="B", help="an encoder to compare with A")
    reading_flags.add_of_two(verb)
    verb.add_argument(
        "--reference",
        choices=REFERENCES,
        default=PAD,
        help=f"what replaces the words in the sentence that the sum starts from (default: {PAD})",
    )
    reading_flags.add(verb, precision=False)
    verb.add_argument("--json", action="store_true", help="everything, as JSON")


def _explain(options: argparse.Namespace) -> None:
    from explorer.encoding.load import declared
    from explorer.encoding.load.loading import load
    from explorer.encoding.locate import bundled
    from explorer.encoding.locate.model_names import find
    from explorer.measuring.sentences import word_tables
    from explorer.measuring.sentences.word_pair import word_pair
    from explorer.progress import finish

    sentences = options.first, options.second
    names = [options.model or bundled.NAME, *([options.other] if options.other else [])]
    titles = options.reading, options.other_reading or options.reading
    pairs, models = {}, {}
    with Line() as line:
        for side, name, title in zip("AB", names, titles, strict=False):
            found = find(name, online=options.online)
            reading = declared.named(title, found.folder)
            encoder = load(found, "float32", options.device, attention="eager")
            pairs[side] = finish(
                word_pair(encoder, *sentences, reading, options.reference, options.max_length), line.tell
            )
            models[side] = {
                "model": found.name,
                "model_revision": found.revision,
                "model_digest": found.digest,
                "reading": declared.described(reading, found.folder),
            }
    if options.json:
        print(word_tables.as_json(sentences, options.reference, models, pairs))
    else:
        print(word_tables.as_text(sentences, models, pairs))
