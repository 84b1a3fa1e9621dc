"""Train runs as jobs of a cluster through submitit: each is submitted, watched, and submitted again if it is lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import places, run_folder
from explorer.errors import BadChoice, RunError
from explorer.training.record import runs
from explorer.training.record.status import Status
from explorer.training.workers import outside
from explorer.typed_numbers import number_of

if TYPE_CHECKING:
    from submitit import Job

SLURM, LOCAL = "slurm", "local"
INSTALL = "python -m pip install '.[slurm]'"
AGAIN = 3  # times in a row that a run is submitted again without a new step in between
MOST = 100  # jobs that wait and run at once, unless another number is stated
POLL_EVERY = {SLURM: 5.0, LOCAL: outside.POLL_EVERY}  # seconds between two readings of a status
PATIENCE = 60.0  # seconds for which a job that is asked to stop may save its run before it is cancelled
LINGERS = 10.0  # seconds that a job may take to end after its training was cut off
# a longer training goes on in another job: it is saved shortly before the end of its time
USUAL = {"name": "strata", "timeout_min": 60, "stderr_to_stdout": True}
LISTS = {"setup", "teardown", "srun_args"}  # options that are several lines or words
# a training is one task; the others have another name, or are no text
LEFT_OUT = {"nodes", "tasks_per_node", "ntasks_per_node", "num_gpus", "job_name", "time", "array_parallelism"}
LEFT_OUT |= {"additional_parameters"}


def check(engine: str) -> None:
    """Refuse an engine that is not there, with what to install."""
    if find_spec("submitit") is None:
        raise BadChoice(f"Jobs of a cluster need submitit, not installed here. Type in Strata's folder: {INSTALL}")
    if engine == SLURM and not (shutil.which("sbatch") and shutil.which("srun")):
        raise BadChoice(
            "There is no Slurm here: 'sbatch' and 'srun' are not on the PATH. Start the plan on a machine that submits "
            "jobs, or leave out --on slurm."
        )


def parameters(engine: str, given: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The options of a job as submitit takes them; an error names one that it does not take."""
    from submitit import AutoExecutor
    from submitit.core import plugins

    shared = {name: kind for name, kind in AutoExecutor._typed_parameters().items() if name not in LEFT_OUT}
    special = plugins.get_executors()[engine]._valid_parameters() - shared.keys() - LEFT_OUT
    found: dict[str, Any] = {}
    for name, texts in given.items():
        if name not in shared and name not in special:
            allowed = ", ".join(sorted(shared.keys() | special))
            raise BadChoice(f"--job {name}=… is no option of a job of '{engine}'. There are: {allowed}.")
        if len(texts) > 1 and name not in LISTS:
            raise BadChoice(f"--job {name}=… is given {len(texts)} times. Give it once.")
        found[name if name in shared else f"{engine}_{name}"] = (
            list(texts) if name in LISTS else _value(name, texts[0], shared.get(name))
        )
    return found


def _value(name: str, text: str, kind: type | None) -> Any:
    """The value of an option in its type; of one that submitit has no type for, a whole number or text."""
    if kind is str:
        return text
    if kind is bool or (kind is None and text in ("true", "false")):
        value: Any = {"true": True, "false": False}.get(text)
    else:
        value = number_of(text, kind or int)
    if value is None and kind is not None:
        what = {int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise BadChoice(f"--job {name} cannot be {text!r}. Give {what}.")
    return text if value is None else value


class ClusterJobs(outside.Outside):
    """Train each run as a job of `slurm`, or of `local`, which is submitit's stand-in for it on one machine.

    The folder has to be on a disk that all machines share, as the runs: submitit and the jobs write in it.
    """

    again = AGAIN

    def __init__(self, engine: str, folder: Path, options: Mapping[str, Any], variables: Mapping[str, str]) -> None:
        super().__init__()
        from submitit import AutoExecutor

        check(engine)
        self.pause, self._variables, self._engine = POLL_EVERY[engine], dict(variables), engine
        self._executor = AutoExecutor(folder.absolute(), cluster=engine)
        self._executor.update_parameters(**{**USUAL, **options})

    def begin(self, run: runs.Run) -> outside.Worker:
        """Submit the command that resumes the run."""
        from submitit.core.utils import FailedJobError, FailedSubmissionError
        from submitit.helpers import clean_env

        before = run.status()
        if self._engine == SLURM and in_queue(number := run_folder.job_of(run.folder)):
            # submitted by a command that was killed
            return _Job(self._executor._executor.job_class(self._executor.folder, number), run, before)
        try:
            with clean_env():  # if this process is a job itself, others are none of its steps
                job = self._executor.submit(in_a_job, outside.python(run), self._variables)
        except (FailedJobError, FailedSubmissionError, OSError) as error:
            raise RunError(f"The job was not accepted: {' '.join(str(error).split())[:300]}") from error
        if self._engine == SLURM:
            places.write_whole(run.folder / run_folder.JOB, lambda file: file.write(job.job_id.encode("ascii")))
        return _Job(job, run, before)


class _Job:
    """A job that trains a run."""

    def __init__(self, job: Job[None], run: runs.Run, before: Status) -> None:
        self._job, self._run, self._before = job, run, before
        self._cancelled, self._alive = False, time.monotonic()

    def ended(self) -> bool:
        ended = self._is_over()
        if ended:
            (self._run.folder / run_folder.JOB).unlink(missing_ok=True)
        return ended

    def _is_over(self) -> bool:
        status = self._run.status()
        if self._cancelled or outside.is_over(status, self._before) or self._job.done():
            return True
        if status.live or not self._trained():
            self._alive = time.monotonic()
        elif time.monotonic() - self._alive > LINGERS:  # Slurm may keep no record of jobs
            self._cancel()
        return self._cancelled

    def ask_to_stop(self) -> None:
        if self._trained():
            self._run.request_stop()
        else:
            self._cancel()

    def wait(self) -> None:
        until = time.monotonic() + PATIENCE
        while not self.ended():
            if time.monotonic() > until:
                self._cancel()
            time.sleep(outside.POLL_EVERY)

    def trouble(self) -> str:
        where = f"Its output is in {self._job.paths.stdout}."
        return f"Job {self._job.job_id} ended before the training ({self._job.state}). {where}"

    def _trained(self) -> bool:
        """Whether the job has begun to train: what waits in a queue has nothing to save."""
        return self._run.status().beat != self._before.beat

    def _cancel(self) -> None:
        self._cancelled = True
        self._job.cancel(check=False)


def in_queue(number: str) -> bool:
    """Whether Slurm has a job that waits or runs."""
    if not number:
        return False
    try:
        listed = subprocess.run(["squeue", "--noheader", "--jobs", number], capture_output=True, text=True, check=False)
    except OSError:  # there is no such command
        return False
    return listed.returncode == 0 and bool(listed.stdout.strip())


def in_a_job(words: Sequence[str], variables: Mapping[str, str]) -> None:
    """Run the command that trains a run, in a job; a warning of its end makes the command save the run."""
    # Slurm warns every process of a job, and a command that knows no such signal would end without saving: it inherits
    # that the signal is ignored
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    started = subprocess.Popen(words, env={**variables, **os.environ}, start_new_session=True)
    for number in (signal.SIGUSR2, signal.SIGTERM):
        signal.signal(number, lambda *_: started.terminate())
    try:
        code = started.wait()
    finally:
        if started.poll() is None:
            started.terminate()
    if code:
        raise RuntimeError(f"The training ended with status {code}.")
