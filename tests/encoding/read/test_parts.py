"""Test that the folder of head parts is their list: a new file is exported and loaded without any other change."""

import importlib
import subprocess
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
from explorer.errors import UnsupportedModel
from tests.exports import TEXTS, as_trained, assert_close, by_strata, tunable
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
    assert declared.declared(folder).words == "mean of the last layer + one token → a multiple → normalised"
    assert sorted(path.name for path in folder.glob("*.py")) == ["layer_reading.py", "times.py"]
    opened = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
    assert_close(opened.encode(list(TEXTS), convert_to_tensor=True), expected)
    code = source_code.transformers(head, "AutoModel").replace(source_code.FOLDER, str(folder))
    known = {}
    exec(code, known)
    for name in ("layer_reading", "times"):  # from the run's folder, which another test does not have
        sys.modules.pop(name, None)
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


def test_listing_the_parts_imports_none_of_them():
    code = """
import sys
from explorer.encoding.read import parts
assert {"Dense", "FlowMap"} < set(parts.steps())
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)


def test_a_layer_reading_of_older_releases_is_read(tuned, tmp_path):
    """They wrote every pooling of states that they knew, and null for those that a head did not have."""
    from explorer.encoding.read.parts.word_weights import WordWeights

    export(tuned, Head(("cls",), layers=WordWeights(0, 1, True)), tmp_path / "run", "# card", None)
    configure(tmp_path / "run" / "1_LayerReading" / "config.json", attention=None)
    assert declared.head(tmp_path / "run") == Head(("cls",), layers=WordWeights(0, 1, True))
    assert declared.declared(tmp_path / "run").words == "cls of the last layer + weighted layers"


def test_two_names_for_one_thing_are_no_source(tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text(
        '"""Planted."""\nfrom explorer.encoding.read.pooling import pooled as other\n\n\n'
        "class Planted:\n    def __call__(self, hidden, mask):\n        return other('cls', hidden, mask)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    planted = importlib.import_module("planted")
    with pytest.raises(ValueError, match="planted imports pooled as other; import it under its own name"):
        alone(planted.Planted)
