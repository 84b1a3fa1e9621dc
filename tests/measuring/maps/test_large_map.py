"""Test the layout of vectors on disk against scikit-learn and slow loops."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from explorer.errors import BadChoice
from explorer.measuring.maps import map_tables
from explorer.measuring.maps.projection import MapSettings
from explorer.measuring.scores.correlation import unit
from explorer.progress import finish
from tests.measuring.neighbours.test_vector_search import corpus_of

ROWS, WIDTH, CLUSTERS = 240, 16, 6


@pytest.fixture
def vectors():
    drawn = np.random.default_rng(1)
    centres = drawn.normal(size=(CLUSTERS, WIDTH)) * 4
    return (centres[np.arange(ROWS) % CLUSTERS] + drawn.normal(size=(ROWS, WIDTH))).astype(np.float32)


@pytest.fixture
def corpus(tmp_path, vectors):
    return corpus_of(tmp_path, vectors)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(map_tables, "FITTED", 90)
    monkeypatch.setattr(map_tables, "AT_ONCE", 32)


def mapped(corpus, kind="UMAP", **settings):
    return finish(map_tables.large_map(corpus, MapSettings(kind, **settings)))


def test_pca_is_that_of_scikit_learn_without_rows_of_a_zero_vector(corpus, vectors, tmp_path):
    found = mapped(corpus, "PCA")
    places = PCA(2).fit_transform(unit(vectors).astype(float))
    np.testing.assert_allclose(np.abs(found.places), np.abs(places), atol=1e-5)
    assert found.rows.tolist() == list(range(ROWS))
    assert f"All {ROWS} sentences" in found.note
    vectors[[0, 7]] = 0
    found = mapped(corpus_of(tmp_path, vectors), "PCA")
    others = [row for row in range(ROWS) if row not in (0, 7)]
    places = PCA(2).fit_transform(unit(vectors[others]).astype(float))
    np.testing.assert_allclose(np.abs(found.places), np.abs(places), atol=1e-5)
    assert found.rows.tolist() == others
    assert f"All {ROWS - 2} sentences" in found.note


def test_the_other_sentences_are_placed_between_their_nearest_fitted_ones(corpus, vectors, few):
    found = mapped(corpus)
    known = unit(vectors).astype(float)
    fitted = np.sort(np.random.default_rng(0).choice(ROWS, 90, replace=False))
    others = [row for row in range(ROWS) if row not in set(fitted.tolist())]
    for row in others[:40]:
        distances = {int(one): 1 - known[row] @ known[one] for one in fitted}
        nearest = sorted(distances, key=distances.__getitem__)[: map_tables.BESIDE]
        beyond = [distances[one] - distances[nearest[0]] for one in nearest]
        weights = [np.exp(-one / np.mean(beyond)) for one in beyond]
        place = sum(weight * found.places[one] for weight, one in zip(weights, nearest, strict=True)) / sum(weights)
        np.testing.assert_allclose(found.places[row], place, atol=1e-3)
    assert "UMAP lays out 90 of them" in found.note


def test_the_trustworthiness_is_that_of_scikit_learn(corpus, vectors, few):
    found = mapped(corpus)
    nearest = found.faithfulness.nearest
    true = trustworthiness(unit(vectors), found.places, n_neighbors=nearest, metric="cosine")
    one_rank = 2 / (ROWS * nearest * (2 * ROWS - 3 * nearest - 1))
    # of two cosines that differ by rounding alone, scikit-learn takes either as the larger, and the map has a few such
    assert found.faithfulness.trustworthiness == pytest.approx(true, abs=3.5 * one_rank)
    assert found.faithfulness.trustworthiness > 0.8
    assert found.faithfulness.sentences == ROWS


def test_a_cluster_stays_together_although_most_of_it_is_not_fitted(corpus, few):
    places = mapped(corpus).places
    middles = np.array([places[cluster::CLUSTERS].mean(0) for cluster in range(CLUSTERS)])
    assert (((places[:, None] - middles) ** 2).sum(2).argmin(1) == np.arange(ROWS) % CLUSTERS).mean() > 0.95


def test_of_a_larger_corpus_a_sample_is_mapped_and_the_table_has_its_positions(corpus, few, monkeypatch):
    monkeypatch.setattr(map_tables, "MOST", 100)
    found = mapped(corpus, "PCA")
    assert len(found.rows) == len(set(found.rows.tolist())) == len(found.places) == 100
    assert f"100 of {ROWS} sentences, drawn at random" in found.note
    assert (mapped(corpus, "PCA", seed=1).rows != found.rows).any()
    monkeypatch.setattr(map_tables, "MOST", 100)
    found = mapped(corpus, "PCA")
    rows = map_tables.table(corpus, found)
    assert [row["row"] for row in rows] == found.rows.tolist()
    assert [row["sentence"] for row in rows] == [f"sentence {row}" for row in found.rows]
    np.testing.assert_allclose([[row["x"], row["y"]] for row in rows], found.places, atol=1e-5)


def test_all_equal_vectors_and_two_sentences_are_mapped_and_one_is_too_few(tmp_path, few):
    for rows in (2, 120):
        found = mapped(corpus_of(tmp_path, np.ones((rows, 4), dtype=np.float32)))
        assert np.isfinite(found.places).all()
        assert len(found.places) == rows
    with pytest.raises(BadChoice, match="at least 2"):
        mapped(corpus_of(tmp_path, np.ones((1, 4), dtype=np.float32)))


@pytest.mark.parametrize("way", [MapSettings("t-SNE"), MapSettings("PCA", 3)])
def test_other_projections_are_refused(corpus, way):
    with pytest.raises(BadChoice, match="UMAP or PCA"):
        finish(map_tables.large_map(corpus, way))
