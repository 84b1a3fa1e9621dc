"""Store what the sizes of an encoder score and cost, so that a page that opens has it at once."""

import json
import logging
from collections.abc import Sequence
from pathlib import Path

from explorer import typed_json
from explorer.data.text_sets import digest_of
from explorer.errors import NotWritable
from explorer.places import cache_folder, write_whole
from explorer.studies.size.points import Picture

VERSION = "2"  # a new one if a number of a picture changes its meaning

logger = logging.getLogger(__name__)


def key_of(subject: str, names: Sequence[str]) -> str:
    """The key of a picture: of what it is measured, and the names of models, set and text that it shows."""
    return digest_of(("sizes", VERSION, subject, *names))


def kept(key: str) -> Picture | None:
    """The picture, if it is stored; None if missing or broken."""
    try:
        found = typed_json.read(Picture, typed_json.parsed(_path(key).read_bytes()))
    except (OSError, ValueError):
        return None
    return found if found is not None and found.points else None


def keep(key: str, picture: Picture) -> None:
    """Store a picture; where nothing can be stored, it is measured again."""
    text = json.dumps(typed_json.written(picture))
    try:
        write_whole(_path(key), lambda file: file.write(text.encode()))
    except NotWritable as error:
        logger.warning("The sizes were not stored. %s", error)


def _path(key: str) -> Path:
    return cache_folder() / "sizes" / f"{key}.json"
