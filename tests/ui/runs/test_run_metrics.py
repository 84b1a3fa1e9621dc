"""Test the metrics of a run, and that tables and estimates are made again once a file is another one."""

import json
import os
from dataclasses import replace

import pytest

from explorer import typed_json
from explorer.run_folder import METRICS, RECIPE, STATUS, TrainingStep
from explorer.studies.plans.plan import Plan
from explorer.training.recipe import Recipe
from explorer.training.record import status as statuses
from explorer.training.record.status import Status
from explorer.ui.plans import plan_view
from explorer.ui.runs import training_queue
from explorer.ui.runs.run_curves import MOST_POINTS, RunNumbers
from tests.tiny_models import save_tiny


def line(step, number=1, **more):
    return {"number": number, "seed": number, "step": step, "time": 0.0, **(more or {"loss": float(step), "rate": 0.1})}


def write(folder, lines, mode="a", end="\n"):
    with (folder / METRICS).open(mode, encoding="utf-8") as file:
        file.write("\n".join(map(json.dumps, lines)) + end)


def steps(numbers):
    return [one.step for one in numbers.lines()]


def test_a_run_without_metrics_has_no_numbers(tmp_path):
    assert RunNumbers(tmp_path).lines() == []


def test_what_is_added_is_read_and_what_was_read_is_not_read_again(tmp_path, monkeypatch):
    write(tmp_path, [line(1), line(2)])
    numbers = RunNumbers(tmp_path)
    assert steps(numbers) == [1, 2]
    parsed, real = [], typed_json.parsed
    monkeypatch.setattr(typed_json, "parsed", lambda text: parsed.append(text) or real(text))
    write(tmp_path, [line(3)])
    assert steps(numbers) == [1, 2, 3]
    assert len(parsed) == 1


def test_a_line_that_is_half_written_waits_for_its_end(tmp_path):
    write(tmp_path, [line(1)])
    numbers = RunNumbers(tmp_path)
    whole = json.dumps(line(2))
    for part in (whole[:10], whole[10:]):
        with (tmp_path / METRICS).open("a", encoding="utf-8") as file:
            file.write(part)
        assert steps(numbers) == [1]
    write(tmp_path, [], end="\n")
    assert steps(numbers) == [1, 2]


def test_even_the_first_line_may_be_half_written(tmp_path):
    numbers, whole = RunNumbers(tmp_path), json.dumps(line(1))
    (tmp_path / METRICS).write_text(whole[:8], encoding="utf-8")
    assert steps(numbers) == []
    (tmp_path / METRICS).write_text(whole + "\n", encoding="utf-8")
    assert steps(numbers) == [1]


def test_half_a_line_in_the_middle_is_passed_over(tmp_path):
    write(tmp_path, [line(1)])
    with (tmp_path / METRICS).open("a", encoding="utf-8") as file:
        file.write('{"number": 1, "se\n[]\n{}\n')
    write(tmp_path, [line(2)])
    assert steps(RunNumbers(tmp_path)) == [1, 2]


@pytest.mark.parametrize("at", ["new", "."], ids=["replaced by another file", "written over"])
def test_a_file_with_other_lines_is_read_anew(tmp_path, at):
    write(tmp_path, map(line, (1, 2, 3)))
    numbers = RunNumbers(tmp_path)
    assert steps(numbers) == [1, 2, 3]
    (tmp_path / "new").mkdir()
    write(tmp_path / at, map(line, (1, 5, 7, 8)), mode="w")  # the first line is the same
    (tmp_path / at / METRICS).replace(tmp_path / METRICS)
    assert steps(numbers) == [1, 5, 7, 8]


def test_steps_that_are_made_again_take_the_place_of_the_old_ones(tmp_path):
    write(
        tmp_path, [line(0, dev=60.0, random_pairs=0.1), line(1), line(2), line(0, dev=61.0, random_pairs=0.1), line(1)]
    )
    numbers = RunNumbers(tmp_path)
    assert [one.dev for one in numbers.evaluations()] == [61.0]
    assert [one.step for one in numbers.lines() if isinstance(one, TrainingStep)] == [1]


