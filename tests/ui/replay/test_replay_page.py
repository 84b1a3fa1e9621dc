"""Test the Replay page without a browser, also where another run has taken the name of one."""

import base64
import json
from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from streamlit.proto.Metric_pb2 import Metric as MetricProto

from explorer.data import sources
from explorer.data.sources import identity
from explorer.encoding.locate import model_names
from explorer.encoding.read.pooling import OWN
from explorer.evaluating.kinds import run_set
from explorer.measuring.maps import projection
from explorer.measuring.maps.frames import compared
from explorer.measuring.scores.measure import Settings, measure
from explorer.progress import finish
from explorer.run_folder import PROBE, PROBE_SENTENCES, probe_file
from explorer.run_folder import STEPS as STEPS_FOLDER
from explorer.training.record import recorder
from explorer.training.record.runs import Run
from explorer.ui.access import jobs
from explorer.ui.replay import replay_view, step_grid, step_map
from explorer.ui.runs import run_curves
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


def moving(app, **link):
    """What the map of the page that a link opens draws."""
    (found,) = (one.proto for one in measured(app, **link).get("bidi_component"))
    return json.loads(found.json)


def at_step(app, step):
    """The page after the step of its layers was chosen."""
    return entered(app, app.select_slider(key="step of layers"), step)


def show_tab(app, name):
    return entered(app, app.segmented_control(key="tab"), name)


def numbers(text, kind="<f4"):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_a_run_is_opened_at_its_first_step_with_the_change_up_to_its_best_one(app, place):
    found = moving(app, replayed="plain")
    run = trainings.runs.find("plain", place.runs)
    scores = trainings.looks(run)
    assert found["frames"] == [f"step {step}" for step in scores]
    assert (found["at"], app.query_params.get("replayed_step")) == (0, None)
    lines = run_curves.numbers(run.folder).evaluations()
    best = next((one for one in reversed(lines) if one.best), lines[-1])
    (told,) = (one for one in words(app.markdown) if one.startswith(("From step", "Of ")))
    if best.step:
        before, after = written(scores[0], sign=""), written(scores[best.step], sign="")
        assert f"{before} → {after} ({written(Decimal(after) - Decimal(before))})" in told.replace("\\", "")
        probes = recorder.probes(run, run.recipe().seeds[0], (0, best.step)).astype(np.float64)
        assert f"; {keeping_most(*probes)} of {probes.shape[1]} sentences" in told
    else:
        assert "none was better than step 0" in told


def keeping_most(one, other):
    """How many sentences keep most of their nearest 10, in a plain loop."""

    def nearest(vectors, at):
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        order = sorted((two for two in range(len(unit)) if two != at), key=lambda two: -(unit[at] @ unit[two]))
        return set(order[: compared(len(unit))])

    kept = [len(nearest(one, at) & nearest(other, at)) for at in range(len(one))]
    return sum(number > compared(len(one)) / 2 for number in kept)


def test_every_step_is_a_frame_of_the_map_and_a_sentence_has_the_colour_of_its_shift(app, place):
    found = moving(app, replayed="plain")
    run = trainings.runs.find("plain", place.runs)
    travel, sentences = step_map.travel_of(run, run.recipe().seeds[0], tuple(trainings.looks(run)))
    assert found["texts"] == sentences
    assert numbers(found["places"]).tolist() == pytest.approx(travel.places.ravel().tolist(), abs=1e-5)
    shades = numbers(found["shades"], "u1").reshape(travel.turned.shape)
    most = np.unravel_index(travel.turned.argmax(), travel.turned.shape)
    assert shades[most] == shades.max() == len(found["palette"]) - 1
    assert not shades[0].any()


def test_a_number_at_a_step_says_by_colour_whether_it_became_better(app, place):
    run = trainings.runs.find("plain", place.runs)
    looks = run_curves.numbers(run.folder).evaluations()
    by_link(app, replayed="plain", replayed_step=str(looks[-1].step))
    measured(app)
    assert cards(app)["Dev score"] == written(looks[-1].dev, sign="")
    shown = {card.label: card for card in app.metric}
    show_tab(app, replay_view.GEOMETRY)
    shown |= {card.label: card for card in app.metric}
    for label, better in (("Dev score", 1), ("Alignment", -1), ("Uniformity", -1)):
        name = label.split()[0].lower()
        change = round(getattr(looks[-1], name) - getattr(looks[0], name), 2 if name == "dev" else 3)
        expected = {1: "GREEN", -1: "RED", 0: "GRAY"}[int(np.sign(change)) * better]
        assert MetricProto.MetricColor.Name(shown[label].proto.color) == expected, (label, change)


