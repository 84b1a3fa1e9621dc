"""Queue runs and plans for the background workers; stop, resume, rename and delete them.

A job is keyed by the folder of its run or plan, so every tab follows the same; its results are in that folder. A run
that waits has a file with its place in the queue, so that a server that starts after a crash can queue it again. Each
training of a plan takes its turn among the runs. What knows plans, or trains, loads torch: it is imported when called.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import errors, places, progress, run_folder
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui.access import cached, jobs
from explorer.work_folder import Status, WorkFolder, is_held

if TYPE_CHECKING:
    from explorer.studies.plans.advice import Proposal
    from explorer.studies.plans.plan import Plan
    from explorer.studies.plans.plan_estimate import PlanEstimate
    from explorer.studies.plans.plan_folder import PlanFolder, PlanStatus
    from explorer.training.loop.measured_facts import Estimate
    from explorer.training.recipe import Recipe
    from explorer.training.workers.trainers import Trainers

PAUSE = 0.5  # seconds between two looks at the run under way
PATIENCE = 60.0  # seconds for which a plan that is stopped waits for its run


def start(recipe: Recipe, name: str = "") -> runs.Run:
    """Queue a new run; without a name, return the run under way that has the same recipe, if there is one."""
    for run, _ in [] if name else under_way():  # a second click on Start opens the first run
        with suppress(errors.StrataError):  # an unreadable recipe is a different one
            if replace(run.recipe(), made_with={}) == replace(recipe, made_with={}):
                return run
    run = runs.new(recipe, name)
    _follow(run)
    return run


def resume(run: runs.Run) -> None:
    """Queue a stopped, interrupted or failed run again."""
    _settle(run)
    runs.restarted(run)
    _follow(run)


def queue_again() -> list[runs.Run]:
    """Queue every run again that waited when its server ended, in the same order; a run that was training is not."""
    found = []
    for marker in sorted(_markers(), key=_place):
        run = runs.Run(marker.parent)
        with suppress(errors.StrataError):  # one that cannot be queued does not keep the others from it
            if run.status().state == statuses.INTERRUPTED:
                runs.restarted(run)
                _follow(run)
                found.append(run)
    return found


def stop(folder: WorkFolder[Status], how: str = runs.KEEP) -> None:
    """Stop a waiting or running run or plan, in whichever process it is; `how` says whether to keep a run.

    A plan saves the run under way, and can be resumed.
    """
    job = job_of(folder)
    if job is not None and job.state == jobs.WAITING:
        job.stop()
        if job.state == jobs.STOPPED:
            _unmark(folder)
            folder.put(replace(folder.status(), state=statuses.STOPPED))
            if how == runs.DISCARD:
                delete(folder)
            return
    folder.request_stop(how)


def rename(run: runs.Run, name: str) -> runs.Run:
    """Rename a run and return it."""
    renamed = run.renamed(name)
    jobs.forget(_key(run))
    return renamed


def delete(folder: WorkFolder[Status]) -> None:
    """Delete a run or a plan that is not under way; the runs of a plan stay."""
    _settle(folder)
    folder.delete()
    jobs.forget(_key(folder))


def job_of(folder: WorkFolder[Any]) -> jobs.Job | None:
    """The place of a run or a plan in the queue of this process, if it has one."""
    return jobs.find(_key(folder))


def standing(folder: WorkFolder[Status]) -> Status:
    """The status of a run or a plan; a job that failed before it wrote its status counts as failed.

    A plan is finished once its job is: one that gives advice goes on with rows that follow from what it has measured.
    """
    status, job = folder.status(), job_of(folder)
    if job is None:
        return status
    if status.state == statuses.FINISHED and job.state == jobs.RUNNING and job.lane == jobs.PLANS:
        return replace(status, state=statuses.RUNNING)
    if status.live and job.state == jobs.FAILED and not is_held(folder.folder):
        return replace(status, state=statuses.FAILED, error=job.error, details=job.details)
    return status


def _settle(folder: WorkFolder[Status]) -> Status:
    """Write that work failed whose job failed before it wrote its status; its status."""
    status = standing(folder)
    if not status.live and folder.status().live:
        folder.put(status)
    return status


def under_way() -> list[tuple[runs.Run, statuses.Status]]:
    """Every waiting or running run, the running one first."""
    found = [(run, standing(run)) for run in runs.every()]
    live = [(run, status) for run, status in reversed(found) if status.live]
    return sorted(live, key=lambda one: one[1].state != statuses.RUNNING)


def in_training() -> list[str]:
    """The names of the runs that this process trains."""
    return [job.title for job in jobs.running(jobs.TRAINING) if Path(job.key).is_dir()]


def try_one_step(recipe: Recipe) -> jobs.Job:
    """The job that trains one step of a recipe to estimate its time and memory.

    It is queued with the runs: a step in parallel to a run would take longer, and both use the same random state.
    """

    def tried() -> progress.Work[Estimate]:
        from explorer.training.loop.estimate import try_out

        return (yield from try_out(recipe))

    return jobs.follow(trial_key(recipe), "one step", tried, lane=jobs.TRAINING)


def trial_key(recipe: Recipe) -> str:
    """The job key of a recipe's trial step, on its texts and its models as they are."""
    texts = (given for one in recipe.chain for given in one.data)
    sets = recipe.dev, *recipe.tests
    now = cached.inputs_digest((recipe.model, *recipe.named_models().values()), (*texts, *sets))
    return f"try {now} {recipe.command()}"


