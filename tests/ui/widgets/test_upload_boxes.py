"""Test that uploaded files are kept under their names, and that every page offers them."""

from pathlib import Path

import pytest

from explorer.data import sources, uploads
from explorer.ui.search import searched_corpus
from explorer.ui.train import start_form
from tests.visits import entered, opened, pressed, tab

LINES = b"a man plays a guitar\nthe dog runs\ntwo women talk\n"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    return tmp_path


def brought(app, page, name="mine.txt", data=LINES):
    app.switch_page(f"pages/{page}.py").run()
    entered(app, app.file_uploader[0], (name, data, "text/plain"))
    return app


@pytest.mark.parametrize(
    ("page", "chosen"),
    [
        ("train", lambda app: app.multiselect(key="data").value),
        ("search", lambda app: [app.selectbox(key="corpus").value]),
        ("map", lambda app: [app.text_input(key="map_file").value]),
    ],
)
def test_a_file_is_kept_byte_for_byte_and_chosen(furnished, cache, page, chosen):
    furnished.query_params["mapped"], furnished.query_params["projection"] = "a file", "PCA"
    (path,) = chosen(brought(furnished, page))
    assert Path(path).parent == cache / "texts"
    assert Path(path).name.endswith("-mine.txt")
    assert Path(path).read_bytes() == LINES
    assert sources.label(path) in furnished.switch_page("pages/search.py").run().selectbox(key="corpus").options


@pytest.fixture
def of_sentences(furnished):
    """Train with a method that plain sentences serve."""
    furnished.query_params["method"] = "sg-opt"


@pytest.mark.usefixtures("of_sentences")
def test_an_uploaded_file_is_shown_by_its_name_and_the_command_takes_its_path(furnished, cache):
    brought(furnished, "train")
    (path,) = furnished.multiselect(key="data").value
    label = sources.label(path)
    assert label.startswith("mine.txt (")
    assert label in furnished.multiselect(key="data").options
    assert not any(str(cache) in option for option in furnished.multiselect(key="data").options)
    assert f"--data {path}" in tab(furnished, start_form.COMMAND).code[0].value
    assert furnished.query_params["data"] == label


@pytest.mark.usefixtures("of_sentences")
@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize(("page", "key"), [("train", "data"), ("search", "corpus")])
def test_a_link_finds_an_uploaded_file_by_its_name_or_its_path(furnished, cache, page, key, by_name):
    path = uploads.keep("mine.txt", LINES)
    uploads.keep("mine.txt", LINES * 2)
    furnished.query_params[key] = sources.label(path) if by_name else path
    opened(furnished, page)
    assert not furnished.error
    menu = furnished.multiselect(key=key) if page == "train" else furnished.selectbox(key=key)
    assert menu.value in (path, [path])
    assert menu.options.count(sources.label(path)) == 1


@pytest.mark.parametrize("name", ["../../evil.txt", "<b>x</b>.txt", "كم.txt", "a b\nc.txt"])
def test_whatever_a_file_is_called_it_stays_in_its_folder(furnished, cache, name):
    brought(furnished, "search", name)
    (path,) = (cache / "texts").iterdir()
    assert path.read_bytes() == LINES
    assert furnished.selectbox(key="corpus").value == str(path)


def test_a_file_that_cannot_be_kept_is_told_of(furnished, cache):
    (cache / "texts").write_text("a file where the folder should be", encoding="utf-8")
    furnished.switch_page("pages/search.py").run()
    furnished.file_uploader[0].set_value(("mine.txt", LINES, "text/plain")).run()
    assert furnished.error, "told once, after the click"
    assert furnished.selectbox(key="corpus").value == searched_corpus.PAIRS


def test_the_file_of_the_sentences_page_fills_its_box(furnished, cache):
    brought(furnished, "sentences")
    pressed(furnished, "use sentences of file")
    assert furnished.text_area[0].value.encode() + b"\n" == LINES
    assert not (cache / "texts").exists(), "it is only read"
