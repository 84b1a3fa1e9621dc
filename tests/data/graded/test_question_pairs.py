"""Test question pairs: what is a query, a document and an answer, and files that cannot be used."""

import os
from pathlib import Path

import pytest

from explorer.data.graded import question_pairs
from explorer.data.graded.question_pairs import FILE, load, read
from explorer.errors import BadScores, DataError, SetNotFound, TooFewRows, UnreadableFile, WrongColumns

FOLDER = Path(os.environ.get("STRATA_DATA") or "no folder")
ROWS = ("1\tWhy?\tHow so?", "0\tWhy?\tWho?", "1\tWhy?\tFor what  reason?", "0\tWhen?\tHow so?", "1\tWho?\tWho?")


def put(folder, *rows, header="label\tsentence1\tsentence2", name="questions.tsv"):
    path = folder / name
    path.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    return path


def test_equal_questions_are_one_query_or_one_document(tmp_path):
    found = read(put(tmp_path, *ROWS)).collection
    assert found.queries == ("Why?", "Who?"), "'When?' has no answer"
    assert (found.counted[0], found.documents) == (1, ("How so?", "Who?", "For what reason?"))
    assert found.judgements == ({0: 1, 2: 1}, {1: 1})


def test_ids_decide_which_questions_are_the_same(tmp_path):
    rows = ("7\t8\tWhy?\tHow so?\t1", "9\t10\tWhy?\tHow so?\t0", "7\t11\tWhy ?\tWho?\t1", "12\t8\tWhen?\tHow so ?\t1")
    pairs = read(put(tmp_path, *rows, header="qid1\tqid2\tquestion1\tquestion2\tis_duplicate"))
    found = pairs.collection
    assert found.queries == ("Why?", "When?")
    assert found.counted[0] == 1, "the second 'Why?' is another question"
    assert found.documents == ("How so?", "How so?", "Who?")
    assert found.judgements == ({0: 1, 2: 1}, {0: 1})
    assert pairs.ids is not None


def test_rows_without_a_question_are_dropped_and_the_name_is_that_of_the_file_unless_one_is_given(tmp_path):
    path = put(tmp_path, *ROWS)
    assert (read(path).name, read(path).split) == ("questions.tsv", "all")
    assert (read(path, "Mine", "test").name, read(path, "Mine", "test").split) == ("Mine", "test")
    pairs = read(put(tmp_path, *ROWS, "1\t \tWho?", "x\tWho?\t", "1\tonly two fields"))
    assert (len(pairs), pairs.dropped) == (5, 3)


def test_the_digest_is_that_of_the_task(tmp_path):
    one = read(put(tmp_path, *ROWS)).collection.digest
    assert read(put(tmp_path, *ROWS, name="other.tsv")).collection.digest == one
    assert read(put(tmp_path, *ROWS[:4], ROWS[4].replace("1", "0"))).collection.digest != one, "another answer"
    more = read(put(tmp_path, ROWS[0], ROWS[1].replace("0", "1"), *ROWS[2:])).collection
    assert more.digest != one, "another answer of the same query"
    assert read(put(tmp_path, *ROWS, "0\tWhy?\tOne more?")).collection.digest != one, "another document"


@pytest.mark.parametrize(
    ("rows", "header", "error", "found"),
    [
        (("0\tWhy?\tHow?",), "label\tsentence1\tsentence2", TooFewRows, "no pair with label 1 among 1 pairs"),
        (("1\tWhy?\tHow?",), "label\tsentence1\tanswer", WrongColumns, "no column sentence2 or question2.*answer"),
        (("1\tWhy?\tHow?",), "grade\tsentence1\tsentence2", WrongColumns, "no column label or is_duplicate.*grade"),
        (("1\t\tHow?",), "label\tsentence1\tsentence2", TooFewRows, "1 rows, and none with two questions"),
        (("2\tWhy?\tHow?", "1\tA?\tB?"), "label\tsentence1\tsentence2", BadScores, r"1 labels .* '2' \(line 2\)"),
    ],
)
def test_a_file_that_cannot_be_used_says_what_was_expected_and_found(tmp_path, rows, header, error, found):
    with pytest.raises(error, match=found) as raised:
        read(put(tmp_path, *rows, header=header))
    assert "Expected" in str(raised.value)


def test_a_file_that_is_missing_or_empty_is_named_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("STRATA_DATA", raising=False)
    with pytest.raises(SetNotFound, match=r"names no folder.*QQP/dev\.tsv.*file of your own"):
        load()
    with pytest.raises(DataError, match=r"there is no .*dev"):
        load(tmp_path)
    (tmp_path / "empty.tsv").touch()
    with pytest.raises(UnreadableFile, match=r"empty\.tsv is empty"):
        read(tmp_path / "empty.tsv")


def test_the_questions_are_found_in_the_folder_of_the_variable(tmp_path, monkeypatch):
    (tmp_path / FILE).parent.mkdir()
    put((tmp_path / FILE).parent, *ROWS, name="dev.tsv")
    monkeypatch.setenv("STRATA_DATA", str(tmp_path))
    assert (load().name, load().split, len(load())) == ("Quora search", "dev", 5)


@pytest.mark.skipif(not (FOLDER / FILE).is_file(), reason=f"{FILE} is not in the folder STRATA_DATA names")
def test_the_published_slice_is_counted_as_by_a_loop():
    pairs = load(FOLDER)
    lines = (FOLDER / FILE).read_text(encoding="utf-8").splitlines()[1:]
    rows = [[" ".join(cell.split()) for cell in line.split("\t")[:3]] for line in lines]
    gold = {}
    for label, first, second in rows:
        if label == "1":
            gold.setdefault(first, set()).add(second)
    found = pairs.collection
    assert len(pairs) == len(rows) == 9917
    assert set(found.documents) == {second for _, _, second in rows}
    assert len(found.documents) == len(set(found.documents))
    assert {
        query: {found.documents[at] for at in answers}
        for query, answers in zip(found.queries, found.judgements, strict=True)
    } == gold
    assert found.counted[0] == len({first for _, first, _ in rows} - set(gold))
    assert pairs.name == question_pairs.TASK