def _key(folder: WorkFolder[Any]) -> str:
    return str(folder.folder)


def _follow(run: runs.Run, trainers: Trainers | None = None, group: str = "") -> jobs.Job:
    """Queue a run, replacing the job of an earlier run with the same folder; a run of a plan has its trainers.

    The runs of a group are trained side by side.
    """

    def trained() -> progress.Work[runs.Run | None]:
        from explorer.training import running

        _unmark(run)
        return (yield from trainers.train(run) if trainers else running.train(run))

    for _ in range(100):  # a discarded run's folder is deleted before its job ends
        jobs.forget(_key(run))
        if job_of(run) is None:
            break
        time.sleep(0.05)
    if trainers is None:
        # counted, not timed: a clock that is set back would change the order
        place = str(1 + max(map(_place, _markers()), default=0)).encode()
        with suppress(errors.StrataError):  # on a full disk the run is queued all the same
            places.write_whole(run.folder / run_folder.QUEUED, lambda file: file.write(place))
    return jobs.follow(_key(run), run.name, trained, lane=jobs.TRAINING, group=group)


def _unmark(folder: WorkFolder[Any]) -> None:
    with suppress(OSError):
        (folder.folder / run_folder.QUEUED).unlink(missing_ok=True)


def _markers() -> list[Path]:
    return [folder / run_folder.QUEUED for folder in run_folder.folders_with(run_folder.QUEUED)]


