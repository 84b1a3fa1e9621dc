"""Test the method that the documentation adds: its code is taken from the page and trained."""

import importlib.util
import re

import torch

from explorer.data.row_kinds import PAIRS
from explorer.encoding.tune.tunable import Tunable
from explorer.methods import Method
from tests.live import ROOT
from tests.tiny_models import SENTENCES

PAGE = ROOT / "docs" / "adding_a_method.md"


def added(folder) -> type[Method]:
    """The class in the page's first block of code, loaded as the file it says it is."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    file = folder / "nearest_pair.py"
    file.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("nearest_pair", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.NearestPair


def test_the_method_of_the_page_learns(tmp_path, tiny_encoder):
    torch.manual_seed(1)
    kind = added(tmp_path)
    method = kind(Tunable(tiny_encoder, 32), {"temperature": 0.1})
    method.eval()  # without dropout: a lower loss is learning, not luck
    schedule = kind.schedule.but({"learning_rate": 1e-3})
    optimizer = method.make_optimizer(method.groups(schedule), schedule)
    rows = list(SENTENCES), [f"{sentence} in the park" for sentence in SENTENCES]
    losses = []
    for _ in range(10):
        loss = method(*rows)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert method.watched is not None
    assert method.vectors(["a man"]).shape == (1, tiny_encoder.width)


def test_the_method_of_the_page_says_what_it_is(tmp_path):
    kind = added(tmp_path)
    assert kind.knobs["temperature"].default == 0.05
    assert kind.eats == PAIRS
