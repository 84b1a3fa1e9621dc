"""Fixtures for tests of pages: the app without a browser, one server for browsers, models, text and runs."""

import queue
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.state import SafeSessionState
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from explorer.progress import Progress
from explorer.ui.access import jobs
from explorer.ui.train import start_form
from explorer.ui.widgets import downloads
from tests import live, trainings
from tests.csv_columns import faults
from tests.forked_app import free_port, serve, served
from tests.live import ROOT

CHECKED: set[str] = set()  # the CSV files that were read in this session


@pytest.fixture(autouse=True, scope="session")
def the_menu_stays_open():
    """As in a server, which ignores pages/ from its first page on: AppTest would run app.py only after a page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app_test, "PagesManager", type("PagesManager", (PagesManager,), {}))
        yield


@pytest.fixture(autouse=True, scope="session")
def the_end_of_a_script_is_waited_for():
    """AppTest asks a thousand times a second whether the script has ended, and each time keeps it from going on."""
    ask = local_script_runner.require_widgets_deltas

    def wait(runner, timeout):
        runner._script_thread.join(timeout)
        ask(runner, 1)  # it has ended, or this is an error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", wait)
        yield


class Lookup(Mapping[str, object]):
    """The state of a visit, of which a widget asks for one value: Streamlit gathers all of them for it each time."""

    def __init__(self, state: SafeSessionState) -> None:
        self.state = state

    def __getitem__(self, key: str) -> object:
        return self.state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.state._state.filtered_state)

    def __len__(self) -> int:
        return len(self.state._state.filtered_state)


@pytest.fixture(autouse=True, scope="session")
def a_value_is_looked_up():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SafeSessionState, "filtered_state", property(Lookup))
        yield


@pytest.fixture(autouse=True)
def every_csv_of_a_figure_has_numbers_alone_in_its_columns(monkeypatch):
    """Whatever a page offers as CSV is read by pandas: each download of a kind once a session, since it takes time."""
    wrong, offered = [], downloads.rows

    def checked(numbers, stem, label):
        if label not in CHECKED:
            CHECKED.add(label)
            wrong.extend(f"{label}: {fault}" for fault in faults(numbers() if callable(numbers) else numbers))
        offered(numbers, stem, label)

    monkeypatch.setattr(downloads, "rows", checked)
    yield
    assert not wrong


@pytest.fixture(autouse=True)
def no_run_fails(monkeypatch):
    """No run of any page may end in an exception; one that does is told with what its fields said."""
    run = AppTest._run

    def whole(app, *args, **options):
        ran = run(app, *args, **options)
        assert [error.value for error in app.exception] == [], dict(app._session_state.filtered_state)
        return ran

    monkeypatch.setattr(AppTest, "_run", whole)


@pytest.fixture(autouse=True, scope="module")
def quick():
    """Trainings take milliseconds; they judge few pairs of each probe pack, and pages show few."""
    with trainings.in_no_time(), trainings.few_probes(), trainings.loaded_once(), trainings.few_probes_shown():
        yield


@pytest.fixture(autouse=True)
def no_training_is_timed_or_previewed_unasked(monkeypatch):
    """A form of a training tries a step of it and scores its base, which takes longer than the rest of the page."""
    for name in ("FEW", "FEW_OF_OTHERS", "PREVIEWED"):
        monkeypatch.setattr(start_form, name, 0)


@pytest.fixture(autouse=True)
def own_jobs(monkeypatch):
    """What a test began ends with the test, and is not shown to the next one."""
    monkeypatch.setattr(jobs, "_jobs", {})
    yield
    jobs.stop_all()


@pytest.fixture
def nothing_is_measured(monkeypatch):
    """What a page begins to measure waits until the test ends: none of it is looked at."""
    monkeypatch.setitem(jobs._queues, jobs.MEASURING, queue.SimpleQueue())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return trainings.furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """What the server of the browser tests keeps, and where."""
    names = "STRATA_CACHE", "STRATA_RUNS", "STRATA_RESULTS", "STRATA_TALKS"
    kept = {name: str(tmp_path_factory.mktemp(name)) for name in names}
    asked = str(tmp_path_factory.mktemp("asked") / "asked.txt")
    kept["STRATA_DATA"] = str(tmp_path_factory.mktemp("published"))  # empty but for a test that fills it
    return kept | {"PYTHONPATH": str(ROOT / "tests" / "outside"), "STRATA_ASKED": asked}


@pytest.fixture
def no_runs_are_left(folders):
    """Other tests of the same server begin without the runs of this one."""
    yield
    deadline = time.monotonic() + 30
    while left := list(Path(folders["STRATA_RUNS"]).iterdir()):  # a run that is still trained writes on
        assert time.monotonic() < deadline, left
        for folder in left:
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def asked_outside(folders):
    """What that server asked outside this machine."""
    path = Path(folders["STRATA_ASKED"])
    return lambda: path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.fixture(scope="session")
def address(folders, asked_outside):
    """One server for all of them: each of its own would load torch and read the sample anew."""
    port = free_port()
    with ExitStack() as running:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(trainings.FEW_PROBES, "3")  # pairs of each pack judge its runs, whichever file began it
            running.enter_context(served(port, serve, port, folders))
        yield f"http://127.0.0.1:{port}"
    assert asked_outside() == "", "no page needs anything but this machine"


@pytest.fixture(scope="module")
def tabs():
    """The browser; pages that a file leaves open are closed, but for the first: it keeps the window."""
    tabs = live.tabs()
    yield tabs
    for page in tabs.pages[1:]:
        page.close()


@pytest.fixture
def page(tabs):
    """A page of its own for each test, in a browser that remembers nothing of the others."""
    before = set(tabs.pages)
    yield live.tab(tabs)
    for opened in set(tabs.pages) - before:
        if opened.url.startswith("http"):
            opened.evaluate("localStorage.clear()")
        opened.close()


@pytest.fixture
def app():
    """The app before its first run."""
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)


@pytest.fixture
def furnished(app, place, monkeypatch):
    """The app with the tiny encoder of the place as A, and its runs."""
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    app.query_params["model"] = str(place.model)
    return app


@pytest.fixture
def gate():
    """Another run is in training until this is set."""
    opened = threading.Event()

    def in_front():
        opened.wait(60)
        yield Progress("working", 1, 1)

    jobs.follow("front", "another run", in_front, lane=jobs.TRAINING)
    yield opened
    opened.set()
