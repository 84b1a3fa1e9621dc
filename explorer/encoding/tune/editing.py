"""The places in each architecture where embeddings, position ids and attention heads can be changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from explorer.errors import UnsupportedModel

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# from what the model would use, and the mask of real tokens (sentence, token), to what it uses instead
Edit = Callable[[Tensor, Tensor], Tensor]

# the module whose output is layer 0, where it is not the word embedding alone: first the projections of narrow
# embeddings (ELECTRA, ALBERT), then whole embedding blocks (BERT), then what follows the positions (GPT-2, BART), then
# a second name of the word embeddings (T5)
_ENTRANCES = (
    "embeddings_project",
    "encoder.embedding_hidden_mapping_in",
    "embeddings",
    "drop",
    "layernorm_embedding",
    "encoder.embed_tokens",
)
# the projection after self-attention, whose input is the output of all heads side by side, by the end of its name
_HEADS_JOINED = (
    "attention.output.dense",  # BERT, RoBERTa, ELECTRA, DeBERTa
    "attention.out_lin",  # DistilBERT
    "attention.attn.o",  # MPNet
    "attention.dense",  # ALBERT
    "attn.Wo",  # ModernBERT
    "SelfAttention.o",  # T5
    "self_attn.out_proj",  # BART
    "self_attn.o_proj",  # Llama, Qwen
    "attn.c_proj",  # GPT-2
)


def entrance(model: PreTrainedModel) -> nn.Module:
    """The module whose output (sentence, token, width) enters the first layer."""
    parts = dict(model.named_modules())
    found: nn.Module = next((parts[name] for name in _ENTRANCES if name in parts), model.get_input_embeddings())
    return found


def position_ids(model: PreTrainedModel, name: str, ids: Tensor) -> Tensor:
    """The position ids (sentence, token) that a model would give these tokens."""
    require_position_ids(model, name)
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    pad: int | None = getattr(table, "padding_idx", None)
    if pad is None:
        return torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    real = (ids != pad).long()  # RoBERTa and its relatives count from the pad id + 1, and padding has the pad id
    found: Tensor = real.cumsum(1) * real + pad
    return found


def require_position_ids(model: PreTrainedModel, name: str) -> None:
    """Refuse a model that takes no position ids, or ignores them."""
    taken = "position_ids" in inspect.signature(model.forward).parameters
    if not taken or not getattr(model.config, "position_biased_input", True):
        raise UnsupportedModel(
            f"'{name}' is a {model.config.model_type} that takes no position ids, so positions cannot be changed. "
            "Choose a BERT, a RoBERTa or a similar model, or a view that leaves the positions as they are."
        )


def heads_joined(model: PreTrainedModel, name: str) -> list[nn.Module]:
    """The projections after self-attention: one for each layer, or for each group of layers that share weights."""
    found = [part for path, part in model.named_modules() if path.endswith(_HEADS_JOINED)]
    if not found:
        raise UnsupportedModel(
            f"'{name}' is a {model.config.model_type}, whose attention heads Strata cannot drop. Choose a BERT, a "
            "RoBERTa or a similar model, or ordinary dropout."
        )
    return found


def head_factors(drawn: Tensor, chance: float) -> Tensor:
    """The factors (sentence, head) of heads dropped where a number drawn from 0 to 1 is below `chance`.

    A kept head is scaled by heads / kept, as in dropout. If no head would be kept, all are.
    """
    kept = drawn >= chance
    kept |= ~kept.any(1, keepdim=True)
    return kept * (kept.shape[1] / kept.sum(1, keepdim=True))


def scaled_heads(states: Tensor, factors: Tensor) -> Tensor:
    """The output of all heads (sentence, token, heads × width) with each head multiplied by its factor."""
    heads = states.view(*states.shape[:-1], factors.shape[1], -1)
    return (heads * factors[:, None, :, None].to(states.dtype)).flatten(-2)
