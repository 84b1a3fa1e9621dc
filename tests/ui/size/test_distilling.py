"""Test that Size & quality shows runs that made a smaller encoder by themselves, and fills the form of another one."""

from pathlib import Path

import pytest

from explorer.data import corpora
from explorer.encoding.locate.model_names import Found
from explorer.studies.size import distilled
from explorer.studies.size import picture as measuring
from explorer.ui.runs import training_form
from explorer.ui.size import distilling, size_view
from explorer.ui.widgets import controls
from tests.visits import buttons, measured, pressed, words


@pytest.fixture
def app(furnished, place, monkeypatch):
    monkeypatch.setattr(measuring, "ROUNDS", 1)
    monkeypatch.setattr(measuring, "TEXTS", 8)
    monkeypatch.setattr(distilled, "of_base", lambda base: ())
    furnished.switch_page("pages/size.py")
    furnished.query_params[size_view.ON] = str(place.test)
    furnished.session_state[size_view.TEXT] = corpora.SAMPLE
    for name, value in {"dimensions": "32", "poolings": ["mean"], "stored": ["float32"]}.items():
        furnished.session_state[controls.key_of(size_view.FORM, name)] = value
    return furnished


def test_a_cut_that_loses_fills_the_form_of_a_training_that_gets_some_of_it_back(app, place, monkeypatch):
    monkeypatch.setattr(distilled, "LOSS", -1000.0)
    pressed(app.run(), size_view.START)
    assert any(one.startswith("Cut after layer 1, ") for one in words(app.markdown))
    assert any(one.startswith("It takes about **") for one in words(measured(app).markdown))
    app.button(key=distilling.BUTTON).click()
    measured(app)
    method = training_form.smaller()
    assert app.session_state[training_form.METHOD] == method
    assert app.number_input(key=training_form.knob_key(method, training_form.LAYERS)).value == 1
    assert app.multiselect(key=training_form.SOURCES).value == [corpora.SAMPLE]


def test_a_cut_that_loses_nothing_is_not_commented(app, monkeypatch):
    monkeypatch.setattr(distilled, "LOSS", 1000.0)
    if size_view.START in buttons(app.run()):  # it is kept where it was measured before
        pressed(app, size_view.START)
    assert app.dataframe
    assert distilling.BUTTON not in buttons(app)


def test_runs_join_the_field_once_each_and_leave_it_with_their_base(monkeypatch):
    state, runs = {size_view.OTHERS: ["mine"]}, {"a": ("run:one",), "b": ()}
    monkeypatch.setattr(distilling.st, "session_state", state)
    monkeypatch.setattr(distilled, "of_base", lambda base: runs[base.digest])

    def joined(digest):
        distilling.join_runs(Found(digest, Path(digest), digest), size_view.OTHERS)
        return state[size_view.OTHERS]

    assert joined("a") == ["mine", "run:one"]
    state[size_view.OTHERS] = ["mine"]  # the visitor takes it away
    assert joined("a") == ["mine"]
    runs["a"] = ("run:two", "run:one")
    assert joined("a") == ["mine", "run:two"], "which has finished since"
    assert joined("b") == ["mine"], "another model has none"
    assert joined("a") == ["mine", "run:two", "run:one"]
