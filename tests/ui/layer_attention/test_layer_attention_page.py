"""Test the Layer attention page without a browser: with a pooler, without one, and with odd sentences."""

import re

import numpy as np
import pytest

from explorer.data import sample
from explorer.encoding.load.loading import load
from explorer.encoding.locate import lookup
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import OWN
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores.measure import Settings, shelf_key, stored_scores
from explorer.measuring.sentences import attention_weights
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from explorer.training.example import POOLER
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import sidebar_choice
from explorer.ui.layer_attention import pair_view, pooler_view
from tests import trainings
from tests.rendered import Shown
from tests.tiny_models import FAMILIES, save_tiny
from tests.visits import entered, error_of, lead, measured, pressed

PAGE = "pages/layer_attention.py"
ODD = {
    "one word": "no",
    "emoji": "🎸🎸 👩‍👩‍👧 plays",
    "right to left": "الرجل يعزف على الجيتار",
    "html": "<img src=x onerror=alert(1)><b>bold</b>",
    "markdown": "# **x** [a](http://b) `c` $d$ :red[e] :material/home:",
    "many lines": "one\n\n    two\n1. three",
    "a template": "%{x} {y} %s",
}


def like(template):
    """A text with its gaps filled by whatever it may be."""
    return re.compile(".+?".join(map(re.escape, re.split(r"\{.*?\}", template))))


PAPERS = (pair_view.SHORT, pair_view.LONG)
BEST_SCORE, HIGHEST, LEFT_OUT = map(like, (pooler_view.BEST_SCORE, pooler_view.HIGHEST, pair_view.LEFT_OUT))


@pytest.fixture(scope="module")
def place(place):
    """Two runs with poolers, with and without [CLS] beside the attention."""
    trainings.train(trainings.new(place, "layer-attention", name="both", settings={"steps": 4}))
    alone = {"steps": 4, "pooler": "attention of cls to mean"}
    trainings.train(trainings.new(place, "layer-attention", name="alone", settings=alone))
    return place


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))


@pytest.fixture
def app(app):
    app.switch_page(PAGE)
    return app


@pytest.fixture
def plain(app, place):
    """The page with a tiny encoder that has no pooler."""
    return measured(app, model=str(place.model))


@pytest.fixture
def listener(app, place, monkeypatch):
    """The page with the model of a run that has one."""
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    return measured(app, model=str(runs.find("both").model), sts="Sample pairs")


def typed(app, one, other):
    app.text_area(key="One sentence").set_value(one)
    app.text_area(key="Another sentence").set_value(other)
    return measured(app)


def words(elements):
    return " ".join(one.value.replace("\\", "") for one in elements)


def charts(app):
    return len(app.get("plotly_chart"))


def headings(app):
    return [one.value for one in app.subheader]


def downloads(app):
    return [one.proto.label for one in app.get("download_button")]


def test_without_a_pooler_the_page_shows_the_papers_pair_by_layer_and_its_heads(plain):
    assert [box.value for box in plain.text_area] == [pair_view.SHORT, pair_view.LONG]
    assert pair_view.NO_POOLER.format("tiny") in words(plain.info)
    assert headings(plain) == [pair_view.TITLE, pair_view.HEADS_TITLE]
    assert charts(plain) == 3
    assert downloads(plain) == [pair_view.FILE, pair_view.HEAD_FILE]
    assert not plain.error


