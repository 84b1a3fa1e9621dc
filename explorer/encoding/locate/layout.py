"""The file layout of a model folder: config, weights, tokenizer and modules, and the base of an adapter of peft."""

import reprlib
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from explorer.encoding.locate import configuration, families, lookup, stored_vectors
from explorer.errors import HubUnreachable, ModelNotFound, NotAModelFolder, NotWeights, StrataError, UnsupportedModel

# in transformers' order of preference; an index names the shards of weights
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
ADAPTER, ADAPTER_WEIGHTS, ADAPTER_PICKLE = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"
LISTED = 8  # files or models in a message
# a module with a chain of modules for each kind of text, by its names, and the names of the file that lists them
ROUTERS, ROUTER_FILES = ("Router", "Asym"), ("router_config.json", "config.json")
SETTINGS = (".json", ".txt", ".model", ".spm")  # settings and vocabularies: all small files that influence a vector
SIMILARITY = "similarity.json"  # what cosines of the model mean: it influences none
MOST_LAYERS = 1000  # published encoders have at most a hundred; a menu has an entry for each


@dataclass(frozen=True)
class Module:
    """An entry of modules.json: the last part of its type, and its folder."""

    kind: str
    folder: Path


def modules(folder: Path) -> tuple[Module, ...]:
    """The modules in modules.json of a sentence-transformers folder, in order; none without it."""
    return _listed(described_in(folder))


def _listed(folder: Path) -> tuple[Module, ...]:
    path = folder / "modules.json"
    if not path.exists():
        return _of_model2vec(folder)
    lines = configuration.parsed(path, otherwise=[])
    if not isinstance(lines, list) or not all(
        isinstance(line, dict) and isinstance(line.get("type"), str) and isinstance(line.get("path"), str)
        for line in lines
    ):
        raise NotAModelFolder(
            f"{path} should be a list of modules, each with a type and a path that are text. Copy or download the "
            "file again."
        )
    listed = [_module(path, line["type"], line["path"]) for line in lines]
    return tuple(chain.from_iterable(_of_router(one) if one.kind in ROUTERS else (one,) for one in listed))


def _module(path: Path, kind: str, place: str) -> Module:
    """An entry of a file: the dotted names before the last changed between versions of sentence-transformers."""
    if Path(place).is_absolute() or ".." in Path(place).parts:
        raise NotAModelFolder(f"{path} points outside its folder: '{place}'. Copy or download the folder again.")
    return Module(kind.rsplit(".", 1)[-1], path.parent / place)


def _of_router(router: Module) -> tuple[Module, ...]:
    """The modules of a Router if all texts take them; the Router itself if its routes differ."""
    routes = routes_of(router.folder)
    return next(iter(routes.values())) if len(set(routes.values())) == 1 else (router,)


def routes_of(folder: Path) -> dict[str, tuple[Module, ...]]:
    """The modules of each route of a Router; modules that several routes share are saved once."""
    path = next(filter(Path.is_file, (folder / name for name in ROUTER_FILES)), folder / ROUTER_FILES[0])
    stated = configuration.read(path, configuration.Router)
    if not stated.structure or not set(chain.from_iterable(stated.structure.values())) <= set(stated.types):
        raise NotAModelFolder(
            f"{path} should name the modules of each route (structure) and the type of each module (types). Copy or "
            "download the file again."
        )
    return {
        route: tuple(_module(path, stated.types[name], name) for name in names)
        for route, names in stated.structure.items()
    }


def _of_model2vec(folder: Path) -> tuple[Module, ...]:
    """The same modules for static embeddings as another library saves them, without a list; none for anything else."""
    stated = configuration.settings(folder / "config.json")
    if not families.is_static(stated):
        return ()
    return Module(families.STATIC_MODULE, folder), *[Module("Normalize", folder)] * bool(stated.get("normalize"))


def _transformer_folder(folder: Path) -> Path:
    """The folder of the transformer or static embeddings in a model's folder; of an adapter alone, the adapter's."""
    kinds = ("Transformer", families.STATIC_MODULE)
    return next((module.folder for module in _listed(folder) if module.kind in kinds), folder)


