"""Test that a file of queries with their passages is a retrieval set, and which files are not."""

import pytest

from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.text_sets import GradedPairs
from explorer.errors import TooFewRows
from explorer.evaluating import tasks
from explorer.evaluating.results.scored_task import Options

ROWS = "query,passage\nnight birds,Owls hunt at night.\nbaking,Bread rises.\nnight birds,Bats are no birds.\n"


@pytest.fixture
def loaded(tmp_path):
    def load(text):
        (tmp_path / "pairs.csv").write_text(text, encoding="utf-8")
        return tasks.load(str(tmp_path / "pairs.csv"), Options()).data

    return load


def test_the_passages_of_all_pairs_are_the_documents(loaded):
    found = loaded(ROWS)
    assert found.queries == ("night birds", "baking")
    assert found.documents == ("Owls hunt at night.", "Bread rises.", "Bats are no birds.")
    assert found.judgements == ({0: 1, 2: 1}, {1: 1})
    assert (found.name, found.split) == ("pairs.csv", "all")


def test_a_passage_of_two_queries_is_one_document(loaded):
    found = loaded(ROWS + "flying,Owls hunt at night.\n")
    assert found.documents.count("Owls hunt at night.") == 1
    assert found.judgements == ({0: 1, 2: 1}, {1: 1}, {0: 1})


def test_a_passage_that_is_its_own_query_is_dropped(loaded):
    found = loaded(ROWS + "baking,baking\n")
    assert "baking" not in found.documents
    assert len(found.documents) == 3


def test_a_file_without_a_whole_pair_is_refused(loaded):
    with pytest.raises(TooFewRows):
        loaded("query,passage\nnight birds,\n")


def test_pairs_with_a_score_or_a_label_are_no_retrieval_set(loaded):
    rows = [f"Sentence number {at} is here.,And number {at + 1} is there.,{at % 5}" for at in range(100)]
    assert isinstance(loaded("\n".join(["sentence1,sentence2,score", *rows])), GradedPairs)
    rows = [f"A headline of {at} words,And a longer text of {at} words.,{'ab'[at % 2]}" for at in range(200)]
    assert isinstance(loaded("\n".join(["headline,body,category", *rows])), LabelledSet)
