"""A tiny BERT as Strata loads it and as transformers does, and a method's loss against the one in plain loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from explorer import methods
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.tune.tunable import Tunable
from explorer.methods import Method
from tests.independent.bert import Weights, layers, pool, wide
from tests.spoiling import encoder_of, reweigh
from tests.tiny_models import save_tiny

LENGTH = 12  # tokens in training: one of the sentences below is longer
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}

FIRST = [
    "the late train",
    "a man plays a guitar",
    "the weather in the park is on a stage while they wait for a late train to the city",
    "the dog runs after a red ball in the park",
]
SECOND = [
    "not in the city",
    "A man is playing the guitar on a stage",
    "two women wait and talk",
    "the dog is in the park after the ball",
]
THIRD = ["a late train", "the man is a dog", "no women", "a red guitar runs"]
SCORES = [0.0, 0.5, 0.25, 1.0]

ByHand = Callable[[Weights], Tensor]


@dataclass(frozen=True)
class Pair:
    """One model, loaded by Strata and by transformers alone."""

    folder: Path
    encoder: Encoder
    plain: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase

    def ids(self, sentence: str, most: int = LENGTH) -> list[int]:
        """The tokens of a sentence with [CLS] and [SEP], truncated as in training."""
        found: list[int] = self.tokenizer(sentence, truncation=True, max_length=most)["input_ids"]
        return found

    def vectors(
        self, weights: Weights, sentences: Sequence[str], how: str = "cls", under: str = "base.model."
    ) -> list[Tensor]:
        """One pooling of the last layer of each sentence."""
        return [pool(layers(weights, self.ids(sentence), under=under)[-1], how) for sentence in sentences]

    def method(self, name: str, **values: Any) -> Method:
        """A method on a copy of it; no weight stays where it started, so that each of them matters."""
        torch.manual_seed(0)
        method = methods.load(name)(Tunable(self.encoder, LENGTH), values)
        drawn = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for where, weight in method.named_parameters():
                if weight.requires_grad:
                    far = 0.02 if where.startswith("base.") else 0.2
                    weight.add_(torch.randn(weight.shape, generator=drawn), alpha=far)
        return method


def made(folder: Path, layers: int) -> Pair:
    """Random weights, ten times as large as usual: else the [CLS] of all sentences would be almost the same."""
    save_tiny("bert", folder, num_hidden_layers=layers, **NO_DROPOUT)
    reweigh(folder, lambda weights: {name: _larger(name, weight) for name, weight in weights.items()})
    plain = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    return Pair(folder, encoder_of(folder), plain, AutoTokenizer.from_pretrained(folder))


def _larger(name: str, weight: Tensor) -> Tensor:
    return weight * 10 if "encoder." in name and weight.dim() > 1 else weight


def assert_same(method: Method, columns: Sequence[Any], by_hand: ByHand, close: float = 1e-4) -> None:
    """The loss of a batch, and its gradient for every trained weight, are those of the loss by hand."""
    weights = wide(method)
    found = method(*columns)
    expected = by_hand(weights)
    assert found.item() == pytest.approx(expected.item(), rel=close, abs=1e-6)
    trained = {name: weight for name, weight in method.named_parameters() if weight.requires_grad}
    slopes = _slopes(found, trained)
    wanted = _slopes(expected, {name: weights[name] for name in trained})
    size = max(slope.abs().max().item() for slope in wanted.values())
    assert size > 1e-3, "otherwise there is no slope to compare"
    for name, slope in wanted.items():
        assert torch.allclose(slopes[name], slope, rtol=0, atol=10 * close * size), name


def _slopes(loss: Tensor, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The gradient of a loss by the name of a weight, in float64; zeros where the loss does not depend on it."""
    found = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)
    return {
        name: torch.zeros_like(weight).double() if slope is None else slope.double()
        for (name, weight), slope in zip(weights.items(), found, strict=True)
    }
