import dataclasses

import numpy as np
import pytest

from explorer.encoding.locate.model_names import find
from explorer.errors import NotWritable
from explorer.measuring.scores import score_store
from explorer.measuring.scores.measure import Settings, load_encoder, measure
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
        if field.init
    )


def test_scores_come_back_as_they_were_kept(bundled_scores):
    score_store.keep("a", bundled_scores)
    again = score_store.kept("a")
    assert again is not None
    assert same(again, bundled_scores)


def test_scores_of_an_earlier_version_are_not_taken_for_new_ones(bundled_scores, monkeypatch):
    settings = ("m", "p", "float32", "cpu", None)
    with monkeypatch.context() as patch:
        patch.setattr(score_store, "VERSION", "1")
        score_store.keep(score_store.key(*settings), bundled_scores)
        assert score_store.kept(score_store.key(*settings)) is not None
    assert score_store.kept(score_store.key(*settings)) is None


def test_what_was_never_kept_is_none():
    assert score_store.kept("nothing") is None


def test_a_torn_file_is_measured_again_not_shown(bundled_scores, own_cache):
    score_store.keep("a", bundled_scores)
    (file,) = own_cache.rglob("*.npz")
    whole = file.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert score_store.kept("a") is None


def test_nothing_half_written_stays_behind(bundled_scores, own_cache, monkeypatch):
    def full_disk(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(NotWritable, match="No space left"):
        score_store.keep("a", bundled_scores)
    assert [path for path in own_cache.rglob("*") if path.is_file()] == []


def test_every_setting_has_its_own_place():
    settings = [("m", "p", "auto", "cpu", None), ("m2", "p", "auto", "cpu", None), ("m", "p2", "auto", "cpu", None)]
    settings += [("m", "p", "float32", "cpu", None), ("m", "p", "auto", "cuda", None), ("m", "p", "auto", "cpu", 128)]
    assert len({score_store.key(*each) for each in settings}) == len(settings)


def never(*_):
    raise AssertionError("the encoder was loaded again")


def test_what_was_measured_is_not_measured_again(few_pairs):
    found = find("all-MiniLM-L6-v2")
    first = finish(measure(found, few_pairs, Settings()))
    assert same(finish(measure(found, few_pairs, Settings(), load=never)), first)


def test_what_auto_meant_is_not_measured_again_under_its_own_name(few_pairs):
    found = find("all-MiniLM-L6-v2")
    first = finish(measure(found, few_pairs, Settings()))
    by_name = Settings(first.precision, first.device, first.max_length)
    assert same(finish(measure(found, few_pairs, by_name, load=never)), first)


def test_auto_finds_what_was_measured_under_its_name(few_pairs):
    found = find("all-MiniLM-L6-v2")
    auto = load_encoder(found, Settings())
    first = finish(measure(found, few_pairs, Settings(auto.precision, auto.device)))
    steps = list(measure(found, few_pairs, Settings()))
    assert [step.stage for step in steps] == ["loading all-MiniLM-L6-v2"], "loaded to know what auto means, not read"
    assert same(finish(measure(found, few_pairs, Settings(), load=never)), first)


def test_work_that_is_stopped_leaves_nothing(few_pairs, own_cache):
    work = measure(find("all-MiniLM-L6-v2"), few_pairs, Settings())
    next(work)
    next(work)
    work.close()
    assert list(own_cache.rglob("*.npz")) == []


def test_work_that_cannot_be_kept_is_not_lost(few_pairs, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "file"))
    scores = finish(measure(find("all-MiniLM-L6-v2"), few_pairs, Settings()))
    assert len(scores.gold) == len(few_pairs)
    assert "set STRATA_CACHE to a folder that can be written to" in caplog.text
