"""Shared by the tests of training: a place with all that a run needs, and short intervals."""

import pytest

from explorer.training.record.runs import Run
from tests.training.unbroken import begun
from tests.trainings import Place, few_probes, furnish, in_no_time, loaded_once, train

SMALL = ("explorer.methods.self_guided.PROJECTION", 8)


@pytest.fixture(autouse=True, scope="module")
def quick():
    with in_no_time(), few_probes(), loaded_once():
        yield


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Place:
    return furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="session")
def calm(tmp_path_factory) -> Place:
    """The same, with an encoder that has no dropout."""
    return furnish(tmp_path_factory.mktemp("calm"), dropout=0.0)


@pytest.fixture
def small_projection(monkeypatch):
    """The head that only the loss sees, small; it has to be kept for resuming too."""
    monkeypatch.setattr(*SMALL)


@pytest.fixture(scope="session")
def whole(place, tmp_path_factory) -> tuple[Run, list[str]]:
    """A run of two seeds that nobody touched, and the stage of each of its tellings."""
    told: list[str] = []
    with in_no_time(), few_probes(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(*SMALL)
        patch.setenv("STRATA_CACHE", str(tmp_path_factory.mktemp("cache")))  # with known scores it would tell less
        run = begun(place, name="whole")
        train(run, lambda progress: told.append(progress.stage))
    return run, told
