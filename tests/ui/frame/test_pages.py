"""Test every page without a browser, above all Layers and the sidebar, and the page of docs/adding_a_page.md."""

import re
import shutil
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import streamlit as st
from huggingface_hub import constants
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest
from transformers import AutoTokenizer

from explorer.data import sample
from explorer.data.graded import published_sets, sets, sts
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import Reading, Row, parse
from explorer.measuring.scores import best_cell, layer_scores, pair_cosines
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.layer_scores import score_layers
from explorer.measuring.scores.metrics import LEAST_PAIRS, TOO_FEW, no_score_in_words
from explorer.progress import finish
from explorer.ui import layers
from explorer.ui.access import set_choice
from explorer.ui.frame import page_frame, page_list, sidebar
from explorer.ui.size import size_view
from tests import trainings
from tests.device import DEVICE
from tests.live import ROOT
from tests.tiny_models import save_tiny
from tests.visits import (
    buttons,
    cards,
    entered,
    error_of,
    fetches,
    layer_table,
    lead,
    measured,
    opened,
    pressed,
    tab,
    words,
)

NOT_MEASURED = pair_cosines.NOT_MEASURED.partition(": ")[0]


def test_every_page_of_the_folder_is_in_the_menu():
    assert {f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py")} == {page.file for page in page_list.PAGES}


@pytest.mark.parametrize("page", page_list.PAGES, ids=lambda page: page.name)
def test_every_page_opens_and_says_its_purpose_under_its_title(furnished, page, monkeypatch):
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)  # the first page that a server is asked for
    app = opened(furnished, page.name, projection="PCA")
    assert app.title
    assert words(app.caption)[0] == page.purpose


SCORING = {"reading", "beside", "sts", "precision", "max_length"}


def test_a_page_without_scores_shows_no_control_of_them_and_loses_no_choice(app):
    chosen = {"reading": "cls of layer 2", "sts": "Sample pairs, test half", "beside": "all-MiniLM-L6-v2"}
    measured(app, **chosen)
    app.switch_page("pages/train.py").run()
    assert SCORING.isdisjoint(one.key for one in (*app.selectbox, *app.radio, *app.number_input))
    opened(app, "layers")
    assert {name: app.selectbox(key=name).value for name in chosen} == chosen
    assert app.radio(key="precision").value == "float32"


def chosen_set(app, page):
    """The evaluation set of a page in the sidebar, and whether the address names it."""
    app.switch_page(f"pages/{page}.py").run()
    return app.selectbox(key="sts").value, "sts" in app.query_params


def test_models_are_judged_on_the_half_that_chose_nothing_until_a_set_is_chosen(furnished):
    assert chosen_set(furnished, "layers") == ("Sample pairs", False)
    furnished.switch_page("pages/train.py").run()
    assert chosen_set(furnished, "compare") == ("Sample pairs", False), "without a model B none is judged"
    furnished.selectbox(key="beside").select(furnished.selectbox(key="model").value).run()
    assert chosen_set(furnished, "compare") == (sample.TEST, False)
    assert chosen_set(furnished, "layers") == ("Sample pairs", False)
    chosen_set(furnished, "compare")
    furnished.selectbox(key="sts").select("Sample pairs").run()
    assert furnished.selectbox(key="sts").value == "Sample pairs"
    for page in ("layers", "compare"):
        assert chosen_set(furnished, page)[0] == "Sample pairs", "it was chosen"


@pytest.mark.parametrize(("name", "said"), [("sts", "1"), ("reading", "2"), ("max_length", "²"), ("max_length", "x")])
def test_a_number_in_a_link_is_a_number_only_where_one_is_due(app, name, said):
    app.query_params[name] = said
    for page in ("train", "layers"):
        assert not app.switch_page(f"pages/{page}.py").run().exception, page


NO_MODELS = ["nonsense", "no/such-model", "no/such@main", "/no/such/folder", "<b>x</b>", "a b"]
NO_MODELS += ["x" * 500, "x" * 500 + "@b", "~nobody@x", "@"]
# all of them on one page, since each page has the same sidebar, and the oddest one on each page
LINKS = [("pages/layers.py", model) for model in NO_MODELS]
LINKS += [(page.file, "\0") for page in page_list.PAGES if page.name != "results"]


@pytest.mark.parametrize(("file", "model"), LINKS)
def test_a_model_that_is_not_there_is_an_error_in_words(app, file, model):
    app.query_params["model"] = model
    app.switch_page(file).run()
    assert app.error
    assert app.selectbox(key="model").value == model, "what was typed stays, to be mended"


