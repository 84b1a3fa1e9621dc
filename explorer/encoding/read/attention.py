"""How attention is computed: in float32 where the rest of the model is bfloat16 on a CPU.

For short sentences torch's kernel takes up to twice as long in bfloat16 as in float32, conversion included, four times
and more with its gradient, and its result is less exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedModel

SDPA, EAGER = "sdpa", "eager"
SDPA_IN_FLOAT32 = "sdpa_in_float32"  # the name that transformers has for `in_float32`
AT_ONCE = 16  # keys are filled up to a multiple of it, the float32 numbers of one vector: a remainder takes longer


def preferred(requested: str, precision: str, device: str) -> str:
    """What computes attention in a precision on a device; asked for are SDPA, or EAGER for its weights."""
    narrow = precision == "bfloat16" and device == "cpu"
    return SDPA_IN_FLOAT32 if requested == SDPA and narrow else requested


def supported(kind: Any, name: str) -> str:
    """What computes attention in a class of models: `name`, or what it has instead if it lacks that."""
    if name == EAGER or not getattr(kind, "_supports_sdpa", False):
        return EAGER  # MPNet and DeBERTa have no other
    if name == SDPA or not getattr(kind, "_supports_attention_backend", False):
        return SDPA
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(name, in_float32)
    AttentionMaskInterface.register(name, sdpa_mask)
    return name


def to_train(model: PreTrainedModel) -> None:
    """Let a float32 model compute attention in float32 also where autocast computes the rest in bfloat16."""
    if model.config._attn_implementation == SDPA:
        name = supported(type(model), SDPA_IN_FLOAT32)
        if name != SDPA:
            model.set_attn_implementation(name)


def take_masks_as_given() -> None:
    """Have transformers take every mask as given, for all models of this process.

    Its check for masks of ones alone makes the GPU wait at each pass, and no such mask is passed here.
    """
    from transformers import masking_utils

    def can_be_left_out(mask: Tensor | None, length: int, window: int | None = None) -> bool:
        return mask is None and (window is None or length < window)

    masking_utils._ignore_bidirectional_mask_sdpa = can_be_left_out


def in_float32(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **given: Any
) -> tuple[Tensor, None]:
    """Attention as SDPA computes it, of float32 tensors where that is faster; the result has the type of `query`."""
    import torch
    from torch.nn.functional import pad
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    # with dropout torch has another kernel, which is no slower in bfloat16
    if query.dtype != torch.bfloat16 or query.device.type != "cpu" or given.get("dropout"):
        plain: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **given)
        return plain
    mask, tokens = attention_mask, key.shape[2]
    if mask is not None and mask.is_floating_point():
        mask = mask.float()
    bias = given.get("position_bias")
    if bias is not None:
        given["position_bias"] = bias.float()
    causal = given.get("is_causal")
    if causal is None:
        causal = getattr(module, "is_causal", True)
    # a bias has no room for more keys, and a mask that is made here would have to be causal, too
    missing = 0 if bias is not None or (causal and mask is None) else -tokens % AT_ONCE
    if missing:
        mask = torch.ones(1, 1, 1, tokens, dtype=torch.bool) if mask is None else mask
        mask = pad(mask, (0, missing), value=float("-inf") if mask.is_floating_point() else False)
    keys, values = _widened(key, missing), _widened(value, missing)
    with torch.autocast("cpu", enabled=False):
        found, _ = sdpa_attention_forward(module, query.float(), keys, values, mask, **given)
    return found.to(query.dtype), None


def _widened(tensor: Tensor, more: int) -> Tensor:
    """Keys or values (sentence, head, token, width) in float32, with zeros for more tokens."""
    import torch

    sentences, heads, tokens, width = tensor.shape
    wide = tensor.new_zeros(sentences, heads, tokens + more, width, dtype=torch.float32)
    wide[:, :, :tokens] = tensor
    return wide
