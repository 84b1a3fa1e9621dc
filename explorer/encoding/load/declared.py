"""Read the model default (declared layer & pooling) from the small files of a folder, without loading the model.

The model default is what sentence-transformers uses: the pooling that modules.json declares, with the modules after it,
or the head of a SimCSE save. For a folder that declares nothing it is the mean of the last layer.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorer.encoding.locate import layout
from explorer.encoding.locate.layout import Module
from explorer.encoding.read.readings import GRID_POOLINGS, OWN, Reading, Row, parse
from explorer.errors import BadChoice

# current name, the switch of releases before 5.4, the name in POOLINGS; in the order in which those releases join them
POOLINGS = (
    ("cls", "pooling_mode_cls_token", "cls"),
    ("max", "pooling_mode_max_tokens", "max"),
    ("mean", "pooling_mode_mean_tokens", "mean"),
    ("mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", "sqrt mean"),
    ("weightedmean", "pooling_mode_weightedmean_tokens", "weighted mean"),
    ("lasttoken", "pooling_mode_lasttoken", "last"),
)
SIMCSE_HEAD = "mlp.dense."  # prefix of its weights
NOT_DECLARED = "the default of sentence-transformers if nothing is declared"
_STEPS = {"Normalize": "normalised", "Dense": "dense layer", "LayerNorm": "layer norm", "FlowMap": "flow"}


@dataclass(frozen=True)
class Declared:
    """What a model declares: in words, and as a cell of the grid if it is one (normalisation aside)."""

    words: str
    cell: Reading | None


def modes(stated: dict[str, Any]) -> list[str]:
    """The poolings in the settings of a Pooling module, by their current names."""
    named = stated.get("pooling_mode")
    if named is None:
        return [mode for mode, switch, _ in POOLINGS if stated.get(switch)] or ["mean"]
    return [named] if isinstance(named, str) else list(named)


def declared(folder: Path) -> Declared | None:
    """What a folder declares; None if it declares nothing."""
    listed = [module for module in layout.modules(folder) if module.kind not in ("Transformer", "Dropout")]
    if not listed:
        return Declared("cls of the last layer → dense layer", None) if _of_simcse(folder) else None
    blended = listed[0].kind == "WeightedLayerPooling"  # which layers is in its weights, perhaps in a large file
    pooling, *after = listed[1:] if blended and len(listed) > 1 else listed
    poolings, steps = _poolings(pooling), [_STEPS.get(module.kind, module.kind) for module in after]
    plain = len(poolings) == 1 and not blended and not set(steps) - {"normalised"}
    first = f"{' + '.join(poolings)} of weighted layers" if blended else _told(poolings)
    return Declared(" → ".join([first, *steps]), _cell(folder, poolings[0]) if plain else None)


def default(folder: Path) -> Reading:
    """The model default."""
    return OWN if declared(folder) else mean_of_last(folder)


def mean_of_last(folder: Path) -> Reading:
    """The mean of the last layer."""
    return Reading(Row((layout.last_layer(folder),)), "mean")


def default_cell(folder: Path) -> Reading:
    """The cell of the grid that is the model default, normalisation aside; the mean of the last layer if none is."""
    stated = declared(folder)
    return (stated.cell if stated else None) or mean_of_last(folder)


def named(title: str | None, folder: Path) -> Reading:
    """The layer & pooling with a title in this model; without a title, the model default."""
    if title in (None, OWN.title):
        return default(folder)
    return parse(str(title), layout.last_layer(folder))


def described(reading: Reading, folder: Path) -> str:
    """A layer & pooling as shown with a score: `model default (mean of the last layer → normalised)`."""
    stated = declared(folder)
    if reading == OWN and stated:
        return f"{OWN.title} ({stated.words})"
    return f"{reading.title} ({NOT_DECLARED})" if reading == default(folder) else reading.title


def _poolings(module: Module) -> list[str]:
    """The known poolings of the module after the transformer; `of layer` if they name a layer."""
    stated = layout.settings(module.folder / "config.json")
    if module.kind == "LayerReading":
        attention = "attention over layers" if stated.get("attention") else "weighted layers"
        own = stated.get("attention") or stated.get("words")
        return [*map(str, stated.get("poolings", ())), *([attention] if own else [])]
    if module.kind != "Pooling":
        return [module.kind]
    names = {mode: name for mode, _, name in POOLINGS}
    return [names.get(mode, mode) for mode in modes(stated)]


def _told(poolings: list[str]) -> str:
    """`cls + mean of the last layer`, then the poolings that name their layers."""
    known = {name for _, _, name in POOLINGS}
    last = [name for name in poolings if name in known]
    others = [name for name in poolings if name not in known]
    return " + ".join([*([f"{' + '.join(last)} of the last layer"] if last else []), *others])


def _cell(folder: Path, pooling: str) -> Reading | None:
    if pooling in GRID_POOLINGS:
        return Reading(Row((layout.last_layer(folder),)), pooling)
    try:
        return parse(pooling, layout.last_layer(folder))
    except BadChoice:
        return None


def _of_simcse(folder: Path) -> bool:
    """Whether a folder was saved by SimCSE's code, with its training head."""
    classes = layout.settings(folder / "config.json").get("architectures") or []
    named = any(str(name).endswith("ForCL") for name in classes)
    return named and any(SIMCSE_HEAD.encode() in _names(path) for path in layout.weights(folder))


def _names(weights: Path) -> bytes:
    """The part of a weights file that names its tensors; all of an old pickle."""
    try:
        if weights.suffix == ".safetensors":
            with weights.open("rb") as file:
                return file.read(int.from_bytes(file.read(8), "little"))
        if not zipfile.is_zipfile(weights):
            return weights.read_bytes()
        with zipfile.ZipFile(weights) as archive:
            return b"".join(archive.read(name) for name in archive.namelist() if name.endswith("data.pkl"))
    except (OSError, zipfile.BadZipFile):
        return b""  # loading reports what is wrong with the file
