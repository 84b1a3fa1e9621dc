import numpy as np
import pytest

from explorer.errors import BadChoice
from explorer.measuring.maps import projection
from explorer.measuring.maps.projection import KINDS, MapSettings, faithfulness, maps, principal, turned_onto
from explorer.measuring.maps.umap_layout import joined, loaded, memberships, one_epoch, umap_layout, umap_layouts
from explorer.measuring.neighbours.vector_index import neighbourhoods
from explorer.progress import finish


def clusters(count=60, width=12, seed=0):
    """Three clusters that a map should keep apart."""
    random = np.random.default_rng(seed)
    centres = np.eye(width)[:3] * 4
    return (np.repeat(centres, count // 3, axis=0) + random.normal(scale=0.4, size=(count, width))).astype(np.float32)


@pytest.fixture(autouse=True)
def fewer_steps(monkeypatch):
    for name, steps in (("_EXAGGERATED", 60), ("_STEPS", 60), ("_STEPS_OF_B", 30), ("_EPOCHS", 100)):
        monkeypatch.setattr(projection, name, steps)


def mapped(one, other=None, **way):
    near = tuple(finish(neighbourhoods(side)) for side in (one, other) if side is not None)
    return finish(maps(one, other, near, MapSettings(**way)))


def test_memberships_are_umaps(umap_learn):
    vectors = clusters()
    vectors[7] = vectors[8]
    near = finish(neighbourhoods(vectors))
    places = np.c_[np.arange(60), near.places[:, :9]]
    distances = np.c_[np.zeros(60), near.distances[:, :9]].astype(np.float32)
    widths = umap_learn.smooth_knn_dist.py_func(distances, 10.0)  # as it is written: compiling it takes seconds
    rows, columns, strengths, _ = umap_learn.compute_membership_strengths.py_func(places, distances, *widths)
    one_way = np.zeros((60, 60))
    one_way[rows, columns] = strengths
    ours = memberships(near, 10)
    assert ours.toarray() == pytest.approx(one_way + one_way.T - one_way * one_way.T, abs=1e-4)
    whole = joined([ours, ours]).toarray()
    assert whole[:60, 60:].tolist() == np.eye(60).tolist(), "each sentence of A is a neighbour of itself in B"
    assert whole[60:, 60:] == pytest.approx(ours.toarray())


def test_umap_that_is_loaded_ahead_is_compiled_for_a_map_and_changes_none():
    before = mapped(clusters(), kind="UMAP").places[0]
    finish(loaded())
    compiled = len(one_epoch().signatures)
    assert compiled
    assert mapped(clusters(), kind="UMAP").places[0].tolist() == before.tolist()
    mapped(clusters(), clusters(seed=1), kind="UMAP", axes=3)
    assert len(one_epoch().signatures) == compiled


def test_a_view_alone_is_laid_out_as_by_itself_and_views_that_are_drawn_together_lie_nearer():
    sides = (clusters(), clusters(seed=1))
    near = tuple(finish(neighbourhoods(side)) for side in sides)
    start = np.stack([principal(side, None, 2)[0] for side in sides])
    how = {"neighbours": 10, "min_dist": 0.1, "seed": 3, "epochs": 60, "stage": "UMAP"}
    alone = [finish(umap_layout((one,), places, **how)) for one, places in zip(near, start, strict=True)]
    assert finish(umap_layouts(near[:1], start[:1], **how))[0].tolist() == alone[0].tolist()
    together = finish(umap_layouts(near, start, **how))
    assert np.linalg.norm(together[1] - together[0]) < 0.5 * np.linalg.norm(alone[1] - alone[0])


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_map_keeps_clusters_apart_and_b_lies_on_a_where_it_has_not_changed(kind, axes):
    one = clusters()
    other = one + np.random.default_rng(1).normal(scale=0.05, size=one.shape).astype(np.float32)
    found = mapped(one, other, kind=kind, axes=axes, perplexity=10)
    assert found.kind == kind
    assert found.places[0].shape == found.places[1].shape == (60, axes)
    for faith in found.faithfulness:
        assert faith.trustworthiness > 0.9
    centres = [found.places[0][at : at + 20].mean(0) for at in (0, 20, 40)]
    for at in range(60):
        towards = [np.linalg.norm(found.places[1][at] - centre) for centre in centres]
        assert int(np.argmin(towards)) == at // 20


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_makes_the_same_map(kind):
    one, other = clusters(30), clusters(30, seed=1)
    first, again = (mapped(one, other, kind=kind, seed=3, perplexity=5) for _ in range(2))
    assert np.array_equal(first.places[0], again.places[0])
    assert np.array_equal(first.places[1], again.places[1])
    if kind != "PCA":
        assert not np.array_equal(first.places[0], mapped(one, other, kind=kind, seed=4, perplexity=5).places[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "sides",
    [
        (np.ones((40, 5)), np.zeros((40, 5))),
        (np.repeat(clusters(15), 3, axis=0), np.repeat(clusters(15, seed=1), 3, axis=0)),
        (clusters(30), clusters(30, width=7)),
        (clusters(30)[:, :1], None),
        (clusters(30)[:2], clusters(30)[1:3]),
    ],
    ids=["identical", "duplicates", "two widths", "width 1", "two sentences"],
)
def test_hard_vectors_make_a_map_without_a_gap(kind, sides):
    for axes in (2, 3):
        found = mapped(*sides, kind=kind, axes=axes)
        assert all(np.isfinite(places).all() for places in found.places)


def test_few_sentences_are_shown_by_pca_which_says_so():
    found = mapped(clusters(9), kind="UMAP")
    assert found.kind == "PCA"
    assert found.note.startswith("9 sentences are too few for UMAP")
    assert mapped(clusters(12), kind="UMAP").kind == "UMAP"


def test_one_sentence_is_no_map():
    with pytest.raises(BadChoice, match="at least 2 sentences; there are 1"):
        mapped(clusters(3)[:1])


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ({"kind": "MDS"}, "one of UMAP"),
        ({"axes": 4}, "2 or 3"),
        ({"neighbours": 1}, "from 2 to 100"),
        ({"min_dist": 1.5}, "from 0.0 to 0.99"),
        ({"perplexity": 50}, "from 2 to 49"),
        ({"seed": -1}, "from 0"),
    ],
)
def test_a_way_that_is_not_possible_names_what_is(way, words):
    with pytest.raises(BadChoice, match=words):
        MapSettings(**way)


def test_principal_components_of_both_lie_along_the_same_directions():
    one, other = clusters(), clusters(seed=1)
    first, second, shares = principal(one, other, 2)
    sides = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (one, other)]
    sides = [side - side.mean(0) for side in sides]
    _, _, directions = np.linalg.svd(np.concatenate(sides))
    for places, side, share in zip((first, second), sides, shares, strict=True):
        assert np.abs(places) == pytest.approx(np.abs(side @ directions[:2].T), abs=1e-4)
        assert share == pytest.approx((places**2).sum() / (side**2).sum(), abs=1e-5)


