"""Test the Map page on vectors on disk: without a browser, and one click in a real one."""

import numpy as np
import pytest

from explorer.data.vectors.opening import opened
from explorer.data.vectors.preparing import corpus
from explorer.drawing.maps import density_map
from explorer.measuring.maps import large_map as large_map_module
from explorer.measuring.maps.large_map import large_map
from explorer.measuring.maps.projection import Way
from explorer.progress import finish
from explorer.ui.access import vector_corpora
from explorer.ui.map import large_map_view
from tests import live
from tests.visits import measured, words

ROWS = 80
TEXTS = [f"Sentence {row} about {'rain' if row % 2 else 'parrots'}." for row in range(ROWS)]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vectors")
    drawn = np.random.default_rng(0)
    np.save(folder / "mine.npy", drawn.normal(size=(ROWS, 8)) + 5 * np.eye(8)[np.arange(ROWS) % 2])
    (folder / "mine.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    return folder / "mine.npy"


@pytest.fixture
def app(furnished, source):
    furnished.switch_page("pages/map.py")
    furnished.query_params["mapped"], furnished.query_params["map_file"] = "a file", str(source)
    return furnished


@pytest.mark.parametrize(("projection", "kind"), [("PCA", "PCA"), ("UMAP", "UMAP"), ("t-SNE", "UMAP")])
def test_the_page_states_how_the_map_was_made_and_what_it_preserves(app, source, projection, kind):
    app.query_params["projection"] = projection
    measured(app)
    assert not app.exception
    found = finish(large_map(finish(corpus(opened(source))), Way(kind)))
    told = words(app.caption)
    assert found.told in told
    assert found.faithfulness.told in told
    assert (large_map_view.NOT_POSSIBLE.format("UMAP") in told) is (projection == "t-SNE")
    assert any(f"{ROWS} sentences of mine.npy" in one for one in words(app.markdown))


def test_model_b_is_not_used_and_broken_vectors_are_an_error(app, place, source):
    app.query_params["beside"] = str(place.model)
    measured(app)
    assert vector_corpora.ONE_ENCODER in words(app.caption)
    assert not app.error
    bad = source.with_name("bad.npy")
    np.save(bad, np.full((ROWS, 8), np.nan))
    bad.with_suffix(".txt").write_text("\n".join(TEXTS), encoding="utf-8")
    app.text_input(key="map_file").set_value(str(bad))
    measured(app)
    assert any("Row 0 of bad.npy" in one for one in words(app.error))


def test_the_points_on_the_page_are_those_of_the_seed(source, monkeypatch):
    monkeypatch.setattr(large_map_module, "MOST", 3)  # more are drawn at random, by the seed, which no text states
    found = finish(corpus(opened(source)))
    for seed in (1, 2):
        drawn = finish(large_map(found, Way("PCA", seed=seed)))
        shown = large_map_view._content(found.digest, Way("PCA", seed=seed), drawn, found)
        assert shown == density_map.content(drawn.places, found.texts(drawn.rows.tolist()), drawn.names)


@pytest.mark.browser
@pytest.mark.skipif(live.executable() is None, reason="no browser")
def test_a_clicked_point_lists_its_neighbours(tabs, address, source):
    page = live.tab(tabs, width=1280, height=1200)
    page.goto(f"{address}/map?mapped=a+file&map_file={source}&projection=PCA")
    page.locator(".density-map[data-seen]").wait_for(timeout=60_000)
    live.settle(page)
    assert page.locator(".density-map").get_attribute("data-mode") == "points"
    found = finish(large_map(finish(corpus(opened(source))), Way("PCA"))).places
    low, high = found.min(0), found.max(0)
    alone = int(np.argmax(np.sort(((found[:, None] - found) ** 2).sum(2), axis=1)[:, 1]))
    box = page.locator(".density-map canvas").bounding_box()
    scale = 0.94 * min(box["width"] / (high - low)[0], box["height"] / (high - low)[1])
    x, y = ((found[alone] - (low + high) / 2) * scale).tolist()
    page.mouse.click(box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 - y)
    page.get_by_text(f"Of “{TEXTS[alone]}”").wait_for()
