"""Test three ways through the app, each from the first page to what its visitor wanted to know, in a browser."""

import csv
import shutil
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import pytest

from explorer.data import sample
from explorer.measuring.comparing import headline
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui.frame import sidebar
from tests import live, trainings
from tests.evaluating.results_by_hand import write_set
from tests.live import parameters
from tests.walks import Walk, engineer, lecturer, researcher

pytestmark = [*live.IN_A_BROWSER, pytest.mark.usefixtures("no_runs_are_left")]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A model whose steps take milliseconds."""
    return str(trainings.furnish(tmp_path_factory.mktemp("place")).model)


@pytest.fixture
def stsb(folders):
    """Files as long as the two splits of STS-B, in the folder of published sets while a test runs."""
    folder = Path(folders["STRATA_DATA"])
    for split, count in (("dev", 1500), ("test", 1379)):
        write_set(folder, f"STSB/{split}.tsv", count, f"{split} {{}}")
    yield
    shutil.rmtree(folder / "STSB")


def fill(page, **fields):
    for label, value in fields.items():
        field = page.get_by_label(label, exact=True)
        if not field.is_visible():
            page.get_by_text("More settings").click()
        field.fill(value)
        field.press("Enter")
        live.settle(page)


def test_a_lecturer_sees_what_was_learned_and_trains_it_live(page, address, tiny, folders, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", folders["STRATA_RUNS"])

    def quickly(page):
        page.get_by_text(sidebar.FOLDED).click()
        page.get_by_role("textbox", name="Another model").fill(tiny)
        page.get_by_role("textbox", name="Another model").press("Enter")
        page.get_by_role("combobox", name="Model A").and_(page.locator("[value$=tiny]")).wait_for()
        fill(page, Steps="4")

    page.set_viewport_size({"width": 1280, "height": 720})
    walk = Walk(page, address, shorten=quickly)
    lecturer(walk, ("Search",))  # all pages with A and B are those of `test_first_screen`
    told = {one.what: one for one in walk.seen}
    for question in ("what was learned", "how sure", "where"):  # each is answered by a sentence
        assert told[question].text.endswith(".")
        assert told[question].clicks == 1
    assert told["what was learned"].bottom < 720
    (trained,) = (run for run in runs.every() if not run.is_example)
    assert trained.status().state == statuses.FINISHED
    line = headline.line(trained.status().learned).text
    assert line in told["what the run learned"].text
    assert line in page.get_by_test_id("stAlert").first.inner_text(), "Compare tells what the run tells"
    assert parameters(page)["beside"] == f"run:{trained.name}"
    assert parameters(page)["model"] == tiny, "it stays the model of the sidebar"


def test_a_researcher_finds_the_published_sets_of_a_plan_named_with_its_results(page, address, tiny, stsb):
    walk = Walk(page, address, "?" + urlencode({"model": tiny}), lambda page: fill(page, Steps="2", Seeds="1"))
    researcher(walk)
    assert "STS-B test" in next(one.text for one in walk.seen if one.what == "best row")


def test_an_engineer_sees_which_own_queries_improved_and_which_layer_is_best_for_them(page, address, tiny, tmp_path):
    path = tmp_path / "queries.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("query", "passage"), *list(pairwise(sample.sentences().texts))[:120:2]])
    engineer(Walk(page, address, "?" + urlencode({"model": tiny}), lambda page: fill(page, Steps="4")), path)
