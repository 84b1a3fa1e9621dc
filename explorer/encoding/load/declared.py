"""Read the model default (declared layer & pooling) from the small files of a folder, without loading the model.

The model default is what sentence-transformers uses: the pooling that modules.json declares, with the modules after it,
or the head of a SimCSE save. For a folder that declares nothing it is the mean of the last layer.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from explorer.encoding.locate import configuration, families, layout, weights
from explorer.encoding.locate.layout import Module
from explorer.encoding.read import parts
from explorer.encoding.read.pooling import POOLINGS, switched
from explorer.encoding.read.readings import (
    DECODER_POOLINGS,
    GRID_POOLINGS,
    OWN,
    Reading,
    Row,
    cell_of,
    parse,
    readings,
    rows,
)
from explorer.errors import BadChoice, ModelError

SIMCSE_HEAD = "mlp.dense."  # prefix of its weights
NOT_DECLARED = "the default of sentence-transformers if nothing is declared"


@dataclass(frozen=True)
class Declared:
    """What a model declares: in words, and as a layer & pooling without maps if it is one (normalisation aside)."""

    words: str
    cell: Reading | None


def modes(stated: configuration.PoolingModule) -> list[str]:
    """The poolings in the settings of a Pooling module, by their current names."""
    named = stated.pooling_mode
    if named is None:
        return [pooling.library for pooling in switched() if getattr(stated, pooling.switch)] or ["mean"]
    return [named] if isinstance(named, str) else list(named)


def declared(folder: Path) -> Declared | None:
    """What a folder declares; None if it declares nothing."""
    listed = [module for module in layout.modules(folder) if module.kind not in ("Transformer", "Dropout")]
    if not listed:
        return Declared("cls of the last layer → dense layer", None) if _of_simcse(layout.transformer(folder)) else None
    blended = listed[0].kind == "WeightedLayerPooling"  # which layers is in its weights, perhaps in a large file
    pooling, *after = listed[1:] if blended and len(listed) > 1 else listed
    words = {"Normalize": "normalised"} | {kind: step.words for kind, step in parts.steps().items()}
    pooled, steps = _poolings(pooling), [words.get(module.kind, module.kind) for module in after]
    plain = len(pooled) == 1 and not blended and not set(steps) - {"normalised"}
    first = f"{' + '.join(pooled)} of weighted layers" if blended else _told(pooled)
    return Declared(" → ".join([first, *steps]), _cell(folder, pooled[0]) if plain else None)


def poolings(folder: Path) -> tuple[str, ...]:
    """The poolings of the grid of a model."""
    return DECODER_POOLINGS if families.is_decoder(layout.settings(folder)) else GRID_POOLINGS


def grid(folder: Path) -> tuple[Reading, ...]:
    """Every cell of the grid of a model, in its order."""
    return readings(layout.last_layer(folder), poolings(folder))


def outside(reading: Reading, folder: Path) -> tuple[Reading, ...]:
    """The layer & pooling if it is neither a cell of the grid of a model nor its model default; none if it is."""
    inside = reading == OWN or cell_of(reading, rows(layout.last_layer(folder)), poolings(folder)) is not None
    return () if inside else (reading,)


def default(folder: Path) -> Reading:
    """The model default."""
    return OWN if declared(folder) else mean_of_last(folder)


def mean_of_last(folder: Path) -> Reading:
    """The mean of the last layer."""
    return Reading(Row((layout.last_layer(folder),)), "mean")


def default_cell(folder: Path) -> Reading:
    """The layer & pooling that is the model default, normalisation aside; the mean of the last layer if none is."""
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
    path = module.folder / "config.json"
    if module.kind == "LayerReading":
        words = {name: part.words for name, part in parts.state_poolings().items()}
        poolings = configuration.read(path, parts.Poolings).poolings
        return [*poolings, *(words.get(name, name) for name in parts.stated(path))]
    if module.kind != "Pooling":
        return [module.kind]
    names = {pooling.library: name for name, pooling in POOLINGS.items()}
    return [names.get(mode, mode) for mode in modes(configuration.read(path, configuration.PoolingModule))]


def _told(poolings: list[str]) -> str:
    """`cls + mean of the last layer`, then the poolings that name their layers."""
    last = [name for name in poolings if name in POOLINGS]
    others = [name for name in poolings if name not in POOLINGS]
    return " + ".join([*([f"{' + '.join(last)} of the last layer"] if last else []), *others])


def _cell(folder: Path, pooling: str) -> Reading | None:
    if pooling in POOLINGS:
        return Reading(Row((layout.last_layer(folder),)), pooling)
    try:
        return parse(pooling, layout.last_layer(folder))
    except BadChoice:
        return None


def _of_simcse(folder: Path) -> bool:
    """Whether a folder was saved by SimCSE's code, with its training head."""
    return is_named_so(folder) and any(_has_head(path) for path in layout.weights(folder))


def is_named_so(transformer: Path) -> bool:
    """Whether config.json names a class of the SimCSE code."""
    classes = configuration.read(transformer / "config.json", configuration.ModelConfig).architectures or ()
    return any(name.endswith("ForCL") for name in classes)


def _has_head(path: Path) -> bool:
    """Whether a weights file names tensors of the head; an old pickle is searched as a whole."""
    try:
        if path.suffix == ".safetensors":
            return any(name.startswith(SIMCSE_HEAD) for name in weights.header(path))
        if not zipfile.is_zipfile(path):
            return SIMCSE_HEAD.encode() in path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            lists = [one for one in archive.infolist() if one.filename.endswith("data.pkl")]
            return any(
                SIMCSE_HEAD.encode() in archive.read(one) for one in lists if one.file_size < configuration.LARGEST
            )
    except (ModelError, OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError):
        return False  # loading reports what is wrong with the file
