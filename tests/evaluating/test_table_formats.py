"""Test that a table is in every format what it was: no cell is markup, a command or a formula."""

from explorer.evaluating.results import table_formats
from tests.rendered import Shown

NASTY = [
    "[CLS] pooling",
    "*starred",
    "a_b & 50 % #1 $x$ {y} ~z ^2 \\cmd",
    "x|y <b>z</b> -- >",
    "<http://x.org> [l](http://y.z) `c`",
    "",
]
HEADER = ["[model]", "*task*", "www.x.org"]
ROWS = [[name, "-0.50 ± 0.10", name] for name in NASTY]


def test_markdown_shows_the_cells():
    shown = Shown(table_formats.as_markdown(HEADER, ROWS))
    assert shown.cells == [[" ".join(cell.split()) for cell in row] for row in (HEADER, *ROWS)]
    assert shown.tags == {"table", "thead", "tbody", "tr", "th", "td"}
    assert shown.found_later == []


def test_numbers_in_markdown_are_on_the_right():
    assert table_formats.as_markdown(["model", "a", "b"], [["m", "-1.00", "2"]]).splitlines() == [
        "| model | a | b |",
        "| --- | ---: | ---: |",
        "| m | -1.00 | 2 |",
    ]
