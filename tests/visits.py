"""Visit a page without a browser, and read what it shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from streamlit.testing.v1 import AppTest

from explorer.ui.access import jobs


def measured(app: AppTest, seconds: float = 60) -> AppTest:
    """Run the page until a run finds no work under way and begins none: one piece of work leads to the next."""
    end = time.monotonic() + seconds
    for _ in range(9):
        known, busy = set(jobs._jobs.values()), under_way()
        app.run()
        if not busy and not under_way() and set(jobs._jobs.values()) <= known:
            break
        while under_way() and time.monotonic() < end:
            time.sleep(0.02)
    return app


def opened(app: AppTest, page: str, **link: str) -> AppTest:
    """A page, measured, as a link opens it; `link` has the parameters of its address."""
    for name, value in link.items():
        app.query_params[name] = value
    app.switch_page(f"pages/{page}.py")
    return measured(app)


def under_way() -> bool:
    """Whether any work is under way."""
    return any(job.live for job in list(jobs._jobs.values()))


def wait_until(true: Callable[[], object], seconds: float = 60.0) -> None:
    """Look again until it is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def cards(app: AppTest) -> dict[str, str]:
    """The numbers of a page by what they are called."""
    return {card.label: card.value for card in app.metric}


def words(elements: Iterable[Any]) -> list[str]:
    """What elements say, without the marks that keep it from being markup."""
    return [one.value.replace(":small[]", "").replace("\\", "") for one in elements]


def lead(template: str) -> str:
    """The words of a text before its first gap."""
    first = template.partition("{")[0].replace("\\", "").strip()
    assert first, "every text begins with nothing"
    return first


def buttons(app: AppTest) -> list[str]:
    """The keys of the buttons of a page."""
    return [one.key or "" for one in app.button]


def fetches(app: AppTest) -> list[str]:
    """The keys of the buttons that download something; any such button has this icon."""
    return [one.key or "" for one in app.button if one.proto.icon == ":material/download:"]
