"""Test which passages a named corpus has, and that it changes what is searched and nothing that is judged."""

import json

import pytest

from explorer.data.retrieval_sets import Passages, among, of_pairs
from explorer.data.sources import passages
from explorer.errors import DataError


def test_a_file_has_a_passage_in_each_row_and_equal_ones_once(tmp_path):
    (tmp_path / "corpus.txt").write_text("one  passage\nanother one\none passage\n\na third\n")
    found = passages(str(tmp_path / "corpus.txt"))
    assert found == Passages("corpus.txt", ("one passage", "another one", "a third"))


def test_of_queries_and_passages_the_passages_are_read(tmp_path):
    (tmp_path / "pairs.tsv").write_text("query\tpassage\nwhat is it\tit is a thing\nwho is it\tit is a man\n")
    assert passages(str(tmp_path / "pairs.tsv")).texts == ("it is a thing", "it is a man")


def test_a_title_is_put_before_its_text_as_in_beir(tmp_path):
    rows = [{"_id": "1", "title": "A title", "text": "its text"}, {"_id": "2", "title": "", "text": "another text"}]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    expected = "A title its text", "another text"
    assert passages(str(tmp_path / "corpus.jsonl")).texts == expected
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "what?"}))
    assert passages(str(tmp_path)).texts == expected, "of a folder in BEIR's layout the queries are no passages"


def test_a_folder_has_the_passages_of_all_its_files(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "b.txt").write_text("the third\nthe first\n")
    (folder / "a.tsv").write_text("text\nthe first\nthe second\n")
    (folder / "picture.png").write_bytes(b"no text")
    assert passages(str(folder)) == Passages("corpus", ("the first", "the second", "the third"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="has no files of passages"):
        passages(str(tmp_path / "empty"))


def test_equal_passages_are_one_document_and_judgements_stay():
    given = of_pairs("set", ["q 1", "q 2"], ["p 1", "p 2"])
    found = among(given, Passages("corpus", ("p 2", "other", "p 1", "more")))
    assert found.documents == ("p 1", "p 2", "other", "more")
    assert (found.queries, found.judgements) == (given.queries, given.judgements)
    assert found.pool == 4
    assert found.name == "set among corpus"
    assert found.digest != given.digest, "the corpus is part of what is scored"
    assert among(given, Passages("corpus", ("p 2",))).digest == given.digest, "it adds nothing"
    assert found.sentences == given.sentences, "texts that are judged are those of the pairs"
