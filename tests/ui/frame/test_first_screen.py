"""Test every page in a browser, each drawn once with the sidebar and once presented.

It opens with its answer and one large figure, no tab of it is long, its texts can be read in light and in dark and are
whole, and its title names it.
"""

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest

from explorer import run_folder
from explorer.__main__ import main
from explorer.places import examples_folder
from explorer.studies.plans import plan_file
from explorer.studies.plans.plan import Plan
from explorer.training.example import NAME
from explorer.ui.frame import page_frame
from explorer.ui.frame.page_list import PAGES, named
from explorer.ui.widgets import downloads, first_screen
from tests import live
from tests.live import settle

pytestmark = live.IN_A_BROWSER

SCREEN = {"width": 1280, "height": 720}
SHARE, LONGEST = 0.4, 1600  # of the room beside the sidebar; pixels of what a tab shows
CHOSEN = {"model": "all-MiniLM-L6-v2", "beside": "run:example"}
LONG = "contrast-hard-of-the-bundled-encoder-on-the-minimal-pairs-batch-16-rate-1e-4-seed-1"[:80]
# a run with the longest possible name, and its model as B: more texts than without, which are longer
RUN, MODEL_B = {"run": LONG}, {"beside": run_folder.model_name(LONG)}
WITH = {"replay": {"run": NAME}, "compare": MODEL_B, "sentences": MODEL_B}
TAB = ".st-key-tab"  # of `first_screen.tabs`
CONTRAST, CUT = ((Path(__file__).parent / f"{name}.js").read_text(encoding="utf-8") for name in ("contrast", "cut"))
# whether a page shows texts at all, and those of them that are too faint
FAINT = (
    "(texts => texts.length > 20 ? texts.filter(one => one.ratio < one.least) : [{text: 'few texts'}])"
    f"(({CONTRAST})())"
)
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


# the script has ended, no job that the page waits for is under way, and each figure has its size
DRAWN = f"""() => document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]")
    && !document.querySelector("[data-testid=stSkeleton], [data-testid=stMain] [data-testid=stProgress]")
    && ![...document.querySelectorAll("button")].some(one => one.innerText === "Stop")
    && [...document.querySelectorAll("{live.FIGURES}")].every(one => one.querySelector(".main-svg"))"""


def drawn(page):
    """Wait until the page has ended its work, and each figure has its size."""
    settle(page)
    page.wait_for_function(DRAWN, timeout=120_000, polling=100)


