"""Show progress on one line of a terminal; the line disappears when the work is done."""

from __future__ import annotations

import sys
import time

from explorer.progress import Progress


class Line:
    """Progress on one line; in a log, which is no terminal, a line every `logged` seconds, or none."""

    def __init__(self, logged: float | None = None) -> None:
        self.shown = 0.0
        self._logged = logged
        self._last = time.monotonic()

    def __enter__(self) -> Line:
        return self

    def tell(self, progress: Progress) -> None:
        """Show the progress, at most ten times a second."""
        now = time.monotonic()
        if sys.stderr.isatty() and now - self.shown > 0.1:
            print(f"\r\033[K{progress.stage} {progress.amount}", end="", file=sys.stderr, flush=True)
            self.shown = now
        elif self._logged is not None and not sys.stderr.isatty() and now - self._last >= self._logged:
            print(f"{progress.stage} {progress.amount}", file=sys.stderr, flush=True)
            self._last = now

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
