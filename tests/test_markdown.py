"""Test that text in Markdown is shown as it is, with every renderer."""

from explorer.markdown import fenced, plain, table
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
    "    indented",
    "\t\ttab",
    "a\n\n    b\r\n\r\n\tc\rd",
    "a\n===\nb\n---",
    "a | b\n--- | ---\nc | d",
    "~~~\nx\n~~~",
    "a\n- b",
]


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
        shown = Shown(table(("", plain(text)), [(plain(text), "1")], numbers=True))
        assert [[cell.split() for cell in row] for row in shown.cells] == [[[], text.split()], [text.split(), ["1"]]]
        assert shown.tags == {"table", "thead", "tbody", "tr", "th", "td"}, text


def test_ordinary_names_and_numbers_are_not_changed():
    for text in (
        "all-MiniLM-L6-v2",
        "-0.50 ± 0.10",
        "+1.10 (0.36 to 1.77)",
        "org/name@main",
        "run: step 3.",
        "layer & pooling",
    ):
        assert plain(text) == text


def test_a_fence_is_longer_than_any_within():
    assert fenced("py", "a") == "```py\na\n```"
    assert fenced("py", "a ```` b") == "`````py\na ```` b\n`````"
