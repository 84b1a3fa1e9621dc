"""Divide a labelled source into rows to train on, validation rows that choose the checkpoint, and test rows.

A dev split is divided as in Table 10 of SG-BERT (Kim, Yoo and Lee 2021): its first tenth validates, the rest tests.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from explorer.data import sample
from explorer.data.labelled import labelled_sets
from explorer.data.labelled.labelled_sets import LabelledSet, check, is_known
from explorer.data.sources import CROSS_FITTED
from explorer.data.splitting import linked
from explorer.data.tables import text_rows
from explorer.data.tables.columns import LABEL_NAMES, guess, plain
from explorer.data.tables.files import read_file
from explorer.data.tables.table import Table
from explorer.data.tables.text_rows import Report
from explorer.data.text_sets import LABELLED_TEXTS, TRIPLETS, Corpus, Labelled, Triplets
from explorer.errors import TooFewRows, WrongColumns
from explorer.places import given_path

SHARE = 0.1  # of the rows that are divided
LEAST = 10  # validation rows, for an accuracy in steps of 10 points at most
SAME, OTHER = "same meaning", "other meaning"  # the classes of the two pairs in a triplet
SHIPPED = {  # triplets by the name of their text
    sample.TEXT: sample.triplets,
    sample.MINIMAL_PAIRS: sample.minimal_pairs,
    sample.MORE_MINIMAL_PAIRS: sample.more_minimal_pairs,
}
LACK = "has no labels: a column of texts and a column with the class of each are needed"


Divided = tuple[LabelledSet, str]  # the rows by their use, validation rows as its dev split; how they were divided


def read(
    source: str, columns: Mapping[str, str] | None = None, divide: bool = True
) -> tuple[Divided, tuple[Report, ...]]:
    """The rows of a source: text that ships, a published set, a file or a folder, with a report on each file.

    Without `divide`, none are held out.
    """
    path = given_path(source)
    table = read_file(source) if source not in SHIPPED and not is_known(source) and path.is_file() else None
    reports: tuple[Report, ...] = ()
    if source in SHIPPED:
        given = LabelledSet(source, replace(of_triplets(SHIPPED[source]()), name=source))
    elif table is not None and _is_triplets(table, columns or {}):
        triplets, report = text_rows.triplets(table, guess(table, TRIPLETS).corrected(columns or {}))
        given, reports = LabelledSet(table.name, of_triplets(triplets)), (report,)
    else:
        given, reports = labelled_sets.load(source, columns, folds=False)
    return divided(given) if divide else undivided(given), reports


def lack(table: Table, columns: Mapping[str, str]) -> str:
    """The reason why a file has no labelled rows, as the end of a sentence; "" if it has them."""
    if _is_triplets(table, columns):
        return ""
    if not set(columns) <= set(LABELLED_TEXTS.roles):
        return LACK
    roles = guess(table, LABELLED_TEXTS).corrected(columns)
    try:
        roles.check(table)
        rows, _ = text_rows.labelled(table, roles)
    except (WrongColumns, TooFewRows):
        return LACK
    return "" if len(rows.classes) > 1 else f"has the label {rows.labels[0]!r} in every row: two classes are needed"


def divided(given: LabelledSet) -> Divided:
    """The rows of a set by their use: its own three splits, the scored one divided, or all rows divided by text."""
    scored = given.dev if given.test is None else given.test
    if given.dev is not None and given.test is not None:
        parts = given.train, given.dev, given.test
        how = "its dev split chooses the checkpoint"
    elif scored is not None:
        count = int(SHARE * len(scored))
        parts = given.train, scored.taken(range(count)), scored.taken(range(count, len(scored)))
        how = f"the first tenth of {scored.name} chooses the checkpoint, the rest is the test"
    else:
        parts = _by_text(given.train)
        how = "a tenth of the rows chooses the checkpoint, another tenth is the test; no sentence is in two parts"
    train, validation, test = parts
    if len(validation) < LEAST:
        rows = sum(map(len, parts))
        raise TooFewRows(
            f"{given.name} has {rows:,} row{'s' * (rows != 1)}, and {len(validation)} of them would choose the "
            f"checkpoint; at least {LEAST} are needed. They are its dev split, or else a tenth of its test split, or "
            f"of all rows. Add rows, or set dev and test to '{CROSS_FITTED}'."
        )
    found = check(LabelledSet(given.name, train, validation, test))
    sizes = f"{given.name}: {len(train):,} rows to train on, {len(validation):,} to validate, {len(test):,} to test"
    return found, f"{sizes} ({how})"


def undivided(given: LabelledSet) -> Divided:
    """All rows of a set, or of its train split, to train on: for a method that predicts no classes."""
    found = check(LabelledSet(given.name, given.train), folds=False)
    others = [name for name in given.splits if name not in ("all", "train")]
    unused = f"; its {' and '.join(others)} split{'s are' if len(others) > 1 else ' is'} not used" if others else ""
    return found, f"{given.name}: {len(given.train):,} rows to train on{unused}"


def joined(parts: Sequence[Divided]) -> Corpus:
    """The training rows of several sources in order, with their validation and test rows."""
    if len({part.is_pairs for part, _ in parts}) > 1:
        names = " and ".join(part.train.name for part, _ in parts)
        raise WrongColumns(f"{names} cannot be joined: some rows have one sentence, some two. Choose one of them.")
    dev = [part.dev for part, _ in parts if part.dev is not None]
    test = [part.test for part, _ in parts if part.test is not None]
    return replace(
        _corpus([part.train for part, _ in parts]),
        validation=_corpus(dev) if dev else None,
        test=_corpus(test) if test else None,
        division="; ".join(division for _, division in parts),
    )


def of_triplets(triplets: Triplets) -> Labelled:
    """Two labelled pairs of each triplet: anchor and positive, anchor and negative."""
    rows = zip(triplets.anchors, triplets.positives, triplets.negatives, strict=True)
    pairs = [pair for anchor, same, other in rows for pair in ((anchor, same, SAME), (anchor, other, OTHER))]
    first, second, labels = zip(*pairs, strict=True)
    return Labelled(triplets.name, first, labels, second)


def as_labelled(corpus: Corpus) -> Labelled:
    """Rows of labelled texts in the form of an evaluation set."""
    first, *second = corpus.texts
    return Labelled(corpus.name, first, corpus.labels, *second)


def _is_triplets(table: Table, columns: Mapping[str, str]) -> bool:
    """Whether a file holds triplets and no column of labels."""
    named = any(plain(column) in LABEL_NAMES for column in table.columns)
    own = set(columns) <= set(TRIPLETS.roles)
    return own and not named and guess(table).kind == TRIPLETS


def _corpus(parts: Sequence[Labelled]) -> Corpus:
    columns = zip(*((part.texts, part.second, part.labels) for part in parts), strict=True)
    joined_columns = (tuple(chain.from_iterable(column)) for column in columns)
    return Corpus(" + ".join(part.name for part in parts), LABELLED_TEXTS, tuple(filter(None, joined_columns)))


def _by_text(rows: Labelled) -> tuple[Labelled, Labelled, Labelled]:
    """Eight, one and one tenth of the rows, by a digest of their text alone; linked rows stay together."""
    texts = list(zip(rows.texts, rows.second, strict=True)) if rows.second else [(text,) for text in rows.texts]
    digests = [
        hashlib.sha256("\0".join((*text, label)).encode("utf-8", "surrogatepass")).digest()
        for text, label in zip(texts, rows.labels, strict=True)
    ]
    families = sorted(linked(texts), key=lambda family: min(digests[row] for row in family))
    wanted = round(SHARE * len(rows))
    parts: tuple[list[int], list[int], list[int]] = [], [], []
    for family in families:
        place = next((place for place in (1, 2) if len(parts[place]) + len(family) <= wanted), 0)
        parts[place].extend(family)
    train, validation, test = (rows.taken(sorted(part)) for part in parts)
    return train, validation, test
