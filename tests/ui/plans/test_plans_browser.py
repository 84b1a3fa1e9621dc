"""Test a plan in a real browser: what is in view once it is started. Skipped without a browser."""

from urllib.parse import urlencode

import pytest

from explorer.ui.plans import plan_start, plan_view
from tests import live, trainings
from tests.live import keyed, settle

pytestmark = [*live.IN_A_BROWSER, pytest.mark.usefixtures("no_runs_are_left")]
HEIGHT = 720


def in_view(element):
    box = element.bounding_box()
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= HEIGHT


def test_the_progress_of_a_plan_and_its_stop_button_are_in_view_after_the_start(page, address, tmp_path_factory):
    place = trainings.furnish(tmp_path_factory.mktemp("place"))
    page.set_viewport_size({"width": 1280, "height": HEIGHT})
    page.goto(f"{address}/plans?{urlencode({'model': place.model})}")
    settle(page)
    field = page.get_by_label("Steps", exact=True)
    if not field.is_visible():
        page.get_by_text("More settings").click()
    field.fill("1000000")
    field.press("Enter")
    settle(page)
    start = keyed(page, plan_start.START)
    assert in_view(start)
    start.click()
    page.wait_for_url("**plan=*")
    stop = keyed(page, plan_view.STOP)
    stop.wait_for()
    page.get_by_test_id("stProgress").filter(has_text="trainings done").wait_for()
    page.wait_for_timeout(1500)  # what comes later on the page moves nothing away
    assert in_view(page.get_by_test_id("stProgress").first)
    assert in_view(stop)
    stop.click()
    keyed(page, plan_view.RESUME).wait_for()
