"""Find the base of an adapter that peft saved: the model whose name is in its adapter_config.json."""

from __future__ import annotations

from pathlib import Path

from explorer.encoding.locate import bundled, configuration, lookup
from explorer.errors import HubUnreachable, ModelNotFound, NotAModelFolder, StrataError

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
PICKLED = "adapter_model.bin"


def has_adapter(place: Path) -> bool:
    """Whether a transformer's folder holds an adapter."""
    return (place / CONFIG).is_file()


def needs_base(place: Path) -> bool:
    """Whether it holds an adapter alone; the base may be in the same folder."""
    return has_adapter(place) and not (place / "config.json").is_file()


def base_name(place: Path) -> str:
    """The name of the base of an adapter, with its revision on the hub if one is stated."""
    path = place / CONFIG
    stated = configuration.read(path, configuration.Adapter)
    if not stated.base_model_name_or_path:
        raise NotAModelFolder(
            f"{path} does not say which model the adapter belongs to: it has no 'base_model_name_or_path'. Write the "
            "folder of that model there, or its name on the hub."
        )
    name = lookup.unlinked(stated.base_model_name_or_path)
    return f"{name}@{stated.revision}" if stated.revision and "@" not in name and lookup.of_name(name) is None else name


def base(place: Path) -> Path:
    """The folder of the base of an adapter, on this disk."""
    path = place / CONFIG
    try:
        name = base_name(place)
        # the weights of the bundled encoder are those published under this name
        found = (
            bundled.folder() if name == bundled.ON_HUB else lookup.of_name(name) or lookup.cached(*lookup.on_hub(name))
        )
    except NotAModelFolder:
        raise
    except StrataError as error:  # a path of another machine, say
        raise ModelNotFound(
            f"The adapter in {place} belongs to a model that is not here. {error} Or write the right folder or name as "
            f"'base_model_name_or_path' in {path}."
        ) from error
    if found is None:
        model, _, revision = name.partition("@")
        command = f"hf download {model}" + (f" --revision {revision}" if revision else "")
        raise HubUnreachable(
            f"The adapter in {place} belongs to '{name}', which is neither a folder here nor in the local cache. Allow "
            f"the download from huggingface.co (online), or run '{command}'."
        )
    return found
