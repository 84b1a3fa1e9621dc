"""Run work in processes of its own, alone or two that talk to one another as torchrun's do."""

from __future__ import annotations

import gc
import multiprocessing.connection
import os
import socket
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import MappingProxyType
from unittest import mock

from tests.forked_workers import serving_from_the_spare
from tests.trainings import FEW_PROBES, few_probes, timed_once

ONE_EACH = {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
PRELOADED = ["tests.trainings", "tests.preloaded"]


def process(do: Callable[..., object], *arguments: object) -> BaseProcess:
    """A process of its own that does something; forked from one that has imported all of it, so that it is quick."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    # the environment of the server is that of the first process it was asked for
    started = context.Process(target=_here, args=(dict(os.environ), do, *arguments), daemon=True)
    # where the server has more than one arena of memory, that of an import's thread goes to a thread of the process
    with mock.patch.dict(os.environ, MALLOC_ARENA_MAX="1"), serving_from_the_spare():
        started.start()
    return started


def _here(environment: Mapping[str, str], do: Callable[..., object], *arguments: object) -> None:
    os.environ.clear()
    os.environ.update(environment)
    gc.freeze()  # what was imported is no garbage, and looking at all of it takes a third of a second each time
    few = environment.get(FEW_PROBES)
    with few_probes(int(few)) if few else nullcontext(), timed_once():
        do(*arguments)


def two(do: Callable[..., object], arguments: Callable[[str], tuple[object, ...]]) -> list[BaseProcess]:
    """Two processes with the environment that torchrun gives: `do(*arguments(rank), environment)`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [
        process(do, *arguments(rank), shared | {"RANK": rank, "LOCAL_RANK": rank} | ONE_EACH) for rank in ("0", "1")
    ]


def ended(both: list[BaseProcess]) -> tuple[int | None, ...]:
    """What they ended with; where one fails, the other is ended, as torchrun does."""
    while any(each.is_alive() for each in both):
        ready = multiprocessing.connection.wait([each.sentinel for each in both if each.is_alive()], 60)
        if not ready or any(each.exitcode for each in both):
            for each in both:
                each.join(5)  # it may be about to say why
                each.terminate()
                each.join(5)
                each.kill()
    return tuple(each.exitcode for each in both)


def in_a_group_of_two(do: Callable[..., object], *arguments: object, folder: Path) -> None:
    """Do something in two processes that form one group of torch.distributed, and wait for both."""
    codes = ended(two(_in_the_group, lambda rank: (do, arguments, folder / f"failed-{rank}.txt")))
    why = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("failed-*.txt")))
    assert codes == (0, 0), why


def _in_the_group(
    do: Callable[..., object],
    arguments: tuple[object, ...],
    failed: Path,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> None:
    import torch
    import torch.distributed as dist

    os.environ.update(environment)
    torch.set_num_threads(1)
    try:
        dist.init_process_group("gloo")
        do(*arguments)
        dist.destroy_process_group()
    except BaseException:
        failed.write_text(traceback.format_exc(), encoding="utf-8")
        raise
