"""Train runs in processes of their own on this machine, which share its threads and GPUs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from typing import IO

from explorer import fair_share
from explorer.encoding.load import hardware
from explorer.training.record import runs
from explorer.training.workers import outside

VISIBLE = "CUDA_VISIBLE_DEVICES"  # the variable that states which GPUs a process uses


class _Process:
    """A command that trains a run."""

    def __init__(self, words: Sequence[str], environment: dict[str, str], gpu: str) -> None:
        self.gpu = gpu
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (it is read at the end of the process)
        # out of reach of the terminal's Ctrl-C: torchrun would hear it twice, and leave its processes alone
        self._started = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=self._errors, start_new_session=True, env=environment
        )

    def ended(self) -> bool:
        return self._started.poll() is not None

    def ask_to_stop(self) -> None:
        self._started.terminate()

    def wait(self) -> None:
        self._started.wait()

    def trouble(self) -> str:
        code = self._started.wait()
        if not code:
            return ""
        if code < 0:
            return f"The process was killed by {signal.Signals(-code).name}."
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").strip()[-300:]
        return f"The process ended with status {code}: {last}"


class OwnProcesses(outside.Outside):
    """Train each run in a process of its own, or with several processes that torchrun starts."""

    def __init__(self, at_once: int = 1, processes: int = 1) -> None:
        super().__init__()
        self._at_once, self._processes = at_once, processes
        self._gpus = hardware.gpus() if processes == 1 else []
        self._begun: list[_Process] = []
        self._lock = threading.Lock()  # in the app, each run is begun in a thread of its own

    def begin(self, run: runs.Run) -> outside.Worker:
        """Start the command that resumes the run, on the GPU that trains the fewest."""
        if self._processes > 1:
            many = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(self._processes)]
            return _Process([sys.executable, *many, *outside.command(run)], dict(os.environ), "")
        with self._lock:
            self._begun = [one for one in self._begun if not one.ended()]
            busy = Counter(one.gpu for one in self._begun)
            gpu = min(self._gpus, key=lambda one: busy[one], default="")
            self._begun.append(_Process(outside.python(run), environment(self._at_once, gpu), gpu))
            return self._begun[-1]


def share_of_threads(at_once: int) -> dict[str, str]:
    """The variable that gives a process that trains beside others its share of the threads."""
    return {fair_share.STATED: str(max(1, fair_share.at_start() // at_once))}


def environment(at_once: int, gpu: str = "") -> dict[str, str]:
    """The variables of a process that trains beside others: its share of the threads, unless stated, and its GPU."""
    return {**share_of_threads(at_once), **os.environ} | ({VISIBLE: gpu} if gpu else {})
