"""Test that labelled sets are read with their splits, counted, and refused where no score would be honest."""

import os
from collections import Counter
from pathlib import Path

import pytest

from explorer.data.graded.sts import VARIABLE
from explorer.data.labelled.labelled_sets import SETS, LabelledSet, available, check, find, load
from explorer.data.text_sets import Labelled
from explorer.errors import DataError, SetNotFound, TooFewRows, UnreadableFile, WrongColumns


def _file(folder: Path, name: str, columns: str = "label\ttext", **classes: int) -> Path:
    rows = [f"{label}\tText {at} of {label}." for label, count in classes.items() for at in range(count)]
    path = folder / name
    path.write_text("\n".join([columns, *rows, ""]), encoding="utf-8")
    return path


def _labelled(name: str, *labels: str) -> Labelled:
    return Labelled(name, tuple(f"Text {at}" for at in range(len(labels))), labels)


def test_one_file_is_scored_by_folds(tmp_path):
    found, (report,) = load(str(_file(tmp_path, "mine.tsv", yes=60, no=40)))
    assert (found.name, found.split, found.classes, len(found.scored)) == ("mine.tsv", "all", ("no", "yes"), 100)
    assert report.rows_kept == 100
    assert list(found.splits) == ["all"]


def test_columns_can_be_corrected(tmp_path):
    path = _file(tmp_path, "mine.tsv", "kind\tlabel", yes=60, no=40)
    with pytest.raises(WrongColumns, match="holds no classes"):
        load(str(path))
    assert load(str(path), {"label": "kind", "text": "label"})[0].classes == ("no", "yes")
    with pytest.raises(WrongColumns, match=r"no role 'score'; their roles are text, label, second"):
        load(str(path), {"score": "kind"})


def test_a_folder_has_a_file_for_each_split(tmp_path):
    _file(tmp_path, "train.tsv", yes=60, no=40)
    _file(tmp_path, "test.tsv", yes=3, no=1)
    found, reports = load(str(tmp_path))
    assert (found.name, found.split, len(found.train), found.dev) == (tmp_path.name, "test", 100, None)
    assert (len(found.scored), len(reports), list(found.splits)) == (4, 2, ["train", "test"])
    _file(tmp_path, "validation.tsv", yes=2, no=2)
    with_dev, _ = load(str(tmp_path))
    assert list(with_dev.splits) == ["train", "dev", "test"]
    assert with_dev.digest != found.digest


def test_with_a_dev_split_train_needs_no_folds_and_a_test_split_may_have_one_class_or_no_row(tmp_path):
    for split in ("train", "dev", "test"):
        _file(tmp_path, f"{split}.tsv", yes=5, no=4)
    assert len(load(str(tmp_path))[0].train) == 9
    _file(tmp_path, "train.tsv", yes=60, no=40)
    _file(tmp_path, "test.tsv", no=1)
    assert load(str(tmp_path))[0].scored.classes == ("no",)
    given = LabelledSet("x", _labelled("x", *"ab" * 50), test=_labelled("t"))
    assert (len(given.scored), given.split, list(given.splits)) == (0, "test", ["train", "test"])


ENOUGH = {"yes": 60, "no": 40}


@pytest.mark.parametrize(
    ("files", "error", "why"),
    [
        ({"train": ENOUGH}, DataError, r"has no test file\. It has: train\.tsv\. Add a file called test\.tsv"),
        (dict.fromkeys(("train", "test", "dev", "validation"), ENOUGH), UnreadableFile,
         r"dev\.tsv and validation\.tsv for the dev split\. Remove all but one"),
        ({"train": ENOUGH, "test": {"Yes": 3, "no": 1}}, DataError,
         r"test split .* has the labels 'Yes', which no row of its train .*: 'no', 'yes'"),
        ({"mine": {"yes": 25, "no": 25}}, TooFewRows,
         r"mine\.tsv has 50 rows; 10 folds need at least 100\. Add rows, or give a fol"),
        ({"mine": {"a": 100, "b": 9, "c": 1}}, TooFewRows, "with fewer than 10 rows.*: 'b' 9, 'c' 1. Add rows"),
        ({"mine": {"yes": 200}}, DataError,
         r"Every row of the all split of mine\.tsv has the label 'yes'.*two classes"),
    ],
)  # fmt: skip
def test_a_file_or_folder_that_cannot_be_scored_is_refused(tmp_path, files, error, why):
    paths = [_file(tmp_path, f"{name}.tsv", **classes) for name, classes in files.items()]
    with pytest.raises(error, match=why):
        load(str(paths[0] if "mine" in files else tmp_path))


def test_a_folder_with_the_name_of_a_published_set_is_given_by_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STRATA_DATA", raising=False)
    for folder in ("CR", "mine"):
        (tmp_path / folder).mkdir()
        for split in ("train", "test"):
            _file(tmp_path / folder, f"{split}.tsv", yes=60, no=40)
    assert len(load("./CR")[0].train) == len(load("mine")[0].train) == 100
    with pytest.raises(SetNotFound, match="CR is not available"):
        load("CR")


