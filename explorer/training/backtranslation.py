"""How does text get a second wording? There and back through another language, into a file that can be gone on with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.encoding.load.translation import BATCH, BEAMS, load
from explorer.errors import BadChoice, CannotResume, NotWritable, RunBusy, TooFewRows
from explorer.places import write_whole
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found

HEADER = b"sentence\tback_translation\n"
STAGE = "translating there and back"
BEAMS_HELP = (
    f"translations that are pursued at once (default {BEAMS}); the paper's 100, over WMT19's models, take that much "
    "more time and memory"
)
_ELSEWHERE = "Choose another file, or delete this one to start over."


def backtranslate(
    sentences: Sequence[str],
    there: Found,
    back: Found,
    out: Path,
    *,
    beams: int = BEAMS,
    batch: int = BATCH,
    device: str = "auto",
) -> Work[Path]:
    """Write a TSV of sentences and back-translations, in order and batch by batch; gives the file.

    A file that is there already is gone on with, if it is of these sentences, models and beams. Kim, Yoo and Lee 2021
    (appendix A.2) use WMT19's models for English and German, and a beam of 100.
    """
    texts = [" ".join(sentence.split()) for sentence in sentences]  # as it is read again; no tab or end of line is left
    about = {"there": _named(there), "back": _named(back), "beams": beams}
    _check(texts, out)
    done, size = _written(out, texts)
    if done:
        _check_makers(out, about)
    if done < len(texts):
        yield Progress("loading the translators", 0, 0)
        ways = [load(found, beams=beams, batch=batch, device=device) for found in (there, back)]
        done, size = _begin(out, about, texts)
    while done < len(texts):
        yield Progress(STAGE, done, len(texts))
        now = texts[done : done + batch]
        again: Sequence[str] = now
        for way in ways:
            again = way.translate(again)
        rows = (f"{text}\t{' '.join(wording.split())}\n" for text, wording in zip(now, again, strict=True))
        size = _append(out, size, "".join(rows).encode())
        done += len(now)
    yield Progress(STAGE, done, len(texts))
    return out


def makers_file(out: Path) -> Path:
    """Where it is written down which models made a file, and with how many beams."""
    return out.with_name(f"{out.name}.json")


def _named(found: Found) -> dict[str, str]:
    return {"name": found.name, "digest": found.digest}


def _check(texts: Sequence[str], out: Path) -> None:
    if not texts:
        raise TooFewRows("There is no sentence to translate. Choose a source with at least two in it.")
    if out.suffix.lower() != ".tsv":
        raise BadChoice(f"{out} does not end in .tsv, which is how back-translations are read again. Call it so.")


def _written(out: Path, texts: Sequence[str]) -> tuple[int, int]:
    """How many rows of a file are good, and where they end: a line without an end was being written, and is none."""
    try:
        content = out.read_bytes()
    except FileNotFoundError:
        return 0, 0
    except OSError as error:
        raise NotWritable(f"{out} cannot be gone on with: {error.strerror or error}. Choose another file.") from error
    size = content.rfind(b"\n") + 1
    if HEADER.startswith(content):  # nothing, or torn in its first line
        return 0, size
    if not content.startswith(HEADER):
        raise CannotResume(f"{out} is there already, and holds something else. Choose another file.")
    rows = content[len(HEADER) : size].decode("utf-8", "replace").split("\n")[:-1]
    if len(rows) > len(texts):
        raise CannotResume(f"{out} has {len(rows):,} rows, and there are {len(texts):,} sentences. {_ELSEWHERE}")
    for line, (row, text) in enumerate(zip(rows, texts, strict=False), start=2):
        sentence, _, wording = row.partition("\t")
        if sentence != text or "\t" in wording:
            raise CannotResume(
                f"Line {line} of {out} is of {sentence!r}, where {text!r} was to come: it was made of other sentences, "
                f"or of these in another order. {_ELSEWHERE}"
            )
    return len(rows), size


def _check_makers(out: Path, about: dict[str, Any]) -> None:
    """Refuse to go on with other models or beams: the file would be of two kinds."""
    noted = makers_file(out)
    try:
        before = json.loads(noted.read_text(encoding="utf-8"))
        for way, doing in (("there", "translated"), ("back", "translated back")):
            if before[way]["digest"] != about[way]["digest"]:
                raise CannotResume(
                    f"{out} was {doing} by '{before[way]['name']}', which is not the model '{about[way]['name']}' is "
                    f"now. Use that one. {_ELSEWHERE}"
                )
        if before["beams"] != about["beams"]:
            raise CannotResume(
                f"{out} was made with {before['beams']} beams, not with {about['beams']}. Use as many. {_ELSEWHERE}"
            )
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise CannotResume(
            f"{noted}, where it says what made {out.name}, is missing or cannot be read. {_ELSEWHERE}"
        ) from error


def _begin(out: Path, about: dict[str, Any], texts: Sequence[str]) -> tuple[int, int]:
    """Make the file ready to be added to, and write down what makes it; gives its rows, and where they end."""
    done, size = _written(out, texts)  # again: to load models takes a while
    content = json.dumps(about, ensure_ascii=False, indent=2).encode()
    write_whole(makers_file(out), lambda file: file.write(content), "Make room there, or choose another file.")
    with _disk_in_words(out), out.open("ab") as file:
        file.truncate(size)
    return done, size or _append(out, 0, HEADER)


def _append(out: Path, size: int, content: bytes) -> int:
    """Add to the file, to the disk itself, so that it is there whatever happens next; gives where it ends now."""
    with _disk_in_words(out), out.open("ab") as file:
        if file.tell() != size:
            raise RunBusy(f"{out} changes while it is written: another job is at it. Stop one of the two.")
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return size + len(content)


@contextmanager
def _disk_in_words(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotWritable(
            f"{out} cannot be written to: {error.strerror or error}. Make room there, and start again: what is "
            "written stays, and the rest follows."
        ) from error
