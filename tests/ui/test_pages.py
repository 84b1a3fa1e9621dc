import shutil

import pytest
import streamlit as st

from explorer.data import own
from explorer.data.kinds import GradedPairs
from explorer.ui import controls, frame
from tests.live import ROOT
from tests.tiny_models import save_tiny
from tests.visits import cards, measured, words


def test_every_page_of_the_folder_is_in_the_menu():
    assert {f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py")} == {page[0] for page in frame.PAGES}


@pytest.mark.parametrize("file", [page[0] for page in frame.PAGES])
def test_every_page_opens(app, file):
    app.switch_page(file)
    measured(app)
    assert [error.value for error in app.exception] == []
    assert app.title


NO_MODELS = ["nonsense", "no/such-model", "no/such@main", "/no/such/folder", "<b>x</b>", "a b"]
NO_MODELS += ["x" * 500, "x" * 500 + "@b", "~nobody@x", "@", "\0"]


@pytest.mark.parametrize("file", [page[0] for page in frame.PAGES])
@pytest.mark.parametrize("model", NO_MODELS)
def test_a_model_that_is_not_there_is_an_error_in_words(app, file, model):
    app.query_params["model"] = model
    app.switch_page(file).run()
    assert [error.value for error in app.exception] == []
    assert app.error
    assert app.selectbox(key="model").value == model, "what was typed stays, to be mended"


def test_layers_shows_the_bundled_encoder_on_the_sample_without_being_asked(app, bundled_scores):
    app.switch_page("pages/layers.py")
    measured(app)
    best = bundled_scores.best()
    (shown,) = (float(card.value) for card in app.metric if card.label.startswith("Best of"))
    assert shown == pytest.approx(bundled_scores.score(best), abs=0.3)  # auto may be bfloat16
    assert len(app.get("plotly_chart")) == 3
    assert "not a result" in app.info[0].value


def test_a_link_names_encoder_set_and_reading(app):
    app.query_params["reading"] = "max of layers 1 + 6"
    app.query_params["precision"] = "float32"
    app.switch_page("pages/layers.py")
    measured(app)
    assert app.selectbox(key="reading").value == "max of layers 1 + 6"
    assert any("float32" in caption.value for caption in app.caption)


def test_a_reading_the_encoder_has_not_falls_back_to_the_last_layer(app):
    app.query_params["reading"] = "mean of layer 99"
    app.switch_page("pages/layers.py")
    measured(app)
    assert app.selectbox(key="reading").value == "mean of layer 6"


def test_the_reading_is_kept_from_page_to_page(app):
    app.switch_page("pages/layers.py")
    measured(app)
    app.selectbox(key="reading").select("cls of layer 3").run()
    app.switch_page("pages/start.py").run()
    assert app.selectbox(key="reading").value == "cls of layer 3"
    app.switch_page("pages/layers.py").run()
    assert app.selectbox(key="reading").value == "cls of layer 3"


def test_a_set_that_is_nowhere_names_the_next_step(app, monkeypatch):
    monkeypatch.delenv("STRATA_DATA", raising=False)
    app.query_params["sts"] = "STS16 test"
    app.switch_page("pages/layers.py").run()
    assert "STRATA\\_DATA" in app.error[0].value
    assert [button.label for button in app.button] == ["Fetch STS16 test from the hub"]


def test_an_impossible_length_is_an_error_in_words(app):
    app.query_params["max_length"] = "5000"
    app.switch_page("pages/layers.py")
    measured(app)
    assert "5000 tokens is not possible" in app.error[0].value
    assert [button.label for button in app.button] == ["Try again"]


def test_a_broken_model_folder_is_an_error_in_words(app, tmp_path):
    folder = save_tiny("bert", tmp_path / "model")
    (folder / "modules.json").write_text("{broken", encoding="utf-8")
    app.query_params["model"] = str(folder)
    app.switch_page("pages/layers.py").run()
    assert [error.value for error in app.exception] == []
    assert "modules\\.json" in app.error[0].value


def test_what_is_wrong_with_one_folder_is_not_told_of_another(app, tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        app.run().text_input(key=controls.ANOTHER).input(str(tmp_path / name)).run()
        measured(app)
        assert f"{name} is no model" in app.error[0].value.replace("\\", "")


def test_scores_that_cannot_be_kept_are_shown_all_the_same(app, tmp_path, monkeypatch):
    blocked = tmp_path / "a file where the folder should be"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("STRATA_CACHE", str(blocked))
    app.query_params["model"] = str(save_tiny("bert", tmp_path / "model"))
    app.switch_page("pages/layers.py")
    measured(app)
    assert [error.value for error in (*app.exception, *app.error)] == []
    assert "Chosen reading" in [card.label for card in app.metric]


def test_an_emptied_shelf_is_filled_again(app, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    app.query_params["model"] = str(save_tiny("bert", tmp_path / "model", seed=3))
    app.switch_page("pages/layers.py")
    measured(app)
    shutil.rmtree(tmp_path / "cache")
    st.cache_resource.clear()
    measured(app)
    assert "Chosen reading" in [card.label for card in app.metric]


def test_a_sub_corpus_without_a_correlation_is_named(app, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    texts = ("it rains", "it pours", "the sun is out", "a cat", "two dogs", "a small boat", "a ship", "bread")
    first, second, gold = texts[:4], texts[4:], (1.0, 2.0, 4.0, 3.0)
    name = own.keep(GradedPairs("mine.csv", first, second, gold, ("a", "a", "a", "single")))
    app.query_params["sts"] = name
    app.query_params["aggregate"] = "mean"
    app.switch_page("pages/layers.py")
    measured(app)
    assert "single has no correlation of its own" in app.warning[0].value
    assert {card.value for card in app.metric} == {"none"}


def test_what_bfloat16_cannot_measure_is_empty_with_its_reason(app):
    app.query_params["precision"], app.query_params["reading"] = "bfloat16", "cls of layer 3"
    app.switch_page("pages/layers.py")
    measured(app)
    assert not app.exception
    assert cards(app)["Chosen reading"] == "none"
    (told,) = (said for said in words(app.caption) if said.startswith("Not measurable in bfloat16"))
    assert "cls of layer 3" in told
    assert any("cls of layer 3 is not measurable in bfloat16" in said for said in words(app.info))
    assert len(app.get("plotly_chart")) == 2, "no cosines are drawn"
    app.radio(key="precision").set_value("float32")
    measured(app)
    assert cards(app)["Chosen reading"] != "none"
    assert not any(said.startswith("Not measurable") for said in words(app.caption))
    assert len(app.get("plotly_chart")) == 3
