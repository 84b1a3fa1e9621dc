"""The parts of the GPU benchmark, and how each is run: in a process of its own, with a time limit."""

from __future__ import annotations

import importlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from unittest import mock

ALL_SECONDS = 540
DRY_LIMIT = 120  # a slow processor starts slowly
SYNCHRONISED = "torch.cuda.set_sync_debug_mode"


@dataclass(frozen=True)
class Setting:
    """Where the parts run: `dry` is in miniature on the processor; `folder` is for what several of them use."""

    device: str
    dry: bool
    folder: str


@dataclass(frozen=True)
class Row:
    """A line of the table; `good` is whether a check passed, None for a measurement."""

    what: str
    found: str
    good: bool | None = None

    @property
    def verdict(self) -> str:
        """`passed`, `FAILED`, or nothing for a measurement."""
        return "" if self.good is None else "passed" if self.good else "FAILED"


@dataclass(frozen=True, eq=False)
class Part:
    """A part: `work` names its function (Setting) -> rows, `seconds` is the time it takes, `limit` the most it gets."""

    name: str
    does: str
    seconds: int
    limit: int
    work: str
    environment: Mapping[str, str] = field(default_factory=dict)


PARTS = (
    Part("tests", "the tests that take a device, on the GPU", 60, 75, "device_tests:results"),
    Part("float32", "loss and gradient of every method, compared with the processor's", 45, 55, "checks:like_the_cpu"),
    Part("synchronisations", f"those of a step of every method, by {SYNCHRONISED}", 25, 40, "checks:synchronisations"),
    Part(
        "encode",
        "encoding and the grid of MiniLM and BERT-base shapes in two precisions, next to sentence-transformers",
        80,
        92,
        "encode:against_sentence_transformers",
    ),
    Part(
        "steps",
        "training steps of four methods with captured passes, without them, and by sentence-transformers",
        90,
        105,
        "steps:against_sentence_transformers",
    ),
    Part("at once", "eight short trainings of a plan, one after the other and at once", 60, 80, "plans:at_once"),
    Part("memory", "what is left after each of five runs that are started and stopped", 25, 33, "lives:memory"),
    Part("too large", "a batch that does not fit, and the one that the error names", 20, 30, "lives:too_large"),
    Part(
        "resume",
        "a run that is stopped and resumed, compared with one that is not",
        20,
        30,
        "lives:resume",
        {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"},  # without it cuBLAS may sum in another order each time
    ),
)  # fmt: skip


def rows_of(part: Part, setting: Setting, limit: float) -> list[Row]:
    """The rows of a part, worked out in a process of its own; what ended it early is the last row."""
    here, there = get_context("spawn").Pipe(duplex=False)
    process = get_context("spawn").Process(target=_apart, args=(part, setting, there), daemon=False)
    rows: list[Row] = []
    ends = time.monotonic() + limit
    with mock.patch.dict(os.environ, part.environment):
        process.start()
    there.close()
    try:
        while True:
            if not here.poll(max(0.0, ends - time.monotonic())):
                return [*rows, Row("time limit", f"not done after {limit:.0f} s", False)]
            row = here.recv()
            if row is None:
                process.join(10)
                return rows
            rows.append(row)
    except EOFError:
        process.join(5)
        return [*rows, Row("process", f"ended with exit status {process.exitcode}", False)]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL) if process.is_alive() else None
        process.join()


def rows_here(part: Part, setting: Setting, limit: float = 0) -> list[Row]:
    """The same in this process, without a limit."""
    rows: list[Row] = []
    with mock.patch.dict(os.environ, part.environment):
        for row in _worked(part, setting):
            rows.append(row)
    return rows


def _apart(part: Part, setting: Setting, pipe: Connection) -> None:
    os.setsid()  # what it starts ends with it
    for row in _worked(part, setting):
        pipe.send(row)
    pipe.send(None)


def _worked(part: Part, setting: Setting) -> Iterator[Row]:
    """The rows of a part; an error is one of them, with its reason."""
    module, _, function = part.work.partition(":")
    name = module if "." in module else f"benchmarks.gpu.{module}"
    try:
        yield from getattr(importlib.import_module(name), function)(setting)
    except Exception as error:  # noqa: BLE001 (whatever it is, the others go on)
        lines = str(error).strip().splitlines() or ["no reason given"]
        yield Row("error", f"{type(error).__name__}: {lines[0][:300]}", False)
