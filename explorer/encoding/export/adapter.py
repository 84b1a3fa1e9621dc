"""Write the change of a tuned encoder as a LoRA adapter, as peft saves it: a hundredth of the size of its weights.

The modules that pool its states, such as a pooler over layers, are written as they are.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from explorer.encoding.locate import configuration
from explorer.encoding.locate.layout import ADAPTER_WEIGHTS
from explorer.encoding.tune import lora

Factors = Mapping[str, tuple[Tensor, Tensor]]  # A (rank, inputs) and B (outputs, rank) of each linear layer
_LIMITS = "sentence_bert_config.json"
# the files of an export that say how a sentence is encoded, without the transformer and its vocabulary
_SETTINGS = ("modules.json", _LIMITS, "config_sentence_transformers.json")


@torch.no_grad()
def factors(base: nn.Module, tuned: nn.Module, rank: int) -> Factors:
    """The product B A of this rank that is closest to the change of each linear layer that changed, in half precision.

    Eckart and Young 1936: it keeps the largest singular values. Both factors have the same share of them, so that
    neither leaves the range of half precision.
    """
    before, after, found = dict(base.named_parameters()), lora.effective(tuned), {}
    for name in lora.targeted(base, lora.ALL_LINEAR):
        change = after[f"{name}.weight"].float() - before[f"{name}.weight"].float()
        if not change.any():
            continue
        left, values, right = torch.linalg.svd(change, full_matrices=False)
        share = values[:rank].sqrt()
        found[name] = ((share[:, None] * right[:rank]).half(), (left[:, :rank] * share).half())
    return found


@torch.no_grad()
def apply(tuned: nn.Module, base: nn.Module, adapter: Factors) -> None:
    """Give a model the weights of its base with an adapter; whatever else was trained is the base's again.

    A model that was trained as an adapter keeps its own, of the same rank, with these factors.
    """
    before, after, adapted = dict(base.named_parameters()), lora.plain_weights(tuned), dict(lora.adapted(tuned))
    for name, weight in after.items():
        weight.copy_(before[name])
    for name, (inner, outer) in adapter.items():
        if name in adapted:
            lora.set_factors(adapted[name], inner.float(), outer.float())
        else:
            after[f"{name}.weight"].add_(outer.float() @ inner.float())


def save(adapter: Factors, base: str, exported: Path, folder: Path) -> None:
    """Write a model as an adapter of its base, by its name on the hub, with the modules of its export."""
    from peft import LoraConfig

    for path in exported.rglob("*"):
        inside = path.relative_to(exported)
        if path.is_file() and (len(inside.parts) > 1 or path.name in _SETTINGS or path.suffix == ".py"):
            (folder / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / inside)
    if configuration.settings(exported / "config.json").get("output_hidden_states"):
        # the base's config.json, which is not this model's, does not ask for the states of all layers
        limits = configuration.settings(folder / _LIMITS) | {"config_args": {"output_hidden_states": True}}
        (folder / _LIMITS).write_text(json.dumps(limits, indent=2) + "\n", encoding="utf-8")
    rank = max(len(inner) for inner, _ in adapter.values())
    # as many as the rank, so that the product is not scaled
    config = LoraConfig(
        r=rank, lora_alpha=rank, target_modules=sorted(adapter), base_model_name_or_path=base, inference_mode=True
    )
    config.target_modules = sorted(adapter)  # a set, which has another order in each process
    config.save_pretrained(str(folder))
    tensors = {
        f"base_model.model.{name}.lora_{which}.weight": factor.contiguous()
        for name, pair in adapter.items()
        for which, factor in zip("AB", pair, strict=True)
    }
    save_file(tensors, folder / ADAPTER_WEIGHTS, {"format": "pt"})
