"""Fine-tune an encoder and encode with its export in three libraries, one sentence at a time."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import transformers
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers import AutoTokenizer

from explorer.encoding.export import source_code
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.flow_map import Flow
from explorer.encoding.tune.tunable import Tunable
from tests.spoiling import encoder_of
from tests.tiny_models import POSITIONS, SENTENCES, WIDTH

TEXTS = (*SENTENCES, " ".join(["the dog"] * POSITIONS))  # the last is longer than any of them reads


def tunable(encoder: Encoder, max_length: int = 512, seed: int = 3) -> Tunable:
    """A copy of an encoder whose weights have moved a little, as they do in training."""
    tuned = Tunable(encoder, max_length)
    torch.manual_seed(seed)
    with torch.no_grad():
        for weight in tuned.parameters():
            weight += 0.05 * torch.randn_like(weight)
    return tuned.train()


def dense(width: int = WIDTH, activation: str = "Tanh", bias: bool = True) -> Dense:
    """A dense layer as a method trains it: with gradients."""
    torch.manual_seed(4)
    linear = torch.nn.Linear(WIDTH, width, bias=bias)
    return Dense(linear.weight, linear.bias, activation)


def residual(width: int = WIDTH) -> Dense:
    """A dense layer that adds its input."""
    torch.manual_seed(5)
    added = None if width == WIDTH else torch.randn(width, WIDTH) / 6
    return replace(dense(width), residual=True, residual_weight=added)


def as_trained(tuned: Tunable, head: Head, texts: tuple[str, ...] = TEXTS) -> Tensor:
    """The vectors a method reads at the end of its training, a sentence at a time: no padding."""
    tuned.eval()
    with torch.no_grad():
        states = [tuned.states([text]) for text in texts]
        return torch.cat([head(each.hidden, each.mask) for each in states])


def by_transformers(folder: Path, pooling: str, texts: tuple[str, ...] = TEXTS, kind: str = "AutoModel") -> Tensor:
    """The same by the README of any model on the hub: tokenizer, model, and a pooling by hand."""
    model, report = getattr(transformers, kind).from_pretrained(folder, output_loading_info=True)
    assert {name: list(found) for name, found in report.items() if found} == {}
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**rows).last_hidden_state
    pool = {"cls": lambda tokens: tokens[0], "mean": lambda t: t.mean(0), "max": lambda t: t.max(0).values}[pooling]
    return torch.stack([pool(each[real.bool()]) for each, real in zip(states, rows["attention_mask"], strict=True)])


def by_sentence_transformers(folder: Path, texts: tuple[str, ...] = TEXTS) -> Tensor:
    return SentenceTransformer(str(folder), device="cpu").encode(list(texts), convert_to_tensor=True)


def typed(code: str, folder: Path) -> dict[str, Any]:
    """What a Python of one's own knows after the lines of a model card; what it took from the folder goes with it."""
    names: dict[str, Any] = {}
    own = list(sys.path)
    exec(code.replace(source_code.FOLDER, str(folder)), names)
    sys.path[:] = own
    for name, module in list(sys.modules.items()):
        if str(folder) in str(getattr(module, "__file__", "")):
            del sys.modules[name]
    return names


def by_strata(folder: Path, texts: tuple[str, ...] = TEXTS) -> Tensor:
    return model_defaults(encoder_of(folder), texts)


def model_defaults(encoder: Encoder, texts: tuple[str, ...] = TEXTS) -> Tensor:
    """The vectors of an encoder under its model default."""
    found: dict[int, Tensor] = {}
    for views in encoder.views(texts):
        found |= dict(zip(views.positions, views.own, strict=True))
    return torch.stack([found[place] for place in range(len(texts))])


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def undone(flow: Flow, mapped: Tensor) -> Tensor:
    """The vectors that a flow maps to these, each step of which is inverted from the last to the first."""
    widths = [flow.width // 2**level for level in range(flow.levels)]
    *done, vectors = torch.split(mapped, [*(wide - narrow for wide, narrow in pairwise(widths)), widths[-1]], dim=1)
    for place in reversed(range(flow.levels * flow.steps)):
        level, step = divmod(place, flow.steps)
        if step == flow.steps - 1 and level < flow.levels - 1:
            vectors = torch.cat([vectors, done[level]], dim=1)
        scaling, coupling = flow.scalings[place], flow.couplings[place]
        kept, moved = vectors.tensor_split([coupling.first.in_features], dim=1)
        added = coupling(torch.cat([kept, torch.zeros_like(moved)], dim=1))[:, kept.shape[1] :]
        vectors = torch.cat([kept, moved - added], dim=1).flip(1) * (-3 * scaling.size).exp() - scaling.shift
    return vectors
