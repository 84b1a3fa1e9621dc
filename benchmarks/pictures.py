"""Make the two pictures of the README anew, from the pages as they are: docs/compare.png and docs/words.png."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from PIL import Image

from explorer.ui.widgets import first_screen
from tests import live

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHOSEN = {"model": "all-MiniLM-L6-v2", "beside": "run:example"}
SCREEN = {"width": 1280, "height": 720}
COLOURS, EDGE = 64, 20  # of a picture, which halves the file and cannot be seen; pixels around what is shown


def main() -> None:
    if live.executable() is None:
        print("\nPictures: no browser here")
        return
    with live.browser() as browser, live.server() as address:
        page = browser.new_page(viewport=SCREEN, reduced_motion="reduce")
        page.set_default_timeout(180_000)
        _open(page, f"{address}/compare", 2)
        _save(page, "compare.png")
        _open(page, address, 1)
        answer = page.locator(f".st-key-{first_screen.ANSWER}").bounding_box()
        figure = page.locator(f".st-key-{first_screen.FIGURE}").bounding_box()
        assert answer is not None
        assert figure is not None
        top, end = answer["y"] - 4, figure["y"] + figure["height"]
        clip = {"x": answer["x"] - EDGE, "y": top, "width": answer["width"] + 2 * EDGE, "height": end - top}
        _save(page, "words.png", clip)


def _open(page: Page, address: str, figures: int) -> None:
    page.goto(f"{address}?{urlencode(CHOSEN)}")
    page.locator(f".st-key-{first_screen.FIGURE} .js-plotly-plot").nth(figures - 1).wait_for()
    live.settle(page)
    page.wait_for_timeout(1000)


def _save(page: Page, name: str, clip: dict[str, float] | None = None) -> None:
    taken = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")  # type: ignore[arg-type]  # its own mapping
    file = live.ROOT / "docs" / name
    taken.quantize(COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.name}: {taken.width} × {taken.height}, {file.stat().st_size:,} bytes")
