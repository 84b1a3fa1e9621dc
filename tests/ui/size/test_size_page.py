"""Test the Size & quality page without a browser: what it asks, measures, shows and exports."""

import shutil
import threading

import pytest
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling as SentencePooling
from streamlit.testing.v1 import AppTest

from explorer import in_words
from explorer.data import corpora, sources
from explorer.encoding.locate import lookup
from explorer.encoding.locate.model_names import find
from explorer.measuring.scores.verdict import WORSE, Verdict
from explorer.places import cache_folder
from explorer.progress import Progress
from explorer.studies.size import distilled, duration, size_verdict
from explorer.studies.size import picture as measuring
from explorer.studies.size.points import Picture, Point, Size
from explorer.studies.size.smaller_vectors import FIRST
from explorer.ui.size import size_export, size_view
from explorer.ui.widgets import controls
from tests.live import ROOT
from tests.visits import buttons, measured, opened, pressed, tab, words

POOLINGS, DIMENSIONS, STORED = (controls.key_of(size_view.FORM, name) for name in ("poolings", "dimensions", "stored"))
CHOSEN = {DIMENSIONS: "32, 8", POOLINGS: ["mean"], STORED: ["float32", "int8"]}


@pytest.fixture(autouse=True)
def timed_once(monkeypatch):
    monkeypatch.setattr(measuring, "ROUNDS", 1)
    monkeypatch.setattr(measuring, "TEXTS", 8)
    monkeypatch.setattr(distilled, "of_base", lambda base: ())  # other tests train in the same place


@pytest.fixture
def app(furnished, place):
    furnished.switch_page("pages/size.py")
    furnished.query_params[size_view.ON] = str(place.test)
    furnished.session_state[size_view.TEXT] = str(place.text)
    for key, value in CHOSEN.items():
        furnished.session_state[key] = value
    return furnished.run()


def test_nothing_is_measured_before_it_is_asked_for(app):
    assert size_view.START in buttons(app)
    assert not app.dataframe


def test_how_long_it_takes_is_said_before_the_click_and_not_waited_for(app, monkeypatch):
    told = f"It takes about **{in_words.duration(90)}**."

    def tried(*_):
        yield Progress("trying", 0, 0)
        return 90.0

    monkeypatch.setattr(duration, "seconds_of", tried)
    app.session_state[DIMENSIONS] = "7"  # of which no other test has tried some
    assert told in words(measured(app).markdown)
    never = threading.Event()

    def endless(*_):
        while not never.is_set():
            yield Progress("trying", 0, 0)

    monkeypatch.setattr(duration, "seconds_of", endless)
    app.session_state[DIMENSIONS] = "6"
    assert size_view.TRYING in words(app.run().caption)
    app.button(key=size_view.START).click()
    measured(app)
    assert app.dataframe, "the sizes are measured: the trial has ended"


@pytest.mark.parametrize("model", [lookup.BUNDLED, "tiny"])  # of which one declares its pooling
def test_until_then_the_answer_says_what_the_encoder_loses_without_its_last_layer(app, place, model):
    """By the library, cut after the layer below, and scipy, on the set that sizes are scored on, not the sidebar's."""
    pairs, found = (
        sources.scored_pairs(str(place.test))[0],
        SentenceTransformer(str(find(lookup.BUNDLED).folder if model == lookup.BUNDLED else place.model), device="cpu"),
    )
    last = len(found[0].auto_model.encoder.layer)

    def score(pooling):
        found[1] = SentencePooling(found.get_embedding_dimension(), pooling_mode=pooling)
        one, other = (found.encode(side, normalize_embeddings=True) for side in (pairs.first, pairs.second))
        return 100 * spearmanr(pairs.gold, (one * other).sum(axis=1)).statistic

    whole = score("mean")
    found[0].auto_model.encoder.layer = found[0].auto_model.encoder.layer[:-1]
    scores = {pooling: score(pooling) for pooling in ("cls", "mean", "max")}
    best = max(scores, key=scores.get)
    if model == lookup.BUNDLED:
        app.session_state["model"] = lookup.BUNDLED
    (told,) = (one for one in words(measured(app).markdown) if one.startswith("Cut after"))
    assert (
        f"Cut after layer {last - 1}, Spearman × 100 on {pairs.name} goes {in_words.arrow(whole, scores[best])}" in told
    )
    assert f"({best} of layer {last - 1})" in told