def test_with_a_pooler_the_page_shows_weights_scores_parts_and_path(listener):
    assert headings(listener) == [pooler_view.WEIGHTS, pooler_view.SCORES, pooler_view.PARTS, pooler_view.OVER_TRAINING]
    assert charts(listener) == 4
    told = words(listener.caption)
    assert pooler_view.SCORES_ON.format("Sample pairs") in told
    assert BEST_SCORE.search(told)
    assert pooler_view.HISTORY.partition(":")[0].format(1, "both") in told
    (parts,) = listener.dataframe
    assert list(parts.value["part"]) == ["cls of the last layer", "attention over layers"] * 2
    assert downloads(listener) == [pooler_view.FILE, pooler_view.HISTORY_FILE]
    assert pair_view.HEADS_TITLE in [fold.label for fold in listener.expander], "the heads are folded"
    assert not [box for box in listener.selectbox if box.key == "head"]
    shares = parts.value[parts.value["part"] == "attention over layers"]["share"]
    assert [card.value for card in listener.metric] == [f"{100 * share:.1f} %" for share in shares]
    assert listener.metric[0].label == pooler_view.SHARE.format("A", "first")


def test_nearly_uniform_weights_name_no_highest_layer_and_are_shown_where_the_set_is_nowhere(listener, monkeypatch):
    for limit, uniform in ((1e9, True), (0.0, False)):
        monkeypatch.setattr(attention_weights, "UNIFORM", limit)
        told = words(measured(listener).caption)
        assert (pooler_view.UNIFORM in told, bool(HIGHEST.search(told))) == (uniform, not uniform)
        assert (lead(pooler_view.CORRELATION) in told) == (not uniform)
        assert BEST_SCORE.search(told)
        assert all((pooler_view.UNIFORM in card.delta) == uniform for card in listener.metric)
    monkeypatch.delenv("STRATA_DATA", raising=False)
    entered(listener, listener.selectbox(key="sts"), "STS16 test")
    assert sidebar_choice.NOT_ON_DISK.format("STS16 test", "") in words(listener.info)
    assert charts(listener) == 4
    assert not BEST_SCORE.search(words(listener.caption))


def test_another_pooler_stands_beside_it_on_one_scale(listener):
    entered(listener, listener.selectbox(key="beside"), "run:alone")
    assert charts(listener) == 7
    assert "cls of the last layer + attention over layers" in words(listener.markdown)


def test_a_model_b_without_a_pooler_is_compared_in_words(app):
    measured(app, model=f"run:{POOLER}", beside=lookup.BUNDLED, precision="float32")
    assert pooler_view.COMPARED in headings(app)
    told = words(app.markdown)
    sides = [find(name) for name in (f"run:{POOLER}", lookup.BUNDLED)]
    cosines = []
    for side in sides:
        one, other = finish(of_reading(load(side, "float32", "cpu"), PAPERS, OWN))
        cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
        cosines.append(f"{cosine:.3f}".replace("-", "−"))
    assert pooler_view.COSINES.format(*cosines) in told
    weights = attention_weights.layer_weights(load(sides[0], "float32", "cpu"), PAPERS)
    assert " and ".join(f"{of_layers.max():.2f}" for of_layers in weights.by_layer) in told
    assert f"layer {weights.highest_layers[0]} " in told.lower()
    scores = [stored_scores(shelf_key(side, sample.pairs(), Settings())) for side in sides]
    gap = Comparison(*scores, OWN, OWN).chosen()
    assert all(f"{one.own_score():.2f}" in told for one in scores)
    assert f"{gap.low:+.2f} to {gap.high:+.2f}".replace("-", "−") in told.replace("-", "−")


def test_where_only_b_has_a_pooler_a_click_exchanges_them(app):
    measured(app, model=lookup.BUNDLED, beside=f"run:{POOLER}")
    assert lead(pair_view.EXCHANGE) in words(app.info)
    pressed(app, "exchange for the pooler")
    assert (app.selectbox(key="model").value, app.selectbox(key="beside").value) == (f"run:{POOLER}", lookup.BUNDLED)
    assert pooler_view.WEIGHTS in headings(app)


