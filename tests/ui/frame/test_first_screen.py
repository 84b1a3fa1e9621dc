"""Test in a browser that every page opens with its answer and one large figure, and that no tab of it is long."""

import shutil
from pathlib import Path
from urllib.parse import urlencode

import pytest

from explorer.__main__ import main
from explorer.studies.plans import plan_file
from explorer.studies.plans.plan import Plan
from explorer.ui.frame import page_frame
from explorer.ui.frame.page_list import PAGES
from explorer.ui.widgets import first_screen
from tests import live
from tests.live import settle

pytestmark = live.IN_A_BROWSER

SCREEN = {"width": 1280, "height": 720}
SHARE, LONGEST = 0.4, 1600  # of the room beside the sidebar; pixels of what a tab shows
CHOSEN = {"model": "all-MiniLM-L6-v2", "beside": "run:example"}
TAB = ".st-key-tab"  # of `first_screen.tabs`
# the rectangles of the answer, the figure and the main block; of none that is empty
RECTANGLES = f"""() => {{
    const named = {{answer: ".st-key-{first_screen.ANSWER}", figure: ".st-key-{first_screen.FIGURE}", tabs: "{TAB}",
        page: "[data-testid=stMainBlockContainer]", sidebar: "[data-testid=stSidebar]"}};
    const main = document.querySelector("[data-testid=stMain]"), found = {{}};
    for (const [name, path] of Object.entries(named)) {{
        found[name] = [...document.querySelectorAll(path)].map(one => one.getBoundingClientRect())
            .filter(box => box.width && box.height)
            .map(box => ({{left: box.left, top: box.top + (main ? main.scrollTop : 0), right: box.right,
                bottom: box.bottom + (main ? main.scrollTop : 0)}}));
    }}
    return found;
}}"""


def first_screen_faults(page):
    """What is wrong with the first screen: answer or figure missing, twice, not wholly on it, or the figure small."""
    found, faults = page.evaluate(RECTANGLES), []
    left = max([0, *(box["right"] for box in found["sidebar"])])
    for name in (first_screen.ANSWER, first_screen.FIGURE):
        boxes = found[name]
        if len(boxes) != 1:
            faults.append(f"{len(boxes)} of {name}")
        for box in boxes:
            if box["bottom"] > SCREEN["height"] or box["top"] < 0 or box["right"] > SCREEN["width"]:
                faults.append(f"the {name} ends at {box['right']:.0f} × {box['bottom']:.0f}")
    room = (SCREEN["width"] - left) * SCREEN["height"]
    for box in found[first_screen.FIGURE]:
        width, height = box["right"] - box["left"], min(box["bottom"], SCREEN["height"]) - box["top"]
        if (share := width * height / room) < SHARE:
            faults.append(f"the figure has {share:.0%} of the room")
    return faults


def length(page):
    """The pixels of what is below the tabs; of a page without them, below its figure."""
    found = page.evaluate(RECTANGLES)
    above = [box["bottom"] for box in (found["tabs"] or found[first_screen.FIGURE])]
    return found["page"][0]["bottom"] - max([0, *above])


def drawn(page):
    """Wait until the page has ended its work, and each figure has its size."""
    settle(page)
    page.wait_for_function(
        "() => !document.querySelector('[data-testid=stMain] [data-testid=stProgress]')", timeout=120_000, polling=200
    )
    settle(page)
    page.wait_for_function(
        f"() => [...document.querySelectorAll('{live.FIGURES}')].every(one => one.querySelector('.main-svg'))",
        polling=100,
    )


@pytest.fixture(scope="module")
def finished_plan(folders, place):
    """A plan that the page can open on; a form that has planned nothing has no answer to draw."""
    what = {"methods": ("simcse",), "models": (str(place.model),), "data": ((str(place.text),),)}
    how = {"settings": {"batch_size": 4, "steps": 2}, "grid": {"temperature": (0.05, 0.1)}, "seeds": (1,)}
    file = place.folder / "short.yaml"
    plan = Plan("short", **what, **how, dev=str(place.dev), test=str(place.test), elsewhere=())
    file.write_text(plan_file.as_yaml(plan), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STRATA_CACHE", "STRATA_RUNS", "STRATA_RESULTS"):
            patch.setenv(name, folders[name])
        assert main(["plan", str(file)]) == 0
    yield
    shutil.rmtree(folders["STRATA_RUNS"])  # other tests of the same server begin without a plan
    Path(folders["STRATA_RUNS"]).mkdir()


@pytest.fixture(scope="module")
def walked(tabs, address, finished_plan):
    """A tab at the size of a projector, with A and B."""
    page = live.tab(tabs, **SCREEN)
    page.goto(f"{address}/?{urlencode(CHOSEN)}")
    drawn(page)
    return page


@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.name)
def test_a_page_opens_with_its_answer_and_a_large_figure_and_no_tab_is_long(walked, entry):
    page, path = walked, "" if entry is PAGES[0] else entry.name
    live.follow(page, f"/{path}?{urlencode(CHOSEN)}")
    title = page_frame.NAME if entry is PAGES[0] else entry.title
    page.get_by_role("heading", name=title, exact=True, level=1).wait_for()
    drawn(page)
    faults = [f"with the sidebar, {fault}" for fault in first_screen_faults(page)]
    page.keyboard.press(page_frame.KEY)
    page.get_by_test_id("stSidebar").wait_for(state="hidden")
    drawn(page)
    faults += [f"presented, {fault}" for fault in first_screen_faults(page)]
    page.keyboard.press(page_frame.KEY)
    page.get_by_test_id("stSidebar").wait_for()
    drawn(page)
    tabs = page.locator(f"{TAB} button[role=radio]")
    names = tabs.all_inner_texts() or [""]
    for number, name in enumerate(names):
        if name:
            tabs.nth(number).click()
            drawn(page)
        if (pixels := length(page)) > LONGEST:
            faults.append(f"the tab {name!r} is {pixels:.0f} pixels long")
    assert not faults, "\n" + "\n".join(faults)


MADE = """<body style="margin: 0"><div data-testid="stMain"><div data-testid="stMainBlockContainer">
<div class="st-key-answer" style="height: 40px">B is better.</div>
<div style="height: {above}px"></div>
<div class="st-key-figure" style="height: {high}px; width: {wide}px">drawn</div>
<div class="st-key-tab" style="height: 30px">Overview</div>
<div style="height: {below}px"></div></div></div>"""


@pytest.mark.parametrize(
    ("made", "faults"),
    [
        ({}, []),
        ({"above": 400}, ["the figure ends at 1000 × 840", "the figure has 30% of the room"]),
        ({"high": 300}, ["the figure has 33% of the room"]),
        ({"high": 0}, ["0 of figure"]),
        ({"wide": 1300}, ["the figure ends at 1300 × 540"]),
    ],
)
def test_a_figure_that_is_pushed_down_small_wide_or_missing_is_a_fault(page, made, faults):
    page.set_viewport_size(SCREEN)
    page.set_content(MADE.format(**{"above": 100, "high": 400, "wide": 1000, "below": 100} | made))
    assert first_screen_faults(page) == faults


def test_an_answer_that_stands_twice_is_a_fault_and_the_length_is_measured_below_the_tabs(page):
    page.set_viewport_size(SCREEN)
    twice = MADE.format(above=100, high=400, wide=1000, below=1700)
    page.set_content(twice.replace("B is better.", 'B is better.<p class="st-key-answer">Again.</p>'))
    assert first_screen_faults(page) == ["2 of answer"]
    assert length(page) == 1700
