"""Test what stands in the place of a model that this disk lacks."""

import pytest

from explorer.encoding.locate import model_names
from explorer.progress import finish
from explorer.ui.access import set_choice, sidebar_choice
from tests import fake_hub
from tests.tiny_models import save_tiny
from tests.visits import fetches, measured, opened, pressed, words


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub with one model, `org/tiny`, and an empty cache."""
    model = save_tiny("bert", tmp_path / "model")
    with fake_hub.serving({"org/tiny": model}) as address:
        fake_hub.connect(address, tmp_path / "cache", monkeypatch)
        yield model


def test_the_hub_is_asked_for_size_and_licence_only_by_a_click_and_before_anything_is_downloaded(app, hub, tmp_path):
    app = opened(app, "layers", model="org/tiny")
    ask = sidebar_choice.ASK_HUB.format("org/tiny")
    assert ask in [button.key for button in app.button]
    assert not any("on the hub:" in told for told in words(app.caption))
    app = measured(pressed(app, ask))
    size = sum(path.stat().st_size for path in hub.iterdir())
    told = sidebar_choice.ON_HUB.format("org/tiny", f"{size / 1000:.0f} KB", 4, fake_hub.LICENCE)
    assert told in words(app.caption)
    assert not list((tmp_path / "cache").glob("models--*")), "nothing was downloaded"
    assert fetches(app) == [set_choice.FETCH.format("org/tiny")]


def test_a_model_that_the_hub_does_not_have_is_told_by_the_question_already(app, hub):
    app = opened(app, "layers", model="org/absent")
    app = measured(pressed(app, sidebar_choice.ASK_HUB.format("org/absent")))
    assert any("The hub has no model" in told for told in words(app.error))


def test_what_the_hub_says_has_the_size_of_each_needed_file(hub):
    found = finish(model_names.ask_hub("org/tiny"))
    assert found.files == {path.name: path.stat().st_size for path in sorted(hub.iterdir())}
    assert found.licence == fake_hub.LICENCE
