"""Shared by the tests of training: a place with all that a run needs, and short intervals."""

from functools import cache
from types import SimpleNamespace

import pytest

from explorer.training.record.runs import Run
from tests.training.fold_runs import SHORT, given, in_folds, rows_of, written
from tests.training.unbroken import begun
from tests.trainings import Place, few_probes, few_shares, furnish, in_no_time, loaded_once, new, train

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


@pytest.fixture(scope="session")
def of_method(place, tmp_path_factory):
    """Of a method a run in folds, what each training saw, and each fold again as a plain run on the rows it saw."""

    @cache
    def made(method: str) -> SimpleNamespace:
        with in_no_time(), few_probes(), loaded_once():
            return in_folds(place, tmp_path_factory.mktemp("folds"), method)

    return made


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """A file of scored pairs."""
    return written(tmp_path_factory.mktemp("scored") / "text.csv", "cosent", rows_of("cosent"))


@pytest.fixture(scope="session")
def whole_of_folds(place, text):
    """A run of two seeds that nobody touched."""
    with in_no_time(), few_probes(), loaded_once():
        return train(new(place, "cosent", seeds=(1, 2), **given(text, steps=SHORT)))


@pytest.fixture(scope="session")
def with_shares(place, text):
    """A run whose folds choose the share of the tuned weights."""
    with in_no_time(), few_probes(), loaded_once(), few_shares():
        return train(new(place, "cosent", **given(text, blend=0.0, keep_base=True)))
