"""Test that a plan trains what is missing and nothing twice, tells what failed, and what the rest of it takes."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest

from explorer import work_folder
from explorer.__main__ import _options, main
from explorer.commands import plans as commands
from explorer.data import sample, sources
from explorer.data.graded import sets
from explorer.data.graded.sets import SetIdentity
from explorer.errors import NotWritable, RunBusy, RunTooLarge, StrataError, UnreadableFile
from explorer.progress import WORDS, Phase, Progress, finish
from explorer.studies.plans import (
    execution,
    plan_columns,
    plan_estimate,
    plan_file,
    plan_folder,
    plan_report,
    plan_table,
)
from explorer.studies.plans.plan import PlanBudget, Variant, cells
from explorer.studies.plans.plan_estimate import estimate
from explorer.training import running
from explorer.training.loop.measured_facts import Estimate
from explorer.training.recipe import Stage
from explorer.training.record import runs
from explorer.training.record import status as statuses
from tests.plan_kills import numbers
from tests.studies.plans.seeds_by_hand import by_hand
from tests.trainings import weights


def executed(folder, train=running.train):
    return finish(execution.execute(folder, train))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The runs and the table of the plan if nobody disturbs it, so that it is trained once."""
    return SimpleNamespace(runs=tmp_path_factory.mktemp("undisturbed") / "runs", table=None)


@pytest.fixture
def unbroken(plan, undisturbed, monkeypatch):
    """The table of the plan if nobody disturbs it."""
    if undisturbed.table is None:
        with monkeypatch.context() as patch:
            patch.setenv("STRATA_RUNS", str(undisturbed.runs))
            executed(plan_folder.new(plan))
            undisturbed.table = numbers(plan)
    return undisturbed.table


@pytest.fixture
def done(plan, own_runs, unbroken, undisturbed):
    """The folder of the plan with all of its trainings."""
    shutil.copytree(undisturbed.runs, own_runs)
    return plan_folder.find(plan.name)


def test_each_row_has_the_mean_and_the_deviation_of_its_runs(plan, done):
    status = done.status()
    assert (status.state, status.failures) == (plan_folder.FINISHED, {})
    every = {(run.recipe().settings.get("temperature", 0.05),
              run.recipe().seeds[0]): run.status() for run in runs.every()}  # fmt: skip
    assert len(every) == 4
    for row, temperature in zip(plan_table.table(plan).rows, (0.05, 0.1), strict=True):
        tests = [every[temperature, seed].verdict.test for seed in (1, 2)]
        mean = sum(test.after for test in tests) / 2
        assert row.score("test").mean == pytest.approx(mean)
        assert row.score("test").std == pytest.approx(abs(tests[0].after - tests[1].after) / 2**0.5)
        assert row.verdict.difference == pytest.approx(sum(test.difference for test in tests) / 2)
        edges = by_hand([(test.difference, test.low, test.high) for test in tests])
        assert (row.verdict.low, row.verdict.high) == pytest.approx(edges)
        assert row.memory > 0
        assert str(row.before) == f"{tests[0].before_as_trained:.2f}", "the same for both seeds"


def test_rows_with_and_without_a_stage_are_trained_once_each(plan):
    (text,) = plan.data
    stage = Stage("tsdae", text, settings=plan.settings)
    rows = (Variant("alone", plan.settings), Variant("after tsdae", plan.settings, stages=(stage,)))
    given = replace(plan, grid={}, seeds=(1,), variants=rows)
    assert executed(plan_folder.new(given)).failures == {}
    trained = {run.name for run in runs.every()}
    staged = [run.status() for run in runs.every() if run.recipe().stages]
    assert len(trained) == 2
    assert len(staged) == 1
    assert all(one.facts.stages.methods[0] == "tsdae" and one.verdict.test for one in staged)
    table = plan_table.table(given)
    assert [row.label for row in table.rows] == ["alone", "after tsdae"]
    again = executed(plan_folder.new(replace(given, name="again")))
    assert (again.failures, {run.name for run in runs.every()}) == ({}, trained), "nothing is trained again"
    assert "--stage tsdae" in staged_command(given)


