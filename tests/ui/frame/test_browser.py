"""The app as its visitor meets it: a real server, a real browser. Skipped, with the reason, where there is none."""

from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode, urlparse
from urllib.request import urlopen

import pytest

from explorer.data import sample
from explorer.ui.frame import page_frame, sidebar
from explorer.ui.layers import CHOSEN, DEFAULT
from explorer.ui.start import own_pairs_form, ways_in
from tests import live
from tests.live import keyed, parameters, settle
from tests.visits import lead

pytestmark = live.IN_A_BROWSER

ANSWER = ".st-key-answer [data-testid=stAlert]"
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cold(tabs, address):
    """The Layers page as the server's first page, with the hosts that it asked and the errors of its scripts."""
    page, asked, errors = live.tab(tabs), [], []
    page.on("request", lambda request: asked.append(urlparse(request.url).hostname))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/layers")
    live.plots(page, 2)
    return page, asked, errors


@pytest.fixture
def layers(cold):
    """That tab, for tests that work wherever the one before left it: drawing the page takes seconds."""
    return cold[0]


def click_cell(page, column, row):
    """Click a cell of the grid; `row` is counted from layer 0 upwards."""
    live.click_cell(page, column, row)
    settle(page)


def sees_chosen(page, title):
    """Wait for the row of the chosen layer & pooling to show this one: the address changes before it is drawn."""
    row = page.get_by_test_id("stDataFrame").locator("tr", has_text=CHOSEN).filter(has_text=title)
    row.wait_for(state="attached")  # of the table that a screen reader has


def test_a_cold_link_shows_the_picture_inside_the_frame_and_asks_no_other_host(cold):
    page, asked, errors = cold
    assert page.get_by_role("link", name="Start").is_visible()
    assert page.locator(ANSWER).is_visible()
    assert set(asked) <= {"127.0.0.1", None}
    assert errors == []


def test_the_server_answers_its_own_pages_only_and_asks_nothing_outside_this_machine(address, asked_outside):
    own, port = urlparse(address).netloc, urlparse(address).port
    for path in ("/", "/layers", "/_stcore/health", "/_stcore/metrics", "/_stcore/stream", "/_stcore/host-config"):
        assert live.answer(address, path, host="evil.example") == 403, path
    for origin in ("http://evil.example", f"http://127.0.0.1:{port + 1}", f"http://localhost:{port}", "null"):
        assert live.answer(address, "/_stcore/stream", origin=origin) == 403, origin
    assert live.answer(address, "/_stcore/stream", origin=f"http://{own}") == 101
    assert live.answer(address, "/_stcore/health", host=f"localhost:{port}") == 200
    assert asked_outside() == "", "and when all tests have opened all pages it is looked at again"


def test_only_its_own_pages_may_show_the_app_in_a_frame(page, address):
    for path in ("/", "/layers", "/_stcore/health", "/static/none"):
        with suppress(HTTPError), urlopen(f"{address}{path}") as answer:
            assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'self'", path
            assert answer.headers["X-Frame-Options"] == "SAMEORIGIN", path
    own = f"{address}/_stcore/health"  # a page without scripts
    page.goto(own)
    for framed in (own, own.replace("127.0.0.1", "localhost")):
        page.evaluate(
            "at => new Promise(loaded => document.body.append(Object.assign(document.createElement('iframe'), "
            "{src: at, onload: loaded})))",
            framed,
        )
    assert [frame.url.startswith("http") for frame in page.frames] == [True, True, False]


def test_a_clicked_cell_is_the_reading_of_the_address_and_of_every_page(layers):
    page = layers
    sees_chosen(page, DEFAULT)
    click_cell(page, column=2, row=3)
    sees_chosen(page, "max of layer 3")
    assert parameters(page) == {"reading": "max of layer 3"}
    page.get_by_role("link", name="Start", exact=True).click()
    page.get_by_role("heading", name=page_frame.NAME, exact=True, level=1).wait_for()
    settle(page)
    assert parameters(page) == {"reading": "max of layer 3"}
    page.get_by_role("link", name="Layers", exact=True).click()
    live.plots(page, 2)
    sees_chosen(page, "max of layer 3")


def test_a_cell_answers_far_from_its_middle_and_a_second_click_works(layers):
    page = layers
    click_cell(page, column=0.35, row=5)
    sees_chosen(page, "cls of layer 5")
    click_cell(page, column=0.65, row=1)
    sees_chosen(page, "mean of layer 1")


