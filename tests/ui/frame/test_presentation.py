"""Test presentation mode in a real browser: its button and key, its menu of pages, and Compare on one screen."""

import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode, urlparse

import pytest

from explorer.places import examples_folder
from explorer.training.record import status as statuses
from explorer.ui.frame import page_frame
from explorer.ui.widgets.downloads import TEXT
from tests import live
from tests.live import keyed, parameters, settle

pytestmark = live.IN_A_BROWSER

SCREEN = {"width": 1280, "height": 720}
PHONE = {"width": 400, "height": 720}
LINE = ".st-key-presentation-line"
BLOCKS = ".st-key-answer [data-testid=stAlert]", ".st-key-what-changed .js-plotly-plot"
# texts of a figure that reach out of it
CUT = """plot => {
    const whole = plot.getBoundingClientRect();
    return [...plot.querySelectorAll('.main-svg text')].filter(text => {
        const box = text.getBoundingClientRect();
        return box.width && (box.left < whole.left - 1 || box.right > whole.right + 1
            || box.top < whole.top - 1 || box.bottom > whole.bottom + 1);
    }).map(text => text.textContent);
}"""


def text_sizes(page):
    """The sizes in pixels of the texts on the axes of the first figure, by text."""
    return page.locator(live.FIGURES).first.evaluate(
        "plot => Object.fromEntries([...plot.querySelectorAll('.xtick text, .ytick text')].map("
        "text => [text.textContent, parseFloat(getComputedStyle(text).fontSize)]))"
    )


def title_size(page):
    return page.evaluate("parseFloat(getComputedStyle(document.querySelector('h1')).fontSize)")


@pytest.fixture(scope="module")
def page(tabs, address):
    """One tab, in which a test goes on from where the one before ended: to open another one takes seconds."""
    page = live.tab(tabs, **PHONE)
    page.goto(f"{address}/layers")
    return page


def test_a_button_beside_the_title_starts_and_ends_the_mode_and_figures_have_larger_text(page):
    from playwright.sync_api import expect

    expect.set_options(timeout=30_000)
    live.plots(page, 2)
    line, button = page.get_by_role("heading", level=1).bounding_box(), keyed(page, "presentation").bounding_box()
    assert line["y"] < button["y"] + button["height"] / 2 < line["y"] + line["height"], "it takes no line of its own"
    page.set_viewport_size(SCREEN)
    settle(page)
    before, title = text_sizes(page), title_size(page)
    keyed(page, "presentation").click()
    page.get_by_test_id("stSidebar").wait_for(state="hidden")
    ticks = page.locator(live.FIGURES).first.locator(".xtick text")
    expect(ticks.first).to_have_css("font-size", f"{TEXT * before['cls']:g}px")
    live.plots(page, 2)
    assert title_size(page) > 1.2 * title
    after = text_sizes(page)
    same = before.keys() & after.keys()  # pairs of layers have shorter names in the mode
    assert same >= {"cls", "mean", "max", "default", *map(str, range(7))}
    assert {text: after[text] for text in same} == {text: TEXT * before[text] for text in same}
    for plot in page.locator(live.FIGURES).all():
        assert plot.evaluate(CUT) == []
    page.keyboard.press(page_frame.KEY)
    page.get_by_test_id("stSidebar").wait_for()
    expect(ticks.first).to_have_css("font-size", f"{before['cls']:g}px")
    live.plots(page, 2)
    assert title_size(page) == title
    assert text_sizes(page) == before


def test_the_menu_of_pages_keeps_the_mode_and_what_was_chosen(page, address):
    chosen = {"reading": "mean of layer 2", "beside": "run:example", "sts": "Sample pairs, test half"}
    page.set_viewport_size(SCREEN)
    page.goto(f"{address}/results?{urlencode(chosen)}")  # a page without what is chosen knows it from a new visit alone
    page.get_by_role("heading", name="Results", exact=True).wait_for()
    settle(page)
    page.keyboard.press(page_frame.KEY)
    page.locator(LINE).get_by_role("button", name=page_frame.MENU).focus()
    page.keyboard.press("Enter")
    page.get_by_test_id("stPopoverBody").get_by_role("link", name="Size & quality").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Size & quality", exact=True).wait_for()
    settle(page)
    assert page.get_by_test_id("stSidebar").is_hidden()
    assert parameters(page) == chosen | {"present": "1"}
    told = page.locator(LINE).get_by_text("example run")
    assert (
        told.inner_text() == "A all-MiniLM-L6-v2, mean of layer 2 · B example run, mean of layer 2 · " + chosen["sts"]
    )
    page.keyboard.press(page_frame.BACK)
    page.get_by_role("heading", name="Results", exact=True).wait_for()
    settle(page)
    assert page.get_by_test_id("stSidebar").is_hidden()
    assert urlparse(page.url).path == "/results"
    page.keyboard.press(page_frame.NEXT)
    told.wait_for()
    settle(page)
    assert parameters(page).items() >= chosen.items()


@pytest.fixture
def of_three_sets(folders):
    """A run that was scored on three sets elsewhere."""
    folder = shutil.copytree(examples_folder() / "example", Path(folders["STRATA_RUNS"]) / "three-sets-elsewhere")
    found = statuses.read(folder)
    (one,) = found.verdict.elsewhere
    others = (replace(one, name="Sample pairs", measure="Spearman"), one, replace(one, name="SICK-R test", size=50))
    statuses.write(folder, replace(found, verdict=replace(found.verdict, elsewhere=others)))
    yield folder.name
    shutil.rmtree(folder)


def test_compare_is_on_one_screen_with_one_set_elsewhere_and_with_three(page, of_three_sets):
    page.set_viewport_size(SCREEN)
    live.follow(page, "/?present=1")
    keyed(page, "door compare").click()
    page.get_by_role("heading", name="Compare", exact=True).wait_for()
    page.locator(LINE).get_by_text("example run").wait_for()
    check_one_screen(page)
    live.follow(page, "/plans?present=1")
    page.get_by_role("heading", name="Plans", exact=True).wait_for()
    settle(page)
    beside = {"beside": f"run:{of_three_sets}", "sts": "Sample pairs, test half", "present": "1"}
    live.follow(page, f"/compare?{urlencode(beside)}")
    page.locator(LINE).get_by_text(f"{of_three_sets} run").wait_for()
    check_one_screen(page)


def check_one_screen(page):
    for block in BLOCKS:
        page.locator(block).first.wait_for()
    live.plots(page, 2)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollTop") == 0
    for block in BLOCKS:
        for part in page.locator(block).all():
            box = part.bounding_box()
            assert box["y"] + box["height"] <= SCREEN["height"], block
            assert part.evaluate(CUT) == []
