"""Test the Layer attention page without a browser: with a pooler, without one, and with odd sentences."""

import re

import numpy as np
import pytest

from explorer.data import sample, selections
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
from explorer.ui.access import selection
from explorer.ui.layer_attention import pair_view, pooler_view, shown_sides
from explorer.ui.start import first_pair
from explorer.ui.widgets import first_screen
from tests import trainings
from tests.rendered import Shown
from tests.tiny_models import FAMILIES, save_tiny
from tests.visits import entered, error_of, lead, measured

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


PAPERS = (shown_sides.SHORT, shown_sides.LONG)
BEST_SCORE, HIGHEST, LEFT_OUT = map(like, (pooler_view.BEST_SCORE, pooler_view.HIGHEST, pair_view.LEFT_OUT))
ALONE = {"pooler": shown_sides.NO_B}  # no other model


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
    """The page with a tiny encoder that has no pooler, alone."""
    return measured(app, model=str(place.model), **ALONE)


@pytest.fixture
def listener(app, place, monkeypatch):
    """The page with the model of a run that has one."""
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    return measured(app, model=str(runs.find("both").model), sts="Sample pairs")


def typed(app, one, other):
    """The page after another page has chosen a pair."""
    app.session_state[selection.PAIR] = selections.keep((one, other))
    return measured(app)


def shown(app, tab):
    """The page with a tab open."""
    app.session_state[first_screen.TAB] = tab
    return measured(app)


def words(elements):
    return " ".join(one.value.replace("\\", "") for one in elements)


def charts(app):
    return len(app.get("plotly_chart"))


def answer(app):
    return app.main.markdown[0].value.replace("\\", "")


def downloads(app):
    return [one.proto.label for one in app.get("download_button")]


def test_without_a_pooler_the_page_shows_the_papers_pair_by_layer_and_its_heads(plain):
    assert all(text[:40] in words(plain.markdown) for text in PAPERS)
    assert like(pair_view.ADDS_MOST).search(answer(plain))
    assert charts(plain) == 3
    assert downloads(plain) == [pair_view.HEAD_FILE, pair_view.FILE.format("A")]
    assert not plain.error


def test_with_a_pooler_each_tab_shows_its_part_of_it(listener):
    assert charts(listener) == 3, "the figure, and both heatmaps of the first tab"
    assert downloads(listener) == [pooler_view.FILE]
    shown(listener, pooler_view.SCORES)
    told = words(listener.markdown)
    assert pooler_view.SCORES_ON.format("Sample pairs") in told
    assert BEST_SCORE.search(told)
    shown(listener, pooler_view.OVER_TRAINING)
    assert pooler_view.HISTORY.partition(":")[0].format(1, "both") in words(listener.caption)
    assert downloads(listener) == [pooler_view.HISTORY_FILE]
    shown(listener, pooler_view.PARTS)
    (parts,) = listener.dataframe
    assert list(parts.value["part"]) == ["cls of the last layer", "attention over layers"] * 2
    shares = parts.value[parts.value["part"] == "attention over layers"]["share"]
    assert [card.value for card in listener.metric] == [f"{100 * share:.1f} %" for share in shares]
    assert listener.metric[0].label == pooler_view.SHARE.format("A", "first")
    shown(listener, pair_view.HEADS_TITLE)
    assert downloads(listener) == [pair_view.HEAD_FILE]


def test_nearly_uniform_weights_name_no_highest_layer(listener, monkeypatch):
    shown(listener, pooler_view.SCORES)
    for limit, uniform in ((1e9, True), (0.0, False)):
        monkeypatch.setattr(attention_weights, "UNIFORM", limit)
        told = words(measured(listener).markdown)
        assert (pooler_view.UNIFORM in answer(listener)) == uniform
        assert bool(HIGHEST.search(told)) != uniform
        assert (lead(pooler_view.CORRELATION) in told) == (not uniform)
        assert BEST_SCORE.search(told)


def test_another_pooler_stands_beside_it_on_one_scale(listener):
    entered(listener, listener.selectbox(key="pooler"), "run:alone")
    assert charts(listener) == 6
    assert "cls of the last layer + attention over layers" in words(listener.markdown)


