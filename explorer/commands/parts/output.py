"""Write results on standard output, and messages on standard error: lines, and progress on one that disappears.

Results are written whatever the encoding, and with an error in one line if standard output takes no more.
SIGTERM and SIGHUP stop a command as Ctrl-C does: what can be saved is saved, and the exit code names the signal.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from explorer.errors import NotWritable
from explorer.places import write_whole
from explorer.progress import Progress, Result, Work, finish

ESCAPED = "strata.escaped"  # the name of the way to write what an encoding lacks
LOGGED = 10.0  # seconds between two lines of progress where there is no terminal
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, the end of a job, the end of its terminal


class _Output:
    """A stream that remembers its first error, since some who write to it do not tell."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.trouble: OSError | None = None

    def write(self, text: str) -> int:
        """Write text."""
        return int(self._tried(self._stream.write, text))

    def flush(self) -> None:
        """Write what is held back."""
        self._tried(self._stream.flush)

    def _tried(self, do: Any, *arguments: str) -> Any:
        try:
            return do(*arguments)
        except OSError as error:
            self.trouble = self.trouble or error
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def checked() -> Iterator[None]:
    r"""Write what the encoding lacks as in JSON, such as \u00b1; raise an error for what could not be written."""
    stream: TextIO | None = sys.stdout
    if stream is None:  # it is closed
        yield
        return
    output, before = _Output(stream), stream.errors
    _escape(stream, ESCAPED)
    sys.stdout = output  # print asks for no more than it has
    try:
        yield
    except OSError as error:
        if error is not output.trouble:
            raise
    finally:
        sys.stdout = stream
        with suppress(OSError):
            output.flush()  # here, since at the end of Python nobody hears of it
        if output.trouble is not None:  # what is held back would be written at the end of Python
            with suppress(OSError), Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
        with suppress(OSError):
            _escape(stream, before)
    if output.trouble is not None and not isinstance(output.trouble, BrokenPipeError):  # `head` has had enough
        raise NotWritable(
            f"Standard output cannot be written to: {output.trouble.strerror or output.trouble}. Make room there, and "
            "give the command again: what it has saved is not done twice."
        )


def _escape(stream: TextIO, how: str | None) -> None:
    """Change what becomes of characters that the encoding lacks."""
    if isinstance(stream, io.TextIOWrapper) and not stream.closed:
        stream.reconfigure(errors=how)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(ESCAPED, _escaped)


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
    """Progress on one line; in a log, which is neither a terminal nor a notebook, a line every LOGGED seconds."""

    def __init__(self) -> None:
        self.shown = 0.0
        self._last = time.monotonic()
        # of a cell of a notebook, which knows a carriage return but no other code
        self._notebook = type(sys.stderr).__module__.partition(".")[0] == "ipykernel"
        self._live = self._notebook or (sys.stderr is not None and sys.stderr.isatty())
        self._length = 0  # of the line that is shown in a notebook

    def __enter__(self) -> ProgressLine:
        return self

    def tell(self, progress: Progress) -> None:
        """Show the progress, at most ten times a second, and each note above it."""
        if progress.note:
            self.say(progress.note)
        now = time.monotonic()
        if self._live and now - self.shown > 0.1:
            self._replace(f"{progress.text} {progress.amount}")
            self.shown = now
        elif not self._live and now - self._last >= LOGGED:
            say(f"{progress.text} {progress.amount}")
            self._last = now

    def say(self, text: str) -> None:
        """Write a line of text, which stays above the progress."""
        self.__exit__()
        say(text)

    def __exit__(self, *_: object) -> None:
        if self.shown:
            self._replace("")

    def _replace(self, text: str) -> None:
        """Write a text in place of the line."""
        if not self._notebook:
            say(f"\r\033[K{text}", end="")
            return
        blank = " " * (self._length - len(text))
        say(f"\r{text}{blank}" if text else f"\r{blank}\r", end="")
        self._length = len(text)


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


def shown(work: Work[Result]) -> Result:
    """Run the work to its end, with its progress on a line."""
    with ProgressLine() as line:
        return finish(work, line.tell)


def finish_or_stop(work: Work[Result], message: str) -> Result:
    """Run the work to its end, with its progress on a line; a signal stops it between two steps.

    The work then saves what it has, and the command ends with the message.
    """
    with ending(message):
        return finish_or_interrupt(work)


def finish_or_interrupt(work: Work[Result]) -> Result:
    """Run the work to its end, with its progress on a line; a signal stops it between two steps.

    The work then saves what it has, and KeyboardInterrupt is raised.
    """
    with ProgressLine() as line, noted() as signals:

        def check_and_tell(progress: Progress) -> None:
            signals.check()
            line.tell(progress)

        try:
            return finish(work, check_and_tell)
        finally:
            work.close()


@contextmanager
def ending(message: str) -> Iterator[None]:
    """At a signal, say what becomes of the work, unless the message is empty, and exit with the code of the signal."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if message:
            say(message)
        raise SystemExit(code(stop)) from None


def write_report(path: Path, page: bytes) -> None:
    """Write a report, and say where it is."""
    write_whole(path, lambda file: file.write(page), "Choose another path for the report.")
    say(f"Report written to {path}.")


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
