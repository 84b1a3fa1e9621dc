"""Test that a run is resumed in an open page after the app's process was killed, and ends as the unbroken one.

This is one call of one method; `make kill ARGS=app` tries calls of five methods. Skipped without a browser.
"""

from tests import kill_points, live
from tests.app_kills import Trial, unbroken

pytestmark = live.IN_A_BROWSER


def test_an_open_page_resumes_a_run_after_the_app_was_killed(page, place, tmp_path):
    chosen = kill_points.short(place, "simcse", tmp_path, steps=2)
    whole, points = unbroken(tmp_path / "unbroken", chosen)
    last_step = max(at for at, point in enumerate(points) if point == "write metrics.jsonl")
    assert Trial(page, tmp_path / "killed", chosen).fault(last_step, whole, at_rest=True) == ""
