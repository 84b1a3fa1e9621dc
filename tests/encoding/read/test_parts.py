"""Test that the folder of head parts is their list: a new file is exported and loaded without any other change."""

import importlib
import math
import sys

import pytest
import torch
from sentence_transformers import SentenceTransformer

from explorer.encoding.export import source_code
from explorer.encoding.export.exporting import export
from explorer.encoding.export.source_code import alone
from explorer.encoding.load import declared
from explorer.encoding.read import parts
from explorer.encoding.read.head import Head
from explorer.encoding.read.parts.flow_map import Flow, FlowMap
from explorer.errors import UnsupportedModel
from tests.exports import TEXTS, as_trained, assert_close, by_strata, tunable, typed, undone
from tests.live import ROOT
from tests.spoiling import configure, encoder_of
from tests.tiny_models import WIDTH, save_tiny

STEP = '''
"""A step that no library has: vectors times a number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from torch import Tensor, nn

from explorer.encoding.locate import configuration
from explorer.encoding.read.layer_reading import write


class Times(nn.Module):
    """Vectors times a number."""

    words: ClassVar[str] = "a multiple"
    module: ClassVar[str] = "times.Times"
    title: ClassVar[str] = "times {factor}"

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, given):
        """Vectors, or the features dictionary of sentence-transformers."""
        if isinstance(given, Tensor):
            return given * self.factor
        given["sentence_embedding"] = given["sentence_embedding"] * self.factor
        return given

    def width(self, given):
        """The width given."""
        return given

    @property
    def takes(self):
        """Any width."""
        return None

    def settings(self):
        """The number."""
        return {"factor": self.factor}

    def save(self, folder, *_, **__):
        """Save the number."""
        write(folder, {"factor": self.factor}, {})

    @classmethod
    def load(cls, folder):
        """Load what `save` wrote."""
        return cls(json.loads((Path(folder) / "config.json").read_text())["factor"])


def opened(place):
    """The step in a folder."""
    return Times(float(configuration.settings(place / "config.json")["factor"]))
'''

POOLING = '''
"""A pooling of states that no library has: one token of the last layer, times a vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from explorer.encoding.locate import weights


@dataclass(frozen=True, eq=False)
class OneToken:
    """The token at a place."""

    words: ClassVar[str] = "one token"
    saved_as: ClassVar[str] = "one token"
    title: ClassVar[str] = "token {place}"

    scale: Tensor
    place: int

    def __call__(self, hidden: Sequence[Tensor], mask):
        return hidden[-1][:, self.place].float() * self.scale

    def width(self, states):
        """The width of the states."""
        return states

    def to(self, device):
        """A copy on a device."""
        return replace(self, scale=self.scale.to(device))

    def settings(self):
        """The place."""
        return {"place": self.place}

    def tensors(self):
        """The scale."""
        return {"scale": self.scale}

    @classmethod
    def made(cls, settings, tensors):
        """The same again."""
        return cls(**settings, **tensors)


def opened(place, stated):
    """The pooling with these settings."""
    if not isinstance(stated, dict) or list(stated) != ["place"] or type(stated["place"]) is not int:
        return None
    return OneToken.made(stated, weights.of_module(place, "", ("scale",)))
'''