def test_every_size_is_measured_and_the_verdict_comes_first(app):
    pressed(app, size_view.START)
    app.toggle(key=size_view.ONLY_FRONT).set_value(False).run()
    rows = app.dataframe[0].value
    sizes = set(zip(rows["layer & pooling"], rows["dimensions"], rows["stored as"], strict=True))
    layers = [f"mean of layer {layer}" for layer in range(3)]
    wanted = {(layer, count, stored) for layer in layers for count in (32, 8) for stored in ("float32", "int8")}
    assert sizes == wanted | {("model default", 32, "float32")}
    assert rows["score"].notna().all()
    assert any(told.startswith(("The smallest vectors", "Every smaller encoder")) for told in words(app.info))


def test_sizes_have_the_words_of_a_text(app):
    app.session_state[size_view.WORDS] = corpora.SAMPLE
    pressed(app.run(), size_view.START)
    app.toggle(key=size_view.ONLY_FRONT).set_value(False).run()
    first, *others = app.dataframe[0].value["tokens"]
    assert first == "all"
    assert len(set(others)) == 1
    assert int(others[0]) > 5


def test_what_is_typed_before_the_click_is_measured(app):
    app.session_state[size_view.TEXT] = corpora.SAMPLE  # on which no other test has measured
    app.session_state[DIMENSIONS] = "24"
    app.run().text_input(key=DIMENSIONS).set_value("16")
    pressed(app, size_view.START)
    app.toggle(key=size_view.ONLY_FRONT).set_value(False).run()
    assert set(app.dataframe[0].value["dimensions"]) == {16, 32}, "and the whole model"


def test_a_set_of_another_kind_is_scored_and_what_is_wrong_is_said(app):
    app.session_state[DIMENSIONS] = "many"
    app.run()
    assert "Dimensions cannot be 'many'. Choose whole numbers" in words(app.error)[0]
    app.session_state[DIMENSIONS] = "999"
    pressed(app.run(), size_view.START)
    assert "999 is not a possible number of dimensions. Choose 1 to 32" in words(app.error)[0]
    app.session_state[DIMENSIONS] = "8"
    app.session_state[size_view.ON] = "more minimal pairs"
    pressed(app.run(), size_view.START)
    assert not app.error
    assert app.dataframe


def test_the_chosen_size_is_exported_once(app, tmp_path):
    if size_view.START in buttons(app):  # a test before this one may have measured the same
        pressed(app, size_view.START)
    app.session_state[size_view.CHOSEN] = "mean of layer 1, 8 dimensions, int8"
    tab(app.run(), size_export.TAB).text_input(key=size_export.FOLDER).set_value("~nosuch/x").run()
    assert any("no user with this home folder" in told for told in words(app.error))
    assert app.button(key=size_export.WRITE).disabled
    app.text_input(key=size_export.FOLDER).set_value("").run()
    app.text_input(key=size_export.FOLDER).set_value(str(tmp_path / "small"))  # the click leaves the field
    pressed(app, size_export.WRITE)
    assert any(str(tmp_path / "small") in told for told in words(app.success))
    opened = SentenceTransformer(str(tmp_path / "small"), device="cpu")
    assert opened[0].auto_model.config.num_hidden_layers == 1
    assert opened.get_embedding_dimension() == 8
    assert (tmp_path / "small" / "similarity.json").is_file()
    app.session_state[size_export.FOLDER] = str(tmp_path / "small")
    app.run()
    assert size_export.WRITE not in buttons(app)  # it is written
    app.session_state[size_view.WAY] = FIRST
    pressed(app.run(), size_view.START)
    assert size_export.WRITE in buttons(app), "what is written has other dimensions"
    assert not app.success


