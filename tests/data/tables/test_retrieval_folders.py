"""Test retrieval sets in BEIR's layout: what is read, and the errors for what cannot be used."""

import json

import pytest

from explorer.data.tables import retrieval_folders
from explorer.errors import BadScores, TooFewRows, UnreadableFile, WrongColumns

DOCUMENTS = [
    {"_id": "d1", "title": "Owls", "text": "They hunt at night.", "metadata": {"page": 1}},
    {"_id": "d2", "title": "", "text": "Bread rises in a warm place.", "metadata": {}},
    {"_id": "d3", "title": "", "text": "", "metadata": {}},
    {"_id": "d4", "title": "", "text": "Bread rises in a warm place.", "metadata": {}},
]
QUESTIONS = [{"_id": f"q{at}", "text": text} for at, text in enumerate(("night birds", "baking", "tax"), start=1)]
HEADER = "query-id\tcorpus-id\tscore"
JUDGED = ["q1\td1\t2", "q2\td2\t1", "q2\td4\t1", "q2\td1\t0"]


@pytest.fixture
def folder(tmp_path):
    """A set of which one query has no relevant document, and one document no text."""
    write(tmp_path / "corpus.jsonl", map(json.dumps, DOCUMENTS))
    write(tmp_path / "queries.jsonl", map(json.dumps, QUESTIONS))
    judge(tmp_path, *JUDGED)
    return tmp_path


def write(file, lines):
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def judge(folder, *rows, split="test"):
    write(folder / "qrels" / f"{split}.tsv", [HEADER, *rows])


def test_queries_documents_and_grades_are_read_and_what_is_left_out_is_reported(folder):
    found = retrieval_folders.read(folder)
    assert (found.name, found.split, len(found)) == (folder.name, "test", 2)
    assert found.queries == ("night birds", "baking")
    assert found.documents == ("Owls They hunt at night.", *["Bread rises in a warm place."] * 2)
    assert found.judgements == ({0: 2}, {1: 1, 2: 1})
    assert retrieval_folders.read(folder).counts == {
        "queries without a relevant document (excluded)": 1,
        "judgements with grade 0 (not relevant)": 1,
        "documents without text (left out)": 1,
        "documents with the text of an earlier one": 1,
    }


def test_the_digest_is_of_the_content_and_the_test_split_is_read_unless_another_is_named(folder, tmp_path_factory):
    first = retrieval_folders.read(folder)
    judge(folder, *JUDGED, split="dev")
    assert retrieval_folders.read(folder, "dev").digest == first.digest
    judge(folder, *JUDGED[:-2])
    assert retrieval_folders.read(folder).digest != first.digest
    judge(folder, "q3\td1\t1", split="dev")
    assert retrieval_folders.read(folder).split == "test"
    assert retrieval_folders.read(folder, "dev").queries == ("tax",)
    with pytest.raises(UnreadableFile, match=r"no split 'train' of judgements\. It has: test, dev"):
        retrieval_folders.read(folder, "train")


def test_one_file_of_judgements_and_other_formats_are_enough(tmp_path):
    write(tmp_path / "corpus.csv", ["id,text", "7,Owls hunt at night."])
    write(tmp_path / "queries.tsv", ["id\ttext", "1\tnight birds"])
    write(tmp_path / "qrels.csv", ["query_id,corpus_id,score", "1,7,1"])
    found = retrieval_folders.read(tmp_path)
    assert (found.split, found.judgements) == ("all", ({0: 1},))


def test_only_a_folder_with_a_corpus_is_one(folder, tmp_path):
    assert retrieval_folders.is_retrieval_folder(folder)
    assert not retrieval_folders.is_retrieval_folder(folder / "qrels")
    assert not retrieval_folders.is_retrieval_folder(folder / "corpus.jsonl")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["q9\td1\t1"], r"1 judgements name queries that are not there: 'q9'\. Remove these rows"),
        (["q1\td9\t1", "q2\td8\t1"], "2 judgements name documents that are not there: 'd9', 'd8'"),
        (["q1\td3\t1"], "1 judgements name documents without text: 'd3'"),
        (["q1\td1\t0.5"], r"no whole number of 0 or more for a grade: '0\.5'\. Write 0"),
        (["q1\td1\t" + "9" * 5000], "no whole number of 0 or more for a grade"),
        (["q1\td1\t-1"], "no whole number of 0 or more for a grade: '-1'"),
        (["q1\td1\t٣"], "no whole number of 0 or more for a grade: '٣'"),
        (["q1\td1\t1", "q1\td1\t2"], "another grade than a later one of the same query and document: 'q1 with d1'"),
    ],
)
def test_judgements_that_cannot_be_used_are_named(folder, rows, told):
    judge(folder, *rows)
    with pytest.raises(BadScores, match=told):
        retrieval_folders.read(folder)


def test_many_wrong_judgements_make_a_short_message(folder):
    judge(folder, *(f"q{at}\td1\t1" for at in range(10, 40)))
    with pytest.raises(BadScores, match=r"30 judgements .*'q10', 'q11', 'q12', 'q13', 'q14', …"):
        retrieval_folders.read(folder)


def test_a_set_without_a_relevant_document_or_of_unclear_files_is_refused(folder):
    judge(folder, "q1\td1\t0")
    with pytest.raises(TooFewRows, match="3 queries and 1 judgements, and no query with a relevant document"):
        retrieval_folders.read(folder)
    write(folder / "qrels" / "test.tsv", ["query-id\tpassage\tscore", "q1\td1\t1"])
    with pytest.raises(WrongColumns, match=r"no column corpus-id.*Rename one of them to corpus-id"):
        retrieval_folders.read(folder)
    write(folder / "corpus.tsv", ["_id\ttext", "d1\tOwls."])
    with pytest.raises(UnreadableFile, match=r"corpus\.jsonl and corpus\.tsv for corpus\. Remove all but one"):
        retrieval_folders.read(folder)


def test_an_id_that_occurs_twice_and_a_query_without_text_are_refused(folder):
    write(folder / "queries.jsonl", map(json.dumps, [*QUESTIONS, {"_id": "q4", "text": " "}]))
    with pytest.raises(TooFewRows, match="1 queries without text: 'q4'"):
        retrieval_folders.read(folder)
    write(folder / "corpus.jsonl", map(json.dumps, [*DOCUMENTS, DOCUMENTS[0]]))
    with pytest.raises(UnreadableFile, match="1 ids occur more than once: 'd1'"):
        retrieval_folders.read(folder)


@pytest.mark.parametrize("file", ["queries.jsonl", "qrels/test.tsv"])
def test_a_file_that_is_missing_is_asked_for(folder, file):
    (folder / file).unlink()
    with pytest.raises(UnreadableFile, match=r"Add (queries\.jsonl|qrels/test\.tsv)"):
        retrieval_folders.read(folder)
