"""Load labelled sets: those of SentEval and GLUE, whose sizes are checked, and the user's own files and folders."""

import difflib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from explorer.data import sources
from explorer.data.graded.sts import VARIABLE, data_folder
from explorer.data.labelled.labelled_set import LabelledSet, check
from explorer.data.retrieval import beir_folder
from explorer.data.tables.columns import plain, table_kind
from explorer.data.tables.files import ENDINGS, read_file
from explorer.data.tables.text_rows import Report, read_labelled
from explorer.data.text_sets import LABELLED_TEXTS, Labelled
from explorer.errors import DataError, SetNotFound, UnreadableFile
from explorer.places import given_path

# names of files without their ending; within a split the names are equivalent
SPLITS = {"train": ("train", "training"), "dev": ("dev", "validation", "valid", "val"), "test": ("test",)}

Columns = Mapping[str, str | None]


@dataclass(frozen=True)
class LabelledSplit:
    """One split of a set: its file in a folder, and the number of rows of each class, largest first, if published."""

    name: str  # "all" for a set without splits
    file: str
    rows: int
    classes: tuple[int, ...] = ()


@dataclass(frozen=True)
class PublishedSet:
    """The description of one set."""

    name: str
    about: str
    splits: tuple[LabelledSplit, ...]
    classes: int = 2
    columns: str = "label text"
    also: tuple[str, ...] = ()  # other names, normalised by `plain`

    @property
    def folds(self) -> bool:
        """Whether a classifier on fixed vectors can be scored on it; not on a dev split alone."""
        return any(split.name in ("all", "test") for split in self.splits)


def _unsplit(name: str, about: str, *classes: int) -> PublishedSet:
    return PublishedSet(name, about, (LabelledSplit("all", f"{name}/all.tsv", sum(classes), classes),))


# Sizes of the files that SentEval scores (Conneau and Kiela 2018). CR is often given as 3775; SentEval's file has 3771.
SETS = (
    _unsplit("MR", "film reviews, positive or negative (Pang and Lee 2005)", 5331, 5331),
    _unsplit("CR", "product reviews, positive or negative (Hu and Liu 2004)", 2405, 1366),
    _unsplit("SUBJ", "subjective or objective sentences (Pang and Lee 2004)", 5000, 5000),
    _unsplit("MPQA", "opinions, positive or negative (Wiebe et al. 2005)", 7295, 3311),
    PublishedSet(
        "SST-2",
        "film reviews, positive or negative, with phrases in train (Socher et al. 2013)",
        (
            LabelledSplit("train", "SST2/train.tsv", 67349),
            LabelledSplit("dev", "SST2/dev.tsv", 872),
            LabelledSplit("test", "SST2/test.tsv", 1821),
        ),
        also=("sst",),
    ),
    PublishedSet(
        "TREC",
        "six types of questions (Li and Roth 2002)",
        (LabelledSplit("train", "TREC/train.tsv", 5452), LabelledSplit("test", "TREC/test.tsv", 500)),
        classes=6,
    ),
    PublishedSet(
        "MRPC",
        "paraphrase or not (Dolan et al. 2004)",
        (LabelledSplit("train", "MRPC/train.tsv", 4076), LabelledSplit("test", "MRPC/test.tsv", 1725)),
        columns="label sentence1 sentence2",
    ),
)


def _glue(name: str, about: str, train: int, dev: int, pairs: bool = True, folder: str = "") -> PublishedSet:
    files = folder or f"GLUE/{name}"
    splits = LabelledSplit("train", f"{files}/train.tsv", train), LabelledSplit("dev", f"{files}/dev.tsv", dev)
    columns = "label sentence1 sentence2" if pairs else "label text"
    # the names alone are SentEval's for two of them, which have other rows
    also = () if name in ("SST-2", "MRPC") else (plain(name),)
    return PublishedSet(f"GLUE {name}", about, splits, columns=columns, also=also)


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
    by_name = {as_plain: known for known in EVERY for as_plain in (plain(known.name), *known.also)}
    if plain(name) in by_name:
        return by_name[plain(name)]
    near = difflib.get_close_matches(plain(name), by_name, n=1, cutoff=0.7)
    hint = f" Did you mean {by_name[near[0]].name!r}?" if near else ""
    raise SetNotFound(
        f"There is no classification set {name!r}.{hint} There are: {', '.join(known.name for known in EVERY)}. "
        "Or give a labelled file."
    )


def available(folder: Path | None = None) -> tuple[str, ...]:
    """The sets whose files are all in the folder."""
    root = data_folder(folder)
    if root is None:
        return ()
    return tuple(known.name for known in EVERY if all((root / split.file).is_file() for split in known.splits))


