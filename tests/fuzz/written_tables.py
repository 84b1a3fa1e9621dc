"""Cases of tables and cards: names and cells of any characters are written in every format, and read back."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from explorer.encoding.read.head_facts import HeadFacts, PooledLayers
from explorer.encoding.read.pooling import LAST
from explorer.escaping import unguarded
from explorer.evaluating.results import table_formats
from explorer.evaluating.results.table_formats import TableColumn
from explorer.measuring.scores import layer_scores
from explorer.training.loop.measured_facts import Adapters
from explorer.training.record.model_card import card
from explorer.ui import messages
from tests.latex import read
from tests.rendered import Shown
from tests.training.record.test_model_card import changed, parsed

PARTS = (
    *"*_`~^#+-=|\\<>[](){}!$&%@:;.,'\"/?", *"abcXYZ019 ", "  ", "\t", "\n", "\r", "\r\n", "\n\n    ", "\x0b", "\x85",
    "**", "__", "~~", "```", "---", "===", "- ", "+ ", "1. ", "# ", "> ", "    ", "| --- |", "[a](b)", "![a](b)",
    "[^1]", "[x]: ", "<b>", "</td>", "<br>", "<!--", "-->", "<script>", "<img src=x onerror=a>", "&amp;", "&#60;",
    "&lt", "<a@b.de>", "http://", "HTTPS://x.org", "www.", "www.x.org", "a@b.de", "@x.y", "ftp://", "javascript:",
    ":smile:", ":red[", ":small[]", ":streamlit:", ":material/home:", "->", "<-", "<->", ">=", "~=", " -- ",
    "\\\\", "\\begin{x}", "\\input{/etc/hosts}", "[CLS]", "$x^2$", "%c", "~", "--", "''", "±", "\\&", "=1+1", "+1",
    "-1", "@SUM(1)", "=cmd|' /C calc'!A0", "＝", "＋", "－", "＠", "'", "''", '"', "-3.2 ± 0.1", "+1.10 (0.36 to 1.77)",
    "\u202e", "\u2028", "\u2066", "\u2069", "\u200b", "\u200d", "\ufeff", "\xad", "\u3000", "\xa0", "\0", "\x1b[31m",
    "\x07", "\x7f", "\x9b", "e\u0301", "\u0301", "é", "ß", "İ", "🦦", "𝔘", "\U000e0041", "漢", "א", "\ufffd", "{{a}}",
)  # fmt: skip
_CONTROLS = r"[\x00-\x1f\x7f-\x9f]"
_TABLE = {"table", "thead", "tbody", "tr", "th", "td"}
_NUMBERS = re.compile(r"[+-][0-9][-+0-9.,e± ()to]*")


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Write texts in every format."""
    drawn = Random(seed)
    width = drawn.choice((1, 2, 3))
    header, *rows = [[_text(drawn) for _ in range(width)] for _ in range(drawn.choice((2, 3, 5)))]
    columns = [TableColumn(name, is_text=True) for name in header]
    measured = [*columns, TableColumn(header[0], header[-1], rows[0][0])]
    of_numbers = [[*row, table_formats.Number(-1)] for row in rows]
    expected = [[*row, header[0], rows[0][0], header[-1], "-1.0", "", "", "", "1"] for row in rows]
    _check_csv(table_formats.as_csv(measured, of_numbers), [[*header, *table_formats.OF_NUMBERS], *expected])
    named = dict.fromkeys(header, "")
    _check_csv(layer_scores.as_csv([named, named]), [list(named)] + [[""] * len(named)] * 2)
    _check_markdown(table_formats.as_markdown(columns, rows), [header, *rows])
    _check_latex(table_formats.as_latex(columns, rows), [header, *rows])
    _check_terminal(table_formats.as_text(columns, rows), len(rows) + 1)
    for text in header:
        _check_page(text)
    if drawn.random() < 0.3:  # it takes longer
        _check_card(header[0])


def _text(drawn: Random) -> str:
    return "".join(drawn.choices(PARTS, k=drawn.choice((0, 1, 1, 2, 3, 5, 9))))


def _check_csv(written: str, rows: Sequence[Sequence[str]]) -> None:
    found = list(csv.reader(io.StringIO(written, newline=""), strict=True))
    assert [list(map(unguarded, row)) for row in found] == list(map(list, rows)), "the CSV is another table"
    for cell in (cell for row in found for cell in row):
        seen = (one for one in unicodedata.normalize("NFKC", cell) if unicodedata.category(one)[0] not in "CZ")
        assert next(seen, "") not in [*"=+-@"] or _NUMBERS.fullmatch(cell), f"{cell!r} is a formula"


def _check_markdown(written: str, rows: Sequence[Sequence[str]]) -> None:
    shown = Shown(written)
    assert [[cell.split() for cell in row] for row in shown.cells] == [[_shown(cell) for cell in row] for row in rows]
    assert shown.tags <= _TABLE, f"Markdown has {shown.tags - _TABLE}"
    assert not shown.found_later, f"an address is a link: {shown.found_later}"


def _check_latex(written: str, rows: Sequence[Sequence[str]]) -> None:
    titles, cells, *_ = read(written)
    for row, texts in zip((titles, *cells), rows, strict=True):
        assert [" ".join(cell.split()) for cell in row] == list(map(_set, texts)), "LaTeX sets another text"


def _set(text: str) -> str:
    seen = (one for one in " ".join(text.split()) if unicodedata.category(one) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    return " ".join(unicodedata.normalize("NFC", " ".join("".join(seen).split())).split())


def _check_terminal(written: str, lines: int) -> None:
    assert written.count("\n") == lines
    assert not [one for one in written if unicodedata.category(one) == "Cc" and one != "\n"], "a terminal would obey it"


def _check_page(text: str) -> None:
    shown = Shown(messages.plain(text))
    assert shown.words == _shown(text), "a page shows another text"
    assert shown.tags <= {"p", "br"}, f"a page has {shown.tags}"
    assert not shown.found_later, f"an address is a link: {shown.found_later}"


def _check_card(text: str) -> None:
    head, shown = _card(text)
    assert head["model-index"][0]["name"] == " ".join(text.split())
    assert shown.heading.split() == _shown(text)
    assert shown.tags == _ordinary_tags(), "the card has other tags"


def _card(text: str) -> tuple[dict[str, Any], Shown]:
    said = dict.fromkeys(("run", "method", "title"), text)
    layers = HeadFacts((PooledLayers(text, (LAST,)),), remark=text, prompt=text)
    adapters = Adapters(text, 8, text, 512, 16.0, 1000)
    head, body = parsed(card(changed(**said, trained=layers, default=layers, adapters=adapters)))
    return head, Shown(body)


@cache
def _ordinary_tags() -> set[str]:
    return _card("a")[1].tags


def _shown(text: str) -> list[str]:
    return text.replace("\0", "\ufffd").split()
