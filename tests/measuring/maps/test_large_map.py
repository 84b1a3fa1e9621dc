"""Test the layout of vectors on disk against scikit-learn and slow loops, and the tables of a map."""

import math

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from explorer.data.set_items import Attribute
from explorer.data.text_sets import Sentences
from explorer.errors import BadChoice
from explorer.measuring.maps import map_tables
from explorer.measuring.maps.map_tables import (
    A_CLUSTER,
    clusters,
    labels,
    line_notes,
    neighbour_rows,
    rows,
    typical_terms,
    width_notes,
)
from explorer.measuring.maps.projection import MapSettings
from explorer.measuring.neighbours.vector_index import neighbourhoods
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


def test_the_others_are_placed_between_their_nearest_fitted_ones_and_the_trustworthiness_is_that_of_scikit_learn(
    corpus, vectors, few
):
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
    for count in (2, 120):
        found = mapped(corpus_of(tmp_path, np.ones((count, 4), dtype=np.float32)))
        assert np.isfinite(found.places).all()
        assert len(found.places) == count
    with pytest.raises(BadChoice, match="at least 2"):
        mapped(corpus_of(tmp_path, np.ones((1, 4), dtype=np.float32)))


@pytest.mark.parametrize("way", [MapSettings("t-SNE"), MapSettings("PCA", 3)])
def test_other_projections_are_refused(corpus, way):
    with pytest.raises(BadChoice, match="UMAP or PCA"):
        finish(map_tables.large_map(corpus, way))


SENTENCES = Sentences("three", ("one", "two", "three"), (Attribute("weight", (1.0, math.nan, 3.0)),))
WORDS = "boat harbour sail", "bread oven flour", "rain cloud storm"
SUBJECTS = {words.split()[0]: tuple(words.split()) for words in WORDS}


def test_both_maps_are_columns_and_what_is_missing_is_an_empty_cell_or_label():
    flat, deep = np.arange(6.0).reshape(3, 2), np.arange(9.0).reshape(3, 3)
    found = rows(SENTENCES, [flat, deep])
    assert found[1] == {"sentence": "two", "weight": None, "A x": 2, "A y": 3, "B x": 3, "B y": 4, "B z": 5}
    assert rows(SENTENCES, [], (2,)) == [{"sentence": "three", "weight": 3.0}]
    topics = Sentences("two", ("a", "b"), (Attribute("topic", ("news", "")), Attribute("weight", (math.nan, 1 / 3))))
    assert labels(topics) == {"topic": ["news", None], "weight": [None, 1 / 3]}


def test_neighbours_come_with_their_cosines_in_both():
    drawn = np.random.default_rng(0)
    sides = [drawn.normal(size=(30, 4)).astype(np.float32) for _ in range(2)]
    near = [finish(neighbourhoods(side)) for side in sides]
    texts = [f"sentence {place}" for place in range(30)]
    found = neighbour_rows(texts, sides, near, 4)
    for row in found:
        place = int(row["sentence"].split()[1])
        for name, side in zip("AB", sides, strict=True):
            cosine = side[4] @ side[place] / np.linalg.norm(side[4]) / np.linalg.norm(side[place])
            assert row[f"cosine in {name}"] == pytest.approx(cosine, abs=1e-4)
        in_a, in_b = (place in one.places[4, :10] for one in near)
        assert row["from A to B"] == {(1, 1): "kept", (1, 0): "lost", (0, 1): "gained"}[(in_a, in_b)]
    assert {row["from A to B"] for row in found} == {"kept", "lost", "gained"}
    alone = neighbour_rows(texts, sides[:1], near[:1], 4)
    assert [row["sentence"] for row in alone] == [texts[place] for place in near[0].places[4, :10]]


def test_notes_tell_the_median_cosine_of_joined_pairs_and_why_nothing_has_moved():
    vectors = np.array([[1, 0], [1, 0], [0, 1], [1, 0]], dtype=np.float32)
    pairs = Attribute("pairs", ("scored 5", "scored 5", "scored 0", "scored 0"))
    joined = Sentences("two", ("a", "b", "c", "d"), (pairs,), lines=((0, 1), (2, 3)))
    assert line_notes(joined, [vectors, np.ones((4, 2), dtype=np.float32)]) == [
        "Of the 1 pairs scored 5 the median cosine is 1.00 in A and 1.00 in B.",
        "Of the 1 pairs scored 0 the median cosine is 0.00 in A and 1.00 in B.",
    ]
    assert line_notes(SENTENCES, [vectors]) == []
    narrow, wide = np.ones((2, 3)), np.ones((2, 1024))
    assert width_notes([narrow]) == width_notes([narrow, narrow]) == []
    (told,) = width_notes([narrow, wide])
    assert "A's vectors have 3 dimensions and B's 1,024" in told


def test_regions_are_named_by_what_only_they_talk_about():
    draw = np.random.default_rng(0)
    texts, places = [], []
    for number, words in enumerate(SUBJECTS.values()):
        for _ in range(A_CLUSTER):
            texts.append(" ".join((*draw.permutation(words), "yesterday")))
            places.append((10 * number, 0) + draw.normal(size=2) * 0.1)
    found = clusters(texts, np.array(places))
    assert {frozenset(one.name.split(", ")) for one in found} == {frozenset(words) for words in SUBJECTS.values()}
    for one in found:
        assert len(one.members) == A_CLUSTER
        x, y = one.middle(np.array(places))
        assert x == pytest.approx(round(x / 10) * 10, abs=0.2)
        assert y == pytest.approx(0, abs=0.2)


def test_a_term_weighs_its_frequency_by_how_rare_it_is_elsewhere():
    names = typical_terms(["apple apple common", "pear common common common"])
    mean, frequency = 7 / 2, {"apple": 2, "pear": 1, "common": 4}
    for name, counts in zip(names, ({"apple": 2, "common": 1}, {"pear": 1, "common": 3}), strict=True):
        weight = {word: count * np.log1p(mean / frequency[word]) for word, count in counts.items()}
        assert name == ", ".join(sorted(weight, key=lambda word: -weight[word]))
    assert clusters(["a b"] * 80, np.zeros((80, 2))) == ()
    assert typical_terms(["12 34", "the of"]) == ["", ""]
