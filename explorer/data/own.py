"""Which graded pairs has the user brought? Kept on this disk, so that a reload or a link finds them again."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

from explorer.data.kinds import GradedPairs
from explorer.errors import SetNotFound
from explorer.places import cache_folder, write_whole

# what a name in the menu ends with; it tells apart two files of one name
_MARK = re.compile(r" · ([0-9a-f]{8})$")


def keep(pairs: GradedPairs) -> str:
    """Put pairs where they can be found again; gives the name under which they stand in the menu."""
    content = json.dumps(asdict(pairs), ensure_ascii=False).encode("utf-8", "surrogatepass")
    write_whole(_folder() / f"{pairs.digest[:8]}.json", lambda file: file.write(content))
    return _menu_name(pairs.name, pairs.digest[:8])


def names() -> tuple[str, ...]:
    """The user's sets as they stand in the menu, newest first."""
    files = sorted(_folder().glob("*.json"), key=lambda file: -file.stat().st_mtime)
    return tuple(_menu_name(_read(file).name, file.stem) for file in files)


def is_own(name: str) -> bool:
    """Whether a name of the menu is one of the user's sets."""
    return _MARK.search(name) is not None


def graded_pairs(name: str) -> GradedPairs:
    """The set behind a name of the menu."""
    file = _file(name)
    if not file.is_file():
        raise SetNotFound(
            f"The file '{name}' is no longer kept on this machine. Bring it again on the Start page, "
            "or choose another set in the sidebar."
        )
    return _read(file)


def forget(name: str) -> None:
    """Delete a set from this disk; the user's own file is untouched."""
    _file(name).unlink(missing_ok=True)


def _folder() -> Path:
    return cache_folder() / "sets"


def _file(name: str) -> Path:
    mark = _MARK.search(name)
    return _folder() / f"{mark[1] if mark else 'none'}.json"


def _menu_name(name: str, mark: str) -> str:
    return f"{name} · {mark}"


def _read(file: Path) -> GradedPairs:
    content = json.loads(file.read_text(encoding="utf-8", errors="surrogatepass"))
    columns = {column: tuple(content[column]) for column in ("first", "second", "gold", "parts")}
    return GradedPairs(name=content["name"], **columns)
