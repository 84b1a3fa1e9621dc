"""Test that published classification sets are found by name, counted, and refused with what was expected and found."""

import os
from collections import Counter
from pathlib import Path

import pytest

from explorer.data.graded.sts import VARIABLE
from explorer.data.labelled import published_sets
from explorer.data.labelled.labelled_sets import load
from explorer.data.labelled.published_sets import SETS, available, find
from explorer.errors import DataError, SetNotFound

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
def test_every_split_of_the_folder_has_its_published_counts(name: str, split: published_sets.LabelledSplit) -> None:
    if not (FOLDER / split.file).is_file():
        pytest.skip(f"{VARIABLE} names no folder with {split.file}")
    rows = published_sets.load(name, FOLDER).splits[split.name]
    assert len(rows) == len(rows.texts) == split.rows
    assert len(rows.second) == (split.rows if name == "MRPC" else 0)
    assert len(rows.classes) == find(name).classes
    assert not split.classes or sorted(Counter(rows.labels).values(), reverse=True) == list(split.classes)


def test_published_classes_add_up_to_their_split() -> None:
    sizes = {name: split.rows for name, split in SPLITS if split.classes}
    assert sizes == {"MR": 10662, "CR": 3771, "SUBJ": 10000, "MPQA": 10606}
    assert all(sum(split.classes) == split.rows for _, split in SPLITS if split.classes)


@pytest.mark.parametrize(("name", "known"), [("mr", "MR"), ("SST2", "SST-2"), ("sst", "SST-2"), ("Trec", "TREC")])
def test_names_are_taken_as_people_write_them(name: str, known: str) -> None:
    assert find(name).name == known


def test_an_unknown_name_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(SetNotFound, match=r"no classification set 'MRPCS'\. Did you mean 'MRPC'\? There are: MR, CR,"):
        load("MRPCS")


def test_a_whole_set_is_loaded_with_its_splits(tmp_path: Path) -> None:
    _put(tmp_path, "CR/all.tsv", _rows(good=2405, bad=1366))
    found, reports = load("cr", folder=tmp_path)
    assert (found.name, found.split, found.classes, reports) == ("CR", "all", ("bad", "good"), ())
    assert len(found.train) == len(found.scored) == 3771
    assert available(tmp_path) == ("CR",)
    assert available() == ()


def test_the_folder_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _put(tmp_path, "CR/all.tsv", _rows(good=2405, bad=1366))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert len(load("CR")[0].train) == 3771


def test_without_a_folder_the_answer_says_which_files_are_needed() -> None:
    with pytest.raises(SetNotFound, match=r"STRATA_DATA is not set\. Set STRATA_DATA .* MR/all\.tsv \(10662 rows\)"):
        load("MR")


def test_a_missing_split_is_named_and_nothing_is_scored_without_it(tmp_path: Path) -> None:
    _put(tmp_path, "TREC/train.tsv", _rows(a=5452))
    with pytest.raises(SetNotFound, match=r"TREC is not available: .* has no TREC/test\.tsv\. .*TREC/test\.tsv \(500"):
        load("TREC", folder=tmp_path)


def test_a_file_that_is_cut_off_is_refused_with_both_counts(tmp_path: Path) -> None:
    _put(tmp_path, "CR/all.tsv", _rows(good=2405, bad=1365))
    with pytest.raises(DataError, match=r"CR all has 3770 rows here, but 3771 as published\. CR/all\.tsv may be trunc"):
        load("CR", folder=tmp_path)


def test_classes_of_other_sizes_are_refused(tmp_path: Path) -> None:
    _put(tmp_path, "CR/all.tsv", _rows(good=2400, bad=1371))
    with pytest.raises(DataError, match="Here: good 2400, bad 1371; published: 2405, 1366"):
        load("CR", folder=tmp_path)


@pytest.mark.parametrize("classes", [{"A": 500}, {"A": 100, "B": 400}])
def test_a_split_without_all_its_classes_is_refused(tmp_path: Path, classes: dict[str, int]) -> None:
    _put(tmp_path, "TREC/train.tsv", _rows(A=5000, B=100, C=100, D=100, E=100, F=52))
    _put(tmp_path, "TREC/test.tsv", _rows(**classes))
    with pytest.raises(DataError, match=rf"TREC test has {len(classes)} classes here .*, but 6 as published"):
        load("TREC", folder=tmp_path)


def test_pairs_need_both_sentences(tmp_path: Path) -> None:
    for split, rows in (("train", 4076), ("test", 1725)):
        _put(tmp_path, f"MRPC/{split}.tsv", _rows(yes=rows - 100, no=100))
    with pytest.raises(
        DataError, match=r"MRPC train needs the columns label sentence1 sentence2; the second sentence is missing"
    ):
        load("MRPC", folder=tmp_path)


def test_an_empty_split_is_refused(tmp_path: Path) -> None:
    _put(tmp_path, "TREC/train.tsv", _rows(A=5000, B=100, C=100, D=100, E=100, F=52))
    _put(tmp_path, "TREC/test.tsv", "")
    with pytest.raises(DataError, match=r"test\.tsv has column names and no rows"):
        load("TREC", folder=tmp_path)
