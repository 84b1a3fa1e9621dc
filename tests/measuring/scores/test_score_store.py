"""Test that scores are measured once and stored, and the judges of triplets and of probe packs, by loops."""

import dataclasses
import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from explorer.data import sample
from explorer.data.sample import PARAPHRASE, ProbePairs
from explorer.data.text_sets import Triplets, digest_of
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.pooling import DECODER_POOLINGS, GRID_POOLINGS, parse
from explorer.errors import BadChoice, NotWritable
from explorer.evaluating.kinds.probe_pairs import ProbeJudge
from explorer.evaluating.kinds.triplets import TripletJudge
from explorer.measuring.scores import measure as measuring
from explorer.measuring.scores.measure import Settings, load_encoder, measure, score_key, store_scores, stored_scores
from explorer.measuring.sentences.probe_cosines import probed, sentences_of
from explorer.progress import finish
from tests.tiny_models import save_tiny


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return of_folder("tiny", save_tiny("bert", tmp_path_factory.mktemp("models") / "tiny"))


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


def test_what_was_measured_is_not_measured_again_also_not_under_the_name_of_what_auto_meant(found, few_pairs):
    first = finish(measure(found, few_pairs, Settings()))
    assert same(finish(measure(found, few_pairs, Settings(), load=never)), first)
    first = finish(measure(found, few_pairs, Settings()))
    by_name = Settings(first.precision, first.device, first.max_length)
    assert same(finish(measure(found, few_pairs, by_name, load=never)), first)


def test_auto_finds_what_was_measured_under_its_name(found, few_pairs):
    auto = load_encoder(found, Settings())
    first = finish(measure(found, few_pairs, Settings(auto.precision, auto.device)))
    steps = list(measure(found, few_pairs, Settings()))
    assert [step.stage for step in steps] == ["loading tiny"], "loaded to know what auto means, not read"
    assert same(finish(measure(found, few_pairs, Settings(), load=never)), first)


def test_work_that_is_stopped_leaves_nothing_and_what_cannot_be_kept_is_not_lost(
    found, few_pairs, own_cache, tmp_path, monkeypatch, logged
):
    work = measure(found, few_pairs, Settings())
    next(work)
    next(work)
    work.close()
    assert list(own_cache.rglob("*.npz")) == []
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "file"))
    assert len(finish(measure(found, few_pairs, Settings())).gold) == len(few_pairs)
    assert "set STRATA_CACHE to a folder that can be written to" in "\n".join(logged)


def test_what_is_outside_of_the_grid_is_kept_with_it(found, few_pairs):
    settings = Settings("float32", "cpu")
    last, range_ = parse("last of layer 1", 2), parse("mean of layers 0-2", 2)
    plain = finish(measure(found, few_pairs, settings))
    first = finish(measure(found, few_pairs, settings, also=[last]))
    assert list(first.also) == [last]
    assert np.array_equal(first.cosines, plain.cosines)
    assert np.array_equal(finish(measure(found, few_pairs, settings, also=[range_, last])).also[last], first.also[last])
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
    with pytest.raises(BadChoice, match=r"precision cannot be 'auto'\. Choose one of float32"):
        Settings("auto")


TRIPLETS = Triplets("three", ("a", "b", "c", "a"), ("b", "c", "a", "d"), ("c", "d", "c", "c"))
PAIRS = ProbePairs("five", ("a", "b", "c", "d", "a"), ("b", "c", "d", "a", "c"), (True, False, True, False, False))


def drawn(judge, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(len(judge.texts), 5)))


def cosine(judge, vectors, one, other):
    first, second = (vectors[judge.texts.index(text)] for text in (one, other))
    return float(torch.nn.functional.cosine_similarity(first, second, dim=0))


@pytest.mark.parametrize("seed", range(5))
def test_a_triplet_counts_if_its_anchor_is_nearer_to_the_positive(seed):
    judge = TripletJudge(TRIPLETS)
    vectors = drawn(judge, seed)
    expected = [
        float(cosine(judge, vectors, anchor, positive) > cosine(judge, vectors, anchor, negative))
        for anchor, positive, negative in zip(TRIPLETS.anchors, TRIPLETS.positives, TRIPLETS.negatives, strict=True)
    ]
    assert judge.items(vectors).tolist() == expected
    assert judge.score(judge.items(vectors)) == pytest.approx(100 * np.mean(expected))
    assert (len(judge), judge.alike(vectors)[0]) == (4, pytest.approx(cosine(judge, vectors, "a", "b")))


def test_equal_cosines_are_half_right_and_the_packs_are_scored_as_on_the_page_of_sentences():
    assert TripletJudge(TRIPLETS).items(torch.ones(4, 5, dtype=torch.float64)).tolist() == [0.5] * 4
    judge = ProbeJudge(sample.probe_pairs())
    vectors = drawn(judge, 3).float()
    place = {text: at for at, text in enumerate(judge.texts)}
    packs = [pack for pack in sample.probe_packs() if pack.name == PARAPHRASE or not pack.same]
    of_page = probed(tuple(packs), vectors.numpy()[[place[text] for text in sentences_of(tuple(packs))]])
    found = judge.score(judge.items(vectors))
    assert found == pytest.approx(100 * of_page.distinguished_from_all().value)
    assert 20 < found < 80, "vectors at random are near chance"


@pytest.mark.parametrize("seed", range(5))
def test_a_couple_counts_if_the_paraphrase_has_the_higher_cosine(seed):
    judge = ProbeJudge(PAIRS)
    vectors = drawn(judge, seed)
    cosines = [cosine(judge, vectors, *pair) for pair in zip(PAIRS.first, PAIRS.second, strict=True)]
    both = list(zip(cosines, PAIRS.same, strict=True))
    same, others = ([one for one, is_same in both if is_same is of] for of in (True, False))
    expected = [one > other for one, other in itertools.product(same, others)]
    assert len(expected) == 6
    assert judge.score(judge.items(vectors)) == pytest.approx(100 * np.mean(expected))


def test_the_interval_of_a_difference_is_about_that_of_a_slow_bootstrap():
    judge = ProbeJudge(sample.probe_pairs())
    one, other = (judge.items(drawn(judge, seed)) for seed in (1, 2))
    same = np.array(sample.probe_pairs().same)
    random = np.random.default_rng(5)
    gaps = []
    for _ in range(400):
        kept, left = (random.choice(np.flatnonzero(rows), rows.sum()) for rows in (same, ~same))
        shares = [np.mean(items[kept][:, None] > items[left][None, :]) for items in (one, other)]
        gaps.append(100 * (shares[1] - shares[0]))
    found = judge.difference(one, other)
    low, high = np.quantile(gaps, [0.025, 0.975])
    assert float(found.difference) == pytest.approx(judge.score(other) - judge.score(one))
    width = high - low
    assert float(found.low) == pytest.approx(low, abs=width / 8)
    assert float(found.high) == pytest.approx(high, abs=width / 8)
