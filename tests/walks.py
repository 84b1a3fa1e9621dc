"""Walk through the app in a browser as three new users would, and note what was shown after how many clicks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.ui.widgets import differences
from tests.live import FIGURES, keyed, settle

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

ERRORS = "[data-testid=stAlertContentError], [data-testid=stException]"


@dataclass(frozen=True)
class Seen:
    """What was shown: clicks since the start of the walk, seconds since the last one, and pixels down to its end."""

    what: str
    clicks: int
    seconds: float
    text: str
    bottom: float


@dataclass
class Walk:
    """A page that is walked through; whatever is shown must be without an error.

    `shorten` changes the form of a training before it is started; `query` belongs to the first address.
    """

    page: Page
    address: str
    query: str = ""
    shorten: Callable[[Page], None] = lambda page: None
    seen: list[Seen] = field(default_factory=list)
    clicks: int = 0
    _clicked: float = 0.0

    def open(self, path: str = "") -> None:
        """Open an address, as a visitor would first."""
        self._clicked = time.perf_counter()
        self.page.goto(f"{self.address}/{path}{self.query}")

    def click(self, what: Locator) -> None:
        """Click once."""
        what.wait_for()
        self._clicked = time.perf_counter()
        self.clicks += 1
        what.click()

    def go(self, title: str) -> None:
        """Open a page by the menu."""
        self.click(self.page.get_by_test_id("stSidebarNav").get_by_role("link", name=title, exact=True))
        self.page.get_by_role("heading", name=title, exact=True).wait_for()

    def upload(self, path: Path) -> None:
        """Choose a file: the button, and the file in the dialog of the system."""
        self._clicked = time.perf_counter()
        self.clicks += 2
        self.page.locator("input[type=file]").set_input_files(path)

    def start(self, key: str) -> None:
        """Press Start on a form."""
        self.shorten(self.page)
        self.click(keyed(self.page, key))

    def until(self, what: str, shown: Locator) -> str:
        """Wait until something is shown; gives its text."""
        shown.wait_for()
        seconds = time.perf_counter() - self._clicked
        settle(self.page)
        errors = self.page.locator(ERRORS).filter(has_not_text="trending_down")  # a verdict, which is red too
        assert errors.all_inner_texts() == []
        text, box = " ".join(shown.inner_text().split()), shown.bounding_box()
        self.seen.append(Seen(what, self.clicks, seconds, text, box["y"] + box["height"] if box else 0.0))
        return text


def lecturer(walk: Walk, pages: Collection[str] = ("Sentences", "Map", "Search")) -> None:
    """See what the example learned, look at it on other pages, then train the demonstration before the class."""
    page = walk.page
    walk.open()
    walk.until("first page", keyed(page, "door compare"))
    walk.click(keyed(page, "door compare"))
    walk.until("what was learned", page.get_by_test_id("stAlert").filter(has_text="Learned to notice"))
    walk.until("how sure", page.locator("p", has_text="How sure:"))
    walk.until("where", page.locator("p", has_text=re.compile("^Where:")))
    walk.until("pairs that show it", page.get_by_text("Pairs that show it"))
    walk.click(page.get_by_role("button", name="Which words?").first)
    walk.until("which words did it", page.get_by_role("dialog").get_by_text(differences.LEGEND))
    page.keyboard.press("Escape")
    for title, what, shown in (
        ("Sentences", "similarities under A and B", page.locator(f".st-key-figure {FIGURES}").first),
        ("Map", "map that moves from A to B", page.locator(".moving-map[data-drawn]")),
        ("Search", "results of A and B", page.get_by_text("Jaccard").first),
    ):
        if title in pages:
            walk.go(title)
            walk.until(what, shown)
    before = walk.clicks
    walk.go("Train")
    walk.until("demonstration", page.get_by_text("Demonstration: teach negation and numbers."))
    walk.start("run start")
    walk.until("training, live", page.get_by_test_id("stProgress"))
    walk.until("trained", keyed(page, "run compare"))
    walk.until("what the run learned", page.get_by_test_id("stAlert").first)
    walk.click(keyed(page, "run compare"))
    page.get_by_role("heading", name="Compare", exact=True).wait_for()
    walk.until("how sure of the run", page.locator("p", has_text="How sure:"))
    assert walk.clicks == before + 3


def researcher(walk: Walk) -> None:
    """Plan trainings that are evaluated on published sets, and find those sets named with the results."""
    page = walk.page
    walk.open("plans")
    walk.until("form of a plan", page.get_by_role("textbox", name="Plan name"))
    dev, test = (page.get_by_role("combobox", name=name).input_value() for name in ("Dev set", "Test set"))
    walk.start("plan start")
    walk.until("sets of the results", page.get_by_test_id("stMain").get_by_text(f"dev set: {dev}").first)
    told = walk.until("best row", page.get_by_test_id("stAlert").filter(has_text=test).first)
    walk.until("table", page.get_by_test_id("stDataFrame").first)
    assert test in told


def visitor(walk: Walk, pairs: Path) -> None:
    """Upload a few own scored pairs, train on them as suggested, and read what was learned, or why nothing was."""
    page = walk.page
    walk.open()
    walk.until("first page", page.get_by_role("radio", name="Your own pairs"))
    walk.click(page.get_by_role("radio", name="Your own pairs"))
    walk.upload(pairs)
    walk.click(page.get_by_role("button", name="Train on them"))
    walk.until("what is suggested", page.get_by_text("each without its own rows; then all rows").first)
    walk.start("run start")
    walk.until("trained", keyed(page, "run compare"))
    walk.until("what was learned", page.get_by_test_id("stAlert").first)
    walk.click(keyed(page, "run compare"))
    page.get_by_role("heading", name="Compare", exact=True).wait_for()
    walk.until("the same on Compare", page.get_by_test_id("stAlert").first)


def engineer(walk: Walk, queries: Path) -> None:
    """Upload own queries, train on them, see which improved and which layer is best, and export the model."""
    page = walk.page
    walk.open()
    walk.until("first page", page.get_by_role("radio", name="Your own pairs"))
    walk.click(page.get_by_role("radio", name="Your own pairs"))
    walk.upload(queries)
    walk.until("what the file holds", page.get_by_text("rows of pairs").first)
    walk.click(page.get_by_role("button", name="Train on it"))
    walk.until("method that fits", page.get_by_text("has pairs without scores; contrast fits them"))
    walk.start("run start")
    walk.until("trained", keyed(page, "run compare"))
    walk.until("exported model", page.get_by_text("Load the model from its folder"))
    walk.click(keyed(page, "run compare"))
    page.get_by_role("heading", name="Compare", exact=True).wait_for()
    walk.until("what was learned", page.get_by_test_id("stAlert").first)
    walk.click(page.get_by_role("radio", name="Pairs"))
    walk.until("own queries that changed", page.get_by_text("Queries that improved and got worse"))
    walk.go("Layers")
    walk.until("best layer for own queries", page.locator(".st-key-answer").get_by_test_id("stAlert").first)
