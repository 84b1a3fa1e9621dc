"""Read what a folder declares after its transformer: the model default, in words or with its weights, limits, prompts.

The model default (declared layer & pooling) is what sentence-transformers uses: the pooling that modules.json declares,
with the modules after it, or the head of a SimCSE save. For a folder that declares nothing it is the mean of the last
layer. In words it is read from small files, without loading the model.

Supports modules.json and the settings of each module in the format of every release from 0.3 to 6.2. A module is
rebuilt from its settings; nothing that a file names is imported, and anything unknown is an error.

A model saved by the SimCSE code (Gao, Yao and Chen 2021) has the class BertForCL or RobertaForCL; the encoder's weights
start with its family's name, the head's with `mlp.dense`. Supervised SimCSE keeps the head at test time, unsupervised
SimCSE drops it (section 6.3), and a save does not say which of the two it is. The model default is with the head; for
unsupervised SimCSE use `cls` of the last layer.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.encoding.locate import configuration, families, layout, stored_vectors, weights
from explorer.encoding.read import parts, pooling
from explorer.encoding.read.head_facts import AS_GIVEN, SIMCSE
from explorer.encoding.read.prompts import RolePrompts
from explorer.errors import ModelError, UnsupportedModel
from explorer.knobs import Knobs, knob

if TYPE_CHECKING:
    from explorer.encoding.read.head import Head

_SIMCSE_HEAD = "mlp.dense."  # prefix of its weights
# fields of the config.json of a Pooling
_POOLING = (*configuration.ENDS, "pooling_mode", *(one.switch for one in pooling.switched()), "include_prompt")
STATIC_POOLINGS: tuple[str, ...] = ("mean",)  # of static embeddings
NOT_DECLARED = "the default of sentence-transformers if nothing is declared"


def _modes(stated: configuration.ModuleConfig) -> list[str]:
    """The poolings in the settings of a Pooling module, by their current names."""
    named = stated.pooling_mode
    if named is None:
        return [one.library for one in pooling.switched() if getattr(stated, one.switch)] or ["mean"]
    return [named] if isinstance(named, str) else list(named)


def declared(folder: Path) -> str | None:
    """What a folder declares, in words; None if it declares nothing."""
    return _declared(folder)[0]


def _declared(folder: Path) -> tuple[str | None, pooling.Reading | None]:
    """The words, and the layer & pooling without maps if it is one (normalisation aside)."""
    if stored_vectors.are_in(folder):
        return AS_GIVEN, None
    listed = [module for module in layout.modules(folder) if module.kind not in ("Transformer", "Dropout")]
    if not listed:
        place = layout.transformer(folder)
        simcse = _has_simcse_class(place) and any(map(_has_head, layout.weights(place)))
        return "cls of the last layer → dense layer" if simcse else None, None
    blended = listed[0].kind == "WeightedLayerPooling"  # which layers is in its weights, perhaps in a large file
    first, *after = listed[1:] if blended and len(listed) > 1 else listed
    path = first.folder / "config.json"
    static = first.kind == families.STATIC_MODULE
    if static:
        pooled = list(STATIC_POOLINGS)
    elif first.kind == "Pooling":
        ours = _by_library()
        pooled = [ours.get(mode, mode) for mode in _modes(configuration.module(first.folder, *_POOLING))]
    elif first.kind == "LayerReading":
        words = {name: part.words for name, part in parts.state_poolings().items()}
        poolings = configuration.module(first.folder, "poolings").poolings
        pooled = [*poolings, *(words.get(name, name) for name in parts.stated(path))]
    else:
        pooled = [first.kind]
    if blended:
        pooling_words = f"{' + '.join(pooled)} of weighted layers"
    else:  # `cls + mean of the last layer`, then the poolings that name their layers
        last = " + ".join(name for name in pooled if name in pooling.POOLINGS)
        others = [name for name in pooled if name not in pooling.POOLINGS]
        of_all = f"{last} of the {'token vectors' if static else 'last layer'}"
        pooling_words = " + ".join([*[of_all] * bool(last), *others])
    words = {"Normalize": "normalised"} | {kind: step.words for kind, step in parts.steps().items()}
    steps = [words.get(module.kind, module.kind) for module in after]
    cell = None
    if len(pooled) == 1 and not blended and not set(steps) - {"normalised"}:
        number = layout.last_layer(folder)
        name, layers = pooling.layers_of(pooled[0])
        # None for a pooling that Strata does not have
        cell = pooling.reading_of(name, (number,) if layers == (pooling.LAST,) else layers, number)
    return " → ".join([pooling_words, *steps]), cell


def poolings(folder: Path) -> tuple[str, ...]:
    """The poolings of the grid of a model."""
    if layout.is_static(folder):
        return STATIC_POOLINGS
    if stored_vectors.are_in(folder):
        return stored_vectors.POOLINGS
    return pooling.DECODER_POOLINGS if families.is_decoder(layout.settings(folder)) else pooling.GRID_POOLINGS


def grid(folder: Path) -> tuple[pooling.Reading, ...]:
    """Every cell of the grid of a model, in its order; none of vectors alone, which have their model default."""
    if stored_vectors.are_in(folder):
        return ()
    return pooling.readings(layout.last_layer(folder), poolings(folder))


def outside(reading: pooling.Reading, folder: Path) -> tuple[pooling.Reading, ...]:
    """The layer & pooling if it is neither a cell of the grid of a model nor its model default; none if it is."""
    if reading == pooling.OWN:
        return ()
    cell = pooling.cell_of(reading, pooling.rows(layout.last_layer(folder)), poolings(folder))
    return (reading,) if cell is None else ()


def default(folder: Path) -> pooling.Reading:
    """The model default."""
    return mean_of_last(folder) if declared(folder) is None else pooling.OWN


def mean_of_last(folder: Path) -> pooling.Reading:
    """The mean of the last layer."""
    return pooling.Reading(pooling.Row((layout.last_layer(folder),)), "mean")


def default_cell(folder: Path) -> pooling.Reading:
    """The layer & pooling that is the model default, normalisation aside; the mean of the last layer if none is."""
    return _declared(folder)[1] or mean_of_last(folder)


def named(title: str | None, folder: Path) -> pooling.Reading:
    """The layer & pooling with a title in this model; without a title, the model default."""
    if title in (None, pooling.OWN.title):
        return default(folder)
    return pooling.parse(str(title), layout.last_layer(folder))


@dataclass(frozen=True)
class FurtherReadings(Knobs):
    """Layers & poolings to show by name, too."""

    reading: tuple[str, ...] = knob(
        (),
        metavar="TITLE",
        repeated=True,
        help="Also print one layer & pooling, in the grid or outside of it: 'last of layer 3', 'mean of layers 4-6', "
        "….",
    )


@dataclass(frozen=True)
class SideReadings(Knobs):
    """The layers & poolings of A and B, by their titles."""

    reading: str | None = knob(
        None,
        metavar="TITLE",
        empty="the model default",
        help="Layer & pooling of A: 'mean of layer 6', 'last of layer 3', 'mean of layers 4-6', 'model default', ….",
    )
    other_reading: str | None = knob(None, metavar="TITLE", empty="what --reading says, else B's default", help="Of B.")

    def of(self, *folders: Path) -> tuple[pooling.Reading, ...]:
        """The layer & pooling of the model in each folder."""
        titles = self.reading, self.other_reading or self.reading
        return tuple(named(title, folder) for title, folder in zip(titles, folders, strict=False))


def described(reading: pooling.Reading, folder: Path) -> str:
    """A layer & pooling as shown with a score: `model default (mean of the last layer → normalised)`."""
    words = declared(folder)
    if reading == pooling.OWN and words is not None:
        return f"{pooling.OWN.title} ({words})"
    return f"{reading.title} ({NOT_DECLARED})" if reading == default(folder) else reading.title


def _by_library() -> dict[str, str]:
    """The poolings by their names in sentence-transformers."""
    return {one.library: name for name, one in pooling.POOLINGS.items()}


def _has_simcse_class(transformer: Path) -> bool:
    """Whether config.json names a class of the SimCSE code."""
    classes = configuration.module(transformer, "model_type", "architectures").architectures or ()
    return any(name.endswith("ForCL") for name in classes)


def _has_head(path: Path) -> bool:
    """Whether a weights file names tensors of the head; an old pickle is searched as a whole."""
    try:
        if path.suffix == ".safetensors":
            return any(name.startswith(_SIMCSE_HEAD) for name in weights.shapes(path))
        if not zipfile.is_zipfile(path):
            return _SIMCSE_HEAD.encode() in path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            lists = [one for one in archive.infolist() if one.filename.endswith("data.pkl")]
            return any(
                _SIMCSE_HEAD.encode() in archive.read(one) for one in lists if one.file_size < configuration.LARGEST
            )
    except (ModelError, OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError):
        return False  # loading reports what is wrong with the file


def head(folder: Path) -> Head | None:
    """The head that modules.json describes; None without modules.json."""
    from explorer.encoding.read import layer_reading
    from explorer.encoding.read.head import Head

    listed = [module for module in layout.modules(folder) if module.kind != "Dropout"]  # off outside training
    if not listed:
        return None
    kinds = [module.kind for module in listed]
    static = kinds[0] == families.STATIC_MODULE
    blended = listed[1] if kinds[1:2] == ["WeightedLayerPooling"] else None
    listed = [module for module in listed if module is not blended]
    start = [module.kind for module in listed[:2]]
    normalize = kinds[-1] == "Normalize"
    middle = listed[1 if static else 2 : -1 if normalize else None]
    steps = parts.steps()
    first = static or start == ["Transformer", "Pooling"] or (start == ["Transformer", "LayerReading"] and not blended)
    if not first or any(module.kind not in steps for module in middle):
        raise UnsupportedModel(
            f"{folder / 'modules.json'} chains {' → '.join(kinds)}. Strata supports Transformer → Pooling (with "
            f"WeightedLayerPooling before it, or its own LayerReading instead) or {families.STATIC_MODULE}, then "
            f"any of {', '.join(steps)} and Dropout, then Normalize. Choose another model."
        )
    if normalize:
        configuration.of_vectors(listed[-1].folder)
    dense = tuple(steps[module.kind].opened(module.folder) for module in middle)
    if static:
        poolings, layers, include_prompt = STATIC_POOLINGS, None, True
    elif start[1] == "LayerReading":
        poolings, layers, include_prompt = layer_reading.opened(listed[1].folder)
    else:
        layers, stated = None, configuration.of_vectors(listed[1].folder, *_POOLING)
        poolings = _pooled(listed[1].folder, stated)
        poolings = poolings if blended is None else (_of_layers(blended.folder, poolings),)
        include_prompt = bool(stated.include_prompt)
    prompt, roles = _prompts(folder, include_prompt)
    return Head(poolings=poolings, layers=layers, dense=dense, normalize=normalize, prompt=prompt, roles=roles)


def limits(transformer: Path) -> configuration.TransformerModule:
    """The settings of the Transformer module, with its limits; since release 5.4 these are the tokenizer's."""
    path = next(iter(limits_in(transformer)), transformer / "sentence_bert_config.json")
    stated = configuration.read(path, configuration.TransformerModule)
    modalities = {"text": configuration.Modality()} if stated.modality_config is None else stated.modality_config
    text = modalities.get("text")
    task, output = stated.transformer_task, text and text.method_output_name
    if task != "feature-extraction" or text is None or output not in (None, "last_hidden_state"):
        raise UnsupportedModel(
            f"{path} asks for '{task}' of {'something other than text' if text is None else f'text ({output})'}. "
            "Strata supports the last hidden state of text ('feature-extraction'). Choose another model."
        )
    return stated


