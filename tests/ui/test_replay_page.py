"""The Replay page, without a browser."""

import pytest

from tests import trainings
from tests.visits import cards, measured


@pytest.fixture(scope="module")
def runs(place):
    asked = {"steps": 4, "evaluate_every": 2}
    for name, kept, seeds in (("plain", False, (1,)), ("kept", True, (1,)), ("seeds", False, (5, 6))):
        trainings.train(trainings.new(place, "simcse", name=name, settings=asked | {"keep_steps": kept}, seeds=seeds))


@pytest.fixture
def app(furnished, runs):
    furnished.switch_page("pages/replay.py")
    furnished.query_params["sts"] = "Sample pairs"
    return furnished


def test_a_step_shows_what_its_look_measured(app, place):
    app.query_params["replayed"] = "plain"
    app.run()
    run = trainings.runs.find("plain", place.runs)
    slider = app.select_slider(key="replayed_step")
    assert slider.options == [str(step) for step in trainings.looks(run)]
    for step, score in trainings.looks(run).items():
        app.select_slider(key="replayed_step").set_value(step)
        app.run()
        assert not app.exception
        assert cards(app)["Development pairs"] == f"{score:.2f}"
    assert len(app.get("plotly_chart")) == 3
    assert any("did not keep the models" in caption.value for caption in app.caption)


def test_the_models_of_steps_show_their_grid_and_become_b(app):
    app.query_params["replayed"] = "kept"
    measured(app)
    app.select_slider(key="replayed_step").set_value(2)
    measured(app)
    assert not app.exception
    assert len(app.get("plotly_chart")) == 4
    (button,) = (one for one in app.button if one.label == "Compare with this step")
    button.click()
    app.run()
    assert app.selectbox(key="beside").value == "run:kept@step-2"


def test_each_seed_has_its_own_way(app, place):
    app.query_params["replayed"] = "seeds"
    app.run()
    run = trainings.runs.find("seeds", place.runs)
    app.segmented_control[0].set_value(2)
    app.run()
    step = app.select_slider(key="replayed_step").value
    assert cards(app)["Development pairs"] == f"{trainings.looks(run, 2)[int(step)]:.2f}"


def test_a_run_that_is_not_there_is_named(app):
    app.query_params["replayed"] = "gone"
    app.run()
    assert "gone" in app.error[0].value
    assert not app.exception


def test_without_a_run_the_way_to_train_one_is_shown(app, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path))
    app.run()
    assert "Train one" in app.info[0].value
