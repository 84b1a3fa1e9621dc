"""Pairs of sentences with the label 1 if they mean the same, else 0: the published sets of MTEB, and own folders.

MTEB's older files have one row whose cells are lists (`sentence1`, `sentence2`, `labels`), its newer ones a row for
each pair. The sizes are those of its descriptive statistics.
"""

from collections import Counter
from pathlib import Path

from explorer.data.graded import sts
from explorer.data.graded.published_sets import PublishedSet, Split
from explorer.data.labelled.labelled_sets import LABELLED_PAIRS
from explorer.data.labelled.split_folders import TEST, table_of_test
from explorer.data.tables.columns import guess, table_kind
from explorer.data.tables.text_rows import graded_pairs
from explorer.data.text_sets import SCORED_PAIRS, GradedPairs
from explorer.errors import DataError

LABELS = {"0", "1", "0.0", "1.0"}  # as files write them


def _published(name: str, about: str, others: int, same: int) -> PublishedSet:
    """A set of MTEB, with its numbers of pairs of label 0 and of label 1."""
    split = Split("test", f"{name}/{TEST}", others + same, (others, same), ("test",))
    hub_id = f"mteb/{name.lower()}-pairclassification"
    return PublishedSet(name, (split,), hub_id, about=about, columns=LABELLED_PAIRS)


SETS = (
    _published("SprintDuplicateQuestions", "duplicate questions (Shah et al. 2018)", 100_000, 1_000),
    _published("TwitterSemEval2015", "paraphrases in tweets (Xu et al. 2015)", 12_987, 3_790),
    _published("TwitterURLCorpus", "paraphrases in tweets (Lan et al. 2017)", 38_546, 12_988),
)


def load(name: str, *, online: bool = False) -> GradedPairs:
    """Load a published set by its name, and check its labels against the published ones."""
    chosen = sts.named(name, SETS, "set of pair classification")
    (split,) = chosen.splits
    pairs = sts.load_split(chosen, split, online=online)
    found = Counter(pairs.gold)
    if found != dict(zip((0.0, 1.0), split.sizes, strict=True)):
        here = ", ".join(f"{count:,} pairs of label {label:g}" for label, count in sorted(found.items()))
        raise DataError(
            f"{pairs.name} has {here} here, but {split.sizes[0]:,} pairs of label 0 and {split.sizes[1]:,} of label 1 "
            "as published. The file may be another version: replace it."
        )
    return pairs


def read(folder: Path) -> GradedPairs | None:
    """Read the pairs in the test file of a folder; None if its labels are not 0 and 1, or if there is a train file.

    A folder with train and test is a classification task: a classifier is trained on its pairs.
    """
    table = table_of_test(folder)
    if table is None or table_kind(table) != SCORED_PAIRS:
        return None
    roles = guess(table, SCORED_PAIRS)
    labels = {cell.strip() for cell in table.column(roles.column("score") or "")}
    return None if labels - LABELS else graded_pairs(table, roles, folder.name)[0]
