"""Write the change of a tuned encoder as a LoRA adapter, as peft saves it: a hundredth of the size of its weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from explorer.encoding.locate.adapters import WEIGHTS
from explorer.encoding.tune.lora import ALL_LINEAR, targeted

Factors = Mapping[str, tuple[Tensor, Tensor]]  # A (rank, inputs) and B (outputs, rank) of each linear layer


@torch.no_grad()
def factors(base: nn.Module, tuned: nn.Module, rank: int) -> Factors:
    """The product B A of this rank that is closest to the change of each linear layer, in half precision.

    Eckart and Young 1936: it keeps the largest singular values. Both factors have the same share of them, so that
    neither leaves the range of half precision.
    """
    before, after, found = dict(base.named_parameters()), dict(tuned.named_parameters()), {}
    for name in targeted(base, ALL_LINEAR):
        change = after[f"{name}.weight"].float() - before[f"{name}.weight"].float()
        left, values, right = torch.linalg.svd(change, full_matrices=False)
        share = values[:rank].sqrt()
        found[name] = ((share[:, None] * right[:rank]).half(), (left[:, :rank] * share).half())
    return found


@torch.no_grad()
def apply(tuned: nn.Module, base: nn.Module, adapter: Factors) -> None:
    """Give a model the weights of its base with an adapter; whatever else was trained is the base's again."""
    before, after = dict(base.named_parameters()), dict(tuned.named_parameters())
    for name, weight in after.items():
        weight.copy_(before[name])
    for name, (inner, outer) in adapter.items():
        after[f"{name}.weight"].add_(outer.float() @ inner.float())


def save(adapter: Factors, base: str, folder: Path) -> None:
    """Write the adapter of a model, by its name on the hub, into a folder."""
    from peft import LoraConfig

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
    save_file(tensors, folder / WEIGHTS, {"format": "pt"})
