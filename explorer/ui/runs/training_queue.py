"""Queue runs for the background worker; stop, resume, rename and delete them.

A run's job is keyed by its folder, so every tab follows the same run; its results are in that folder. A run that waits
has a file with its place in the queue, so that a server that starts after a crash can queue it again.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.errors import StrataError
from explorer.places import write_whole
from explorer.progress import Work
from explorer.run_folder import QUEUED, folders_with
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.record.runs import DISCARD, Run
from explorer.training.record.status import Status
from explorer.ui.access import cached, jobs
from explorer.ui.access.jobs import Job

if TYPE_CHECKING:
    from explorer.training.loop.measured_facts import Estimate
    from explorer.training.recipe import Recipe


def start(recipe: Recipe, name: str = "") -> Run:
    """Queue a new run; without a name, return the run under way that has the same recipe, if there is one."""
    same = None if name else _same_under_way(recipe)
    if same is not None:
        return same
    run = runs.new(recipe, name)
    _follow(run)
    return run


def resume(run: Run) -> None:
    """Queue a stopped, interrupted or failed run again."""
    status = standing(run)
    if status.state == statuses.FAILED and run.status().live:  # it failed before it wrote its status
        statuses.write(run.folder, status)
    runs.restarted(run)
    _follow(run)


def queue_again() -> list[Run]:
    """Queue every run again that waited when its server ended, in the same order; a run that was training is not."""
    found = []
    for marker in sorted(_markers(), key=_place):
        run = Run(marker.parent)
        with suppress(StrataError):  # one that cannot be queued does not keep the others from it
            if run.status().state == statuses.INTERRUPTED:
                runs.restarted(run)
                _follow(run)
                found.append(run)
    return found


def follow(run: Run) -> Job:
    """Queue a waiting run for a plan, which queues it again after a crash; the job of the run if it has one."""
    return _follow(run, of_plan=True)


def stop(run: Run, how: str) -> None:
    """Stop a waiting or running run, in whichever process it is; `how` says whether to keep it."""
    job = job_of(run)
    if job is not None and job.state == jobs.WAITING:
        job.stop()
        if job.state == jobs.STOPPED:
            _unmark(run)
            statuses.write(run.folder, replace(run.status(), state=statuses.STOPPED))
            if how == DISCARD:
                delete(run)
            return
    run.request_stop(how)


def rename(run: Run, name: str) -> Run:
    """Rename a run and return it."""
    renamed = run.renamed(name)
    jobs.forget(_key(run))
    return renamed


def delete(run: Run) -> None:
    """Delete a run that is not under way."""
    run.delete()
    jobs.forget(_key(run))


def job_of(run: Run) -> Job | None:
    """The run's place in the queue of this process, if it has one."""
    return jobs.find(_key(run))


def standing(run: Run) -> Status:
    """A run's status; a job that failed before it wrote its status counts as failed."""
    status, job = run.status(), job_of(run)
    if status.state == statuses.WAITING and job is not None and job.state == jobs.FAILED:
        return replace(status, state=statuses.FAILED, error=job.error, details=job.details)
    return status


def under_way() -> list[tuple[Run, Status]]:
    """Every waiting or running run, the running one first."""
    found = [(run, standing(run)) for run in runs.every()]
    live = [(run, status) for run, status in reversed(found) if status.live]
    return sorted(live, key=lambda one: one[1].state != statuses.RUNNING)


def in_training() -> list[str]:
    """The names of the runs that this process trains."""
    return [job.title for job in jobs.running(jobs.TRAINING) if Path(job.key).is_dir()]


def try_one_step(recipe: Recipe) -> Job:
    """The job that trains one step of a recipe to estimate its time and memory.

    It is queued with the runs: a step in parallel to a run would take longer, and both use the same random state.
    """
    return jobs.follow(trial_key(recipe), "one step", lambda: _tried(recipe), lane=jobs.TRAINING)


def trial_key(recipe: Recipe) -> str:
    """The job key of a recipe's trial step, on its texts and its models as they are."""
    values = recipe.every_setting()
    others = (str(values[name]) for name, knob in recipe.kind.knobs.items() if knob.masked_model)
    now = cached.as_they_are((recipe.model, *others), (*recipe.data, recipe.dev, *recipe.tests))
    return f"try {now} {recipe.command()}"


def _same_under_way(recipe: Recipe) -> Run | None:
    """The run under way with the same recipe, so that a second click on Start opens the first run."""
    asked = recipe.checked()
    for run, _ in under_way():
        with suppress(StrataError):  # an unreadable recipe is a different one
            if replace(run.recipe(), made_with={}) == asked:
                return run
    return None


def _key(run: Run) -> str:
    return str(run.folder)


def _follow(run: Run, *, of_plan: bool = False) -> Job:
    """Queue a run, replacing the job of an earlier run with the same folder."""
    _wait_for_the_end(run)
    if not of_plan:
        # counted, not timed: a clock that is set back would change the order
        place = str(1 + max(map(_place, _markers()), default=0)).encode()
        with suppress(StrataError):  # on a full disk the run is queued all the same
            write_whole(run.folder / QUEUED, lambda file: file.write(place))
    return jobs.follow(_key(run), run.name, lambda: _trained(run), lane=jobs.TRAINING)


def _unmark(run: Run) -> None:
    """Say that a run no longer waits."""
    with suppress(OSError):
        (run.folder / QUEUED).unlink(missing_ok=True)


def _markers() -> list[Path]:
    """The files of all runs that wait."""
    return [folder / QUEUED for folder in folders_with(QUEUED)]


def _place(marker: Path) -> int:
    """The place in the queue that a file states; 0 if there is none."""
    try:
        return int(marker.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def _wait_for_the_end(run: Run) -> None:
    """Wait until an earlier job of this folder has ended: a discarded run's folder is deleted before its job ends."""
    for _ in range(100):
        jobs.forget(_key(run))
        if job_of(run) is None:
            return
        time.sleep(0.05)


def _trained(run: Run) -> Work[Run | None]:
    from explorer.training import running

    _unmark(run)
    return (yield from running.train(run))


def _tried(recipe: Recipe) -> Work[Estimate]:
    from explorer.training.loop.estimate import try_out

    return (yield from try_out(recipe))
