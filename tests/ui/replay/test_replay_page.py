"""Test the Replay page without a browser, also where another run has taken the name of one."""

import json
from itertools import product

import numpy as np
import pytest
from streamlit.proto.Metric_pb2 import Metric as MetricProto

from explorer.data import sources
from explorer.encoding.locate import model_names
from explorer.encoding.read.pooling import OWN
from explorer.measuring.maps import projection
from explorer.measuring.scores.measure import Settings, measure
from explorer.progress import finish
from explorer.run_folder import PROBE, PROBE_SENTENCES, probe_file
from explorer.run_folder import STEPS as STEPS_FOLDER
from explorer.training.record.runs import Run
from explorer.ui.access import jobs
from explorer.ui.replay import replay_view, step_grid
from explorer.ui.runs import run_status
from tests import trainings
from tests.shown_numbers import written
from tests.visits import by_link, cards, entered, measured, words


@pytest.fixture(scope="module")
def runs(place):
    asked = {"steps": 4, "evaluate_every": 2}
    for name, kept, seeds in (("plain", False, (1,)), ("kept", True, (1,)), ("seeds", False, (5, 6))):
        trainings.train(trainings.new(place, "simcse", name=name, settings=asked | {"keep_steps": kept}, seeds=seeds))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """A file of so many pairs that every step scores otherwise, in sentences of one length."""
    return trainings.scored_pairs(tmp_path_factory.mktemp("pairs"), 120)


@pytest.fixture
def app(furnished, pairs, runs):
    furnished.switch_page("pages/replay.py")
    furnished.query_params["sts"] = pairs
    return furnished


def test_a_step_shows_the_metrics_of_its_evaluation_and_a_number_says_by_colour_whether_it_became_better(app, place):
    by_link(app, replayed="plain")
    run = trainings.runs.find("plain", place.runs)
    assert app.select_slider(key="replayed_step").options == [str(step) for step in trainings.looks(run)]
    for step, score in trainings.looks(run).items():
        app.select_slider(key="replayed_step").set_value(step).run()
        assert cards(app)["Dev score"] == written(score, sign="")
    assert len(app.get("plotly_chart")) == 3
    assert step_grid.NO_MODELS in words(app.caption)
    looks = run_status.numbers(trainings.runs.find("plain", place.runs).folder).evaluations()
    app.select_slider(key="replayed_step").set_value(looks[-1].step).run()
    shown = {card.label: card for card in app.metric}
    for label, better in (("Dev score", 1), ("Alignment", -1), ("Uniformity", -1)):
        name = label.split()[0].lower()
        change = round(getattr(looks[-1], name) - getattr(looks[0], name), 2 if name == "dev" else 3)
        expected = {1: "GREEN", -1: "RED", 0: "GRAY"}[int(np.sign(change)) * better]
        assert MetricProto.MetricColor.Name(shown[label].proto.color) == expected, (label, change)


def test_play_goes_on_to_the_last_step_and_stops_there(app, place, monkeypatch):
    monkeypatch.setattr(replay_view, "EVERY", 1e-6)
    by_link(app, replayed="plain")
    steps = list(trainings.looks(trainings.runs.find("plain", place.runs)))
    app.select_slider(key=replay_view.STEP).set_value(steps[0]).run()
    app.button(key="play").click().run()
    assert app.select_slider(key=replay_view.STEP).value == steps[-1]
    assert app.button(key="play").label == replay_view.PLAY
    monkeypatch.setattr(replay_view, "EVERY", 60.0)
    app.button(key="play").click().run()
    assert app.select_slider(key=replay_view.STEP).value == steps[0], "from the last step it starts again"
    assert app.button(key="play").label == replay_view.PAUSE
    app.button(key="play").click().run()
    assert app.button(key="play").label == replay_view.PLAY


def test_the_model_of_a_step_shows_its_grid_and_is_pinned_on_either_side(app):
    measured(app, replayed="kept")
    entered(app, app.select_slider(key="replayed_step"), 2)
    assert len(app.get("plotly_chart")) == 4
    for side, key in (("B", "beside"), ("A", "model")):
        button = app.button(key=f"set as {side}")
        assert not button.disabled
        button.click()
        measured(app)
        assert app.selectbox(key=key).value == "run:kept@step-2"
        assert app.button(key=f"set as {side}").disabled


def test_all_steps_are_scored_once_and_share_their_scales(app, place, pairs):
    measured(app, replayed="kept", every_step="true")
    steps = list(trainings.looks(trainings.runs.find("kept", place.runs)))
    models = (model_names.find(f"run:kept@step-{step}") for step in steps)
    known = sources.evaluation_set(sources.identity(pairs))
    scored = [finish(measure(model, known, Settings())).score(OWN) for model in models]
    assert len(set(scored)) > 2, "the premise"
    drawn, before = [], set(jobs._jobs)
    for at, step in enumerate(steps):
        app.select_slider(key="replayed_step").set_value(step).run()
        assert set(jobs._jobs) <= before, "nothing is left to be scored"
        *_, own_grid, changes, line = (json.loads(chart.proto.spec) for chart in app.get("plotly_chart"))
        *_, every, star = line["data"]
        assert every["y"] == pytest.approx(scored)
        assert (star["x"], star["y"]) == ([step], pytest.approx([scored[at]]))
        drawn.append([[trace[end] for end in ("zmin", "zmax")] for trace in (own_grid["data"][0], changes["data"][0])])
    assert all(one == drawn[0] for one in drawn)
    low, high = drawn[0][1]
    assert low == -high < 0


