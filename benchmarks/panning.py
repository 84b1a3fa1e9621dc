"""Measure how a map of 200,000 sentences responds in a browser without a GPU: panning, from afar and zoomed in."""

from __future__ import annotations

import os
import re
import statistics
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from benchmarks.dragging import BEGIN, END, FRAME
from benchmarks.large import recombined
from tests import live

if TYPE_CHECKING:
    from playwright.sync_api import Page

COUNT, MOVES = 200_000, 90
MAP = ".density-map"


def main() -> None:
    if live.executable() is None:
        print("\nA map of 200,000 sentences: no browser here")
        return
    source = recombined(int(os.environ.get("STRATA_LARGE", COUNT)))
    asked = {"mapped": "a file", "map_file": str(source), "projection": os.environ.get("STRATA_PROJECTION", "UMAP")}
    with live.browser() as browser, live.server() as address:
        page = browser.new_page(viewport={"width": 1280, "height": 1400})
        page.goto(f"{address}/map?{urlencode(asked)}")
        page.get_by_text(f"sentences. {asked['projection']}: ").wait_for(timeout=1_800_000)
        live.settle(page)
        page.locator(f"{MAP}[data-seen]").wait_for(timeout=60_000)
        print(f"\n{page.get_by_text(re.compile('^Trustworthiness [0-9]')).first.inner_text()}")
        load = f"{os.getloadavg()[0]:.1f} (load of the machine)"
        print(f"A map of {COUNT:,} sentences in a browser without a GPU, milliseconds from frame to frame; {load}")
        shown = os.environ.get("STRATA_SHOT")
        for way in ("from afar", "zoomed in"):
            if way == "zoomed in":
                while int(str(page.locator(MAP).get_attribute("data-seen"))) > 20_000:
                    page.locator(f"{MAP} .in").click()
                    page.wait_for_timeout(300)
            _drag(page, way)
            if shown:
                page.screenshot(path=f"{shown}-{way.replace(' ', '-')}.png")


def _drag(page: Page, way: str) -> None:
    box = page.locator(f"{MAP} canvas").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(BEGIN)
    for move in range(MOVES):
        page.mouse.move(x + 1.5 * move, y + move)
        page.wait_for_timeout(FRAME)
    seen = sorted(page.evaluate(END)[2:])
    page.mouse.up()
    there = (
        f"{page.locator(MAP).get_attribute('data-mode')}, {int(str(page.locator(MAP).get_attribute('data-seen'))):,}"
    )
    print(
        f"  {way} ({there} in view): median {statistics.median(seen):.0f}, 95 % within "
        f"{seen[int(0.95 * len(seen))]:.0f}, longest {seen[-1]:.0f} ({len(seen)} frames)"
    )


if __name__ == "__main__":
    main()