def test_layers_chooses_on_the_dev_half_of_the_sample_and_reports_on_its_test_half(app, bundled_scores):
    opened(app, "layers", precision="float32")
    whole = sample.pairs()
    dev, test = (bundled_scores.of_pairs(whole.rows_of(half)) for half in (sample.dev(), sample.test()))
    found = best_cell.choose(dev, test)
    shown = layer_table(app)
    assert float(shown[layers.BEST_ON_DEV].score) == pytest.approx(found.test_score, abs=0.02)
    assert float(shown[layers.DEFAULT].score) == pytest.approx(test.own_score(), abs=0.02)
    assert float(shown[layers.BEST_ON_DEV].dev) == pytest.approx(found.dev_score, abs=0.02)
    boxes = [one for kind in (app.info, app.success, app.warning) for one in words(kind)]
    both = f"{found.dev_score:.2f}", f"{found.test_score:.2f}"
    sets_of = sample.dev().name, f"{len(sample.dev())} pairs", "", both[0], sample.test().name, both[1]
    (verdict,) = (one for one in boxes if one.startswith(layers.VERDICT.format(found.best.title, *sets_of)))
    assert sum(text.count(both[1]) for text in [*boxes, *words(app.markdown), *words(app.caption)]) == 1
    scores, second = (found.runner_up_score, found.test_score), layers.SECOND.format(found.runner_up.title)
    assert best_cell.difference_in_words(scores, found.over_runner_up, second) in verdict
    assert len(app.get("plotly_chart")) == 2
    assert len(tab(app, layers.COSINES).get("plotly_chart")) == 3


def test_a_best_layer_that_is_worse_on_the_test_set_is_not_called_the_best(app, monkeypatch):
    mean, other = (Reading(Row((layer,)), "mean") for layer in (1, 5))
    worse = Interval(*map(np.asarray, (-2.0, -3.0, -1.0)))
    better = Interval(*map(np.asarray, (0.1, -1.0, 1.0)))
    found = best_cell.BestCell(mean, 87.01, 82.37, other, worse, better, 84.37, 82.27)
    monkeypatch.setattr(layers, "best_layer", lambda *_: found)
    opened(app, "layers")
    named = layers.FAILS.format(sample.dev().name, f"{len(sample.dev())} pairs", mean.title, "87.01", "{}", "82.37", "")
    (told,) = (one for one in words(app.warning) if one.startswith(named.partition("{}")[0]))
    assert best_cell.difference_in_words((84.37, 82.37), worse, layers.SECOND.format(other.title)) in told
    assert not any("is the best on" in one for kind in (app.info, app.success) for one in words(kind))


@pytest.mark.parametrize("sure", [True, False])
def test_a_best_of_the_grid_below_the_model_default_is_not_recommended(app, monkeypatch, sure):
    best, second = (Reading(Row((layer,)), "max") for layer in (2, 1))
    below = Interval(*map(np.asarray, (-2.96, -5.0, -0.5 if sure else 0.4)))
    above = Interval(*map(np.asarray, (0.5, -1.0, 2.0)))
    found = best_cell.BestCell(best, 80.0, 79.07, second, above, below, 78.57, 82.03)
    monkeypatch.setattr(layers, "best_layer", lambda *_: found)
    opened(app, "layers")
    (told,) = (one for kind in (app.info, app.warning) for one in words(kind) if best.title in one)
    assert told.startswith(lead(layers.FAILS if sure else layers.BELOW))
    assert "2.96 below the model default" in told
    assert not any("is the best on" in one for kind in (app.info, app.success) for one in words(kind))


def test_a_second_best_that_is_the_model_default_is_named_once(app, monkeypatch):
    best, default = (Reading(Row(layers), "mean") for layers in ((0, 6), (6,)))
    gap = Interval(*map(np.asarray, (0.35, -0.47, 1.13)))
    found = best_cell.BestCell(best, 87.02, 82.38, default, gap, gap, 82.03, 82.03)
    monkeypatch.setattr(layers, "best_layer", lambda *_: found)
    opened(app, "layers")
    (told,) = (one for one in words(app.info) if one.startswith(f"**{best.title}** is the best"))
    assert layers.ALSO_SECOND in told
    assert told.count("0.35 above") == 1


