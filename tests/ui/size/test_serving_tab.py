"""Test the tab Serving of Size & quality: uploads or paths, the verdict, what to change, and errors."""

import io

import numpy as np
import pytest

import strata
from explorer.ui.access import jobs
from explorer.ui.size import serving, size_view
from tests.tiny_models import SENTENCES
from tests.visits import entered, measured, opened, pressed, words

LINES = "\n".join(SENTENCES).encode()


@pytest.fixture
def app(furnished, monkeypatch):
    jobs._slot.clear()
    monkeypatch.setattr(size_view, "how_long", lambda subject: None)  # sizes are not tried here
    return opened(furnished, "size", tab=serving.TAB)


def npy(vectors):
    np.save(file := io.BytesIO(), vectors)
    return file.getvalue()


@pytest.fixture(scope="module")
def pooled(place):
    """The vectors of a server that pools otherwise."""
    return strata.encode(str(place.model), SENTENCES, "max of layer 2")


def test_uploads_are_compared_and_the_page_says_what_to_change(app, pooled):
    entered(app, app.file_uploader(key=serving.UPLOADED), ("mine.npy", npy(pooled), "application/octet-stream"))
    entered(app, app.file_uploader(key=serving.UPLOADED_TEXT), ("lines.txt", LINES, "text/plain"))
    assert not app.warning
    pressed(app, serving.START)
    (verdict,) = (one for one in words(app.warning) if "differ" in one)
    assert "max in place of mean" in verdict
    assert any(one.startswith("- Pool with mean: `(states") for one in words(app.markdown))
    assert app.dataframe[0].value["setting"][0] == "max in place of mean"
    assert len(app.dataframe) == 2


def test_a_path_is_read_and_vectors_that_agree_are_green(app, place, tmp_path):
    np.save(tmp_path / "mine.npy", strata.encode(str(place.model), SENTENCES))
    assert app.button(key=serving.START).disabled
    entered(app, app.text_input(key=serving.VECTORS), str(tmp_path / "mine.npy"))
    pressed(app, serving.START)
    assert any("there is no file" in one for one in words(app.error)), "its sentences"
    (tmp_path / "mine.txt").write_bytes(LINES)
    measured(app)
    pressed(app, serving.START)
    assert any(one.startswith("**The vectors agree**") for one in words(app.success))


def test_a_path_without_a_file_is_an_error_in_a_line_and_other_tabs_say_that_nothing_is_measured(app):
    entered(app, app.text_input(key=serving.VECTORS), "~nosuch/x.npy")
    assert "no user with this home folder" in words(app.error)[0]
    entered(app, app.text_input(key=serving.VECTORS), "/nowhere.npy")
    assert "There is no /nowhere" in words(pressed(app, serving.START).error)[0].replace("\\", "")
    entered(app, app.segmented_control(key="tab"), "Export")
    assert any("Nothing is measured yet" in one for one in words(app.caption))