def test_every_tab_shows_its_part_of_the_run_and_computes_nothing_of_the_others(app):
    measured(app, replayed="plain")
    assert len(app.get("plotly_chart")) == 1
    assert not app.dataframe
    show_tab(app, replay_view.LAYERS)
    assert step_grid.NO_MODELS in words(app.caption)
    show_tab(app, replay_view.RECIPE)
    assert "simcse" in app.code[0].value
    show_tab(app, replay_view.LOG)
    assert app.code[0].value != "The log is empty."
    show_tab(app, replay_view.RUNS)
    assert {"plain", "kept", "seeds"} <= {*app.dataframe[0].value["Run"]}


def test_the_model_of_a_step_shows_its_grid_and_is_pinned_on_either_side(app):
    measured(app, replayed="kept", tab=replay_view.LAYERS)
    before = moving(app)
    at_step(app, 2)
    found = moving(app)
    assert found["frames"][found["at"]] == "step 2"
    assert app.query_params["replayed_step"] in ("2", ["2"])
    assert moving(app)["jump"] != before["jump"], "the map goes there"
    assert len(app.get("plotly_chart")) == 1
    for side, key in (("B", "beside"), ("A", "model")):
        button = app.button(key=f"set as {side}")
        assert not button.disabled
        button.click()
        measured(app)
        assert app.selectbox(key=key).value == "run:kept@step-2"
        assert app.button(key=f"set as {side}").disabled


def test_all_steps_are_scored_once_and_share_their_scales(app, place, pairs):
    measured(app, replayed="kept", every_step="true", tab=replay_view.LAYERS)
    steps = list(trainings.looks(trainings.runs.find("kept", place.runs)))
    models = (model_names.find(f"run:kept@step-{step}") for step in steps)
    known = run_set(identity(pairs))
    scored = [finish(measure(model, known, Settings())).score(OWN) for model in models]
    assert len(set(scored)) > 2, "the premise"
    drawn, before = [], set(jobs._jobs)
    for at, step in enumerate(steps):
        at_step(app, step)
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
    measured(app, replayed="cut", every_step="true", tab=replay_view.LAYERS)
    *_, own_grid, _, _ = (json.loads(chart.proto.spec) for chart in app.get("plotly_chart"))
    assert own_grid["data"][0]["y"] == [0, 1], "layers, the embedding output included"


def test_umap_lays_out_all_looks_at_once_in_one_frame(app, monkeypatch):
    monkeypatch.setattr(projection, "_EPOCHS", 20)
    plane = moving(app, replayed="plain")
    entered(app, app.selectbox(key="replayed_projection"), "UMAP")
    found = moving(app)
    assert (plane["title"], found["title"]) == ("PCA", "UMAP")
    assert plane["places"] != found["places"]
    show_tab(app, replay_view.MAP)
    (told,) = (one for one in words(app.caption) if step_map.ALIGNED in one)
    assert "20 epochs, seed 0" in told


def test_each_seed_has_its_own_way(app, place):
    run = trainings.runs.find("seeds", place.runs)
    last = list(trainings.looks(run, 2))[-1]
    by_link(app, replayed="seeds")
    app.segmented_control(key="seed of seeds").set_value(2).run()
    show_tab(app, replay_view.LAYERS)
    at_step(app, last)
    show_tab(app, replay_view.SCORES)
    assert cards(app)["Dev score"] == f"{trainings.looks(run, 2)[last]:.2f}"


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
    assert not app.get("bidi_component")
    assert len(app.get("plotly_chart")) == 1


def test_a_run_that_is_not_there_is_named(app):
    by_link(app, replayed="gone")
    assert "gone" in app.error[0].value


def test_a_run_that_a_link_names_as_train_does_is_replayed(app):
    for name in ("plain", "kept"):  # the second in a page that shows another one
        by_link(app, run=name)
        assert app.selectbox(key="replayed").value == name
        assert "run" not in app.query_params, "else two keys would name it"
        assert app.query_params["replayed"] in (name, [name]), "a reload shows the same"
    by_link(app, run="gone")
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
    before, expected = (step_map.travel_of(one, 1, STEPS)[0].places for one in (run, other))
    assert not np.array_equal(before, expected), "the premise"
    quality = step_map.map_quality(run, 1, STEPS, 1, "PCA", before[1])
    swapped(run.folder, other.folder)
    after = step_map.travel_of(run, 1, STEPS)[0].places
    assert np.array_equal(after, expected)
    assert step_map.map_quality(run, 1, STEPS, 1, "PCA", after[1]) != quality


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
    found = moving(app, replayed="folded")
    folds = run.status().facts.folds
    assert found["frames"] == [f"step {2 * 3 + step}" for step in range(int(folds.chosen) + 1)]
    assert sorted(found["texts"]) == sorted(sources.scored_pairs(data)[0].sentences)
    assert not app.get("plotly_chart"), "there are no dev scores"
    (answer,) = (one for one in words(app.markdown) if one.startswith("From step"))
    assert answer.startswith(f"From step 6 to step {6 + int(folds.chosen)}, the last;"), "no dev set found a best one"
