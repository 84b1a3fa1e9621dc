"""Find the folder of a model by its name: bundled, folder, run, or hub."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from explorer import run_folder
from explorer.encoding.locate import bundled, digests, fetching, hub, layout
from explorer.errors import BadChoice, HubUnreachable, ModelNotFound, NotAModelFolder
from explorer.progress import Work, finish

# a page of a model on the hub, or of one of its files; not datasets/org/name
_LINK = re.compile(
    r"(?:https?://)?(?:www\.)?(?:huggingface|hf)\.co/(?!(?:datasets|spaces)/)"
    r"([^/?#]+(?:/(?!(?:tree|blob|resolve|commit)/)[^/?#]+)?)(?:/(?:tree|blob|resolve|commit)/([^/?#]+))?(?:[/?#].*)?",
    re.IGNORECASE,
)
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")


@dataclass(frozen=True)
class Found:
    """A model's folder, with a name to show: `run:NAME`, the last part of a folder's path, or the hub's name.

    `digest` identifies the model by every file that influences a vector, not by its name. `revision` is the commit of
    a model of the hub, and None for others.
    """

    name: str
    folder: Path
    digest: str
    revision: str | None = None


def of_folder(name: str, folder: Path, revision: str | None = None) -> Found:
    """A folder as a model. Its files are not checked here but when it is loaded."""
    try:
        return Found(name, folder, digests.of_files(folder, layout.parts(folder)), revision)
    except OSError as error:
        raise NotAModelFolder(
            f"'{name}' cannot be read: {error.filename or folder}: {error.strerror or error}. Check the "
            "permissions of its files, or choose another model."
        ) from error


def find(source: str, online: bool = False) -> Found:
    """Find a model on this disk: the bundled one, a folder, or one of the hub (`name`, `name@revision` or a link).

    The network is used only if `online` is true and this disk lacks the model: without a connection, a
    request can take half a minute.
    """
    if online:
        return finish(fetch(source))
    name = _unlinked(source.strip())
    folder = _folder(name)
    if folder is not None:
        return of_folder(shown_name(name), folder)
    model, revision = _on_hub(name)
    folder = hub.cached(model, revision)
    lacks = "" if folder is None else hub.lacks(folder)
    if folder is None or lacks:
        state = f"is in the local cache without {lacks}" if lacks else "is neither a folder here nor in the local cache"
        command = f"hf download {model}" + (f" --revision {revision}" if revision else "")
        run = (
            f" The run of that name is '{run_folder.model_name(name)}'."
            if run_folder.model_name(model) in run_folder.models()
            else ""
        )
        raise HubUnreachable(
            f"'{name}' {state}.{run} Allow the download from huggingface.co (online), or run '{command}'. "
            f"Without a connection, choose the bundled {bundled.NAME}{_or_else()}."
        )
    return of_folder(name, folder, folder.name)


def shown_name(source: str) -> str:
    """A source as shown: `run:NAME` for the model of a run, the last part of any other path."""
    if source == bundled.NAME or source.startswith(run_folder.RUN):
        return source
    try:
        path = Path(source).expanduser().absolute()
        return (
            run_folder.model_of(path)
            or (path.resolve().name if path.name == ".." else path.name if path.is_dir() else "")
            or source
        )
    except (OSError, RuntimeError, ValueError):
        return source


def fetch(source: str) -> Work[Found]:
    """Find a model as `find` does, but download it from the hub if this disk lacks it."""
    with suppress(HubUnreachable):
        return find(source)
    yield from fetching.fetch(*_on_hub(_unlinked(source.strip())))
    return find(source)


def _unlinked(name: str) -> str:
    """The name, with revision, of a link to a model of the hub; any other name unchanged."""
    link = _LINK.fullmatch(name)
    if link:
        model, revision = link.groups()
        return f"{model}@{unquote(revision)}" if revision else model
    if "://" in name:
        raise BadChoice(
            f"'{name}' is not a link to a model of the hub. Give one such as "
            "'https://huggingface.co/sentence-transformers/all-mpnet-base-v2', or the name at its end."
        )
    return name


def _folder(name: str) -> Path | None:
    """The folder of a name; None if the name can only be on the hub."""
    if not name:
        raise BadChoice(
            f"No model is named. Give '{bundled.NAME}', a folder, or a name on the hub such as "
            "'sentence-transformers/all-mpnet-base-v2'."
        )
    if name == bundled.NAME:
        return bundled.folder()
    if name.startswith(run_folder.RUN):
        return _of_run(name)
    try:
        path = Path(name).expanduser().absolute()
        if path.is_dir():
            return path
        is_file = path.exists()
    except (OSError, RuntimeError, ValueError) as error:  # no permission, no such user, too long
        raise ModelNotFound(
            f"'{name}' cannot be looked up: {str(error).rstrip('.')}. Give a folder that can be read."
        ) from error
    if is_file:
        raise NotAModelFolder(f"'{name}' is a file. Give its folder, with config.json and the tokenizer.")
    # a revision may have slashes of its own: refs/pr/1
    if name.startswith(("/", ".", "~")) or "\\" in name or name.partition("@")[0].count("/") > 1:
        raise ModelNotFound(f"There is no folder '{name}'. Check the path; relative ones start at {Path.cwd()}.")
    return None


def has_weights(folder: Path) -> bool:
    """Whether a model's folder holds its weights; the example that ships has none."""
    return bool(layout.weights(layout.transformer(folder)))


def _of_run(name: str) -> Path:
    run, checkpoint = run_folder.run_and_checkpoint(name)
    named = run not in ("", ".", "..") and Path(run).name == run
    inside = f"{run_folder.STEPS}/{checkpoint}" if "@" in name else run_folder.MODEL
    folder = run_folder.folder_of(run) / inside
    if named and ("@" not in name or run_folder.is_checkpoint(checkpoint)) and folder.is_dir():
        return folder
    if named and "@" in name and folder.parent.parent.is_dir():
        there = ", ".join(run_folder.checkpoints(run)) or "none, since a run keeps them only with '--set keep_steps=on'"
        raise ModelNotFound(f"Run '{run}' has no model of '{checkpoint}'. There are: {there}.")
    there = ", ".join(run_folder.models()[:5]) or "none yet"
    raise ModelNotFound(f"No run '{run}' has a model. There are: {there}. The Train page lists every run.")


def _on_hub(name: str) -> tuple[str, str | None]:
    """A model's name on the hub, and its revision if one is given."""
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    model, at, revision = name.partition("@")
    try:
        validate_repo_id(model)
    except HFValidationError as error:
        raise BadChoice(
            f"'{name}' is neither a folder here nor a valid name on the hub: 'name' or 'organisation/name' of "
            "letters, digits, '-', '_' and '.', and '@revision' after it for one revision. Check the spelling."
        ) from error
    if not at:
        return model, None
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise BadChoice(
            f"'{revision}' is not a revision. Give a branch, a tag or a commit after '{model}@', or leave the @ out."
        )
    if _folder(model) is not None:
        raise BadChoice(
            f"A revision ('{revision}') belongs to a model of the hub; '{model}' is on this machine. Leave "
            f"'@{revision}' out, or give the name on the hub in full."
        )
    return model, revision


def _or_else() -> str:
    names = hub.on_disk()[:5]
    return f", a folder, or one of those in the cache: {', '.join(names)}" if names else " or a folder"
