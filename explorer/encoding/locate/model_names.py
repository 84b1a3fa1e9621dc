"""Find a model by its name: bundled, folder, run, or one of the Hugging Face hub, from where it can be downloaded."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from explorer import run_folder
from explorer.data.vectors import vector_corpus
from explorer.encoding.locate import layout, lookup, stored_vectors
from explorer.errors import HubUnreachable, ModelError, ModelGated, ModelNotFound, NotAModelFolder, StrataError
from explorer.places import given_path
from explorer.progress import Phase, Progress, Work, finish

Answer = TypeVar("Answer")

PACE = 0.5  # seconds between two reports, and so the longest wait for a stop
_CACHED = "models--"  # a model in the cache: models--org--name/snapshots/<commit>
# includes shards, but not half-precision variants and copies for onnx, openvino or tensorflow
_WEIGHTS = re.compile(r"(pytorch_)?model(-\d+-of-\d+)?\.(safetensors|bin)|adapter_model\.safetensors")
_LICENCE = "license:"  # begins the tag that names one
_MODULE = re.compile(r"([\w-]+_)?\d+_\w+")  # 1_Pooling, and query_0_Transformer of a Router
_OFFLINE_HELP = (
    f"Without the hub, choose the bundled {lookup.BUNDLED} or a folder with a model in it; on a machine with a "
    "connection, 'hf download <name>' fills a cache that can be copied here."
)


@dataclass(frozen=True)
class Found:
    """A model's folder, with a name to show: `run:NAME`, the last part of a folder's path, or the hub's name.

    `digest` identifies the model by every file that influences a vector, not by its name. `revision` is the commit of
    a model of the hub, and None for others. `prompt` is put before every text in place of the model's own; with it,
    the digest is another one.
    """

    name: str
    folder: Path
    digest: str
    revision: str | None = None
    prompt: str | None = None

    @property
    def files(self) -> Found:
        """The same model as its files declare it, without a chosen prompt."""
        return self if self.prompt is None else of_folder(self.name, self.folder, self.revision)


def of_folder(name: str, folder: Path, revision: str | None = None) -> Found:
    """A folder as a model. Its files are not checked here but when it is loaded."""
    if stored_vectors.are_in(folder):
        found = vector_corpus.stored(folder, name)
        if found is None:
            raise NotAModelFolder(f"The copy of '{name}' in {folder} is damaged. Remove that folder, and try again.")
        return Found(name, folder, found.digest)
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


def after_prompt(model: Found, prompt: str) -> Found:
    """The model as it reads texts after a prompt: its vectors are others, so its digest is another one."""
    files = model.files
    return replace(files, digest=lookup.joined_digests(files.digest, f"after the prompt {prompt!r}"), prompt=prompt)


def check_same(model: Found) -> None:
    """Refuse files that have changed since a model was found: what is measured of them is kept under its digest."""
    now = of_folder(model.name, model.folder)
    if (now if model.prompt is None else after_prompt(now, model.prompt)).digest != model.digest:
        raise ModelError(
            f"The files of '{model.name}' have changed since it was chosen, so it is another model now. Try again."
        )


def find(source: str, online: bool = False) -> Found:
    """Find a model on this disk: the bundled one, a folder, or one of the hub (`name`, `name@revision` or a link).

    The network is used only if `online` is true and this disk lacks the model: without a connection, a
    request can take half a minute.
    """
    if online or stored_vectors.is_named(source.strip()):
        return finish(fetch(source))
    name = lookup.unlinked(source.strip())
    folder = lookup.of_name(name)
    if folder is not None:
        return of_folder(shown_name(name), folder)
    model, revision = lookup.on_hub(name)
    folder = lookup.cached(model, revision)
    missing = "" if folder is None else lacks(folder)
    if folder is None or missing:
        there = "is neither a folder here nor in the local cache"
        state = f"is in the local cache without {missing}" if missing else there
        has_run = run_folder.model_name(model) in run_folder.models()
        run = f" The run of that name is '{run_folder.model_name(name)}'." if has_run else ""
        names = ", ".join(on_disk()[:5])
        others = f", a folder, or one of those in the cache: {names}" if names else " or a folder"
        raise HubUnreachable(
            f"'{name}' {state}.{run} Allow the download from huggingface.co (online), or run "
            f"'{lookup.download_command(model, revision)}'. Without a connection, choose the bundled "
            f"{lookup.BUNDLED}{others}."
        )
    return of_folder(name, folder, folder.name)


def inside(source: str) -> tuple[Path, ...]:
    """The models one level below the folder that a source names, if it is no model itself; else none."""
    with suppress(StrataError):
        folder = lookup.of_name(source)
        if folder is not None and not any((folder / name).exists() for name in lookup.MARKS):
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
        last = path.resolve().name if path.name == ".." else path.name if path.is_dir() else ""
        return run_folder.model_of(path) or last or source
    except (OSError, StrataError):
        return source


def fetch(source: str) -> Work[Found]:
    """Find a model as `find` does, but download it from the hub if this disk lacks it, or the base of an adapter.

    Vectors are checked and copied first, if that was not done before.
    """
    if stored_vectors.is_named(source.strip()):
        vectors = yield from stored_vectors.read(source.strip())
        return Found(vectors.name, vectors.folder, vectors.digest)
    with suppress(HubUnreachable):
        return find(source)
    name = lookup.unlinked(source.strip())
    folder = lookup.of_name(name)
    if folder is None:
        yield from download(*lookup.on_hub(name))
        folder = lookup.cached(*lookup.on_hub(name))
    base = None if folder is None else layout.base_on_hub(folder)
    if base is not None:
        yield from download(*lookup.on_hub(base))
    return find(source)


def lacks(folder: Path) -> str:
    """What a snapshot still lacks: a cache may hold only some files. The base of an adapter is another snapshot."""
    adapter = layout.adapter(folder)
    if adapter is not None and not (adapter / layout.ADAPTER_WEIGHTS).is_file():
        return f"its weights ({layout.ADAPTER_WEIGHTS})"
    if adapter is not None and layout.needs_base(adapter):
        return ""
    place = layout.transformer(folder)
    files = layout.weights(place)
    if not files or not all(path.is_file() for path in files):
        return "its weights"
    # older releases saved nothing for Normalize
    kinds = ("Normalize", "Transformer")
    if not all(module.folder.is_dir() for module in layout.modules(folder) if module.kind not in kinds):
        return "its modules"
    return "" if layout.vocabulary(place) else "its tokenizer"


def on_disk() -> tuple[str, ...]:
    """The hub names of the models that are complete in the local cache."""
    from huggingface_hub import constants

    found = []
    for path in sorted(Path(constants.HF_HUB_CACHE).glob(f"{_CACHED}*")):
        name = path.name.removeprefix(_CACHED).replace("--", "/", 1)
        with suppress(ModelError, ValueError):  # a broken modules.json, or a cache folder that is not a model
            folder = lookup.cached(name)
            if folder is not None and not lacks(folder) and layout.transformer(folder).is_dir():
                found.append(name)
    return tuple(found)


@dataclass(frozen=True)
class OnHub:
    """What the hub says of a model: its needed files with their sizes in bytes, and its licence; "" without one."""

    files: Mapping[str, int]
    licence: str


def on_hub(name: str, revision: str | None = None) -> OnHub:
    """Ask the hub about a model. Uses the network."""
    from huggingface_hub import HfApi

    try:
        found = HfApi().model_info(name, revision=revision, files_metadata=True)
    except Exception as error:
        raise in_words(error, name, revision) from error
    siblings: list[Any] = found.siblings or []
    sizes = {each.rfilename: int(each.size or 0) for each in siblings}
    licences = (tag.removeprefix(_LICENCE) for tag in found.tags or [] if tag.startswith(_LICENCE))
    return OnHub({file: sizes[file] for file in wanted(sizes)}, next(licences, ""))


def ask_hub(source: str) -> Work[OnHub]:
    """Ask the hub about a model before it is downloaded."""
    return (yield from _asked(*lookup.on_hub(lookup.unlinked(source.strip()))))


def _asked(name: str, revision: str | None) -> Work[OnHub]:
    asking = Progress(Phase.ASKING_HUB, 0, 0)
    yield asking
    return (yield from _in_a_thread(lambda: on_hub(name, revision), lambda: asking))


def wanted(paths: Iterable[str]) -> tuple[str, ...]:
    """The needed files of a repository: safetensors if there are any, else pickles."""
    near = [path for path in map(PurePosixPath, paths) if path.parts[1:] == () or _MODULE.fullmatch(str(path.parent))]
    heavy = [path for path in near if _WEIGHTS.fullmatch(path.name)]
    safe = {path.parent for path in heavy if path.suffix == ".safetensors"}
    pickled = {path for path in heavy if path.suffix == ".bin" and path.parent in safe}
    kept = {path for path in near if path.suffix in layout.SETTINGS} | {*heavy} - pickled
    return tuple(sorted(map(str, kept)))


def in_words(error: Exception, name: str, revision: str | None) -> ModelError:
    """Turn an error of the hub into one that names the next step; its own text may hold addresses and keys."""
    from huggingface_hub import errors

    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.GatedRepoError):
        return ModelGated(
            f"'{name}' requires you to accept its licence. Accept it at https://huggingface.co/{name}, "
            "then log in with 'hf auth login' or set HF_TOKEN, and try again."
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return ModelNotFound(
            f"The hub has no model '{name}'. Check the spelling, which is usually 'organisation/name'. A private "
            "model gives the same error: if it is private, log in with 'hf auth login' or set HF_TOKEN."
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return ModelNotFound(
            f"'{name}' has no revision '{revision or 'main'}'. See its branches, tags and commits at "
            f"https://huggingface.co/{name}/commits, or leave '@{revision or 'main'}' out."
        )
    if status in (401, 403):
        return ModelGated(
            f"The hub refuses '{name}' (HTTP {status}). Log in with 'hf auth login' or set HF_TOKEN to a token "
            "that may read it."
        )
    chain = (error, error.__cause__, error.__context__)
    if any(isinstance(each, errors.OfflineModeIsEnabled) for each in chain):
        reason = "HF_HUB_OFFLINE is set, so the hub is not used"
    elif type(error) is RuntimeError and "cancelled" in str(error):  # xet stops all downloads of a process, or none
        reason = "it was stopped together with another download; start it again"
    elif status == 429:
        reason = "too many requests (HTTP 429): wait and try again"
    elif status is not None:
        reason = f"the hub answers HTTP {status}"
    elif isinstance(error, OSError) and error.strerror and not isinstance(error, ConnectionError):
        reason = error.strerror  # the disk is full, say
    else:
        reason = f"huggingface.co cannot be reached ({type(error).__name__})"
    return HubUnreachable(f"'{name}' could not be downloaded: {reason}. {_OFFLINE_HELP}")


def download(name: str, revision: str | None = None) -> Work[None]:
    """Download the needed files of a model into the local cache; done and total are a file's bytes.

    Close the generator to stop: the current file is discarded, earlier ones are kept.
    """
    found = yield from _asked(name, revision)
    for file, size in found.files.items():
        yield from _download_file(name, revision, file, size)
    folder = lookup.cached(name, revision)
    missing = "its config.json" if folder is None else lacks(folder)
    if missing:
        raise NotAModelFolder(
            f"'{name}' on the hub lacks {missing}. Strata needs config.json, model.safetensors or pytorch_model.bin, "
            "and the tokenizer's files. Choose a model saved for transformers."
        )


def _download_file(name: str, revision: str | None, file: str, size: int) -> Work[None]:
    from huggingface_hub import hf_hub_download

    bar = _Bar()

    def progress() -> Progress:
        return Progress(Phase.DOWNLOADING, min(bar.done, size), size, "bytes", file)

    yield progress()
    try:
        yield from _in_a_thread(lambda: hf_hub_download(name, file, revision=revision, tqdm_class=bar), progress)
    except Exception as error:
        raise in_words(error, name, revision) from error
    except (GeneratorExit, KeyboardInterrupt):
        bar.give_up()
        raise


def _in_a_thread(do: Callable[[], Answer], progress: Callable[[], Progress]) -> Work[Answer]:
    """Run a call in a thread and report progress until it returns, since the call itself cannot be stopped."""
    answer: Future[Answer] = Future()

    def work() -> None:
        try:
            answer.set_result(do())
        except Exception as error:  # noqa: BLE001  raised below, where the answer is asked for
            answer.set_exception(error)

    threading.Thread(target=work, name="fetching", daemon=True).start()
    while wait([answer], timeout=PACE).not_done:
        yield progress()
    return answer.result()


class _GivenUpError(Exception):
    """Raised inside the library, to stop a download."""


class _Bar:
    """A progress bar class for the hub's library, and its only instance."""

    def __init__(self) -> None:
        self.done = 0
        self._given_up = False

    def give_up(self) -> None:
        """Stop the download, with either of the library's two protocols."""
        from huggingface_hub.utils._xet import abort_xet_session

        abort_xet_session()  # first, since xet only prints errors that a report raises
        self._given_up = True

    def __call__(self, **_: object) -> _Bar:
        return self

    def update(self, count: float) -> None:
        """Add bytes on the disk; negative if the library starts over."""
        if self._given_up:
            raise _GivenUpError
        self.done += int(count)

    def ignore(self, *_: object, **__: object) -> None:
        """Ignore network bytes, which may be compressed, and their rate."""

    update_transfer = set_postfix_str = set_transfer_postfix_str = ignore

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""
