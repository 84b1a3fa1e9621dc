"""Test that texts are encoded once, under every layer & pooling, into a file that the disk can hold."""

import gc
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from explorer.encoding.read.pooling import GRID_POOLINGS, OWN, Reading, parse
from explorer.errors import BadChoice, NotWritable
from explorer.evaluating import encoded as module
from explorer.evaluating.encoded import encoded, titles_of
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish

TEXTS = ("a man plays a guitar", "no", "the dog runs", "no", "two women talk about the weather", "a man plays a guitar")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_every_title_has_the_vectors_of_its_layer_and_pooling_in_the_order_of_the_texts(tiny_encoder):
    found = finish(encoded(tiny_encoder, TEXTS))
    cells = [Reading(row, pooling) for row in tiny_encoder.rows for pooling in GRID_POOLINGS]
    assert found.titles == (*(cell.title for cell in cells), "model default") == titles_of(tiny_encoder)
    for cell in cells:
        vectors = found.of(cell.title)
        assert vectors.dtype == np.float32
        assert np.array_equal(vectors, finish(of_reading(tiny_encoder, TEXTS, cell)))


def test_a_declared_default_is_used_else_the_mean_of_the_last_layer(bundled_encoder, tiny_encoder):
    found = finish(encoded(bundled_encoder, TEXTS, titles=("cls of layer 1",)))
    assert found.titles == ("cls of layer 1", "model default")
    assert np.array_equal(found.of("model default"), finish(of_reading(bundled_encoder, TEXTS, OWN)))
    assert not np.allclose(found.of("model default"), finish(encoded(bundled_encoder, TEXTS)).of("mean of layer 6"))
    assert tiny_encoder.head is None
    found = finish(encoded(tiny_encoder, TEXTS))
    assert np.array_equal(found.of("model default"), found.of("mean of layer 2"))
    assert finish(encoded(tiny_encoder, ())).of("model default").shape == (0, tiny_encoder.width)
    told = []
    finish(encoded(tiny_encoder, TEXTS), told.append)
    assert (told[-1].text, told[-1].done, told[-1].total) == ("encoding texts", 4, 4)


def test_a_text_that_occurs_twice_is_encoded_once_and_cut_at_the_limit(tiny_encoder, monkeypatch):
    seen = []
    real = type(tiny_encoder).views_of
    monkeypatch.setattr(type(tiny_encoder), "views_of", lambda self, ids, *_: seen.append(len(ids)) or real(self, ids))
    finish(encoded(tiny_encoder, TEXTS))
    assert seen == [4]
    found = finish(encoded(tiny_encoder, TEXTS, max_length=4))
    assert found.truncated == 3
    cell = Reading(tiny_encoder.rows[1], "max")
    assert np.array_equal(found.of(cell.title), finish(of_reading(tiny_encoder, TEXTS, cell, 4)))


def test_layers_and_poolings_outside_of_the_grid_are_encoded_if_they_are_named(tiny_encoder):
    asked = ("last of layer 1", "mean of layers 0-2", "max of layer 1", "mean of layers 1-1")
    found = finish(encoded(tiny_encoder, TEXTS, titles=asked))
    cells = "mean of layer 1", "max of layer 1", "last of layer 1", "mean of layers 0-2"
    assert found.titles == (*cells, "model default")
    for title in found.titles[:-1]:
        assert np.array_equal(found.of(title), finish(of_reading(tiny_encoder, TEXTS, parse(title, 2))))


@pytest.mark.parametrize("title", ["mean of layer 9", "mean"])
def test_a_title_that_does_not_exist_is_answered_with_what_can_be_named(tiny_encoder, title):
    with pytest.raises(BadChoice, match=rf"no layer & pooling '{title}' here.* a layer from 0 to 2, two layers, or"):
        finish(encoded(tiny_encoder, TEXTS, titles=(title,)))
    with pytest.raises(BadChoice, match=rf"no vectors of '{title}'"):
        finish(encoded(tiny_encoder, TEXTS)).of(title)


def test_the_file_has_no_name_and_its_space_is_reserved(tiny_encoder, folder):
    found = finish(encoded(tiny_encoder, TEXTS))
    assert list(folder.iterdir()) == []
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(folder) in line]
    assert len(mapped) == 1
    assert "(deleted)" in mapped[0]
    del found
    gc.collect()
    assert str(folder) not in Path("/proc/self/maps").read_text()


def test_a_disk_that_is_too_small_is_refused_before_anything_is_encoded(tiny_encoder, folder, monkeypatch):
    need = 4 * 4 * tiny_encoder.width * len(titles_of(tiny_encoder))
    monkeypatch.setattr(type(tiny_encoder), "views_of", lambda *_: pytest.fail("encoded"))
    monkeypatch.setattr(module, "SPARE", 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=need - 1))
    with pytest.raises(NotWritable, match=r"The vectors need 8.19 KB in .*cache, where .* are free\. Choose fewer"):
        finish(encoded(tiny_encoder, TEXTS))


def test_a_disk_that_fills_up_meanwhile_is_an_error_and_no_kill(tiny_encoder, folder, monkeypatch):
    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(NotWritable, match=r"cannot hold the vectors.*No space left on device\. Make room"):
        finish(encoded(tiny_encoder, TEXTS))
