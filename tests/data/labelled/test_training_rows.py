"""Test how labelled sources are divided into rows to train on, to validate and to test."""

from dataclasses import replace

import pytest

from explorer.data import sample
from explorer.data.labelled.labelled_sets import LabelledSet, load
from explorer.data.labelled.training_rows import OTHER, SAME, divided, joined, read, undivided
from explorer.data.text_sets import Labelled
from explorer.errors import DataError, SetNotFound, TooFewRows


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
    with pytest.raises(
        TooFewRows, match=r"x has 9 rows to choose the checkpoint by; at least 10 are needed\. They are"
    ):
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