def test_a_best_layer_that_is_tied_is_said_to_be(app, monkeypatch):
    best, second, third = (Reading(Row((layer,)), "mean") for layer in (4, 5, 3))
    gap = Interval(*map(np.asarray, (0.0, -0.5, 0.5)))
    found = best_cell.BestCell(best, 99.08, 99.08, second, gap, gap, 99.08, 99.08, (second, third))
    monkeypatch.setattr(layers, "best_layer", lambda *_: found)
    opened(app, "layers")
    (told,) = (one for one in words(app.info) if one.startswith(f"**{best.title}** is the best"))
    assert f", tied with {second.title} and 1 more: 99.08 → " in told
    assert f"as high as {second.title} (−0.50 to +0.50)" in told
    assert lead(layers.SECOND) not in told
    assert {layers.DEV_TIED, layers.BEST_ON_DEV} <= layer_table(app).keys()


def own_set(count=60):
    """Pairs that share no sentence."""
    gold, first, second = zip(*(line.split(",") for line in trainings.graded_lines(Random(0), count)), strict=True)
    return GradedPairs("mine.csv", first, second, tuple(map(float, gold)), ("",) * count)


@pytest.fixture(scope="module")
def tiny(place):
    """The model of `furnished`."""
    return load(find(str(place.model)), precision="float32", device=DEVICE)


def test_an_own_set_is_reported_on_its_test_half(furnished, tmp_path, monkeypatch, tiny):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    own = sets.keep(own_set())
    app = opened(furnished, "layers", sts=own.written, precision="float32")
    dev, test = (finish(score_layers(tiny, sets.uploaded_pairs(half))) for half in sets.halves(own))
    assert float(layer_table(app)[layers.BEST_ON_DEV].score) == pytest.approx(test.score(dev.best()), abs=0.02)
    assert any("mine.csv, test half" in told for told in words(app.caption))


