"""Test that scores and uploads on a full or read-only disk are kept whole or refused in one line, at every call."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from explorer.data import uploads
from explorer.data.graded import sets
from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import Row
from explorer.errors import NotWritable
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Settings, measure, store_scores, stored_scores
from explorer.progress import finish
from tests.disk_calls import FullDisk, ReadOnlyDisk, Watch, watched

MOST = 20  # calls of a write
PAIRS = GradedPairs("mine.csv", ("a", "ü"), ("b", "c"), (1.5, 0.3), ("", "x"))
TEXT = ("mine.txt", b"one\ntwo\n")
SCORES = LayerScores(
    rows=(Row((0,)),), cosines=np.ones((1, 3, 2)), own=None, own_title="mean", gold=np.array([1.5, 0.3]),
    parts=("", ""), precision="float32", device="cpu", max_length=16, truncated=0, sentences=4, seconds=0.1,
)  # fmt: skip


@dataclass(frozen=True)
class Kept:
    """Something that is kept: how, and what is found of it; `none` before."""

    keep: Any
    found: Any
    none: Any


def scores() -> Any:
    kept = stored_scores("a")
    return None if kept is None else kept.cosines.tolist()


KINDS = {
    "scores": Kept(lambda: store_scores("a", SCORES), scores, None),
    "scored pairs": Kept(
        lambda: sets.keep(PAIRS), lambda: [sets.uploaded_pairs(name) for name in sets.kept_sets()], []
    ),
    "text": Kept(lambda: uploads.keep(*TEXT), lambda: [uploads.name_of(path) for path in uploads.paths()], []),
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def refused(kind: Kept, watch: Watch) -> str:
    """Keep it on a disk that fails from a call on; why that is refused, "" if it is not."""
    try:
        with watched(watch):
            kind.keep()
    except NotWritable as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("watch", "reason"), [(FullDisk, "No space left"), (ReadOnlyDisk, "Read-only file system")])
@pytest.mark.parametrize("name", KINDS)
def test_what_cannot_be_kept_is_refused_and_is_kept_when_it_can_be(own_cache, name, watch, reason):
    kind = KINDS[name]
    for at in range(MOST):
        shutil.rmtree(own_cache, ignore_errors=True)
        own_cache.mkdir()
        why = refused(kind, watch(own_cache, at))
        if not why:
            break
        assert reason in why
        assert "\n" not in why
        assert kind.found() == kind.none, at
        kind.keep()
        assert kind.found() != kind.none, at
    assert 2 < at < MOST - 1, "the premise: calls are counted, and in the end none fails"
    whole = kind.found()
    assert refused(kind, watch(own_cache, 0))
    assert kind.found() == whole, "what is there stays"


def test_scores_are_shown_though_they_cannot_be_kept(own_cache, tiny_encoder, few_pairs, logged):
    own_cache.mkdir()
    found = SimpleNamespace(digest="of a model", name="tiny", folder=tiny_encoder.folder)
    with watched(ReadOnlyDisk(own_cache, 0)):
        scores = finish(measure(found, few_pairs, Settings("float32", "cpu"), lambda *_: tiny_encoder))
    assert np.isfinite(scores.cosines).any()
    assert "The scores were not stored." in "\n".join(logged)
    assert list(own_cache.iterdir()) == []


def test_a_text_that_is_being_written_is_no_upload(own_cache):
    path = Path(uploads.keep(*TEXT))
    (path.parent / "tmpabc.part").write_text("one")  # as a killed process leaves it
    assert uploads.paths() == [str(path)]
