"""Merge a LoRA adapter, as peft saves it, into the weights of its base: W + alpha / rank · B A.

peft itself (merge_and_unload) computes the same weights, to the last bit in all families that the tests build, if the
adapter is whole. It is not used here, since it merges all others too, with a warning at most: one that lacks a matrix,
one whose names are of a model for a task (and then nothing changes), NaN, pickles, and starts that change the base.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.encoding.locate import configuration, families, weights
from explorer.encoding.locate.layout import ADAPTER, ADAPTER_PICKLE, ADAPTER_WEIGHTS
from explorer.errors import NotWeights, RemoteCodeRefused, UnsupportedModel, WeightsMissing

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedModel

# fields of adapter_config.json with which an adapter is more than this product, if they hold anything
_MORE = (
    *("alpha_pattern", "use_dora", "use_qalora", "use_bdlora", "lora_bias", "layer_replication", "target_parameters"),
    *("trainable_token_indices", "alora_invocation_tokens", "arrow_config", "kasa_config", "monteclora_config"),
)
# starts of an adapter that leave its base as it is, other than peft's default
_STARTS = ("gaussian", "eva", "orthogonal")
_PREFIX = "base_model.model."  # of every name in a file of peft
_MATRIX = re.compile(r"(.+)\.lora_([AB])\.weight")
_NEXT = "Merge the adapter into its base with peft (merge_and_unload), save that with save_pretrained, and load it."


def check(place: Path) -> None:
    """Refuse an adapter that is not a complete LoRA in safetensors; no weight is read."""
    _stated(place)
    if not (place / ADAPTER_WEIGHTS).is_file():
        if (place / ADAPTER_PICKLE).is_file():
            raise NotWeights(
                f"{place} holds {ADAPTER_PICKLE}, a pickle, which may hold code. Strata reads adapters as "
                f"{ADAPTER_WEIGHTS} alone. Save the adapter again with a newer release of peft."
            )
        raise NotWeights(
            f"{place} has {ADAPTER}, but no {ADAPTER_WEIGHTS}. Copy or download it too, or remove {ADAPTER}."
        )
    weights.shapes(place / ADAPTER_WEIGHTS)


def merge(model: PreTrainedModel, place: Path) -> None:
    """Add an adapter to the weights of a model in float32."""
    import torch

    stated, path = _stated(place), place / ADAPTER_WEIGHTS
    pairs: dict[str, dict[str, Tensor]] = {}
    whole: dict[str, Tensor] = {}
    for name, tensor in weights.tensors(path).items():
        matrix = _MATRIX.fullmatch(name)
        if matrix:
            pairs.setdefault(matrix[1], {})[matrix[2]] = tensor
        else:
            whole[name.replace(".base_layer.", ".")] = tensor  # a bias beside an adapter
    parts, own = dict(model.named_modules()), dict(model.named_parameters())
    with torch.no_grad():
        for name, pair in pairs.items():
            layer = parts.get(_in_model(name, model, parts))
            if layer is not None or not _is_left_out(name, stated):
                _add(layer, pair, stated, name, path)
        for name, tensor in whole.items():
            found = own.get(_in_model(name, model, own))
            if found is not None and found.shape == tensor.shape:
                found.copy_(tensor)
            elif found is not None or not _is_left_out(name, stated):
                due = "the base has no such weight" if found is None else f"the base has {list(found.shape)}"
                raise _misfit(path, name, due, tensor)


def _stated(place: Path) -> configuration.Adapter:
    """Its configuration, or an error that names a field which Strata does not support."""
    path = place / ADAPTER
    stated = configuration.read(path, configuration.Adapter)
    if stated.peft_type != "LORA":
        kind = "no peft_type" if stated.peft_type is None else f"peft_type '{stated.peft_type}'"
        raise UnsupportedModel(f"{path} states {kind}. Strata merges adapters of type 'LORA'. {_NEXT}")
    code = stated.auto_mapping.get("parent_library") if isinstance(stated.auto_mapping, Mapping) else None
    if code is not None and str(code).partition(".")[0] not in ("transformers", "sentence_transformers"):
        raise RemoteCodeRefused(
            f"{path} names the Python module '{code}' for its base, which would run code that comes with the model. "
            "Strata never runs such code. Choose an adapter of a model that transformers itself can load."
        )
    if stated.init_lora_weights not in (True, False, None, *_STARTS):
        raise UnsupportedModel(
            f"{path} states init_lora_weights '{stated.init_lora_weights}', which changes the base too. Strata "
            f"supports true, false and {', '.join(_STARTS)}. {_NEXT}"
        )
    for name, value in configuration.settings(path).items():
        if name in _MORE and value:
            raise UnsupportedModel(
                f"{path} states {name} {reprlib.repr(value)}, which is more than W + alpha / rank · B A. Strata "
                f"supports adapters without it. {_NEXT}"
            )
    return stated


def _in_model(name: str, model: PreTrainedModel, known: Mapping[str, object]) -> str:
    """The name in a model, which may be the one that was adapted, the encoder inside it, or one around it."""
    name, around = name.removeprefix(_PREFIX), f"{model.base_model_prefix}."
    return next((one for one in (name, name.removeprefix(around), around + name) if one in known), name)


def _add(
    layer: nn.Module | None, pair: Mapping[str, Tensor], stated: configuration.Adapter, name: str, path: Path
) -> None:
    """Add an adapter to the weight of its layer, a linear one."""
    import torch
    from transformers.pytorch_utils import Conv1D

    weight = getattr(layer, "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.dim() != 2 or isinstance(layer, torch.nn.Embedding):
        raise WeightsMissing(
            f"{path} adapts '{name}', which is no linear layer of the base. Write the model that the adapter was "
            f"trained on as 'base_model_name_or_path' in {path.with_name(ADAPTER)}."
        )
    transposed = isinstance(layer, Conv1D)  # its matrix is (in, out)
    out, inside = reversed(weight.shape) if transposed else weight.shape
    rank = len(pair["A"]) if stated.rank_pattern and "A" in pair else stated.r
    for which, due in (("A", [rank, inside]), ("B", [out, rank])):
        if which not in pair:
            raise NotWeights(f"{path} holds no weights '{name}.lora_{which}.weight'. Copy or download the file again.")
        if list(pair[which].shape) != due:
            why = f"rank {rank} in a layer of {inside} inputs and {out} outputs needs {due}"
            raise _misfit(path, f"{name}.lora_{which}.weight", why, pair[which])
    product = pair["B"] @ pair["A"] * (stated.lora_alpha / (math.sqrt(rank) if stated.use_rslora else rank))
    if not product.isfinite().all():
        raise NotWeights(f"{path} gives '{name}' values that are not numbers. Copy or download the file again.")
    weight += product.T if transposed else product


def _is_left_out(name: str, stated: configuration.Adapter) -> bool:
    """Whether a name is of a part that an encoder is loaded without: BERT's pooler, or a part for a task."""
    return "lora_" not in name and not {families.POOLER, *(stated.modules_to_save or ())}.isdisjoint(name.split("."))


def _misfit(path: Path, name: str, why: str, found: Tensor) -> WeightsMissing:
    return WeightsMissing(
        f"{path} has '{name}' of shape {list(found.shape)}, but {why}. Copy {ADAPTER} and {ADAPTER_WEIGHTS} of one "
        "adapter, and use the base that it was trained on."
    )
