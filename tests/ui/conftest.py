"""What tests of pages share: the app without a browser, and a place where models, text and runs are."""

import pytest
from streamlit.testing.v1 import AppTest

from explorer.ui import work
from tests import trainings
from tests.live import ROOT


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return trainings.furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture
def app():
    """The app before its first run; what a test began in it ends with the test."""
    yield AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    work.stop_all()


@pytest.fixture
def furnished(app, place, monkeypatch):
    """The app with the tiny encoder of the place as A, and its runs."""
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    app.query_params["model"] = str(place.model)
    return app
