"""Choose what trains the runs of a plan, and how many at once: this process, others of this machine, or jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorer.knobs import Knobs, knob
from explorer.progress import Work
from explorer.training import running
from explorer.training.record import runs
from explorer.training.workers import cluster_jobs, outside, own_processes


@dataclass(frozen=True)
class ExecutionOptions(Knobs):
    """How the runs of a plan are trained."""

    processes: int = knob(
        1, low=1, excludes=("on",), help="Train each run with this many processes, started by torchrun."
    )
    at_once: int | None = knob(
        None,
        item=int,
        low=1,
        empty=f"1 on a processor, on GPUs as many as fit if that saves time, with --on slurm {cluster_jobs.MOST}",
        help="Train so many runs of the plan at once, each in a process or job of its own.",
    )
    on: str | None = knob(
        None,
        item=str,
        choices=(cluster_jobs.SLURM, cluster_jobs.LOCAL),
        empty="no jobs",
        help="Train each run as a job of Slurm, or of local, which is like it on this machine, through submitit.",
    )
    job: tuple[str, ...] = knob(
        (),
        repeated=True,
        metavar="NAME=VALUE",
        needs="on",
        help="An option of each job, such as partition=gpu, gpus_per_node=1 or timeout_min=240.",
    )


class Trainers:
    """What trains the runs of a plan by these options; `folder` is where jobs are recorded.

    `usual` finds how many at once where the options state no number.
    """

    def __init__(
        self,
        options: ExecutionOptions,
        folder: Path,
        usual: Callable[[Any], Work[int]],
        job: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._options, self._folder, self._usual = options, folder, usual
        self._job: dict[str, Any] = {}
        if options.on:
            cluster_jobs.check(options.on)
            self._job = cluster_jobs.parameters(options.on, job or {})
        self._outside: outside.Outside | None = None
        self.number = 0  # before it is known

    def at_once(self, plan: Any) -> Work[int]:
        """How many trainings of a plan run at once; asked before the first one."""
        if not self.number:
            self.number = yield from self._chosen(plan)
            self._outside = self._workers()
        return self.number

    def train(self, run: runs.Run) -> Work[runs.Run | None]:
        """Train a run."""
        return self._outside.train(run) if self._outside is not None else running.train(run)

    def _chosen(self, plan: Any) -> Work[int]:
        if self._options.at_once is not None:
            return self._options.at_once
        if self._options.on == cluster_jobs.SLURM:
            return cluster_jobs.MOST
        if self._options.processes > 1:
            return 1
        return (yield from self._usual(plan))

    def _workers(self) -> outside.Outside | None:
        """Who trains; None if this process does."""
        if self._options.on:
            here = self._options.on == cluster_jobs.LOCAL
            share = own_processes.share_of_threads(self.number) if here else {}
            return cluster_jobs.ClusterJobs(self._options.on, self._folder, self._job, share)
        if self.number > 1 or self._options.processes > 1:
            return own_processes.OwnProcesses(self.number, self._options.processes)
        return None
