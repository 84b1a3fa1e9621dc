"""Every page in a browser, light and dark: its texts can be read, none is cut off, and its title names it."""

import shutil
from pathlib import Path

import pytest

from explorer import run_folder
from explorer.places import examples_folder
from explorer.training.example import NAME
from explorer.ui.frame import page_frame
from explorer.ui.frame.page_list import PAGES
from tests import live

pytestmark = live.IN_A_BROWSER

CONTRAST, CUT = ((Path(__file__).parent / f"{name}.js").read_text(encoding="utf-8") for name in ("contrast", "cut"))
# whether a page shows texts at all, and those of them that are too faint
FAINT = (
    "(texts => texts.length > 20 ? texts.filter(one => one.ratio < one.least) : [{text: 'few texts'}])"
    f"(({CONTRAST})())"
)
LONG = "contrast-hard-of-the-bundled-encoder-on-the-minimal-pairs-batch-16-rate-1e-4-seed-1"[:80]


@pytest.fixture
def chosen(folders):
    """What a page shows only when something is chosen: a run with the longest possible name, and its model as B."""
    folder = Path(folders["STRATA_RUNS"]) / LONG
    shutil.copytree(examples_folder() / NAME, folder)
    run, model_b = f"run={LONG}", f"beside={run_folder.model_name(LONG)}"
    yield {"train": run, "replay": run, "compare": model_b, "sentences": model_b}
    shutil.rmtree(folder)


def measured(page):
    """Wait until the page is drawn and no job that it waits for is under way."""
    live.settle(page)
    stop = page.get_by_role("button", name="Stop", exact=True)
    while stop.count():
        page.wait_for_timeout(200)
        live.settle(page)


def wrong(page, measure):
    """What is measured, again and again while the browser draws the figures of another theme."""
    for _ in range(20):
        found = page.evaluate(measure)
        if not found:
            break
        page.wait_for_timeout(150)
    return found


def test_every_text_of_every_page_is_whole_and_has_enough_contrast_in_light_and_in_dark(page, address, chosen):
    faint, cut, schemes = {}, {}, ["light", "dark"]
    page.goto(address)
    for entry in PAGES:
        title = page_frame.NAME if entry is PAGES[0] else f"{entry.title} · {page_frame.NAME}"
        if entry is not PAGES[0]:
            live.follow(page, f"/{entry.name}?{chosen.get(entry.name, '')}")
        page.wait_for_function("title => document.title === title", arg=title)
        measured(page)
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            for one in wrong(page, FAINT):
                faint[scheme, entry.name, one["text"]] = one
        cut |= {(entry.name, one["text"]): one for one in wrong(page, CUT)}
        schemes.reverse()  # the next page is drawn once less
    assert faint == {}
    assert cut == {}
