"""How does a run get to the worker in the background, and how is it stopped?

A run is trained under the name of its folder, so every tab follows the same one; what it has done is in that folder.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from explorer.errors import StrataError
from explorer.progress import Work
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.record.runs import DISCARD, Run
from explorer.training.record.status import Status
from explorer.ui.access import jobs
from explorer.ui.access.jobs import Job

if TYPE_CHECKING:
    from explorer.training.loop.estimate import Estimate
    from explorer.training.recipe import Recipe


def start(recipe: Recipe, name: str = "") -> Run:
    """A new run in the queue; without a name of its own, the run that is made from the same recipe already."""
    same = None if name else _same_under_way(recipe)
    if same is not None:
        return same
    run = runs.new(recipe, name)
    _follow(run)
    return run


def resume(run: Run) -> None:
    """Put a run back in the queue that was stopped, interrupted or failed."""
    status = standing(run)
    if status.state == statuses.FAILED and run.status().live:  # it failed before it could write so
        statuses.write(run.folder, status)
    runs.restarted(run)
    _follow(run)


def stop(run: Run, wish: str) -> None:
    """Stop a run that waits or works, in whichever process it is; `wish` says whether it is kept."""
    job = job_of(run)
    if job is not None and job.state == jobs.WAITING:
        job.stop()
        if job.state == jobs.STOPPED:
            statuses.write(run.folder, replace(run.status(), state=statuses.STOPPED))
            if wish == DISCARD:
                delete(run)
            return
    run.ask(wish)


def rename(run: Run, name: str) -> Run:
    """The run under another name."""
    renamed = run.renamed(name)
    jobs.forget(_key(run))
    return renamed


def delete(run: Run) -> None:
    """Delete a run that nobody is at."""
    run.delete()
    jobs.forget(_key(run))


def job_of(run: Run) -> Job | None:
    """The run's place in the queue of this process, if it has one."""
    return jobs.find(_key(run))


def standing(run: Run) -> Status:
    """Where a run stands; a job that ended before it could write so is told from the job."""
    status, job = run.status(), job_of(run)
    if status.state == statuses.WAITING and job is not None and job.state == jobs.FAILED:
        return replace(status, state=statuses.FAILED, error=job.error, details=job.details)
    return status


def under_way() -> list[tuple[Run, Status]]:
    """Every run that waits or works, the one that works first."""
    found = [(run, standing(run)) for run in runs.every()]
    live = [(run, status) for run, status in reversed(found) if status.live]
    return sorted(live, key=lambda one: one[1].state != statuses.RUNNING)


def try_one_step(recipe: Recipe) -> Job:
    """The job that tries a recipe.

    It takes its turn among the runs: a step beside a run under way would tell the wrong time, and both draw from the
    same random numbers.
    """
    return jobs.follow(trial_key(recipe), "one step", lambda: _tried(recipe), lane=jobs.TRAINING)


def trial_key(recipe: Recipe) -> str:
    """Under which key a recipe is tried."""
    return f"try {recipe.command()}"


def _same_under_way(recipe: Recipe) -> Run | None:
    """A second click on Start, or a second tab, finds the run of the first."""
    asked = recipe.checked()
    for run, _ in under_way():
        with suppress(StrataError):  # another's recipe that cannot be read is not this one
            if replace(run.recipe(), made_with={}) == asked:
                return run
    return None


def _key(run: Run) -> str:
    return str(run.folder)


def _follow(run: Run) -> Job:
    """Put a run in the queue, in the place of one that had its folder before."""
    _wait_for_the_end(run)
    return jobs.follow(_key(run), run.name, lambda: _trained(run), lane=jobs.TRAINING)


def _wait_for_the_end(run: Run) -> None:
    """A run that was discarded is gone a moment before its job ends."""
    for _ in range(100):
        jobs.forget(_key(run))
        if job_of(run) is None:
            return
        time.sleep(0.05)


def _trained(run: Run) -> Work[Run | None]:
    from explorer.training import running

    return (yield from running.train(run))


def _tried(recipe: Recipe) -> Work[Estimate]:
    from explorer.training.loop.estimate import try_out

    return (yield from try_out(recipe))
