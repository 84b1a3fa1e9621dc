"""Stop a command by SIGTERM or SIGHUP as by Ctrl-C: what can be saved is saved, and the exit code names the signal."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from explorer.progress import Progress, Result, Work, finish

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, the end of a job, the end of its terminal


class Signals:
    """The number of the signal that has come; 0 before."""

    number = 0

    def check(self) -> None:
        """Stop here if a signal has come."""
        if self.number:
            raise KeyboardInterrupt(self.number)


def code(stop: KeyboardInterrupt) -> int:
    """The exit code for a signal: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + int(stop.args[0] if stop.args else signal.SIGINT)


def finish_or_stop(work: Work[Result], tell: Callable[[Progress], object]) -> Result:
    """Run the work to its end; a signal stops it between two steps, where it saves what it has."""
    with noted() as signals:

        def check_and_tell(progress: Progress) -> None:
            signals.check()
            tell(progress)

        try:
            return finish(work, check_and_tell)
        finally:
            work.close()


@contextmanager
def noted() -> Iterator[Signals]:
    """Note a signal, for work that cannot stop in the middle of a step; a second one stops it all the same."""
    found = Signals()

    def note(number: int, _: object) -> None:
        found.number = number
        _set(_later(before))

    with _handled_by(note) as before:
        yield found


@contextmanager
def raised() -> Iterator[None]:
    """Stop at once at any signal, as Python does at Ctrl-C."""

    def stop(number: int, _: object) -> None:
        _set(_later({}))
        raise KeyboardInterrupt(number)

    with _handled_by(stop):
        yield


@contextmanager
def _handled_by(handler: Callable[[int, object], object]) -> Iterator[Mapping[int, Any]]:
    """Handle the signals so; what is ignored stays ignored, as nohup or a shell in the background has it."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # no other may
        before = {one: how for one in SIGNALS if (how := signal.getsignal(one)) not in (signal.SIG_IGN, None)}
    _set(dict.fromkeys(before, handler))
    try:
        yield before
    finally:
        _set(before)


def _later(handlers: Mapping[int, Any]) -> Mapping[int, Any]:
    """How the next signals are handled; of several processes not at all.

    torchrun passes on what the terminal has sent to each of them already, and kills those that do not end.
    """
    several = os.environ.get("WORLD_SIZE", "1") != "1"
    return dict.fromkeys(SIGNALS, signal.SIG_IGN) if several else handlers


def _set(handlers: Mapping[int, Any]) -> None:
    for one, how in handlers.items():
        signal.signal(one, how)
