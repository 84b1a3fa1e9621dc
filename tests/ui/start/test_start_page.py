"""The three ways in on the Start page: where each leads, what it sets, and which steps it calls done."""

import os
from unittest import mock

import pytest

from explorer import run_folder
from explorer.data import splitting
from explorer.data.graded import sets
from explorer.data.sources import written
from explorer.data.text_sets import GradedPairs
from explorer.training.record import runs
from explorer.ui.start import ways_in
from explorer.ui.train import text_and_method
from tests import trainings
from tests.visits import error_of, measured, opened, words


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def start(furnished, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    return furnished


@pytest.fixture
def no_example(monkeypatch, tmp_path):
    for module in (run_folder, runs):
        monkeypatch.setattr(module, "examples_folder", lambda: tmp_path / "nothing ships")


@pytest.fixture
def uploaded(cache):
    first, second = (tuple(f"{what} {row}" for row in range(60)) for what in ("it rains", "it pours"))
    return sets.keep(GradedPairs("mine.csv", first, second, tuple(float(row % 7) for row in range(60)), ("",) * 60))


def rails(app):
    """The steps of each door, and whether each is called done."""
    told = [one for one in words(app.markdown) if ways_in.OPEN in one or ways_in.DONE in one]
    return [[line.strip().endswith("(done)") for line in rail.splitlines()] for rail in told]


def through(app, key):
    """Click a door's button and go where it leads, which without a browser takes two steps."""
    with mock.patch("streamlit.switch_page") as led:
        app.button(key=key).click().run()
    (page,) = led.call_args.args
    app.switch_page(page)
    measured(app)
    return app.title[0].value


def test_the_first_door_leads_to_the_example(app, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    measured(app)
    assert rails(app)[0] == [True, True, False]
    assert through(app, "door compare") == "Compare"
    assert app.selectbox(key="model").value == "all-MiniLM-L6-v2"
    assert app.selectbox(key="beside").value == "run:example"
    assert app.selectbox(key="sts").value == "Sample pairs, test half"
    assert any(name in told for told in words(app.success) for name in ("**negation**", "**numbers**")), (
        "what it learned"
    )
    assert not words(app.error)


@pytest.mark.usefixtures("no_example")
def test_without_an_example_the_first_door_leads_to_a_run_of_ones_own(start):
    measured(start)
    assert rails(start) == [[True, False, False]] * 3
    assert through(start, "door train defaults") == "Train"


def test_without_own_pairs_the_second_door_leads_to_the_layers_of_the_sample(start):
    measured(start)
    assert through(start, "door layers sample") == "Layers"
    assert start.selectbox(key="sts").value == "Sample pairs"


def test_own_pairs_are_scored_by_a_click(start, uploaded):
    measured(start)
    assert rails(start)[1:] == [[True, True, False], [True, True, False]]
    assert through(start, "door layers") == "Layers"
    assert start.selectbox(key="sts").value == written(uploaded)
    opened(start, "start")
    assert rails(start)[1] == [True, True, True], "they have been scored since"


def test_own_pairs_are_the_text_of_the_form_by_a_click(start, uploaded):
    measured(start)
    assert through(start, "door train own") == "Train"
    assert start.multiselect[0].value == [written(sets.parts(uploaded)[0])]


def test_upload_text_and_train_opens_the_upload_box_without_an_error(start):
    measured(start)
    assert through(start, "door train") == "Train"
    assert start.multiselect(key="data").value == []
    assert text_and_method.ASKED in words(start.info)
    assert words(start.error) == []
    assert start.button(key="run start").disabled


def test_own_pairs_that_cannot_be_split_say_why_in_place_of_the_button(start, cache):
    few = GradedPairs("few.csv", ("a", "b"), ("c", "d"), (1.0, 2.0), ("", ""))
    sets.keep(few)
    measured(start)
    assert "door train own" not in {one.key for one in start.button}
    assert error_of(lambda: splitting.halves(few)) in words(start.caption)


@pytest.mark.usefixtures("no_example")
def test_a_tuned_model_is_compared_with_its_base_on_its_test_set(start, place, tmp_path):
    name = "mine"
    trained = trainings.train(trainings.new(place, "simcse", name=f"{name}-made", settings={"steps": 2}))
    (tmp_path / "runs").mkdir()
    trained.folder.rename(tmp_path / "runs" / name)
    measured(start, reading="cls of layer 1")
    assert rails(start)[0] == [True, True, False]
    assert through(start, "door compare") == "Compare"
    assert start.selectbox(key="model").value == str(place.model)
    assert start.selectbox(key="beside").value == f"run:{name}"
    assert start.selectbox(key="sts").value == str(place.test)
    assert start.selectbox(key="reading").value == "model default"


def test_the_models_of_the_three_newest_runs_are_listed_and_those_of_older_ones_folded(start, no_example, tmp_path):
    for age, name in enumerate(("newest", "second", "third", "fourth", "oldest")):
        run = tmp_path / "runs" / name
        (run / "model").mkdir(parents=True)
        os.utime(run, (1e9 - age, 1e9 - age))
    start.run()
    listed = [one.value for one in start.text if one.value.startswith("run:")]
    assert listed == ["run:newest", "run:second", "run:third"]
    assert ways_in.OLDER.format(2) in [one.label for one in start.expander]
