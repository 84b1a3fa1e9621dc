"""How does a model come from the hub onto this disk, so that one sees how far it is and can stop it?"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from explorer.encoding.locate import hub
from explorer.errors import NotAModelFolder
from explorer.progress import Progress, Work

Answer = TypeVar("Answer")

PACE = 0.5  # seconds from one report to the next, and so the longest that a stop waits


def fetch(name: str, revision: str | None = None) -> Work[None]:
    """Fetch what is needed of a model into the local cache, file by file; done and total are a file's bytes.

    To close the generator is to stop: the file on its way is given up, those before it stay.
    """
    asking = Progress("asking huggingface.co", 0, 0)
    yield asking
    sizes = yield from _meanwhile(lambda: hub.files(name, revision), lambda: asking)
    for file, size in sizes.items():
        yield from _fetch_file(name, revision, file, size)
    folder = hub.cached(name, revision)
    lacks = "its config.json" if folder is None else hub.lacks(folder)
    if lacks:
        raise NotAModelFolder(
            f"The hub has '{name}' without {lacks}. Strata reads config.json, model.safetensors or pytorch_model.bin, "
            "and the tokenizer's files. Choose a model saved for transformers."
        )


def _fetch_file(name: str, revision: str | None, file: str, size: int) -> Work[None]:
    from huggingface_hub import hf_hub_download

    bar = _Bar()

    def told() -> Progress:
        return Progress(f"fetching {file}", min(bar.done, size), size, "bytes")

    yield told()
    try:
        yield from _meanwhile(lambda: hf_hub_download(name, file, revision=revision, tqdm_class=bar), told)
    except Exception as error:
        raise hub.in_words(error, name, revision) from error
    except (GeneratorExit, KeyboardInterrupt):
        bar.give_up()
        raise


def _meanwhile(do: Callable[[], Answer], told: Callable[[], Progress]) -> Work[Answer]:
    """Do it in a thread of its own, and tell how far it is until there is an answer: a call cannot be stopped."""
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
    """Raised inside the library, to end a download that nobody waits for."""


class _Bar:
    """What the hub's library takes for a class of progress bars, and for the one bar it makes of it."""

    def __init__(self) -> None:
        self.done = 0
        self._given_up = False

    def give_up(self) -> None:
        """End the download, whichever of its two ways the library went."""
        from huggingface_hub.utils._xet import abort_xet_session

        abort_xet_session()  # first: of what is raised in a report of xet's, a traceback is printed, and no more
        self._given_up = True

    def __call__(self, **_: object) -> _Bar:
        return self

    def update(self, count: float) -> None:
        """So many bytes more are on the disk; less than none where the library starts over."""
        if self._given_up:
            raise _GivenUpError
        self.done += int(count)

    def ignore(self, *_: object, **__: object) -> None:
        """Bytes on the network, which may be compressed, and how fast they come."""

    update_transfer = set_postfix_str = set_transfer_postfix_str = ignore

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to close."""
