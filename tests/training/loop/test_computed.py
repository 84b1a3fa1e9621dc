"""Test that the bytes of a run depend on a number of threads that it states and keeps, whatever else computes."""

import json
import threading
from dataclasses import replace
from itertools import cycle

import pytest
import torch

from explorer import fair_share, run_folder
from explorer.training import recipe_file
from explorer.training.record import runs
from explorer.training.record.run_facts import CARD, PAGE
from explorer.training.record.runs import Run
from tests.device import DEVICE
from tests.training.unbroken import assert_same, break_off_in_training
from tests.trainings import few_probes, furnish, loaded_once, new, train

pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="a GPU adds in the same order with any threads")
STEPS = {"steps": 3, "batch_size": 16, "evaluate_every": 1}


class Shares:
    """A machine of two processors on which so many threads are a fair share, one number after the other."""

    most, shared = 2, True  # threads that wait sleep: tests run beside one another

    def __init__(self, *numbers: int) -> None:
        self._numbers = cycle(numbers)

    def decide(self) -> int:
        return next(self._numbers)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    with few_probes(), loaded_once():
        yield furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture
def machine(monkeypatch):
    """Let these shares of the machine be decided, and OMP_NUM_THREADS be this."""

    def be(*numbers: int, stated: str = "") -> None:
        monkeypatch.setattr(fair_share, "_share", Shares(*numbers))
        monkeypatch.setenv(fair_share.STATED, stated) if stated else monkeypatch.delenv(fair_share.STATED, False)

    yield be
    fair_share._sleepers.there(False)


def apart(work, threads: int = 2):
    """What some work gives in a thread of its own, with which its team of OpenMP ends; torch begins there with this."""
    found = []

    def worked() -> None:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        found.append(work())
        torch.set_num_threads(before)

    thread = threading.Thread(target=worked)
    thread.start()
    thread.join()
    return found[0]


def weights(run: Run) -> bytes:
    return (run.model / "model.safetensors").read_bytes()


@pytest.fixture(params=["float32", "bfloat16"])
def whole(place, machine, request):
    """A run with two threads that nothing disturbed."""
    machine(2)
    run = new(place, "sg-opt", precision=request.param, settings=STEPS)
    apart(lambda: train(run))
    return run


def test_a_run_is_the_same_to_the_bit_when_its_share_of_the_machine_changes_on_the_way(place, machine, whole):
    machine(1, 2, 1, 1, 2)
    disturbed = runs.new(replace(whole.recipe(), made_with={}), "", place.runs)
    apart(lambda: train(disturbed))
    assert_same(disturbed, whole)


@pytest.mark.product(1)
@pytest.mark.parametrize("stated", ["", "1"])
def test_a_resumed_run_keeps_its_number_of_threads(place, machine, whole, stated):
    resumed = runs.new(replace(whole.recipe(), made_with={}), "", place.runs)
    apart(lambda: break_off_in_training(resumed))
    machine(1, stated=stated)
    apart(lambda: train(resumed), threads=1)
    assert_same(resumed, whole)


def test_a_repeated_recipe_has_its_number_of_threads_and_a_new_one_what_is_stated(place, machine, whole):
    machine(1, stated="1")
    repeated = runs.new(recipe_file.read(whole.folder / run_folder.RECIPE), "", place.runs)
    apart(lambda: train(repeated), threads=1)
    assert_same(repeated, whole)
    other = runs.new(replace(whole.recipe(), made_with={}), "", place.runs)
    apart(lambda: train(other), threads=1)
    assert other.recipe().made_with["threads"] == 1
    assert weights(other) != weights(whole), "otherwise the tests of this file show nothing"


def test_recipe_state_card_and_page_state_the_threads_and_how_far_repeats_differ(place, machine, whole):
    assert whole.recipe().made_with["threads"] == 2
    differ = {"float32": "up to 0.01 in Spearman", "bfloat16": "up to 0.4 in Spearman"}[whole.recipe().precision]
    for where in (CARD, PAGE):
        words = whole.status().facts.listed(where)["Computed on"]
        assert f", {whole.recipe().precision}, 2 threads; " in words
        assert differ in words
    text = (whole.folder / "README.md").read_text(encoding="utf-8")
    assert differ in text
    assert "OMP_NUM_THREADS=2 python -m explorer train" in text
    broken = runs.new(whole.recipe(), "", place.runs)
    apart(lambda: break_off_in_training(broken))
    (notes,) = broken.state.glob("save-*/notes.json")
    assert json.loads(notes.read_text())["threads"] == 2


def test_a_number_that_cannot_be_used_is_in_log_and_card(place, machine, monkeypatch):
    machine(2)
    monkeypatch.setenv("OMP_THREAD_LIMIT", "1")  # OpenMP has read it before, but says the same if it is set in time
    first = new(place, "sg-opt", settings=STEPS)
    recipe = replace(first.recipe(), made_with={"threads": 2})
    run = runs.new(recipe, "", place.runs)
    apart(lambda: train(run), threads=1)
    assert "the recipe was made with 2 threads, of which this process can use 1" in run.log_tail(1000)
    assert ", float32, 1 thread; " in run.status().facts.listed(CARD)["Computed on"]
    assert "its recipe was made with 2 threads" in (run.folder / "README.md").read_text(encoding="utf-8")
    assert run.recipe().made_with["threads"] == 2, "where it can use them, it does"
