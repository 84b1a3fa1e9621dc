"""Test the Plans page without a browser: the form and its errors, a plan under way, its result and its runs."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from explorer.data import sample
from explorer.studies.plans import plan_columns, plan_file, plan_folder
from explorer.studies.plans.plan import Plan, PlanBudget, Variant, cells
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui.plans import plan_form, plan_start, plan_view, tried_values
from explorer.ui.runs import run_status, training_queue
from explorer.ui.runs.training_form import BY_HAND
from tests import namesakes
from tests.evaluating.results_by_hand import write_set
from tests.visits import buttons, by_link, wait_until, words

PAGE = "pages/plans.py"
VALUES = f"{tried_values.grid_key(1, 'values')} temperature"


@pytest.fixture(autouse=True)
def no_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    monkeypatch.delenv("STRATA_DATA", raising=False)
    monkeypatch.setattr(training_queue, "PAUSE", 0.02)


@pytest.fixture
def plan(place) -> Plan:
    """Two rows of one seed, of some milliseconds."""
    what = {"methods": ("simcse",), "models": (str(place.model),), "data": ((str(place.text),),)}
    how = {"settings": {"batch_size": 4, "steps": 2}, "grid": {"temperature": (0.05, 0.1)}}
    return Plan("short", **what, **how, dev=str(place.dev), test=str(place.test), elsewhere=())


@pytest.fixture
def form(app):
    return app.switch_page(PAGE).run()


def shown(app, plan):
    """The page of a plan."""
    return by_link(app.switch_page(PAGE), plan=plan)


def filled(app, plan):
    """The form with a plan, by the button of a plan that is there."""
    plan_folder.new(plan)
    return shown(app, plan.name).button(key=plan_view.COPY).click().run()


def ended(folder):
    wait_until(lambda: not training_queue.standing(folder).live)
    return folder.status()


def test_the_form_states_the_number_of_trainings_at_once(form):
    (told,) = [one.value for one in form.markdown if "trainings" in one.value]
    assert told.startswith("**6 trainings**: 2 rows × 3 seeds")
    form.text_input(key=plan_form.SEEDS).set_value("1 2").run()
    assert any(one.value.startswith("**4 trainings**") for one in form.markdown)
    assert not form.button(key=plan_start.START).disabled


@pytest.mark.parametrize(
    ("key", "typed", "told"),
    [
        (plan_form.SEEDS, "one", "Seeds cannot be 'one'"),
        (plan_form.SEEDS, "1, 1", "seeds has a value twice"),
        (plan_form.SEEDS, "", "Seeds cannot be ''"),
        (plan_start.NAME, "../up", "cannot be called '../up'"),
    ],
)
def test_nonsense_in_a_field_is_named_in_place(form, key, typed, told):
    form.text_input(key=key).set_value(typed).run()
    if key == plan_start.NAME:
        form.button(key=plan_start.START).click().run()
    assert any(told in error for error in words(form.error))
    assert plan_folder.every() == []


def test_a_method_that_the_text_does_not_fit_is_named(form, place):
    form.multiselect(key=plan_form.TEXT).set_value([str(place.text)]).run()
    field = form.multiselect(key=plan_form.METHODS)
    (hard,) = [option for option in field.options if option.startswith("simcse-hard")]
    assert hard.endswith("does not fit")
    field.set_value(["simcse", "simcse-hard"]).run()
    assert any(error.startswith("simcse-hard does not fit this text") for error in words(form.error))
    assert form.button(key=plan_start.START).disabled


@pytest.mark.parametrize(
    ("typed", "told"),
    [("0.1, 0.1", "a value twice"), ("hot, cold", "temperature cannot be 'hot'"), ("0.1, -1", "cannot be '-1'")],
)
def test_values_of_a_setting_are_checked_in_place(form, typed, told):
    form.selectbox(key=tried_values.grid_key(1, "setting")).set_value("temperature").run()
    assert any("at least two values" in warning for warning in words(form.warning))
    form.text_input(key=VALUES).set_value(typed).run()
    assert any(told in error for error in words(form.error))
    form.text_input(key=VALUES).set_value("0.05 0.1;0.2").run()
    assert any(one.value.startswith("**18 trainings**: 6 rows") for one in form.markdown)


def test_a_setting_that_one_method_lacks_is_not_offered(form):
    form.multiselect(key=plan_form.METHODS).set_value(["simcse", "whitening"]).run()
    assert "temperature" not in form.selectbox(key=tried_values.grid_key(1, "setting")).options


def test_a_batch_that_is_larger_than_the_text_is_named(app, plan):
    filled(app, plan).number_input(key=plan_form.BATCH).set_value(512).run()
    assert any("the text has 24 rows; a batch needs 512" in error for error in words(app.error))
    assert app.button(key=plan_start.START).disabled


def test_the_sets_of_a_new_plan_are_those_of_a_new_run_and_are_named_in_its_file(form, tmp_path, monkeypatch):
    chosen = [form.selectbox(key=key).value for key in (plan_form.DEV, plan_form.TEST)]
    form.switch_page("pages/train.py").run()
    assert chosen == [form.selectbox(key=key).value for key in ("recipe dev", "recipe test")]
    monkeypatch.setenv("STRATA_DATA", str(tmp_path))
    for split, count in (("dev", 1500), ("test", 1379)):
        write_set(tmp_path, f"STSB/{split}.tsv", count, f"{split} {{}}")
    form.switch_page(PAGE).run()
    assert [form.selectbox(key=key).value for key in (plan_form.DEV, plan_form.TEST)] == ["STS-B dev", "STS-B test"]
    form.button(key=plan_start.START).click().run()
    (made,) = plan_folder.every()
    assert (str(made.plan().dev), str(made.plan().test)) == ("STS-B dev", "STS-B test")


def test_a_test_set_that_cannot_be_read_is_named_at_its_field(app):
    app.session_state[plan_form.TEST] = "nowhere.csv"
    app.session_state[BY_HAND] = {plan_form.TEST}
    form = app.switch_page(PAGE).run()
    assert any("nowhere.csv" in error for error in words(form.error))
    assert form.button(key=plan_start.START).disabled


def test_a_plan_that_is_copied_fills_every_field(app, plan):
    whole = replace(plan, seeds=(3, 1), values="as in the paper", tasks=(sample.SEARCH,), budget=PlanBudget(5, 100))
    filled(app, whole)
    (yaml,) = [code for code in app.get("download_button") if code.key == "plan yaml"]
    assert yaml.label == "plan.yaml"
    assert app.text_input(key=VALUES).value == "0.05, 0.1"
    assert app.multiselect(key=plan_form.TASKS).value == [sample.SEARCH]
    assert app.number_input(key=plan_form.MINUTES).value == 5
    app.button(key=plan_start.START).click().run()
    (_, made) = sorted(plan_folder.every(), key=lambda one: one.name != whole.name)
    assert replace(made.plan(), name=whole.name, fitted=()) == whole


def test_a_budget_of_seconds_is_copied_too(app, plan):
    form = filled(app, replace(plan, budget=PlanBudget(0.5)))
    assert form.number_input(key=plan_form.MINUTES).value == 0.5
    form.number_input(key=plan_form.MINUTES).set_value(0.0).run()
    assert any("minutes cannot be 0" in error for error in words(form.error))
    assert not form.number_input(key=plan_form.MOST_STEPS).proto.has_min, "a browser would keep a lower one to itself"
    form.number_input(key=plan_form.MINUTES).set_value(None)
    form.number_input(key=plan_form.MOST_STEPS).set_value(-1).run()
    assert any("steps cannot be -1" in error for error in words(form.error))


@pytest.mark.parametrize("settings", [{"steps": "2"}, {"steps": 0}, {"batch_size": 4.0}])
def test_a_plan_whose_settings_have_no_field_is_not_offered_as_a_copy(app, plan, settings):
    plan_folder.new(replace(plan, settings=settings))
    assert plan_view.COPY not in buttons(shown(app, plan.name))


def test_a_started_plan_trains_each_of_its_runs_and_shows_verdict_figure_and_table(app, plan):
    filled(app, plan).text_input(key=plan_start.NAME).set_value("mine")  # the click itself leaves the field
    app.button(key=plan_start.START).click().run()
    assert app.query_params["plan"] in ("mine", ["mine"])
    assert ended(plan_folder.find("mine")).state == plan_folder.FINISHED
    app.run()
    assert len(runs.every()) == 2
    assert len(app.get("plotly_chart")) == 1
    rows = json.loads(app.dataframe[0].value.to_json(orient="records"))
    base, *rows = rows
    assert [row["row"] for row in rows] == ["temperature 0.05", "temperature 0.1"]
    assert all(row["seeds"] == "1 of 1" for row in rows)
    test, gain = (f"{name} ({Path(str(plan.test)).name}, Spearman)" for name in ("test", plan_columns.GAIN))
    subtracted = [float(row[test]) - float(row[gain].split(" ")[0]) for row in rows]
    assert subtracted == pytest.approx([float(base[test])] * 2, abs=0.011), "the base that is subtracted is a row"
    (told,) = (text for text in words(app.caption) if "test set: " in text)
    assert f"dev set: {Path(str(plan.dev)).name} · test set: {Path(str(plan.test)).name}" in told
    assert app.selectbox(key=plan_view.ROW).options == ["temperature 0.05", "temperature 0.1"]
    keys = {button.key for button in app.get("download_button")}
    assert {"plan as csv", "plan as markdown", "plan as latex", "plan as html"} <= keys


@pytest.mark.parametrize(
    ("typed", "told"),
    [("half", "rows cannot be 'half'"), ("50 %, 25", "the text has 24 rows to train on"), ("5 %", "a batch takes 4")],
)
def test_a_number_of_rows_that_the_text_has_not_is_named(app, plan, typed, told):
    filled(app, plan).text_input(key=tried_values.ROWS).set_value(typed).run()
    assert any(told in error for error in words(app.error))
    assert app.button(key=plan_start.START).disabled


def test_a_plan_over_numbers_of_rows_shows_what_more_rows_bring(app, plan):
    filled(app, replace(plan, grid={"rows": ("12", "50 %")})).text_input(key=tried_values.ROWS).set_value("50%, 100 %")
    assert app.run().text_input(key=tried_values.ROWS).value == "50%, 100 %"
    app.button(key=plan_start.START).click().run()
    (folder,) = (one for one in plan_folder.every() if one.name != plan.name)
    assert folder.plan().grid == {"rows": ("50 %", "100 %")}
    assert ended(folder).state == plan_folder.FINISHED
    app.run()
    assert [one.value for one in app.subheader if "training rows" in one.value] == ["Score by training rows"]
    told = [text for boxes in (app.info, app.success, app.error, app.warning) for text in words(boxes)]
    assert any("From 50 % to 100 % of your rows: " in text for text in told)
    assert any("Every number of rows is trained for the same steps (2)" in text for text in words(app.caption))
    assert len(app.get("plotly_chart")) == 2


def test_a_plan_that_is_stopped_can_be_resumed_from_the_page_and_when_it_is_deleted_its_runs_stay(app, plan, gate):
    folder = training_queue.start_plan(plan)
    wait_until(lambda: any(run.status().live for run in runs.every()))
    shown(app, folder.name)
    assert {plan_view.RESUME, plan_view.DELETE}.isdisjoint(buttons(app))
    app.button(key=plan_view.STOP).click().run()
    assert ended(folder).state == plan_folder.STOPPED
    (run,) = runs.every()
    assert run.status().state == statuses.STOPPED
    assert plan_view.STOPPED in words(app.run().info)
    gate.set()
    app.button(key=plan_view.RESUME).click().run()
    assert ended(folder).state == plan_folder.FINISHED
    assert [run.status().state for run in runs.every()] == [statuses.FINISHED] * 2
    shown(app, folder.name).button(key=plan_view.DELETE).click().run()
    assert plan_folder.every() == []
    assert len(runs.every()) == 2
    assert plan_start.START in buttons(app)


def test_a_run_that_begins_while_the_page_is_drawn_is_shown(app, plan, monkeypatch):
    folder = plan_folder.new(plan)
    table = plan_view.table_at

    def begins_meanwhile(*given):
        found = table(*given)
        if not runs.every():
            runs.new(cells(plan)[0].recipe, "short-first", plan=folder.status().id)
        return found

    monkeypatch.setattr(plan_view, "table_at", begins_meanwhile)
    shown(app, folder.name)
    assert app.selectbox(key=plan_view.ROW).options == ["temperature 0.05"]


def test_an_estimate_says_why_it_has_to_wait(app, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(run_status, "training_queue", SimpleNamespace(under_way=lambda: ["a run"]))
        app.switch_page(PAGE)
        assert run_status.BUSY in words(app.run().caption)
        assert app.button(key=plan_start.ESTIMATE).disabled
    assert run_status.BUSY not in words(app.run().caption)
    assert not app.button(key=plan_start.ESTIMATE).disabled


def test_a_second_plan_waits_and_can_be_stopped_at_once(app, plan, gate):
    training_queue.start_plan(plan)
    second = training_queue.start_plan(replace(plan, name="second"))
    shown(app, second.name)
    assert any("Waiting for: plan short" in told for told in words(app.caption))
    app.button(key=plan_view.STOP).click().run()
    assert second.status().state == plan_folder.STOPPED
    assert app.button(key=plan_view.RESUME)


def test_a_failure_and_what_the_budget_left_out_are_named(app, plan):
    folder = plan_folder.new(plan)
    names = [cell.row for cell in cells(plan)]
    folder.put(replace(folder.status(), state="finished", failures={names[0]: "The disk is full."},
                       left_out=(names[1],), missing=("STS12 is not there.",)))  # fmt: skip
    shown(app, folder.name)
    assert any("temperature 0.05: The disk is full." in error for error in words(app.error))
    told = words(app.warning)
    assert any("The budget did not suffice for 1 training: temperature 0.1" in one for one in told)
    assert any("STS12 is not there" in one for one in told)


def test_a_plan_whose_name_is_not_utf8_is_not_listed(app, plan):
    folder = plan_folder.new(plan).folder
    shutil.copytree(folder, folder.with_name(os.fsdecode(b"bad\xff")))
    assert app.switch_page(PAGE).run().dataframe[0].value["Plan"].tolist() == ["short"]


def test_a_plan_that_is_not_there_is_an_error_and_the_form(app):
    assert any("There is no plan" in error for error in words(shown(app, "<b>none</b>").error))
    assert plan_start.START in buttons(app)


def test_a_plan_that_cannot_be_read_can_be_deleted(app, plan):
    folder = plan_folder.new(plan)
    folder.put(replace(folder.status(), state="stopped"))
    (folder.folder / plan_folder.PLAN).write_text("methods: [", encoding="utf-8")
    shown(app, folder.name)
    assert app.error
    app.button(key=plan_view.DELETE).click().run()
    assert plan_folder.every() == []


def upload(app, name, text):
    app.file_uploader(key=plan_start.FILE).set_value((name, text.encode(), "application/yaml")).run()
    return app


def test_an_uploaded_file_replaces_the_form_and_names_the_plan(form, plan):
    whole = replace(plan, grid={}, variants=(Variant("plain"), Variant("hot", {"temperature": 0.5})))
    text = plan_file.as_yaml(whole).partition("\n")[2]  # without its name
    upload(form, "mine.yaml", text)
    assert not form.multiselect
    assert any(one.value.startswith("**2 trainings**") for one in form.markdown)
    form.button(key=plan_start.START).click().run()
    (folder,) = plan_folder.every()
    assert replace(folder.plan(), fitted=()) == replace(whole, name="mine")


@pytest.mark.parametrize("text", ["methods: [", "seedz: 1", "\0", "methods: simcse\ndata: nowhere.csv"])
def test_a_file_that_is_no_plan_is_an_error_and_starts_nothing(form, text):
    upload(form, "bad.yaml", text)
    assert form.error


def test_text_that_is_not_there_is_named_at_its_field(form):
    form.multiselect(key=plan_form.TEXT).set_value(["nowhere.csv"]).run()
    (error,) = words(form.error)
    assert "There is no file nowhere.csv" in error
    assert form.button(key=plan_start.START).disabled


def test_a_finished_plan_says_which_scores_are_missing_and_evaluates_them(app, plan, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    (path,) = namesakes.write(tmp_path, folders=("a",))
    folder = training_queue.start_plan(replace(plan, grid={}, tasks=(str(path),)))
    assert ended(folder).state == plan_folder.FINISHED
    shown(app, folder.name)
    assert plan_view.RESUME not in buttons(app)
    shutil.rmtree(tmp_path / "results")
    app.run()
    assert any("test.tsv: no result" in text for text in words(app.warning))
    assert app.button(key=plan_view.RESUME).label == plan_view.EVALUATE
    app.button(key=plan_view.RESUME).click().run()
    assert ended(folder).state == plan_folder.FINISHED
    app.run()
    assert not any("no result" in text for text in words(app.warning))
    assert all(row["test.tsv (Spearman)"] for row in json.loads(app.dataframe[0].value.to_json(orient="records")))
