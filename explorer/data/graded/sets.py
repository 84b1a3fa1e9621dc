"""Load a set of scored pairs by name: the sample, an uploaded file, or a published set."""

from __future__ import annotations

from contextlib import suppress

from explorer import places
from explorer.data import sample, splitting
from explorer.data.graded import sts, user_sets
from explorer.data.kinds import GradedPairs
from explorer.errors import DataError, SetNotFound

SAMPLE = sample.PAIRS
TRAIN_PART = splitting.TRAIN_PART
_SAMPLES = {
    SAMPLE: sample.pairs,
    sample.DEV: sample.dev,
    sample.TEST: sample.test,
    sample.TRAIN_PART: sample.train_part,
    sample.DEV_PART: sample.dev_part,
    "sample": sample.pairs,
    "sample dev": sample.dev,
    "sample test": sample.test,
    "sample train part": sample.train_part,
    "sample dev part": sample.dev_part,
}


def names() -> tuple[str, ...]:
    """The names of all sets in the menu: the sample, uploaded sets, published sets."""
    return (SAMPLE, *user_sets.names(), *sts.menu())


def halves(name: str = SAMPLE) -> tuple[str, str]:
    """The names of the dev half and the test half of the sample or an uploaded set; not in the menu."""
    if user_sets.is_own(name):
        return user_sets.piece_name(name, splitting.DEV_HALF), user_sets.piece_name(name, splitting.TEST_HALF)
    return sample.DEV, sample.TEST


def parts(name: str = SAMPLE) -> tuple[str, str]:
    """The names of the train part and the dev part of the dev half of the sample or an uploaded set."""
    if user_sets.is_own(name):
        return user_sets.piece_name(name, splitting.TRAIN_PART), user_sets.piece_name(name, splitting.DEV_PART)
    return sample.TRAIN_PART, sample.DEV_PART


def beside_train_part(name: str) -> tuple[str, str] | None:
    """The dev part and the test half of a train part; None for any other name."""
    if name in (sample.TRAIN_PART, "sample train part") or (user_sets.is_own(name) and name == parts(name)[0]):
        return parts(name)[1], halves(name)[1]
    return None


def dev_and_test(name: str) -> tuple[str, str] | None:
    """The dev set and the test set that belong to a set; None if it has none."""
    if name in _SAMPLES or user_sets.is_own(name):
        return halves(name)
    known, split = sts.name_and_split(name)
    with suppress(SetNotFound):  # a file, or an unknown name
        found = sts.find(known)
        if {"dev", "test"} <= {one.name for one in found.splits} and sts.split_name(split) in ("dev", "test"):
            return f"{found.name} dev", f"{found.name} test"
    return None


def why_not_split(name: str, piece: str = splitting.TEST_HALF) -> str:
    """The reason why an uploaded set has no halves, or no parts of its dev half; "" if it has."""
    try:
        user_sets.graded_pairs(user_sets.piece_name(name, piece))
    except DataError as error:
        return str(error)
    return ""


def by_name(name: str, *, online: bool = False) -> GradedPairs:
    """Load a set by its name, or a half or part of one; "sample dev" is short for the sample's dev half."""
    if name in _SAMPLES:
        return _SAMPLES[name]()
    if user_sets.is_own(name):
        return user_sets.graded_pairs(name)
    return sts.load(*sts.name_and_split(name), online=online)


def check(name: str) -> None:
    """Raise unless a name is that of a set; nothing is read."""
    if name not in _SAMPLES and not user_sets.is_own(name):
        sts.path(*sts.name_and_split(name))


def is_general(name: str) -> bool:
    """Whether a set is the sample or a published one, and not a user's own."""
    with suppress(SetNotFound):
        check(name)
        return not user_sets.is_own(name)
    return False


def stamp(name: str) -> places.Stamps:
    """A value that changes with a file of a set, of any of its splits, for cache keys; () if there is no file."""
    if user_sets.is_own(name):
        return places.stamps([user_sets.path(name)])
    with suppress(SetNotFound):  # `by_name` reports it
        return places.stamps(sts.files(sts.name_and_split(name)[0]))
    return ()