def test_a_model_b_without_a_pooler_is_compared_in_words(app):
    measured(app, model=f"run:{POOLER}", beside=lookup.BUNDLED, precision="float32")
    shown(app, pooler_view.SCORES)
    told = words(app.markdown)
    sides = [find(name) for name in (f"run:{POOLER}", lookup.BUNDLED)]
    cosines = []
    for side, name in zip(sides, "AB", strict=True):
        one, other = finish(of_reading(load(side, "float32", "cpu"), PAPERS, OWN))
        cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
        cosines.append(f"{cosine:.3f} under {name}".replace("-", "−"))
    assert pooler_view.COSINES.format(" and ".join(cosines)) in told
    weights = attention_weights.layer_weights(load(sides[0], "float32", "cpu"), PAPERS)
    assert " and ".join(f"{of_layers.max():.2f}" for of_layers in weights.by_layer) in told
    assert f"layer {weights.highest_layers[0]} " in answer(app)
    scores = [stored_scores(shelf_key(side, sample.pairs(), Settings())) for side in sides]
    gap = Comparison(*scores, OWN, OWN).chosen()
    assert all(f"{one.own_score():.2f}" in told for one in scores)
    assert f"{gap.low:+.2f} to {gap.high:+.2f}".replace("-", "−") in told.replace("-", "−")


def test_the_example_with_a_pooler_is_beside_a_model_without_one_and_a_and_b_stay_as_they_are(app):
    measured(app)
    assert app.selectbox(key="pooler").value == f"run:{POOLER}"
    assert answer(app).startswith("A: ")
    assert like(pooler_view.MOST_WEIGHT).search(answer(app))
    entered(app, app.selectbox(key="pooler"), shown_sides.NO_B)
    assert "B: " not in answer(app)
    assert (app.selectbox(key="model").value, app.selectbox(key="beside").value) == (lookup.BUNDLED, "nothing")
    shown(app, pooler_view.MORE)
    assert pooler_view.PAPER.replace("\\", "") in words(app.caption)


def test_a_pooler_with_nothing_beside_it_says_so(app, place, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    measured(app, model=str(runs.find("alone").model))
    shown(app, pooler_view.PARTS)
    assert lead(pooler_view.ATTENTION_ALONE) in words(app.caption)
    assert not app.dataframe


def test_runs_with_a_pooler_are_in_the_menu(app, place, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    measured(app, model=str(place.model))
    assert {"both run", "alone run"} <= {*app.selectbox(key="pooler").options}


def test_a_run_made_before_looks_kept_weights_says_that_there_is_no_path(app, place, monkeypatch):
    old = trainings.train(trainings.new(place, "layer-attention", name="old", settings={"steps": 2}))
    for file in old.folder.rglob("*layers.npy"):
        file.unlink()
    measured(app, model=str(old.model))
    shown(app, pooler_view.OVER_TRAINING)
    assert pooler_view.NO_HISTORY.format("old") in words(app.caption)


def test_layer_and_head_are_chosen_by_keyboard(plain):
    plain.selectbox(key="layer").select("2")
    entered(plain, plain.selectbox(key="head"), "2")
    assert pair_view.SHOWN.format(2, 2) in words(plain.caption)


def test_a_link_shows_the_layer_and_head_that_it_names(app, place):
    measured(app, model=str(place.model), layer="2", head="2", **ALONE)
    assert pair_view.SHOWN.format(2, 2) in words(app.caption)


@pytest.mark.parametrize("value", ["99", "0", "<b>", ""])
def test_a_layer_that_is_not_there_falls_back_to_the_first(app, place, value):
    app.query_params["model"] = str(place.model)
    app.query_params |= ALONE
    app.query_params["layer"] = app.query_params["read"] = app.query_params["heads"] = value
    measured(app)
    assert app.selectbox(key="layer").value == "1"
    assert not app.error


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_family_has_something_to_show_and_a_decoder_is_told_to_read_from_left_to_right(app, tmp_path, kind):
    measured(app, model=str(save_tiny(kind, tmp_path / kind)), **ALONE)
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
        assert charts(listener) == 3, kind
        begin = f"“{messages.plain(messages.shortened(text, 36))}”"
        shown = Shown(next(one.value for one in listener.markdown if one.value == begin))
        assert shown.words == f"“{messages.shortened(text, 36)}”".split()
        assert (shown.tags, shown.found_later) == ({"p"}, []), kind


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


def test_the_pair_is_that_of_every_page(plain):
    typed(plain, "a man", "a dog")
    plain.switch_page("pages/start.py").run()
    assert [plain.text_input(key=key).value for key in (first_pair.FIRST, first_pair.SECOND)] == ["a man", "a dog"]
    plain.switch_page(PAGE)
    measured(plain)
    assert "“a man” / “a dog”" in words(plain.markdown)
