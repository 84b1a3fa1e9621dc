"""Test that a plan's table has scores of its own data, settings and models, or says why it has none."""

from dataclasses import replace

import pytest

from explorer.__main__ import main
from explorer.data.graded.sets import halves
from explorer.errors import DataError
from explorer.evaluating.results import result_files, table_formats
from explorer.progress import finish
from explorer.run_folder import model_name
from explorer.studies.plans import execution, plan_columns, plan_folder, plan_report, plan_table
from explorer.studies.plans.plan import Plan, PlanBudget, Variant, cells, with_sets
from explorer.training.record import runs
from tests import namesakes
from tests.html_tables import tables


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Two files of one name, of which the plan has both, and a third one."""
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    return namesakes.write(tmp_path)


@pytest.fixture
def own(plan, tasks):
    """A plan of one training that is evaluated on two tasks."""
    return replace(plan, grid={}, seeds=(1,), tasks=tuple(map(str, tasks[:2])), precision="float32", device="cpu")


def executed(plan):
    folder = plan_folder.new(plan)
    return folder, finish(execution.execute(folder))


def scores(plan):
    """The scores of the tasks, of the bases and of the row."""
    found = plan_table.as_json(plan_table.table(plan))
    return found["bases"], [row["tasks"] for row in found["rows"]], found["unmeasured"]


def test_every_column_has_the_scores_that_scipy_gives_its_file(own, tasks, place):
    executed(own)
    ((_, of_base),), (of_row,), unmeasured = scores(own)[0].items(), *scores(own)[1:]
    (run,) = runs.every()
    for path, label in zip(tasks[:2], ("a/test.tsv", "b/test.tsv"), strict=True):
        assert of_base[label] == pytest.approx(namesakes.outside_score(place.model, path), abs=0.001)
        assert of_row[label][0] == pytest.approx(namesakes.outside_score(run.model, path), abs=0.001)
    assert unmeasured == ()


def test_what_others_measure_changes_no_number(own, tasks, place):
    executed(own)
    before = scores(own)
    (run,) = runs.every()
    models = [str(place.model), model_name(run.name)]
    for words in (["--task", str(tasks[2])], ["--task", str(tasks[0]), "--max-length", "4"]):
        assert main(["evaluate", *models, *words]) == 0
    assert len(result_files.read_all()[0]) == 8, "the premise: there are other results of both models"
    assert scores(own) == before


def test_a_score_that_is_not_there_is_missing_with_the_reason(own, capsys, tmp_path):
    folder, _ = executed(own)
    for path in (tmp_path / "results").glob("run-*/**/test.tsv.json"):
        path.unlink()
    bases, (of_row,), (first, second) = scores(own)
    assert all(score is not None for of_base in bases.values() for score in of_base.values())
    assert list(of_row.values()) == [None, None]
    assert first.startswith("a/test.tsv: no result with the plan's data and settings, of simcse, seed 1")
    assert second.startswith("b/test.tsv")
    assert main(["plan", own.name, "--table"]) == 0
    assert first in capsys.readouterr().err
    finish(execution.execute(folder))
    assert scores(own)[2] == ()


def test_a_file_that_is_changed_is_evaluated_again_for_every_model(own, tasks):
    folder, _ = executed(own)
    before = scores(own)
    tasks[0].write_text(tasks[2].read_text())
    assert scores(own) == before, "what the plan measured stays"
    finish(execution.execute(folder))
    bases, (of_row,), unmeasured = scores(own)
    assert unmeasured == ()
    assert all(of_base["a/test.tsv"] != before[0][model]["a/test.tsv"] for model, of_base in bases.items())
    assert of_row["a/test.tsv"] != before[1][0]["a/test.tsv"]
    assert of_row["b/test.tsv"] == before[1][0]["b/test.tsv"]


def test_a_plan_that_was_not_begun_says_so_and_a_suite_is_refused_only_if_none_of_its_tasks_is_there(own, monkeypatch):
    bases, _, unmeasured = scores(own)
    assert set(bases[own.models[0]].values()) == {None}
    assert [one.partition(":")[0] for one in unmeasured] == ["a/test.tsv", "b/test.tsv"]
    monkeypatch.delenv("STRATA_DATA", raising=False)
    execution.check(replace(own, tasks=("retrieval",)))  # the sample's ships with Strata, the other is missing
    with pytest.raises(DataError, match="Task sts: STS12"):
        execution.check(replace(own, tasks=("sts",)))


@pytest.mark.parametrize("text", ["score\tsentence1\tsentence2\n", "\0\0", ""])
def test_a_task_that_cannot_be_read_is_refused_before_anything_is_trained(own, tasks, text):
    tasks[1].write_text(text)
    with pytest.raises(DataError, match=r"Task .*b/test.tsv"):
        execution.check(own)
    assert runs.every() == []


def test_a_budget_counts_the_runs_of_its_own_plan(own):
    plain = replace(own, tasks=())
    executed(replace(plain, name="short-and-long", settings={**own.settings, "learning_rate": 2e-3}))
    spent_there = sum(run.status().step for run in runs.every())
    folder, status = executed(replace(plain, grid={"temperature": (0.1,)}, budget=PlanBudget(steps=2)))
    assert spent_there == 2
    assert status.left_out == (), "the other plan's steps are not its own"
    assert len(runs.every()) == 2
    _, steps = execution.spent(folder.status().id, runs.every())
    assert steps == 2


def test_a_plan_that_has_the_name_of_a_deleted_one_begins_with_its_whole_budget(own):
    plain = replace(own, tasks=(), budget=PlanBudget(steps=2))
    folder, _ = executed(plain)
    folder.delete()
    again, status = executed(replace(plain, seeds=(1, 2)))
    assert status.left_out == ()
    assert plan_table.table(again.plan()).done == 2


def test_a_plan_does_not_go_on_with_a_run_of_another_plan(own):
    plain = replace(own, tasks=())
    work = execution.execute(plan_folder.new(replace(plain, name="short-other")))
    while "training" not in next(work).stage:
        pass
    work.close()
    (left,) = runs.every()
    assert left.name.startswith("short-")
    executed(plain)
    assert len(runs.every()) == 2
    assert left.status().state == "interrupted"


def test_sets_and_base_are_named_in_every_form_of_the_table(own, place):
    executed(own)
    found = plan_table.table(replace(own, tasks=()))
    (run,) = runs.every()
    before = run.status().verdict.test.before
    content = plan_table.as_json(found)
    assert (content["dev_sets"], content["test_sets"]) == ([str(place.dev)], [str(place.test)])
    ((base,), (row,)) = content["base_rows"], content["rows"]
    assert (base["test_set"], row["test_set"]) == (str(place.test), str(place.test))
    assert base["test"] == before == pytest.approx(row["test"][0] - row["difference"][0])
    header, lines = table_formats.shown(*plan_columns.written(found))
    test, dev = (f"{use} ({path.name}, Spearman)" for use, path in (("test", place.test), ("dev", place.dev)))
    assert {test, dev} < set(header)
    assert lines[0][header.index(test)] == f"{before:.2f}"
    page = plan_report.report(found).decode()
    assert f"dev set: {place.dev.name} · test set: {place.test.name}" in page
    shown, of_seeds = tables(page)
    assert [next(iter(row.values())) for row in shown] == [line[0] for line in lines]
    assert list(shown[0]) == header
    (done,) = [cell.done for one in found.rows for cell in one.cells]
    assert of_seeds[0]["tuned, Spearman"] == pytest.approx(done.verdict.test.after), "the numbers of each seed"
    assert "To repeat it" in page
    assert str(place.folder) not in page, "no folder of this machine"


def test_sets_of_a_plan_are_stated_and_those_of_its_rows_have_a_column(place):
    rows = (Variant("scored", method="cosent"), Variant("plain", method="simcse"))
    found = plan_table.table(Plan("two", (), (str(place.model),), (("sample",),), {"steps": 2}, variants=rows))
    header, lines = table_formats.shown(*plan_columns.written(found))
    assert {plan_table.DEV, plan_columns.DEV_SET, plan_columns.TEST_SET} < set(header)
    at = header.index("dev set")
    named = {line[0]: line[at] for line in lines[-2:]}
    assert named == {cell.row: str(cell.recipe.dev) for cell in cells(found.plan)}
    assert len(set(named.values())) == 2, "the premise"
    plan = Plan("one", ("simcse",), (str(place.model),), settings={"steps": 2})
    assert (with_sets(plan).dev, with_sets(plan).test) == halves()
    assert str(with_sets(replace(plan, test="none")).test) == "none"
