"""Test that two processes, also started by torchrun, train like one."""

import os
import signal
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from explorer.training.loop import resume_state as states
from explorer.training.loop.processes import World
from explorer.training.recipe import Stage
from explorer.training.record import runs
from explorer.training.record.runs import KEEP, Run
from explorer.training.record.status import FINISHED, INTERRUPTED, STOPPED
from tests.processes import ONE_EACH, ended, process, two
from tests.trainings import command, looks, losses, new, recipe, train, weights, words_of

# with so large an epsilon and no clipping, AdamW does not forgive a gradient that is half of what it should be
SETTINGS = {"batch_size": 16, "steps": 6, "learning_rate": 1e-3, "clip": 0, "epsilon": 1e-3}
METHODS = ("sg-opt", "simcse", "simcse-hard")


def words(place, method: str, name: str) -> list[str]:
    """The command line of a run; SG-OPT draws nothing, and without dropout the others draw nothing either."""
    return [*words_of(recipe(place, method, settings=SETTINGS)), "--name", name, "--out", str(place.runs), "--json"]


def started(arguments: list[str], told: Path) -> list[BaseProcess]:
    """Two processes of the command line; quicker than torchrun's, since all is imported already."""
    return two(command, lambda rank: (arguments, told.with_suffix(f".{rank}")))


def together(arguments: list[str], told: Path) -> tuple[int | None, ...]:
    return ended(started(arguments, told))


def torchrun(arguments: list[str], told: Path) -> None:
    """What the program of this name does: it starts the command line twice, as programs of their own."""
    from torch.distributed.run import main

    os.environ.update(ONE_EACH)
    with told.open("wb") as file:
        os.dup2(file.fileno(), 1)
        main(["--standalone", "--nproc_per_node", "2", "-m", "explorer", *arguments])


@pytest.fixture(scope="module")
def alone(calm) -> dict[str, Run]:
    return {method: train(new(calm, method, settings=SETTINGS)) for method in METHODS}


def assert_same(run: Run, other: Run) -> None:
    assert run.status().state == FINISHED
    assert losses(run) == pytest.approx(losses(other), rel=1e-5)
    assert len(losses(run)) == 6
    assert looks(run) == pytest.approx(looks(other), abs=1e-3)
    for name, weight in weights(other).items():
        torch.testing.assert_close(weights(run)[name], weight, atol=1e-5, rtol=0)
    base, learned = load_file(Path(run.recipe().model) / "model.safetensors"), weights(other)
    moved = max((learned[name] - base[name]).abs().max() for name in learned if name in base)
    assert moved > 3e-4, "the premise: something was learned"


@pytest.mark.parametrize("method", METHODS)
def test_two_processes_come_to_the_loss_of_every_step_and_the_weights_of_one(calm, alone, method):
    if method == "sg-opt":
        launcher = process(torchrun, words(calm, method, f"two-{method}"), calm.folder / "told")
        launcher.join()
        assert launcher.exitcode == 0
        told = (calm.folder / "told").read_text()
    else:
        assert together(words(calm, method, f"two-{method}"), calm.folder / "told") == (0, 0)
        told = (calm.folder / "told.0").read_text()
        assert (calm.folder / "told.1").read_text() == "", "one of them talks"
    run = runs.find(f"two-{method}", calm.runs)
    assert_same(run, alone[method])
    first = losses(train(new(calm, method, settings=SETTINGS | {"batch_size": 8, "steps": 1})))[1]
    assert first != pytest.approx(losses(run)[1], rel=1e-3), "otherwise it would not matter who meets whom"
    assert told.count('"state": "finished"') == told.count(f'"run": "two-{method}"') == 1


def test_two_processes_train_adapters_as_one_does(calm):
    settings = {"lora_rank": 2, "lora_targets": "all linear", "learning_rate": 1e-2}
    arguments = [*words(calm, "sg-opt", "adapters"), *(f"--set={name}={value}" for name, value in settings.items())]
    assert together(arguments, calm.folder / "told") == (0, 0)
    assert_same(runs.find("adapters", calm.runs), train(new(calm, "sg-opt", settings=SETTINGS | settings)))


