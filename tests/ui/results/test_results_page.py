"""Test the Results page without a browser: table, rank groups, filters in the address, evaluation, runs."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.evaluating.results import rank_groups, result_files, result_table
from explorer.evaluating.results.result_files import ScoredModel
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks import retrieval
from explorer.measuring.scores import measure
from explorer.training.record import run_results, runs
from explorer.ui.access import jobs
from explorer.ui.results import evaluate_form, filters, first_view, table_view
from explorer.ui.results.evaluate_form import EvaluationChoice
from explorer.ui.train import run_view
from explorer.ui.widgets import controls
from tests import trainings, visits
from tests.commands.test_evaluate import write_labelled
from tests.evaluating.results_by_hand import result, task, write_set
from tests.visits import entered, pressed, words

RANDOM = np.random.default_rng(1)
RIGHT = {name: RANDOM.uniform(size=200) < share for name, share in (("good", 0.9), ("fine", 0.897), ("bad", 0.5))}


TASKS = ("STS12", "STS13")
GROUPS = ("rank group (these tasks)", "rank group (tasks like these)")
TABLE, LAYERS, PUBLISHED, EVALUATE = "Table", "By layer", "Published scores", "Evaluate models"  # tabs


@pytest.fixture(autouse=True)
def no_results(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))


@pytest.fixture
def saved(tmp_path):
    for name, right in RIGHT.items():
        for known in TASKS:
            score = 100 * right.mean()
            result_files.write(result(name, known, score, items=right, layers=(score - 20, score - 10)))
    return tmp_path / "results"


def key_of(name):
    return controls.key_of(evaluate_form.FORM, name)


def opened(app, **link):
    return visits.opened(app, "results", **link)


def show(app, tab):
    """Open a tab of the page that is drawn."""
    return entered(app, app.segmented_control(key="tab"), tab)


def table(app):
    """The table with the names of its columns alone, each of which names its measure."""
    if app.segmented_control(key="tab").value != TABLE:
        show(app, TABLE)
    frame = app.dataframe[0].value
    measure = re.compile(r" \((accuracy|Spearman|nDCG@10)\)$")
    assert all(measure.search(name) for name in frame.columns.drop(["model", *GROUPS], errors="ignore"))
    return frame.rename(columns=lambda name: measure.sub("", name))


def test_without_results_the_form_is_open(app, monkeypatch):
    monkeypatch.setattr(run_results, "of_runs", list)
    opened(app)
    assert not app.dataframe
    assert app.multiselect(key=evaluate_form.MODELS).value == ["all-MiniLM-L6-v2"]


def test_the_table_has_the_best_first_and_its_groups(app, saved):
    frame = table(opened(app))
    ours = frame[frame["STS12"].notna()]
    assert list(ours["model"]) == ["good", "fine", "bad"]
    assert list(ours["average of 2"]) == pytest.approx([100 * RIGHT[name].mean() for name in ours["model"]])
    assert list(ours[GROUPS[0]]) == ["a", "a", "b"]
    assert GROUPS[1] not in frame, "two tasks are too few"


def test_three_tasks_have_the_groups_of_tasks_like_these_too(app):
    for name, scores in {"good": (90, 88, 89), "bad": (60, 80, 50)}.items():
        for known, score in zip((*TASKS, "STS14"), scores, strict=True):
            right = np.arange(200) < 2 * score
            result_files.write(result(name, known, score, items=right))
    opened(app)
    (text,) = [text for text in words(app.success) if "good" in text]
    assert "On these tasks it is significantly better than bad" in text
    assert "On tasks like these its difference to bad could be chance (3 tasks)" in text
    (chart,) = app.get("plotly_chart")
    assert {one["xaxis"] for one in json.loads(chart.proto.spec)["data"]} == {"x", "x2", "x3"}
    frame = table(app)
    assert list(frame[list(GROUPS)].itertuples(index=False, name=None)) == [("a", "a"), ("b", "a")]


def test_it_opens_on_a_sentence_about_the_best_model_and_draws_intervals_and_groups(app, saved):
    (told,) = [text for text in words(opened(app).info) if "good" in text]
    assert "significantly better than bad" in told
    assert "difference to fine could be chance" in told
    found = rank_groups.ranked(result_table.models(result_files.read_all()[0]), chosen_tasks())
    assert found.names == ("good", "fine", "bad")
    for at, name in enumerate(found.names):
        share = RIGHT[name].mean()  # the mean of two tasks with the same items, each resampled on its own
        slow = 196 * np.sqrt(share * (1 - share) / len(RIGHT[name]) / len(TASKS))
        assert (found.high - found.scores)[at] == pytest.approx(slow, rel=0.1)
        assert (found.scores - found.low)[at] == pytest.approx(slow, rel=0.1)
    (chart,) = app.get("plotly_chart")
    data = json.loads(chart.proto.spec)["data"]
    assert sum(one["xaxis"] == "x" for one in data) == 3
    assert sum(one["xaxis"] == "x2" for one in data) == 2, "good and fine share a group"


def chosen_tasks():
    """The two tasks of the saved results."""
    return list({one.task.digest: one.task for one in result_files.read_all()[0]}.values())


@pytest.mark.parametrize(
    ("differ", "of", "told"),
    [
        (1, 4, "1 of 4 runs differs from its base"), (2, 4, "2 of 4 runs differ from their base"),
        (0, 4, "None of 4 runs differs from its base"), (1, 1, "The run differs from its base"),
        (0, 1, "The run does not differ from its base"),
    ],
)  # fmt: skip
def test_how_many_runs_differ_is_said_in_the_number_that_it_is(differ, of, told):
    assert first_view._how_many(differ, of) == told


def test_without_evaluations_it_says_how_the_runs_differ_from_their_bases(app):
    opened(app)
    (told,) = [text for text in words(app.info) if "runs differ" in text]
    shipped = {run.called: run.status().verdict.test for run in runs.examples()}
    assert not any(one.low > 0 or one.high < 0 for one in shipped.values()), "the premise"
    assert "None of 2 runs differs from its base by more than chance" in told
    for name, one in shipped.items():
        assert f"{name} run over all-MiniLM-L6-v2 {one.gap_alone}" in told.replace("\\", "")
    assert "*Evaluate models*" in told
    pressed(app, "open evaluation")
    assert app.multiselect(key=evaluate_form.MODELS).value == ["all-MiniLM-L6-v2"]


def test_one_model_alone_is_not_compared(app):
    result_files.write(result("alone", "STS12", 70))
    assert any("Only **alone** was evaluated" in text for text in words(opened(app, suite="sts").info))


@pytest.mark.parametrize(("models", "bold"), [(["good", "fine", "bad"], False), (["good", "bad"], True)])
def test_a_best_score_is_bold_only_if_it_is_significantly_better_than_every_other(app, saved, models, bold):
    assert ("bold" in str(opened(app, models=models).dataframe[0].proto)) == bold


def test_the_address_brings_filters_back(app, saved):
    frame = table(opened(app, models=["good", "bad"], results_reading="mean of layer 1", suite="all tasks"))
    assert list(frame["model"]) == ["good", "bad"]
    assert set(TASKS) < set(frame.columns)
    assert list(frame["STS12"]) == pytest.approx([100 * RIGHT[name].mean() - 10 for name in frame["model"]])
    assert not {*GROUPS} & {*frame.columns}, "groups are those of the model defaults"


def test_all_tasks_give_an_average_beside_runs_with_a_test_set_of_their_own(app, saved):
    result_files.write(result("good", "a file.csv", 60))
    result_files.write(result("fine", "a file.csv", 50))
    of_runs = {one.task.name for one in run_results.of_runs()}
    assert of_runs, "the premise: the example's"
    assert of_runs <= set(table(opened(app, suite=filters.RUNS)).columns)
    entered(app, app.selectbox(key=filters.SUITE), filters.OTHERS)
    assert "a file.csv" in table(app).columns
    assert not of_runs & set(table(app).columns)
    entered(app, app.selectbox(key=filters.SUITE), filters.ALL)
    frame = table(app)
    assert list(frame["model"][:2]) == ["good", "fine"]
    assert set(frame.columns) >= {*TASKS, "a file.csv", "average of 3"}
    assert not of_runs & set(frame.columns)
    assert frame["average of 3"][:2].notna().all()


@pytest.mark.parametrize(
    ("name", "said"), [("models", "no one"), ("suite", "x"), ("measure", "<b>"), ("results_reading", "")]
)
def test_nonsense_in_the_address_shows_everything(app, saved, name, said):
    assert set(RIGHT) <= set(table(opened(app, **{name: said}))["model"])


def test_one_figure_shows_every_task_by_layer(app, saved):
    _, chart = opened(app, tab=LAYERS).get("plotly_chart")
    figure = json.loads(chart.proto.spec)
    assert {trace["name"] for trace in figure["data"]} == set(RIGHT)
    assert len(figure["data"]) == 2 * len(RIGHT)


def test_the_layer_that_queries_chose_stands_below_the_figure(app, saved):
    scores = np.random.default_rng(0).uniform(size=(3, 30))
    stated = retrieval.intervals(("mean of layer 0", "mean of layer 1", "model default"), scores, "ab" * 15, every=True)
    searched = result("good", "Questions", 50.0, layers=(40.0, 45.0), measure="nDCG@10")
    result_files.write(replace(searched, measured=replace(searched.measured, intervals=stated)))
    opened(app, suite="others", tab=LAYERS)
    tables = [one.value for one in app.dataframe if table_view.CHOSEN in one.value.columns]
    ((row,),) = (one.to_dict("records") for one in tables)
    assert (row["task"], row["model"]) == ("Questions", "good")
    choice = stated.choice
    assert {choice.title, choice.score, choice.default_score, choice.difference} <= set(row.values())
    assert row["95 % CI"] == f"{choice.low:+.2f} to {choice.high:+.2f}".replace("-", "−")


def test_it_can_be_downloaded(app, saved):
    keys = {button.key for button in opened(app).get("download_button")}
    assert {f"results as {form}" for form in ("csv", "markdown", "latex")} <= keys


def test_a_name_that_is_markup_stays_text(app, saved):
    result_files.write(result("**bold** <b>x</b>", "STS13", 99, items=RIGHT["good"]))
    result_files.write(result("**bold** <b>x</b>", "STS12", 99, items=RIGHT["good"]))
    assert any(r"\*\*bold\*\* \<b\>" in text for text in [one.value for one in [*opened(app).info, *app.success]])


@pytest.fixture
def form(app, place, tmp_path, monkeypatch):
    """The page with a tiny model in its form, and a set of pairs in the folder of data."""
    monkeypatch.setenv("STRATA_DATA", str(tmp_path / "data"))
    write_set(tmp_path / "data", "STS17_en/test.tsv", 250)
    app.session_state[evaluate_form.MODELS] = [str(place.model)]
    opened(app, tab=EVALUATE)
    app.multiselect(key=evaluate_form.SUITES_KEY).set_value([])
    return app


def choose_tasks(app, *tasks):
    """Type tasks in; AppTest refuses to set what is no option."""
    app.session_state[evaluate_form.TASKS] = list(tasks)
    if app.segmented_control(key="tab").value != EVALUATE:
        show(app, EVALUATE)
    app.run()


def evaluate(app):
    return pressed(app, evaluate_form.START)


def test_models_are_evaluated_in_the_background_and_stay(form, tmp_path):
    form.multiselect(key=evaluate_form.SUITES_KEY).set_value(["sts-more"])
    evaluate(form)
    (found,) = result_files.read_all(tmp_path / "results")[0]
    assert any("STS14-es" in text for text in words(form.warning)), "what was not there is named"
    frame = table(form)
    (score,) = frame[frame["model"] == found.model.name]["STS17"]
    assert score == pytest.approx(found.measured.score())
    assert jobs.find(evaluate_form.JOB) is None


def test_the_static_encoder_of_a_model_is_evaluated_too(form, place, tmp_path):
    form.session_state[evaluate_form.MODELS] = [f"static:{place.model}"]
    choose_tasks(form, "STS17")
    evaluate(form)
    (found,) = result_files.read_all(tmp_path / "results")[0]
    assert found.model.name == f"{place.model.name}, static"
    assert set(found.measured.titles) == {"mean of layer 0", "model default"}


def test_a_second_click_measures_nothing_unless_it_is_asked_for(form, tmp_path, monkeypatch):
    choose_tasks(form, "STS17")
    evaluate(form)
    assert words(form.success) == ["1 result measured."]
    loaded = []
    real = measure.measure
    monkeypatch.setattr(measure, "measure", lambda *of, **how: loaded.append(how) or real(*of, **how))
    evaluate(form)
    assert loaded == []
    assert words(form.success) == ["0 results measured, 1 taken from saved results."]
    form.toggle(key=key_of("again")).set_value(True)
    evaluate(form)
    assert [how["again"] for how in loaded] == [True]


def test_a_file_of_the_user_and_the_settings_reach_the_results(form, tmp_path):
    choose_tasks(form, str(write_labelled(tmp_path / "own")))
    form.text_input(key=key_of("seeds")).set_value("2,3")
    form.selectbox(key=key_of("titles")).set_value(evaluate_form.DEFAULT)
    evaluate(form)
    (found,) = result_files.read_all(tmp_path / "results")[0]
    assert found.task.name == "moods.csv"
    assert found.measured.seeds == (2, 3)
    assert found.measured.titles == ("model default",)


def test_every_setting_changes_what_is_evaluated():
    def checked(typed):
        return EvaluationChoice(("bag-of-words",), TASKS, typed).checked([])

    usual = checked({})
    assert (usual.options, usual.max_length) == (Options(), None)
    typed = {"text": "senteval", "probe": "senteval", "seeds": "1,2", "index": "ivf", "titles": "all", "again": True,
             "query_prompt": "query: ", "document_prompt": "passage: "}  # fmt: skip
    for name, value in typed.items():
        assert checked({name: value}).options != usual.options, name
    assert checked({"max_length": 8}).max_length == 8


def test_nonsense_in_a_field_is_refused_before_the_start(form, place):
    good = [str(place.model)]
    for models, asked, seeds, said in (
        (good, "STS99", "1", "STS99"),
        (good, "STS17", "1,<b>", "1,<b>"),
        (good, "STS17", "-1", "-1"),
        (["/no/such/folder"], "STS17", "1", "/no/such/folder"),
        (["static:/no/such/folder"], "STS17", "1", "'/no/such/folder'"),
        (["\0"], "STS17", "1", "cannot be looked up"),
        (["~nobody-of-this-name/x"], "STS17", "1", "~nobody"),
        (good, "\0", "1", "neither a task nor a file"),
    ):
        form.session_state[evaluate_form.MODELS] = models
        choose_tasks(form, asked)
        form.text_input(key=key_of("seeds")).set_value(seeds)
        form.button(key=evaluate_form.START).click().run()
        assert any(said in text for text in words(form.error)), said
        assert jobs.find(evaluate_form.JOB) is None, said


def test_an_estimate_says_what_is_left_to_measure(form):
    choose_tasks(form, "STS17")
    pressed(form, evaluate_form.ESTIMATE)
    (told,) = [text for text in words(form.info) if "to measure" in text]
    assert told.startswith("1 result to measure: about")
    assert result_files.read_all()[0] == ()
    evaluate(form)
    pressed(form, evaluate_form.ESTIMATE)
    assert any("1 is saved already" in text for text in words(form.info))


def test_a_model_that_fails_is_named_and_the_others_are_scored(form, tmp_path, place):
    (tmp_path / "empty").mkdir()
    form.session_state[evaluate_form.MODELS] = [str(tmp_path / "empty"), str(place.model)]
    choose_tasks(form, "STS17")
    evaluate(form)
    assert any("empty" in text for text in words(form.error))
    assert len(result_files.read_all(tmp_path / "results")[0]) == 1


def test_what_a_stopped_evaluation_has_measured_stays(form, tmp_path, monkeypatch):
    stopped = []
    real = result_files.write

    def write_and_stop(result):
        real(result)
        jobs.find(evaluate_form.JOB).stop()
        stopped.append(result.task.name)

    monkeypatch.setattr(result_files, "write", write_and_stop)
    choose_tasks(form, "STS17", str(write_labelled(tmp_path / "own")))
    form.selectbox(key=key_of("titles")).set_value(evaluate_form.DEFAULT)
    evaluate(form)
    assert stopped == ["STS17"]
    assert any("Stopped" in text for text in words(form.info))
    assert [one.task.name for one in result_files.read_all()[0]] == ["STS17"]
    assert "sts-more" in form.selectbox(key="suite").options
    monkeypatch.setattr(result_files, "write", real)
    pressed(form, evaluate_form.CONTINUE)
    assert words(form.success) == ["1 result measured, 1 taken from saved results."]


def test_after_a_failure_the_form_is_there_with_the_error(form):
    choose_tasks(form, "STS15")
    evaluate(form)
    assert any("STS15" in text for text in words(form.error))
    choose_tasks(form, "STS17")
    evaluate(form)
    assert words(form.success) == ["1 result measured."]


def test_a_finished_run_is_in_the_table(app, place, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    run = trainings.train(trainings.new(place, "simcse", name="shown", settings={"steps": 2}))
    frame = table(opened(app))
    base = Path(run.recipe().model).name
    column = Path(str(run.status().facts.set_of("test"))).name
    found = run.status().verdict.test
    for name, score in ((f"simcse on {base}", found.after), (run.recipe().model, found.before)):
        assert frame[frame["model"] == name][column].tolist() == [pytest.approx(score)], name


def test_a_run_of_a_plan_has_the_name_of_its_row_and_its_seed_wherever_runs_are_listed(app, place, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    recipe = trainings.recipe(place, "simcse", settings={"steps": 2, "evaluate_every": 1})
    run = trainings.train(runs.new(recipe, "of-a-plan", row="CLS_All attention"))
    base, called = Path(recipe.model).name, f"CLS_All attention, seed {recipe.seeds[0]}"
    assert f"CLS_All attention, simcse on {base}, seed {recipe.seeds[0]}" in list(table(opened(app))["model"])
    show(app, EVALUATE)
    assert f"{called} (run:of-a-plan)" in app.multiselect(key=evaluate_form.MODELS).options
    visits.opened(app, "train", run=run.name)
    assert called in words(app.subheader)
    visits.tab(app, run_view.RUNS)
    listed = next(one.value for one in app.dataframe if "Run" in one.value.columns)
    assert listed[listed["Folder"] == run.name]["Run"].tolist() == [called]
    visits.opened(app, "replay", replayed=run.name)
    assert called in words(app.caption)
    visits.opened(app, "layers")
    entered(app, app.sidebar.selectbox(key="model"), f"run:{run.name}")
    assert called in words(app.sidebar.caption)
    assert app.sidebar.selectbox(key="model").value == f"run:{run.name}", "the folder is the address"


def test_the_name_that_a_row_is_given_is_that_of_the_table_the_sentence_and_the_exports_and_no_choice_is_refused(
    app, saved
):
    opened(app)
    key = next(row.key for row in result_table.models(result_files.read_all()[0]) if row.name == "good")
    app.selectbox(key="row to rename").set_value(key).run()
    app.text_input(key=f"name of row {key}").set_value("fine").run()
    assert filters.TAKEN.format("fine") in words(app.error)
    app.text_input(key=f"name of row {key}").set_value("Ours -- 1").run()
    assert "Ours -- 1" in list(table(app)["model"])
    assert "good" not in list(table(app)["model"])
    (told,) = [text for text in words(app.info) if "significantly" in text]
    assert "Ours" in told
    show(app, EVALUATE)
    app.multiselect(key=evaluate_form.SUITES_KEY).set_value([])
    app.button(key=evaluate_form.START).click().run()
    assert any("at least one" in text for text in words(app.error))
    assert jobs.find(evaluate_form.JOB) is None


def test_published_scores_stand_beside_the_measured_ones(app, saved):
    opened(app, published_beside="fine", tab=PUBLISHED)
    published = app.dataframe[0].value
    assert list(published.loc[0, ["model", "base"]]) == ["fine", table_view.HERE]
    of_paper = (published["model"] == "SG-OPT") & (published["base"] == "BERT-base")
    (row,) = published[of_paper].to_dict("records")
    assert (row["STS12 (Spearman)"], row["STS13 (Spearman)"]) == (66.84, 80.13), "the measure of the paper"


def test_differences_from_a_paper_are_shown_on_request(app):
    result_files.write(result("m", "STS12", 70, measure="spearman"))
    opened(app, published_as=table_view.DIFFERENCES, tab=PUBLISHED)
    published = app.dataframe[0].value
    of_paper = (published["model"] == "SG-OPT") & (published["base"] == "BERT-base")
    (row,) = published[of_paper].to_dict("records")
    assert row["STS12 (Spearman)"] == pytest.approx(70 - 66.84)


def test_files_of_one_name_are_columns_of_their_own(app):
    for model, scores in (("one", (70, 60)), ("other", (50, 80))):
        for folder, score in zip("ab", scores, strict=True):
            of = task("test.tsv", data=folder, folder=f"sets/{folder}", kind="sts", text="raw")
            result_files.write(result(model, "", score, of=of))
    frame = table(opened(app, suite="others")).set_index("model")
    assert dict(frame.loc["one", ["a/test.tsv", "b/test.tsv"]]) == {"a/test.tsv": 70, "b/test.tsv": 60}
    assert dict(frame.loc["other", ["a/test.tsv", "b/test.tsv"]]) == {"a/test.tsv": 50, "b/test.tsv": 80}


def test_models_under_other_settings_are_not_ranked_together(app):
    usual, cut = ({"max_length": limit, "device": "cpu"} for limit in (None, 4))
    for model, settings in (("good", usual), ("fine", usual), ("bad", cut)):
        for name in TASKS:
            of = task(name, data=name, kind="sts", **settings)
            result_files.write(result(model, "", 100 * RIGHT[model].mean(), of=of, items=RIGHT[model]))
    frame = table(opened(app))
    assert list(frame["model"]) == ["good", "fine"]
    assert {*TASKS, "average of 2", GROUPS[0]} <= set(frame.columns)
    entered(app, app.selectbox(key="results_settings"), "maximum length 4")
    assert list(table(app)["model"]) == ["bad"]
    assert f"{TASKS[0]} (maximum length 4)" in table(app).columns
    entered(app, app.selectbox(key="results_settings"), filters.EVERY)
    assert set(table(app)["model"]) == {"good", "fine", "bad"}
    assert not {*GROUPS} & {*table(app).columns}


def test_a_result_that_cannot_be_read_is_named(app, saved):
    (path, *_) = sorted(saved.glob("good/**/STS12.json"), key=lambda path: -len(path.parts))
    path.write_text(path.read_text()[:100])
    opened(app)
    assert any(str(path) in text for text in words(app.warning))


@pytest.mark.parametrize(
    ("name", "digest", "is_shown"), [("run:a", "", False), ("run:renamed", "", False), ("run:a", "of others", True)]
)
def test_the_score_of_a_run_is_shown_unless_its_model_was_evaluated(monkeypatch, name, digest, is_shown):
    evaluated = result("run:a", "pairs", 80, recipe="one", seed=1)
    result_files.write(evaluated)
    # of the same recipe and seed
    model = ScoredModel(name, "local-1", digest or evaluated.model.digest, evaluated.model.origin)
    own = replace(evaluated, model=model)
    monkeypatch.setattr(run_results, "of_runs", lambda: [own])
    assert (own in table_view.every_result()) == is_shown


def test_a_task_of_several_suites_is_in_each_and_found_under_the_first():
    assert filters.suites_of(task("STS12")) == ["sts", "sts-mteb"]
    assert filters.suite_of(task("STS12")) == "sts"
    assert filters.suites_of(task("STS22.v2")) == ["sts-mteb", "sts22"]
    assert filters.suite_of(task("NanoNQ")) == "nanobeir"
    assert filters.suites_of(task("STS12", folder="mine")) == [filters.OTHERS]
