"""Labelled sets with their splits: those of SentEval and GLUE, whose sizes are checked, and the user's own files.

A set is checked before it is used: a classifier can be trained and scored on it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from explorer.data import sources
from explorer.data.graded import sts
from explorer.data.graded.published_sets import PublishedSet, Split
from explorer.data.graded.sts import VARIABLE, data_folder
from explorer.data.set_items import LABEL, ROW, Attribute, ItemSet
from explorer.data.tables import retrieval_folders
from explorer.data.tables.columns import plain, table_kind
from explorer.data.tables.files import ENDINGS, read_file
from explorer.data.tables.text_rows import Report, read_labelled
from explorer.data.text_sets import LABELLED_TEXTS, SCORED_PAIRS, Labelled, digest_of
from explorer.errors import DataError, SetNotFound, TooFewRows, UnreadableFile
from explorer.places import given_path

# names of files without their ending; within a split the names are equivalent
SPLITS = {"train": ("train", "training"), "dev": ("dev", "validation", "valid", "val"), "test": ("test",)}
FOLDS = 10
LEAST_OF_CLASS = 3  # rows of the two largest classes: while two folds are held out, one is left to fit on
LEAST_ROWS = 10  # rows of a fold, below which its accuracy moves by more than 10 points with one row
TEXTS, LABELLED_PAIRS = "label text", "label sentence1 sentence2"  # columns of published sets
MORE = "Add rows, or give a folder with a train, a dev and a test file, which needs no folds."

Columns = Mapping[str, str | None]


@dataclass(frozen=True)
class LabelledSet(ItemSet):
    """The splits of a set; without a test split all rows are in `train`, and scores come from folds over them."""

    name: str
    train: Labelled
    dev: Labelled | None = None
    test: Labelled | None = None
    item: ClassVar[str] = ROW
    scored_as_whole: ClassVar[bool] = True

    @property
    def scored(self) -> Labelled:
        """The rows that a classifier is scored on."""
        return self.train if self.test is None else self.test

    @property
    def split(self) -> str:
        """The name of the scored split: "test", or "all" for folds over all rows."""
        return "all" if self.test is None else "test"

    @property
    def splits(self) -> dict[str, Labelled]:
        """The splits by name."""
        whole = self.test is None and self.dev is None
        by_name = {"all" if whole else "train": self.train, "dev": self.dev, "test": self.test}
        return {name: rows for name, rows in by_name.items() if rows is not None}

    @property
    def texts(self) -> list[str]:
        """All sentences, split by split: the first ones, then the second ones."""
        return [text for rows in self.splits.values() for text in (*rows.texts, *rows.second)]

    @property
    def text_columns(self) -> dict[str, tuple[str, ...]]:
        """The one or two texts of each row that is scored."""
        return self.scored.text_columns

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The labels of these rows."""
        return {LABEL: self.scored.labels}

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, sorted."""
        return self.train.classes

    @property
    def is_pairs(self) -> bool:
        """Whether a row is a pair of sentences."""
        return bool(self.train.second)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Further columns of the rows that are scored."""
        return self.scored.attributes

    def __len__(self) -> int:
        return len(self.scored)

    @cached_property
    def digest(self) -> str:
        """The digest of all texts and labels, independent of the names."""
        return digest_of(f"{name} {rows.digest}" for name, rows in self.splits.items())


def check(given: LabelledSet, folds: bool = True) -> LabelledSet:
    """The set itself, if a classifier can be trained and scored on it.

    Without `folds`, its rows are only divided once, so fewer are enough, and a dev split alone is too.
    """
    if folds and given.dev is not None and given.test is None:
        raise DataError(f"{given.name} has a dev split and no test split. Add a test split, or leave out dev.")

    def shown(parts: list[str]) -> str:
        return ", ".join([*parts[:10], *([f"and {len(parts) - 10} more"] if len(parts) > 10 else [])])

    for split, rows in given.splits.items():
        if not len(rows):
            raise TooFewRows(f"The {split} split of {given.name} has no rows; at least one is needed. Add rows.")
        if bool(rows.second) != given.is_pairs:
            raise DataError(
                f"{given.name} has one sentence per row in one split and two in another. Give both the same columns."
            )
        if split != "test" and len(rows.classes) < 2:
            raise DataError(
                f"Every row of the {split} split of {given.name} has the label {rows.labels[0]!r}; a classifier needs "
                "at least two classes. Choose another column for label, or add rows of another class."
            )
        unknown = sorted(set(rows.classes) - set(given.classes))
        if unknown:
            raise DataError(
                f"The {split} split of {given.name} has the labels {shown(list(map(repr, unknown)))}, which no row of "
                f"its train split has. The labels there: {shown(list(map(repr, given.classes)))}. Spell them alike, or "
                "add such rows to train."
            )
    if folds and given.dev is None:  # settings are chosen by folds over the train split
        rows, least = given.train, FOLDS * LEAST_ROWS
        if len(rows) < least:
            raise TooFewRows(f"{rows.name} has {len(rows)} rows; {FOLDS} folds need at least {least}. {MORE}")
        second, count = Counter(rows.labels).most_common(2)[1]
        if count < LEAST_OF_CLASS:
            raise TooFewRows(
                f"{rows.name} has one class with at least {LEAST_OF_CLASS} rows; folds need two. The next one, "
                f"{second!r}, has {count}. Add rows of another class."
            )
    return given


