"""Test that labelled sets are read with their splits, refused where no score is honest, and divided for training."""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.data import sample
from explorer.data.graded.sts import VARIABLE
from explorer.data.labelled.labelled_sets import SETS, LabelledSet, available, check, find, load
from explorer.data.labelled.training_rows import OTHER, SAME, divided, joined, read, undivided
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
        ({"mine": {"a": 100, "b": 2, "c": 1}}, TooFewRows,
         "one class with at least 3 rows; folds need two. The next one, 'b', has 2. Add rows"),
        ({"mine": {"yes": 200}}, DataError,
         r"Every row of the all split of mine\.tsv has the label 'yes'.*two classes"),
    ],
)  # fmt: skip
def test_a_file_or_folder_that_cannot_be_scored_is_refused(tmp_path, files, error, why):
    paths = [_file(tmp_path, f"{name}.tsv", **classes) for name, classes in files.items()]
    with pytest.raises(error, match=why):
        load(str(paths[0] if "mine" in files else tmp_path))


def test_classes_with_few_rows_are_scored_and_named_in_the_report(tmp_path):
    found, (report,) = load(str(_file(tmp_path, "mine.tsv", a=100, b=9, c=1)))
    assert (len(found.scored), report.rare) == (110, (("b", 9), ("c", 1)))
    assert "classes with fewer than 10 rows: 'b' 9, 'c' 1" in str(report)
    _, (report,) = load(str(_file(tmp_path, "enough.tsv", a=100, b=10)))
    assert report.rare == ()
    assert "classes" not in str(report)


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


def labelled(name, rows, second=False):
    texts = tuple(f"{name} {row}" for row in range(rows))
    labels = tuple("ab"[row % 2] for row in range(rows))
    return Labelled(name, texts, labels, tuple(f"{text} too" for text in texts) if second else ())


