"""Test what a map that moves tells of neighbours, in plain loops in float64."""

import numpy as np
import pytest

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.measuring.maps import projection
from explorer.measuring.maps.frames import aligned_plane, compared, frames, layer_frames
from explorer.measuring.maps.projection import MapSettings
from explorer.measuring.neighbours.vector_index import neighbourhoods
from explorer.measuring.sentences.sentence_vectors import every_layer, of_reading
from explorer.progress import finish
from tests.tiny_models import save_tiny

SENTENCES = tuple(f"{who} {what} {where}" for who in ("A cat", "No dog") for what in ("sees", "hears", "likes")
                  for where in ("the sea", "a tree"))  # fmt: skip


def drawn(seed, count=40, width=6):
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


def cosine(one, other):
    one, other = one.astype(np.float64), other.astype(np.float64)
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


def nearest(vectors, at, k):
    others = [other for other in range(len(vectors)) if other != at]
    return sorted(others, key=lambda other: -cosine(vectors[at], vectors[other]))[:k]


def framed(*vectors, **how):
    return finish(frames(vectors, [finish(neighbourhoods(one)) for one in vectors], **how))


@pytest.mark.parametrize("count", [2, 3, 9, 22, 40])
def test_sentences_that_keep_most_of_their_nearest_are_counted_as_by_hand(count):
    one = drawn(1, count)
    other = one + 0.7 * drawn(2, count)
    found, k = framed(one, other), compared(count)
    assert found.nearest == k
    kept = [len({*nearest(one, at, k)} & {*nearest(other, at, k)}) for at in range(count)]
    assert found.kept().tolist() == kept
    assert found.keep_most() == sum(number > k / 2 for number in kept)


def test_few_sentences_are_compared_by_fewer_neighbours_than_half_of_the_others():
    assert [compared(count) for count in (1, 2, 3, 10, 20, 21, 5000)] == [0, 1, 1, 4, 9, 10, 10]


def test_a_sentence_moved_by_one_minus_the_cosine_of_its_vectors_and_the_furthest_come_first():
    one, other = drawn(1), drawn(2)
    found = framed(one, other)
    shifts = [1 - cosine(*pair) for pair in zip(one, other, strict=True)]
    assert found.moved[-1].tolist() == pytest.approx(shifts, abs=1e-6)
    assert found.moved[0].max() < 1e-6
    assert found.most_moved() == sorted(range(40), key=lambda at: -shifts[at])[:10]


def test_cosines_of_neighbours_are_those_of_the_frame_that_is_named():
    given = drawn(1), drawn(2), drawn(3)
    found = framed(*given)
    for frame, at, place in ((1, 0, 0), (2, 7, 3), (2, 39, 9)):
        near, first = found.near[frame, at, place], found.near[0, at, place]
        assert near == nearest(given[frame], at, 10)[place]
        assert found.cosines[frame, at, place] == pytest.approx(cosine(given[frame][at], given[frame][near]), abs=1e-6)
        assert found.before[frame, at, place] == pytest.approx(cosine(given[0][at], given[0][near]), abs=1e-6)
        assert found.after[frame, at, place] == pytest.approx(cosine(given[frame][at], given[frame][first]), abs=1e-6)


@pytest.mark.parametrize("how", [{"width": 3}, {"same_space": False}])
def test_without_a_common_space_no_shift_is_defined_and_those_that_keep_least_moved_most(how):
    same_space = how.pop("same_space", True)
    one, other = drawn(1), drawn(2, **how)
    found = framed(one, other, same_space=same_space)
    assert found.moved is None
    assert found.most_moved() == np.argsort(found.kept(), kind="stable")[:10].tolist()


def test_frames_that_differ_by_a_rotation_are_one_picture():
    one = drawn(1)
    rotation, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))
    places = aligned_plane([one, one @ rotation]).places
    assert np.abs(places[1] - places[0]).max() < 1e-3 * np.ptp(places[0])


@pytest.mark.parametrize("kind", ["UMAP", "PCA", "t-SNE"])
def test_every_layer_is_mapped_by_its_own_vectors(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(projection, "_EPOCHS", 20)
    encoder = load(find(str(save_tiny("bert", tmp_path / "model"))))
    found = finish(layer_frames(encoder, SENTENCES, "mean", MapSettings(kind), None))
    assert found.kind == ("UMAP" if kind == "UMAP" else "PCA")
    assert found.places.shape == (len(found.frames), len(SENTENCES), 2)
    assert len(found.faithfulness) == len(found.frames) == encoder.rows[-1].layers[-1] + 1
    for layer in range(len(found.frames)):
        vectors = finish(of_reading(encoder, SENTENCES, every_layer(encoder, "mean")[layer]))
        assert found.frames.near[layer].tolist() == [
            nearest(vectors, at, compared(len(SENTENCES))) for at in range(len(SENTENCES))
        ]