def test_a_wrong_name_or_path_is_answered_with_those_that_are_right(tmp_path):
    with pytest.raises(UnreadableFile, match=r"There is no file .*mine\.tsv"):
        load(str(tmp_path / "mine.tsv"))
    with pytest.raises(SetNotFound, match=r"STRATA_DATA is not set\. Set STRATA_DATA .* MR/all\.tsv \(10662 rows\)"):
        load("MR")
    with pytest.raises(SetNotFound, match=r"no classification set 'MRPCS'\. Did you mean 'MRPC'\? There are: MR, CR,"):
        load("MRPCS")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (LabelledSet("x", _labelled("x", *"ab" * 50), dev=_labelled("d", "a", "b")), "a dev split and no test split"),
        (LabelledSet("x", _labelled("x", *"ab" * 50), test=_labelled("t")), "The test split of x has no rows"),
        (LabelledSet("x", _labelled("x", *"ab" * 50), test=Labelled("t", ("a",), ("a",), ("b",))), "two in another"),
    ],
)
def test_splits_that_do_not_belong_together_are_refused(given, why):
    with pytest.raises(DataError, match=why):
        check(given)


FOLDER = Path(os.environ.get(VARIABLE) or "no folder")
SPLITS = [(known.name, split) for known in SETS for split in known.splits]


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def _rows(**classes: int) -> str:
    return "".join(f"{label}\tText {at} of {label}.\n" for label, count in classes.items() for at in range(count))


def _put(folder: Path, path: str, rows: str, columns: str = "label\ttext") -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(f"{columns}\n{rows}", encoding="utf-8")


@pytest.mark.parametrize(("name", "split"), SPLITS, ids=lambda value: getattr(value, "name", value))
def test_every_split_of_the_folder_has_its_published_counts(name, split):
    if not (FOLDER / split.file).is_file():
        pytest.skip(f"{VARIABLE} names no folder with {split.file}")
    rows = load(name, folder=FOLDER)[0].splits[split.name]
    assert len(rows) == len(rows.texts) == split.rows
    assert len(rows.second) == (split.rows if name == "MRPC" else 0)
    assert len(rows.classes) == find(name).classes
    assert not split.sizes or sorted(Counter(rows.labels).values(), reverse=True) == list(split.sizes)


def test_published_classes_add_up_to_their_split():
    sizes = {name: split.rows for name, split in SPLITS if split.sizes}
    assert sizes == {"MR": 10662, "CR": 3771, "SUBJ": 10000, "MPQA": 10606}
    assert all(sum(split.sizes) == split.rows for _, split in SPLITS if split.sizes)


@pytest.mark.parametrize(("name", "known"), [("mr", "MR"), ("SST2", "SST-2"), ("sst", "SST-2"), ("Trec", "TREC")])
def test_names_are_taken_as_people_write_them(name, known):
    assert find(name).name == known


def test_a_whole_set_is_loaded_with_its_splits(tmp_path, monkeypatch):
    _put(tmp_path, "CR/all.tsv", _rows(good=2405, bad=1366))
    found, reports = load("cr", folder=tmp_path)
    assert (found.name, found.split, found.classes, reports) == ("CR", "all", ("bad", "good"), ())
    assert len(found.train) == len(found.scored) == 3771
    assert available(tmp_path) == ("CR",)
    assert available() == ()
    _put(tmp_path, "CR/all.tsv", _rows(good=2405, bad=1366))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert len(load("CR")[0].train) == 3771


SIX = {"A": 5000, "B": 100, "C": 100, "D": 100, "E": 100, "F": 52}


@pytest.mark.parametrize(
    ("name", "files", "error", "why"),
    [
        ("CR", {"all": {"good": 2405, "bad": 1365}}, DataError,
         r"CR all has 3770 rows here, but 3771 as published\. CR/a"),
        ("CR", {"all": {"good": 2400, "bad": 1371}}, DataError, "Here: good 2400, bad 1371; published: 2405, 1366"),
        ("TREC", {"train": SIX, "test": {"A": 500}}, DataError, "TREC test has 1 classes here .*, but 6 as published"),
        ("TREC", {"train": SIX, "test": {"A": 100, "B": 400}}, DataError,
         "TREC test has 2 classes here .*, but 6 as pu"),
        ("TREC", {"train": SIX, "test": {}}, DataError, r"test\.tsv has column names and no rows"),
        ("TREC", {"train": {"a": 5452}}, SetNotFound,
         r"TREC is not available: .* has no TREC/test\.tsv\. .*TREC/test\.tsv \(500"),
        ("MRPC", {"train": {"yes": 3976, "no": 100}, "test": {"yes": 1625, "no": 100}}, DataError,
         "MRPC train needs the columns label sentence1 sentence2; the second sentence is missing"),
    ],
)  # fmt: skip
def test_files_other_than_the_published_ones_are_refused(tmp_path, name, files, error, why):
    for split, classes in files.items():
        _put(tmp_path, f"{name}/{split}.tsv", _rows(**classes))
    with pytest.raises(error, match=why):
        load(name, folder=tmp_path)