def test_an_own_set_that_cannot_be_split_says_why_and_warns_of_the_best_cell(furnished, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    own = sets.keep(own_set(12))
    app = opened(furnished, "layers", sts=own.written)
    assert any(label.startswith(lead(layers.BEST_OF_ALL)) for label in layer_table(app))
    assert any(layers.INFLATED in told for told in words(app.info))
    assert (why := sets.why_not_split(own))
    assert why in words(app.caption)


@pytest.mark.parametrize("title", ["STS-B test", "stsb test", "STS-B dev"])
def test_a_published_test_set_is_reported_with_its_dev_set(furnished, tmp_path, monkeypatch, tiny, title):
    monkeypatch.setenv("STRATA_DATA", str(tmp_path / "sets"))
    monkeypatch.setattr(
        published_sets, "SETS", (small := small_set(tmp_path / "sets" / "STSB"), *published_sets.SETS[1:])
    )
    app = opened(furnished, "layers", sts=title, precision="float32")
    dev, test = (finish(score_layers(tiny, sts.load(small.name, split))) for split in ("dev", "test"))
    assert float(layer_table(app)[layers.BEST_ON_DEV].score) == pytest.approx(test.score(dev.best()), abs=0.02)
    assert any(lead(layers.DIFFERENCES) + " STS-B test" in told for told in words(app.caption))


def test_a_test_set_without_its_dev_set_offers_to_fetch_it(furnished, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_DATA", str(tmp_path / "sets"))
    monkeypatch.setattr(published_sets, "SETS", (small_set(tmp_path / "sets" / "STSB"), *published_sets.SETS[1:]))
    (tmp_path / "sets" / "STSB" / "dev.tsv").unlink()
    app = opened(furnished, "layers", sts="STS-B test")
    assert any(layers.INFLATED in told for told in words(app.info))
    assert fetches(app) == [set_choice.FETCH.format("STS-B dev")]


def small_set(folder):
    """STS-B, as if it had 40 pairs a split."""
    folder.mkdir(parents=True)
    for at, name in enumerate(("dev", "test")):
        pairs = own_set(40)
        rows = zip(pairs.gold, pairs.first, pairs.second, strict=True)
        lines = [f"{gold}\t{first}{'!' * at}\t{second}\n" for gold, first, second in rows]
        (folder / f"{name}.tsv").write_text("score\tsentence1\tsentence2\n" + "".join(lines), encoding="utf-8")
    splits = tuple(sts.Split(name, f"STSB/{name}.tsv", 40, on_hub=(name,)) for name in ("dev", "test"))
    return replace(published_sets.SETS[0], splits=splits, part=None, tag=None)


def test_a_link_names_encoder_set_and_reading(app):
    opened(app, "layers", reading="max of layers 1 + 6", precision="float32")
    assert app.selectbox(key="reading").value == "max of layers 1 + 6"
    assert any("float32" in caption.value for caption in app.caption)


@pytest.mark.parametrize("named", [None, "mean of layer 99", "model default"])
def test_without_a_layer_and_pooling_that_the_encoder_has_it_is_the_model_default(app, named, bundled_scores):
    if named:
        app.query_params["reading"] = named
    opened(app, "layers")
    assert app.selectbox(key="reading").value == (named or "model default"), "what was typed stays, to be mended"
    assert len(app.sidebar.warning) == (named == "mean of layer 99")
    score = bundled_scores.of_pairs(sample.pairs().rows_of(sample.test())).own_score()  # what the page reports on
    assert float(layer_table(app)[layers.CHOSEN].score) == pytest.approx(score, abs=0.01)


def test_an_encoder_that_declares_nothing_is_pooled_by_the_mean_of_its_last_layer(app, tmp_path):
    opened(app, "layers", model=str(save_tiny("bert", tmp_path / "model")))
    assert app.selectbox(key="reading").value == "model default"
    assert layer_table(app)[layers.CHOSEN].cell == "mean of layer 2"


def test_the_reading_is_kept_from_page_to_page(app):
    opened(app, "layers")
    app.selectbox(key="reading").select("cls of layer 3").run()
    for page in ("start", "layers"):
        assert app.switch_page(f"pages/{page}.py").run().selectbox(key="reading").value == "cls of layer 3", page


def write_reading(app: AppTest, typed: str) -> None:
    """Type a layer & pooling that is not in the menu, and press Enter."""
    box = app.selectbox(key="reading")
    box.options.append(typed)  # the test double of Streamlit knows no others
    box.set_value(typed).run()


@pytest.fixture(scope="module")
def six_layers(tmp_path_factory):
    """An encoder with as many layers as the one that is included."""
    return find(str(save_tiny("bert", tmp_path_factory.mktemp("six layers"), num_hidden_layers=6)))


@pytest.fixture
def of_six_layers(app, six_layers):
    """The app with that encoder as A and as B and a set of the visitor, the encoder, and the set."""
    own = sets.keep(own_set())
    app.query_params["precision"], app.query_params["sts"] = "float32", own.written
    app.query_params["model"] = app.query_params["beside"] = str(six_layers.folder)
    return app, load(six_layers, precision="float32", device=DEVICE), own


TYPED = [(title, title.strip()) for title in ("last of layer 3", "mean of layers 4-6 ")]


@pytest.mark.parametrize(("typed", "title"), [*TYPED, ("max of layers 2-2", "max of layer 2")])
def test_a_layer_and_pooling_outside_of_the_grid_can_be_typed(of_six_layers, typed, title):
    app, encoder, own = of_six_layers
    app.switch_page("pages/layers.py")
    write_reading(app.run(), typed)
    measured(app)
    assert [*app.error, *app.sidebar.warning] == []
    half = finish(score_layers(encoder, sets.uploaded_pairs(sets.halves(own)[1]), also=[parse(title, 6)]))
    shown = layer_table(app)[layers.CHOSEN]
    assert (float(shown.score), shown.cell) == (pytest.approx(half.score(parse(title, 6)), abs=0.01), title)


def test_a_layer_and_pooling_outside_of_the_grid_is_compared(of_six_layers):
    app, encoder, own = of_six_layers
    opened(app, "compare", reading="mean of layers 4-6", beside_reading="last of layer 6", tab="Layers")
    assert [*app.error, *app.sidebar.warning] == []
    one, other = parse("mean of layers 4-6", 6), parse("last of layer 6", 6)
    scores = finish(score_layers(encoder, sets.uploaded_pairs(own), also=[one, other]))
    (line,) = [one for one in words(app.markdown) if one.startswith("Under the chosen")]
    assert all(f"**{scores.score(side):.2f}**" in line for side in (one, other))


@pytest.mark.parametrize("page", ["start", "sentences", "map", "search", "layer_attention"])
def test_every_other_page_takes_a_layer_and_pooling_outside_of_the_grid(of_six_layers, page):
    app, *_ = of_six_layers
    opened(app, page, reading="last of layers 4-6", beside_reading="weighted mean of layer 3", projection="PCA")
    assert [*app.error, *app.sidebar.warning] == []


def test_a_typed_layer_and_pooling_that_the_encoder_lacks_is_refused_in_place(app, nothing_is_measured):
    app.switch_page("pages/start.py").run()
    for typed in ("last of layer 7", "median of layer 1", "mean of layers 5-3", "anything"):
        write_reading(app, typed)
        assert app.selectbox(key="reading").value == typed, "what was typed stays, to be mended"
        (told,) = words(app.sidebar.warning)
        assert told.startswith(f"There is no layer & pooling '{typed}' here")
        assert told.endswith("Until then 'model default' is used.")
    write_reading(app, "mean of layers 1-3")
    assert not app.sidebar.warning


@pytest.mark.parametrize(
    ("page", "name"),
    [("layers", "STS16 test"), ("layers", "sts16 test"), ("compare", "STS16"), ("map", "STS16"), ("search", "STS16")],
)
def test_a_published_set_that_is_not_on_this_disk_is_a_card_with_a_fetch_button(app, monkeypatch, page, name):
    monkeypatch.delenv("STRATA_DATA", raising=False)
    opened(app, page, sts=name, beside="all-MiniLM-L6-v2")
    assert words(app.error) == []
    card = set_choice.NOT_ON_DISK.format("STS16 test", f"`{sts.VARIABLE}`")
    assert len([said for said in words(app.info) if said.startswith(card)]) == 1
    assert fetches(app) == [set_choice.FETCH.format("STS16 test")]


def test_a_set_that_the_hub_does_not_have_is_a_card_without_a_fetch_button(app, monkeypatch):
    monkeypatch.delenv("STRATA_DATA", raising=False)
    app.query_params["sts"] = "SICK-R test"
    app.switch_page("pages/layers.py").run()
    assert not app.error
    card = set_choice.NOT_ON_HUB.format("SICK-R test", f"`{sts.VARIABLE}`")
    assert any(said.startswith(card) for said in words(app.info))
    assert not fetches(app)


@pytest.mark.parametrize("name", ["STS99 test", "STS16 dev", "nonsense", "mine.csv · 0123abcd"])
def test_a_name_that_means_no_set_is_an_error(app, name):
    app.query_params["sts"] = name
    app.switch_page("pages/layers.py").run()
    assert len(app.error) == 1
    assert words(app.info) == fetches(app) == []


def test_an_impossible_length_is_an_error_in_words(app, bundled_encoder):
    opened(app, "layers", max_length="5000")
    assert words(app.error) == [error_of(lambda: bundled_encoder.limit(5000))]
    assert any(key.startswith("again ") for key in buttons(app))


def test_a_broken_model_folder_is_an_error_in_words(app, tmp_path):
    folder = save_tiny("bert", tmp_path / "model")
    (folder / "modules.json").write_text("{broken", encoding="utf-8")
    app.query_params["model"] = str(folder)
    app.switch_page("pages/layers.py").run()
    assert "modules\\.json" in app.error[0].value


def test_what_is_wrong_with_one_folder_is_not_told_of_another(app, tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        app.run().text_input(key=sidebar.ANOTHER).input(str(tmp_path / name)).run()
        measured(app)
        (told,) = words(app.error)
        assert str(tmp_path / name) in told
        assert "config.json" in told


def test_an_encoder_of_today_is_chosen_from_a_list_that_says_which_are_on_this_disk(app, tmp_path, monkeypatch):
    name = "intfloat/e5-base-v2"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    box = app.switch_page("pages/layers.py").run().selectbox(key=sidebar.OF_TODAY)
    assert name in box.options, "the premise"
    box.set_value(name).run()
    assert app.session_state["model"] == name
    assert app.selectbox(key=sidebar.OF_TODAY).value is None
    assert any(button.label.startswith("Ask the hub for the size and the licence") for button in app.button)
    snapshot = tmp_path / f"models--{name.replace('/', '--')}" / "snapshots" / "0"
    save_tiny("bert", snapshot)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("0")
    assert f"{name} · on this disk" in app.run().selectbox(key=sidebar.OF_TODAY).options


def test_scores_that_cannot_be_kept_are_shown_and_an_emptied_shelf_is_filled_again(app, tmp_path, monkeypatch):
    blocked = tmp_path / "a file where the folder should be"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("STRATA_CACHE", str(blocked))
    opened(app, "layers", model=str(save_tiny("bert", tmp_path / "model")))
    assert words(app.error) == []
    assert layers.CHOSEN in layer_table(app)
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    opened(app, "layers", model=str(save_tiny("bert", tmp_path / "model", seed=3)))
    shutil.rmtree(tmp_path / "cache")
    st.cache_resource.clear()
    measured(app)
    assert layers.CHOSEN in layer_table(app)


def test_a_sub_corpus_without_a_correlation_is_named(furnished, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    texts = ("it rains", "it pours", "the sun is out", "a cat", "two dogs", "a small boat", "a ship", "bread")
    first, second, gold = (*texts[:4], *texts[2:4]), (*texts[4:], *texts[:2]), (1.0, 2.0, 4.0, 3.0, 0.5, 2.5)
    own = sets.keep(GradedPairs("mine.csv", first, second, gold, (*"aaaaa", "single")))
    app = opened(furnished, "layers", sts=own.written, aggregate="mean")
    assert any(told.startswith(layers.SILENT.format("mean", "single", LEAST_PAIRS)) for told in words(app.warning))
    assert {one.score for one in layer_table(app).values()} == {layer_scores.NO_SCORE}
    why = no_score_in_words(TOO_FEW, 1)
    assert {one.cell for one in layer_table(app).values()} == {
        layer_scores.NO_CORRELATION.format("mean", "single", why)
    }


@pytest.mark.parametrize(
    ("page", "with_b"), [("layers", False), ("compare", False), ("compare", True), ("size", False)]
)
def test_a_set_of_too_few_pairs_has_no_score_and_says_why(furnished, place, page, with_b):
    state = {"beside": f"{place.model}", "other": "mean of layer 0"} if with_b else {}
    app = opened(furnished, page, sts="Sample pairs, 3 items", **state)
    if page == "size":
        pressed(app, size_view.START)
    assert no_score_in_words(TOO_FEW, 3) in "\n".join([*words(app.markdown), *words(app.caption), *words(app.warning),
                                                       *(card.delta or "" for card in app.metric)])  # fmt: skip
    assert not [card for card in app.metric if card.value in ("100.00", "−100.00", "50.00", "−50.00")]
    assert not [*app.success, *app.error]
    if page == "layers" or (page == "compare" and not with_b):
        assert not app.get("plotly_chart"), "a figure without a number"


def test_what_bfloat16_cannot_measure_is_empty_with_its_reason(app, tmp_path):
    save_tiny("bert", tmp_path / "tiny")  # as its weights are made up, every [CLS] is almost the same
    title, reason = "cls of layer 1", pair_cosines.NOT_MEASURABLE.format("bfloat16")
    opened(app, "layers", model=str(tmp_path / "tiny"), precision="bfloat16", reading=title)
    assert layer_table(app)[layers.CHOSEN].score == layer_scores.NO_SCORE
    assert layer_table(app)[layers.CHOSEN].cell == reason
    (told,) = (said for said in words(app.caption) if said.startswith(NOT_MEASURED.format("bfloat16")))
    assert title in told
    tab(app, layers.COSINES)
    assert any(title in said and reason in said for said in words(app.info))
    assert len(app.get("plotly_chart")) == 2, "no cosines are drawn"
    entered(app, app.radio(key="precision"), "float32")
    assert len(app.get("plotly_chart")) == 3
    tab(app, layers.SCORES)
    assert layer_table(app)[layers.CHOSEN].score != layer_scores.NO_SCORE
    assert not any(said.startswith(lead(NOT_MEASURED)) for said in words(app.caption))


def test_the_page_of_the_document_is_drawn_with_its_purpose(tmp_path, monkeypatch):
    text = (ROOT / "docs" / "adding_a_page.md").read_text(encoding="utf-8").replace("\n   ", "\n")
    page, entry = re.findall(r"```python\n(.*?)```", text, re.S)
    shutil.copy(ROOT / "app.py", tmp_path)
    shutil.copytree(ROOT / "pages", tmp_path / "pages")
    (tmp_path / "pages" / "tokens.py").write_text(page, encoding="utf-8")
    pages = (*page_list.PAGES, eval(entry, vars(page_list)))
    monkeypatch.setattr(page_list, "PAGES", pages)
    monkeypatch.setattr(page_frame, "PAGES", pages)
    app = AppTest.from_file(str(tmp_path / "app.py"), default_timeout=60)
    opened(app, "tokens")
    assert app.title[0].value == "Tokens"
    assert words(app.caption)[0] == pages[-1].purpose
    tokens = AutoTokenizer.from_pretrained(find("all-MiniLM-L6-v2").folder)("The kettle boils.")["input_ids"]
    assert cards(app)["Tokens"] == str(len(tokens))
