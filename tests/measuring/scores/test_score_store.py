import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from explorer.data.text_sets import digest_of
from explorer.encoding.locate.model_names import find, of_folder
from explorer.encoding.read.pooling import DECODER_POOLINGS, GRID_POOLINGS, parse
from explorer.errors import BadChoice, NotWritable
from explorer.measuring.scores import measure as measuring
from explorer.measuring.scores.measure import Settings, load_encoder, measure, score_key, store_scores, stored_scores
from explorer.progress import finish
from tests.tiny_models import save_tiny


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


def test_scores_come_back_as_they_were_kept_and_a_torn_file_is_measured_again(bundled_scores, own_cache):
    assert stored_scores("nothing") is None
    store_scores("a", bundled_scores)
    again = stored_scores("a")
    assert again is not None
    assert same(again, bundled_scores)
    store_scores("a", bundled_scores)
    (file,) = own_cache.rglob("*.npz")
    whole = file.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert stored_scores("a") is None


def test_scores_of_an_earlier_version_are_not_taken_for_new_ones(bundled_scores, monkeypatch):
    settings = ("m", "p", "float32", "cpu", None)
    with monkeypatch.context() as patch:
        patch.setattr(measuring, "VERSION", "1")
        store_scores(score_key(*settings), bundled_scores)
        assert stored_scores(score_key(*settings)) is not None
    assert stored_scores(score_key(*settings)) is None


def test_nothing_half_written_stays_behind(bundled_scores, own_cache, monkeypatch):
    def full_disk(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(NotWritable, match="No space left"):
        store_scores("a", bundled_scores)
    assert [path for path in own_cache.rglob("*") if path.is_file()] == []


def test_every_setting_has_its_own_place_which_for_encoders_is_that_of_earlier_releases():
    settings = [("m", "p", "auto", "cpu", None), ("m2", "p", "auto", "cpu", None), ("m", "p2", "auto", "cpu", None)]
    settings += [("m", "p", "float32", "cpu", None), ("m", "p", "auto", "cuda", None), ("m", "p", "auto", "cpu", 128)]
    assert len({score_key(*each) for each in settings}) == len(settings)
    settings = ("m", "p", "float32", "cpu", None)
    before = digest_of(("layer scores", measuring.VERSION, "m", "p", "float32", "cpu", "None"))
    assert score_key(*settings) == score_key(*settings, GRID_POOLINGS) == before
    assert score_key(*settings, DECODER_POOLINGS) != before


def never(*_):
    raise AssertionError("the encoder was loaded again")


def test_what_was_measured_is_not_measured_again_also_not_under_the_name_of_what_auto_meant(few_pairs):
    found = find("all-MiniLM-L6-v2")
    first = finish(measure(found, few_pairs, Settings()))
    assert same(finish(measure(found, few_pairs, Settings(), load=never)), first)
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


def test_work_that_is_stopped_leaves_nothing_and_what_cannot_be_kept_is_not_lost(
    few_pairs, own_cache, tmp_path, monkeypatch, logged
):
    work = measure(find("all-MiniLM-L6-v2"), few_pairs, Settings())
    next(work)
    next(work)
    work.close()
    assert list(own_cache.rglob("*.npz")) == []
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "file"))
    assert len(finish(measure(find("all-MiniLM-L6-v2"), few_pairs, Settings())).gold) == len(few_pairs)
    assert "set STRATA_CACHE to a folder that can be written to" in "\n".join(logged)


def test_what_is_outside_of_the_grid_is_kept_with_it(few_pairs):
    found, settings = find("all-MiniLM-L6-v2"), Settings("float32", "cpu")
    last, range_ = parse("last of layer 3", 6), parse("mean of layers 4-6", 6)
    plain = finish(measure(found, few_pairs, settings))
    first = finish(measure(found, few_pairs, settings, also=[last]))
    assert list(first.also) == [last]
    assert np.array_equal(first.cosines, plain.cosines)
    both = finish(measure(found, few_pairs, settings, also=[range_, last]))
    assert np.array_equal(both.also[last], first.also[last])
    kept = finish(measure(found, few_pairs, settings, load=never, also=[last]))
    assert same(kept, replace(first, seconds=kept.seconds, also=kept.also))
    assert np.array_equal(kept.also[last], first.also[last])
    assert same(finish(measure(found, few_pairs, settings, load=never)), replace(plain, seconds=kept.seconds))


def test_scores_of_a_decoder_come_back_with_their_poolings_and_in_a_named_precision(few_pairs, tmp_path):
    found = of_folder("gpt2", save_tiny("gpt2", tmp_path / "gpt2"))
    first = finish(measure(found, few_pairs, Settings("float32", "cpu")))
    again = finish(measure(found, few_pairs, Settings("float32", "cpu"), load=never))
    assert again.poolings == DECODER_POOLINGS
    assert same(again, first)
    assert Settings().precision == "float32"
    with pytest.raises(BadChoice, match="precision 'auto'"):
        Settings("auto")
