"""Which sentences come with Strata? Graded pairs with tags, plain sentences and triplets, written for it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from explorer.data import text
from explorer.data.columns import guess
from explorer.data.files import read_file
from explorer.data.kinds import GradedPairs, Sentences, Triplets

FOLDER = Path(__file__).parent / "samples"
PAIRS = "Sample pairs"  # as it stands in the menu


@cache
def pairs() -> GradedPairs:
    """Graded pairs from six domains, 0 (unrelated) to 5 (the same); each pair's part is its domain."""
    table = read_file(FOLDER / "pairs.tsv")
    return text.graded_pairs(table, guess(table, "graded pairs"), PAIRS)[0]


@cache
def tags() -> tuple[tuple[str, ...], ...]:
    """What makes each pair hard or easy, such as negation or word overlap; in the order of `pairs`."""
    cells = read_file(FOLDER / "pairs.tsv").column("tags")
    return tuple(tuple(tag.strip() for tag in cell.split(",")) for cell in cells)


@cache
def sentences() -> Sentences:
    """Plain sentences, to train on without labels."""
    table = read_file(FOLDER / "sentences.txt")
    return text.sentences(table, guess(table, "sentences"), "Sample sentences")[0]


@cache
def triplets() -> Triplets:
    """A sentence, a paraphrase and a contradiction a row, to train on as on NLI data."""
    table = read_file(FOLDER / "triplets.tsv")
    return text.triplets(table, guess(table, "triplets"), "Sample triplets")[0]
