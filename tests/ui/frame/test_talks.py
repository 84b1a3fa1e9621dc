"""Test talks without a browser: their files, what others may have written into them, and their drawer."""

import pytest
from streamlit.testing.v1 import AppTest

from explorer.data import selections
from explorer.errors import StrataError
from explorer.ui.frame import talk_drawer, talk_steps, talks
from explorer.ui.frame.page_list import PAGES
from tests.visits import by_link

PAIR = ("It rains.", "It does not rain.")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, nothing_is_measured):
    monkeypatch.setenv("STRATA_TALKS", str(tmp_path / "talks"))
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "talks").mkdir()
    return tmp_path / "talks"


def test_a_talk_is_read_as_it_was_written_whatever_its_texts_are():
    views = (
        talks.View("compare", "no: 'yes' # \u2028 <b>", {"beside": "run:x", "k": "010"}),
        talks.View("sentences", "", {}, ("on", "1e3", "a\nb"), PAIR),
    )
    talks.write(talks.Talk("Éins, zwei (3)", views))
    assert talks.read("Éins, zwei (3)").views == views
    assert talks.names() == [talks.SHIPPED, "Éins, zwei (3)"]


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", ".hidden", "a\0", "x" * 81, "a.", "-x", "a\n", "a\\b"])
def test_a_name_that_leaves_the_folder_is_refused(name, folder):
    with pytest.raises(StrataError, match="no name of a talk"):
        talks.write(talks.Talk(name))
    assert [*folder.parent.rglob("*.yaml")] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- 1",
        "views: 3",
        "views:\n- page: nowhere",
        "views:\n- text: x",
        "views:\n- page: map\n  pair: [a]",
        "views: &a [*a]",
        "!!python/object/apply:os.system [x]",
        "views:\n- page: map\n  address: {k: 3}",
    ],
)
def test_a_file_that_states_no_talk_is_an_error_that_names_it(folder, text):
    (folder / "x.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(StrataError, match=r"x\.yaml"):
        talks.read("x")


def test_the_talk_that_ships_has_six_views_with_their_sentences_on_every_machine():
    views = talks.read(talks.SHIPPED).views
    assert len(views) == 6
    assert all(view.text for view in views)
    assert {view.page for view in views} >= {"start", "train", "compare", "sentences", "map"}
    for view in views:
        marks = {key: value for key, value in view.query().items() if key in ("pair", "sentences")}
        assert {key: selections.read(mark) for key, mark in marks.items()} == {
            key: texts for key, texts in (("pair", view.pair), ("sentences", view.sentences)) if texts
        }
    assert any("not" in view.pair[1].split() for view in views if view.pair)


def test_a_talk_is_renamed_to_a_free_name_only_and_a_changed_one_that_ships_can_return():
    talks.write(talks.Talk("a", (talks.View("map"),)))
    talks.write(talks.Talk("b"))
    with pytest.raises(StrataError, match="a talk 'b' already"):
        talks.rename("a", "b")
    assert talks.rename("a", " c ").views == (talks.View("map"),)
    assert talks.names() == [talks.SHIPPED, "b", "c"]
    talks.write(talks.Talk(talks.SHIPPED))
    assert talks.read(talks.SHIPPED).views == ()
    talks.remove(talks.SHIPPED)
    assert len(talks.read(talks.SHIPPED).views) == 6


def opened(app: AppTest, page: str, **link: str) -> AppTest:
    app.switch_page(f"pages/{page}.py")
    return by_link(app, **link)


def test_the_drawer_keeps_a_view_with_its_line_and_edits_moves_and_removes_it(app):
    mark = selections.keep(PAIR)
    opened(app, "results", pair=mark, beside="run:example")
    app.button(key="talk drawer").click().run()
    app.text_input(key="text of a new view").set_value("First.")
    app.button(key="add to talk").click().run()
    first = talks.View("results", "First.", {"beside": "run:example"}, (), PAIR)
    assert talks.read(talk_drawer.FIRST_NAME).views == (first,)
    app.text_input(key="text of a new view").set_value("Second.")
    app.button(key="add to talk").click().run()
    (line,) = [one for one in app.text_input if one.value == "Second." and one.label == "Text"]
    line.set_value("2nd").run()
    app.button(key=f"Move up {talk_drawer.FIRST_NAME} 2 2").click().run()
    assert [view.text for view in talks.read(talk_drawer.FIRST_NAME).views] == ["2nd", "First."]
    app.button(key=f"Remove {talk_drawer.FIRST_NAME} 1 2").click().run()
    assert talks.read(talk_drawer.FIRST_NAME).views == (first,)


def test_a_link_to_a_missing_talk_says_so_and_shows_the_page(app):
    opened(app, "results", talk="no such", talk_view="2")
    assert [one.value for one in app.title] == ["Results"]
    assert any("no such" in one.value for one in app.error)


def test_a_number_of_no_view_is_the_nearest_one():
    talk = talks.Talk("x", tuple(talks.View(page.name) for page in PAGES[:3]))
    given = {"0": 1, "-4": 1, "2": 2, "99": 3, "": 1, "x": 1, None: 1}
    assert {text: talk_steps._number(text, talk) for text in given} == given
