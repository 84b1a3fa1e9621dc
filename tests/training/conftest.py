"""Shared by the tests of training: a place with all that a run needs, and short intervals."""

from functools import cache
from types import SimpleNamespace

import pytest

from explorer.training.record.runs import Run
from tests.training.fold_runs import given, in_folds
from tests.training.unbroken import begun
from tests.trainings import Place, few_probes, furnish, in_no_time, loaded_once, new, train

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
def text(of_method):
    """A file of scored pairs."""
    return of_method("cosent").text


@pytest.fixture(scope="session")
def whole_of_folds(place, text):
    """A run of two seeds that nobody touched."""
    with in_no_time(), few_probes(), loaded_once():
        return train(new(place, "cosent", seeds=(1, 2), **given(text)))


@pytest.fixture(scope="session")
def shared(place, of_method):
    """A run whose folds choose the share of the tuned weights."""
    made = of_method("cosent")
    with in_no_time(), few_probes(), loaded_once():
        run = train(new(place, "cosent", **given(made.text, blend=0.0, keep_base=True)))
    return SimpleNamespace(**vars(made) | {"run": run})
