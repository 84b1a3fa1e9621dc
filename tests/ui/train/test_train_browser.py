"""Test training in a real browser: reload, second tab, stop, stopped server, killed app. Skipped without a browser.

The app is killed in one call of one method; `make kill ARGS=app` tries calls of five methods.
"""

import re
from contextlib import contextmanager
from urllib.parse import urlencode

import pytest

from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui.frame import page_frame
from explorer.ui.train import recipe_form, run_view, start_form
from tests import app_kills, kill_points, live, trainings
from tests.app_kills import Trial, unbroken
from tests.forked_app import free_port, served
from tests.live import keyed, parameters, settle
from tests.train_visits import START
from tests.visits import lead

pytestmark = live.IN_A_BROWSER


@pytest.fixture
def page(page):
    page.set_default_timeout(30_000)  # a run is trained meanwhile
    return page


@pytest.fixture(autouse=True)
def own_runs(folders, no_runs_are_left, monkeypatch):
    """The runs of the server are looked at from here too."""
    monkeypatch.setenv("STRATA_RUNS", folders["STRATA_RUNS"])


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """What makes the form one of a run whose steps take milliseconds."""
    place = trainings.furnish(tmp_path_factory.mktemp("place"))
    return "?" + urlencode({"model": place.model, "data": place.text, "method": "simcse"})


def start(page, address, query="", **fields):
    """Start a run with these fields filled: of the bundled encoder on the sample, unless the query says otherwise."""
    page.goto(f"{address}/train{query}")
    settle(page)
    for label, value in fields.items():
        field = page.get_by_label(label.replace("_", " "), exact=True)
        if label == "Run_name":
            page.get_by_role("radio", name=start_form.COMMAND).click()
            settle(page)
        elif not field.is_visible():
            page.get_by_text("More settings").click()
        field.fill(value)
        field.press("Enter")
        settle(page)
    told = page.get_by_test_id("stCode").filter(has_text=" train ")
    for label in fields.keys() - {"Run_name"}:  # the server may hear of a field after the next one was filled
        told.filter(has_text=f"={fields[label]}").wait_for(state="attached")
    keyed(page, START).click()
    page.wait_for_url("**run=*")
    return runs.find(parameters(page)["run"])


def stepping(page, doing):
    with live.told(page, doing):
        page.get_by_test_id("stProgress").filter(has_text=re.compile(r"step [\d,]+ of")).wait_for()


def link_to_run(page):
    return page.get_by_test_id("stSidebar").get_by_role("link", name=page_frame.TRAINING.format("step"))


def drawn(page):
    page.wait_for_function(
        "[...document.querySelectorAll('.js-plotly-plot')].some(p => p._fullData.some(d => d.x && d.x.length > 1))",
        polling=100,
    )


@contextmanager
def slowly(port, folders, stacks):
    """The app with slow steps, until it is gone; gives what it is doing."""
    with served(port, app_kills.serve_slowly, port, folders, stacks) as server:
        yield lambda: app_kills.doing(server, stacks)


def test_a_run_survives_a_reload_and_the_end_of_the_server_is_seen_elsewhere_and_stops_within_some_steps(
    page, folders, quick, tmp_path
):
    port, stacks = free_port(), tmp_path / "stacks.txt"
    address = f"http://127.0.0.1:{port}"
    with slowly(port, folders, stacks) as doing:
        run = start(page, address, quick, Steps="1000000", Run_name="cut-off")
        stepping(page, doing)
        page.get_by_role("radio", name=run_view.CURVES).click()
        drawn(page)
    page.wait_for_selector(app_kills.APART)
    assert run.status().state == statuses.INTERRUPTED
    with slowly(port, folders, stacks) as doing:
        app_kills.reconnect(page)
        page.get_by_text(run_view.INTERRUPTED.partition(" Press")[0]).wait_for()
        keyed(page, "run resume").click()
        stepping(page, doing)
        page.reload()
        stepping(page, doing)
        drawn(page)
        assert parameters(page)["run"] == run.name
        page.get_by_role("link", name="Start", exact=True).click()
        link_to_run(page).wait_for()
        settle(page)
        link_to_run(page).click()
        stepping(page, doing)
        assert parameters(page)["run"] == run.name
        other = page.context.new_page()
        other.goto(page.url)
        stepping(other, doing)
        assert len(runs.every()) == 1, "nothing was started twice"
        before = run.status().step
        keyed(page, "run stop").click()
        page.get_by_text(lead(run_view.STOPPED_AT)).wait_for()
        other.get_by_text(lead(run_view.STOPPED_AT)).wait_for()
        assert run.status().state == statuses.STOPPED
        assert run.status().step < before + 100
        assert "resumed at step" in run.log_tail(1000)
        assert run.model.is_dir()
        link_to_run(page).wait_for(state="detached")
        keyed(page, "run resume").click()
        stepping(other, doing)  # without a click in this tab
        keyed(other, "run stop").click()
        page.get_by_text(lead(run_view.STOPPED_AT)).wait_for()


def test_a_file_is_brought_and_kept_where_the_command_line_finds_it(page, place, address, folders, tmp_path):
    form = f"{address}/train?{urlencode({'method': 'simcse', 'model': place.model})}"  # which is timed at once
    path = tmp_path / "my <b>text.txt"
    path.write_text("".join(f"sentence number {number} of mine\n" for number in range(40)), encoding="utf-8")
    page.goto(form)
    settle(page)
    press(page, "Upload a file")
    page.locator("input[type=file]").set_input_files(path)
    page.wait_for_url("**data=my-b-text*")
    settle(page)
    page.get_by_role("radio", name=recipe_form.ABOUT).click()
    page.get_by_text("40 sentences, of 5 to 5 words each.").wait_for()
    kept = parameters(page)["data"]
    assert kept.startswith("my-b-text.txt (")
    page.get_by_role("radio", name=start_form.COMMAND).click()
    page.get_by_test_id("stCode").filter(has_text=folders["STRATA_CACHE"]).first.wait_for()
    page.goto("about:blank")
    page.goto(f"{form}&{urlencode({'data': kept})}")
    settle(page)
    page.get_by_role("radio", name=recipe_form.ABOUT).click()
    page.get_by_text("40 sentences, of 5 to 5 words each.").wait_for()


def test_an_open_page_resumes_a_run_after_the_app_was_killed(page, place, tmp_path):
    chosen = kill_points.short(place, "simcse", tmp_path, steps=2)
    whole, points = unbroken(tmp_path / "unbroken", chosen)
    last_step = max(at for at, point in enumerate(points) if point == "write metrics.jsonl")
    assert Trial(page, tmp_path / "killed", chosen).fault(last_step, whole, at_rest=True) == ""
