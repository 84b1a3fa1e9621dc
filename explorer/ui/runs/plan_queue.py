"""Queue plans for the background worker, each training of which takes its turn among the runs; stop and resume them.

A plan's job is keyed by its folder, so every tab follows the same plan. This loads torch where it is called.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from explorer import run_folder
from explorer.errors import RunBusy, RunError
from explorer.progress import Progress, Work
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run
from explorer.ui.access import cached, jobs
from explorer.ui.access.jobs import Job
from explorer.ui.runs import training_queue

if TYPE_CHECKING:
    from explorer.studies.plans.execution import PlanEstimate
    from explorer.studies.plans.plan import Plan
    from explorer.studies.plans.plan_folder import PlanFolder, PlanStatus

PAUSE = 0.5  # seconds between two looks at the run under way
PATIENCE = 60.0  # seconds for which a plan that is stopped waits for its run


def start(plan: Plan) -> PlanFolder:
    """Queue a new plan; an error names what is not allowed, or a text or model that cannot be read."""
    from explorer.studies.plans import execution, plan_folder

    execution.check(plan)
    folder = plan_folder.new(plan, of_app=True)
    _follow(folder)
    return folder


def resume(folder: PlanFolder) -> None:
    """Queue a plan again that was stopped, interrupted or failed, or to train what a finished one left out."""
    status = standing(folder)
    if status.live:
        raise RunBusy(f"The plan '{folder.name}' is {status.state} already.")
    _wait(folder, status)


def go_on() -> list[PlanFolder]:
    """Queue every plan again whose server ended while it waited or was worked on, in the order of their start."""
    from explorer.studies.plans import plan_folder

    found = []
    for folder in sorted(plan_folder.every(), key=lambda one: one.status().started):
        status = folder.status()
        if status.of_app and status.state == plan_folder.INTERRUPTED:
            _wait(folder, status, anew=False)
            found.append(folder)
    return found


def stop(folder: PlanFolder) -> None:
    """Stop a plan, in whichever process it is; the run under way is saved, and the plan can be resumed."""
    from explorer.studies.plans import plan_folder

    job = job_of(folder)
    if job is not None and job.state == jobs.WAITING:
        job.stop()
        if job.state == jobs.STOPPED:
            folder.put(replace(folder.status(), state=plan_folder.STOPPED))
            return
    folder.request_stop()


def delete(folder: PlanFolder) -> None:
    """Delete a plan that is not under way; its runs stay."""
    if not standing(folder).live and folder.status().live:  # it failed before it wrote its status
        folder.put(standing(folder))
    folder.delete()
    jobs.forget(_key(folder))


def job_of(folder: PlanFolder) -> Job | None:
    """The plan's place in the queue of this process, if it has one."""
    return jobs.find(_key(folder))


def standing(folder: PlanFolder) -> PlanStatus:
    """A plan's status; a job that failed before it wrote its status counts as failed."""
    from explorer.studies.plans import plan_folder

    status, job = folder.status(), job_of(folder)
    if status.live and job is not None and job.state == jobs.FAILED and not run_folder.is_held(folder.folder):
        return replace(status, state=plan_folder.FAILED, error=job.error)
    return status


def estimate(plan: Plan) -> Job:
    """The job that trains one step of each row, in the queue of the runs: beside a run its times would be wrong."""
    return jobs.follow(estimate_key(plan), "estimating the plan", lambda: _estimated(plan), lane=jobs.TRAINING)


def estimate_key(plan: Plan) -> str:
    """The job key of a plan's estimate, which does not depend on the plan's name."""
    from explorer.studies.plans import plan as plans

    return f"estimate {as_it_is(plan)} {plans.as_yaml(replace(plan, name='plan'))}"


def as_it_is(plan: Plan) -> str:
    """A digest that changes with any text, evaluation set and base model that a plan names."""
    texts = (*plan.data, *(one.data for one in plan.variants if one.data))
    named = dict.fromkeys((*chain.from_iterable(texts), plan.dev, plan.test))
    return cached.as_they_are(plan.models, filter(None, named))


def train(run: Run) -> Work[Run | None]:
    """Train a run in its turn, and return it; closed before its end, it saves the run, which can then be resumed."""
    job = training_queue.follow(run)
    try:
        while not job.ends_within(PAUSE):
            yield job.progress
        if job.state == jobs.STOPPED:
            yield Progress("stopped", 0, 0)  # the end of the server stops the plan too, before it goes on here
        if job.state == jobs.FAILED:
            raise RunError(job.error)
        return run
    finally:
        if job.live:
            job.stop()
            job.ends_within(PATIENCE)
            status = run.status()
            if status.state in (statuses.WAITING, statuses.INTERRUPTED):
                statuses.write(run.folder, replace(status, state=statuses.STOPPED, phase=None, about=""))


def _wait(folder: PlanFolder, status: PlanStatus, *, anew: bool = True) -> None:
    from explorer.studies.plans import plan_folder

    folder.clear_stop_request()
    started = plan_folder.next_start() if anew else status.started
    folder.put(replace(status, state=plan_folder.WAITING, of_app=True, started=started, error=""))
    _follow(folder)


def _key(folder: PlanFolder) -> str:
    return str(folder.folder)


def _follow(folder: PlanFolder) -> Job:
    jobs.forget(_key(folder))
    return jobs.follow(_key(folder), f"plan {folder.name}", lambda: _executed(folder), lane=jobs.PLANS)


def _executed(folder: PlanFolder) -> Work[PlanStatus]:
    from explorer.studies.plans import execution
    from explorer.training import running

    return (yield from execution.execute(folder, lambda run: running.or_nothing(run, train(run))))


def _estimated(plan: Plan) -> Work[PlanEstimate]:
    from explorer.studies.plans.execution import estimate

    return (yield from estimate(plan))
