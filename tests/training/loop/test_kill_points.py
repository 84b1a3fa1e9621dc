"""Test that a run that is killed at any call, or meets a full or read-only disk there, resumes as if nothing happened.

These are some of the calls of one method; `make kill` tries every call of five.
"""

from tests.kill_points import outcomes, try_points
from tests.processes import process
from tests.trainings import furnish

MOST = {
    "killed": 4,
    "killed, resumed": 4,
    "disk full": 1,
    "disk full, resumed": 1,
    "read-only": 1,
    "read-only, resumed": 1,
}


def test_a_run_that_is_stopped_at_any_call_resumes_to_the_bit(tmp_path):
    told = tmp_path / "told"
    process(try_points, furnish(tmp_path), "simcse", tmp_path, told, MOST, 2).join()
    found = {one.way: one for one in outcomes(told)}
    assert {way: one.tried for way, one in found.items()} == MOST
    assert found["killed"].points > 100, "the premise: calls are counted"
    assert [fault for one in found.values() for fault in one.faults] == []
