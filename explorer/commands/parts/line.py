"""Write on standard error: a line of text, and progress on one line that disappears when the work is done."""

from __future__ import annotations

import sys
import time
from contextlib import suppress

from explorer.progress import Progress


def say(text: object, end: str = "\n") -> None:
    """Write on standard error, if anybody can read it: a closed terminal or pipe ends no work."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(text, end=end, file=sys.stderr, flush=True)


def say_unreadable() -> None:
    """Name the runs that cannot be read: a command that looks for what is trained already takes them for missing."""
    from explorer.training.record import runs

    for line in runs.unreadable():
        say(line)


class ProgressLine:
    """Progress on one line; in a log, which is no terminal, a line every `logged` seconds, or none."""

    def __init__(self, logged: float | None = None) -> None:
        self.shown = 0.0
        self._logged = logged
        self._last = time.monotonic()
        self._terminal = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> ProgressLine:
        return self

    def tell(self, progress: Progress) -> None:
        """Show the progress, at most ten times a second."""
        now = time.monotonic()
        if self._terminal and now - self.shown > 0.1:
            say(f"\r\033[K{progress.text} {progress.amount}", end="")
            self.shown = now
        elif self._logged is not None and not self._terminal and now - self._last >= self._logged:
            say(f"{progress.text} {progress.amount}")
            self._last = now

    def say(self, text: str) -> None:
        """Write a line of text, which stays above the progress."""
        self.__exit__()
        say(text)

    def __exit__(self, *_: object) -> None:
        if self.shown:
            say("\r\033[K", end="")
