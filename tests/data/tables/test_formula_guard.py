"""Test that no cell of a download is a formula, and that reading the file gives its text back."""

import csv
import io

import pytest

from explorer.data.tables.files import read_bytes
from explorer.measuring.scores.score_tables import as_csv

TEXTS = [
    "=cmd|' /C calc'!A0",
    "@SUM(1)",
    "+1 is a vote",
    "-1 is a vote",
    "\tafter a tab",
    "=1\n=2",
    "'=quoted",
    "''-quoted twice",
    "'tis the season",
    "an ordinary sentence",
    '"quotes", and a comma',
    "",
]


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))[1:]


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_starts_a_formula(text):
    ((cell,),) = cells(as_csv([{"sentence": text}])) if text else ((("",),))
    assert cell[:1] not in ("=", "+", "-", "@", "\t", "\r")
    assert cell.lstrip("'") == text.lstrip("'")


def test_numbers_stay_numbers():
    assert cells(as_csv([{"a": -0.25, "b": 3, "c": None}])) == [["-0.25", "3", ""]]


def test_a_header_is_no_formula_either():
    assert as_csv([{"=1+1": 1}]).splitlines()[0] == "'=1+1"


def test_reading_a_download_gives_the_text_back():
    rows = [
        {"first sentence": text, "second sentence": f"{place} words are here", "score": -place}
        for place, text in enumerate(TEXTS)
    ]
    table = read_bytes("a.csv", as_csv(rows).encode())
    assert table.column("first sentence") == tuple(TEXTS)
    assert table.column("score") == tuple(str(-place) for place in range(len(TEXTS)))