def is_static(folder: Path) -> bool:
    """Whether a model is a table of token vectors without layers, as sentence-transformers or model2vec saves it."""
    return [module.kind for module in modules(folder)[:1]] == [families.STATIC_MODULE]


def transformer(folder: Path) -> Path:
    """The folder with the transformer's weights: the folder itself, one that modules.json names, or that of the base.

    The base is that of an adapter which is saved alone.
    """
    place = _transformer_folder(folder)
    found = _base_of(place)
    if found is None:
        return place
    inner = _transformer_folder(found)
    if has_adapter(inner):
        raise UnsupportedModel(
            f"The base of the adapter in {place} is {found}, which is an adapter too. Strata adds one adapter to a "
            "model: merge the other one into its base (peft's merge_and_unload), and save that."
        )
    return inner


def has_adapter(place: Path) -> bool:
    """Whether a transformer's folder holds an adapter."""
    return (place / ADAPTER).is_file()


def needs_base(place: Path) -> bool:
    """Whether it holds an adapter alone; the base may be in the same folder."""
    return has_adapter(place) and not (place / "config.json").is_file()


def adapter(folder: Path) -> Path | None:
    """The folder of an adapter that is added to the transformer; None if there is none."""
    place = _transformer_folder(folder)
    return place if has_adapter(place) else None


def base(folder: Path) -> Path | None:
    """The folder of the model that an adapter belongs to, on this disk; None for a model that is whole."""
    return _base_of(_transformer_folder(folder))


def _base_of(place: Path) -> Path | None:
    if not needs_base(place):
        return None
    try:
        name = _base_name(place)
        if name == lookup.BUNDLED_ON_HUB:  # the weights of the bundled encoder are those published under this name
            return lookup.bundled_folder()
        found = lookup.of_name(name) or lookup.cached(*lookup.on_hub(name))
    except NotAModelFolder:
        raise
    except StrataError as error:  # a path of another machine, say
        raise ModelNotFound(
            f"The adapter in {place} belongs to a model that is not here. {error} Or write the right folder or name as "
            f"'base_model_name_or_path' in {place / ADAPTER}."
        ) from error
    if found is None:
        raise HubUnreachable(
            f"The adapter in {place} belongs to '{name}', which is neither a folder here nor in the local cache. Allow "
            f"the download from huggingface.co (online), or run '{lookup.download_command(*lookup.on_hub(name))}'."
        )
    return found


def base_on_hub(folder: Path) -> str | None:
    """The name on the hub of the base of an adapter; None for a whole model, or if the base is a folder here."""
    place = _transformer_folder(folder)
    if not needs_base(place):
        return None
    name = _base_name(place)
    return name if name != lookup.BUNDLED_ON_HUB and lookup.of_name(name) is None else None


def _base_name(place: Path) -> str:
    """The name of the base of an adapter, with its revision on the hub if one is stated."""
    path = place / ADAPTER
    stated = configuration.read(path, configuration.Adapter)
    if not stated.base_model_name_or_path:
        raise NotAModelFolder(
            f"{path} does not say which model the adapter belongs to: it has no 'base_model_name_or_path'. Write the "
            "folder of that model there, or its name on the hub."
        )
    name = lookup.unlinked(stated.base_model_name_or_path)
    return f"{name}@{stated.revision}" if stated.revision and "@" not in name and lookup.of_name(name) is None else name


def described_in(folder: Path) -> Path:
    """The folder whose modules.json describes a model: its own, or for an adapter without one that of the base."""
    return folder if (folder / "modules.json").exists() else _base_of(folder) or folder


def inside(folder: Path) -> tuple[Path, ...]:
    """The model folders one level below a folder, sorted; none if it cannot be read."""
    with suppress(OSError):
        found = {path for name in lookup.MARKS for path in folder.glob(f"*/{name}")}
        return tuple(sorted({path.parent for path in found if path.name != "config.json" or _is_of_a_model(path)}))
    return ()


