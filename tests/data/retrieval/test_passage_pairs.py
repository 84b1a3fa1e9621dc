"""Test retrieval sets made of pairs of a query and a passage."""

import pytest

from explorer.data.retrieval import passage_pairs
from explorer.data.tables.files import read_bytes
from explorer.errors import TooFewRows

ROWS = "query,passage\nnight birds,Owls hunt at night.\nbaking,Bread rises.\nnight birds,Bats are no birds.\n"


def test_the_passages_of_all_pairs_are_the_documents():
    found, report = passage_pairs.read(read_bytes("pairs.csv", ROWS.encode()))
    assert found.queries == ("night birds", "baking")
    assert found.documents == ("Owls hunt at night.", "Bread rises.", "Bats are no birds.")
    assert found.judgements == ({0: 1, 2: 1}, {1: 1})
    assert (found.name, found.split, report.rows_kept) == ("pairs.csv", "all", 3)


def test_a_passage_of_two_queries_is_one_document():
    found, _ = passage_pairs.read(read_bytes("pairs.csv", (ROWS + "flying,Owls hunt at night.\n").encode()))
    assert found.documents.count("Owls hunt at night.") == 1
    assert found.judgements == ({0: 1, 2: 1}, {1: 1}, {0: 1})


def test_a_passage_that_is_its_own_query_is_dropped():
    found, report = passage_pairs.read(read_bytes("pairs.csv", (ROWS + "baking,baking\n").encode()))
    assert "baking" not in found.documents
    assert report.rows_kept == 3


def test_a_file_without_a_whole_pair_is_refused():
    with pytest.raises(TooFewRows):
        passage_pairs.read(read_bytes("pairs.csv", b"query,passage\nnight birds,\n"))
