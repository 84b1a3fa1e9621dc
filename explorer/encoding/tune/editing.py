"""The places in each architecture where embeddings, position ids, attention heads and dropout can be changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from explorer.encoding.locate import families
from explorer.errors import UnsupportedModel

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# from what the model would use, and the mask of real tokens (sentence, token), to what it uses instead
Edit = Callable[[Tensor, Tensor], Tensor]

_VALUES = 2**16  # of a 16-bit number


def entrance(model: PreTrainedModel) -> nn.Module:
    """The module whose output (sentence, token, width) enters the first layer."""
    parts = dict(model.named_modules())
    names = (name for row in families.tried(model.config.model_type) for name in row.entrances)
    found: nn.Module = next((parts[name] for name in names if name in parts), model.get_input_embeddings())
    return found


def position_ids(model: PreTrainedModel, name: str, ids: Tensor) -> Tensor:
    """The position ids (sentence, token) that a model would give these tokens."""
    require_position_ids(model, name)
    pad = families.padding_position(model)
    if pad is None:
        return torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    real = (ids != pad).long()
    found: Tensor = real.cumsum(1) * real + pad
    return found


def require_position_ids(model: PreTrainedModel, name: str) -> None:
    """Refuse a model that takes no position ids, or ignores them."""
    taken = "position_ids" in inspect.signature(model.forward).parameters
    switches = (row.positions_if for row in families.FAMILIES if row.positions_if)
    if not taken or not all(getattr(model.config, switch, True) for switch in switches):
        raise UnsupportedModel(
            f"'{name}' is a {model.config.model_type} that takes no position ids, so positions cannot be changed. "
            f"Choose {families.SIMILAR}, or a view that leaves the positions as they are."
        )


def heads_joined(model: PreTrainedModel, name: str) -> list[nn.Module]:
    """The projections after self-attention: one for each layer, or for each group of layers that share weights."""
    own = families.of(model.config.model_type).heads_joined
    ends = (own,) if own else tuple(row.heads_joined for row in families.FAMILIES if row.heads_joined)
    found = [part for path, part in model.named_modules() if path.endswith(ends)]
    if not found:
        raise UnsupportedModel(
            f"'{name}' is a {model.config.model_type}, whose attention heads Strata cannot drop. Choose "
            f"{families.SIMILAR}, or ordinary dropout."
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


class FastDropout(nn.Dropout):
    """nn.Dropout with faster random numbers: one of 64 bits gives four of 16 bits.

    Those of torch take a fifth of a training step on a processor.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Set each number to zero with probability p and scale the rest; outside training, change nothing."""
        if input.device.type != "cpu" or not self.training or not 0 < self.p < 1:
            return super().forward(input)
        drawn = torch.empty(-(-input.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        numbers = drawn.view(torch.int16)[: input.numel()].view(input.shape)
        kept = numbers >= round(self.p * _VALUES) - _VALUES // 2
        return input * kept.to(input.dtype).div_(1 - self.p)


def use_fast_dropout(module: nn.Module) -> None:
    """Replace torch's dropout in a module by the fast one."""
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if type(child) is nn.Dropout and not child.inplace:
                setattr(parent, name, FastDropout(child.p).train(child.training))