def test_a_run_of_a_cut_encoder_is_replayed_with_the_layers_that_remain(app, place):
    trainings.train(trainings.new(place, "distil", name="cut", settings={"steps": 2, "keep_steps": True}))
    measured(app, replayed="cut", every_step="true")
    *_, own_grid, _, _ = (json.loads(chart.proto.spec) for chart in app.get("plotly_chart"))
    assert own_grid["data"][0]["y"] == [0, 1], "layers, the embedding output included"


def test_umap_lays_out_all_looks_at_once_in_one_frame(app, monkeypatch):
    monkeypatch.setattr(projection, "_EPOCHS", 20)
    measured(app, replayed="plain", replayed_projection="UMAP")
    frames, told, before = [], [], set(jobs._jobs)
    for step in app.select_slider(key="replayed_step").options:
        app.select_slider(key="replayed_step").set_value(int(step)).run()
        assert set(jobs._jobs) <= before, "nothing is left to be laid out"
        figure = json.loads(app.get("plotly_chart")[0].proto.spec)
        frames.append([figure["layout"][axis]["range"] for axis in ("xaxis", "yaxis")])
        told += [caption.value for caption in app.caption if replay_view.ALIGNED in caption.value]
    assert all(frame == frames[0] for frame in frames)
    assert len(told) == len(set(told)) == len(frames), "each look's map is judged by itself"
    assert "20 epochs, seed 0" in told[0]


def test_each_seed_has_its_own_way(app, place):
    by_link(app, replayed="seeds")
    run = trainings.runs.find("seeds", place.runs)
    app.segmented_control[0].set_value(2).run()
    step = app.select_slider(key="replayed_step").value
    assert cards(app)["Dev score"] == f"{trainings.looks(run, 2)[int(step)]:.2f}"


@pytest.mark.parametrize("spoil", ["gone", "other sentences", "no number"])
def test_where_vectors_cannot_be_put_on_a_map_the_rest_is_shown(app, place, spoil):
    name = f"spoiled-{spoil.replace(' ', '-')}"
    trainings.train(trainings.new(place, "simcse", name=name, settings={"steps": 2}))
    path = sorted((place.runs / name / "probe").glob("*.npy"))[-1]
    vectors = np.load(path)
    if spoil == "gone":
        path.unlink()
    else:
        np.save(path, vectors[:-1] if spoil == "other sentences" else np.full_like(vectors, np.inf))
    by_link(app, replayed=name)
    assert replay_view.NO_MAP in words(app.caption)
    assert len(app.get("plotly_chart")) == 2


def test_a_run_that_is_not_there_is_named(app):
    by_link(app, replayed="gone")
    assert "gone" in app.error[0].value


def test_without_a_run_of_ones_own_the_example_is_replayed_and_without_any_the_way_to_train_one_is_shown(
    app, tmp_path, monkeypatch
):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path))
    app.run()
    assert app.selectbox(key="replayed").value == "example"
    monkeypatch.setattr("explorer.ui.replay.replay_view.runs.examples", lambda: [])
    app.run()
    assert app.info[0].value == replay_view.NOTHING_TO_REPLAY


STEPS = (0, 50)


def run_at(folder, seed):
    """A run with the vectors of eight sentences at two steps."""
    (folder / PROBE).mkdir(parents=True)
    (folder / PROBE / PROBE_SENTENCES).write_text(json.dumps([f"sentence {at}" for at in range(8)]))
    for step in STEPS:
        np.save(probe_file(folder, 1, step), np.random.default_rng([seed, step]).normal(size=(8, 4)))
    return Run(folder)


def swapped(one, other):
    """Another folder in the place of one."""
    one.rename(one.with_name("old"))
    other.rename(one)


def test_a_run_in_the_place_of_another_has_its_own_map(tmp_path):
    run, other = run_at(tmp_path / "a", 0), run_at(tmp_path / "b", 1)
    before, expected = (replay_view.travel_of(one, 1, STEPS)[0].places for one in (run, other))
    assert not np.array_equal(before, expected), "the premise"
    quality = replay_view.map_quality(run, 1, STEPS, 1, "PCA", before[1])
    swapped(run.folder, other.folder)
    after = replay_view.travel_of(run, 1, STEPS)[0].places
    assert np.array_equal(after, expected)
    assert replay_view.map_quality(run, 1, STEPS, 1, "PCA", after[1]) != quality


def test_scores_of_steps_are_those_of_the_models_that_are_there(tmp_path):
    names = [f"run:a@step-{step}" for step in STEPS]
    for home, step in product("ab", STEPS):
        folder = tmp_path / home / STEPS_FOLDER / f"step-{step}"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_text(home)
    run = Run(tmp_path / "a")
    before = step_grid.models_key(run, names)
    assert step_grid.models_key(run, names) == before
    assert step_grid.models_key(run, names[:1]) != before
    swapped(run.folder, tmp_path / "b")
    assert step_grid.models_key(run, names) != before


def test_of_cross_fitted_rows_the_model_that_is_saved_is_replayed_and_no_fold(app, place, tmp_path):
    data = trainings.scored_pairs(tmp_path, 20)
    given = {"data": (data,), "dev": sources.CROSS_FITTED, "test": sources.CROSS_FITTED, "folds": 2}
    run = trainings.train(trainings.new(place, "cosent", name="folded", **given, settings={"steps": 3}))
    by_link(app, replayed="folded")
    folds = run.status().facts.folds
    steps = [str(2 * 3 + step) for step in range(int(folds.chosen) + 1)]
    assert app.select_slider(key="replayed_step").options == steps
    assert any(f"{len(sources.scored_pairs(data)[0].sentences)} sentences" in text for text in words(app.caption))
    assert len(app.get("plotly_chart")) == 2, "a map and the embedding geometry, without dev scores"
