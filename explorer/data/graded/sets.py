"""Load and store sets of scored pairs by their identity: the sample, published sets, and uploaded ones.

An uploaded set is a file on this disk, so that a reload or a link finds it again. The file has two lines of JSON, the
name and the columns, so that a menu reads first lines only. It is stored under the first digits of its digest and a
digest of its name: equal pairs under two names are two sets, and of one name, other pairs whose digest begins alike get
more digits. Dev and test halves, and the parts of the dev half, are computed.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from explorer import places
from explorer.data import sample, splitting
from explorer.data.graded import published_sets, sts
from explorer.data.set_items import Attribute
from explorer.data.splitting import DEV_HALF, DEV_PART, PARTS, PIECES, TEST_HALF, TRAIN_PART
from explorer.data.text_sets import GradedPairs, digest_of
from explorer.errors import BadChoice, DataError, NotWritable, SetNotFound
from explorer.run_folder import RUN

_STEM = re.compile("([0-9a-f]{8,64})(-[0-9a-f]{16})?")
_OF_NAME = 16  # digits of the digest of a name
_ATTRIBUTES = "attributes"  # further columns, by name; files of earlier releases have none
_COLUMNS = ("first", "second", "gold", "parts")
# errors of reading a broken, foreign or missing file
_FAULTS = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


class SetKind(StrEnum):
    """Where a set is from."""

    SAMPLE = "sample pairs"
    UPLOADED = "uploaded pairs"
    PUBLISHED = "published pairs"
    UPLOADED_FILE = "uploaded file"
    TEST_ROWS = "test rows of a run"
    HELD_OUT = "held-out rows"  # of the training text
    CROSS_FITTED = "cross-fitted rows"  # all rows of the training text, each judged by a model that did not see it
    AT_HAND = "at hand"  # the sets that need no download
    OTHER = "other"  # a set that ships and is no sample of pairs, a labelled task, a path, or a name of nothing


@dataclass(frozen=True)
class SetIdentity:
    """What distinguishes a set from all others.

    `digest` has as many first digits as distinguish uploads of one name. `piece` is one of `PIECES`, or a
    split of a published set; of the whole set it is "". `items` are so many pairs of it, drawn by their text; 0 stands
    for all. `named` is the text that it was read from, if that is not the usual one: a path, or another spelling.
    """

    kind: SetKind
    name: str
    digest: str = ""
    piece: str = ""
    items: int = 0
    named: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        """The text that names the set in recipes and commands: as it was named."""
        return self.named or self.written

    def __bool__(self) -> bool:
        """Whether a set is named at all."""
        return bool(self.name)

    @property
    def title(self) -> str:
        """The name of the set for people, which nothing reads."""
        return self.written

    @property
    def written(self) -> str:
        """The text of the set in addresses, recipes and flags; `read` gives the identity back."""
        if self.items:
            return _of_items(self.drawn(0).written, self.items)
        match self.kind:
            case SetKind.SAMPLE:
                return _SAMPLES[self.piece][0]
            case SetKind.UPLOADED:
                return " · ".join((self.name, self.digest, *filter(None, [self.piece])))
            case SetKind.PUBLISHED:
                return f"{self.name} {self.piece}".rstrip()
            case SetKind.UPLOADED_FILE:
                return f"{self.name} ({self.digest})"
            case SetKind.TEST_ROWS:
                return f"{_TEST_ROWS}{self.name}"
        return self.name

    @property
    def is_scored(self) -> bool:
        """Whether the set is known to be scored pairs before it is read."""
        return self.kind in (SetKind.SAMPLE, SetKind.UPLOADED, SetKind.PUBLISHED)

    @property
    def is_own_rows(self) -> bool:
        """Whether the set is rows of the training text."""
        return self.kind in (SetKind.HELD_OUT, SetKind.CROSS_FITTED)

    @property
    def is_divided(self) -> bool:
        """Whether the set has the pieces of `splitting`, if it has enough pairs."""
        return self.kind in (SetKind.SAMPLE, SetKind.UPLOADED) and not self.items

    @property
    def whole(self) -> SetIdentity:
        """The whole set of a piece or of some items; of a whole set itself."""
        return self.of_piece("")

    def of_piece(self, piece: str) -> SetIdentity:
        """A piece of the same set, with all of its items."""
        return replace(self, piece=piece, items=0, named="")

    def drawn(self, items: int) -> SetIdentity:
        """So many items of the set; 0 stands for all."""
        return replace(self, items=items, named="")


SAMPLE = SetIdentity(SetKind.SAMPLE, sample.PAIRS)
UNNAMED = SetIdentity(SetKind.OTHER, "")
HELD_OUT, CROSS_FITTED, AT_HAND = (
    SetIdentity(kind, kind.value) for kind in (SetKind.HELD_OUT, SetKind.CROSS_FITTED, SetKind.AT_HAND)
)
_SAMPLES = {  # the name of each piece, and what loads it
    "": (sample.PAIRS, sample.pairs),
    DEV_HALF: (sample.DEV, sample.dev),
    TEST_HALF: (sample.TEST, sample.test),
    TRAIN_PART: (sample.TRAIN_PART, sample.train_part),
    DEV_PART: (sample.DEV_PART, sample.dev_part),
}


def known() -> tuple[SetIdentity, ...]:
    """All sets in the menu: the sample, uploaded sets, every split of published sets, those on this disk first."""
    splits = [split for found in published_sets.SETS for split in published(found.name)]
    here = sts.on_disk()
    return (SAMPLE, *kept_sets(), *sorted(splits, key=lambda one: (one.name, one.piece) not in here))


def published(name: str) -> tuple[SetIdentity, ...]:
    """The splits of a published set; none of an unknown one."""
    with suppress(SetNotFound):
        found = sts.find(name)
        return tuple(SetIdentity(SetKind.PUBLISHED, found.name, piece=split.name) for split in found.splits)
    return ()


def halves(given: SetIdentity = SAMPLE) -> tuple[SetIdentity, SetIdentity]:
    """The dev half and the test half of the sample or an uploaded set; not in the menu."""
    return given.of_piece(DEV_HALF), given.of_piece(TEST_HALF)


def parts(given: SetIdentity = SAMPLE) -> tuple[SetIdentity, SetIdentity]:
    """The train part and the dev part of the dev half of the sample or an uploaded set."""
    return given.of_piece(TRAIN_PART), given.of_piece(DEV_PART)


def of_train_part(given: SetIdentity) -> tuple[SetIdentity, SetIdentity] | None:
    """The dev set and the test set that belong to what is trained on; None if it has none.

    Those of a train part are the dev part and the test half of its set; those of the train split of a published set, or
    of its name alone, are its dev split and its test split.
    """
    if given.drawn(0).is_divided and given.piece == TRAIN_PART:
        return parts(given)[1], halves(given)[1]
    is_train = given.piece in ("train", "") and given.of_piece("train") in published(given.name)
    return dev_and_test(given.whole) if given.kind == SetKind.PUBLISHED and is_train else None


def dev_and_test(given: SetIdentity) -> tuple[SetIdentity, SetIdentity] | None:
    """The dev set and the test set that belong to a set; None if it has none."""
    if given.is_divided:
        return halves(given)
    dev, test = given.of_piece("dev"), given.of_piece("test")
    if given.kind == SetKind.PUBLISHED and not given.items and {dev, test} <= {*published(given.name)}:
        return (dev, test) if given.piece in ("dev", "test", "") else None
    return None


@dataclass(frozen=True)
class Divided:
    """A dev set and a test set."""

    dev: GradedPairs
    test: GradedPairs
    whole: GradedPairs | None = None  # the set that they are the halves of
    why: str = ""  # why they are halves of a set that belongs to a dev set and a test set


def divided(given: SetIdentity, pairs: GradedPairs, *, online: bool = False) -> Divided:
    """The dev set and the test set that scored pairs belong to, if they are there; else the halves of these pairs."""
    splits, why = dev_and_test(given), ""
    if splits is not None:
        try:
            dev, test = (load(one, online=online) for one in splits)
            return Divided(dev, test, load(given.whole) if given.is_divided else None)
        except SetNotFound as error:
            why = str(error)
    dev, test = splitting.halves(pairs)
    return Divided(dev, test, pairs, why)


def why_not_split(given: SetIdentity, piece: str = TEST_HALF) -> str:
    """The reason why an uploaded set has no halves, or no parts of its dev half; "" if it has."""
    try:
        uploaded_pairs(given.of_piece(piece))
    except DataError as error:
        return str(error)
    return ""


def load(given: SetIdentity, *, online: bool = False) -> GradedPairs:
    """Load a set, a half or part of one, or some items of any of these."""
    if given.items:
        return _drawn(load(given.drawn(0), online=online), given.items)
    check(given)
    if given.kind == SetKind.SAMPLE:
        return _SAMPLES[given.piece][1]()
    if given.kind == SetKind.UPLOADED:
        return uploaded_pairs(given)
    return sts.load(given.name, given.piece or "test", online=online)


def _drawn(pairs: GradedPairs, items: int) -> GradedPairs:
    if items > len(pairs):
        raise BadChoice(f"'{pairs.name}' has {len(pairs):,} items, not {items:,}. Choose fewer, or name the set alone.")
    rows = splitting.drawn(list(zip(pairs.first, pairs.second, strict=True)), items)
    return pairs.taken(rows, _of_items(pairs.name, items))


def _of_items(name: str, items: int) -> str:
    return f"{name}, {items} items"


def check(given: SetIdentity) -> None:
    """Raise unless a set is one of scored pairs: the error names what is not known, the set or its split."""
    if not given.is_scored:
        name, split = sts.name_and_split(given.name)
        sts.find_split(sts.find(name), split)


def stamp(given: SetIdentity) -> places.Stamps:
    """A value that changes with a file of a set, of any of its splits, for cache keys; () if there is no file."""
    if given.kind == SetKind.UPLOADED:
        return places.stamps([upload_path(given)])
    return places.stamps(sts.files(given.name)) if given.kind == SetKind.PUBLISHED else ()


def keep(pairs: GradedPairs) -> SetIdentity:
    """Store pairs, and return the identity of the set."""

    def under(mark: str) -> SetIdentity:
        return SetIdentity(SetKind.UPLOADED, pairs.name, mark)

    def digest_under(mark: str) -> str | None:
        """The digest of the pairs that are stored under a mark; None if there are none, or the file is broken."""
        with suppress(*_FAULTS):
            return _read(upload_path(under(mark))).digest
        return None

    given = under(places.free_start(pairs.digest, digest_under))
    further = {one.name: one.cells for one in pairs.attributes}
    lines = {"name": pairs.name}, {column: getattr(pairs, column) for column in _COLUMNS} | {_ATTRIBUTES: further}
    content = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode("utf-8", "surrogatepass")
    places.write_whole(_own_path(given), lambda file: file.write(content))
    return given


def kept_sets() -> tuple[SetIdentity, ...]:
    """The uploaded sets, newest first, without unreadable ones."""
    found: dict[SetIdentity, int] = {}
    for file in places.kept(_folder(), "*.jsonl"):
        if match := _STEM.fullmatch(file.stem):
            with suppress(*_FAULTS), file.open("rb") as lines:
                given = SetIdentity(SetKind.UPLOADED, _name_in(lines.readline()), match[1])
                if file in (_own_path(given), _path_of_any_name(given)):
                    found[given] = max(found.get(given, 0), os.fstat(lines.fileno()).st_mtime_ns)
    return tuple(sorted(found, key=lambda one: (found[one], one.name, one.digest), reverse=True))


def uploaded_pairs(given: SetIdentity) -> GradedPairs:
    """Load an uploaded set, or a piece of it."""
    file = upload_path(given)
    try:
        pairs = replace(_read(file), name=given.name)
        if pairs.digest.startswith(given.digest):
            return splitting.piece(pairs, given.piece) if given.piece else pairs
        fault = "was changed after the upload"
    except FileNotFoundError:
        fault = "is no longer stored on this machine"
    except _FAULTS:
        fault = f"can no longer be read from {file}"
    raise SetNotFound(
        f"The file '{given.title}' {fault}. Upload it again on the Start page, or choose another set in the sidebar."
    )


def forget(given: SetIdentity) -> None:
    """Delete a set from this disk; the user's original file is not changed."""
    own, before = _own_path(given), _path_of_any_name(given)
    of_both = [own]
    with suppress(*_FAULTS), before.open("rb") as lines:
        of_both += [before] if _name_in(lines.readline()) == given.name else []
    for file in of_both:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise NotWritable(
                f"'{given.title}' cannot be deleted: {file}: {error.strerror or error}. Make its folder writable, or "
                "delete the file by hand."
            ) from error


