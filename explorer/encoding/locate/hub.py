"""Look up a model on the Hugging Face hub or in its local cache."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from explorer.encoding.locate import adapters, bundled, layout, lookup
from explorer.errors import HubUnreachable, ModelError, ModelGated, ModelNotFound

_CACHED = "models--"  # a model in the cache: models--org--name/snapshots/<commit>
# includes shards, but not half-precision variants and copies for onnx, openvino or tensorflow
_WEIGHTS = re.compile(r"(pytorch_)?model(-\d+-of-\d+)?\.(safetensors|bin)|adapter_model\.safetensors")
_MODULE = re.compile(r"\d+_\w+")  # 1_Pooling
_OFFLINE_HELP = (
    f"Without the hub, choose the bundled {bundled.NAME} or a folder with a model in it; on a machine with a "
    "connection, 'hf download <name>' fills a cache that can be copied here."
)


def lacks(folder: Path) -> str:
    """What a snapshot still lacks: a cache may hold only some files. The base of an adapter is another snapshot."""
    adapter = layout.adapter(folder)
    if adapter is not None and not (adapter / adapters.WEIGHTS).is_file():
        return f"its weights ({adapters.WEIGHTS})"
    if adapter is not None and adapters.needs_base(adapter):
        return ""
    place = layout.transformer(folder)
    files = layout.weights(place)
    if not files or not all(path.is_file() for path in files):
        return "its weights"
    if not all(module.folder.is_dir() for module in layout.modules(folder) if _has_settings(module)):
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


def _has_settings(module: layout.Module) -> bool:
    return module.kind not in ("Normalize", "Transformer")  # older releases saved nothing for Normalize
