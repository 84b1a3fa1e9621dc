"""Test the scores of layers & poolings, joined over sub-corpora, and the reasons why there is none."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.batching import LIMITS, limits_of
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import OWN, Reading, Row, parse
from explorer.errors import BadChoice
from explorer.measuring.scores import pair_cosines
from explorer.measuring.scores.layer_scores import score_layers, score_rows, why_missing
from explorer.measuring.scores.measure import store_scores, stored_scores
from explorer.measuring.scores.metrics import agreement
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

pytestmark = pytest.mark.device

# two sub-corpora that agree with people in opposite ways
GOLD = np.array([1.0, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5])
SYSTEM = np.array([0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.9, 0.8, 0.85, 0.7, 0.75])
PARTS = ("A",) * 6 + ("B",) * 5


@pytest.mark.parametrize("aggregate", ["all", "mean", "wmean"])
def test_three_ways_to_join_sub_corpora_give_three_numbers(aggregate):
    whole, one, other = (
        spearmanr(GOLD[part], SYSTEM[part]).statistic for part in (slice(0, 11), slice(0, 6), slice(6, 11))
    )
    rho = {"all": whole, "mean": (one + other) / 2, "wmean": (6 * one + 5 * other) / 11}[aggregate]
    assert (one, other) == pytest.approx((1.0, -0.8)), "the premise"
    assert float(agreement(GOLD, SYSTEM, PARTS, "Spearman", aggregate)) == pytest.approx(rho, abs=1e-9)


def test_a_sub_corpus_without_a_correlation_leaves_the_mean_empty_and_unknown_ways_are_refused():
    system = SYSTEM.copy()
    system[6:] = 0.5
    assert np.isnan(agreement(GOLD, system, PARTS, "Spearman", "mean"))
    assert not np.isnan(agreement(GOLD, system, PARTS, "Spearman", "all"))
    with pytest.raises(BadChoice, match=r"no metric 'Kendall'\. Choose one of Spearman, Pearson"):
        agreement(GOLD, SYSTEM, PARTS, "Kendall", "all")
    with pytest.raises(BadChoice, match=r"no aggregation 'median'.*Choose one of all, mean, wmean"):
        agreement(GOLD, SYSTEM, PARTS, "Spearman", "median")


def test_cutting_the_set_into_chunks_or_tokenising_in_portions_changes_nothing(tiny_encoder, few_pairs, monkeypatch):
    whole = finish(score_layers(tiny_encoder, few_pairs, max_length=6))
    assert whole.truncated > 0
    monkeypatch.setattr(type(tiny_encoder), "at_once", 2)
    portions = finish(score_layers(tiny_encoder, few_pairs, max_length=6))
    assert portions.truncated == whole.truncated
    assert np.array_equal(portions.cosines, whole.cosines, equal_nan=True)
    whole = finish(score_layers(tiny_encoder, few_pairs))
    device = tiny_encoder.device
    monkeypatch.setitem(LIMITS, device, LIMITS["cuda"])
    as_on_a_gpu = tiny_encoder.with_model(tiny_encoder.model, "", tiny_encoder.head)
    assert np.allclose(finish(score_layers(as_on_a_gpu, few_pairs)).cosines, whole.cosines, atol=1e-6)
    monkeypatch.setitem(LIMITS, device, replace(limits_of(device), vectors=1))  # two sentences a chunk
    made, chunks = [], pair_cosines.chunks
    monkeypatch.setattr(pair_cosines, "chunks", lambda *of: (made.append(chunk) or chunk for chunk in chunks(*of)))
    assert np.allclose(finish(score_layers(tiny_encoder, few_pairs)).cosines, whole.cosines, atol=1e-6)
    assert len(made) > 1


def test_a_layer_and_pooling_outside_of_the_grid_is_scored_in_the_same_pass(tiny_encoder, few_pairs, monkeypatch):
    alone = finish(score_layers(tiny_encoder, few_pairs))
    asked = [parse(title, 2) for title in ("last of layer 1", "mean of layers 0-2", "max of layer 2")]
    passes, real = [], type(tiny_encoder).views_of
    monkeypatch.setattr(type(tiny_encoder), "views_of", lambda self, *given: passes.append(1) or real(self, *given))
    scores = finish(score_layers(tiny_encoder, few_pairs, also=asked))
    assert len(passes) == 1
    assert np.array_equal(scores.cosines, alone.cosines), "the grid is what it was"
    assert [reading.title for reading in scores.also] == ["last of layer 1", "mean of layers 0-2"], "one is a cell"
    for reading in scores.also:
        found = finish(of_reading(tiny_encoder, few_pairs.sentences, reading)).astype(np.float64)
        found /= np.linalg.norm(found, axis=1, keepdims=True)
        place = {text: at for at, text in enumerate(few_pairs.sentences)}
        one, other = (found[[place[text] for text in side]] for side in (few_pairs.first, few_pairs.second))
        assert np.allclose(scores.cosines_of(reading), (one * other).sum(1), atol=1e-6)
        assert scores.score(reading) == pytest.approx(100 * spearmanr(few_pairs.gold, scores.cosines_of(reading))[0])
        half = scores.of_pairs(range(0, len(few_pairs), 2))
        assert np.array_equal(half.cosines_of(reading), scores.cosines_of(reading)[::2])
    assert [row["reading"] for row in score_rows(scores)][-2:] == ["last of layer 1", "mean of layers 0-2"]


def test_a_layer_and_pooling_that_was_not_asked_for_is_an_error(bundled_scores):
    last = parse("last of layer 3", 6)
    assert bundled_scores.place(last) is None
    assert bundled_scores.lacks([last])
    assert not bundled_scores.lacks([OWN, parse("max of layer 3", 6)])
    with pytest.raises(BadChoice, match=r"'last of layer 3' was not scored: it is not a cell of the grid \(cls, mean"):
        bundled_scores.score(last)


def test_the_grid_of_a_decoder_has_the_last_token_for_its_first_column(few_pairs, tmp_path):
    encoder = encoder_of(save_tiny("gpt2", tmp_path / "gpt2"))
    first, last = parse("cls of layer 2", 2), parse("last of layer 2", 2)
    scores = finish(score_layers(encoder, few_pairs, also=[first]))
    assert (scores.poolings, scores.place(last)) == (("last", "mean", "max"), (2, 0))
    vectors = dict(zip(few_pairs.sentences, finish(of_reading(encoder, few_pairs.sentences, last)), strict=True))
    for place, (one, other) in enumerate(zip(few_pairs.first, few_pairs.second, strict=True)):
        slow = vectors[one] @ vectors[other] / np.linalg.norm(vectors[one]) / np.linalg.norm(vectors[other])
        assert scores.cosines_of(last)[place] == pytest.approx(slow, abs=1e-5)
        if encoder.tokens([one]).ids[0][0] == encoder.tokens([other]).ids[0][0]:
            assert scores.cosines_of(first)[place] == pytest.approx(1, abs=1e-6)


def test_the_bundled_encoder_knows_the_sample_as_published(bundled_scores):
    cls = Reading(Row((0,)), "cls")
    assert np.isnan(bundled_scores.score(cls))
    assert np.ptp(bundled_scores.cosines[bundled_scores.place(cls)]) < 1e-6
    last = bundled_scores.score(Reading(Row((6,)), "mean"))
    assert 75 <= last <= 92
    assert last - bundled_scores.score(Reading(Row((0,)), "mean")) >= 12
    assert bundled_scores.own_score() == pytest.approx(bundled_scores.score(Reading(Row((6,)), "mean")), abs=0.05)
    assert "mean" in bundled_scores.own_title
    best = bundled_scores.best()
    assert best is not None
    assert bundled_scores.score(best) == np.nanmax(bundled_scores.table())


def test_truncated_sentences_are_counted_and_progress_ends_where_it_said_it_would(tiny_encoder, few_pairs):
    long = " ".join(["word"] * 30)
    pairs = GradedPairs("x", (long, "a b", "c"), ("b", long + " more", "a"), (1.0, 2.0, 3.0), ("",) * 3)
    scores = finish(score_layers(tiny_encoder, pairs, max_length=8))
    assert (scores.truncated, scores.max_length) == (2, 8)
    steps = list(score_layers(tiny_encoder, few_pairs))
    assert steps[-1].done == steps[-1].total > 0
    assert steps[0].stage == "tokenising sentences"


NAMED = {"cls of layer 0": False, "mean of layer 0": True, "max of layers 0 + 2": True, "model default": True}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_vectors_that_are_not_finite_are_the_reason_and_no_precision_is_advised(tmp_path, precision, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    encoder = encoder_of(save_tiny("bert", tmp_path / "tiny"), precision=precision)
    encoder.head = Head(("mean",))
    (number,) = encoder._tokenizer.convert_tokens_to_ids(["guitar"])
    encoder.model.embeddings.word_embeddings.weight[number] = float("nan")
    first = ("a man plays a guitar", "the dog", "no", "a red ball", "the man", "the park")
    second = ("no", "a red ball", "the park", "the weather", "a dog", "no man")
    gold = (1.0, 2.0, 4.0, 3.0, 2.5, 0.5)
    scores = finish(score_layers(encoder, GradedPairs("few", first, second, gold, ("",) * 6)))
    store_scores("few", scores)
    for one in (scores, stored_scores("few")):
        for title, broken in NAMED.items():
            reading = parse(title, 2)
            assert (reading in one.not_finite) is broken
            if broken:
                assert np.isnan(one.score(reading))
                assert why_missing(one, reading) == pair_cosines.NOT_FINITE
        assert "mean of layer 0" in one.not_measured_text
        assert "copy or download it again" in one.not_measured_text
        assert "Switch precision" not in one.not_measured_text.partition("Not measurable")[0]
        assert not np.isnan(one.of_pairs([1, 2, 3, 4, 5]).score(parse("mean of layer 0", 2)))


CLS_0, MEAN_3 = parse("cls of layer 0", 6), parse("mean of layer 3", 6)


def test_what_was_scored_has_no_reason_to_be_missing_unless_a_sub_corpus_has_no_correlation(bundled_scores):
    for metric in ("Spearman", "Pearson"):
        for way in ("all", "mean", "wmean"):
            assert {why_missing(bundled_scores, reading, metric, way) for reading in (MEAN_3, OWN)} == {""}
    scores = replace(bundled_scores, parts=("single", *("rest",) * (len(bundled_scores.gold) - 1)))
    assert why_missing(scores, MEAN_3) == ""
    too_few = "too few pairs: 1, where a score needs at least 5"
    assert why_missing(scores, MEAN_3, "Pearson", "wmean") == f"no wmean: single has no correlation ({too_few})"
    assert scores.silent_parts == ("single",)


@pytest.mark.parametrize("way", ["all", "mean"])
def test_every_cls_of_layer_0_is_the_same_vector(bundled_scores, way):
    assert why_missing(bundled_scores, CLS_0, "Spearman", way) == "every [CLS] of layer 0 is the same vector"


def test_equal_cosines_or_gold_scores_or_the_precision_are_the_reason(bundled_scores):
    cosines = np.full_like(bundled_scores.cosines, 0.5)
    for reading in (CLS_0, MEAN_3):
        assert why_missing(replace(bundled_scores, cosines=cosines), reading) == "all cosines are equal"
    lost = replace(bundled_scores, cosines=np.full_like(bundled_scores.cosines, np.nan), precision="bfloat16")
    assert why_missing(lost, MEAN_3) == "not measurable in bfloat16: switch precision to float32"
    assert why_missing(bundled_scores.of_pairs([4]), MEAN_3) == "too few pairs: 1, where a score needs at least 5"
    same = replace(bundled_scores, gold=np.ones_like(bundled_scores.gold))
    assert why_missing(same, MEAN_3) == "all gold scores are equal"