def test_seeds_are_kept_apart(tmp_path):
    write(tmp_path, [line(0, dev=60.0, random_pairs=0.1), line(1), line(0, 2, dev=50.0, random_pairs=0.1), line(1, 2)])
    numbers = RunNumbers(tmp_path)
    assert [one.dev for one in numbers.evaluations(1)] == [60.0]
    assert [one.dev for one in numbers.evaluations(2)] == [50.0]
    assert len(numbers.lines()) == 4


def test_a_long_line_is_thinned_to_what_a_screen_shows_with_its_last_step(tmp_path):
    write(tmp_path, [line(step) for step in range(1, 5 * MOST_POINTS + 4)])
    found = steps(RunNumbers(tmp_path))
    assert len(found) <= MOST_POINTS
    assert (found[0], found[-1]) == (1, 5 * MOST_POINTS + 3)
    assert found == sorted(found)


def test_the_best_look_is_never_thinned_away(tmp_path):
    best = 2 * MOST_POINTS - 1
    write(tmp_path, [line(step, dev=1.0, random_pairs=0.1, best=step == best) for step in range(4 * MOST_POINTS)])
    found = RunNumbers(tmp_path).lines()
    assert len(found) <= MOST_POINTS + 1
    assert [one.step for one in found if one.best] == [best]
    assert steps(RunNumbers(tmp_path)) == sorted(one.step for one in found)


def test_a_smoothed_loss_follows_the_loss_and_moves_less(tmp_path):
    write(tmp_path, [line(step, loss=1.0 + step % 2) for step in range(1, 101)])
    smooth = [one.smooth for one in RunNumbers(tmp_path).lines()]
    assert smooth[0] == 2.0
    assert smooth[-1] == pytest.approx(1.5, abs=0.2)
    assert max(smooth[50:]) - min(smooth[50:]) < 0.5


TEXT, DEV, TEST = FILES = ("text.txt", "dev.csv", "test.csv")
MODEL, GENERATOR = MODELS = ("tiny", "generator")
RUNS = "runs"  # two, which exchange their names


@pytest.fixture
def home(tmp_path, monkeypatch):
    """All that a plan and a recipe name, with times that say nothing."""
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / RUNS))
    for name, state in (("a", statuses.FINISHED), ("b", statuses.STOPPED)):
        (tmp_path / RUNS / name).mkdir(parents=True)
        (tmp_path / RUNS / name / RECIPE).write_text("")
        statuses.write(tmp_path / RUNS / name, Status(state=state))
        os.utime(tmp_path / RUNS / name / STATUS, (1, 1))
    for name in FILES:
        (tmp_path / name).write_text("one\ntwo\n")
    for name in MODELS:
        save_tiny("bert", tmp_path / name)
    return tmp_path


def plan(home):
    return Plan("mine", ("simcse",), (str(home / MODEL),), ((str(home / TEXT),),), dev=str(home / DEV))


def recipe(home):
    data, dev, test = (str(home / name) for name in FILES)
    settings = {"generator": str(home / GENERATOR)}
    return Recipe("diffcse", str(home / MODEL), (data,), {}, dev, test, settings=settings)


def change(home, name):
    """Another file, or other weights, of the same name."""
    if name == RUNS:
        for old, new in ("ac", "ba", "cb"):
            (home / RUNS / old).rename(home / RUNS / new)
    elif name in FILES:
        (home / name).write_text("one\nten\n")
    else:
        save_tiny("bert", home / name, seed=1)


@pytest.mark.parametrize(
    ("key", "of", "same", "name"),
    [
        *((plan_view.table_stamp, plan, {}, name) for name in (RUNS, TEXT, DEV, MODEL)),
        *((training_queue.estimate_key, plan, {"name": "another"}, name) for name in (TEXT, MODEL)),
        *((training_queue.trial_key, recipe, {"made_with": {"data_rows": 2}}, name) for name in (*FILES, *MODELS)),
    ],
)
def test_another_file_of_the_same_name_has_another_key(home, key, of, same, name):
    before = key(of(home))
    assert key(replace(of(home), **same)) == before
    change(home, name)
    assert key(of(home)) != before