def test_selected_segments_and_hover_texts_can_be_read_in_light_and_in_dark(layers):
    page = layers
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(500)
        live.hover_cell(page, column=1, row=3)
        hover = page.locator(".hoverlayer .hovertext")
        hover.wait_for()
        assert live.contrast(hover.locator("text").first, hover.locator("path").first) >= 4.5, scheme
        selected = page.locator("button[role=radio][aria-checked=true] p")
        assert selected.count() > 1
        assert min(live.contrast(one) for one in selected.all()) >= 4.5, scheme
        assert live.contrast(page.get_by_test_id("stCaptionContainer").locator("p").first) >= 4.5, scheme


def test_the_buttons_of_a_figure_cover_nothing_of_it(layers):
    buttons = "one => [one, one.querySelector('.modebar')].map(at => at.getBoundingClientRect())"
    drawn = [figure.evaluate(buttons) for figure in layers.locator(live.FIGURES).all()]
    assert drawn
    assert all(bar["top"] >= figure["bottom"] and bar["height"] > 0 for figure, bar in drawn)


def test_the_keyboard_alone_chooses_a_reading(layers):
    page = layers
    page.get_by_role("link", name="Start", exact=True).focus()  # the first of the page
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-label')") == "Layer & pooling":
            break
    else:
        pytest.fail("Tab never reaches the choice of the reading")
    page.keyboard.type("max of layer 2")
    page.keyboard.press("Enter")
    settle(page)
    sees_chosen(page, "max of layer 2")
    assert parameters(page) == {"reading": "max of layer 2"}


# what is drawn around the element with the focus: the colour, what is behind it, and whether a box cuts it off
RING = """() => {
    document.getAnimations().filter(one => one instanceof CSSTransition).forEach(one => one.finish());
    const focused = document.activeElement, chain = [];
    for (let at = focused; at; at = at.parentElement) chain.push(at);
    const at = chain.slice(0, 4).findIndex(one => {
        const style = getComputedStyle(one);
        return style.outlineStyle === "solid" && parseFloat(style.outlineWidth) >= 2;
    });
    const what = `${focused.tagName} ${focused.getAttribute("aria-label") || focused.innerText.slice(0, 30)}`;
    if (at < 0) return {what};
    const style = getComputedStyle(chain[at]), box = chain[at].getBoundingClientRect();
    const offset = parseFloat(style.outlineOffset), out = offset < 0 ? 0 : offset + parseFloat(style.outlineWidth);
    const cut = chain.slice(at + 1).some(one => {
        const style = getComputedStyle(one), around = one.getBoundingClientRect();
        if (style.overflow === "visible" || one.dataset.testid === "stMain") return false;
        return around.left > box.left - out || around.right < box.right + out ||
            around.top > box.top - out || around.bottom < box.bottom + out;
    });
    const behind = chain.slice(offset < 0 ? at : at + 1);
    return {what, cut, colour: style.outlineColor, grounds: behind.map(one => getComputedStyle(one).backgroundColor)};
}"""


def focus_rings_can_be_seen_in_light_and_in_dark(page):
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        settle(page)  # the page is drawn again
        page.get_by_role("link", name="Start", exact=True).focus()
        seen = []
        for _ in range(40):
            page.keyboard.press("Tab")
            seen.append(page.evaluate(RING))
        assert [one for one in seen if one.get("cut", True)] == [], scheme
        assert [one for one in seen if live.contrast_of(one["colour"], one["grounds"]) < 3] == [], scheme
        assert len({one["what"].split()[0] for one in seen}) >= 5, seen  # links, buttons, fields, texts, folds


def test_what_is_typed_for_an_encoder_is_taken_whole_and_can_be_mended(layers):
    page = layers
    page.get_by_test_id("stSidebar").get_by_text(sidebar.FOLDED).click()
    box = page.get_by_role("textbox", name="Another model")
    box.fill("<img src=x onerror=alert(1)>")
    box.press("Enter")
    page.get_by_test_id("stAlert").filter(has_text="neither a folder here nor a valid name on the hub").wait_for()
    assert page.locator("img[src=x]").count() == 0
    for typed in ("/no/such", "/no/such/folder"):  # the second begins with the first
        box.click()
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
        page.get_by_test_id("stAlert").filter(has_text=f"There is no folder '{typed}'").wait_for()
        assert parameters(page)["model"] == typed
    box.fill("all-MiniLM-L6-v2")
    box.press("Enter")
    live.plots(page, 2)