def check_scored(given: LabelledSet) -> LabelledSet:
    """The set itself, if a classifier can be scored on it: where all labels are one, to predict no other is right."""
    check(given)
    if len(given.scored.classes) == 1:
        raise DataError(
            f"No score on {given.name}: every row of its {given.split} split has the label "
            f"{given.scored.labels[0]!r}, so to predict no other would be right. Add rows of another class."
        )
    return given


def _splits(folder: str, **rows: int) -> tuple[Split, ...]:
    return tuple(Split(name, f"{folder}/{name}.tsv", count) for name, count in rows.items())


def _unsplit(name: str, about: str, *classes: int) -> PublishedSet:
    return PublishedSet(name, (Split("all", f"{name}/all.tsv", sum(classes), classes),), about=about, columns=TEXTS)


# Sizes of the files that SentEval scores (Conneau and Kiela 2018). CR is often given as 3775; SentEval's file has 3771.
SETS = (
    _unsplit("MR", "film reviews, positive or negative (Pang and Lee 2005)", 5331, 5331),
    _unsplit("CR", "product reviews, positive or negative (Hu and Liu 2004)", 2405, 1366),
    _unsplit("SUBJ", "subjective or objective sentences (Pang and Lee 2004)", 5000, 5000),
    _unsplit("MPQA", "opinions, positive or negative (Wiebe et al. 2005)", 7295, 3311),
    PublishedSet(
        "SST-2",
        _splits("SST2", train=67349, dev=872, test=1821),
        about="film reviews, positive or negative, with phrases in train (Socher et al. 2013)",
        also=("sst",),
        columns=TEXTS,
    ),
    PublishedSet(
        "TREC",
        _splits("TREC", train=5452, test=500),
        about="six types of questions (Li and Roth 2002)",
        classes=6,
        columns=TEXTS,
    ),
    PublishedSet(
        "MRPC",
        _splits("MRPC", train=4076, test=1725),
        about="paraphrase or not (Dolan et al. 2004)",
        columns=LABELLED_PAIRS,
    ),
)


def _glue(name: str, about: str, train: int, dev: int, pairs: bool = True, folder: str = "") -> PublishedSet:
    splits = _splits(folder or f"GLUE/{name}", train=train, dev=dev)
    columns = LABELLED_PAIRS if pairs else TEXTS
    # the names alone are SentEval's for two of them, which have other rows
    also = () if name in ("SST-2", "MRPC") else (plain(name),)
    return PublishedSet(f"GLUE {name}", splits, about=about, columns=columns, also=also)


# of GLUE (Wang et al. 2018) those that SG-BERT fine-tunes on; the labels of their test splits are not published
GLUE = (
    _glue("QNLI", "whether a sentence answers a question (Rajpurkar et al. 2016)", 104743, 5463),
    _glue("SST-2", "film reviews, positive or negative, with phrases in train (Socher et al. 2013)", 67349, 872,
          pairs=False, folder="SST2"),
    _glue("CoLA", "grammatical or not (Warstadt et al. 2019)", 8551, 1043, pairs=False),
    _glue("MRPC", "paraphrase or not (Dolan et al. 2004)", 3668, 408),
    _glue("RTE", "entailment or not (Dagan et al. 2006, and three more)", 2490, 277),
)  # fmt: skip
EVERY = (*SETS, *GLUE)


def names() -> tuple[str, ...]:
    """The names of the sets of SentEval, in the order of papers."""
    return tuple(known.name for known in SETS)


def is_known(name: str) -> bool:
    """Whether a published set has this name, ignoring case and punctuation."""
    return any(plain(name) in (plain(known.name), *known.also) for known in EVERY)


def find(name: str) -> PublishedSet:
    """The published set with this name, ignoring case and punctuation."""
    return sts.named(name, EVERY, "classification set", " Or give a labelled file.")


def available(folder: Path | None = None) -> tuple[str, ...]:
    """The sets whose files are all in the folder."""
    root = data_folder(folder)
    if root is None:
        return ()
    return tuple(known.name for known in EVERY if all((root / split.file).is_file() for split in known.splits))


def files(name: str) -> tuple[Path, ...]:
    """The files that the splits of a set are read from, whether they exist or not."""
    root = data_folder()
    return tuple(root / split.file for split in find(name).splits) if root else ()