def files(name: str, folder: Path | None = None) -> tuple[Path, ...]:
    """The files that the splits of a set are read from, whether they exist or not."""
    root = data_folder(folder)
    return tuple(root / split.file for split in find(name).splits) if root else ()


def _published(name: str, folder: Path | None, folds: bool) -> LabelledSet:
    """Load all splits of a set, and check their counts against the published ones."""
    known, root = find(name), data_folder(folder)
    if folds and not known.folds:
        raise DataError(
            f"{known.name} has no test split with labels, so no classifier on fixed vectors is scored on it. Fine-tune "
            "on it instead: evaluate --suite glue."
        )
    missing = [split for split in known.splits if root is None or not (root / split.file).is_file()]
    if missing or root is None:
        raise SetNotFound(_where_to_get(known, missing, root))
    splits = {split.name: _read(known, split, root) for split in known.splits}
    train = splits.get("all") or splits["train"]
    return check(LabelledSet(known.name, train, splits.get("dev"), splits.get("test")), folds)


def _read(known: PublishedSet, split: LabelledSplit, root: Path) -> Labelled:
    """One split, if its counts are as published."""
    title = f"{known.name} {split.name}"
    rows, report = read_labelled(root / split.file, name=title)
    advice = f"{split.file} may be truncated or another version: replace it. {report}"
    if len(rows) != split.rows:
        raise DataError(f"{title} has {len(rows)} rows here, but {split.rows} as published. {advice}")
    found = Counter(rows.labels)
    here = ", ".join(f"{label} {count}" for label, count in found.most_common(10))
    if len(found) != known.classes:
        raise DataError(f"{title} has {len(found)} classes here ({here}), but {known.classes} as published. {advice}")
    if split.classes and sorted(found.values(), reverse=True) != list(split.classes):
        published = ", ".join(map(str, split.classes))
        raise DataError(f"{title} has classes of other sizes than published. Here: {here}; published: {published}. "
                        f"{advice}")  # fmt: skip
    if ("sentence2" in known.columns) != bool(rows.second):
        raise DataError(
            f"{title} needs the columns {known.columns}; the second sentence is missing, or is one too many. {advice}"
        )
    return rows


def _where_to_get(known: PublishedSet, missing: list[LabelledSplit], root: Path | None) -> str:
    reason = f"{root} has no {' and no '.join(split.file for split in missing)}" if root else f"{VARIABLE} is not set"
    files = ", ".join(f"{split.file} ({split.rows} rows)" for split in known.splits)
    return (
        f"{known.name} is not available: {reason}. Set {VARIABLE} to a folder with {files}; the files are "
        f"tab-separated, without quoting, and their first line is: {known.columns}."
    )


def load(
    source: str, columns: Columns | None = None, folder: Path | None = None, folds: bool = True
) -> tuple[LabelledSet, tuple[Report, ...]]:
    """A set by name or path, with a report on each file of the user; `columns` are corrections by role.

    Without `folds`, a set needs no rows for folds, and a dev split can be all that it has besides train.
    """
    if _is_name(source):
        return _published(source, folder, folds), ()
    return _own_set(given_path(source), columns, folds)


def is_labelled(source: str) -> bool:
    """Whether a source is texts with labels: a task by its name, a file, or a folder with a file for each split."""
    if is_known(source):
        return True
    if sources.is_folder(source):
        return not beir_folder.is_retrieval_folder(given_path(source))
    if not sources.is_file(source):
        return False
    return table_kind(read_file(source)) == LABELLED_TEXTS


def _is_name(source: str) -> bool:
    """Whether a source is the name of a published set, or neither looks like a path nor is one."""
    if any(mark in source for mark in "/\\.~"):
        return False
    return is_known(source) or not given_path(source).exists()


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
        there = ", ".join(sorted(file.name for file in path.iterdir() if file.is_file())) or "nothing"
        raise DataError(
            f"The folder {path.name} has no {' and no '.join(missing)} file. It has: {there}. Add a file called "
            f"{missing[0]}.tsv (or {', '.join(ENDINGS)}), or give a single file, which is split into folds."
        )
    read_splits = {split: read_labelled(file, columns) for split, file in files.items() if file}
    splits = {split: rows for split, (rows, _) in read_splits.items()}
    found = LabelledSet(path.name, splits["train"], splits.get("dev"), splits.get("test"))
    return check(found, folds), tuple(report for _, report in read_splits.values())


def _file(folder: Path, split: str) -> Path | None:
    """The file of a split; None if there is none, and an error if there are several."""
    found = sorted(
        file for file in folder.iterdir() if file.stem.lower() in SPLITS[split] and file.suffix.lower() in ENDINGS
    )
    if len(found) > 1:
        names = " and ".join(file.name for file in found)
        raise UnreadableFile(f"The folder {folder.name} has {names} for the {split} split. Remove all but one.")
    return found[0] if found else None
