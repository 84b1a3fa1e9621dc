"""Visit a page without a browser, and read what it shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from streamlit.testing.v1 import AppTest

from explorer.errors import StrataError
from explorer.ui.access import jobs


def by_link(app: AppTest, **link: str) -> AppTest:
    """The page, run once, as a link with these parameters opens it."""
    app.query_params |= link
    return app.run()


def measured(app: AppTest, seconds: float = 60, **link: str) -> AppTest:
    """Run the page until a run finds no work under way and begins none but what it shows; `link` is of its address."""
    app.query_params |= link
    end = time.monotonic() + seconds
    finished_job = jobs.finished_job
    for _ in range(9):
        known, busy = set(jobs._jobs.values()), under_way()

        def finished(*given: Any, known: set[jobs.Job] = known, **how: Any) -> jobs.Job | None:
            known |= {job} if (job := finished_job(*given, **how)) else set()
            return job

        with mock.patch.object(jobs, "finished_job", finished):
            app.run()
        if not (busy or under_way() or app.get("progress")) and set(jobs._jobs.values()) <= known:
            break
        while under_way() and time.monotonic() < end:
            time.sleep(0.02)
    return app


def opened(app: AppTest, page: str, **link: str) -> AppTest:
    """A page, measured, as a link opens it."""
    app.switch_page(f"pages/{page}.py")
    return measured(app, **link)


def pressed(app: AppTest, key: str) -> AppTest:
    """The page after a click on a button, measured."""
    app.button(key=key).click()
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


def entered(app: AppTest, field: Any, value: object) -> AppTest:
    """The page with a value in one of its fields, measured."""
    field.set_value(value)
    return measured(app)


def tab(app: AppTest, name: str) -> AppTest:
    """The page with another tab open, measured."""
    return entered(app, app.segmented_control(key="tab"), name)


def error_of(call: Callable[[], object]) -> str:
    """What an error of Strata says that a call ends with."""
    with pytest.raises(StrataError) as refused:
        call()
    return str(refused.value)


def cards(app: AppTest) -> dict[str, str]:
    """The numbers of a page by what they are called."""
    return {card.label: card.value for card in app.metric}


def layer_table(app: AppTest) -> dict[str, SimpleNamespace]:
    """The table of the Layers page by label: the score on the last set of it, that on the first, and the cell."""
    found = {}
    for _, row in app.dataframe[0].value.iterrows():
        labels, cell, *scores = row
        found |= dict.fromkeys(labels.split(" · "), SimpleNamespace(cell=cell, dev=scores[0], score=scores[-1]))
    return found


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
