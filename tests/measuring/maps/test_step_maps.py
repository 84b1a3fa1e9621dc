"""Test the maps of sentences over the steps of a run."""

import math

import numpy as np
import pytest

from explorer.measuring.maps import projection
from explorer.measuring.maps.projection import MapSettings, believed, faithfulness, travel, travel_by_umap
from explorer.measuring.neighbours.vector_index import neighbourhoods
from explorer.progress import finish


def cosine(one, other):
    products = sum(float(a) * float(b) for a, b in zip(one, other, strict=True))
    return products / math.sqrt(sum(float(a) ** 2 for a in one)) / math.sqrt(sum(float(b) ** 2 for b in other))


@pytest.fixture
def probes():
    drawn = np.random.default_rng(7)
    first = drawn.normal(size=(12, 5))
    moved = first + drawn.normal(size=first.shape) * 0.5
    moved[3] = first[3] * 4  # longer, and no other way
    return np.stack([first, (first + moved) / 2, moved]).astype(np.float16)


def test_what_has_turned_is_one_less_the_cosine_with_the_first_step(probes):
    found = travel(probes).turned
    for step in range(3):
        for sentence in range(12):
            slow = 1 - cosine(probes[step, sentence], probes[0, sentence])
            assert found[step, sentence] == pytest.approx(slow, abs=1e-9)
    assert np.abs(found[:, 3]).max() < 1e-6 < found[2].max()


def test_a_sentence_that_does_not_turn_stays_where_it_is(probes):
    places = travel(probes).places
    assert np.abs(places[:, 3] - places[0, 3]).max() < 2e-3  # half floats
    assert np.abs(places[2] - places[0]).max() > 0.05


def test_the_plane_is_the_widest_of_all_steps_together(probes):
    from sklearn.decomposition import PCA

    unit = probes.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=-1, keepdims=True)
    slow = PCA(2).fit(unit.reshape(-1, 5))
    found = travel(probes)
    assert found.shown == pytest.approx(slow.explained_variance_ratio_.sum())
    places = slow.transform(unit.reshape(-1, 5))
    for axis in range(2):
        one = found.places.reshape(-1, 2)[:, axis]
        assert min(np.abs(one - places[:, axis]).max(), np.abs(one + places[:, axis]).max()) < 1e-9


def test_where_nothing_differs_there_is_no_share_and_no_place():
    found = travel(np.ones((3, 4, 2), dtype=np.float16))
    assert np.isnan(found.shown)
    assert np.abs(found.places).max() < 1e-9
    assert np.abs(found.turned).max() < 1e-9


def test_vectors_of_one_number_lie_on_a_line():
    found = travel(np.array([[[1.0], [-2.0]], [[1.0], [3.0]]]))
    assert np.abs(found.places[..., 1]).max() == 0
    assert found.turned[1].tolist() == pytest.approx([0, 2])


@pytest.fixture(scope="module")
def moved():
    """Three clusters at four looks; the sentences of the last change over to the first from look to look."""
    drawn = np.random.default_rng(3)
    first = np.repeat(np.eye(8)[:3] * 4, 10, axis=0) + drawn.normal(scale=0.3, size=(30, 8))
    share = np.linspace(0, 1, 4)[:, None, None]
    last = first.copy()
    last[20:] = first[:10] + drawn.normal(scale=0.1, size=(10, 8))
    return ((1 - share) * first + share * last).astype(np.float16)


@pytest.fixture(scope="module")
def laid_out(moved):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "_EPOCHS", 100)
        return finish(travel_by_umap(moved, travel(moved), MapSettings("UMAP", neighbours=5)))


def test_on_the_umap_of_all_looks_those_who_change_over_come_near_and_the_others_stay_apart(laid_out):
    centres = laid_out.reshape(4, 3, 10, 2).mean(2)
    to_first = [np.linalg.norm(centres[:, other] - centres[:, 0], axis=1) for other in (1, 2)]
    assert to_first[1][-1] < 0.5 * to_first[1][0]
    assert to_first[0].min() > 0.7 * to_first[0][0]
    steps = np.linalg.norm(np.diff(laid_out, axis=0), axis=-1)
    assert steps[:, :20].mean() < steps[:, 20:].mean()


def test_where_no_vector_moves_no_sentence_moves(moved):
    still = np.stack([moved[0]] * 3)
    way = MapSettings("UMAP", neighbours=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "_EPOCHS", 20)
        places = finish(travel_by_umap(still, travel(still), way))
    assert np.abs(places - places[0]).max() < 1e-3 * np.ptp(places)


def test_the_map_of_a_look_is_judged_by_the_vectors_of_that_look(moved, laid_out):
    for look in range(4):
        vectors = moved[look].astype(np.float32)
        slow = finish(faithfulness(vectors, finish(neighbourhoods(vectors)), laid_out[look], "judging"))
        assert finish(believed(moved[look], laid_out[look])) == slow
        assert slow.trustworthiness > 0.7
