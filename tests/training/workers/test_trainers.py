"""Test that flags and device decide what trains the runs of a plan, and how many at once."""

from types import SimpleNamespace

import pytest

from explorer.errors import BadChoice
from explorer.progress import finish
from explorer.training import running
from explorer.training.workers import cluster_jobs, own_processes, trainers
from explorer.training.workers.trainers import ExecutionOptions, Trainers

HERE = "this process"


@pytest.fixture
def made(monkeypatch):
    """What was made to train runs elsewhere, with its arguments."""
    found = []

    def standing_in(kind):
        def make(*given):
            found.append((kind, *given))
            return SimpleNamespace(train=lambda run: kind)

        return make

    monkeypatch.setattr(own_processes, "OwnProcesses", standing_in("processes"))
    monkeypatch.setattr(cluster_jobs, "ClusterJobs", standing_in("jobs"))
    monkeypatch.setattr(cluster_jobs, "check", lambda engine: None)
    monkeypatch.setattr(running, "train", lambda run: HERE)
    monkeypatch.setattr(own_processes, "share_of_threads", lambda number: {"threads": f"of {number}"})
    return found


@pytest.mark.parametrize(
    ("stated", "usual", "number", "by", "arguments"),
    [
        ({}, 1, 1, HERE, ()),
        ({}, 4, 4, "processes", (4, 1)),
        ({"at_once": 1}, 4, 1, HERE, ()),
        ({"at_once": 3}, 1, 3, "processes", (3, 1)),
        ({"processes": 2}, 4, 1, "processes", (1, 2)),
        ({"processes": 2, "at_once": 3}, 1, 3, "processes", (3, 2)),
        ({"on": "slurm"}, 4, cluster_jobs.MOST, "jobs", ("slurm", "folder", {"slurm_partition": "gpu"}, {})),
        ({"on": "local"}, 1, 1, "jobs", ("local", "folder", {}, {"threads": "of 1"})),
        ({"on": "local", "at_once": 2}, 1, 2, "jobs", ("local", "folder", {}, {"threads": "of 2"})),
    ],
)
def test_what_trains_and_how_many(made, stated, usual, number, by, arguments):
    asked = []

    def found(plan):
        asked.append(plan)
        yield from ()
        return usual

    job = {"partition": ["gpu"]} if stated.get("on") == "slurm" else {}
    chosen = Trainers(ExecutionOptions(**stated), "folder", found, job)
    assert [finish(chosen.at_once("a plan")) for _ in range(2)] == [number] * 2
    assert len(asked) <= 1, "it is found once: rows that are added later are trained in the same way"
    assert chosen.train("a run") == by
    assert made == ([(by, *arguments)] if arguments else [])


def test_jobs_that_cannot_be_are_refused_before_anything_is_begun(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BadChoice, match="There is no Slurm here"):
        Trainers(ExecutionOptions(on="slurm"), "folder", None)
    with pytest.raises(BadChoice, match="--job gpus=… is no option"):
        Trainers(ExecutionOptions(on="local"), "folder", None, {"gpus": ["1"]})
    with pytest.raises(BadChoice, match="at_once cannot be 0"):
        trainers.ExecutionOptions(at_once=0)
