import dataclasses

import numpy as np
import pytest

from explorer.encoding.finding import find
from explorer.measuring import measured, shelf
from explorer.measuring.measured import Settings, layer_scores
from explorer.progress import finish


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    return tmp_path


def same(one, two):
    return all(
        np.array_equal(getattr(one, field.name), getattr(two, field.name), equal_nan=True)
        if isinstance(getattr(one, field.name), np.ndarray)
        else getattr(one, field.name) == getattr(two, field.name)
        for field in dataclasses.fields(one)
        if field.compare
    )


def test_scores_come_back_as_they_were_kept(bundled_scores):
    shelf.keep("a", bundled_scores)
    again = shelf.kept("a")
    assert again is not None
    assert same(again, bundled_scores)


def test_what_was_never_kept_is_none():
    assert shelf.kept("nothing") is None


def test_a_torn_file_is_measured_again_not_shown(bundled_scores, own_cache):
    shelf.keep("a", bundled_scores)
    (file,) = own_cache.rglob("*.npz")
    whole = file.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert shelf.kept("a") is None


def test_nothing_half_written_stays_behind(bundled_scores, own_cache, monkeypatch):
    def full_disk(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(OSError, match="No space left"):
        shelf.keep("a", bundled_scores)
    assert [path for path in own_cache.rglob("*") if path.is_file()] == []


def test_every_setting_has_its_own_place():
    settings = [("m", "p", "auto", "cpu", None), ("m2", "p", "auto", "cpu", None), ("m", "p2", "auto", "cpu", None)]
    settings += [("m", "p", "float32", "cpu", None), ("m", "p", "auto", "cuda", None), ("m", "p", "auto", "cpu", 128)]
    assert len({shelf.key(*each) for each in settings}) == len(settings)


def test_what_was_measured_is_not_measured_again(few_pairs, monkeypatch):
    found = find("all-MiniLM-L6-v2")
    first = finish(layer_scores(found, few_pairs, Settings()))

    def never(*_):
        raise AssertionError("the encoder was loaded again")

    monkeypatch.setattr(measured, "load_encoder", never)
    assert same(finish(layer_scores(found, few_pairs, Settings())), first)


def test_work_that_is_stopped_leaves_nothing(few_pairs, own_cache):
    work = layer_scores(find("all-MiniLM-L6-v2"), few_pairs, Settings())
    next(work)
    next(work)
    work.close()
    assert list(own_cache.rglob("*.npz")) == []
