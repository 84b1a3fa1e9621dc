"""Train a run with several processes, which torchrun starts."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace

from explorer.errors import RunError
from explorer.progress import Phase, Progress, Work
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run

LOOKS = 0.2  # seconds between two looks at the run's status


def trained_by(processes: int) -> Callable[[Run], Work[Run | None]]:
    """A way to train a run, with so many processes on this machine."""

    def train(run: Run) -> Work[Run | None]:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
        command += ["-m", "explorer", "train", "--resume", run.name, "--out", str(run.folder.parent)]
        # the command puts the run in the queue itself, and refuses one that waits already
        statuses.write(run.folder, replace(run.status(), state=statuses.STOPPED))
        with tempfile.TemporaryFile() as said:
            # out of reach of the terminal's Ctrl-C: torchrun would hear it twice, and leave its processes alone
            started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True)
            try:
                while started.poll() is None:
                    status = run.status()
                    yield Progress(status.phase or Phase.STARTING, status.step, status.total, about=status.about)
                    time.sleep(LOOKS)
            finally:
                if started.poll() is None:
                    started.terminate()
                    started.wait()
            if started.returncode:
                said.seek(0)
                last = said.read().decode(errors="replace").strip()[-300:]
                raise RunError(run.status().error or f"The processes ended with status {started.returncode}: {last}")
        return run

    return train