def _place(marker: Path) -> int:
    """The place in the queue that a file states; 0 if there is none."""
    try:
        return int(marker.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def start_plan(plan: Plan) -> PlanFolder:
    """Queue a new plan; an error names what is not allowed, or a text or model that cannot be read."""
    from explorer.studies.plans import execution, plan_folder

    execution.check(plan)
    folder = plan_folder.new(plan, of_app=True)
    _follow_plan(folder)
    return folder


def start_advice(proposal: Proposal) -> PlanFolder:
    """Queue a plan that answers whether to fine-tune; the same one again goes on."""
    from explorer.studies.plans import advice, plan_folder

    with suppress(errors.RunNotFound):
        begun = plan_folder.find(proposal.plan.name)
        if not standing(begun).live:
            resume_plan(begun)
        return begun
    folder = advice.begin(proposal, of_app=True)
    _follow_plan(folder)
    return folder


def resume_plan(folder: PlanFolder) -> None:
    """Queue a plan again that was stopped, interrupted or failed, or to train what a finished one left out."""
    status = _settle(folder)
    if status.live:
        raise errors.RunBusy(f"The plan '{folder.name}' is {status.state} already.")
    _wait(folder, status)


def plans_again() -> list[PlanFolder]:
    """Queue every plan again whose server ended while it waited or was worked on, in the order of their start."""
    from explorer.studies.plans import plan_folder

    found = []
    for folder in sorted(plan_folder.every(), key=lambda one: one.status().started):
        status = folder.status()
        if status.of_app and status.state == statuses.INTERRUPTED:
            _wait(folder, status, anew=False)
            found.append(folder)
    return found


def estimate_plan(plan: Plan) -> jobs.Job:
    """The job that trains one step of each row, in the queue of the runs: beside a run its times would be wrong."""

    def estimated() -> progress.Work[PlanEstimate]:
        from explorer.studies.plans.plan_estimate import estimate

        return (yield from estimate(plan))

    return jobs.follow(estimate_key(plan), "estimating the plan", estimated, lane=jobs.TRAINING)


def estimate_key(plan: Plan) -> str:
    """The job key of a plan's estimate, which does not depend on the plan's name."""
    from explorer.studies.plans import plan_file

    return f"estimate {inputs_digest(plan)} {plan_file.as_yaml(replace(plan, name='plan'))}"


def inputs_digest(plan: Plan) -> str:
    """A digest that changes with any text, evaluation set and base model that a plan names."""
    stages = chain(plan.stages, *(one.stages or () for one in plan.variants))
    texts = (*plan.data, *(one.data for one in plan.variants if one.data), *(one.data for one in stages))
    named = dict.fromkeys((*chain.from_iterable(texts), plan.dev, plan.test))
    return cached.inputs_digest(plan.models, filter(None, named))


def train_in_turn(run: runs.Run, trainers: Trainers, plan: str) -> progress.Work[runs.Run | None]:
    """Train a run of a plan in its turn, and return it; closed before its end, it saves the run, to be resumed."""
    several = trainers.number > 1
    job = _follow(run, trainers, plan if several else "")
    try:
        while not job.ends_within(0 if several else PAUSE):
            yield replace(job.progress, pause=PAUSE if several else 0.0)
        if job.state == jobs.STOPPED:
            yield progress.Progress("stopped", 0, 0)  # the end of the server stops the plan too, before it goes on here
        if job.state == jobs.FAILED:
            raise errors.RunError(job.error)
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
    folder.put(replace(status, state=statuses.WAITING, of_app=True, started=started, error="", details=""))
    _follow_plan(folder)


def _follow_plan(folder: PlanFolder) -> None:
    def executed() -> progress.Work[PlanStatus]:
        from explorer.studies.plans import extension, plan_estimate, plan_folder
        from explorer.training import running
        from explorer.training.workers.trainers import ExecutionOptions, Trainers

        def usual(plan: Plan) -> progress.Work[int]:
            return plan_estimate.number_at_once(plan, _estimated)

        trainers = Trainers(ExecutionOptions(), folder.folder / plan_folder.JOBS, usual)

        def train(run: runs.Run) -> progress.Work[runs.Run | None]:
            return running.or_nothing(run, train_in_turn(run, trainers, folder.name))

        return (yield from extension.execute(folder, train, trainers.at_once))

    jobs.forget(_key(folder))
    jobs.follow(_key(folder), f"plan {folder.name}", executed, lane=jobs.PLANS)


def _estimated(plan: Plan) -> progress.Work[PlanEstimate]:
    """The estimate of a plan, which takes its turn among the runs."""
    job = estimate_plan(plan)
    while not job.ends_within(PAUSE):
        yield job.progress
    if job.state != jobs.DONE:
        raise errors.RunError(job.error or "The estimate of the plan was stopped. Resume the plan.")
    found: PlanEstimate = job.result
    return found
