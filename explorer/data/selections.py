"""Keep the sentences that a visitor looks at on this disk, by their digest: a link holds its first digits alone."""

import json
import re
from collections.abc import Sequence

from explorer.data.text_sets import digest_of
from explorer.errors import UnreadableFile
from explorer.places import cache_folder, write_whole

_MARK = re.compile(r"[0-9a-f]{12}")


def keep(sentences: Sequence[str]) -> str:
    """Write the sentences, in their order, and return the mark that names them."""
    mark = digest_of(sentences)[:12]
    path = cache_folder() / "selections" / f"{mark}.json"
    write_whole(path, lambda file: file.write(json.dumps(list(sentences), ensure_ascii=False).encode()))
    return mark


def read(mark: str) -> tuple[str, ...]:
    """The sentences of a mark; an error if they are not on this disk, or are not those that the mark names."""
    next_step = "Type them again: they are kept on the machine where they were typed."
    if not _MARK.fullmatch(mark):
        raise UnreadableFile(f"'{mark}' names no sentences: a name of them is 12 digits of 0-9 and a-f. {next_step}")
    try:
        stored = json.loads((cache_folder() / "selections" / f"{mark}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"The sentences '{mark}' are not on this disk. {next_step}") from error
    if not isinstance(stored, list) or not all(isinstance(one, str) for one in stored):
        raise UnreadableFile(f"The sentences '{mark}' are damaged on this disk. {next_step}")
    if not digest_of(stored).startswith(mark):
        raise UnreadableFile(f"The sentences '{mark}' were changed on this disk. {next_step}")
    return tuple(stored)