@pytest.fixture(scope="module")
def finished_plan(folders, place):
    """A plan that the page can open on, since a form that has planned nothing has no answer, and a finished run."""
    what = {"methods": ("simcse",), "models": (str(place.model),), "data": ((str(place.text),),)}
    how = {"settings": {"batch_size": 4, "steps": 2}, "grid": {"temperature": (0.05, 0.1)}, "seeds": (1,)}
    file = place.folder / "short.yaml"
    plan = Plan("short", **what, **how, dev=str(place.dev), test=str(place.test), elsewhere=())
    file.write_text(plan_file.as_yaml(plan), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("STRATA_CACHE", "STRATA_RUNS", "STRATA_RESULTS"):
            patch.setenv(name, folders[name])
        assert main(["plan", str(file)]) == 0
    shutil.copytree(examples_folder() / NAME, Path(folders["STRATA_RUNS"]) / LONG)
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


@dataclass
class Seen:
    """What is wrong with a page: by where it is, with its first screen, its long tabs, its faint and its cut texts."""

    screen: list[str] = field(default_factory=list)
    tabs: list[str] = field(default_factory=list)
    faint: dict[tuple[str, str], dict] = field(default_factory=dict)
    cut: dict[str, dict] = field(default_factory=dict)


class Walk:
    """The tab that walks over the pages: it stays in the mode and in the colours that the page before was left in."""

    def __init__(self, page):
        self.page, self.presented, self.schemes = page, False, ["light", "dark"]

    def open(self, entry, **chosen):
        """Follow the address of a page, and wait until it is drawn under its title."""
        mode = {downloads.PRESENTING: "1"} if self.presented else {}
        live.follow(self.page, f"/{'' if entry is PAGES[0] else entry.name}?{urlencode(CHOSEN | chosen | mode)}")
        title = page_frame.NAME if entry is PAGES[0] else f"{entry.title} · {page_frame.NAME}"
        self.page.wait_for_function("title => document.title === title", arg=title, polling=100)
        drawn(self.page)

    def turn(self):
        """Start or end the presentation."""
        self.page.keyboard.press(page_frame.KEY)
        self.presented = not self.presented
        self.page.get_by_test_id("stSidebar").wait_for(state="hidden" if self.presented else "visible")
        drawn(self.page)

    def first_screen(self, seen):
        """Measure answer and figure in this mode."""
        how = "presented" if self.presented else "with the sidebar"
        seen.screen += [f"{how}, {fault}" for fault in until_none(self.page, lambda: first_screen_faults(self.page))]

    def texts(self, seen):
        """Measure contrast in both colours, and what is cut off."""
        for scheme in self.schemes:
            self.page.emulate_media(color_scheme=scheme)
            seen.faint |= {(scheme, one["text"]): one for one in wrong(self.page, FAINT)}
        self.schemes.reverse()  # the next page is drawn once less
        seen.cut |= {one["text"]: one for one in wrong(self.page, CUT)}

    def lengths(self, seen):
        """The tabs, of which the page has opened on the first."""
        tabs = self.page.locator(f"{TAB} button[role=radio]")
        for number, name in enumerate(tabs.all_inner_texts() or [""]):
            if number:
                tabs.nth(number).click()
                drawn(self.page)
            if (pixels := length(self.page)) > LONGEST:
                seen.tabs.append(f"the tab {name!r} is {pixels:.0f} pixels long")


def wrong(page, script):
    """What a script finds while the browser draws the figures of another theme."""
    return until_none(page, lambda: page.evaluate(script))


def until_none(page, measure):
    """What is measured, again and again while the browser draws; that of the last time, if there is always some."""
    for _ in range(20):
        found = measure()
        if not found:
            break
        page.wait_for_timeout(150)
    return found


@pytest.fixture(scope="module")
def walk(walked):
    return Walk(walked)


@pytest.fixture(scope="module", params=PAGES, ids=lambda entry: entry.name)
def seen(request, walk):
    """What is wrong with a page: it is opened in the mode of the page before, and left in the other one."""
    seen, turned = Seen(), walk.presented
    walk.open(request.param, **WITH.get(request.param.name, {}))
    walk.first_screen(seen)
    if turned:
        walk.turn()
        walk.first_screen(seen)
    walk.texts(seen)
    walk.lengths(seen)
    if not turned:
        walk.turn()
        walk.first_screen(seen)
    return seen


def test_a_page_opens_with_its_answer_and_a_large_figure(seen):
    assert seen.screen == []


def test_no_tab_of_a_page_is_long(seen):
    assert seen.tabs == []


def test_every_text_of_a_page_has_enough_contrast_in_light_and_in_dark(seen):
    assert seen.faint == {}


def test_no_text_of_a_page_is_cut_off(seen):
    assert seen.cut == {}


@pytest.mark.parametrize("page", ["train", "replay"])
def test_the_texts_of_a_finished_run_are_whole_and_have_enough_contrast(walk, page):
    seen = Seen()
    walk.open(named(page), **RUN)
    if walk.presented:
        walk.turn()
    walk.texts(seen)
    assert (seen.faint, seen.cut) == ({}, {})


MADE = """<body style="margin: 0"><div data-testid="stMain"><div data-testid="stMainBlockContainer">
<div class="st-key-answer" style="height: 40px">B is better.</div>
<div style="height: {above}px"></div>
<div class="st-key-figure" style="height: {high}px; width: {wide}px">drawn</div>
<div class="st-key-tab" style="height: 30px">Overview</div>
<div style="height: {below}px"></div></div></div>"""


@pytest.fixture(scope="module")
def blank(tabs):
    return live.tab(tabs, **SCREEN)


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
def test_a_figure_that_is_pushed_down_small_wide_or_missing_is_a_fault(blank, made, faults):
    blank.set_content(MADE.format(**{"above": 100, "high": 400, "wide": 1000, "below": 100} | made))
    assert first_screen_faults(blank) == faults


def test_an_answer_that_stands_twice_is_a_fault_and_the_length_is_measured_below_the_tabs(blank):
    twice = MADE.format(above=100, high=400, wide=1000, below=1700)
    blank.set_content(twice.replace("B is better.", 'B is better.<p class="st-key-answer">Again.</p>'))
    assert first_screen_faults(blank) == ["2 of answer"]
    assert length(blank) == 1700
