"""Shared by the tests of self-guided methods: cases, and views computed token by token."""

import pytest
import torch

from explorer import methods
from tests.tiny_models import LAYERS

ALL = [
    ("sg", {}),
    ("sg-opt", {"objective": "opt1"}),
    ("sg-opt", {"objective": "opt2"}),
    ("sg-opt", {"objective": "opt3"}),
    ("bt", {}),
    ("bt", {"guided": True}),
    ("bt-sg-opt", {}),
    ("bt-sg-opt", {"both_views": True}),
    ("bt-sg-opt", {"original_views": True}),
]
every_case = pytest.mark.parametrize(
    ("name", "values"), ALL, ids=[" ".join(map(str, (a, *b.values()))) for a, b in ALL]
)


def made(name, base, **values):
    torch.manual_seed(0)
    return methods.load(name)(base, values)


def slow_pool(tokens, how):
    """Tokens (token, width) of one sentence without padding."""
    columns = list(zip(*tokens.tolist(), strict=True))
    return [max(column) if how == "max" else sum(column) / len(column) for column in columns]


def slow_views(method, sentences):
    """(sentence, view, width): each sentence is read alone, so there is no padding to go wrong."""
    found = []
    for sentence in sentences:
        hidden = method.guide.states([sentence]).hidden
        layers = range(method.first_layer, LAYERS + 1)
        found.append([slow_pool(hidden[layer][0], method.view_pooling) for layer in layers])
    return torch.tensor(found)
