"""Models of the Hugging Face hub: what the local cache holds of them, and downloads that can be stopped."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from explorer.encoding.locate import layout, lookup
from explorer.errors import HubUnreachable, ModelError, ModelGated, ModelNotFound, NotAModelFolder
from explorer.progress import Phase, Progress, Work

Answer = TypeVar("Answer")

PACE = 0.5  # seconds between two reports, and so the longest wait for a stop
_CACHED = "models--"  # a model in the cache: models--org--name/snapshots/<commit>
# includes shards, but not half-precision variants and copies for onnx, openvino or tensorflow
_WEIGHTS = re.compile(r"(pytorch_)?model(-\d+-of-\d+)?\.(safetensors|bin)|adapter_model\.safetensors")
_MODULE = re.compile(r"\d+_\w+")  # 1_Pooling
_OFFLINE_HELP = (
    f"Without the hub, choose the bundled {lookup.BUNDLED} or a folder with a model in it; on a machine with a "
    "connection, 'hf download <name>' fills a cache that can be copied here."
)


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

    spelled = sorted(path.name.removeprefix(_CACHED) for path in Path(constants.HF_HUB_CACHE).glob(f"{_CACHED}*"))
    names = [name.replace("--", "/", 1) for name in spelled]
    return tuple(name for name in names if _readable(name))


def files(name: str, revision: str | None = None) -> dict[str, int]:
    """The needed files of a model on the hub, with sizes in bytes. Uses the network."""
    from huggingface_hub import HfApi

    try:
        siblings: list[Any] = HfApi().model_info(name, revision=revision, files_metadata=True).siblings or []
    except Exception as error:
        raise in_words(error, name, revision) from error
    sizes = {each.rfilename: int(each.size or 0) for each in siblings}
    return {file: sizes[file] for file in wanted(sizes)}


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
    return HubUnreachable(f"'{name}' could not be downloaded: {_reason(error, status)}. {_OFFLINE_HELP}")


def _reason(error: Exception, status: int | None) -> str:
    from huggingface_hub import errors

    chain = (error, error.__cause__, error.__context__)
    if any(isinstance(each, errors.OfflineModeIsEnabled) for each in chain):
        return "HF_HUB_OFFLINE is set, so the hub is not used"
    if type(error) is RuntimeError and "cancelled" in str(error):  # xet stops all downloads of a process, or none
        return "it was stopped together with another download; start it again"
    if status == 429:
        return "too many requests (HTTP 429): wait and try again"
    if status is not None:
        return f"the hub answers HTTP {status}"
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ConnectionError):
        return error.strerror  # the disk is full, say
    return f"huggingface.co cannot be reached ({type(error).__name__})"


def _readable(name: str) -> bool:
    try:
        folder = lookup.cached(name)
        return folder is not None and not lacks(folder) and layout.transformer(folder).is_dir()
    except (ModelError, ValueError):  # a broken modules.json, or a cache folder that is not a model
        return False


def fetch(name: str, revision: str | None = None) -> Work[None]:
    """Download the needed files of a model into the local cache; done and total are a file's bytes.

    Close the generator to stop: the current file is discarded, earlier ones are kept.
    """
    asking = Progress(Phase.ASKING_HUB, 0, 0)
    yield asking
    sizes = yield from _meanwhile(lambda: files(name, revision), lambda: asking)
    for file, size in sizes.items():
        yield from _fetch_file(name, revision, file, size)
    folder = lookup.cached(name, revision)
    missing = "its config.json" if folder is None else lacks(folder)
    if missing:
        raise NotAModelFolder(
            f"'{name}' on the hub lacks {missing}. Strata needs config.json, model.safetensors or pytorch_model.bin, "
            "and the tokenizer's files. Choose a model saved for transformers."
        )


def _fetch_file(name: str, revision: str | None, file: str, size: int) -> Work[None]:
    from huggingface_hub import hf_hub_download

    bar = _Bar()

    def progress() -> Progress:
        return Progress(Phase.DOWNLOADING, min(bar.done, size), size, "bytes", file)

    yield progress()
    try:
        yield from _meanwhile(lambda: hf_hub_download(name, file, revision=revision, tqdm_class=bar), progress)
    except Exception as error:
        raise in_words(error, name, revision) from error
    except (GeneratorExit, KeyboardInterrupt):
        bar.give_up()
        raise


def _meanwhile(do: Callable[[], Answer], progress: Callable[[], Progress]) -> Work[Answer]:
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