def staged_command(given) -> str:
    return next(cell.recipe.command() for cell in cells(given) if cell.recipe.stages)


def test_a_plan_that_is_stopped_at_every_step_ends_in_the_same_table(plan, unbroken):
    folder, sessions = plan_folder.new(plan), 0
    while folder.status().state != plan_folder.FINISHED:
        work = execution.execute(folder)
        for number, _ in enumerate(work):
            if number == 15 + 12 * sessions:  # always at another step
                break
        work.close()
        sessions += 1
    assert sessions > 3
    assert numbers(plan) == unbroken
    assert len(runs.every()) == 4


def test_a_plan_and_its_comparison_have_the_same_numbers_if_every_text_has_other_words(
    plan, place, done, unbroken, monkeypatch, capsys
):
    def compared():
        assert main(["compare", str(place.model), f"run:{first.name}", "--sts", str(place.test), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        return found["cells"], found["chosen"]

    failed = []

    def train(run):
        if not failed:
            failed.append(run.name)
            raise StrataError("The disk is full.")
        return (yield from running.train(run))

    first = runs.every()[0]
    before = compared()
    first.delete()
    for phase, words in zip(list(WORDS), [*list(WORDS.values())[1:], WORDS[next(iter(Phase))]], strict=True):
        monkeypatch.setitem(WORDS, phase, words)
    monkeypatch.setattr(SetIdentity, "title", property(lambda given: f"{given.piece} <- {given.name}"[::-1]))
    monkeypatch.setattr(StrataError, "__str__", lambda error: "Other words.")
    assert executed(done, train).failures
    assert not executed(done).failures, "what failed is tried again"
    assert numbers(plan) == unbroken
    assert compared() == before


def test_nothing_is_trained_twice(plan, done):
    trained = []

    def train(run):
        trained.append(run.name)
        return (yield from running.train(run))

    executed(done, train)
    assert trained == []
    other = replace(plan, name="other", grid={"temperature": (0.1, 0.2)})
    executed(plan_folder.new(other), train)
    assert trained == ["other-temperature-0-2-seed-1", "other-temperature-0-2-seed-2"]
    assert plan_table.table(other).done == 4


def test_a_run_that_is_used_again_is_named_with_the_sets_elsewhere_that_it_lacks(plan, place, monkeypatch, capsys):
    monkeypatch.setattr(sources, "at_hand", lambda: (sets.SAMPLE,))
    one = replace(plan, name="before", grid={}, seeds=(1,))
    others = (sources.AT_HAND, str(place.triplets), str(place.test))
    more = replace(one, name="asks-for-more", seeds=(1, 2), elsewhere=others)
    for given in (one, more):
        executed(plan_folder.new(given))
    table = plan_table.table(more)
    first, second = (cell.run.name for cell in table.rows[0].cells)
    assert first == "before-simcse-seed-1"
    # the second run was asked to be scored on the test set elsewhere, too, and left it out
    assert table.unscored == {name: [first] for name in (sample.PAIRS, str(place.triplets))}
    assert table.rows[0].elsewhere == ()
    assert plan_table.as_json(table)["unscored_elsewhere"] == table.unscored
    assert plan_table.table(one).unscored == {}
    assert plan_table.table(replace(one, elsewhere=("none",))).unscored == {}
    monkeypatch.setattr(sources, "at_hand", lambda: (sets.SAMPLE, sources.identity(sample.SEARCH)))
    later = replace(more, name="later", seeds=(2, 3), elsewhere=(sources.AT_HAND,))
    executed(plan_folder.new(later))
    assert plan_table.table(later).unscored == {sample.SEARCH: [second]}
    text = f"Not scored elsewhere on Sample search: {second}. A finished run keeps the sets that it was scored on;"
    assert text.encode() in plan_report.report(plan_table.table(later))
    assert main(["plan", "later", "--table"]) == 0
    assert text in capsys.readouterr().err


def test_other_text_under_the_same_name_is_another_training(plan, place):
    plan = replace(plan, grid={}, seeds=(1,))
    executed(plan_folder.new(plan))
    before = place.text.read_bytes()
    place.text.write_bytes(before + b"one more dog\n")
    try:
        assert plan_table.table(plan).done == 0
        executed(plan_folder.new(replace(plan, name="again")))
        assert len(runs.every()) == 2
    finally:
        place.text.write_bytes(before)
    assert plan_table.table(plan).done == 1


def test_a_training_that_fails_is_left_behind_and_named(plan, done):
    runs.find("short-temperature-0-1-seed-2").delete()

    def train(run):
        if run.recipe().seeds == (2,) and "temperature" in run.recipe().settings:
            raise StrataError("The disk is full.")
        return (yield from running.train(run))

    assert executed(done, train).failures == {"temperature 0.1, seed 2": "The disk is full."}
    first, second = plan_table.table(plan).rows
    assert first.score("test") is not None
    assert second.score("test") is None, "a mean over some of the seeds would mislead"
    assert str(plan_columns.written(plan_table.table(plan))[1][2][1]) == "1 of 2", "after the row of the base"
    assert executed(done).failures == {}, "what failed is tried again"
    assert plan_table.table(plan).done == 4


def test_text_that_vanishes_half_way_fails_its_own_trainings_only(plan, place, tmp_path):
    other = tmp_path / "other.csv"
    other.write_bytes(place.text.read_bytes() + b"one more dog\n")
    two = replace(plan, grid={}, data=((str(place.text),), (str(other),)))
    folder = plan_folder.new(two)
    for progress in execution.execute(folder):
        if progress.stage.startswith("2 of 4"):
            other.unlink()
            break
    executed(folder)
    assert set(folder.status().failures) == {f"simcse, other.csv, seed {seed}" for seed in (1, 2)}
    assert [row.score("test") is None for row in plan_table.table(two).rows] == [False, True]


def test_what_cannot_be_read_or_is_worked_on_is_refused_before_the_start(plan):
    with pytest.raises(UnreadableFile, match="temperature 0\\.05: There is no file"):
        execution.check(replace(plan, data=(("nowhere.csv",),)))
    folder = plan_folder.new(plan)
    work = execution.execute(folder)
    next(work)
    with pytest.raises(RunBusy, match="Another process works on the plan 'short'"):
        next(execution.execute(folder))
    work.close()
    assert folder.status().state == plan_folder.INTERRUPTED or folder.status().live


@pytest.mark.parametrize(
    ("budget", "seeds", "trained"),
    [(PlanBudget(steps=5), (1, 2), 2), (PlanBudget(minutes=1e-6), (1, 2), 0), (PlanBudget(60), (1,), 2)],
)
def test_the_budget_ends_a_plan_and_what_it_left_out_is_named(plan, budget, seeds, trained):
    limited = replace(plan, budget=budget, seeds=seeds)
    folder = plan_folder.new(limited)
    # nothing was spent before the first training
    trained = max(1, trained)
    status = executed(folder)
    assert plan_table.table(limited).done == trained
    assert list(map(execution.name_of, cells(limited)))[trained:] == list(status.left_out)


def test_a_viewer_s_request_stops_the_plan_within_a_step_and_it_can_be_resumed(plan, done, unbroken):
    for seed in (1, 2):
        runs.find(f"short-temperature-0-1-seed-{seed}").delete()
    for progress in execution.execute(done):
        if "training" in progress.stage and progress.done == 1:
            done.request_stop()
    assert done.status().state == plan_folder.STOPPED
    assert plan_table.table(plan).done == 2
    executed(done)
    assert numbers(plan) == unbroken


def test_the_runs_of_a_plan_are_those_of_single_trainings(plan, done):
    alone = runs.new(cells(plan)[3].recipe, "alone")
    finish(running.train(alone))
    of_plan = runs.find("short-temperature-0-1-seed-2")
    assert all((weights(alone)[name] == weight).all() for name, weight in weights(of_plan).items())


def test_a_full_disk_ends_the_plan_with_the_true_error_and_what_is_done_stays(plan, monkeypatch):
    plan = replace(plan, seeds=(1,))
    folder = plan_folder.new(plan)
    put = plan_folder.PlanFolder.put

    def full(self, status):
        raise NotWritable("No space left on device.")

    def train(run):
        if run.name.endswith("0-1-seed-1"):
            raise NotWritable("No space left on device.")
        return (yield from running.train(run))

    work = execution.execute(folder, train)
    with pytest.raises(NotWritable, match="No space left"):  # noqa: PT012 (the disk fills up on the way)
        for progress in work:
            if progress.stage.startswith("1 of 2"):
                monkeypatch.setattr(plan_folder.PlanFolder, "put", full)
    monkeypatch.setattr(plan_folder.PlanFolder, "put", put)
    assert plan_table.table(plan).done == 1
    assert executed(folder).state == plan_folder.FINISHED
    assert plan_table.table(plan).done == 2


def several(number):
    def at_once(plan):
        yield Progress("counting", 0, 0)
        return number

    return at_once


class InNoTime:
    """Trainings of so many steps that take no time here; what began and ended, and the most at once."""

    def __init__(self, steps=3, seconds=1.0, fails=()):
        self.steps, self.seconds, self.fails = steps, seconds, fails
        self.events, self.under_way, self.most = [], [], 0

    def train(self, run):
        self.events.append(run.name)
        self.under_way.append(run.name)
        self.most = max(self.most, len(self.under_way))
        try:
            for step in range(self.steps):
                run.put(replace(run.status(), state=statuses.WAITING, step=step, seconds=self.seconds * step))
                yield Progress("training", step, self.steps)
            if run.name in self.fails:
                raise StrataError("The disk is full.")
            seconds = self.seconds * self.steps
            run.put(replace(run.status(), state=statuses.FINISHED, step=self.steps, seconds=seconds))
        except GeneratorExit:
            run.put(replace(run.status(), state=statuses.STOPPED))
            raise
        finally:
            self.under_way.remove(run.name)
        return run


def test_a_plan_trains_so_many_at_once_and_one_that_fails_leaves_the_others_alone(plan):
    works, wide = InNoTime(fails=("short-temperature-0-1-seed-1",)), replace(plan, seeds=(1, 2, 3))
    notes = []
    work = execution.execute(plan_folder.new(wide), works.train, several(4))
    status = finish(work, lambda progress: notes.append(progress.note))
    assert (status.state, status.at_once, works.most) == (plan_folder.FINISHED, 4, 4)
    assert status.failures == {"temperature 0.1, seed 1": "The disk is full."}
    assert sum(run.status().state == statuses.FINISHED for run in runs.every()) == 5
    assert [one for one in notes if one] == ["Up to 4 trainings at once, each in a process of its own."]


@pytest.mark.parametrize(
    ("budget", "expected", "number", "trained", "most"),
    [
        (PlanBudget(steps=3), 25.0, 1, 1, 1),
        (PlanBudget(steps=5), 25.0, 4, 2, 2),  # each has two steps at least; one that is under way counts with these
        (PlanBudget(minutes=1), 25.0, 1, 2, 1),
        (PlanBudget(minutes=1), 25.0, 4, 2, 2),
        (PlanBudget(minutes=1.5), 25.0, 4, 3, 3),
    ],
)
def test_the_budget_counts_what_is_under_way_as_it_is_expected_to_end(plan, budget, expected, number, trained, most):
    limited = replace(plan, budget=budget, seeds=(1, 2, 3))
    folder = plan_folder.new(limited)
    folder.put(replace(folder.status(), expected=dict.fromkeys(("temperature 0.05", "temperature 0.1"), expected)))
    works = InNoTime(steps=2, seconds=12.5)
    status = finish(execution.execute(folder, works.train, several(number)))
    assert len(works.events) == trained
    assert len(status.left_out) == 6 - trained
    assert works.most == most


def test_under_a_budget_in_minutes_the_first_training_says_how_long_the_others_take(plan, monkeypatch):
    monkeypatch.setattr(execution, "POLL_EVERY", 0.001)
    works = InNoTime(steps=2, seconds=12.5)
    limited = replace(plan, grid={}, budget=PlanBudget(minutes=1), seeds=(1, 2, 3, 4))
    status = finish(execution.execute(plan_folder.new(limited), works.train, several(4)))
    assert (len(works.events), works.most, len(status.left_out)) == (2, 1, 2)


def test_a_stopped_plan_stops_all_that_is_under_way_and_goes_on_with_them(plan):
    folder, works = plan_folder.new(plan), InNoTime(steps=4)
    for number, _ in enumerate(execution.execute(folder, works.train, several(3))):
        if number == 7:
            folder.request_stop()
    assert folder.status().state == plan_folder.STOPPED
    assert [run.status().state for run in runs.every()] == [statuses.STOPPED] * 3
    again = InNoTime()
    assert finish(execution.execute(folder, again.train, several(3))).state == plan_folder.FINISHED
    assert again.events[:3] == works.events, "the same runs, in the same order"
    assert len(runs.every()) == 4


def test_a_run_that_outlived_its_plan_is_awaited_and_not_trained_again(plan, monkeypatch):
    folder, works = plan_folder.new(plan), InNoTime()
    work = execution.execute(folder, works.train)
    while not works.events:
        next(work)
    work.close()
    (left,) = runs.every()
    left.put(replace(left.status(), state=statuses.WAITING))
    text = (left.folder / "status.json").read_text(encoding="utf-8")
    other = subprocess.Popen(["sleep", "60"])
    born = work_folder.birth(other.pid)
    own = f'"pid": {os.getpid()}', f'"born": "{work_folder.own_birth(os.getpid())}"'
    text = text.replace(own[0], f'"pid": {other.pid}').replace(own[1], f'"born": "{born}"')
    (left.folder / "status.json").write_text(text, encoding="utf-8")
    looks = []

    def tell(progress):
        looks.append(progress.text)
        if len(looks) == 3:
            left.put(replace(left.status(), state=statuses.FINISHED))
            other.kill()
            other.wait()

    monkeypatch.setattr("explorer.training.workers.outside.POLL_EVERY", 0.001)
    again = InNoTime()
    assert finish(execution.execute(folder, again.train), tell).state == plan_folder.FINISHED
    assert looks[1:3] == ["1 of 4: temperature 0.05, seed 1: starting"] * 2
    assert left.name not in again.events
    assert len(again.events) == 3


def test_models_are_evaluated_one_at_a_time(plan, place, monkeypatch):
    under_way, most = [], []

    def evaluation(scored, tasks, options):
        under_way.append(scored)
        most.append(len(under_way))
        for step in range(3):
            yield Progress("evaluating", step, 3)
        under_way.remove(scored)
        return SimpleNamespace(missing=())

    monkeypatch.setattr(execution, "evaluation", evaluation)
    monkeypatch.setattr(execution, "POLL_EVERY", 0.001)
    monkeypatch.setattr(execution, "model_names", SimpleNamespace(find=lambda name: name))
    monkeypatch.setattr(execution.run_results, "scored", lambda found: found)
    works = InNoTime()
    tasked = plan_folder.new(replace(plan, tasks=(str(place.test),)))
    assert finish(execution.execute(tasked, works.train, several(4))).failures == {}
    assert (len(most), max(most), works.most) == (5, 1, 4)


def test_flags_of_jobs_that_cannot_be_are_refused_before_the_plan_is_begun(plan, tmp_path, monkeypatch, capsys):
    file = tmp_path / "wide.yaml"
    file.write_text(plan_file.as_yaml(replace(plan, name="wide")), encoding="utf-8")
    monkeypatch.setenv("PATH", "")
    for flags, told in (
        (["--on", "slurm"], "There is no Slurm here"),
        (["--job", "partition=gpu"], "--job needs --on. Give both, or leave it out."),
        (["--on", "local", "--job", "partition"], "--job partition lacks an equals sign. Write NAME=VALUE"),
        (["--on", "local", "--processes", "2"], "--on has no effect with --processes"),
        (["--at-once", "0"], "--at-once cannot be '0'. Choose a whole number, 1 or more (default 1 on a processor"),
    ):
        assert main(["plan", str(file), *flags]) == 1
        (*_, last) = capsys.readouterr().err.splitlines()
        assert told in last
    assert plan_folder.every() == []


def test_the_command_trains_as_many_at_once_as_its_flag_says(plan, tmp_path, monkeypatch, capsys):
    works = InNoTime()
    monkeypatch.setattr("explorer.training.workers.own_processes.OwnProcesses", lambda at_once, processes: works)
    file = tmp_path / "wide.yaml"
    file.write_text(plan_file.as_yaml(replace(plan, name="wide")), encoding="utf-8")
    main(["plan", str(file), "--at-once", "3"])
    assert works.most == 3
    assert "Up to 3 trainings at once, each in a process of its own." in capsys.readouterr().err


def test_a_stopped_command_says_how_to_go_on_with_its_flags(plan):
    folder = plan_folder.new(plan)
    given = ["--on", "local", "--at-once", "3", "--job", "timeout_min=240", "--job", "setup=module load cuda"]
    again = "python -m explorer plan short --resume"
    assert commands._again(folder, _options(["plan", "short"])) == again
    flags = "--at-once 3 --on local --job timeout_min=240 --job 'setup=module load cuda'"
    assert commands._again(folder, _options(["plan", "short", *given])) == f"{again} {flags}"


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still, and trials: loading takes 3 s, and the step a number that the row decides."""
    now = [0.0]

    def try_out(recipe):
        yield Progress("reading the text", 0, 0)
        now[0] += 3.0
        yield Progress("measuring one step", 0, 0)
        now[0] += 100.0  # of the trial itself, which the training does not take
        temperature = recipe.every_setting()["temperature"]
        if temperature == 0.5:
            raise RunTooLarge("It does not fit.")
        return Estimate(0.1, 200 * temperature, int(1e9 * temperature), 0, 50, 2, 20)

    monkeypatch.setattr("explorer.training.loop.estimate.try_out", try_out)
    monkeypatch.setattr(plan_estimate.time, "monotonic", lambda: now[0])
    return now


def test_an_estimate_counts_every_training_with_its_loading_and_names_what_cannot_be_trained(plan, clock):
    found = finish(estimate(plan))
    assert (found.cells, found.measured, found.steps) == (4, 0, 8)
    assert (found.seconds, found.memory) == (pytest.approx(2 * (3 + 10) + 2 * (3 + 20)), int(0.1e9))
    assert found.disk == 50 + 4 * 20, "the state of the run under way, and the models of all"
    assert found.evaluating == pytest.approx(2 * (10 - 2 * 0.1) + 2 * (20 - 2 * 0.1)), "what the steps do not take"
    assert ", about 72 s, most of which are evaluations (59 s)" in found.text
    assert "evaluations" not in replace(found, evaluating=30.0).text, "less than half"
    found = finish(estimate(replace(plan, grid={"temperature": (0.05, 0.5)})))
    assert found.failures == {"temperature 0.5": "It does not fit."}
    assert found.seconds == pytest.approx(2 * (3 + 10))
    assert "does not suffice" in finish(estimate(replace(plan, budget=PlanBudget(minutes=1)))).text
    assert "does not suffice" not in finish(estimate(replace(plan, budget=PlanBudget(minutes=2)))).text


def test_what_is_trained_already_costs_nothing(plan, done, clock):
    for seed in (1, 2):
        runs.find(f"short-temperature-0-1-seed-{seed}").delete()
    found = finish(estimate(plan))
    assert (found.cells, found.measured, found.steps) == (4, 2, 4)
    assert found.seconds == pytest.approx(2 * (3 + 20))
