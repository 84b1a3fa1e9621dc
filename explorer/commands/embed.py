"""embed: encode a corpus into parquet files of vectors, with one process or several."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.commands.parts import shared_flags
from explorer.commands.parts.line import ProgressLine, say
from explorer.commands.parts.shared_flags import role_and_name, whole_number
from explorer.commands.parts.stop_signals import code
from explorer.places import given_path

if TYPE_CHECKING:
    from explorer.studies.embedding.embedding import Embedded, Request
    from explorer.training.loop.processes import World

LOGGED = 60.0  # seconds between two lines of progress in a log


def add(verbs: Any) -> None:
    """State the flags."""
    verb = verbs.add_parser(
        "embed",
        help="encode a corpus into parquet files of vectors",
        description="Encode every sentence of a corpus and write the vectors as parquet files of a fixed number of "
        "rows (shards). The same command resumes an embedding that was stopped or killed. Several processes: "
        "torchrun --nproc-per-node 2 -m explorer embed …",
    )
    verb.set_defaults(verb=_embed)
    verb.add_argument("model", metavar="MODEL", help="a name, a folder, a hub id, or run:NAME")
    verb.add_argument(
        "texts",
        nargs="+",
        metavar="TEXT",
        help="files of sentences (.txt with one per line is streamed, so it may be of any size), 'sample', 'STS-B', …",
    )
    verb.add_argument("--out", type=given_path, required=True, metavar="FOLDER", help="the folder of the vectors")
    verb.add_argument(
        "--reading",
        action="append",
        default=[],
        metavar="TITLE",
        help="layer & pooling: 'mean of layer 6', 'mean of layers 4-6', 'model default', …; repeatable (default: the "
        "model default)",
    )
    verb.add_argument("--column", action="append", default=[], metavar="ROLE=NAME", help="the column that has a role")
    verb.add_argument(
        "--rows-per-shard", type=whole_number, default=20_000, metavar="N", help="rows of a file (default 20000)"
    )
    verb.add_argument("--dtype", default="float32", help="float32 (default), or float16 for half the bytes")
    verb.add_argument("--with-text", action="store_true", help="also store the sentences")
    verb.add_argument(
        "--merge", action="store_true", help="join all shards in vectors.parquet; needs the bytes of all once more"
    )
    verb.add_argument(
        "--estimate", action="store_true", help="try a few sentences, print time and bytes on disk, and stop"
    )
    shared_flags.add(verb)


def _embed(options: argparse.Namespace) -> None:
    from explorer.progress import finish
    from explorer.studies.embedding.embedding import embed
    from explorer.studies.embedding.estimating import estimate
    from explorer.training.loop.processes import PATIENCE, World

    request = _request(options)
    world = World(request.settings.precision, request.settings.device, PATIENCE)
    try:
        with ProgressLine(LOGGED) as line:
            tell = line.tell if world.main else lambda progress: None
            if options.estimate:
                estimated = finish(estimate(request, world), tell)
                told = estimated.told if estimated else ""
            else:
                done = finish(embed(request, world), tell)
                told = _told(done, request, world) if done else ""
    except KeyboardInterrupt as stop:
        if world.main:
            say(_interrupted(request.folder))
        raise SystemExit(code(stop)) from None
    if told:
        print(told)
    world.leave()


def _request(options: argparse.Namespace) -> Request:
    from explorer.encoding.locate.model_names import find
    from explorer.studies.embedding.corpus import TextSource
    from explorer.studies.embedding.embedding import Request

    columns = tuple(role_and_name(column) for column in options.column)
    return Request(
        model=find(options.model, online=options.online),
        texts=tuple(TextSource(text, columns, options.online) for text in options.texts),
        folder=options.out,
        titles=tuple(options.reading),
        settings=shared_flags.settings(options),
        rows_per_shard=options.rows_per_shard,
        dtype=options.dtype,
        with_text=options.with_text,
        merge=options.merge,
    )


def _told(done: Embedded, request: Request, world: World) -> str:
    if done.empty:
        say(f"{done.empty:,} rows without a word were left out.")
    if done.other_releases:
        say(
            f"Another release of {', '.join(done.other_releases)} began {request.folder}: the last digits of vectors "
            "may differ between shards."
        )
    manifest = done.manifest
    result = {
        "folder": str(request.folder),
        "rows": manifest.rows,
        "shards": manifest.shards,
        "vectors": {column.title: column.width for column in manifest.vectors},
        "embedded": done.embedded,
        "processes": world.size,
        "seconds": round(done.seconds, 1),
        "merged": str(done.merged) if done.merged else None,
    }
    return json.dumps(result, ensure_ascii=False, indent=1)


def _interrupted(folder: Path) -> str:
    from explorer.data.vectors import manifest, shards

    there = manifest.read(folder) if folder.is_dir() else None
    if there is None:
        return "Stopped before the first shard."
    whole, words = len(shards.numbers(folder)), shlex.quote(str(folder))
    return f"Stopped. {whole:,} of {there.shards:,} shards are written in {words}; the same command resumes."
