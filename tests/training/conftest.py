"""What the tests of training share: a place with all that a run needs, and one thread for what is so small."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch

from explorer.training.runs import Run
from tests.training.unbroken import begun
from tests.trainings import Place, furnish, train

SMALL = ("explorer.methods._self_guided.PROJECTION", 8)


@contextmanager
def in_no_time() -> Iterator[None]:
    """On tiny matrices a second thread is only waited for, and there is next to nothing to collect."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        idle = {name: lambda: None for name in ("collect", "freeze", "unfreeze")}
        patch.setattr("explorer.training.memory.gc", SimpleNamespace(**idle))
        yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True, scope="module")
def quick():
    with in_no_time():
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
def whole(place) -> tuple[Run, list[str]]:
    """A run of two seeds that nobody touched, and the stage of each of its tellings."""
    told: list[str] = []
    with in_no_time(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(*SMALL)
        run = begun(place, name="whole")
        train(run, lambda progress: told.append(progress.stage))
    return run, told
