"""Test that random damage to files is survived or refused in one line; `make fuzz` tries more of it."""

import pytest

from tests.fuzz import cases

# how many cases, chosen so that all take some seconds together; pages take longer and have tests of their own
TRIED = {
    "data_files": 70, "model_folders": 40, "recipes": 15, "run_folders": 15, "results": 15,
    "written_tables": 15, "vectors": 6, "commands": 2, "plans": 20, "tiny_texts": 8,
}  # fmt: skip


@pytest.mark.parametrize("kind", TRIED)
def test_no_damage_is_more_than_an_error_in_one_line(tmp_path, kind):
    seeds = range(1, 4 * TRIED[kind], 4)  # of runs, every fourth one is shown on pages
    tried = list(cases.tried(kind, seeds, tmp_path))
    assert len(tried) == TRIED[kind]
    assert [case for case in tried if case.fault] == []


def test_a_case_that_takes_its_process_with_it_is_a_failure_and_the_others_are_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "SECONDS", 0.3)
    monkeypatch.setattr(cases, "WAITING", 4.0)  # the test may run on a busy machine
    whole, *broken, slow = cases.tried("planted", range(7), tmp_path)
    assert (whole.seed, whole.fault, [case.seed for case in broken]) == (0, "", [1, 2, 3, 4, 5])
    raised, died, slept, told, computed = (case.fault for case in broken)
    assert raised.startswith("ZeroDivisionError after planted.py")
    assert died == "the process died"
    assert slept == "the process took longer than 4 s"
    assert "a message of 3 characters in 2 lines" in told
    assert computed == "the process took longer than 0.3 s of the processor"
    assert slow == cases.Case(6, "")