def test_two_processes_train_stages_as_one_does(calm):
    half = SETTINGS | {"steps": 3}
    changes = {"settings": half, "stages": (Stage("simcse", (str(calm.text),), settings=half),)}
    arguments = [*words_of(recipe(calm, "simcse-hard", **changes)), "--name", "stages", "--out", str(calm.runs)]
    assert together(arguments, calm.folder / "told") == (0, 0)
    assert_same(runs.find("stages", calm.runs), train(new(calm, "simcse-hard", **changes)))


def test_two_processes_go_on_together_with_a_run_that_was_stopped(calm, alone):
    run = new(calm, "sg-opt", name="stopped", settings=SETTINGS)
    train(run, lambda progress: run.request_stop(KEEP) if (progress.stage, progress.done) == ("training", 3) else None)
    assert run.status().state == STOPPED
    begun = states.load(run.state).notes["step"]
    assert 3 <= begun < 6
    assert together(["train", "--resume", run.name, "--out", str(calm.runs)], calm.folder / "told") == (0, 0)
    assert f"resumed at step {begun}" in run.log_tail(60)
    assert_same(run, alone["sg-opt"])


def test_two_processes_stop_after_the_same_step_and_keep_it(calm):
    run = Run(calm.runs / "kept")
    arguments = [*words(calm, "sg-opt", run.name), "--set", "steps=5000", "--set", "evaluate_every=2"]
    both = started(arguments, calm.folder / "told")
    while not losses(run):
        assert both[0].is_alive()
        time.sleep(0.005)
    run.request_stop(KEEP)
    assert ended(both) == (0, 0)
    assert run.status().state == STOPPED
    assert states.load(run.state).notes["step"] == max(losses(run)) < 5000
    assert run.model.is_dir()


def test_a_signal_to_one_of_two_processes_stops_both_after_the_same_step_and_keeps_it(calm):
    run = Run(calm.runs / "signalled")
    both = started([*words(calm, "sg-opt", run.name), "--set", "steps=5000"], calm.folder / "told")
    while not losses(run):
        assert both[0].is_alive()
        time.sleep(0.005)
    for _ in range(2):  # torchrun repeats what the terminal has sent
        os.kill(both[1].pid, signal.SIGTERM)
    assert ended(both) == (143, 143)
    assert run.status().state == INTERRUPTED
    assert states.load(run.state).notes["step"] == max(losses(run)) < 5000
    assert (calm.folder / "told.0").read_text().splitlines() == [
        str(run.folder),
        f"Interrupted. Resume with: python -m explorer train --resume {run.name} --out {calm.runs}",
    ]
    assert (calm.folder / "told.1").read_text() == ""


def test_a_batch_that_two_cannot_share_is_refused(calm):
    assert 1 in together([*words(calm, "sg-opt", "odd"), "--set", "batch_size=5"], calm.folder / "told")
    last = (calm.folder / "told.0").read_text().splitlines()[-1]
    assert "batch_size cannot be 5 with 2 processes" in last
    assert "Set it to a multiple of 2" in last
    assert not (calm.runs / "odd").exists()


class Weights(torch.nn.Sequential):
    def trains(self) -> bool:
        return True


def comes_and_goes(environment: dict[str, str]) -> None:
    """What a process does for a run, again and again: at the end nothing but the module refers to torch's group."""
    from accelerate.state import AcceleratorState

    os.environ.update(environment)
    torch.set_num_threads(1)
    for port in range(10):
        os.environ["MASTER_PORT"] = str(int(environment["MASTER_PORT"]) + port)
        AcceleratorState._reset_state(reset_partial_state=True)
        world = World(device="cpu")
        module = world.place(Weights(*(torch.nn.Linear(8, 8) for _ in range(6))))
        world.backward(module(torch.ones(2, 8)).sum())
        world.largest(port)
        world.leave()
        del world, module


def test_two_processes_come_and_go_again_and_again():
    assert ended(two(comes_and_goes, lambda _: ())) == (0, 0)


def test_more_processes_than_were_started_are_refused(calm, capsys):
    from explorer.__main__ import main

    assert main([*words(calm, "sg-opt", "lonely"), "--processes", "2"]) == 1
    told = capsys.readouterr().err
    assert "2 processes were requested, but 1 started. Use 'torchrun --nproc_per_node 2 -m explorer train …'" in told
    assert not (calm.runs / "lonely").exists()
    assert main([*words(calm, "sg-opt", "lonely"), "--processes", "1", "--steps", "1"]) == 0
