"""BERT a second time, from its paper: every layer of one sentence, from weights by name, in float64.

Devlin and others 2019, section 3; Vaswani and others 2017, section 3. A sentence is encoded alone, without padding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

HEADS = 2
EPSILON = 1e-12  # of the layer norm, as in BERT's configuration

Weights = Mapping[str, Tensor]


def wide(module: nn.Module) -> dict[str, Tensor]:
    """Every weight and buffer by its name, in float64; the trained ones have gradients."""
    return {
        name: value.detach().clone().double().requires_grad_(value.requires_grad)
        for name, value in module.state_dict(keep_vars=True).items()
    }


def layers(
    weights: Weights,
    ids: Sequence[int],
    types: Sequence[int] | None = None,
    *,
    under: str = "base.model.",
    first: Tensor | None = None,
    padding: int = 0,
    positions: Sequence[int] | None = None,
    edit: Callable[[Tensor], Tensor] | None = None,
    heads: Sequence[Sequence[float]] | None = None,
) -> list[Tensor]:
    """The states (token, width) of layer 0, the embedding output, and of every layer.

    `first` replaces the embedding of the first token. The last `padding` tokens are seen by no other token. Positions
    are 0, 1, … unless they are given, `edit` changes the embedding output, and `heads` are the factors of each layer's
    attention heads.
    """
    of = {name.removeprefix(under): value for name, value in weights.items() if name.startswith(under)}
    types = types or [0] * len(ids)
    positions = positions or range(len(ids))
    words = of["embeddings.word_embeddings.weight"]
    embedded = [
        (words[token] if place < len(ids) - padding else words[token].detach())  # padding is not trained
        + of["embeddings.position_embeddings.weight"][positions[place]]
        + of["embeddings.token_type_embeddings.weight"][kind]
        for place, (token, kind) in enumerate(zip(ids, types, strict=True))
    ]
    states = norm(of, "embeddings.LayerNorm", torch.stack(embedded))
    if first is not None:
        states = torch.stack([first, *states[1:]])
    if edit is not None:
        states = edit(states)
    found = [states]
    while f"encoder.layer.{len(found) - 1}.output.dense.weight" in of:
        factors = heads[len(found) - 1] if heads else [1.0] * HEADS
        found.append(_layer(of, f"encoder.layer.{len(found) - 1}.", found[-1], len(ids) - padding, factors))
    return found


def decoded(weights: Weights, ids: Sequence[int], memory: Tensor, *, shared: str, own: str) -> Tensor:
    """The last layer (token, width) of a decoder: each token sees those up to it, and one vector.

    Vaswani and others 2017, section 3.1. The weights under `shared` are an encoder's, the cross-attention's are under
    `own`. With a single vector to attend to, its weight is 1 whatever query and key are.
    """
    of = {name.removeprefix(shared): value for name, value in weights.items() if name.startswith(shared)}
    cross = {name.removeprefix(own): value for name, value in weights.items() if name.startswith(own)}
    embedded = [
        of["embeddings.word_embeddings.weight"][token]
        + of["embeddings.position_embeddings.weight"][place]
        + of["embeddings.token_type_embeddings.weight"][0]
        for place, token in enumerate(ids)
    ]
    states = norm(of, "embeddings.LayerNorm", torch.stack(embedded))
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in of:
        name = f"encoder.layer.{layer}."
        attended = torch.stack([_attended(of, name, states[: place + 1], place + 1)[-1] for place in range(len(ids))])
        states = norm(of, f"{name}attention.output.LayerNorm", states + attended)
        told = linear(cross, f"{name}crossattention.self.value", memory)
        told = linear(cross, f"{name}crossattention.output.dense", told)
        states = norm(cross, f"{name}crossattention.output.LayerNorm", states + told)
        states = _fed(of, name, states)
        layer += 1
    return states


def linear(of: Weights, name: str, vectors: Tensor) -> Tensor:
    """W x + b, of a vector (width) or of vectors (token, width)."""
    return vectors @ of[f"{name}.weight"].T + of[f"{name}.bias"]


def norm(of: Weights, name: str, states: Tensor) -> Tensor:
    """Layer norm: mean 0 and variance 1 over the width, then a scale and a shift."""
    centred = states - states.mean(-1, keepdim=True)
    spread = (centred.square().mean(-1, keepdim=True) + EPSILON).sqrt()
    return centred / spread * of[f"{name}.weight"] + of[f"{name}.bias"]


def gelu(values: Tensor) -> Tensor:
    """x times the probability that a normal number is below x."""
    return values * (1 + torch.erf(values / math.sqrt(2))) / 2


def _layer(of: Weights, name: str, states: Tensor, seen: int, factors: Sequence[float]) -> Tensor:
    attended = _attended(of, name, states, seen, factors)
    return _fed(of, name, norm(of, f"{name}attention.output.LayerNorm", states + attended))


def _attended(of: Weights, name: str, states: Tensor, seen: int, factors: Sequence[float] = (1.0,) * HEADS) -> Tensor:
    query, key, value = (linear(of, f"{name}attention.self.{part}", states) for part in ("query", "key", "value"))
    size, read = states.shape[1] // HEADS, []
    for head in range(HEADS):
        own = slice(head * size, (head + 1) * size)
        alike = torch.exp(query[:, own] @ key[:seen, own].T / math.sqrt(size))
        read.append(alike / alike.sum(1, keepdim=True) @ value[:seen, own] * factors[head])
    return linear(of, f"{name}attention.output.dense", torch.cat(read, dim=1))


def _fed(of: Weights, name: str, states: Tensor) -> Tensor:
    inner = gelu(linear(of, f"{name}intermediate.dense", states))
    return norm(of, f"{name}output.LayerNorm", states + linear(of, f"{name}output.dense", inner))


def pool(states: Tensor, how: str) -> Tensor:
    """One vector of the states (token, width) of a sentence: its first token, or mean or largest per dimension."""
    if how == "cls":
        return states[0]
    return states.mean(0) if how == "mean" else states.max(0).values
