"""Probe packs: pairs with the same meaning, and pairs with one small difference, such as a negation."""

from dataclasses import dataclass
from functools import cache, cached_property

from explorer.data.sample import FOLDER
from explorer.data.tables.files import read_file
from explorer.data.text_sets import digest_of

NAME = "Probe packs"
PARAPHRASE = "paraphrase"
# in the order of display, same meaning first, each with what its pairs have in common. The training text that ships
# has no row of the last two kinds.
ABOUT = {
    PARAPHRASE: (True, "the same in other words"),
    "typo": (True, "the same, misspelt"),
    "negation": (False, "one says yes, the other no"),
    "role swap": (False, "the roles are exchanged"),
    "antonym": (False, "one word is its opposite"),
    "number": (False, "another number"),
    "quantifier": (False, "another quantity: all, some, few, none"),
    "time order": (False, "another order in time: before, after, first, then"),
}


@dataclass(frozen=True)
class Pack:
    """Pairs with one kind of difference, and whether they have the same meaning."""

    name: str
    same: bool
    about: str
    first: tuple[str, ...]
    second: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class ProbePairs:
    """The pairs of every pack as an evaluation set."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    same: tuple[bool, ...]  # whether both mean the same: one says the other in other words

    @cached_property
    def digest(self) -> str:
        """The digest of the pairs, independent of the name."""
        return digest_of(("probe pairs", *self.first, *self.second, *map(repr, self.same)))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Every sentence once, in order of first appearance."""
        return tuple(dict.fromkeys((*self.first, *self.second)))

    def __len__(self) -> int:
        return len(self.same)


def pairs() -> ProbePairs:
    """The paraphrases, and the pairs of every pack that differ in meaning."""
    rows = [(one, other, pack.same) for pack in judged() for one, other in zip(pack.first, pack.second, strict=True)]
    first, second, same = zip(*rows, strict=True)
    return ProbePairs(NAME, first, second, same)


def judged() -> tuple[Pack, ...]:
    """The packs of these pairs, in their order: the paraphrases, and what each of them is compared with."""
    return tuple(pack for pack in packs() if pack.name == PARAPHRASE or not pack.same)


@cache
def packs() -> tuple[Pack, ...]:
    """All of them."""
    table = read_file(FOLDER / "probes.tsv")
    rows = tuple(zip(*(table.column(name) for name in ("pack", "first", "second")), strict=True))
    return tuple(
        Pack(
            name,
            same,
            about,
            tuple(first for pack, first, _ in rows if pack == name),
            tuple(second for pack, _, second in rows if pack == name),
        )
        for name, (same, about) in ABOUT.items()
    )