@pytest.fixture
def added(tmp_path, monkeypatch):
    """Two files in a further folder of parts, and nothing else."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "times.py").write_text(STEP.lstrip())
    (folder / "one_token.py").write_text(POOLING.lstrip())
    monkeypatch.setattr(parts, "__path__", [*parts.__path__, str(folder)])
    parts.listed.cache_clear()
    importlib.invalidate_caches()
    yield [importlib.import_module(f"{parts.__name__}.{name}") for name in ("times", "one_token")]
    for name in ("times", "one_token"):
        sys.modules.pop(f"{parts.__name__}.{name}")
    parts.listed.cache_clear()


@pytest.fixture
def tuned(tmp_path):
    return tunable(encoder_of(save_tiny("bert", tmp_path / "base")))


def test_a_part_is_one_file_in_the_folder(tuned, tmp_path, added):
    times, one_token = added
    layers = one_token.OneToken(torch.linspace(-1, 1, WIDTH, requires_grad=True), 1)
    head = Head(("mean",), (times.Times(3.0),), normalize=True, layers=layers)
    folder = tmp_path / "run"
    export(tuned, head, folder, "# card", None)
    expected = as_trained(tuned, head)
    assert expected.shape == (len(TEXTS), head.width(WIDTH)) == (len(TEXTS), 2 * WIDTH)
    assert_close(by_strata(folder), expected)
    assert head.describe() == "mean of the last layer + token 1 → times 3.0 → normalised"
    assert declared.head(folder).describe() == head.describe()
    assert declared.declared(folder) == "mean of the last layer + one token → a multiple → normalised"
    assert sorted(path.name for path in folder.glob("*.py")) == ["layer_reading.py", "times.py"]
    opened = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
    assert_close(opened.encode(list(TEXTS), convert_to_tensor=True), expected)
    known = typed(source_code.transformers(head, "AutoModel"), folder)
    assert_close(known["vectors"], as_trained(tuned, head, tuple(known["sentences"])))


@pytest.mark.parametrize("change", [{"one token": {"place": "1"}}, {"one token": []}, {"two tokens": {"place": 1}}])
def test_a_part_with_wrong_settings_or_an_unknown_one_is_refused(tuned, tmp_path, added, change):
    _, one_token = added
    export(tuned, Head((), layers=one_token.OneToken(torch.ones(WIDTH), 1)), tmp_path / "run", "# card", None)
    configure(tmp_path / "run" / "1_LayerReading" / "config.json", **change)
    with pytest.raises(UnsupportedModel, match="is not a LayerReading of Strata"):
        declared.head(tmp_path / "run")


def test_a_part_whose_file_is_gone_is_refused_by_name(tuned, tmp_path, added):
    times, _ = added
    export(tuned, Head(("mean",), (times.Times(3.0),)), tmp_path / "run", "# card", None)
    (tmp_path / "parts" / "times.py").unlink()
    parts.listed.cache_clear()
    with pytest.raises(UnsupportedModel, match=r"chains Transformer → Pooling → Times\. Strata supports"):
        declared.head(tmp_path / "run")


def test_every_file_of_the_folder_has_one_part():
    listed = parts.listed()
    folder = ROOT / "explorer" / "encoding" / "read" / "parts"
    assert [part.file for part in listed] == sorted(path.stem for path in folder.glob("[!_]*.py"))
    for part in listed:
        module = importlib.import_module(f"{parts.__name__}.{part.file}")
        kind = getattr(module, part.kind)
        assert (part.words, part.module) == (kind.words, getattr(kind, "module", ""))
        assert (part.saved_as, part.title) == (getattr(kind, "saved_as", ""), getattr(kind, "title", ""))
        assert bool(part.module) != bool(part.saved_as), "a step, or a pooling of states"
        assert callable(module.opened)
    for names in (parts.steps(), parts.state_poolings()):
        assert names
    assert len({part.kind for part in listed}) == len({part.words for part in listed}) == len(listed)


def test_a_layer_reading_of_older_releases_is_read(tuned, tmp_path):
    """They wrote every pooling of states that they knew, and null for those that a head did not have."""
    from explorer.encoding.read.parts.word_weights import WordWeights

    export(tuned, Head(("cls",), layers=WordWeights(0, 1, True)), tmp_path / "run", "# card", None)
    configure(tmp_path / "run" / "1_LayerReading" / "config.json", attention=None)
    assert declared.head(tmp_path / "run") == Head(("cls",), layers=WordWeights(0, 1, True))
    assert declared.declared(tmp_path / "run") == "cls of the last layer + weighted layers"


def test_two_names_for_one_thing_are_no_source(tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text(
        '"""Planted."""\nfrom explorer.encoding.read.pooling import pooled as other\n\n\n'
        "class Planted:\n    def __call__(self, hidden, mask):\n        return other('cls', hidden, mask)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    planted = importlib.import_module("planted")
    with pytest.raises(ValueError, match="planted imports pooled as other; import it under its own name"):
        alone(planted.Planted)


TWO = torch.tensor([[1.0, 2, 3, 4], [3, 6, 1, 0]])


def moved(flow):
    """The same with weights that do something: at its beginning a coupling moves nothing."""
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in flow.parameters():
            weight.add_(torch.randn_like(weight) * 0.05)
    return flow


def test_one_step_gives_the_values_worked_out_for_it():
    flow = Flow(4, levels=1, steps=1)
    mapped = flow(TWO, beginning=True)
    assert flow.scalings[0].shift.tolist() == pytest.approx([-2, -4, -2, -2])
    assert (3 * flow.scalings[0].size).exp().tolist() == pytest.approx([1, 0.5, 1, 0.5], abs=1e-5)
    assert mapped.flatten().tolist() == pytest.approx([1, 1, -1, -1, -1, -1, 1, 1], abs=1e-5)
    assert flow.surprise(mapped).item() == pytest.approx(2.547096, abs=1e-5)


@pytest.mark.parametrize(("levels", "steps", "width"), [(1, 1, 8), (3, 3, 8), (3, 3, 13), (2, 1, 5)])
def test_it_begins_with_the_spread_of_the_first_vectors_whatever_its_shape(levels, steps, width):
    torch.manual_seed(0)
    first = torch.randn(50, width).double() * torch.linspace(0.5, 4, width) + 3
    flow = Flow(width, levels, steps).double()
    mapped = flow(first, beginning=True)
    assert mapped.mean(0).tolist() == pytest.approx([0] * width, abs=1e-5)
    assert mapped.std(0, correction=0).tolist() == pytest.approx([1] * width, abs=1e-4)
    spread = first.std(0, correction=0).log2().mean().item()
    assert flow.surprise(mapped).item() == pytest.approx(0.5 * math.log2(2 * math.pi * math.e) + spread, abs=1e-4)
    before = flow.scalings[0].shift.clone()
    flow(first + 7)
    assert torch.equal(flow.scalings[0].shift, before), "only the first vectors set it"


@pytest.mark.parametrize(("levels", "steps", "width"), [(1, 1, 4), (3, 3, 16), (3, 2, 13)])
def test_it_can_be_undone(levels, steps, width):
    flow = moved(Flow(width, levels, steps).double())
    torch.manual_seed(0)
    given = torch.randn(5, width).double()
    mapped = flow(given)
    assert not torch.allclose(mapped, given, atol=0.1)
    assert torch.allclose(undone(flow, mapped), given, atol=1e-9)
    assert torch.allclose(undone(flow.float(), flow(given.float())), given.float(), atol=1e-4)


def test_a_number_that_never_varies_is_left_as_it_is():
    torch.manual_seed(0)
    first = torch.randn(50, 8)
    first[:, 3] = 7.0
    flow = Flow(8)
    assert torch.isfinite(flow.surprise(flow(first, beginning=True)))
    flow.surprise(flow(first + 1e-3)).backward()
    assert all(weight.grad.abs().max() < 1e3 for weight in flow.parameters())


def test_a_coupling_makes_nothing_of_a_volume():
    coupling = moved(Flow(6, 1, 1).double()).couplings[0]
    slopes = torch.autograd.functional.jacobian(lambda x: coupling(x[None])[0], torch.randn(6).double())
    assert torch.linalg.slogdet(slopes).logabsdet.item() == pytest.approx(0, abs=1e-12)


def test_it_has_as_many_numbers_as_the_papers():
    assert sum(weight.numel() for weight in Flow(768).parameters()) == 151_488


def test_a_map_is_kept_and_found_again(tmp_path):
    flow = FlowMap(moved(Flow(12, 2, 2, 8)))
    flow.save(str(tmp_path))
    again = FlowMap.load(str(tmp_path))
    given = torch.randn(4, 12)
    assert torch.equal(again(given), flow(given))
    assert torch.equal(again({"sentence_embedding": given})["sentence_embedding"], flow(given))
    assert not any(weight.requires_grad for weight in again.parameters())
    assert again.to("meta").flow.scalings[0].shift.device.type == "meta"
    assert again.flow.scalings[0].shift.device.type == "cpu", "a step of a reading stays where it is"
