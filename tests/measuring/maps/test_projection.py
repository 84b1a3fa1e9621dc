"""Test maps of sentences and of the steps of a run, and that their UMAP is that of umap-learn."""

import math
import os
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest

from explorer.errors import BadChoice
from explorer.measuring.maps import projection, trustworthiness
from explorer.measuring.maps import umap_layout as layouts
from explorer.measuring.maps.projection import (
    KINDS,
    MapSettings,
    maps,
    neighbours_of_each,
    principal,
    travel,
    travel_by_umap,
    turned_onto,
)
from explorer.measuring.maps.trustworthiness import believed, faithfulness
from explorer.measuring.maps.umap_layout import joined, loaded, memberships, one_epoch, umap_layout, umap_layouts
from explorer.measuring.neighbours.vector_index import neighbourhoods
from explorer.progress import finish


@pytest.fixture(scope="module")
def umap_learn():
    """umap-learn's own module, without its search for neighbours: to compile that takes half a minute."""
    with pytest.MonkeyPatch.context() as patched:  # it takes back these three alone: numba must not be imported twice
        for name in ("pynndescent", "pynndescent.distances", "pynndescent.sparse"):
            patched.setitem(sys.modules, name, mock.MagicMock())
        from umap import umap_
    return umap_


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
        assert int(np.argmin([np.linalg.norm(found.places[1][at] - centre) for centre in centres])) == at // 20


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
        assert all(np.isfinite(places).all() for places in mapped(*sides, kind=kind, axes=axes).places)


def test_few_sentences_are_shown_by_pca_which_says_so_and_one_is_no_map():
    found = mapped(clusters(9), kind="UMAP")
    assert found.kind == "PCA"
    assert found.note.startswith("9 sentences are too few for UMAP")
    assert mapped(clusters(12), kind="UMAP").kind == "UMAP"
    with pytest.raises(BadChoice, match="at least 2 sentences; there are 1"):
        mapped(clusters(3)[:1])


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ({"kind": "MDS"}, "one of UMAP"), ({"axes": 4}, "from 2 to 3"), ({"neighbours": 1}, "from 2 to 100"),
        ({"min_dist": 1.5}, "from 0 to 0.99"), ({"perplexity": 50}, "from 2 to 49"), ({"seed": -1}, "from 0"),
    ],
)  # fmt: skip
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
    monkeypatch.setattr(trustworthiness, "MOST_CHECKED", 200)
    some = judged(vectors, places)
    assert (whole.sentences, some.sentences) == (400, 200)
    assert some.trustworthiness == pytest.approx(whole.trustworthiness, abs=0.05)


def test_a_map_that_leaves_out_nothing_is_wholly_faithful_and_two_sentences_cannot_be_judged():
    angles = np.linspace(0, 3, 50)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    found = judged(circle, circle)
    assert (found.trustworthiness, found.kept) == (1, 1)
    found = judged(np.ones((200, 4), dtype=np.float32), drawn(200, 2))
    assert (found.trustworthiness, found.kept) == (1, 1)
    found = judged(drawn(2, 4), drawn(2, 2))
    assert np.isnan(found.trustworthiness)
    assert np.isnan(found.kept)


APART = """
import sys
from unittest import mock
from explorer.measuring.maps import umap_layout
from explorer.progress import finish
finish(umap_layout.loaded())  # compiled, and kept on disk
epoch = umap_layout.one_epoch()
assert epoch.signatures and umap_layout.one_epoch() is epoch
found = sorted(name for name in sys.modules if name.split(".")[0] in ("umap", "pynndescent"))
assert not {"umap.umap_", "pynndescent"} & set(found), found
search = ("pynndescent", "pynndescent.distances", "pynndescent.sparse")
with mock.patch.dict(sys.modules, dict.fromkeys(search, mock.MagicMock())):
    import umap
    assert not hasattr(umap, "__wrapped__")
    assert umap.UMAP(n_neighbors=7).n_neighbors == 7
    assert umap_layout.one_epoch() is epoch
    try:
        umap.no_such_name
    except AttributeError as error:
        assert "no_such_name" in str(error)
    else:
        raise AssertionError("a name that is not there was found")
"""


def test_the_code_of_a_layout_comes_without_the_search_and_leaves_umap_to_be_imported(tmp_path):
    nothing_kept = {"NUMBA_CACHE_DIR": str(tmp_path)}
    told = subprocess.run([sys.executable, "-c", APART], env=os.environ | nothing_kept, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr[-2000:]
    assert not list(tmp_path.glob("pynndescent*"))


@pytest.mark.parametrize("min_dist", [0.0, 0.05, 0.1, 0.5, 0.99])
def test_the_curve_is_umaps(umap_learn, min_dist):
    assert layouts.curve(min_dist) == pytest.approx(umap_learn.find_ab_params(1.0, min_dist), rel=1e-6)


@pytest.mark.parametrize("epochs", [1, 30, 200, 500])
def test_edges_are_due_as_often_as_in_umap_learn(umap_learn, epochs):
    weights = np.random.default_rng(epochs).random(500).astype(np.float32)
    weights[:20] = 0
    wanted = umap_learn.make_epochs_per_sample(weights, epochs)
    assert layouts.epochs_between(weights, epochs).tolist() == wanted.tolist()
    assert (wanted[:20] == -1).all()


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


def test_what_has_turned_is_one_less_the_cosine_and_what_has_not_stays_where_it_is(probes):
    found = travel(probes).turned
    for step in range(3):
        for sentence in range(12):
            slow = 1 - cosine(probes[step, sentence], probes[0, sentence])
            assert found[step, sentence] == pytest.approx(slow, abs=1e-9)
    assert np.abs(found[:, 3]).max() < 1e-6 < found[2].max()
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


def test_where_nothing_differs_there_is_no_share_and_vectors_of_one_number_lie_on_a_line():
    found = travel(np.ones((3, 4, 2), dtype=np.float16))
    assert np.isnan(found.shown)
    assert np.abs(found.places).max() < 1e-9
    assert np.abs(found.turned).max() < 1e-9
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
        return finish(
            travel_by_umap(finish(neighbours_of_each(moved)), travel(moved), MapSettings("UMAP", neighbours=5))
        )


def test_on_the_umap_of_all_looks_those_who_change_over_come_near_and_the_others_stay_apart(laid_out):
    centres = laid_out.reshape(4, 3, 10, 2).mean(2)
    to_first = [np.linalg.norm(centres[:, other] - centres[:, 0], axis=1) for other in (1, 2)]
    assert to_first[1][-1] < 0.5 * to_first[1][0]
    assert to_first[0].min() > 0.7 * to_first[0][0]
    steps = np.linalg.norm(np.diff(laid_out, axis=0), axis=-1)
    assert steps[:, :20].mean() < steps[:, 20:].mean()


def test_where_no_vector_moves_no_sentence_moves_and_each_look_is_judged_by_its_vectors(moved, laid_out):
    still = np.stack([moved[0]] * 3)
    way = MapSettings("UMAP", neighbours=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "_EPOCHS", 20)
        places = finish(travel_by_umap(finish(neighbours_of_each(still)), travel(still), way))
    assert np.abs(places - places[0]).max() < 1e-3 * np.ptp(places)
    for look in range(4):
        vectors = moved[look].astype(np.float32)
        slow = finish(faithfulness(vectors, finish(neighbourhoods(vectors)), laid_out[look], "judging"))
        assert finish(believed(moved[look], laid_out[look])) == slow
        assert slow.trustworthiness > 0.7
