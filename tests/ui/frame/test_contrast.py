"""Every page in a browser, light and dark: its texts can be read, and its title names it."""

from pathlib import Path

from explorer import run_folder
from explorer.training.example import NAME
from explorer.ui.frame import page_frame
from explorer.ui.frame.page_list import PAGES
from tests import live

pytestmark = live.IN_A_BROWSER

MEASURE = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
MODEL_B = f"beside={run_folder.model_name(NAME)}"
# what a page shows only when something is chosen
CHOSEN = {"train": f"run={NAME}", "replay": f"run={NAME}", "compare": MODEL_B}


def measured(page):
    """Wait until the page is drawn and no job that it waits for is under way."""
    live.settle(page)
    while page.get_by_role("button", name="Stop", exact=True).count():
        page.wait_for_timeout(200)
    live.settle(page)


def too_faint(page):
    """The texts without enough contrast, measured again while the browser draws the figures of another theme."""
    for _ in range(20):
        page.wait_for_timeout(150)
        texts = page.evaluate(MEASURE)
        assert len(texts) > 20
        found = [one for one in texts if one["ratio"] < one["least"]]
        if not found:
            break
    return found


def test_every_text_of_every_page_has_enough_contrast_in_light_and_in_dark(page, address):
    faint = {}
    for entry in PAGES:
        page.goto(f"{address}/{entry.name}?{CHOSEN.get(entry.name, '')}")
        measured(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            faint |= {(scheme, entry.name, one["text"]): one for one in too_faint(page)}
        title = page_frame.NAME if entry is PAGES[0] else f"{entry.title} · {page_frame.NAME}"
        assert page.title() == title
    assert faint == {}
