"""Test the Map page on vectors on disk, without a browser."""

import numpy as np
import pytest

from explorer.data.vectors.vector_corpus import opened, prepared
from explorer.drawing.sentences import sentence_maps
from explorer.measuring.maps import map_tables as large_map_module
from explorer.measuring.maps.map_tables import large_map
from explorer.measuring.maps.projection import MapSettings
from explorer.progress import finish
from explorer.ui.access import cached
from explorer.ui.map import map_view
from tests.vectors import ROWS, TEXTS, two_clouds
from tests.visits import entered, measured, words


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return two_clouds(tmp_path_factory.mktemp("vectors"))


@pytest.fixture
def app(furnished, source):
    furnished.switch_page("pages/map.py")
    furnished.query_params["mapped"], furnished.query_params["map_file"] = "a file", str(source)
    return furnished


@pytest.mark.parametrize(("projection", "kind"), [("PCA", "PCA"), ("UMAP", "UMAP"), ("t-SNE", "UMAP")])
def test_the_page_states_how_the_map_was_made_and_what_it_preserves(app, source, projection, kind):
    measured(app, projection=projection)
    found = finish(large_map(finish(prepared(opened(source))), MapSettings(kind)))
    told = words(app.caption)
    assert found.note in told
    assert found.faithfulness.text in told
    assert (map_view.NOT_POSSIBLE.format("UMAP") in told) is (projection == "t-SNE")
    assert any(f"{ROWS} sentences of mine.npy" in one for one in words(app.markdown))


def test_model_b_is_not_used_and_broken_vectors_are_an_error(app, place, source):
    measured(app, beside=str(place.model))
    assert cached.ONE_ENCODER in words(app.caption)
    assert not app.error
    bad = source.with_name("bad.npy")
    np.save(bad, np.full((ROWS, 8), np.nan))
    bad.with_suffix(".txt").write_text("\n".join(TEXTS), encoding="utf-8")
    entered(app, app.text_input(key="map_file"), str(bad))
    assert any("Row 0 of bad.npy" in one for one in words(app.error))


def test_the_points_on_the_page_are_those_of_the_seed(source, monkeypatch):
    monkeypatch.setattr(large_map_module, "MOST", 3)  # more are drawn at random, by the seed, which no text states
    found = finish(prepared(opened(source)))
    for seed in (1, 2):
        drawn = finish(large_map(found, MapSettings("PCA", seed=seed)))
        shown = map_view._content(found.digest, MapSettings("PCA", seed=seed), drawn, found)
        assert shown == sentence_maps.canvas_content(drawn.places, found.texts(drawn.rows.tolist()), drawn.names)
