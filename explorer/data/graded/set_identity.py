"""The identity of an evaluation set or an uploaded text, and the text that stands for it in addresses and recipes.

`sources` alone reads and writes that text, for addresses, recipes, plans and flags; all other code has the value.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from explorer.data import sample
from explorer.data.graded import sts
from explorer.data.splitting import DEV_HALF, DEV_PART, PIECES, TEST_HALF, TRAIN_PART
from explorer.errors import SetNotFound
from explorer.run_folder import RUN


class SetKind(StrEnum):
    """Where a set is from."""

    SAMPLE = "sample pairs"
    UPLOADED = "uploaded pairs"
    PUBLISHED = "published pairs"
    UPLOADED_FILE = "uploaded file"
    TEST_ROWS = "test rows of a run"
    OTHER = "other"  # a set that ships and is no sample of pairs, a labelled task, a path, or a name of nothing


@dataclass(frozen=True)
class SetIdentity:
    """What distinguishes a set from all others.

    `digest` has as many first digits as distinguish uploads of one name. `piece` is one of `splitting.PIECES`, or a
    split of a published set; of the whole set it is "".
    """

    kind: SetKind
    name: str
    digest: str = ""
    piece: str = ""

    @property
    def title(self) -> str:
        """The name of the set for people."""
        return written(self)

    @property
    def is_scored(self) -> bool:
        """Whether the set is known to be scored pairs before it is read."""
        return self.kind in (SetKind.SAMPLE, SetKind.UPLOADED, SetKind.PUBLISHED)

    @property
    def is_divided(self) -> bool:
        """Whether the set has the pieces of `splitting`, if it has enough pairs."""
        return self.kind in (SetKind.SAMPLE, SetKind.UPLOADED)

    @property
    def whole(self) -> SetIdentity:
        """The whole set of a piece; of a whole set itself."""
        return self.of_piece("")

    def of_piece(self, piece: str) -> SetIdentity:
        """A piece of the same set."""
        return replace(self, piece=piece)


_SAMPLES = {
    sample.PAIRS: "",
    sample.DEV: DEV_HALF,
    sample.TEST: TEST_HALF,
    sample.TRAIN_PART: TRAIN_PART,
    sample.DEV_PART: DEV_PART,
}
_SHORT = {"sample": "", "sample dev": DEV_HALF, "sample test": TEST_HALF} | {
    f"sample {part}": part for part in (TRAIN_PART, DEV_PART)
}
_MARK = "[0-9a-f]{8,64}"
_UPLOADED = re.compile(rf"(.*) · ({_MARK})(?: · ({'|'.join(PIECES)}))?", re.DOTALL)
_UPLOADED_FILE = re.compile(rf"(.+) \(({_MARK})\)", re.DOTALL)
_TEST_ROWS = f"test rows of {RUN}"


def written(identity: SetIdentity) -> str:
    """The text of an identity; `read` gives the identity back."""
    name, digest, piece = identity.name, identity.digest, identity.piece
    match identity.kind:
        case SetKind.SAMPLE:
            return next(text for text, one in _SAMPLES.items() if one == piece)
        case SetKind.UPLOADED:
            return " · ".join((name, digest, *filter(None, [piece])))
        case SetKind.PUBLISHED:
            return f"{name} {piece}".rstrip()
        case SetKind.UPLOADED_FILE:
            return f"{name} ({digest})"
        case SetKind.TEST_ROWS:
            return f"{_TEST_ROWS}{name}"
    return name


def read(text: str) -> SetIdentity:
    """The identity with this text; no file is read."""
    piece = (_SAMPLES | _SHORT).get(text)
    if piece is not None:
        return SetIdentity(SetKind.SAMPLE, sample.PAIRS, piece=piece)
    if match := _UPLOADED.fullmatch(text):
        return SetIdentity(SetKind.UPLOADED, match[1], match[2], match[3] or "")
    if match := _UPLOADED_FILE.fullmatch(text):
        return SetIdentity(SetKind.UPLOADED_FILE, match[1], match[2])
    if text.startswith(_TEST_ROWS):
        return SetIdentity(SetKind.TEST_ROWS, text.removeprefix(_TEST_ROWS))
    name, split = sts.name_and_split(text)
    with suppress(SetNotFound):
        found = sts.find(name)
        split = sts.find_split(found, split).name
        return SetIdentity(SetKind.PUBLISHED, found.name, piece=split if " " in text.strip() else "")
    return SetIdentity(SetKind.OTHER, text)
