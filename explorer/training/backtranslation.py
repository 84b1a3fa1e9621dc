"""Back-translate text through another language into a file that an interrupted job continues."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import typed_json
from explorer.encoding.load.language_models import BATCH, BEAMS, load_translator
from explorer.errors import BadChoice, CannotResume, NotWritable, RunBusy, TooFewRows
from explorer.knobs import Knobs, knob
from explorer.places import write_whole, writing
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found

HEADER = b"sentence\tback_translation\n"
STAGE = "back-translating"
_ROOM = "Make room there and start again: the rows already written are kept."
_ELSEWHERE = "Choose another file, or delete this one to start over."


@dataclass(frozen=True)
class TranslationOptions(Knobs):
    """How text is translated."""

    beams: int = knob(BEAMS, low=1, help="Beam size of the search; the paper's is 100.")
    batch: int = knob(BATCH, low=1, metavar="ROWS", help="Sentences translated at once.")


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

    An existing file is continued if it was made from the same sentences, models and beam size. Kim, Yoo and Lee 2021
    (appendix A.2) use the WMT19 models for English and German, and a beam size of 100.
    """
    texts = [" ".join(sentence.split()) for sentence in sentences]  # tabs and line breaks would break the TSV
    makers = {"there": there, "back": back}
    about = {way: {"name": one.name, "digest": one.digest} for way, one in makers.items()} | {"beams": beams}
    if not texts:
        raise TooFewRows("The source has no sentence to translate. Choose one with at least two sentences.")
    if out.suffix.lower() != ".tsv":
        raise BadChoice(
            f"{out} does not end in .tsv, the format of back-translations. Choose a name that ends in .tsv."
        )
    done, size = _written(out, texts)
    if done:
        _check_makers(out, about)
    if done < len(texts):
        yield Progress("loading the translators", 0, 0)
        translators = [load_translator(found, beams=beams, batch=batch, device=device) for found in (there, back)]
        done, size = _written(out, texts)  # again: loading models takes a while
        content = json.dumps(about, ensure_ascii=False, indent=2).encode()
        write_whole(makers_file(out), lambda file: file.write(content), "Make room there, or choose another file.")
        with writing(out, _ROOM), out.open("ab") as file:
            file.truncate(size)
        size = size or _append(out, 0, HEADER)
    while done < len(texts):
        yield Progress(STAGE, done, len(texts))
        now = texts[done : done + batch]
        again: Sequence[str] = now
        for translator in translators:
            again = translator.translate(again)
        rows = (f"{text}\t{' '.join(wording.split())}\n" for text, wording in zip(now, again, strict=True))
        size = _append(out, size, "".join(rows).encode())
        done += len(now)
    yield Progress(STAGE, done, len(texts))
    return out


def makers_file(out: Path) -> Path:
    """The JSON file beside a TSV that records the models and the beam size."""
    return out.with_name(f"{out.name}.json")


def _written(out: Path, texts: Sequence[str]) -> tuple[int, int]:
    """The number of complete rows in a file, and the byte at which they end; an unfinished last line does not count."""
    try:
        content = out.read_bytes()
    except FileNotFoundError:
        return 0, 0
    except OSError as error:
        raise NotWritable(f"{out} cannot be continued: {error.strerror or error}. Choose another file.") from error
    size = content.rfind(b"\n") + 1
    if HEADER.startswith(content):  # empty, or only a part of the header
        return 0, size
    if not content.startswith(HEADER):
        raise CannotResume(f"{out} exists already and is not a file of back-translations. Choose another file.")
    rows = content[len(HEADER) : size].decode("utf-8", "replace").split("\n")[:-1]
    if len(rows) > len(texts):
        raise CannotResume(f"{out} has {len(rows):,} rows, but there are only {len(texts):,} sentences. {_ELSEWHERE}")
    for line, (row, text) in enumerate(zip(rows, texts, strict=False), start=2):
        sentence, _, wording = row.partition("\t")
        if sentence != text or "\t" in wording:
            raise CannotResume(
                f"Line {line} of {out} holds {sentence!r}, not {text!r}: the file was made from other sentences, "
                f"or in another order. {_ELSEWHERE}"
            )
    return len(rows), size


def _check_makers(out: Path, about: dict[str, Any]) -> None:
    """Refuse to continue a file with other models or another beam size."""
    noted = makers_file(out)
    try:
        before = typed_json.parsed(noted.read_text(encoding="utf-8"))
        for way, doing in (("there", "translated"), ("back", "translated back")):
            if before[way]["digest"] != about[way]["digest"]:
                raise CannotResume(
                    f"{out} was {doing} by '{before[way]['name']}', which is not the model '{about[way]['name']}' is "
                    f"now. Use the same model. {_ELSEWHERE}"
                )
        if before["beams"] != about["beams"]:
            raise CannotResume(
                f"{out} was made with {before['beams']} beams, not with {about['beams']}. Use the same number. "
                f"{_ELSEWHERE}"
            )
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise CannotResume(
            f"{noted}, the record of how {out.name} was made, is missing or cannot be read. {_ELSEWHERE}"
        ) from error


def _append(out: Path, size: int, content: bytes) -> int:
    """Append to the file and flush it to the disk; return where it ends now."""
    with writing(out, _ROOM), out.open("ab") as file:
        if file.tell() != size:
            raise RunBusy(f"{out} is being written by another job too. Stop one of the two.")
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return size + len(content)