def limits_in(transformer: Path) -> list[Path]:
    """The files in which the limits may be: older releases named it after the family, such as roberta."""
    return sorted(transformer.glob("sentence_*_config.json"))


def _pooled(place: Path, stated: configuration.ModuleConfig) -> tuple[str, ...]:
    """The poolings of a Pooling module, which have to be known."""
    modes, ours = _modes(stated), _by_library()
    unknown = [mode for mode in modes if mode not in ours]
    if unknown or not modes:
        raise UnsupportedModel(
            f"{place / 'config.json'} asks for the pooling {unknown or modes}. Strata supports {', '.join(ours)}. "
            "Choose another model."
        )
    return tuple(ours[mode] for mode in modes)


def _of_layers(place: Path, poolings: tuple[str, ...]) -> str:
    """The pooling of equally weighted layers, by its title."""
    configuration.require(place)
    stated = configuration.module(place, "layer_start", "num_hidden_layers")
    shares = weights.of_module(place, "", ("layer_weights",))["layer_weights"].flatten().tolist()
    layers = [stated.layer_start + number for number, share in enumerate(shares) if share]
    alike = len({share for share in shares if share}) == 1
    in_a_row = len(layers) <= 2 or layers == list(range(layers[0], layers[-1] + 1))
    if not alike or not in_a_row or len(poolings) > 1:
        raise UnsupportedModel(
            f"{place} weights its layers {', '.join(f'{share:g}' for share in shares)}. Strata supports one layer, "
            "or the mean of two or of a range, under one pooling. Choose another model."
        )
    last = stated.num_hidden_layers
    if layers == [last]:
        return poolings[0]
    if (poolings[0], layers) == ("mean", [1, last]):
        return pooling.FIRST_LAST
    return pooling.title_of(poolings[0], tuple(layers))


def _prompts(folder: Path, include_prompt: bool) -> tuple[str, RolePrompts]:
    """The prompt of sentences, and those of queries and documents, as encode, encode_query and encode_document add."""
    stated = configuration.read(folder / "config_sentence_transformers.json", configuration.SentenceTransformer)
    prompts = stated.prompts or {}
    prompt = prompts.get(stated.default_prompt_name or "") or ""
    return prompt, RolePrompts(prompts.get("query") or "", prompts.get("document") or "", include_prompt)


def simcse_head(transformer: Path) -> Head | None:
    """[CLS] through the dense layer of a SimCSE save; None for any other model."""
    from explorer.encoding.read.head import Dense, Head

    if not _has_simcse_class(transformer):
        return None
    for path in layout.weights(transformer):
        found = weights.tensors(path, _SIMCSE_HEAD)
        if found:
            weights.check_names(path, _SIMCSE_HEAD, ("weight", "bias"), found)
            weights.check_finite(path, _SIMCSE_HEAD, found)
            dense = Dense(found["weight"], found["bias"], "Tanh")
            return Head(("cls",), (dense,), remark=SIMCSE)
    return None
