"""Run one process, or several started by torchrun, through accelerate."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

import psutil
import torch
import torch.distributed as dist
from torch import nn

from explorer.encoding.load import hardware
from explorer.encoding.tune import captured_passes
from explorer.encoding.tune.captured_passes import CapturedPasses
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from explorer.methods import Method, Schedule

_PRECISIONS = {"bfloat16": "bf16", "float32": "no"}
PATIENCE = timedelta(days=30)  # for work whose parts take hours: some processes end long before others

# Groups of runs that are over. The last reference to a group has to be Python's: where it is that of the model's
# gradients, torch waits for the group's threads, and one of these may wait for Python.
_left: list[dist.ProcessGroup | None] = []

Value = TypeVar("Value")


class World:
    """The processes that train a run together, or share other long work.

    `patience` is how long a process waits for the others before it gives up (default: that of torch.distributed).
    """

    def __init__(self, precision: str = "auto", device: str = "auto", patience: timedelta | None = None) -> None:
        from accelerate import Accelerator, InitProcessGroupKwargs, state, utils

        # it empties os.environ of the whole process for an instant, in which a page finds other folders, without runs
        utils.environment.clear_environment = nullcontext
        started = int(os.environ.get("WORLD_SIZE", "1"))
        asked = _asked_for()
        if asked > started:
            raise BadChoice(
                f"{asked} processes were requested, but {started} was started: without a GPU "
                f"'accelerate launch' starts one. Use 'torchrun --nproc_per_node {asked} -m explorer …'."
            )
        kind = hardware.device(device)
        self.precision = hardware.precision(precision, kind)
        if started == 1:
            # accelerate keeps the device and precision of an earlier run in this process
            state.AcceleratorState._reset_state(reset_partial_state=True)
            state.GradientState._reset_state()
        elif kind == "cpu":
            os.environ.setdefault("ACCELERATE_USE_CPU", "true")
        waits = [InitProcessGroupKwargs(timeout=patience)] if patience else None
        self._accelerator = Accelerator(
            mixed_precision=_PRECISIONS[self.precision], cpu=kind == "cpu", kwargs_handlers=waits
        )
        self.device: torch.device = self._accelerator.device
        self.rank: int = self._accelerator.process_index
        self.size: int = self._accelerator.num_processes
        if self.size != started:
            raise BadChoice(
                f"{started} processes were started, but {self.size} are connected. Start them with torchrun."
            )

    @property
    def main(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def place(self, method: Method) -> nn.Module:
        """Move the method to its device, and return the module to call for a loss."""
        method.to(self.device)
        if self.size == 1:
            return method
        if not method.trains():
            raise BadChoice(
                f"{self.size} processes were started, but this method trains no weights. Start one process."
            )
        module: nn.Module = self._accelerator.prepare_model(method)
        return module

    def autocast(self) -> AbstractContextManager[Any]:
        """Compute matrix products in the run's precision within this context."""
        context: AbstractContextManager[Any] = self._accelerator.autocast()
        return context

    def backward(self, loss: torch.Tensor) -> None:
        """Compute the gradients of a loss."""
        self._accelerator.backward(loss)

    def capturing(self, method: Method, schedule: Schedule) -> CapturedPasses:
        """What captures the passes of a training; on a processor nothing is captured."""
        reason = ""
        if captured_passes.off():
            reason = captured_passes.OFF
        elif self.size > 1:
            reason = "several processes train"
        elif schedule.gradient_checkpointing or method.by_name().get("chunk"):
            reason = "layers are computed again in the backward pass"
        encoders = [part for part in method.modules() if isinstance(part, Tunable)]
        kind = self.device.type
        return CapturedPasses(encoders, kind, partial(hardware.has_room, kind, captured_passes.ROOM), reason)

    def largest(self, value: int) -> int:
        """The largest value of all processes."""
        if self.size == 1:
            return value
        largest = torch.tensor([value], device=self.device)
        dist.all_reduce(largest, op=dist.ReduceOp.MAX)
        return int(largest.item())

    def shared(self, value: Value) -> Value:
        """Broadcast an object of the main process to all."""
        if self.size == 1:
            return value
        from accelerate.utils import broadcast_object_list

        held = [value]
        broadcast_object_list(held)
        return held[0]

    def gathered(self, values: Sequence[Value]) -> list[Value]:
        """The objects of all processes, in the order of the processes."""
        if self.size == 1:
            return list(values)
        from accelerate.utils import gather_object

        found: list[Value] = gather_object(list(values))
        return found

    def wait(self) -> None:
        """Wait until every process is here."""
        self._accelerator.wait_for_everyone()

    def leave(self) -> None:
        """Release the memory of the run."""
        self._accelerator.free_memory()
        if self.size > 1:
            _left.append(dist.group.WORLD)
            self._accelerator.end_training()


def _asked_for() -> int:
    """The number of processes requested of `accelerate launch`, if it started this one; else 1."""
    try:
        words = psutil.Process().parent().cmdline()
    except (psutil.Error, AttributeError):
        return 1
    if not any("accelerate" in word for word in words[:3]) or "launch" not in words[:4]:
        return 1
    for place, word in enumerate(words):
        name, _, value = word.partition("=")
        if name in ("--num_processes", "--num-processes"):
            value = value or (words[place + 1] if place + 1 < len(words) else "")
            return int(value) if value.isdigit() else 1
    return 1
