"""Test that stages are added, set, removed and filled in on the form of the Train page, and shown on a run's page."""

import shlex

from explorer.data.text_sets import SENTENCES
from explorer.methods import suggested
from explorer.training.recipe import Stage
from explorer.training.record import runs
from explorer.ui.runs import training_form
from explorer.ui.train import run_view, stage_form, start_form, text_form
from tests import trainings
from tests.train_visits import START, refusals, show
from tests.visits import tab, words


def stage_words(app) -> list[list[str]]:
    """What the printed command says of each stage."""
    found: list[list[str]] = []
    for word in shlex.split(app.code[0].value):
        if word == "--stage":
            found.append([])
        elif word in ("--dev", "--seed"):
            break
        if found:
            found[-1].append(word)
    return found


def test_stages_are_added_set_and_removed_without_touching_the_fields_of_the_run(app, place):
    app.run()
    of_run = app.number_input(key="knob sg-opt steps").value
    before = app.code[0].value
    assert "--stage" not in before
    app.button(key="add stage").click().run()
    app.button(key="add stage").click().run()
    assert [words[:2] for words in stage_words(app)] == [["--stage", suggested(SENTENCES, 1)]] * 2
    app.selectbox(key="stage 1 method").set_value("sg-opt").run()
    app.selectbox(key="stage 2 method").set_value("tsdae").run()
    app.multiselect(key="stage 2 text").set_value([str(place.text)]).run()
    app.number_input(key="knob of stage 2: tsdae steps").set_value(3).run()
    app.number_input(key="knob of stage 1: sg-opt steps").set_value(2).run()
    assert refusals(app) == []
    first, second = stage_words(app)
    assert first[:4] == ["--stage", "sg-opt", "--stage-data", "sample"]
    assert "steps=2" in first
    assert second[:4] == ["--stage", "tsdae", "--stage-data", str(place.text)]
    assert "steps=3" in second
    assert app.number_input(key="knob sg-opt steps").value == of_run, "of the run"
    app.button(key="stage 1 remove").click().run()
    assert stage_words(app) == [second]
    app.button(key="stage 2 remove").click().run()
    assert app.code[0].value == before


def test_a_stage_that_cannot_be_trained_says_so_at_its_field_and_keeps_the_run_from_starting(app, place):
    app.run()
    app.button(key="add stage").click().run()
    app.multiselect(key="stage 1 text").set_value([str(place.text)]).run()
    app.selectbox(key="stage 1 method").set_value("contrast").run()
    assert any("has one sentence per row" in told for told in words(app.error))
    assert app.button(key=START).disabled
    assert not {"whitening", "flow"} & {*app.selectbox(key="stage 1 method").options}


def test_a_stage_with_the_text_of_the_run_has_its_columns(app, tmp_path, nothing_is_measured):
    path = tmp_path / "columns.csv"
    rows = [f"the question {at} is here,the answer {at} is here,a remark {at} on both" for at in range(40)]
    path.write_text("\n".join(["question,answer,comment", *rows]) + "\n")
    app.run()
    app.multiselect(key=training_form.SOURCES).set_value([str(path)]).run()
    app.selectbox(key=training_form.METHOD).set_value("contrast").run()
    app.selectbox(key=text_form.column_key("second")).set_value("comment").run()
    app.button(key="add stage").click().run()
    (words,) = stage_words(app)
    assert words[words.index("--stage-column") + 1] == "second=comment"


def test_a_run_with_stages_shows_them_and_is_duplicated_with_them(visit, place):
    stages = (Stage("tsdae", (str(place.text),), settings=trainings.SETTINGS),)
    run = runs.new(trainings.recipe(place, "contrast", stages=stages))
    trainings.train(run)
    show(visit, run)
    table = next(one.value for one in visit.dataframe if "Stage" in one.value)
    tab(visit, run_view.LOG)
    captions = " ".join(words(visit.caption))
    assert "tsdae, then contrast on " in captions
    assert "1. tsdae on text.csv (24 rows), 2. contrast on triplets.csv (24 rows)" in captions.replace("\\", "")
    assert list(table["Ends at step"]) == [6, 12]
    result = run.status().results[0]
    assert list(table["Best checkpoint"]) == [result.stages[0].best_step, result.best_step]
    visit.button(key="run duplicate").click().run()
    assert visit.session_state[stage_form.STAGES]
    tab(visit, start_form.COMMAND)
    expected = shlex.split(run.recipe().command())
    assert sorted(shlex.split(visit.code[0].value)) == sorted(expected)