def test_a_picture_that_was_turned_mirrored_shrunk_and_moved_is_turned_back():
    still = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    turned = (still @ np.array([[0.6, 0.8], [0.8, -0.6]]) * 0.1 + 5).astype(np.float32)
    assert turned_onto(still, turned) == pytest.approx(still, abs=1e-4)
    larger = turned_onto(still, turned, same_size=False)
    sizes = [np.linalg.norm(places - places.mean(0)) for places in (still, turned, larger)]
    assert sizes[2] == pytest.approx(sizes[1])
    assert (larger - larger.mean(0)) / sizes[2] == pytest.approx((still - still.mean(0)) / sizes[0], abs=1e-4)


def drawn(count, width, seed=0):
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


def judged(vectors, places):
    return finish(faithfulness(vectors, finish(neighbourhoods(vectors)), places, ""))


def test_of_many_sentences_some_are_looked_at_and_the_number_says_how_many(monkeypatch):
    vectors, places = drawn(400, 5), drawn(400, 2, seed=1)
    whole = judged(vectors, places)
    monkeypatch.setattr(projection, "MOST_CHECKED", 200)
    some = judged(vectors, places)
    assert (whole.sentences, some.sentences) == (400, 200)
    assert some.trustworthiness == pytest.approx(whole.trustworthiness, abs=0.05)


def test_a_map_that_leaves_out_nothing_is_wholly_faithful():
    angles = np.linspace(0, 3, 50)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    found = judged(circle, circle)
    assert (found.trustworthiness, found.kept) == (1, 1)


def test_duplicates_are_nobodys_fault():
    found = judged(np.ones((200, 4), dtype=np.float32), drawn(200, 2))
    assert (found.trustworthiness, found.kept) == (1, 1)


def test_two_sentences_are_too_few_to_judge():
    found = judged(drawn(2, 4), drawn(2, 2))
    assert np.isnan(found.trustworthiness)
    assert np.isnan(found.kept)
