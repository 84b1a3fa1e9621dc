import numpy as np
import pytest

from explorer.data.kinds import GradedPairs
from explorer.encoding.read.readings import Reading, Row
from explorer.errors import BadChoice
from explorer.measuring.scores import layer_scores, pair_cosines
from explorer.measuring.scores.layer_scores import agreement, score_layers
from explorer.progress import finish

pytestmark = pytest.mark.device

# two sub-corpora that agree with people in opposite ways
GOLD = np.array([1.0, 2, 3, 4, 1, 2, 3])
SYSTEM = np.array([0.1, 0.2, 0.3, 0.4, 0.9, 0.8, 0.85])
PARTS = ("A",) * 4 + ("B",) * 3


@pytest.mark.parametrize(("aggregate", "rho"), [("all", 0.073422), ("mean", 0.25), ("wmean", 0.357143)])
def test_three_ways_to_join_sub_corpora_give_three_numbers(aggregate, rho):
    assert float(agreement(GOLD, SYSTEM, PARTS, "Spearman", aggregate)) == pytest.approx(rho, abs=1e-6)


def test_a_sub_corpus_without_a_correlation_leaves_the_mean_empty():
    system = SYSTEM.copy()
    system[4:] = 0.5
    assert np.isnan(agreement(GOLD, system, PARTS, "Spearman", "mean"))
    assert not np.isnan(agreement(GOLD, system, PARTS, "Spearman", "all"))


def test_unknown_metrics_and_aggregates_are_refused():
    with pytest.raises(BadChoice, match=r"no metric 'Kendall'\. Choose one of Spearman, Pearson"):
        agreement(GOLD, SYSTEM, PARTS, "Kendall", "all")
    with pytest.raises(BadChoice, match=r"no aggregation 'median'.*Choose one of all, mean, wmean"):
        agreement(GOLD, SYSTEM, PARTS, "Spearman", "median")


def test_cutting_the_set_into_chunks_changes_nothing(tiny_encoder, few_pairs, monkeypatch):
    whole = finish(score_layers(tiny_encoder, few_pairs))
    monkeypatch.setattr(pair_cosines, "VECTORS_BYTES", 1)  # two sentences a chunk
    made, chunks = [], pair_cosines.chunks
    monkeypatch.setattr(
        pair_cosines, "chunks", lambda *given: (made.append(chunk) or chunk for chunk in chunks(*given))
    )
    assert np.allclose(finish(score_layers(tiny_encoder, few_pairs)).cosines, whole.cosines, atol=1e-6)
    assert len(made) > 1


def test_the_first_token_of_layer_0_has_no_score(bundled_scores):
    cls = Reading(Row((0,)), "cls")
    assert np.isnan(bundled_scores.score(cls))
    assert np.ptp(bundled_scores.cosines[bundled_scores.place(cls)]) < 1e-6


def test_the_bundled_encoder_knows_the_sample(bundled_scores):
    last = bundled_scores.score(Reading(Row((6,)), "mean"))
    assert 75 <= last <= 92
    assert last - bundled_scores.score(Reading(Row((0,)), "mean")) >= 12


def test_the_published_reading_is_the_mean_of_the_last_layer(bundled_scores):
    assert bundled_scores.own_score() == pytest.approx(bundled_scores.score(Reading(Row((6,)), "mean")), abs=0.05)
    assert "mean" in bundled_scores.own_title


def test_the_best_reading_has_the_highest_score(bundled_scores):
    best = bundled_scores.best()
    assert best is not None
    assert bundled_scores.score(best) == np.nanmax(bundled_scores.table())


def test_truncated_sentences_are_counted(tiny_encoder):
    long = " ".join(["word"] * 30)
    pairs = GradedPairs("x", (long, "a b", "c"), ("b", long + " more", "a"), (1.0, 2.0, 3.0), ("",) * 3)
    scores = finish(score_layers(tiny_encoder, pairs, max_length=8))
    assert scores.truncated == 2
    assert scores.max_length == 8


def test_progress_ends_where_it_said_it_would(tiny_encoder, few_pairs):
    steps = list(score_layers(tiny_encoder, few_pairs))
    assert steps[-1].done == steps[-1].total > 0
    assert steps[0].stage == "tokenising sentences"


def test_tokenising_in_portions_changes_nothing(tiny_encoder, few_pairs, monkeypatch):
    whole = finish(score_layers(tiny_encoder, few_pairs, max_length=6))
    assert whole.truncated > 0
    monkeypatch.setattr(layer_scores, "AT_A_TIME", 2)
    portions = finish(score_layers(tiny_encoder, few_pairs, max_length=6))
    assert portions.truncated == whole.truncated
    assert np.array_equal(portions.cosines, whole.cosines, equal_nan=True)
