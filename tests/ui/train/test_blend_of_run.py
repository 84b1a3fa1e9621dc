"""Test the blends of a run on its page, and those of two models on Compare: any share, a model, an export."""

import pytest
from streamlit.testing.v1 import AppTest

from explorer.encoding.locate import model_names
from explorer.progress import finish
from explorer.studies.blend import blending
from explorer.ui import blend
from explorer.ui.train import run_view
from tests import trainings
from tests.live import ROOT
from tests.visits import buttons, cards, entered, measured, pressed, words


@pytest.fixture(scope="module")
def run(place):
    """A finished run."""
    return trainings.train(trainings.new(place, "simcse", settings={"learning_rate": 1e-2}))


@pytest.fixture(autouse=True)
def its_folder(run, no_runs, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(run.folder.parent))


def test_any_share_is_scored_made_a_model_and_exported_and_a_folder_that_is_there_is_told_and_stays(run, app, tmp_path):
    app.session_state[f"open blend {run.name}"] = True
    measured(app, run=run.name, tab=run_view.BLEND)
    _, curve = finish(blending.of_runs([run], (0.35,)))
    assert any(f"α = {app.slider[0].value:g} is the best on the dev set." in one for one in words(app.caption))
    entered(app, app.slider[0], 0.35)
    assert cards(app)["Test: blend, α = 0.35"] == f"{curve.scores('test')[0.35]:.2f}"
    assert cards(app)["Dev: base, model default"] == f"{curve.judges['dev'].score(curve.before['dev']):.2f}"

    assert "compare the blend" not in buttons(app), "it is no model yet"
    pressed(app, blend.SHOW)
    assert "compare the blend" in buttons(app)
    folder = blending.stored_in(model_names.find(str(run.recipe().model)), model_names.find(f"run:{run.name}"), 0.35)
    assert blending.ends_of(folder).alpha == 0.35

    (tmp_path / "there").mkdir()
    app.text_input(key=blend.FOLDER).set_value(str(tmp_path / "there"))
    pressed(app, blend.WRITE)
    assert any("there" in one for one in words(app.error))
    assert not list((tmp_path / "there").iterdir())

    app.text_input(key=blend.FOLDER).set_value(str(tmp_path / "exported"))
    pressed(app, blend.WRITE)
    assert "α = 0.35" in (tmp_path / "exported" / "README.md").read_text(encoding="utf-8")
    assert (tmp_path / "exported" / "similarity.json").is_file()
    assert any("Written to" in one for one in words(app.success))


def test_the_numbers_of_a_run_have_its_name_also_if_another_run_has_its_weights(run, place):
    same = trainings.train(trainings.new(place, "simcse", "same", settings={"learning_rate": 1e-2}))
    assert model_names.find("run:same").digest == model_names.find(f"run:{run.name}").digest, "the premise"
    for one in (run, same, run):
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        app.switch_page("pages/train.py")
        app.session_state[f"open blend {one.name}"] = True
        measured(app, run=one.name, tab=run_view.BLEND)
        (numbers,) = [button.key for button in app.get("download_button") if "all α" in button.key]
        assert f"run:{one.name} " in numbers


def test_on_compare_the_blend_takes_the_place_of_b(run, place):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.switch_page("pages/compare.py")
    app.session_state["open blend of two"] = True
    measured(app, model=str(place.model), beside=f"run:{run.name}", sts=str(place.test))
    entered(app, app.slider[0], 0.5)
    pressed(app, blend.SHOW)
    pressed(app, "blend as B")
    assert app.session_state["beside"].endswith("-blend-0.5")
    assert blend.IS_B in words(app.caption)
    assert app.slider[0].value == 0.5
