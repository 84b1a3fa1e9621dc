"""Shared by the tests of studies: a place with a tiny encoder and short texts, and plans of short trainings."""

import pytest

from explorer.studies.plans.plan import Plan
from tests.trainings import Place, few_probes, furnish, in_no_time, loaded_once, scored_pairs


@pytest.fixture(autouse=True, scope="module")
def quick():
    with in_no_time(), few_probes(), loaded_once():
        yield


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Place:
    return furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> str:
    """A file of scored pairs."""
    return scored_pairs(tmp_path_factory.mktemp("text"), 180)


@pytest.fixture
def own_runs(tmp_path, monkeypatch):
    """An empty folder of runs."""
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def plan(place, own_runs) -> Plan:
    """Two rows of two seeds."""
    return Plan(
        "short",
        methods=("simcse",),
        models=(str(place.model),),
        data=((str(place.text),),),
        settings={"batch_size": 4, "steps": 2, "max_length": 16, "learning_rate": 1e-3, "keep_base": False},
        grid={"temperature": (0.05, 0.1)},
        seeds=(1, 2),
        dev=str(place.dev),
        test=str(place.test),
        elsewhere=(),
        precision="float32",
        device="cpu",
    )