def put(folder, split, rows, labels="ab"):
    lines = [f"{labels[row % len(labels)]}\t{split} {row}" for row in range(rows)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{split}.tsv").write_text("\n".join(["label\ttext", *lines, ""]), encoding="utf-8")


@pytest.mark.parametrize("use", ["dev", "test"])
def test_the_first_tenth_of_the_scored_split_validates(use):
    scored = labelled("scored", 277, second=True)
    found, _ = divided(LabelledSet("x", labelled("train", 40, second=True), **{use: scored}))
    assert found.train.texts == labelled("train", 40).texts
    assert (len(found.dev), len(found.test)) == (27, 250)
    assert found.dev.texts + found.test.texts == scored.texts
    assert found.dev.second + found.test.second == scored.second
    assert found.dev.labels + found.test.labels == scored.labels


def test_three_splits_stay_as_they_are():
    given = LabelledSet("x", labelled("train", 40), labelled("dev", 20), labelled("test", 30))
    found, _ = divided(given)
    assert (found.train, found.dev, found.test) == (given.train, given.dev, given.test)


def test_rows_without_splits_are_divided_by_their_text_and_no_sentence_is_in_two_parts():
    rows = labelled("all", 300, second=True)
    rows = replace(rows, second=tuple(rows.texts[(row + 1) % 15] if row < 15 else two
                                      for row, two in enumerate(rows.second)))  # fmt: skip
    found, _ = divided(LabelledSet("x", rows))
    parts = found.train, found.dev, found.test
    assert [len(part) for part in parts] == [240, 30, 30]
    texts = [{*part.texts, *part.second} for part in parts]
    assert not texts[0] & texts[1] | texts[0] & texts[2] | texts[1] & texts[2]
    every = sorted(row for part in parts for row in zip(part.texts, part.second, part.labels, strict=True))
    assert every == sorted(zip(rows.texts, rows.second, rows.labels, strict=True))
    backwards = Labelled("other", rows.texts[::-1], rows.labels[::-1], rows.second[::-1])
    assert set(divided(LabelledSet("y", backwards))[0].test.texts) == set(found.test.texts)


def test_for_a_method_that_predicts_no_classes_no_row_is_held_out():
    rows = labelled("all", 30, second=True)
    found, division = undivided(LabelledSet("x", rows))
    assert (found.train, found.dev, found.test) == (rows, None, None)
    assert division == "x: 30 rows to train on"
    given = LabelledSet("y", labelled("train", 40, second=True), labelled("dev", 20, second=True), labelled("test", 5))
    kept, other = undivided(given)
    assert (kept.train, kept.dev, kept.test) == (given.train, None, None)
    assert other == "y: 40 rows to train on; its dev and test splits are not used"
    corpus = joined([(found, division), (kept, other)])
    assert (len(corpus), corpus.validation, corpus.test) == (70, None, None)
    (found, _), _ = read("sample")
    assert len(read("sample", divide=False)[0][0].train) == sum(map(len, (found.train, found.dev, found.test)))
    with pytest.raises(DataError, match="Every row of the all split of x has the label 'a'"):
        undivided(LabelledSet("x", replace(rows, labels=("a",) * 30)))


def test_a_triplet_is_two_labelled_pairs():
    (found, division), reports = read("sample")
    assert reports == ()
    parts = found.train, found.dev, found.test
    every = [row for part in parts for row in zip(part.texts, part.second, part.labels, strict=True)]
    rows = {(first, second): label for first, second, label in every}
    triplets = sample.triplets()
    assert len(rows) == 2 * len(triplets) == 320
    for anchor, positive, negative in zip(triplets.anchors, triplets.positives, triplets.negatives, strict=True):
        assert (rows[anchor, positive], rows[anchor, negative]) == (SAME, OTHER)
    assert "256 rows to train on, 32 to validate, 32 to test" in division


def test_a_folder_needs_no_test_file_to_fine_tune(tmp_path):
    put(tmp_path / "mine", "train", 30)
    put(tmp_path / "mine", "dev", 100)
    (found, _), reports = read(str(tmp_path / "mine"))
    assert [len(part) for part in (found.train, found.dev, found.test)] == [30, 10, 90]
    assert [report.rows_kept for report in reports] == [30, 100]


def test_too_few_rows_to_validate_and_a_label_that_is_not_trained_are_refused(tmp_path):
    with pytest.raises(TooFewRows, match=r"x has 139 rows, and 9 of them would choose the checkpoint; at least 10 are"):
        divided(LabelledSet("x", labelled("train", 40), dev=labelled("dev", 99)))
    put(tmp_path / "mine", "train", 30)
    put(tmp_path / "mine", "dev", 100, "abc")
    with pytest.raises(DataError, match=r"has the labels 'c', which no row of its train split has"):
        read(str(tmp_path / "mine"))


@pytest.mark.parametrize(
    ("name", "files", "train", "dev"),
    [("GLUE QNLI", "GLUE/QNLI", 104743, 5463), ("GLUE SST-2", "SST2", 67349, 872), ("cola", "GLUE/CoLA", 8551, 1043),
     ("glue-mrpc", "GLUE/MRPC", 3668, 408), ("RTE", "GLUE/RTE", 2490, 277)],
)  # fmt: skip
def test_a_set_of_glue_names_its_files_and_their_rows(tmp_path, monkeypatch, name, files, train, dev):
    monkeypatch.setenv("STRATA_DATA", str(tmp_path))
    with pytest.raises(SetNotFound, match=rf"{files}/train\.tsv \({train} rows\), {files}/dev\.tsv \({dev} rows\)"):
        read(name)
    put(tmp_path / files, "train", 30)
    put(tmp_path / files, "dev", 100)
    with pytest.raises(DataError, match=f"30 rows here, but {train} as published"):
        read(name)


def test_a_set_without_test_labels_is_not_scored_with_fixed_vectors():
    with pytest.raises(DataError, match=r"GLUE RTE has no test split with labels.*evaluate --suite glue"):
        load("GLUE RTE")
