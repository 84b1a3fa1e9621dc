"""Test that no cell of a download is a formula, and that reading the file gives its text back."""

import csv
import io
import unicodedata

import pytest

from explorer.data.tables.files import read_bytes
from explorer.measuring.scores.score_tables import as_csv

TEXTS = [
    "=cmd|' /C calc'!A0",
    "@SUM(1)",
    "+1 is a vote",
    "-1 is a vote",
    "\tafter a tab",
    "\nafter a line",
    "\r=after a return",
    " =after a space",
    " \t\n +after several",
    "\u200b\ufeff@after what is not shown",
    "\u202e-after a mark of direction",
    "＝in full width",
    "　＋after a space in full width",
    "－",
    "＠SUM(1)",
    "a\r=in another row",
    "-1-1",
    "+1 (2)",
    "=1\n=2",
    "'=quoted",
    "''-quoted twice",
    "'tis the season",
    "an ordinary sentence",
    '"quotes", and a comma',
    "",
]


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))[1:]


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_starts_a_formula(text):
    ((cell,),) = cells(as_csv([{"sentence": text}])) if text else ((("",),))
    assert unicodedata.normalize("NFKC", cell).strip("\t\n\r \u200b\ufeff\u202e")[:1] not in ("=", "+", "-", "@")
    assert cell[:1] not in ("\t", "\n", "\r")
    assert cell.lstrip("'") == text.lstrip("'")


def test_numbers_stay_numbers():
    assert cells(as_csv([{"a": -0.25, "b": 3, "c": None}])) == [["-0.25", "3", ""]]
    numbers = ["-3.2", "+1.10 (0.36 to 1.77)", "-0.5 ± 0.1", "-0.25 to -0.10", "+1,234", "−3", "-1e-05"]
    assert cells(as_csv([{"a": number} for number in numbers])) == [[number] for number in numbers]


def test_a_header_is_no_formula_either():
    assert as_csv([{"=1+1": 1}]).splitlines()[0] == "'=1+1"


def test_reading_a_download_gives_the_text_back():
    rows = [
        {"first sentence": text, "second sentence": f"{place} words are here", "score": -place}
        for place, text in enumerate(TEXTS)
    ]
    table = read_bytes("a.csv", as_csv(rows).encode())
    assert table.column("first sentence") == tuple(text.replace("\r", "\n") for text in TEXTS)
    assert table.column("score") == tuple(str(-place) for place in range(len(TEXTS)))
