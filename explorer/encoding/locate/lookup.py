"""Find the folder that a model's name means: bundled, a folder, of a run, or in the hub's cache."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from explorer import run_folder
from explorer.encoding.locate import bundled
from explorer.errors import BadChoice, ModelNotFound, NotAModelFolder
from explorer.places import given_path

# a page of a model on the hub, or of one of its files; not datasets/org/name
_LINK = re.compile(
    r"(?:https?://)?(?:www\.)?(?:huggingface|hf)\.co/(?!(?:datasets|spaces)/)"
    r"([^/?#]+(?:/(?!(?:tree|blob|resolve|commit)/)[^/?#]+)?)(?:/(?:tree|blob|resolve|commit)/([^/?#]+))?(?:[/?#].*)?",
    re.IGNORECASE,
)
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
MARKS = ("config.json", "modules.json", "adapter_config.json")  # each says that a folder is a model


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
            f"No model is named. Give '{bundled.NAME}', a folder, or a name on the hub such as "
            "'sentence-transformers/all-mpnet-base-v2'."
        )
    if name == bundled.NAME:
        return bundled.folder()
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
    raise ModelNotFound(f"No run '{run}' has a model. There are: {there}. The Train page lists every run.")


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
