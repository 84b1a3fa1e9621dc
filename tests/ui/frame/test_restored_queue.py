"""Test that a server takes up what another one left: waiting runs in their order, and plans under way."""

import json
import threading
import time
from dataclasses import replace
from itertools import count

import pytest

from explorer.errors import RunGone
from explorer.progress import Progress, finish
from explorer.run_folder import QUEUED
from explorer.studies.plans import execution, plan_folder
from explorer.studies.plans.plan import Plan
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui.access import jobs
from explorer.ui.frame import server
from explorer.ui.runs import training_queue
from tests import trainings
from tests.processes import process
from tests.visits import wait_until


@pytest.fixture(autouse=True)
def own_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(training_queue, "PAUSE", 0.02)
    return tmp_path / "runs"


@pytest.fixture
def plan(place) -> Plan:
    settings = {"batch_size": 4, "steps": 2, "max_length": 16}
    sets = {"dev": str(place.dev), "test": str(place.test), "elsewhere": ()}
    return Plan("short", ("simcse",), (str(place.model),), ((str(place.text),),), settings, seeds=(1, 2), **sets)


def server_ends():
    """Forget every job as a killed process does; the folders stay as they are."""
    jobs._jobs.clear()


def orphaned(folder):
    """Make a folder's status that of a process that has ended."""
    path = folder / "status.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": 2**22 + 1, "born": "1"}))


@pytest.fixture
def clock_that_is_set_back(monkeypatch):
    """Each time of the day is an hour before the last one."""
    hours = count()
    for name, unit in (("time", 1), ("time_ns", 10**9)):
        now = getattr(time, name)()
        monkeypatch.setattr(time, name, lambda now=now, unit=unit: now - 3600 * unit * next(hours))


def test_waiting_runs_are_queued_again_in_their_order(place, gate, clock_that_is_set_back):
    queued = [training_queue.start(trainings.recipe(place, seeds=(seed,)), name) for seed, name in enumerate("cab")]
    assert all((run.folder / QUEUED).is_file() for run in queued)
    server_ends()
    for run in queued:
        orphaned(run.folder)
    assert {run.status().state for run in queued} == {statuses.INTERRUPTED}
    server.restore_queue()
    assert [key for key in jobs._jobs if key != "front"] == [str(run.folder) for run in queued]
    assert {run.status().state for run in queued} == {statuses.WAITING}


def test_a_run_that_was_training_stays_interrupted(place):
    with trainings.paced():
        run = training_queue.start(trainings.recipe(place, settings={"steps": 100_000}))
        wait_until(lambda: run.status().step > 1)
        assert not (run.folder / QUEUED).exists()
        jobs.stop_all()
    server_ends()
    server.restore_queue()
    assert run.status().state == statuses.INTERRUPTED
    assert training_queue.job_of(run) is None


def test_a_waiting_run_that_was_stopped_is_not_queued_again(place, gate):
    run = training_queue.start(trainings.recipe(place))
    training_queue.stop(run, runs.KEEP)
    server_ends()
    server.restore_queue()
    assert run.status().state == statuses.STOPPED
    assert not jobs._jobs


def test_a_second_server_leaves_what_another_one_has_queued(place, gate):
    run = training_queue.start(trainings.recipe(place))
    before = run.status()
    first = jobs._jobs.copy()
    server_ends()  # this process stands for the second server; the first one lives
    server.restore_queue()
    assert not jobs._jobs
    assert run.status() == before
    jobs._jobs.update(first)


def test_plans_of_the_app_go_on_in_their_order_and_others_do_not(plan, clock_that_is_set_back):
    for name, of_app in (("by-hand", False), ("first", True), ("second", True)):
        orphaned(plan_folder.new(replace(plan, name=name), of_app=of_app).folder)
    server.restore_queue()
    assert [job.title for job in jobs._jobs.values() if job.lane == jobs.PLANS] == ["plan first", "plan second"]
    wait_until(lambda: not any(job.live for job in jobs._jobs.values()))
    assert plan_folder.find("first").status().state == plan_folder.FINISHED
    assert plan_folder.find("by-hand").status().state == plan_folder.INTERRUPTED
    assert len(runs.every()) == 2, "both plans have the same trainings"


@pytest.mark.parametrize("status", [None, "[" * 50_000, '{"of_app": true, "state": ' + "9" * 5000 + "}"])
def test_nothing_is_loaded_where_nothing_is_left(own_runs, monkeypatch, status):
    own_runs.mkdir()
    if status:
        (own_runs / "plans" / "broken").mkdir(parents=True)
        (own_runs / "plans" / "broken" / "status.json").write_text(status)
    monkeypatch.setattr(training_queue, "queue_again", None)
    monkeypatch.setattr(training_queue, "plans_again", None)
    before = sorted(own_runs.rglob("*"))
    server.restore_queue()
    assert sorted(own_runs.rglob("*")) == before


