"""Low-rank adapters (LoRA): which layers of an encoder get one, and what the encoder computes with them.

Low-rank adapters (Hu and others 2021, section 4.1) train a product of two narrow matrices beside a weight matrix, which
does not change: W x becomes W x + alpha / rank · B A x. A starts at random and B at zero, so that an encoder with new
adapters encodes as before. Layers with adapters are those of peft.
"""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from explorer.encoding.locate import families
from explorer.errors import UnsupportedModel

if TYPE_CHECKING:
    from peft.tuners.lora import Linear
    from transformers import PreTrainedModel

ATTENTION, ALL_LINEAR = "attention", "all linear"
TARGETS = (ATTENTION, ALL_LINEAR)
_ADAPTER = "default"  # peft's name for the one adapter of a layer
# query and value inside an attention block: families differ in little but the abbreviation, and some have query, key
# and value in one matrix
_QUERY_VALUE = r"(q|query|v|value)(_?(proj|lin|head|layer))?|w?qkv(_proj)?"
_BASE = ".base_layer"  # in the names of what an adapter leaves as it was
_OWN = re.compile(r"(.*\.)?lora_[AB]\..*")  # the names of the adapters' weights


@dataclass(frozen=True)
class Lora:
    """The adapters of an encoder: the inner width of B A, the numerator of its scale, and which layers have one."""

    rank: int
    alpha: float
    targets: str


def targeted(model: PreTrainedModel, targets: str) -> tuple[str, ...]:
    """The names of the layers that get an adapter: query and value of each attention block, or every linear layer."""
    from transformers.pytorch_utils import Conv1D  # the linear layer of GPT-2, with its matrix transposed

    # subclasses are left out: modules read their weights without calling them, so that an adapter would do nothing
    linear = [path for path, layer in model.named_modules() if type(layer) in (nn.Linear, Conv1D)]
    if targets == ALL_LINEAR:
        return tuple(linear)
    own = families.of(model.config.model_type).query_value
    if own:
        return tuple(path for path in linear if path.rpartition(".")[2] in own)
    names = "|".join((_QUERY_VALUE, *(name for row in families.FAMILIES for name in row.query_value)))
    return tuple(path for path in linear if re.fullmatch(rf".*att.*\.({names})", path, re.IGNORECASE))


def targets_of(model: PreTrainedModel, name: str, targets: str) -> tuple[str, ...]:
    """The names of the layers of an encoder that get an adapter, or an error if it has no such layer."""
    found = targeted(model, targets)
    if found:
        return found
    others = [f"'{other}'" for other in TARGETS if other != targets and targeted(model, other)]
    advice = f"Set lora_targets to {' or '.join(others)}, or lora_rank to 0." if others else "Set lora_rank to 0."
    raise UnsupportedModel(
        f"'{name}' is a {model.config.model_type} without a layer that lora_targets '{targets}' means: a linear layer"
        f"{' for query or value' if targets == ATTENTION else ''}. {advice}"
    )


def adapt(model: nn.Module, paths: Collection[str], lora: Lora) -> None:
    """Give these layers of a model new adapters; torch's seed draws them. Which other weights are trained stays."""
    from peft import LoraConfig, inject_adapter_in_model
    from transformers.pytorch_utils import Conv1D

    trained = [weight for weight in model.parameters() if weight.requires_grad]
    transposed = any(isinstance(model.get_submodule(path), Conv1D) for path in paths)
    # a pattern, since peft compares names by their ends, and a decoder has layers whose names end like the encoder's
    pattern = "|".join(map(re.escape, paths))
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=cast(int, lora.alpha),  # any number, whatever peft states
        lora_dropout=0.0,
        target_modules=f"({pattern})",
        fan_in_fan_out=transposed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of models with both kinds of linear layers, which peft tells apart by itself
        inject_adapter_in_model(config, model, _ADAPTER)
    for weight in trained:  # peft freezes all but its own
        weight.requires_grad_(True)


def adapted(model: nn.Module) -> Iterator[tuple[str, Linear]]:
    """The layers with an adapter, by name."""
    for path, layer in model.named_modules():
        if hasattr(layer, "lora_A") and hasattr(layer, "base_layer"):
            yield path, cast("Linear", layer)


def set_factors(layer: Linear, inner: Tensor, outer: Tensor) -> None:
    """Set the adapter of a layer to the product of A (rank, inputs) and B (outputs, rank), without a scale."""
    layer.get_parameter(f"lora_A.{_ADAPTER}.weight").data.copy_(inner)
    layer.get_parameter(f"lora_B.{_ADAPTER}.weight").data.copy_(outer / layer.scaling[_ADAPTER])


def plain_weights(model: nn.Module) -> dict[str, nn.Parameter]:
    """The weights of a model without those of adapters, by the names they have without adapters."""
    return {name.replace(_BASE, ""): weight for name, weight in model.named_parameters() if not _OWN.fullmatch(name)}


def effective(model: nn.Module) -> dict[str, Tensor]:
    """The weights that a model computes with, W + alpha / rank · B A, by the names they have without adapters.

    Gradients reach the adapters through them. The weights of a layer without an adapter are the model's own tensors.
    """
    found: dict[str, Tensor] = dict(plain_weights(model))
    for path, layer in adapted(model):
        name = f"{path}.weight"
        with torch.autocast(found[name].device.type, enabled=False):  # as exact as the weight that it is added to
            found[name] = found[name] + layer.get_delta_weight(_ADAPTER)
    return found


def merged(model: PreTrainedModel) -> PreTrainedModel:
    """A model without adapters that encodes the same; it shares every weight that no adapter changes."""
    plain = sharing_copy(model)
    with torch.no_grad():
        weights = effective(model)
        for path, layer in list(adapted(plain)):
            base = layer.get_base_layer()
            base.weight = nn.Parameter(weights[f"{path}.weight"].detach(), requires_grad=False)
            plain.set_submodule(path, base)
    vars(plain).pop("peft_config", None)  # else transformers would save an adapter
    return plain


def sharing_copy(model: PreTrainedModel) -> PreTrainedModel:
    """A copy of a model that shares its weights, but for those that are not in float32."""
    kept = {id(weight): weight for weight in model.parameters() if weight.dtype == torch.float32}
    return copy.deepcopy(model, kept)  # what is in the second argument counts as copied already