def upload_path(given: SetIdentity) -> Path:
    """The path of an uploaded set."""
    own, before = _own_path(given), _path_of_any_name(given)
    return before if before.exists() and not own.exists() else own


def _own_path(given: SetIdentity) -> Path:
    return _folder() / f"{given.digest}-{digest_of((given.name,))[:_OF_NAME]}.jsonl"


def _path_of_any_name(given: SetIdentity) -> Path:
    """Where earlier releases stored a set: equal pairs had one file, with the name that was the last."""
    return _folder() / f"{given.digest}.jsonl"


def _folder() -> Path:
    return places.cache_folder() / "sets"


def _read(file: Path) -> GradedPairs:
    head, columns = map(_parsed, file.read_bytes().split(b"\n"))
    further = tuple(Attribute(name, tuple(cells)) for name, cells in columns.get(_ATTRIBUTES, {}).items())
    pairs = GradedPairs(head["name"], *(tuple(columns[column]) for column in _COLUMNS), attributes=further)
    for one in further:
        if len(one.cells) != len(pairs) or {*map(type, one.cells)} not in ({str}, {float}):
            raise ValueError(f"{file} has columns of several lengths or types")
    return pairs


def _name_in(line: bytes) -> str:
    return f"{_parsed(line)['name']}"


def _parsed(line: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(line.decode("utf-8", "surrogatepass"))
    return value


_SHORT = {"sample": "", "sample dev": DEV_HALF, "sample test": TEST_HALF} | {f"sample {one}": one for one in PARTS}
_MARK = "[0-9a-f]{8,64}"
_UPLOADED = re.compile(rf"(.*) · ({_MARK})(?: · ({'|'.join(PIECES)}))?", re.DOTALL)
_SOME_ITEMS = re.compile(r"(.+), ([1-9][0-9]{0,8}) items", re.DOTALL)
_UPLOADED_FILE = re.compile(rf"(.+) \(({_MARK})\)", re.DOTALL)
_TEST_ROWS = f"test rows of {RUN}"
_PATH = re.compile(r"[~.]|.*[/\\]", re.DOTALL)  # ./STS12 is a file or a folder, STS12 a published set


@lru_cache(maxsize=1024)  # a page asks for the same few many times
def read(text: str) -> SetIdentity:
    """The identity with this text; no file is read."""
    given = _read_name(text)
    return given if given.written == text else replace(given, named=text)


def _read_name(text: str) -> SetIdentity:
    piece = ({name: piece for piece, (name, _) in _SAMPLES.items()} | _SHORT).get(text)
    if piece is not None:
        return SetIdentity(SetKind.SAMPLE, sample.PAIRS, piece=piece)
    if text in (HELD_OUT.name, CROSS_FITTED.name, AT_HAND.name):
        return SetIdentity(SetKind(text), text)
    if (match := _SOME_ITEMS.fullmatch(text)) and not _SOME_ITEMS.fullmatch(match[1]):
        given = read(match[1])
        if given.is_scored and (given.piece or given.kind != SetKind.PUBLISHED):
            return given.drawn(int(match[2]))
    if match := _UPLOADED.fullmatch(text):
        return SetIdentity(SetKind.UPLOADED, match[1], match[2], match[3] or "")
    if match := _UPLOADED_FILE.fullmatch(text):
        return SetIdentity(SetKind.UPLOADED_FILE, match[1], match[2])
    if text.startswith(_TEST_ROWS):
        return SetIdentity(SetKind.TEST_ROWS, text.removeprefix(_TEST_ROWS))
    name, split = sts.name_and_split(text)
    if _PATH.match(text):
        return SetIdentity(SetKind.OTHER, text)
    with suppress(SetNotFound):
        found = sts.find(name)
        split = sts.find_split(found, split).name
        return SetIdentity(SetKind.PUBLISHED, found.name, piece=split if " " in text.strip() else "")
    return SetIdentity(SetKind.OTHER, text)