def test_the_static_encoder_of_model_a_is_measured_with_it_and_exported(app, place, tmp_path):
    app.session_state[size_view.STATIC] = True
    app.session_state[POOLINGS] = ["model default"]
    pressed(app.run(), size_view.START)
    rows = app.toggle(key=size_view.ONLY_FRONT).set_value(False).run().dataframe[0].value
    static = f"{place.model.name}, static"
    assert list(rows["dimensions"][rows["model"] == static].drop_duplicates()) == [32, 8]
    app.session_state[size_view.CHOSEN] = f"{static}, model default, 8 dimensions, float32"
    tab(app.run(), size_export.TAB).text_input(key=size_export.FOLDER).set_value(str(tmp_path / "static")).run()
    pressed(app, size_export.WRITE)
    opened = SentenceTransformer(str(tmp_path / "static"), device="cpu")
    assert opened[0].embedding.weight.shape[1] == 32
    assert opened.get_embedding_dimension() == 8
    card = (tmp_path / "static" / "README.md").read_text(encoding="utf-8")
    assert f"# {static}, smaller" in card
    assert "| Vector of a token | mean of token and special tokens |" in card
    assert f"Static embeddings of {place.model.name}: " in card


def test_an_encoder_that_was_measured_under_another_name_is_exported_too(app, place, tmp_path):
    shutil.rmtree(cache_folder() / "sizes", ignore_errors=True)  # what is kept there shows the names
    app.run()
    if size_view.START in buttons(app):
        pressed(app, size_view.START)
    other = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    other.query_params["model"] = str(shutil.copytree(place.model, tmp_path / "copy"))
    other.query_params[size_view.ON] = str(place.test)
    other.session_state[size_view.TEXT] = str(place.text)
    for key, value in CHOSEN.items():
        other.session_state[key] = value
    opened(other, "size")
    assert size_view.START not in buttons(other), "it has the same files"
    assert size_export.WRITE in buttons(tab(other, size_export.TAB))


def point(title_layers, score, low, high, vector_bytes=100, speed=10.0) -> Point:
    size = Size(title_layers, "mean", vector_bytes, "int8")
    return Point("m", size, Verdict(80.0, None, score, score - 80, low, high), vector_bytes, 10, speed, 100 / speed)


def picture(*points) -> Picture:
    whole = point(6, 80.0, 0.0, 0.0, 400)
    return Picture((whole, *points), "pairs", 100, "Spearman", "text", 50, "pca", "cpu", "float32", 1.0)


def test_the_verdict_names_the_smallest_size_without_a_significant_loss():
    points = point(6, 79.5, -1.2, 0.2, 100), point(6, 70, -12, -8, 50), point(3, 79, -2, 0.1, 200, 20)
    smallest, fastest = (one.text for one in size_verdict.verdict(picture(*points)))
    without = "without a significant loss: mean of layer"
    assert smallest.startswith(f"The smallest vectors {without} 6, 100 dimensions, int8")
    assert fastest.startswith(f"The fastest encoder {without} 3")
    assert "2.0 times as many sentences per second" in fastest


def test_the_verdict_says_when_every_smaller_encoder_is_worse():
    (told,) = size_verdict.verdict(picture(point(6, 78, -4, -1), point(5, 70, -12, -8)))
    assert told.kind == WORSE
    assert told.text.startswith("Every smaller encoder is significantly worse than the whole model (80.00).")
    assert "mean of layer 6, 100 dimensions, int8, difference (95 % CI) −2.00 (−4.00 to −1.00)" in told.text
    assert [one.text for one in size_verdict.verdict(picture())] == ["Only the whole model was measured."]