def load(
    source: str, columns: Columns | None = None, folder: Path | None = None, folds: bool = True
) -> tuple[LabelledSet, tuple[Report, ...]]:
    """A set by name or path, with a report on each file of the user; `columns` are corrections by role.

    Without `folds`, a set needs no rows for folds, and a dev split can be all that it has besides train.
    """
    is_path = any(mark in source for mark in "/\\.~")
    if not is_path and (is_known(source) or not given_path(source).exists()):
        return _published(source, folder, folds), ()
    return _own_set(given_path(source), columns, folds)


def is_labelled(source: str) -> bool:
    """Whether a source is texts with labels: a task by its name, a file, or a folder with a file for each split."""
    if is_known(source):
        return True
    if sources.is_folder(source):
        return not retrieval_folders.is_retrieval_folder(given_path(source))
    return sources.is_file(source) and table_kind(read_file(source)) == LABELLED_TEXTS


def _published(name: str, folder: Path | None, folds: bool) -> LabelledSet:
    """Load all splits of a set, and check their counts against the published ones."""
    known, root = find(name), data_folder(folder)
    if folds and not known.folds:
        raise DataError(
            f"{known.name} has no test split with labels, so no classifier on fixed vectors is scored on it. Fine-tune "
            "on it instead: evaluate --suite glue."
        )
    missing = [split.file for split in known.splits if root is None or not (root / split.file).is_file()]
    if missing or root is None:
        reason = f"{root} has no {' and no '.join(missing)}" if root else f"{VARIABLE} is not set"
        files = ", ".join(f"{split.file} ({split.rows} rows)" for split in known.splits)
        raise SetNotFound(
            f"{known.name} is not available: {reason}. Set {VARIABLE} to a folder with {files}; the files are "
            f"tab-separated, without quoting, and their first line is: {known.columns}."
        )
    splits = {}
    for split in known.splits:
        title = f"{known.name} {split.name}"
        rows, report = read_labelled(root / split.file, name=title)
        advice = f"{split.file} may be truncated or another version: replace it. {report}"
        if len(rows) != split.rows:
            raise DataError(f"{title} has {len(rows)} rows here, but {split.rows} as published. {advice}")
        found = Counter(rows.labels)
        here = ", ".join(f"{label} {count}" for label, count in found.most_common(10))
        if len(found) != known.classes:
            raise DataError(
                f"{title} has {len(found)} classes here ({here}), but {known.classes} as published. {advice}"
            )
        if split.sizes and sorted(found.values(), reverse=True) != list(split.sizes):
            published = ", ".join(map(str, split.sizes))
            raise DataError(
                f"{title} has classes of other sizes than published. Here: {here}; published: {published}. {advice}"
            )
        if ("sentence2" in known.columns) != bool(rows.second):
            raise DataError(
                f"{title} needs the columns {known.columns}; the second sentence is missing, or is one too many. "
                f"{advice}"
            )
        splits[split.name] = rows
    train = splits.get("all") or splits["train"]
    return check(LabelledSet(known.name, train, splits.get("dev"), splits.get("test")), folds)


def _own_set(path: Path, columns: Columns | None, folds: bool) -> tuple[LabelledSet, tuple[Report, ...]]:
    """The set in a file, or in the train, dev and test files of a folder, with a report on each file.

    Without `folds`, a dev file is enough in place of a test file.
    """
    if not path.is_dir():
        rows, report = read_labelled(path, columns)
        return check(LabelledSet(rows.name, rows), folds), (report,)
    files = {split: _file(path, split) for split in SPLITS}
    scored = "dev" if files["dev"] and not folds else "test"
    missing = [split for split in ("train", scored) if files[split] is None]
    if missing:
        _refuse_scored_pairs(path, [file for file in files.values() if file])
        there = ", ".join(sorted(file.name for file in path.iterdir() if file.is_file())) or "nothing"
        raise DataError(
            f"The folder {path.name} has no {' and no '.join(missing)} file. It has: {there}. Add a file called "
            f"{missing[0]}.tsv (or {', '.join(ENDINGS)}), or give a single file, which is split into folds."
        )
    read_splits = {split: read_labelled(file, columns) for split, file in files.items() if file}
    splits = {split: rows for split, (rows, _) in read_splits.items()}
    found = LabelledSet(path.name, splits["train"], splits.get("dev"), splits.get("test"))
    return check(found, folds), tuple(report for _, report in read_splits.values())


def _refuse_scored_pairs(folder: Path, files: Sequence[Path]) -> None:
    for file in files:
        if table_kind(read_file(file)) == SCORED_PAIRS:
            raise DataError(
                f"The folder {folder.name} has scored pairs in {file.name}, which are no labelled texts. Give that "
                f"file: {file}. A published set, such as STS17, is given by its name."
            )


def _file(folder: Path, split: str) -> Path | None:
    """The file of a split; None if there is none, and an error if there are several."""
    found = sorted(
        file for file in folder.iterdir() if file.stem.lower() in SPLITS[split] and file.suffix.lower() in ENDINGS
    )
    if len(found) > 1:
        names = " and ".join(file.name for file in found)
        raise UnreadableFile(f"The folder {folder.name} has {names} for the {split} split. Remove all but one.")
    return found[0] if found else None
