"""Test pages with static embeddings as model A: they show what these have, or say what they need."""

import pytest

from explorer.ui.layer_attention import pair_view
from tests.encoding.load.test_static_embedding import saved
from tests.visits import opened, words


@pytest.mark.parametrize("page", ["start", "layers", "sentences", "search", "layer_attention", "compare", "size"])
def test_a_page_shows_static_embeddings_or_says_what_it_needs(furnished, place, tmp_path, page):
    opened(furnished, page, model=str(saved(tmp_path / "static")), beside=str(place.model), sts="sample")
    assert not furnished.exception
    refused = [error.value for error in furnished.error]
    assert all("StaticModel" in one and "Choose a model" in one for one in refused), "an error says what to choose"
    assert bool(refused) == (page == "layer_attention")
    if page == "layer_attention":
        assert any(pair_view.WITHOUT_LAYERS.format("A") in one for one in words(furnished.markdown))
    if page == "start":
        assert "**static** has no layers and encodes texts of any length." in "".join(words(furnished.markdown))
