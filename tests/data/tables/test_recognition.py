"""Test what a file is recognised as, by its names and by its content."""

import pytest

from explorer.data.row_kinds import LABELLED_TEXTS, PAIRS, SCORED_PAIRS, SENTENCES, TRIPLETS
from explorer.data.tables.files import read_bytes
from explorer.data.tables.recognition import kind_of

LONG = "a sentence of several words"
FILES = {
    "query,passage": (PAIRS, [f"{LONG} {n},{LONG} too {n}" for n in range(30)]),
    "one,other": (PAIRS, [f"{LONG} {n},{LONG} too {n}" for n in range(30)]),
    "sentence1,sentence2,score": (SCORED_PAIRS, [f"{LONG} {n},{LONG} too {n},{n / 7:.2f}" for n in range(30)]),
    "sentence1,sentence2,label": (SCORED_PAIRS, [f"{LONG} {n},{LONG} too {n},{n % 2}" for n in range(30)]),
    "sentence1,sentence2,score ": (SCORED_PAIRS, [f"{LONG} {n},{LONG} too {n},{'high' * (n % 2)}" for n in range(30)]),
    "premise,hypothesis,label": (LABELLED_TEXTS, [f"{LONG} {n},{LONG} too {n},{'yn'[n % 2]}" for n in range(30)]),
    "anchor,positive,negative": (TRIPLETS, [f"{LONG} {n},{LONG} too {n},{LONG} not {n}" for n in range(30)]),
    "text,label": (LABELLED_TEXTS, [f"{LONG} {n},topic {n % 3}" for n in range(30)]),
    "id,review,topic": (LABELLED_TEXTS, [f"{n},{LONG} {n},topic{n % 3}" for n in range(30)]),
    "id,sentence": (SENTENCES, [f"{n},{LONG} {n}" for n in range(30)]),
    "sentence,author": (SENTENCES, [f"{LONG} {n},author{n}" for n in range(30)]),
    "sentence": (SENTENCES, [f"{LONG} {n}" for n in range(30)]),
}


@pytest.mark.parametrize("header", FILES)
def test_a_file_is_recognised_by_its_names_and_its_content(header):
    kind, rows = FILES[header]
    assert kind_of(read_bytes("mine.csv", "\n".join([header, *rows]).encode())) == kind
