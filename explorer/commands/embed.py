"""embed: encode a corpus into parquet files of vectors.

Encode every sentence of a corpus and write the vectors as parquet files of a fixed number of rows (shards). The same
command resumes an embedding that was stopped or killed. Several processes: torchrun --nproc-per-node 2 -m explorer
embed …
"""

import argparse
import json
import shlex

from explorer.commands.parts import flags, output
from explorer.data.vectors import embedding_folder
from explorer.encoding.locate.model_names import find
from explorer.measuring.scores.measure import Settings
from explorer.places import given_path
from explorer.progress import finish
from explorer.studies.embedding.corpus import TextSource
from explorer.studies.embedding.embedding import Embedded, Request, embed, estimate

LOGGED = 60.0  # seconds between two lines of progress in a log


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("model", metavar="MODEL", help="A name, a folder, a hub id, or run:NAME")
    verb.add_argument(
        "texts",
        nargs="+",
        metavar="TEXT",
        help="Files of sentences (.txt with one per line is streamed, so it may be of any size), 'sample', 'STS-B', …",
    )
    verb.add_argument("--out", type=given_path, required=True, metavar="FOLDER", help="The folder of the vectors")
    flags.add(verb, *Request.knobs.values(), flags.COLUMN)
    verb.add_argument(
        "--estimate", action="store_true", help="Try a few sentences, print time and bytes on disk, and stop"
    )
    flags.add(verb, *Settings.knobs.values(), flags.ONLINE)


def run(options: argparse.Namespace) -> None:
    """Embed, and print what was written."""
    from explorer.training.loop.processes import PATIENCE, World

    columns = tuple(flags.roles(options).items())
    request = Request(
        model=find(options.model, online=options.online),
        texts=tuple(TextSource(text, columns, options.online) for text in options.texts),
        folder=options.out,
        settings=flags.read(options, Settings),
        **flags.values(options, Request.knobs),
    )
    world = World(request.settings.precision, request.settings.device, PATIENCE)
    try:
        with output.ProgressLine(LOGGED) as line:
            tell = line.tell if world.main else lambda progress: None
            if options.estimate:
                estimated = finish(estimate(request, world), tell)
                text = estimated.text if estimated else ""
            else:
                done = finish(embed(request, world), tell)
                text = _result_text(done, request, world.size) if done else ""
    except KeyboardInterrupt as stop:
        if world.main:
            there = embedding_folder.read_manifest(options.out) if options.out.is_dir() else None
            whole = len(embedding_folder.shards_in(options.out)) if there else 0
            where = shlex.quote(str(options.out))
            output.say(
                f"Stopped. {whole:,} of {there.shards:,} shards are written in {where}; the same command resumes."
                if there
                else "Stopped before the first shard."
            )
        raise SystemExit(output.code(stop)) from None
    if text:
        print(text)
    world.leave()


def _result_text(done: Embedded, request: Request, processes: int) -> str:
    if done.empty:
        output.say(f"{done.empty:,} rows without a word were left out.")
    if done.other_releases:
        output.say(
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
        "processes": processes,
        "seconds": round(done.seconds, 1),
        "merged": str(done.merged) if done.merged else None,
    }
    return json.dumps(result, ensure_ascii=False, indent=1)
