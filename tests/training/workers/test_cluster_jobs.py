"""Test that runs are trained as jobs through submitit, on this machine and by commands that look like Slurm's."""

import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

from explorer import run_folder
from explorer.errors import BadChoice, RunError
from explorer.progress import finish, side_by_side
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.workers import cluster_jobs, outside
from explorer.training.workers.cluster_jobs import LOCAL, SLURM, ClusterJobs

# what a training leaves in its folder, in a tenth of a second; with a file `dies` it is killed after its second step
STAND_IN = """
import os, sys
from dataclasses import replace
from pathlib import Path
from explorer.training.record import runs, status as statuses
run = runs.Run(Path(sys.argv[1]))
runs.restarted(run)
with run.held():
    for step in range(run.status().step + 1, 5):
        run.put(replace(run.status(), state=statuses.RUNNING, step=step, total=4))
        with (run.folder / "steps").open("a") as file:
            print(step, os.environ.get("OMP_NUM_THREADS"), file=file)
        if step == 2 and (run.folder / "dies").exists():
            (run.folder / "dies").unlink()
            os.kill(os.getpid(), 9)
    run.put(replace(run.status(), state=statuses.FINISHED))
"""
# what sbatch, srun, sacct and scancel do, as far as submitit sees it; a file `full` keeps jobs in the queue
SBATCH = """
case "$1" in *bad*) echo "sbatch: error: invalid partition" >&2; exit 1;; esac
id=$(( $(ls {home}/jobs | wc -l) + 70 )); cp "$1" {home}/jobs/$id
[ -e {home}/full ] || SLURM_JOB_ID=$id SLURM_PROCID=0 bash "$1" > {home}/said.$id 2>&1 &
echo "Submitted batch job $id"
"""
SRUN = """
while [ "${1#--}" != "$1" ]; do case "$1" in --output) out="$2"; shift;; esac; shift; done
exec "$@" > "$(echo "$out" | sed "s/%j/$SLURM_JOB_ID/; s/%t/0/")" 2>&1
"""
SACCT = 'echo "JobID|State|NodeList"'
SQUEUE = """
[ -e {home}/jobs/$3 ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
grep -qx "$3" {home}/cancelled 2> /dev/null || echo "$3 gpu strata PENDING"
"""
SCANCEL = 'echo "$1" >> {home}/cancelled'


