"""The text that ships with Strata: scored pairs, sentences, triplets, minimal pairs, a retrieval set, probe packs.

A probe pack has pairs with the same meaning, or pairs with one small difference, such as a negation.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import ClassVar

from explorer.data import splitting
from explorer.data.retrieval_sets import RetrievalSet
from explorer.data.set_items import PAIR, Attribute, PairSet
from explorer.data.tables import retrieval_folders, text_rows
from explorer.data.tables.columns import guess
from explorer.data.tables.files import read_file
from explorer.data.text_sets import SCORED_PAIRS, SENTENCES, TRIPLETS, GradedPairs, Sentences, Triplets, digest_of

FOLDER = Path(__file__).parent / "samples"
TEXT = "sample"  # as the name of text to train on: sentences, triplets, and pairs without their halves
PAIRS = "Sample pairs"  # in the menu of sets
DEV, TEST = f"{PAIRS}, dev half", f"{PAIRS}, test half"
TRAIN_PART, DEV_PART = f"{PAIRS}, train part", f"{PAIRS}, dev part"
SEARCH = "Sample search"
MINIMAL_PAIRS, MORE_MINIMAL_PAIRS = "minimal pairs", "more minimal pairs"  # as names of text to train on

NEGATION = "A man is not playing a guitar.", "A man is playing a guitar."  # Start opens their words
PROBE_PACKS = "Probe packs"  # in the menu of sets
PARAPHRASE = "paraphrase"
# in the order of display, same meaning first, each with what its pairs have in common. The training text that ships
# has no row of the last two kinds.
ABOUT_PACKS = {
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
class ProbePairs(PairSet):
    """The pairs of every pack as an evaluation set."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    same: tuple[bool, ...]  # whether both mean the same: one says the other in other words
    item: ClassVar[str] = PAIR
    scored_as_whole: ClassVar[bool] = True
    split_columns: ClassVar[tuple[Attribute, ...]] = ()  # a score is of couples of pairs, which a group would break up

    @cached_property
    def digest(self) -> str:
        """The digest of the pairs, independent of the name."""
        return digest_of(("probe pairs", *self.first, *self.second, *map(repr, self.same)))

    @property
    def related(self) -> Iterable[tuple[str, str, float]]:
        """All pairs: paraphrases with 1."""
        return zip(self.first, self.second, map(float, self.same), strict=True)


@cache
def pairs() -> GradedPairs:
    """Scored pairs from six domains, 0 (unrelated) to 5 (same meaning); each pair's part is its domain."""
    table = read_file(FOLDER / "pairs.tsv")
    return text_rows.graded_pairs(table, guess(table, SCORED_PAIRS), PAIRS)[0]


@cache
def dev() -> GradedPairs:
    """The dev half of the pairs, for choices."""
    return _half(DEV, (0, 3))


@cache
def test() -> GradedPairs:
    """The test half of the pairs, for reports."""
    return _half(TEST, (1, 2))


@cache
def train_part() -> GradedPairs:
    """Three quarters of the dev half, to train on scores without the test half."""
    return splitting.parts(dev(), PAIRS)[0]


@cache
def dev_part() -> GradedPairs:
    """The rest of the dev half, to choose the best checkpoint of a training on `train_part`."""
    return splitting.parts(dev(), PAIRS)[1]


@cache
def sentences() -> Sentences:
    """Plain sentences, to train on without labels."""
    table = read_file(FOLDER / "sentences.txt")
    return text_rows.sentences(table, guess(table, SENTENCES), "Sample sentences")[0]


@cache
def triplets() -> Triplets:
    """A sentence, a paraphrase and a contradiction per row, to train on like NLI data."""
    table = read_file(FOLDER / "triplets.tsv")
    return text_rows.triplets(table, guess(table, TRIPLETS), "Sample triplets")[0]


@cache
def search() -> RetrievalSet:
    """Everyday questions, the passages that answer them, and passages that only share their words or topic."""
    return replace(retrieval_folders.read(FOLDER / "search"), name=SEARCH)


@cache
def minimal_pairs() -> Triplets:
    """Triplets whose negative shares words with the anchor but differs in meaning; none shares text with a probe.

    They train negations, numbers and antonyms, without a loss of score elsewhere.
    """
    return _minimal(MINIMAL_PAIRS)


@cache
def more_minimal_pairs() -> Triplets:
    """Minimal pairs of swapped roles, details and other antonyms, which are harder and lower scores elsewhere."""
    return _minimal(MORE_MINIMAL_PAIRS)


@cache
def probe_packs() -> tuple[Pack, ...]:
    """The probe packs, in the order of display."""
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
        for name, (same, about) in ABOUT_PACKS.items()
    )


def judged_packs() -> tuple[Pack, ...]:
    """The packs of `probe_pairs`, in their order: the paraphrases, and what each of them is compared with."""
    return tuple(pack for pack in probe_packs() if pack.name == PARAPHRASE or not pack.same)


def probe_pairs() -> ProbePairs:
    """The paraphrases, and the pairs of every pack that differ in meaning."""
    rows = [
        (one, other, pack.same) for pack in judged_packs() for one, other in zip(pack.first, pack.second, strict=True)
    ]
    first, second, same = zip(*rows, strict=True)
    return ProbePairs(PROBE_PACKS, first, second, same)


def _minimal(name: str) -> Triplets:
    table = read_file(FOLDER / f"{name.replace(' ', '_')}.tsv")
    return text_rows.triplets(table, guess(table, TRIPLETS), name.capitalize())[0]


def _half(name: str, quarters: tuple[int, int]) -> GradedPairs:
    """Half of each domain's pairs, balanced by score, in file order.

    Of four pairs in order of score, the first and last, or the two between: every second pair would give one half the
    lower scores.
    """
    whole = pairs()
    ordered = sorted(range(len(whole)), key=lambda row: (whole.parts[row], whole.gold[row]))
    rows = sorted(row for place, row in enumerate(ordered) if place % 4 in quarters)
    return whole.taken(rows, name)
