"""What can be changed inside an encoder: embeddings, position ids, attention heads, dropout, and the number of layers.

An encoder is cut after one of its layers: the layers above are removed, and nothing else changes.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from explorer.encoding.locate import families, lookup, stored_vectors
from explorer.encoding.read.encoder import Encoder, every_layer
from explorer.encoding.read.head import Head
from explorer.errors import BadChoice, UnsupportedModel

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# from what the model would use, and the mask of real tokens (sentence, token), to what it uses instead
Edit = Callable[[Tensor, Tensor], Tensor]

_VALUES = 2**16  # of a 16-bit number
# the most that rounding changes the states of a layer in an encoder that is cut there, as a share of the largest
ROUNDING = {"float32": 1e-4, "bfloat16": 2e-2, "float16": 2e-3}


def entrance(model: PreTrainedModel) -> nn.Module:
    """The module whose output (sentence, token, width) enters the first layer."""
    parts = dict(model.named_modules())
    names = (name for row in families.tried(model.config.model_type) for name in row.entrances)
    found: nn.Module = next((parts[name] for name in names if name in parts), model.get_input_embeddings())
    return found


def embeddings(model: PreTrainedModel) -> nn.Module:
    """The embedding block: words, positions and their norm, if the family has them in one module."""
    parts, rows = dict(model.named_children()), families.tried(model.config.model_type)
    blocks = (parts[row.embeddings] for row in rows if row.embeddings in parts)
    found: nn.Module = next(blocks, model.get_input_embeddings())
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


@dataclass(frozen=True, eq=False)
class Stack:
    """The layers of a model: where they are in it, the norm after the last one, and the lowest possible cut."""

    path: str  # of the list of layers; "" if all layers share one set of weights
    norm: nn.Module | None
    lowest: int  # 0: the embedding block can be alone

    def finished(self, states: Tensor) -> Tensor:
        """The states of a layer as an encoder returns them that is cut there."""
        return states if self.norm is None else cast(Tensor, self.norm(states))


def stack(encoder: Encoder) -> Stack:
    """Find the layers of an encoder and prove it: every possible cut must return the states of its layer."""
    stored_vectors.refuse(encoder.folder, encoder.name)
    model, ids = encoder.model, torch.tensor(encoder.tokens(["A sentence."]).ids, device=encoder.device)
    parts, limit, count = dict(model.named_modules()), ROUNDING[encoder.precision], model.config.num_hidden_layers
    # the outermost list with one part for each layer; one of the norms outside of it may follow the last layer
    path = next((name for name, part in parts.items() if isinstance(part, nn.ModuleList) and len(part) == count), "")
    outside = [part for name, part in parts.items() if not (path and name.startswith(f"{path}."))]
    norms = [part for part in outside if "norm" in type(part).__name__.lower()]
    with torch.inference_mode():
        hidden = every_layer(model, input_ids=ids)
        lowest = 0 if _can_be_alone(_cut(model, path, 0), ids) else 1
        cuts = [_cut(model, path, layer)(input_ids=ids).last_hidden_state for layer in range(lowest, len(hidden) - 1)]
        for norm in (None, *norms):
            found = Stack(path, norm, lowest)
            pairs = ((one, found.finished(states)) for one, states in zip(cuts, hidden[lowest:-1], strict=True))
            if all(one.shape == due.shape and (one - due).abs().max() <= limit * due.abs().max() for one, due in pairs):
                return found
    raise UnsupportedModel(
        f"'{encoder.name}' is a {model.config.model_type}, whose layers Strata cannot remove: what is left "
        f"would not return the states of its layers. Choose an encoder {families.SUCH_AS}."
    )


def cut(encoder: Encoder, layers: int, where: Stack | None = None) -> Encoder:
    """The encoder with its first `layers` layers; 0 leaves the embedding block. It shares its weights with the whole.

    Its model default is the mean, after the prompts of the whole.
    """
    where = where or stack(encoder)
    whole: int = encoder.model.config.num_hidden_layers
    if not where.lowest <= layers <= whole:
        raise BadChoice(
            f"'{encoder.name}' cannot be cut after layer {layers}: it has {whole} layers. Choose a layer from "
            f"{where.lowest} to {whole}{'' if where.lowest else ' (0: the embedding block alone)'}."
        )
    prompts = encoder.default_head
    return encoder.with_model(
        _cut(encoder.model, where.path, layers),
        lookup.joined_digests(encoder.digest, f"cut after layer {layers}"),
        Head(("mean",), prompt=prompts.prompt, roles=prompts.roles),
    )


def recast(encoder: Encoder, precision: str, device: str = "") -> Encoder:
    """The encoder with its weights in another precision, on a device (default: its own)."""
    where = device or encoder.device
    if (encoder.precision, encoder.device) == (precision, where):
        return encoder
    found = copy.copy(encoder)
    found.model = copy.deepcopy(encoder.model).to(where)
    for weight in found.model.parameters():
        weight.data = weight.data.to(getattr(torch, precision))
    found.head = encoder.head and encoder.head.to(where)
    found.precision, found.device = precision, where
    return found


def as_cut(encoder: Encoder, where: Stack) -> Encoder:
    """The whole encoder, returning for each layer the states of an encoder that is cut there, from one pass."""
    if where.norm is None:
        return encoder
    found = copy.copy(encoder)
    found.model = cast("PreTrainedModel", _Finished(encoder.model, where))
    return found


class _Finished(nn.Module):
    """A model that applies its last norm to the states of every layer."""

    def __init__(self, model: PreTrainedModel, where: Stack) -> None:
        super().__init__()
        self.model, self.where, self.config = model, where, model.config

    def forward(self, **given: Any) -> Any:
        *below, last = self.model(**given).hidden_states  # the norm was applied to the last already
        return SimpleNamespace(hidden_states=(*map(self.where.finished, below), last))


def _cut(model: PreTrainedModel, path: str, layers: int) -> PreTrainedModel:
    """A model with fewer layers that shares the weights of the whole."""
    whole = model.config.num_hidden_layers
    kept = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    gone = list(cast(nn.ModuleList, model.get_submodule(path)))[layers:] if path else []
    # what is in the second argument counts as copied already: the weights that stay, and the layers that are removed
    found = copy.deepcopy(model, {**kept, **{id(layer): nn.Identity() for layer in gone}})
    if path:
        found.set_submodule(path, cast(nn.ModuleList, found.get_submodule(path))[:layers])
    config = found.config
    for name, value in list(vars(config).items()):
        if "layer" in name and isinstance(value, list) and len(value) == whole:  # such as which layers attend to all
            setattr(config, name, value[:layers])
    config.num_hidden_layers = layers
    return found


def _can_be_alone(embeddings: PreTrainedModel, ids: Tensor) -> bool:
    """Whether a family can encode, and be saved, without layers: some need one, or their configuration does."""
    try:
        embeddings(input_ids=ids)
        type(embeddings.config).from_dict(embeddings.config.to_dict())
    except Exception:  # noqa: BLE001  whatever the code of a family raises that no one calls without layers
        return False
    return True