def _is_of_a_model(config: Path) -> bool:
    """Whether a config.json names an architecture; that of a pooling or dense module does not."""
    try:
        return "model_type" in configuration.parsed(config, otherwise=())
    except NotAModelFolder:
        return True  # whoever chooses the folder reads what is wrong with it


def refuse(folder: Path) -> NoReturn:
    """Say that a folder has no config.json, what it holds, and which models are one level below."""
    names = [repr(path.name) for path in inside(folder)]
    step = "Choose a folder written by save_pretrained or by sentence-transformers."
    if len(names) == 1:
        step = f"Did you mean the folder {names[0]} in it?"
    elif names:
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        step = f"Models are in its folders {', '.join(names[:LISTED])}{more}: choose one of them."
    raise NotAModelFolder(f"{folder} is not a model: config.json is missing. It holds {contents(folder)}. {step}")


def contents(folder: Path) -> str:
    """The first files and folders in a folder, as a list for messages."""
    there = folder.iterdir() if folder.is_dir() else ()
    names = sorted(path.name + "/" * path.is_dir() for path in there)
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more if names else "nothing"


def weights(folder: Path) -> tuple[Path, ...]:
    """The weights that transformers would load: one file, or the shards of an index, whether they exist or not."""
    path = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if path is None or path.suffix != ".json":
        return () if path is None else (path,)
    shards = configuration.settings(path).get("weight_map")
    if not isinstance(shards, dict) or not all(isinstance(shard, str) for shard in shards.values()):
        raise NotWeights(f"{path} names no shards. Copy or download the file again.")
    return tuple(folder / Path(shard).name for shard in sorted(set(shards.values())))


def vocabulary(folder: Path) -> tuple[Path, ...]:
    """The files of the tokenizer's vocabulary; none if incomplete."""
    for names in families.vocabularies():
        paths = tuple(folder / name for name in names)
        if all(path.is_file() for path in paths):
            return paths
    return ()


def parts(folder: Path) -> tuple[Path, ...]:
    """Every file of a folder that influences a vector: weights, settings and vocabularies, also of module folders."""
    found: set[Path] = set()
    for place in {folder, *(module.folder for module in _listed(folder))}:
        inside = place.iterdir() if place.is_dir() else ()  # older releases made no folder for Normalize
        small = (path for path in inside if path.suffix in SETTINGS and path.name != SIMILARITY)
        heavy = (*weights(place), *([place / ADAPTER_WEIGHTS] if has_adapter(place) else []))
        found.update(path for path in (*small, *heavy) if path.is_file())
    return tuple(sorted(found))


def settings(folder: Path) -> dict[str, Any]:
    """The config.json of a model's transformer; empty if it has none."""
    return configuration.settings(transformer(folder) / "config.json")


def family(folder: Path) -> str:
    """The published family of a model's folder, such as `RoBERTa-base`; "" for any other."""
    return families.published(settings(folder))


def last_layer(folder: Path) -> int:
    """The number of the last layer of a model; layer 0 is the embedding output."""
    if stored_vectors.are_in(folder) or is_static(folder):
        return 0
    path = transformer(folder) / "config.json"
    stated = configuration.settings(path)
    names = tuple(dict.fromkeys(row.layers for row in families.FAMILIES if row.layers))
    name = next((name for name in names if stated.get(name) is not None), None)
    if name is None:
        raise UnsupportedModel(
            f"{path} does not say how many layers the model has (one of {', '.join(names)}). Save the model again "
            "with transformers' save_pretrained."
        )
    number = stated[name]
    if type(number) is not int or not 1 <= number <= MOST_LAYERS:  # to Python, true is an int too
        raise UnsupportedModel(
            f"{path} says that {name} is {reprlib.repr(number)}, which is not a number of layers from 1 to "
            f"{MOST_LAYERS}. Save the model again with transformers' save_pretrained, or choose another."
        )
    return number
