"""Test that repeated training does not leak memory."""

import json
import threading
import weakref
from pathlib import Path

import psutil
import pytest
import torch

from explorer import fair_share
from explorer.encoding.locate import lookup
from explorer.errors import RunError
from explorer.training.loop import loop
from explorer.training.loop.learner import Learner
from explorer.training.record.runs import DISCARD
from tests.processes import process
from tests.trainings import new, train

CYCLES = 3
SPARE = 2  # per cent


class Watched(Learner):
    """A learner whose method, optimiser and weights are known to have gone."""

    made: list[weakref.ref] = []  # noqa: RUF012 (of all of them)

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        Watched.made += [weakref.ref(self.method), weakref.ref(self.optimizer), weakref.ref(next(iter(self.names)))]


def cycles(place, told: Path) -> None:
    """What the app's thread does: run after run, each stopped after two steps; and one that fails."""
    loop.Learner = Watched
    torch.set_num_threads(1)
    fair_share.one_arena()
    found: dict[str, list] = {"held": [], "alive": [], "peak": []}

    def stop(run, progress):
        if progress.stage == "training" and progress.done == 2:
            found["peak"].append(psutil.Process().memory_info().rss)
            run.request_stop(DISCARD)

    def once(fails: bool) -> None:
        Watched.made.clear()
        run = new(place, model=lookup.BUNDLED, test=None, settings={"steps": 3, "batch_size": 2})
        trouble = None
        Watched.update = _failing if fails else Learner.update
        try:
            train(run, lambda progress: stop(run, progress))
        except RunError as error:
            trouble = error  # as whoever shows it holds it
        found["held"].append(psutil.Process().memory_info().rss)
        found["alive"].append([reference() is not None for reference in Watched.made])
        found.setdefault("trouble", []).append(str(trouble))

    def work() -> None:
        for number in range(CYCLES + 1):
            once(fails=number == CYCLES)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    told.write_text(json.dumps(found))


def _failing(learner: Learner) -> None:
    Learner.update(learner)
    raise ArithmeticError("in the middle of it")


@pytest.fixture(scope="module")
def found(place, tmp_path_factory) -> dict[str, list]:
    told = tmp_path_factory.mktemp("memory") / "told"
    trainer = process(cycles, place, told)
    trainer.join()
    assert trainer.exitcode == 0
    return json.loads(told.read_text())


def test_run_after_run_holds_no_more_memory_nor_does_one_that_failed(found):
    _, second, *later = found["held"]
    assert all(abs(held - second) < SPARE / 100 * second for held in later), found["held"]
    assert min(found["peak"]) > 1.3 * max(found["held"]), "the premise: a run under way holds much more"
    assert "ArithmeticError: in the middle of it" in found["trouble"][CYCLES]
    assert found["trouble"][:CYCLES] == ["None"] * CYCLES


def test_nothing_of_a_run_that_is_over_is_alive_even_while_its_error_is(found):
    assert found["alive"] == [[False] * 3] * (CYCLES + 1)
