"""Which graded pairs does a name mean? The sample, a file that the user brought, or a published set."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress

from explorer.data import own, sample, sts
from explorer.data.kinds import GradedPairs
from explorer.errors import SetNotFound

SAMPLE = sample.PAIRS
_SAMPLES = {
    SAMPLE: sample.pairs,
    sample.DEV: sample.dev,
    sample.TEST: sample.test,
    "sample": sample.pairs,
    "sample dev": sample.dev,
    "sample test": sample.test,
}


def names() -> tuple[str, ...]:
    """Every set as it stands in the menu: the sample, the user's own, the published ones."""
    return (SAMPLE, *own.names(), *sts.menu())


def halves() -> tuple[str, str]:
    """The sample's halves, to choose on and to report on where there is no published set; not in the menu."""
    return sample.DEV, sample.TEST


def by_name(name: str, *, online: bool = False) -> GradedPairs:
    """The set of a name in the menu, or a half of the sample; "sample", "sample dev" and "sample test" are short."""
    if name in _SAMPLES:
        return _SAMPLES[name]()
    if own.is_own(name):
        return own.graded_pairs(name)
    return sts.load(*sts.name_and_split(name), online=online)


def check(name: str) -> None:
    """Raise unless a name means a set, within reach or not; nothing is read."""
    if name not in _SAMPLES and not own.is_own(name):
        sts.path(*sts.name_and_split(name))


def stamp(name: str) -> Hashable:
    """What changes when the file behind a name does, for caches to key on; None if there is no file."""
    with suppress(SetNotFound, OSError):  # to say so is for `by_name`
        file = own.path(name) if own.is_own(name) else sts.path(*sts.name_and_split(name))
        if file:
            about = file.stat()
            return str(file), about.st_size, about.st_mtime_ns
    return None
