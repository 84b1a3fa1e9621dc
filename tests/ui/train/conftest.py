"""Fixtures for tests of the Train page: the page without a browser, with an empty folder of runs."""

import pytest

from explorer.training.record import runs
from explorer.ui.runs import set_fields, training_form, training_queue
from explorer.ui.train import start_form
from explorer.ui.widgets import first_screen
from tests.train_visits import PAGE
from tests.visits import by_link


@pytest.fixture(autouse=True)
def no_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("STRATA_DATA", raising=False)


@pytest.fixture
def app(app):
    """The page with SG-OPT on the sample, as by a link."""
    app.switch_page(PAGE)
    app.query_params["method"], app.query_params["data"] = "sg-opt", "sample"
    app.query_params[first_screen.TAB] = start_form.COMMAND  # whose command says what the form holds
    yield app
    for run, _ in training_queue.under_way():
        training_queue.stop(run, runs.KEEP)


@pytest.fixture
def visit(app):
    """The page as a first visitor meets it."""
    del app.query_params["method"], app.query_params["data"]
    return app


@pytest.fixture
def tiny(app, place):
    """The page with a form that says a run of a few milliseconds a step, evaluated on few pairs."""
    fields = {"recipe dev": str(place.dev), "recipe test": str(place.test), set_fields.ELSEWHERE: []}
    fields[training_form.BY_HAND] = set(fields)
    knobs = {"batch_size": 4, "steps": 6, "learning_rate": "0.001", "projection": "off"}
    for name, value in (fields | {f"knob sg-opt {name}": value for name, value in knobs.items()}).items():
        app.session_state[name] = value
    return by_link(app, model=str(place.model), data=str(place.text))
