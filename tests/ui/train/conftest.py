"""Fixtures for tests of the Train page: the page without a browser, with an empty folder of runs."""

import pytest

from explorer.training.record import runs
from explorer.ui.runs import training_queue
from tests.train_visits import PAGE, say


@pytest.fixture(autouse=True)
def no_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("STRATA_DATA", raising=False)


@pytest.fixture
def app(app):
    """The page with SG-OPT on the sample, as by a link."""
    app.switch_page(PAGE)
    app.query_params["method"], app.query_params["data"] = "sg-opt", "sample"
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
    """The page with a form that says a run of a few milliseconds a step."""
    app.query_params["model"] = str(place.model)
    app.query_params["data"] = str(place.text)
    app.run()
    say(app, batch_size=4, steps=6, learning_rate="0.001", projection="off")
    return app