def test_a_user_s_run_gets_its_turn_after_the_training_under_way(plan, place):
    queued = threading.Event()
    with trainings.paced(60, queued.wait):
        folder = training_queue.start_plan(plan)
        wait_until(training_queue.in_training)
        mine = training_queue.start(trainings.recipe(place), "mine")
        queued.set()
        wait_until(lambda: not training_queue.standing(folder).live)
    began = {run.name: run.metrics()[0].time for run in runs.every()}
    first, second = sorted(began[name] for name in began if name != "mine")
    assert first <= began["mine"] <= second
    assert mine.status().state == statuses.FINISHED


class OwnProcesses:
    """In place of processes of their own: trainings in the threads of their jobs, which end when they are let."""

    def __init__(self, at_once, processes):
        self.let, self.begun = threading.Event(), []

    def train(self, run):
        self.begun.append(run.name)
        try:
            while not self.let.is_set():
                yield Progress("training", 1, 2, pause=0.01)
            run.put(replace(run.status(), state=statuses.FINISHED))
        finally:
            self.begun.remove(run.name)
        return run


@pytest.fixture
def workers(monkeypatch):
    """What trains outside this process, three at a time."""
    found = OwnProcesses(3, 1)
    monkeypatch.setattr("explorer.training.workers.own_processes.OwnProcesses", lambda *given: found)

    def number(plan, estimated):
        yield Progress("estimating", 0, 0)
        return 3

    monkeypatch.setattr("explorer.studies.plans.plan_estimate.number_at_once", number)
    return found


def test_trainings_of_a_plan_at_once_are_one_turn_in_the_queue_and_the_page_says_how_many(plan, place, workers, app):
    folder = training_queue.start_plan(replace(plan, seeds=(1, 2, 3, 4, 5)))
    wait_until(lambda: len(workers.begun) == 3)
    mine = training_queue.start(trainings.recipe(place), "mine")
    app.query_params["plan"] = folder.name
    shown = [one.value for one in app.switch_page("pages/plans.py").run().caption]
    assert "Up to 3 trainings at once, each in a process of its own." in shown
    assert mine.status().state == statuses.WAITING
    assert len(training_queue.in_training()) == 3
    workers.let.set()
    wait_until(lambda: not training_queue.standing(folder).live)
    assert (folder.status().state, folder.status().at_once) == (plan_folder.FINISHED, 3)
    assert mine.status().state == statuses.FINISHED


def test_a_plan_that_is_stopped_stops_all_its_trainings_and_goes_on_with_them(plan, workers):
    folder = training_queue.start_plan(replace(plan, seeds=(1, 2, 3, 4)))
    wait_until(lambda: len(workers.begun) == 3)
    training_queue.stop(folder)
    wait_until(lambda: not training_queue.standing(folder).live)
    assert folder.status().state == plan_folder.STOPPED
    assert workers.begun == []
    assert [run.status().state for run in runs.every()] == [statuses.STOPPED] * 3
    workers.let.set()
    training_queue.resume_plan(folder)
    wait_until(lambda: not training_queue.standing(folder).live)
    assert [run.status().state for run in runs.every()] == [statuses.FINISHED] * 4


def test_a_run_of_a_plan_that_fails_is_named_with_its_error(plan, monkeypatch):
    def fails(run):
        yield Progress("training", 1, 2)
        raise RunGone("The disk is full.")

    monkeypatch.setattr("explorer.training.running.train", fails)
    folder = training_queue.start_plan(plan)
    wait_until(lambda: not training_queue.standing(folder).live)
    assert set(folder.status().failures.values()) == {"The disk is full."}


def test_a_run_of_a_plan_that_is_refused_before_its_first_step_leaves_no_folder(plan):
    refused = replace(plan, methods=("sg-opt",), settings={**plan.settings, "first_layer": 9}, seeds=(1,))
    folder = training_queue.start_plan(refused)
    wait_until(lambda: not training_queue.standing(folder).live)
    assert "first_layer cannot be 9" in folder.status().failures["sg-opt, seed 1"]
    assert runs.every() == []


def test_a_plan_ends_in_the_same_table_by_the_queue_as_by_the_command_line(plan, tmp_path, monkeypatch):
    from explorer.studies.plans import plan_table

    folder = training_queue.start_plan(plan)
    wait_until(lambda: not training_queue.standing(folder).live)
    found = [row.score("test") for row in plan_table.table(plan).rows]
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "other"))
    finish(execution.execute(plan_folder.new(plan)))
    assert [row.score("test") for row in plan_table.table(plan).rows] == found


def test_a_plan_that_another_process_works_on_is_refused(plan):
    folder = plan_folder.new(plan)
    work = execution.execute(folder)
    next(work)
    with pytest.raises(Exception, match="running already"):
        training_queue.resume_plan(folder)
    work.close()


def test_a_process_of_its_own_can_be_killed(plan):
    """A fork that queued a plan and ended at once leaves it interrupted, as a killed server does."""
    process(_queue, plan).join()
    folder = plan_folder.find(plan.name)
    assert folder.status().state == plan_folder.INTERRUPTED
    server.restore_queue()
    wait_until(lambda: not training_queue.standing(folder).live)
    assert folder.status().state == plan_folder.FINISHED


def _queue(plan: Plan) -> None:
    plan_folder.new(plan, of_app=True)
