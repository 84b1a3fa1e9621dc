"""Read what a folder declares after the encoder: pooling, dense layers, length limit and prompt of modules.json.

Supports modules.json and the settings of each module in the format of every release from 0.3 to 6.2. A module is
rebuilt from its settings; nothing that a file names is imported, and anything unknown is an error.

The head of a model saved by the SimCSE code, too (Gao, Yao and Chen 2021). The class is BertForCL or RobertaForCL, the
encoder's weights start with its family's name, the head's with `mlp.dense`. Supervised SimCSE keeps the head at test
time, unsupervised SimCSE drops it (section 6.3), and a save does not say which of the two it is. The model default is
with the head; for unsupervised SimCSE use `cls` of the last layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from explorer.encoding.load.declared import SIMCSE_HEAD, is_named_so, modes
from explorer.encoding.locate import configuration, layout, weights
from explorer.encoding.read import layer_reading, parts
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.head_facts import SIMCSE
from explorer.encoding.read.pooling import POOLINGS
from explorer.encoding.read.prompts import RolePrompts
from explorer.encoding.read.reading_titles import FIRST_LAST, title_of
from explorer.errors import UnsupportedModel


@dataclass(frozen=True)
class Limits:
    """Preprocessing of a text: most tokens, and whether it is lowercased."""

    max_length: int | None
    lower_case: bool


def head(folder: Path) -> Head | None:
    """The head that modules.json describes; None without modules.json."""
    declared = [module for module in layout.modules(folder) if module.kind != "Dropout"]  # off outside training
    if not declared:
        return None
    kinds = [module.kind for module in declared]
    blended = declared[1] if kinds[1:2] == ["WeightedLayerPooling"] else None
    declared = [module for module in declared if module is not blended]
    start = [module.kind for module in declared[:2]]
    normalize = kinds[-1] == "Normalize"
    middle = declared[2:-1] if normalize else declared[2:]
    steps = parts.steps()
    first = start == ["Transformer", "Pooling"] or (start == ["Transformer", "LayerReading"] and not blended)
    if not first or any(module.kind not in steps for module in middle):
        raise UnsupportedModel(
            f"{folder / 'modules.json'} chains {' → '.join(kinds)}. Strata supports Transformer → Pooling (with "
            f"WeightedLayerPooling before it, or its own LayerReading instead), then any of {', '.join(steps)} "
            "and Dropout, then Normalize. Choose another model."
        )
    if normalize:
        configuration.of_vectors(declared[-1].folder, configuration.VectorModule)
    include_prompt, layers = True, None
    if start[1] == "LayerReading":
        poolings, layers = layer_reading.opened(declared[1].folder)
    else:
        pooling = configuration.of_vectors(declared[1].folder, configuration.PoolingModule)
        include_prompt = bool(pooling.include_prompt)
        poolings = _poolings(declared[1].folder, pooling)
        poolings = poolings if blended is None else (_of_layers(blended.folder, poolings),)
    prompt, roles = _prompts(folder, include_prompt)
    return Head(
        poolings=poolings,
        layers=layers,
        dense=tuple(steps[module.kind].opened(module.folder) for module in middle),
        normalize=normalize,
        prompt=prompt,
        roles=roles,
    )


def limits(transformer: Path) -> Limits:
    """The limits of the Transformer module; since release 5.4 they are the tokenizer's."""
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
    return Limits(stated.max_seq_length or None, bool(stated.do_lower_case))


def limits_in(transformer: Path) -> list[Path]:
    """The files in which the limits may be: older releases named it after the family, such as roberta."""
    return sorted(transformer.glob("sentence_*_config.json"))


def _poolings(place: Path, stated: configuration.PoolingModule) -> tuple[str, ...]:
    asked = modes(stated)
    names = {pooling.library: name for name, pooling in POOLINGS.items()}
    unknown = [mode for mode in asked if mode not in names]
    if unknown or not asked:
        raise UnsupportedModel(
            f"{place / 'config.json'} asks for the pooling {unknown or asked}. Strata supports {', '.join(names)}. "
            "Choose another model."
        )
    return tuple(names[mode] for mode in asked)


def _of_layers(place: Path, poolings: tuple[str, ...]) -> str:
    """The pooling of equally weighted layers, by its title."""
    stated = configuration.read(place / "config.json", configuration.WeightedLayerPooling)
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
    (pooling,) = poolings
    if layers == [last]:
        return pooling
    if (pooling, layers) == ("mean", [1, last]):
        return FIRST_LAST
    return title_of(pooling, tuple(layers))


def _prompts(folder: Path, pooled: bool) -> tuple[str, RolePrompts]:
    """The prompt of sentences, and those of queries and documents, as encode, encode_query and encode_document add."""
    stated = configuration.read(folder / "config_sentence_transformers.json", configuration.SentenceTransformer)
    prompts = stated.prompts or {}
    prompt = prompts.get(stated.default_prompt_name or "") or ""
    if prompt and not pooled:
        raise UnsupportedModel(
            f"{folder} puts the prompt '{prompt}' before every sentence but excludes it from the pooling "
            "(include_prompt: "
            "false), which Strata does not support. Remove default_prompt_name from "
            "config_sentence_transformers.json to encode sentences without it."
        )
    return prompt, RolePrompts(prompts.get("query") or "", prompts.get("document") or "", pooled)


def simcse_head(transformer: Path) -> Head | None:
    """[CLS] through the dense layer of a SimCSE save; None for any other model."""
    if not is_named_so(transformer):
        return None
    for path in layout.weights(transformer):
        found = weights.tensors(path, SIMCSE_HEAD)
        if found:
            weights.check_names(path, SIMCSE_HEAD, ("weight", "bias"), found)
            weights.check_finite(path, SIMCSE_HEAD, found)
            dense = Dense(found["weight"], found["bias"], "Tanh")
            return Head(("cls",), (dense,), remark=SIMCSE)
    return None
