"""Which folder on disk does a model's name mean?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from explorer.encoding import bundled, digests, hub, layout
from explorer.encoding.hub import on_disk, size
from explorer.errors import BadChoice, HubUnreachable, ModelNotFound, NotAModelFolder

__all__ = ["Found", "find", "on_disk", "size"]

_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")


@dataclass(frozen=True)
class Found:
    """A model's folder. `revision` is the commit of a model of the hub, and None for any other."""

    name: str
    folder: Path
    revision: str | None = None

    @property
    def digest(self) -> str:
        """What the model is, whatever it is called: of every file that has a say in a vector."""
        return digests.of_files(self.folder, layout.parts(self.folder))


def find(source: str, revision: str | None = None, online: bool = False) -> Found:
    """The folder of a model: the bundled one, a folder, or a model of the hub.

    The hub is asked only where `online` says so and the local cache has nothing: without a connection, asking
    takes half a minute.
    """
    name, revision = source.strip(), (revision or "").strip() or None
    if not name:
        raise BadChoice(
            f"No model is named. Give '{bundled.NAME}', a folder, or a name on the hub such as "
            "'sentence-transformers/all-mpnet-base-v2'."
        )
    folder = bundled.folder() if name == bundled.NAME else _folder(name)
    if folder is None:
        return _on_hub(name, revision, online)
    if revision:
        raise BadChoice(
            f"A revision ('{revision}') belongs to a model of the hub; '{name}' is a folder on this machine. "
            "Leave the revision empty."
        )
    return Found(name, folder)


def _folder(name: str) -> Path | None:
    """The folder a name means; None where the name can only be one on the hub."""
    try:
        path = Path(name).expanduser().absolute()
        if path.is_dir():
            return path
        is_file = path.exists()
    except (OSError, RuntimeError, ValueError) as error:  # no right to look, no such user, too long
        raise ModelNotFound(f"'{name}' cannot be looked up: {error}. Give a folder that can be read.") from error
    if is_file:
        raise NotAModelFolder(f"'{name}' is a file. Give the folder it lies in, with config.json and the tokenizer.")
    if name.startswith(("/", ".", "~")) or "\\" in name or name.count("/") > 1:
        raise ModelNotFound(f"There is no folder '{name}'. Check the path; relative ones start at {Path.cwd()}.")
    return None


def _on_hub(name: str, revision: str | None, online: bool) -> Found:
    _check_names(name, revision)
    folder = hub.cached(name, revision)
    lacks = "" if folder is None else hub.lacks(folder)
    if online and (folder is None or lacks):
        folder = hub.download(name, revision)
    elif folder is None or lacks:
        place = f"'{name}'" + (f" at revision '{revision}'" if revision else "")
        state = f"is in the local cache without {lacks}" if lacks else "is neither a folder here nor in the local cache"
        raise HubUnreachable(
            f"{place} {state}. Allow the download from huggingface.co (online), or run 'hf download {name}'. "
            f"Without a connection, choose the bundled {bundled.NAME}, a folder{_cached_names()}."
        )
    return Found(name, folder, folder.name)


def _check_names(name: str, revision: str | None) -> None:
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise BadChoice(
            f"'{name}' is neither a folder here nor a name the hub could have: 'name' or 'organisation/name' of "
            "letters, digits, '-', '_' and '.'. Check the spelling."
        ) from error
    if revision and (not _REVISION.fullmatch(revision) or ".." in revision):
        raise BadChoice(f"'{revision}' is not a revision. Give a branch, a tag or a commit, or leave it empty.")


def _cached_names() -> str:
    names = on_disk()[:5]
    return f" or one of those in the cache: {', '.join(names)}" if names else ""
