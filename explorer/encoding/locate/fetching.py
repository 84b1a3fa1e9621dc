"""Download a model from the hub, with progress and a way to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from explorer.encoding.locate import hub, lookup
from explorer.errors import NotAModelFolder
from explorer.progress import Phase, Progress, Work

Answer = TypeVar("Answer")

PACE = 0.5  # seconds between two reports, and so the longest wait for a stop


def fetch(name: str, revision: str | None = None) -> Work[None]:
    """Download the needed files of a model into the local cache; done and total are a file's bytes.

    Close the generator to stop: the current file is discarded, earlier ones are kept.
    """
    asking = Progress(Phase.ASKING_HUB, 0, 0)
    yield asking
    sizes = yield from _meanwhile(lambda: hub.files(name, revision), lambda: asking)
    for file, size in sizes.items():
        yield from _fetch_file(name, revision, file, size)
    folder = lookup.cached(name, revision)
    lacks = "its config.json" if folder is None else hub.lacks(folder)
    if lacks:
        raise NotAModelFolder(
            f"'{name}' on the hub lacks {lacks}. Strata needs config.json, model.safetensors or pytorch_model.bin, "
            "and the tokenizer's files. Choose a model saved for transformers."
        )


def _fetch_file(name: str, revision: str | None, file: str, size: int) -> Work[None]:
    from huggingface_hub import hf_hub_download

    bar = _Bar()

    def told() -> Progress:
        return Progress(Phase.DOWNLOADING, min(bar.done, size), size, "bytes", file)

    yield told()
    try:
        yield from _meanwhile(lambda: hf_hub_download(name, file, revision=revision, tqdm_class=bar), told)
    except Exception as error:
        raise hub.in_words(error, name, revision) from error
    except (GeneratorExit, KeyboardInterrupt):
        bar.give_up()
        raise


def _meanwhile(do: Callable[[], Answer], told: Callable[[], Progress]) -> Work[Answer]:
    """Run a call in a thread and report progress until it returns, since the call itself cannot be stopped."""
    answer: Future[Answer] = Future()

    def work() -> None:
        try:
            answer.set_result(do())
        except Exception as error:  # noqa: BLE001  raised below, where the answer is asked for
            answer.set_exception(error)

    threading.Thread(target=work, name="fetching", daemon=True).start()
    while wait([answer], timeout=PACE).not_done:
        yield told()
    return answer.result()


class _GivenUpError(Exception):
    """Raised inside the library, to stop a download."""


class _Bar:
    """A progress bar class for the hub's library, and its only instance."""

    def __init__(self) -> None:
        self.done = 0
        self._given_up = False

    def give_up(self) -> None:
        """Stop the download, with either of the library's two protocols."""
        from huggingface_hub.utils._xet import abort_xet_session

        abort_xet_session()  # first, since xet only prints errors that a report raises
        self._given_up = True

    def __call__(self, **_: object) -> _Bar:
        return self

    def update(self, count: float) -> None:
        """Add bytes on the disk; negative if the library starts over."""
        if self._given_up:
            raise _GivenUpError
        self.done += int(count)

    def ignore(self, *_: object, **__: object) -> None:
        """Ignore network bytes, which may be compressed, and their rate."""

    update_transfer = set_postfix_str = set_transfer_postfix_str = ignore

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""
