"""Test that text in Markdown and CSV is shown as it is, and is no markup or formula."""

import csv
import io
import unicodedata

import pytest

from explorer.data.tables.files import read_bytes
from explorer.escaping import fenced, plain, table
from explorer.measuring.scores.layer_scores import as_csv
from explorer.ui import messages
from tests.rendered import Shown

TEXTS = [
    "*b* _i_ ~~s~~ `c` $x$ <b>t</b> [l](http://x.org) ![i](http://x.org/i.png) &amp; \\ | end\\",
    "see http://example.org/x_y, HTTPS://a.b and ftp://x.org",
    "www.example.org (www.x.org) “WWW.y.org”",
    "mail a.b+c@example.org, a@b@c.de or <a@b.de>",
    "<http://x.org> [x]: http://y.z [^1] http://user:p@x.y/?a=b&c=d#e",
    ":smile: :a:b:smile: :+1: :streamlit: :material/home: :material_home:",
    ":red[x] :small[] ::small[]smile: <!-- -->",
    "a -> b <- c <-> d -- e >= f <= g ~= h -->",
    *("- item", "+ item", "* item", "1. item", "12) item", "# head", "> quote", "---", "- - -", "+", "- [ ] task"),
    "\u202eabc\u202c \u2066x\u2069 é́ 🦜 𝔘 \u200bhttp://x.org",
    "<!-- a --> <br> <script>alert(1)</script> &lt; &#60;",
]
OF_PAGES = [
    "    indented", "\t\ttab", "a\n\n    b\r\n\r\n\tc\rd", "a\n===\nb\n---", "a | b\n--- | ---\nc | d", "~~~\nx\n~~~",
    "a\n- b",
]  # fmt: skip


def test_text_of_a_file_is_shown_as_it_is():
    for text in TEXTS:
        shown = Shown(plain(text))
        assert shown.words == text.split()
        assert shown.tags == {"p"}, text
        assert shown.found_later == [], text


def test_text_of_a_page_is_shown_as_it_is():
    for text in (*TEXTS, *OF_PAGES):
        shown = Shown(messages.plain(text))
        assert shown.words == text.split()
        assert shown.tags <= {"p", "br"}, text
        assert shown.found_later == [], text
        assert not [one for one in shown.texts if {*one.split()} & {"->", "<-", "<->", "--", ">=", "<=", "~="}], text


def test_text_in_a_table_stays_in_its_cell():
    for text in TEXTS:
        shown = Shown(table(("", plain(text)), [(plain(text), "1")], numbers=[1]))
        assert [[cell.split() for cell in row] for row in shown.cells] == [[[], text.split()], [text.split(), ["1"]]]
        assert shown.tags == {"table", "thead", "tbody", "tr", "th", "td"}, text


def test_ordinary_names_and_numbers_are_not_changed():
    for text in ("all-MiniLM-L6-v2", "-0.50 ± 0.10", "+1.10 (0.36 to 1.77)", "org/name@main", "run: step 3.", "A & B"):
        assert plain(text) == text


def test_a_fence_is_longer_than_any_within():
    assert fenced("py", "a") == "```py\na\n```"
    assert fenced("py", "a ```` b") == "`````py\na ```` b\n`````"


FORMULAS = [
    "=cmd|' /C calc'!A0", "@SUM(1)", "+1 is a vote", "-1 is a vote", "\tafter a tab", "\nafter a line",
    "\r=after a return", " =after a space", " \t\n +after several", "\u200b\ufeff@after what is not shown",
    "\u202e-after a mark of direction", "＝in full width", "　＋after a space in full width", "－", "＠SUM(1)",
    "a\r=in another row", "-1-1", "+1 (2)", "=1\n=2", "'=quoted", "''-quoted twice", "'tis the season",
    "an ordinary sentence", '"quotes", and a comma', "",
]  # fmt: skip


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))[1:]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_starts_a_formula(text):
    ((cell,),) = cells(as_csv([{"sentence": text}])) if text else ((("",),))
    assert unicodedata.normalize("NFKC", cell).strip("\t\n\r \u200b\ufeff\u202e")[:1] not in ("=", "+", "-", "@")
    assert cell[:1] not in ("\t", "\n", "\r")
    assert cell.lstrip("'") == text.lstrip("'")
    assert as_csv([{"=1+1": 1}]).splitlines()[0] == "'=1+1", "a header is none either"


def test_numbers_stay_numbers():
    assert cells(as_csv([{"a": -0.25, "b": 3, "c": None}])) == [["-0.25", "3", ""]]
    numbers = ["-3.2", "+1.10 (0.36 to 1.77)", "-0.5 ± 0.1", "-0.25 to -0.10", "+1,234", "−3", "-1e-05"]
    assert cells(as_csv([{"a": number} for number in numbers])) == [[number] for number in numbers]


def test_reading_a_download_gives_the_text_back():
    rows = [
        {"first sentence": text, "second sentence": f"{place} words are here", "score": -place}
        for place, text in enumerate(FORMULAS)
    ]
    table = read_bytes("a.csv", as_csv(rows).encode())
    assert table.column("first sentence") == tuple(FORMULAS)
    assert table.column("score") == tuple(str(-place) for place in range(len(FORMULAS)))
