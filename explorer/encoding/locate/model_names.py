"""Find the folder of a model by its name: bundled, folder, run, or hub."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from explorer.encoding.locate import bundled, digests, fetching, hub, layout
from explorer.errors import BadChoice, HubUnreachable, ModelNotFound, NotAModelFolder
from explorer.places import examples_folder, runs_folder
from explorer.progress import Work, finish

# a page of a model on the hub, or of one of its files; not datasets/org/name
_LINK = re.compile(
    r"(?:https?://)?(?:www\.)?(?:huggingface|hf)\.co/(?!(?:datasets|spaces)/)"
    r"([^/?#]+(?:/(?!(?:tree|blob|resolve|commit)/)[^/?#]+)?)(?:/(?:tree|blob|resolve|commit)/([^/?#]+))?(?:[/?#].*)?",
    re.IGNORECASE,
)
# prefix of a run's name, for its model
RUN = "run:"
# the folder of a run's checkpoints; named after the run's name and an @
STEPS = "steps"
_STEP = re.compile(r"(seed-\d+-)?step-\d+")
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
        run = f" The run of that name is '{RUN}{name}'." if f"{RUN}{model}" in of_runs() else ""
        raise HubUnreachable(
            f"'{name}' {state}.{run} Allow the download from huggingface.co (online), or run '{command}'. "
            f"Without a connection, choose the bundled {bundled.NAME}{_or_else()}."
        )
    return of_folder(name, folder, folder.name)


def shown_name(source: str) -> str:
    """A source as shown: `run:NAME` for the model of a run, the last part of any other path."""
    if source == bundled.NAME or source.startswith(RUN):
        return source
    try:
        path = Path(source).expanduser().absolute()
        return (
            run_name(path)
            or (path.resolve().name if path.name == ".." else path.name if path.is_dir() else "")
            or source
        )
    except (OSError, RuntimeError, ValueError):
        return source


def run_name(folder: Path) -> str | None:
    """`run:NAME` of the run whose model is in a folder, `run:NAME@step-60` for a step's; None for any other folder."""
    inside = folder.resolve()
    homes = (runs_folder().resolve(), examples_folder().resolve())
    parts = next((inside.relative_to(home).parts for home in homes if inside.is_relative_to(home)), ())
    if len(parts) == 2 and parts[1] == "model":
        return f"{RUN}{parts[0]}"
    if len(parts) == 3 and parts[1] == STEPS and _STEP.fullmatch(parts[2]):
        return f"{RUN}{parts[0]}@{parts[2]}"
    return None


def of_runs() -> list[str]:
    """The models of runs, by name, newest first."""
    folders = [path.parent for path in runs_folder().glob("[!.]*/model") if path.is_dir()]
    return [f"{RUN}{path.name}" for path in sorted(folders, key=lambda path: -path.stat().st_mtime)]


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
    if name.startswith(RUN):
        return _of_run(name.removeprefix(RUN))
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


def steps_of(run: str) -> list[str]:
    """The names of a run's checkpoints, in order; none if they were not kept."""
    kept = [path.name for path in (runs_folder() / run / STEPS).glob("*step-*") if _STEP.fullmatch(path.name)]
    return [f"{RUN}{run}@{name}" for name in sorted(kept, key=lambda name: [*map(int, re.findall(r"\d+", name))])]


def step_name(seed: int, step: int, seeds: int) -> str:
    """The name of a checkpoint, after the run's name and an @: `step-60`, `seed-2-step-60`."""
    return f"step-{step}" if seeds == 1 else f"seed-{seed}-step-{step}"


def run_folder(name: str) -> Path:
    """The folder of a run; of the example that ships, if no run has its name."""
    folder = runs_folder() / name
    shipped = examples_folder() / name
    return shipped if shipped.is_dir() and not folder.is_dir() else folder


def has_weights(folder: Path) -> bool:
    """Whether a model's folder holds its weights; the example that ships has none."""
    return bool(layout.weights(layout.transformer(folder)))


def _of_run(name: str) -> Path:
    run, at, step = name.partition("@")
    named = run not in ("", ".", "..") and Path(run).name == run
    folder = run_folder(run) / (f"{STEPS}/{step}" if at else "model")
    if named and (not at or _STEP.fullmatch(step)) and folder.is_dir():
        return folder
    if named and at and folder.parent.parent.is_dir():
        there = ", ".join(steps_of(run)) or "none, since a run keeps them only with '--set keep_steps=on'"
        raise ModelNotFound(f"Run '{run}' has no model of '{step}'. There are: {there}.")
    there = ", ".join(of_runs()[:5]) or "none yet"
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
