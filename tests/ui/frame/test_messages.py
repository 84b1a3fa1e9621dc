"""Test that errors and names are shown as they are, with a line for each folder or run that cannot be read."""

import pytest
from streamlit.testing.v1 import AppTest

from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.train import start_form
from tests import trainings
from tests.rendered import Shown
from tests.visits import opened, words

NASTY = [
    "<script>alert(1)</script>",
    "![picture](http://example.invalid/x.png)",
    "[link](http://example.invalid)",
    ":red[colour] :material/home: $x^2$ `code`",
    "# heading\n- list\n1. one",
    "größer → “quoted” …",
    "back\\slash *star* _under_ ~~gone~~",
]


def page(text):
    from explorer.ui import messages

    messages.trouble(text)


@pytest.mark.parametrize("text", NASTY)
def test_an_error_is_shown_as_it_is(text):
    shown = Shown(AppTest.from_function(page, args=(text,)).run().error[0].value)
    assert shown.words == text.split()
    assert shown.tags <= {"p", "br"}


def test_a_long_name_keeps_both_ends():
    name = "contrast-hard-on-my-own-pairs-seed-1"
    assert messages.ends(name, 16) == "contras…s-seed-1"
    assert messages.ends(name, len(name)) == name
    assert [len(messages.ends(name, most)) for most in (15, 16, 17)] == [15, 16, 17]


LINE = "{} cannot be read: Not a directory. Check its permissions, or set {} to another folder."


@pytest.mark.parametrize(
    ("variable", "page", "box"),
    [
        ("STRATA_RUNS", "train", "error"),
        ("STRATA_RUNS", "layers", "error"),
        ("STRATA_RESULTS", "results", "error"),
        ("STRATA_CACHE", "train", "warning"),
    ],
)
def test_a_folder_that_is_a_file_is_named_and_nothing_fails(furnished, tmp_path, monkeypatch, variable, page, box):
    (tmp_path / "file").touch()
    monkeypatch.setenv(variable, str(tmp_path / "file"))
    line = LINE.format(tmp_path / "file", variable)
    for _ in range(2):
        furnished.switch_page(f"pages/{page}.py").run()
        assert line in words(getattr(furnished, box))
        if variable != "STRATA_RESULTS":
            assert words(furnished.error) == [line] * (box == "error")


def test_an_error_of_the_system_is_one_line_without_a_traceback(furnished, monkeypatch):
    def listed(*_):
        raise PermissionError(13, "Permission denied", "/some/file")

    monkeypatch.setattr("explorer.ui.frame.sidebar.encoders", listed)
    furnished.run()
    (error,) = words(furnished.error)
    assert error.startswith("/some/file cannot be used: Permission denied. Check")


def test_a_run_that_cannot_be_read_is_named_above_the_list_of_runs(furnished, place, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path))
    for name in ("whole", "damaged"):
        runs.new(trainings.recipe(place), name)
    (tmp_path / "damaged" / "status.json").write_text("{")
    opened(furnished, "train", tab=start_form.RUNS)
    assert [line for line in words(furnished.warning) if line.startswith("'damaged' has a damaged status")]
    assert not [line for line in words(furnished.warning) if "'whole'" in line]
