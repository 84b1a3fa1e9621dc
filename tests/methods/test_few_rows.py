"""Test the rules of settings for texts of few rows, whatever the table's numbers are."""

import pytest

from explorer.data import text_sets
from explorer.methods import few_rows, fitted_names, knobs_of, load, names, unless_chosen
from explorer.methods._few_rows import ENOUGH, OTHERS, TABLE

ROWS = (*range(1, 34), 47, 63, 64, 65, 100, 101, 127, 128, 250, 500, 501, 777, 1000, 1001, 1999, 2000)
TRAINED = [name for name in names() if load(name).trains()]


def scheduled(kind, settings):
    own = {name: value for name, value in settings.items() if name in kind.schedule.knobs}
    return kind.schedule.with_values(own)


def planned(kind, settings, rows):
    """Batch, updates and evaluations of a training, counted one by one."""
    schedule, items = scheduled(kind, settings), kind.items(settings, rows)
    steps = schedule.steps or max(1, schedule.epochs * (items // schedule.batch_size) // schedule.accumulate)
    every = min(schedule.evaluate_every, steps // 10) or 1
    return schedule.batch_size, steps, sum(step % every == 0 or step == steps for step in range(1, steps + 1))


@pytest.mark.parametrize("name", TRAINED)
def test_a_text_of_any_size_has_enough_updates_and_evaluations_in_batches_that_it_fills(name):
    kind = load(name)
    for rows in ROWS:
        settings = few_rows(kind, rows)
        batch, steps, evaluations = planned(kind, settings, rows)
        assert steps >= 60, rows
        assert evaluations >= 10, rows
        if kind.items(settings, rows) > 1:
            assert batch <= kind.items(settings, rows), rows
        if kind.items(settings, rows) > 3 and "batch_size" in settings:
            assert batch * 2 <= kind.items(settings, rows), "or each update sees all rows"


@pytest.mark.parametrize("name", TRAINED)
def test_a_schedule_that_has_enough_updates_for_so_many_rows_is_left_as_it_is(name):
    kind = load(name)
    for rows in ROWS:
        _, steps, _ = planned(kind, {}, rows)
        settings = few_rows(kind, rows)
        fills = kind.items({}, rows) >= kind.schedule.batch_size
        enough = next(one.enough for one in TABLE.get(kind.rows, TABLE[OTHERS]) if rows <= one.most)
        if kind.rows_each > 1:
            assert settings["steps"] == next(one.updates for one in TABLE[kind.rows] if rows <= one.most), rows
            continue
        assert bool(settings) == (steps < enough or not fills), rows
        assert steps < enough or settings.keys() <= {"batch_size"}, rows


@pytest.mark.parametrize("name", TRAINED)
def test_settings_for_few_rows_are_allowed_and_no_batch_is_larger_than_the_methods(name):
    kind = load(name)
    for rows in ROWS:
        settings = few_rows(kind, rows)
        assert {one: knobs_of(kind)[one].checked(value) for one, value in settings.items()} == settings
        assert settings.keys() <= fitted_names(kind)
        assert scheduled(kind, settings).batch_size <= kind.schedule.batch_size
        if kind.suggestion is None or kind.suggestion.most:
            assert settings.keys() <= {"batch_size", "steps"}, (
                "other settings are measured for methods that are suggested for any number"
            )


def test_a_method_that_is_not_trained_has_no_such_settings():
    for name in {*names()} - {*TRAINED}:
        assert few_rows(load(name), 20) == {}
        assert fitted_names(load(name)) == frozenset()


def test_each_kind_of_rows_has_rising_bounds_and_batches_and_the_table_needs_no_method_to_be_read():
    kinds = {load(name).rows for name in TRAINED if load(name).suggestion is not None}
    assert kinds <= {*TABLE} | {text_sets.BACK_TRANSLATIONS}
    for rows in TABLE.values():
        for values in ([one.most for one in rows], [one.batch for one in rows]):
            assert values == sorted(values)
        assert all(one.updates >= one.enough >= ENOUGH for one in rows)
        assert rows[-1].most >= 2000


def test_what_is_chosen_is_left_as_it_is_and_epochs_decide_the_number_of_updates():
    fitted = {"batch_size": 8, "steps": 100, "blend": 0.0}
    assert unless_chosen(fitted, {}) == fitted
    assert unless_chosen(fitted, {"temperature": 0.1}) == fitted
    for name in fitted:
        for value in (fitted[name], 1):
            assert unless_chosen(fitted, {name: value}) == {one: fitted[one] for one in fitted if one != name}
    assert unless_chosen(fitted, {"epochs": 3}) == {"batch_size": 8, "blend": 0.0}