def test_whatever_has_the_keyboard_focus_has_a_ring_and_choices_come_back_from_a_page_without_them(layers):
    page = layers
    click_cell(page, column=1, row=2)
    sees_chosen(page, "mean of layer 2")
    page.get_by_role("link", name="Train", exact=True).click()
    keyed(page, "run start").wait_for()
    settle(page)
    assert page.locator(".st-key-reading").count() == 0
    page.get_by_text("It takes about").wait_for()  # until then the page is drawn again, and what has the focus goes
    focus_rings_can_be_seen_in_light_and_in_dark(page)
    page.get_by_role("link", name="Layers", exact=True).click()
    sees_chosen(page, "mean of layer 2")
    settle(page)


def test_a_door_of_start_keeps_in_the_address_what_was_chosen_and_another_opens_the_words_behind_a_change(layers):
    page, chosen = layers, {"reading": "cls of layer 1", "beside": "all-MiniLM-L6-v2"}
    live.follow(page, f"/?{urlencode(chosen)}")
    keyed(page, "door layers sample").wait_for()
    settle(page)
    assert page.title() == "Strata"
    keyed(page, "door layers sample").click()
    page.get_by_role("heading", name="Layers", exact=True).wait_for()
    settle(page)
    assert urlparse(page.url).path == "/layers"
    assert page.title() == "Layers · Strata"
    assert parameters(page) == chosen
    page.get_by_role("link", name="Start", exact=True).click()
    page.get_by_role("radio", name=ways_in.WAYS).click()
    keyed(page, "door words").click()
    over = page.get_by_role("dialog")
    over.get_by_text("“not” accounts for −0.42 (−0.04 → −0.46)").wait_for()
    live.settle(page)
    negation = over.locator(".stMarkdownColoredBackground", has_text="not")
    assert negation.all_text_contents() == ["not −0.04", "not −0.46"]
    negation.last.hover()
    page.wait_for_function(
        "() => getComputedStyle(document.querySelector('.stMarkdownColoredBackground:hover > span')).opacity === '1'"
    )
    assert page.evaluate(f"({CONTRAST})().filter(one => one.ratio < one.least)") == []
    page.keyboard.press("Escape")
    over.wait_for(state="hidden")


def own_file(folder, rows):
    """Graded pairs in a file; the numbers make every sentence another one."""
    texts = sample.sentences().texts
    pairs = ((texts[place % 800], texts[(place + 1) % 800], place) for place in range(rows))
    lines = [f"{first} {place}\t{second} {place}\t{place % 6}" for first, second, place in pairs]
    path = folder / "my <b>pairs.tsv"
    path.write_text("\n".join(("sentence1\tsentence2\tscore", *lines)), encoding="utf-8")
    return path


def test_a_bad_file_is_told_and_one_that_can_be_used_is_measured_and_found_again(layers, tmp_path):
    page = layers
    path = tmp_path / "bad.csv"
    path.write_text("sentence1,sentence2,score\nit rains,it pours,high\nit snows,it is warm,low\n", encoding="utf-8")
    page.get_by_role("link", name="Start", exact=True).click()
    page.get_by_role("radio", name=ways_in.OWN).click()
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_test_id("stAlert").filter(has_text="bad.csv").wait_for()
    assert keyed(page, "use pairs").count() == 0, "nothing is kept"
    settle(page)
    page.locator("input[type=file]").set_input_files(own_file(tmp_path, 30))
    keyed(page, "use pairs").click()
    page.get_by_text(lead(own_pairs_form.CHOSEN)).wait_for()
    page.get_by_role("link", name="Layers", exact=True).click()
    page.locator(ANSWER).wait_for()
    page.get_by_text("All 30 pairs of").first.wait_for()
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    page.locator(ANSWER).wait_for()
    assert parameters(page)["sts"].startswith("my <b>pairs.tsv · ")


def stop_of(page):
    """The button in the page: Streamlit's own Stop is in the header while a page takes long."""
    return page.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True)


def test_long_work_is_seen_in_two_tabs_stopped_in_one_and_started_again(layers, tmp_path):
    page = layers
    page.get_by_role("link", name="Start", exact=True).click()
    page.get_by_role("radio", name=ways_in.OWN).click()
    page.locator("input[type=file]").set_input_files(own_file(tmp_path, 400))
    keyed(page, "use pairs").click()
    page.get_by_text(lead(own_pairs_form.CHOSEN)).wait_for()
    page.get_by_role("link", name="Layers", exact=True).click()
    stop_of(page).wait_for()
    page.get_by_text("encoding tokens").wait_for()
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_text("encoding tokens").wait_for()
    stop_of(page).click()
    page.get_by_text("Stopped:").wait_for()
    other.get_by_text("Stopped:").wait_for()
    other.get_by_role("button", name="Start again").click()
    other.get_by_text("encoding tokens").wait_for()
    stop_of(other).click()
    other.get_by_text("Stopped:").wait_for()