def test_the_example_that_ships_is_one_click_away_and_shows_weights_that_are_not_uniform(app):
    measured(app)
    opened = [button for button in app.button if (button.key or "").startswith("open ")]
    assert opened[0].key == f"open {POOLER}"
    assert pair_view.PAPER.replace("\\", "") in words(app.caption)
    opened[0].click()
    measured(app)
    assert HIGHEST.search(words(app.caption))
    assert pooler_view.UNIFORM not in words(app.caption)
    assert pooler_view.OVER_TRAINING in headings(app)


def test_a_pooler_with_nothing_beside_it_says_so(app, place, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    measured(app, model=str(runs.find("alone").model))
    assert lead(pooler_view.ATTENTION_ALONE) in words(app.caption)
    assert not app.dataframe


def test_runs_that_listen_are_a_click_away(app, place, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    measured(app, model=str(place.model))
    pressed(app, "open both")
    assert app.selectbox(key="model").value == "run:both"
    assert pooler_view.WEIGHTS in headings(app)


def test_a_run_made_before_looks_kept_weights_says_that_there_is_no_path(app, place, monkeypatch):
    old = trainings.train(trainings.new(place, "layer-attention", name="old", settings={"steps": 2}))
    for file in old.folder.rglob("*layers.npy"):
        file.unlink()
    measured(app, model=str(old.model))
    assert pooler_view.NO_HISTORY.format("old") in words(app.caption)


def test_layer_and_head_are_chosen_by_keyboard(plain):
    plain.selectbox(key="layer").select("2")
    entered(plain, plain.selectbox(key="head"), "2")
    assert pair_view.SHOWN.format(2, 2) in words(plain.caption)


@pytest.mark.parametrize("value", ["99", "0", "<b>", ""])
def test_a_layer_that_is_not_there_falls_back_to_the_first(app, place, value):
    app.query_params["model"] = str(place.model)
    app.query_params["layer"] = app.query_params["read"] = app.query_params["heads"] = value
    measured(app)
    assert app.selectbox(key="layer").value == "1"
    assert not app.error


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_family_has_something_to_show_and_a_decoder_is_told_to_read_from_left_to_right(app, tmp_path, kind):
    measured(app, model=str(save_tiny(kind, tmp_path / kind)))
    assert not app.error
    assert charts(app) == 3
    if kind == "gpt2":  # reads from left to right
        assert pair_view.CAUSAL in words(app.caption)
        assert pair_view.ALONE in words(app.caption)


def test_whatever_is_typed_is_read(plain):
    for kind, text in ODD.items():
        typed(plain, text, text + " and more")
        assert not plain.error, kind
        assert charts(plain) == 3, kind


def test_whatever_is_typed_is_shown_as_it_is(listener):
    for kind, text in ODD.items():
        typed(listener, text, "a man")
        assert not listener.error, kind
        assert charts(listener) == 4, kind
        shown = Shown(next(one.value for one in listener.markdown if one.value.startswith("“")))
        assert shown.words == f"“{messages.shortened(text, 36)}”".split()
        assert (shown.tags, shown.found_later) == ({"p"}, []), kind


def test_nothing_typed_is_asked_for(plain):
    for text in ("", "   ", "\n\t"):
        typed(plain, text, "a man")
        assert plain.info, repr(text)
        assert charts(plain) == 0, repr(text)


def test_what_is_too_long_is_cut_and_told(plain):
    long = "a " * 600
    typed(plain, long, "a man")
    assert charts(plain) == 3
    assert messages.CUT.format(64, messages.shortened(long)) in words(plain.warning)
    assert LEFT_OUT.search(words(plain.caption))


def test_an_impossible_length_is_an_error_in_words(app, place):
    measured(app, model=str(place.model), max_length="5000")
    encoder = load(find(str(place.model)))
    assert words(app.error) == error_of(lambda: encoder.limit(5000))


def test_sentences_are_kept_from_page_to_page(plain):
    typed(plain, "a man", "a dog")
    plain.switch_page("pages/start.py").run()
    plain.switch_page(PAGE)
    measured(plain)
    assert [box.value for box in plain.text_area] == ["a man", "a dog"]
