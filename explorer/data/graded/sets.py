"""Load a set of scored pairs by its identity: the sample, an uploaded file, or a published set."""

from __future__ import annotations

from contextlib import suppress

from explorer import places
from explorer.data import sample, splitting
from explorer.data.graded import sts, user_sets
from explorer.data.graded.set_identity import SetIdentity, SetKind
from explorer.data.kinds import GradedPairs
from explorer.errors import DataError, SetNotFound

SAMPLE = SetIdentity(SetKind.SAMPLE, sample.PAIRS)
TRAIN_PART = splitting.TRAIN_PART
_SAMPLES = {
    "": sample.pairs,
    splitting.DEV_HALF: sample.dev,
    splitting.TEST_HALF: sample.test,
    splitting.TRAIN_PART: sample.train_part,
    splitting.DEV_PART: sample.dev_part,
}


def known() -> tuple[SetIdentity, ...]:
    """All sets in the menu: the sample, uploaded sets, every split of published sets."""
    return (SAMPLE, *user_sets.kept_sets(), *(split for found in sts.SETS for split in published(found.name)))


def published(name: str) -> tuple[SetIdentity, ...]:
    """The splits of a published set; none of an unknown one."""
    with suppress(SetNotFound):
        found = sts.find(name)
        return tuple(SetIdentity(SetKind.PUBLISHED, found.name, piece=split.name) for split in found.splits)
    return ()


def halves(given: SetIdentity = SAMPLE) -> tuple[SetIdentity, SetIdentity]:
    """The dev half and the test half of the sample or an uploaded set; not in the menu."""
    return given.of_piece(splitting.DEV_HALF), given.of_piece(splitting.TEST_HALF)


def parts(given: SetIdentity = SAMPLE) -> tuple[SetIdentity, SetIdentity]:
    """The train part and the dev part of the dev half of the sample or an uploaded set."""
    return given.of_piece(splitting.TRAIN_PART), given.of_piece(splitting.DEV_PART)


def beside_train_part(given: SetIdentity) -> tuple[SetIdentity, SetIdentity] | None:
    """The dev part and the test half of a train part; None of any other set."""
    if given.is_divided and given.piece == splitting.TRAIN_PART:
        return parts(given)[1], halves(given)[1]
    return None


def dev_and_test(given: SetIdentity) -> tuple[SetIdentity, SetIdentity] | None:
    """The dev set and the test set that belong to a set; None if it has none."""
    if given.is_divided:
        return halves(given)
    dev, test = given.of_piece("dev"), given.of_piece("test")
    if given.kind == SetKind.PUBLISHED and {dev, test} <= {*published(given.name)}:
        return (dev, test) if given.piece in ("dev", "test", "") else None
    return None


def why_not_split(given: SetIdentity, piece: str = splitting.TEST_HALF) -> str:
    """The reason why an uploaded set has no halves, or no parts of its dev half; "" if it has."""
    try:
        user_sets.graded_pairs(given.of_piece(piece))
    except DataError as error:
        return str(error)
    return ""


def load(given: SetIdentity, *, online: bool = False) -> GradedPairs:
    """Load a set, or a half or part of one."""
    check(given)
    if given.kind == SetKind.SAMPLE:
        return _SAMPLES[given.piece]()
    if given.kind == SetKind.UPLOADED:
        return user_sets.graded_pairs(given)
    return sts.load(given.name, given.piece or "test", online=online)


def check(given: SetIdentity) -> None:
    """Raise unless a set is one of scored pairs: the error names what is not known, the set or its split."""
    if not given.is_scored:
        name, split = sts.name_and_split(given.name)
        sts.find_split(sts.find(name), split)


def stamp(given: SetIdentity) -> places.Stamps:
    """A value that changes with a file of a set, of any of its splits, for cache keys; () if there is no file."""
    if given.kind == SetKind.UPLOADED:
        return places.stamps([user_sets.path(given)])
    return places.stamps(sts.files(given.name)) if given.kind == SetKind.PUBLISHED else ()
