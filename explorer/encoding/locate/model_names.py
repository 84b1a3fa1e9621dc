"""Find the folder of a model by its name: bundled, folder, run, or hub."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from explorer import run_folder
from explorer.encoding.locate import hub, layout, lookup
from explorer.errors import HubUnreachable, ModelError, NotAModelFolder, StrataError
from explorer.places import given_path
from explorer.progress import Work, finish


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
        digest = lookup.files_digest(folder, layout.parts(folder))
        base = layout.base(folder)
        if base is not None:  # vectors depend on the base of an adapter as well
            digest = lookup.joined_digests(digest, lookup.files_digest(base, layout.parts(base)))
        return Found(name, folder, digest, revision)
    except OSError as error:
        raise NotAModelFolder(
            f"'{name}' cannot be read: {error.filename or folder}: {error.strerror or error}. Check the "
            "permissions of its files, or choose another model."
        ) from error


def check_same(found: Found) -> None:
    """Refuse files that have changed since a model was found: what is measured of them is kept under its digest."""
    if of_folder(found.name, found.folder).digest != found.digest:
        raise ModelError(
            f"The files of '{found.name}' have changed since it was chosen, so it is another model now. Try again."
        )


def find(source: str, online: bool = False) -> Found:
    """Find a model on this disk: the bundled one, a folder, or one of the hub (`name`, `name@revision` or a link).

    The network is used only if `online` is true and this disk lacks the model: without a connection, a
    request can take half a minute.
    """
    if online:
        return finish(fetch(source))
    name = lookup.unlinked(source.strip())
    folder = lookup.of_name(name)
    if folder is not None:
        return of_folder(shown_name(name), folder)
    model, revision = lookup.on_hub(name)
    folder = lookup.cached(model, revision)
    lacks = "" if folder is None else hub.lacks(folder)
    if folder is None or lacks:
        state = f"is in the local cache without {lacks}" if lacks else "is neither a folder here nor in the local cache"
        run = (
            f" The run of that name is '{run_folder.model_name(name)}'."
            if run_folder.model_name(model) in run_folder.models()
            else ""
        )
        raise HubUnreachable(
            f"'{name}' {state}.{run} Allow the download from huggingface.co (online), or run "
            f"'{lookup.download_command(model, revision)}'. Without a connection, choose the bundled "
            f"{lookup.BUNDLED}{_or_else()}."
        )
    return of_folder(name, folder, folder.name)


def inside(source: str) -> tuple[Path, ...]:
    """The models one level below the folder that a source names, if it is no model itself; else none."""
    with suppress(StrataError):
        folder = lookup.of_name(source)
        if folder is not None and not layout.is_model_folder(folder):
            return layout.inside(folder)
    return ()


def family(source: str, online: bool = False) -> str:
    """The published family of a model; "" if it is not on this disk, from where `online` lets it be downloaded."""
    try:
        return layout.family(find(source, online).folder)
    except StrataError:  # whoever loads the model reports it
        return ""


def shown_name(source: str) -> str:
    """A source as shown: `run:NAME` for the model of a run, the last part of any other path."""
    if source == lookup.BUNDLED or source.startswith(run_folder.RUN):
        return source
    try:
        path = given_path(source).absolute()
        return (
            run_folder.model_of(path)
            or (path.resolve().name if path.name == ".." else path.name if path.is_dir() else "")
            or source
        )
    except (OSError, StrataError):
        return source


def fetch(source: str) -> Work[Found]:
    """Find a model as `find` does, but download it from the hub if this disk lacks it, or the base of an adapter."""
    with suppress(HubUnreachable):
        return find(source)
    name = lookup.unlinked(source.strip())
    folder = lookup.of_name(name)
    if folder is None:
        yield from hub.fetch(*lookup.on_hub(name))
        folder = lookup.cached(*lookup.on_hub(name))
    base = None if folder is None else layout.base_on_hub(folder)
    if base is not None:
        yield from hub.fetch(*lookup.on_hub(base))
    return find(source)


def _or_else() -> str:
    names = hub.on_disk()[:5]
    return f", a folder, or one of those in the cache: {', '.join(names)}" if names else " or a folder"