@pytest.fixture
def standing_in(monkeypatch):
    monkeypatch.setattr(outside, "python", lambda run: [sys.executable, "-c", STAND_IN, str(run.folder)])


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A folder of commands that look like Slurm's, first on the PATH."""
    home = tmp_path / "slurm"
    (home / "jobs").mkdir(parents=True)
    for name, text in (("sbatch", SBATCH), ("srun", SRUN), ("sacct", SACCT), ("squeue", SQUEUE), ("scancel", SCANCEL)):
        (home / name).write_text("#!/bin/sh\n" + text.replace("{home}", str(home)), encoding="utf-8")
        (home / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")
    monkeypatch.setitem(cluster_jobs.POLL_EVERY, SLURM, 0.05)
    return home


def test_a_job_that_is_lost_is_submitted_again_and_the_run_goes_on_where_it_was(
    tmp_path, standing_in, monkeypatch, waiting
):
    monkeypatch.delenv("OMP_NUM_THREADS")
    every = [waiting(name) for name in ("one", "two")]
    (every[0].folder / "dies").touch()
    workers = ClusterJobs(LOCAL, tmp_path / "jobs", {}, {"OMP_NUM_THREADS": "1"})
    notes = []

    def trained(run):
        assert (yield from workers.train(run)) == run

    finish(side_by_side(map(trained, every), 2), lambda progress: notes.append(progress.note))
    assert [run.status().state for run in every] == [statuses.FINISHED] * 2
    steps = [(run.folder / "steps").read_text(encoding="utf-8").split("\n")[:-1] for run in every]
    assert steps == [["1 1", "2 1", "3 1", "4 1"]] * 2, "each step once, with the thread of its share"
    (note,) = filter(None, notes)
    assert re.fullmatch(
        r"Job \d+ ended before the training \(\w+\)\. Its output is in \S+\. Its worker was lost: .*", note
    )
    assert len(list((tmp_path / "jobs").glob("*_submitted.pkl"))) == 3


def test_slurm_is_given_the_options_and_trains_the_run(tmp_path, standing_in, slurm, waiting):
    given = cluster_jobs.parameters(
        SLURM, {"partition": ["gpu"], "gpus_per_node": ["1"], "timeout_min": ["240"], "setup": ["a", "b c"]}
    )
    run = waiting("one")
    workers = ClusterJobs(SLURM, tmp_path / "jobs", given, {})
    assert finish(workers.train(run)) == run
    assert run.status().state == statuses.FINISHED
    (script,) = (one.read_text(encoding="utf-8") for one in (slurm / "jobs").iterdir())
    for line in ("--partition=gpu", "--gpus-per-node=1", "--time=240"):
        assert f"#SBATCH {line}\n" in script
    assert "\na\nb c\n" in script
    # one that waits in the queue is cancelled, since it has nothing to save
    (slurm / "full").touch()
    work = workers.train(waiting("two"))
    next(work)
    work.close()
    assert (slurm / "cancelled").read_text(encoding="utf-8") == "71\n"
    refused = ClusterJobs(SLURM, tmp_path / "bad", given, {}).train(waiting("three"))
    with pytest.raises(RunError, match=r"^The job was not accepted: .*invalid partition"):
        finish(refused)


def test_a_job_that_waits_in_the_queue_is_found_again_by_the_next_command(tmp_path, standing_in, slurm, waiting):
    """The command that submitted it was killed, and neither its place in the queue nor the run is lost."""
    (slurm / "full").touch()
    run = waiting("one")
    ClusterJobs(SLURM, tmp_path / "jobs", {}, {}).begin(run)
    assert run_folder.job_of(run.folder) == "70"
    work = ClusterJobs(SLURM, tmp_path / "jobs", {}, {}).train(run)
    next(work)
    assert [one.name for one in (slurm / "jobs").iterdir()] == ["70"]
    subprocess.run(["bash", str(slurm / "jobs" / "70")], env={**os.environ, "SLURM_JOB_ID": "70"}, check=True)
    assert finish(work) == run
    assert run.status().state == statuses.FINISHED
    assert run_folder.job_of(run.folder) == ""


def test_another_job_is_submitted_where_the_first_is_no_longer_in_the_queue(tmp_path, slurm, waiting):
    (slurm / "full").touch()
    run = waiting("one")
    first = ClusterJobs(SLURM, tmp_path / "jobs", {}, {}).begin(run)
    subprocess.run(["scancel", "70"], check=True)
    ClusterJobs(SLURM, tmp_path / "jobs", {}, {}).begin(run)
    assert run_folder.job_of(run.folder) == "71"
    (slurm / "jobs" / "71").unlink()
    ClusterJobs(SLURM, tmp_path / "jobs", {}, {}).begin(run)
    assert run_folder.job_of(run.folder) == "71", "the stand-in numbers jobs by those that are there"
    (slurm / "squeue").unlink()
    assert not cluster_jobs.in_queue("71")
    first.ask_to_stop()
    assert first.ended()
    assert run_folder.job_of(run.folder) == ""


def test_a_job_whose_run_falls_silent_is_cancelled_and_lost_where_slurm_keeps_no_record(
    tmp_path, slurm, monkeypatch, waiting
):
    monkeypatch.setattr(cluster_jobs, "LINGERS", -1.0)
    (slurm / "full").touch()
    run = waiting("one")
    work = ClusterJobs(SLURM, tmp_path / "jobs", {}, {}).train(run)
    next(work)
    statuses.write(run.folder, statuses.Status(state=statuses.RUNNING, step=1))
    notes = [next(work).note for _ in range(4)]
    assert any(note.startswith("Job 70 ended before the training (UNKNOWN).") for note in notes)
    assert (slurm / "cancelled").read_text(encoding="utf-8") == "70\n"
    work.close()


def test_a_job_that_trains_is_asked_to_stop_by_the_folder_of_its_run(tmp_path, slurm, monkeypatch, waiting):
    (slurm / "full").touch()
    run = waiting("one")
    work = ClusterJobs(SLURM, tmp_path / "jobs", {}, {}).train(run)
    next(work)

    def asked(run, how="keep"):
        statuses.write(run.folder, statuses.Status(state=statuses.STOPPED))

    monkeypatch.setattr(runs.Run, "request_stop", asked)
    with run.held():
        statuses.write(run.folder, statuses.Status(state=statuses.RUNNING, step=1))
        work.close()
    assert run.status().state == statuses.STOPPED
    assert not (slurm / "cancelled").exists()


def test_a_warning_of_the_end_of_a_job_makes_its_command_save():
    code = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(5)); print('ready', flush=True); "
        "time.sleep(60)"
    )
    words = [sys.executable, "-S", "-c", code]
    call = f"from explorer.training.workers.cluster_jobs import in_a_job; in_a_job({words!r}, {{}})"
    job = subprocess.Popen([sys.executable, "-c", call], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert job.stdout.readline() == "ready\n"
    (child,) = psutil.Process(job.pid).children()
    child.send_signal(signal.SIGUSR2)  # as Slurm warns each of them
    time.sleep(0.05)
    os.kill(job.pid, signal.SIGUSR2)
    _, errors = job.communicate(timeout=30)
    assert "The training ended with status 5." in errors


@pytest.mark.parametrize(
    ("engine", "given", "told"),
    [
        (
            SLURM,
            {"gpus": ["1"]},
            r"--job gpus=… is no option of a job of 'slurm'\. There are: account, comment, .*partition",
        ),
        (
            LOCAL,
            {"partition": ["gpu"]},
            r"--job partition=… is no option of a job of 'local'\. There are: cpus_per_task",
        ),
        (SLURM, {"timeout_min": ["long"]}, r"--job timeout_min cannot be 'long'\. Give a whole number\."),
        (SLURM, {"mem_gb": ["a lot"]}, r"--job mem_gb cannot be 'a lot'\. Give a number\."),
        (SLURM, {"stderr_to_stdout": ["yes"]}, r"--job stderr_to_stdout cannot be 'yes'\. Give true or false\."),
        (SLURM, {"partition": ["a", "b"]}, r"--job partition=… is given 2 times\. Give it once\."),
        (SLURM, {"nodes": ["2"]}, r"--job nodes=… is no option"),
    ],
)
def test_an_option_that_a_job_does_not_take_is_refused(engine, given, told):
    with pytest.raises(BadChoice, match=f"^{told}"):
        cluster_jobs.parameters(engine, given)


def test_options_are_numbers_switches_or_text():
    given = {
        "mem_gb": ["1.5"],
        "exclusive": ["true"],
        "signal_delay_s": ["120"],
        "comment": ["as it is"],
        "name": ["7"],
    }
    assert cluster_jobs.parameters(SLURM, given) == {
        "mem_gb": 1.5, "slurm_exclusive": True, "slurm_signal_delay_s": 120, "slurm_comment": "as it is", "name": "7"
    }  # fmt: skip


def test_without_slurm_or_submitit_it_is_said_what_to_do(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BadChoice, match="There is no Slurm here: 'sbatch' and 'srun' are not on the PATH"):
        cluster_jobs.check(SLURM)
    cluster_jobs.check(LOCAL)
    monkeypatch.setattr(cluster_jobs, "find_spec", lambda name: None)
    with pytest.raises(
        BadChoice, match=r"need submitit, not installed here\. Type .*: python -m pip install '\.\[slurm\]'"
    ):
        cluster_jobs.check(LOCAL)
