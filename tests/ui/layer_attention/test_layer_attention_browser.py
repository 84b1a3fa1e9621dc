"""Test the Layer attention page in a real browser: clicking a head, markup as text. Skipped without a browser."""

from urllib.parse import parse_qs, urlparse

import pytest

from tests import live
from tests.live import settle

pytestmark = live.IN_A_BROWSER


@pytest.fixture(scope="module")
def page(address):
    with live.browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 2000})
        page.set_default_timeout(60_000)
        page.goto(f"{address}/layer_attention")
        drawn(page)
        yield page


def drawn(page):
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length === 3")
    settle(page)


def parameters(page):
    return {name: values[0] for name, values in parse_qs(urlparse(page.url).query).items()}


def test_a_clicked_head_is_the_one_that_is_shown_and_the_address_remembers_it(page):
    x, y = (
        page.locator(".js-plotly-plot")
        .nth(1)
        .evaluate(
            """plot => {
            const box = plot.getBoundingClientRect(), layout = plot._fullLayout;
            return [box.x + layout._size.l + layout.xaxis.d2p(9), box.y + layout._size.t + layout.yaxis.d2p(4)];
        }"""
        )
    )
    page.mouse.move(x, y)
    page.wait_for_timeout(200)  # a click counts for what is hovered
    page.mouse.click(x, y)
    page.get_by_text("Layer 4, head 9: each row is a token").wait_for()
    settle(page)
    assert parameters(page) == {"layer": "4", "head": "9"}
    page.reload()
    drawn(page)
    page.get_by_text("Layer 4, head 9: each row is a token").wait_for()


def test_what_is_typed_is_never_run_and_never_in_the_address(page):
    typed = "<img src=x onerror=alert(1)> **bold**"
    for label in ("One sentence", "Another sentence"):
        box = page.get_by_role("textbox", name=label, exact=True)
        box.fill(typed)
        box.press("Control+Enter")
        settle(page)
    drawn(page)
    page.locator(".js-plotly-plot").nth(2).locator("text", has_text="bold").first.wait_for()
    assert page.locator(".js-plotly-plot").nth(2).locator("text", has_text="<").count() > 0
    assert page.locator("img[src=x]").count() == 0
    assert "img" not in page.url
