"""Test runs as folders: made atomically, found, renamed, deleted, and what killed processes left of them."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from explorer import run_folder, work_folder
from explorer.data.sources import texts
from explorer.errors import BadChoice, NotWritable, RunBusy, RunNotFound
from explorer.run_folder import Evaluation, TrainingStep
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.record.run_facts import RunFacts
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED, STOPPED, WAITING, Status
from explorer.ui.frame.page_list import PAGES
from tests.disk_calls import Killed, ReadOnlyDisk, watched
from tests.kill_points import forked
from tests.processes import process

RECIPE = Recipe("sg-opt", "some/Tiny model", ("a.csv",), seeds=(3, 4))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def idle(name: str = "", state: str = STOPPED, folder: Path | None = None) -> Run:
    run = runs.new(RECIPE, name, folder)
    statuses.write(run.folder, Status(state=state))
    return run


def names() -> list[str]:
    return [run.name for run in runs.every()]


def test_a_new_run_waits_and_holds_its_recipe(folder):
    run = runs.new(RECIPE, "first")
    assert run.folder == folder / "first"
    assert run.recipe() == RECIPE
    status = run.status()
    assert (status.state, status.seeds, status.seed, status.best, status.results) == (WAITING, 2, 3, None, ())
    assert status.facts.method == "sg-opt"
    assert status.facts.data == texts(["a.csv"])
    assert sorted(path.name for path in run.folder.iterdir()) == ["recipe.yaml", "status.json"]
    assert (run.metrics(), run.log_tail(), run.stop_requested()) == ([], "", "")


def test_a_run_without_a_name_is_called_by_method_and_model_and_numbered(folder):
    made = [runs.new(RECIPE).name for _ in range(3)]
    assert made == ["sg-opt-Tiny-model-1", "sg-opt-Tiny-model-2", "sg-opt-Tiny-model-3"]
    (folder / made[1]).rename(folder / "sg-opt-Tiny-model-11")
    assert runs.new(RECIPE).name == "sg-opt-Tiny-model-12", "a number is not given twice"
    for other in ("²", "٣", "1_0"):
        (folder / f"sg-opt-Tiny-model-{other}").mkdir()
    assert runs.new(RECIPE).name == "sg-opt-Tiny-model-13", "no number for a name"
    assert runs.new(Recipe("sg", "/a/long/" + "x" * 200)).name == f"sg-{'x' * 40}-1"
    assert runs.new(Recipe("sg", "…")).name == "sg-model-1"


def test_a_run_can_be_made_elsewhere(tmp_path, folder):
    run = runs.new(RECIPE, "there", tmp_path / "a" / "b")
    assert run.folder == tmp_path / "a" / "b" / "there"
    assert runs.every(tmp_path / "a" / "b") == [run]
    assert runs.find("there", tmp_path / "a" / "b") == run
    assert runs.every() == []


@pytest.mark.parametrize(
    "name", ["..", ".", ".hidden", "a/b", "/a", "../a", "a b", "-a", "a\n", "ü", "x" * 81, " ", "a\\b", "a\0"]
)
def test_a_name_that_is_no_plain_name_is_refused(folder, name):
    run = idle("before")
    for way in (lambda: runs.new(RECIPE, name), lambda: run.renamed(name)):
        with pytest.raises(BadChoice, match=r"A run cannot be called .* Use up to 80 letters"):
            way()
    with pytest.raises(RunNotFound, match="There are: before"):
        runs.find(name)
    assert [path.name for path in folder.iterdir()] == ["before"]


def test_names_may_be_long_and_dotted_and_no_name_is_no_name_to_rename_to():
    for name in ("x" * 80, "0.1_b-C", "v2..3"):
        assert runs.find(runs.new(RECIPE, name).name).name == name
    with pytest.raises(BadChoice, match="cannot be called ''"):
        idle().renamed("")


def test_a_name_that_is_taken_is_refused_also_in_the_same_instant_and_its_run_stays(folder, monkeypatch):
    first, second = idle("first"), idle("second")
    (first.folder / "train.log").write_text("mine")
    for way in (lambda: runs.new(RECIPE, "first"), lambda: second.renamed("first")):
        with pytest.raises(BadChoice, match=r"There is a run 'first' already\. Choose another name, or delete"):
            way()
    monkeypatch.setattr(runs, "free_name", lambda name, parent: name)
    with pytest.raises(BadChoice, match="There is a run 'first' already"):
        runs.new(RECIPE, "first")
    assert first.log_tail() == "mine"
    assert set(names()) == {"first", "second"}
    assert not list(folder.glob(".*.part"))


def test_an_unknown_run_is_refused_with_those_there_are(folder):
    with pytest.raises(RunNotFound, match=rf"no run 'x'\. There are: none yet\. {run_folder.LISTED}$"):
        runs.find("x")
    assert any(f"The page {page.title} lists" in run_folder.LISTED for page in PAGES)
    idle("first")
    (folder / "x").mkdir()  # a folder without a recipe is no run
    with pytest.raises(RunNotFound, match=r"no run 'x'\. There are: first"):
        runs.find("x")


def test_runs_are_listed_newest_first(folder):
    assert runs.every() == []
    for age, name in enumerate(("young", "older", "oldest")):
        os.utime(runs.new(RECIPE, name).folder / run_folder.RECIPE, (1e9 - age, 1e9 - age))
    assert names() == ["young", "older", "oldest"]


def test_what_is_half_made_or_half_deleted_is_never_listed(folder, monkeypatch):
    run = idle("whole")
    for name in (".half.part", ".deleted-whole-7"):
        (folder / name).mkdir()
        (folder / name / run_folder.RECIPE).write_text(RECIPE.as_yaml())
    (folder / "empty").mkdir()
    (folder / "file").write_text("")
    assert names() == ["whole"]
    seen = []
    monkeypatch.setattr(runs.statuses, "write", lambda *_: seen.append(names()) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        runs.new(RECIPE, "second")
    assert seen == [["whole"]], "while it is made it is not seen"
    assert names() == ["whole"]
    monkeypatch.undo()
    monkeypatch.setenv("STRATA_RUNS", str(folder))
    monkeypatch.setattr(runs.shutil, "rmtree", lambda gone: seen.append(names()))
    run.delete()
    assert seen[1:] == [[]], "while it is deleted it is not seen"


def test_a_folder_whose_name_is_not_utf8_which_no_page_can_show_is_not_listed(folder):
    run = idle("whole")
    (run.folder / run_folder.MODEL).mkdir()
    shutil.copytree(run.folder, folder / os.fsdecode(b"bad\xff"))
    assert names() == ["whole"]
    assert run_folder.models() == ["run:whole", "run:example", "run:layer-attention-example"]


def test_a_run_that_cannot_be_made_says_so_and_leaves_nothing(folder):
    folder.write_text("a file where the folder should be")
    with pytest.raises(NotWritable, match=r"runs cannot be written to: .*set STRATA_RUNS"):
        runs.new(RECIPE, "first")


def test_a_run_is_renamed_and_deleted_with_all_that_is_in_it(folder):
    run = idle("first")
    (run.folder / "model").mkdir()
    (run.folder / "model" / "config.json").write_text("{}")
    renamed = run.renamed("second")
    assert (renamed.folder, names()) == (folder / "second", ["second"])
    assert (renamed.model / "config.json").read_text() == "{}"
    assert renamed.recipe() == RECIPE
    renamed.delete()
    assert list(folder.iterdir()) == []


def test_a_run_that_waits_is_neither_renamed_nor_deleted():
    run = runs.new(RECIPE, "first")
    with pytest.raises(RunBusy, match=r"'first' is waiting and cannot be renamed\. Stop it first"):
        run.renamed("second")
    with pytest.raises(RunBusy, match="'first' is waiting and cannot be deleted"):
        run.delete()
    assert names() == ["first"]


def test_a_stop_request_stays_until_it_is_cleared():
    run = idle()
    for how in (runs.KEEP, runs.DISCARD):
        run.request_stop(how)
        assert Run(run.folder).stop_requested() == how
    run.clear_stop_request()
    assert run.stop_requested() == ""
    run.clear_stop_request()


def test_a_line_that_is_half_written_is_no_measurement():
    run = idle()
    lines = [TrainingStep(1, 7, 1, loss=0.5), Evaluation(1, 7, 2, dev=70.0)]
    text = "".join(map(run_folder.metric_text, lines))
    for torn in ("", '{"step": 3, "lo', "{"):
        (run.folder / run_folder.METRICS).write_text(text + torn)
        assert run.metrics() == lines


def test_the_end_of_a_log_is_told_even_where_a_letter_is_half_written():
    run = idle()
    (run.folder / run_folder.LOG).write_bytes("".join(f"line {n}\n" for n in range(50)).encode() + "ü".encode()[:1])
    assert run.log_tail(3).splitlines()[:2] == ["line 48", "line 49"]
    assert len(run.log_tail().splitlines()) == 20


@pytest.mark.parametrize("state", [STOPPED, "failed"])
def test_a_run_that_ended_early_is_put_back_and_its_failure_forgotten(state):
    run = idle(state=state)
    statuses.write(run.folder, Status(state=state, error="because", details="a, b", step=7, best=70.0))
    run.request_stop(runs.KEEP)
    runs.restarted(run)
    status = run.status()
    assert (status.state, status.error, status.details, status.step, status.best) == (WAITING, "", "", 7, 70.0)
    assert run.stop_requested() == ""


def test_a_run_is_not_put_back_while_it_waits_or_when_it_is_finished():
    with pytest.raises(RunBusy, match="is waiting already"):
        runs.restarted(runs.new(RECIPE))
    run = idle(state=FINISHED)
    with pytest.raises(BadChoice, match=r"is finished\. To train its model further, start a run with .*model as base"):
        runs.restarted(run)


def test_runs_made_at_once_have_names_of_their_own(folder):
    together = [process(runs.new, RECIPE, "", folder) for _ in range(6)]
    for one in together:
        one.join(60)
    assert [one.exitcode for one in together] == [0] * 6
    assert sorted(names()) == [f"sg-opt-Tiny-model-{number}" for number in range(1, 7)]
    assert not list(folder.glob(".*.part"))


def saved(name: str = "", state: str = STOPPED, folder: Path | None = None) -> Run:
    """A run that nobody trains, with a model and a state."""
    run = idle(name, state, folder)
    for inside in (run.model, run.state / "save-1"):
        inside.mkdir(parents=True)
        (inside / "tensors").write_bytes(b"weights")
    return run


def test_the_state_of_a_finished_run_is_deleted_in_any_folder_and_no_other(tmp_path):
    finished, stopped = saved("finished", FINISHED), saved("stopped", STOPPED)
    with finished.held():
        runs.collect()
        assert finished.state.exists(), "a process works on it"
    runs.collect()
    assert not finished.state.exists()
    assert stopped.state.exists()
    finished = saved("finished", FINISHED, tmp_path / "other")
    runs.collect(tmp_path / "other")
    assert not finished.state.exists()


def test_half_made_and_half_deleted_runs_are_deleted_when_they_are_old(folder, monkeypatch):
    names = (".123-456.part", ".deleted-run-7", ".deleted-a-b-7")
    others = (".mine", ".mine.part", "run.part", ".deleted")
    for name in (*names, *others):
        (folder / name / "inside").mkdir(parents=True)
    runs.collect()
    assert {path.name for path in folder.iterdir()} == {*names, *others}, "another process may be at work"
    monkeypatch.setattr(work_folder, "UNTOUCHED", 0.0)
    runs.collect()
    assert {path.name for path in folder.iterdir()} == set(others)


def kill_deletions(folder: Path, told: Path) -> None:
    """Kill a process at every call of a deletion; write what was left each time, before and after collecting."""
    work_folder.UNTOUCHED = 0.0
    os.environ["STRATA_RUNS"] = str(folder)
    found, code = [], -signal.SIGKILL
    while code == -signal.SIGKILL:
        run = saved("run", folder=folder)
        code, _ = forked(Killed(folder, len(found)), run.delete)
        listed = [(one.name, sorted(path.name for path in one.folder.iterdir())) for one in runs.every()]
        runs.collect()
        found.append((code, listed, sorted(path.name for path in folder.iterdir())))
        shutil.rmtree(run.folder, ignore_errors=True)
    told.write_text(json.dumps(found))


def test_a_deletion_that_is_killed_at_any_call_leaves_the_whole_run_or_nothing(folder, tmp_path):
    process(kill_deletions, folder, tmp_path / "told").join()
    found = json.loads((tmp_path / "told").read_text())
    whole = ["run", ["model", "recipe.yaml", "state", "status.json"]]
    assert [code for code, _, _ in found] == [-signal.SIGKILL] * (len(found) - 1) + [0]
    assert len(found) > 8, "the premise: there are many calls"
    for _, listed, left in found:
        assert (listed, left) in (([whole], ["run"]), ([], []))


def test_a_run_is_deleted_though_an_earlier_one_of_its_name_was_half_deleted(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(runs.shutil, "rmtree", lambda gone, **_: None)
        saved("run").delete()
    saved("run").delete()
    assert runs.every() == []


@pytest.mark.parametrize("at", range(8))
def test_a_deletion_on_a_disk_that_becomes_read_only_says_what_is_left(folder, at):
    run = saved("run")
    with watched(ReadOnlyDisk(folder, at)), pytest.raises(NotWritable, match="Read-only file system") as refused:
        run.delete()
    assert ("is deleted, but a part of it is left" in str(refused.value)) == (at > 0)
    assert [one.name for one in runs.every()] == (["run"] if at == 0 else [])


def test_figures_name_a_run_in_words():
    statuses.write(idle("cell").folder, Status(seed=2, facts=RunFacts(row="twice as long")))
    called = {
        "run:example": "example run",
        "run:mine@step-60": "mine run, step 60",
        "run:cell": "twice as long, seed 2",
        "run:cell@step-4": "twice as long, seed 2, step 4",
        "all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
    }
    assert {model: runs.model_title(model) for model in called} == called
