"""Test the formats of tables: what a spreadsheet, pandas, a Markdown reader, a terminal and LaTeX make of a cell."""

import csv
import io
import shutil
import subprocess
import unicodedata

import pandas
import pytest

from explorer.evaluating.results import latex, table_formats
from explorer.evaluating.results.table_formats import OF_NUMBERS, Number, TableColumn
from tests.latex import read, set_as
from tests.rendered import Shown

NASTY = [
    "[CLS] pooling",
    "*starred",
    "a_b & 50 % #1 $x$ {y} ~z ^2 \\cmd",
    "x|y <b>z</b> -- >",
    "<http://x.org> [l](http://y.z) `c`",
    "",
]
SIGNS = "→ α ± − · “quoted” ‘q’ „s“ «t» é ñ ü Å ç ł ı í Đ ą ň Λ λ ς Ω ο Α ≤ × … – — ° ² µ § ß œ ø Þ ?` ,, '' ---"


def column(name, measure="", data="", **kind):
    return TableColumn(name, measure, data, **kind)


NAMED = column("[model]", is_text=True)
HEADER = [NAMED, column("*task*", "Spearman"), column("www.x.org", "MRR@10", "60 queries")]
ROWS = [[name, Number(-0.5, 0.1, seeds=3), Number(-0.5, low=-1.25, high=0.25)] for name in NASTY]
SCORES = (
    [column("model", is_text=True), column("STS-B", "Spearman"), column("gain", "Spearman", "STS-B")],
    [["all_MiniLM & co|x", Number(82.031, 0.4512, seeds=2), None], ["=cmd", Number(1), Number(2)]],
)


def test_csv_has_a_line_for_each_number_and_no_text_is_a_formula():
    names = [*NASTY, "=cmd", "a\r=1+1", "b\n=2", "\r=3"]
    text = table_formats.written("csv", HEADER, [[name, *ROWS[0][1:]] for name in names])
    header, *lines = csv.reader(io.StringIO(text, newline=""))
    assert header == ["[model]", *OF_NUMBERS]
    of_each = [["*task*", "", "Spearman", "-0.5", "0.1", "", "", "3"],
               ["www.x.org", "60 queries", "MRR@10", "-0.5", "", "-1.25", "0.25", "1"]]  # fmt: skip
    kept = [*NASTY, "'=cmd", "a\r=1+1", "b\n=2", "'\r=3"]
    assert lines == [[name, *numbers] for name in kept for numbers in of_each]


def test_pandas_reads_the_numbers_of_a_csv_as_numbers_and_missing_ones_as_missing():
    rows = [
        ["one, two", Number(81.5, 2.12, seeds=2), Number(80, of=2), Number(-0.1, low=-0.81, high=0.61, text="−0.10")],
        ["other", Number(70, low=60.1, high=79.9), None, Number(1234567, digits=0)],
    ]
    header = [column("model", is_text=True), *(column(name, "accuracy") for name in ("MR", "CR", "gain"))]
    found = pandas.read_csv(io.StringIO(table_formats.as_csv(header, rows)))
    assert list(found.columns) == ["model", *OF_NUMBERS]
    assert all(found[name].dtype.kind in "if" for name in ("mean", "sd", "low", "high", "n"))
    by = found.set_index(["model", "column"])
    assert by.loc[("one, two", "MR"), ["mean", "sd", "n"]].tolist() == [81.5, 2.12, 2]
    assert by.loc[("one, two", "CR"), ["mean", "n"]].tolist() == [80, 1]
    assert by.loc[("one, two", "gain"), ["mean", "low", "high"]].tolist() == [-0.1, -0.81, 0.61]
    assert by.loc[("other", "gain"), "mean"] == 1234567
    assert ("other", "CR") not in by.index
    assert set(found["measure"]) == {"accuracy"}


def test_csv_of_a_table_without_rows_has_its_columns():
    assert table_formats.as_csv(SCORES[0], []).splitlines() == [",".join(["model", *OF_NUMBERS])]


def test_what_rows_say_in_sentences_is_below_a_table_and_not_in_a_csv():
    header = [column("row", is_text=True), column("STS-B", "Spearman"), column("setting", is_text=True, is_note=True)]
    rows = [["a", Number(1), "as in the paper"], ["b", Number(2), "fewer steps"], ["c", Number(3), "as in the paper"]]
    lines = table_formats.as_text(header, rows).splitlines()
    assert [line.split()[-1] for line in lines[2:5]] == ["[1]", "[2]", "[1]"]
    assert lines[5:] == ["[1] as in the paper", "[2] fewer steps"]
    _, cells, notes, _ = read(table_formats.as_latex(header, rows))
    assert ([row[-1] for row in cells], notes) == (["[1]", "[2]", "[1]"], lines[5:])
    assert "paper" not in table_formats.as_csv(header, rows)
    assert "as in the paper" in table_formats.as_markdown(header, rows)


def test_markdown_gives_the_cells_back_with_the_measure_of_each_column():
    shown = Shown(table_formats.written("markdown", HEADER, ROWS))
    titles = ["[model]", "*task* (Spearman)", "www.x.org (60 queries, MRR@10)"]
    assert shown.cells == [titles, *([" ".join(name.split()), "−0.50 ± 0.10", "−0.50"] for name in NASTY)]
    assert (shown.tags, shown.found_later) == ({"table", "thead", "tbody", "tr", "th", "td"}, [])


def test_columns_with_an_empty_cell_are_aligned_in_markdown_and_text():
    lines = table_formats.as_markdown(*SCORES).splitlines()
    assert lines[1] == "| --- | ---: | ---: |"
    assert {line.replace(r"\|", "").count("|") for line in lines} == {4}
    names, sets, measures, first, second = table_formats.as_text(*SCORES).splitlines()
    assert (names.split(), sets.split(), measures.split()) == (["model", "STS-B", "gain"], ["STS-B"], ["Spearman"] * 2)
    assert names.index("STS-B") + len("STS-B") == measures.index("Spearman") + len("Spearman"), "on the right"
    assert second.startswith("=cmd")
    assert first.index("±") > len("all_MiniLM & co|x")


@pytest.mark.parametrize(
    ("cell", "text"),
    [(Number(82.035, 0.4512, seeds=2), "82.03 ± 0.45"), (Number(80, seeds=1, of=2), "80.00 (1 of 2 seeds)"),
     (Number(70, low=60, high=80), "70.00"), (Number(-0.004), "0.00"), (Number(12345.6, digits=0), "12,346"),
     (Number(1536, text="1.54 KB"), "1.54 KB")],
)  # fmt: skip
def test_people_read_a_number_with_its_deviation_and_how_many_seeds_have_it(cell, text):
    assert str(cell) == text


def test_latex_has_rules_a_cell_for_each_column_and_gives_every_text_back():
    titles, rows, notes, preamble = read(table_formats.as_latex(HEADER, ROWS))
    assert titles == [str(column) for column in HEADER]
    assert rows == [[" ".join(name.split()), "−0.50 ± 0.10", "−0.50"] for name in NASTY]
    assert (notes, preamble) == ([], r"\usepackage{booktabs}")
    text = table_formats.written("latex", *SCORES)
    assert r"all\_MiniLM \& co\textbar{}x & 82.03 $\pm$ 0.45 &  \\" in text
    assert r"\begin{tabular}{lrr}" in text.splitlines()
    assert "standard deviation over seeds" in text.splitlines()[1]
    assert "deviation" not in table_formats.as_latex(HEADER[:1], [["a"]]), "nothing has one"


def test_latex_sets_every_sign_of_names_that_the_usual_fonts_lack():
    printable = "".join(chr(code) for code in range(33, 0x180) if not 0x7F <= code < 0xA1 and code != 0xAD)
    for name in (SIGNS, "αβγδεζηθικλμνξοπρστυφχψω ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ"):
        written = latex.text(name)
        assert written.isascii()
        assert set_as(written) == name.replace("µ", "μ")
    for sign in printable:
        written = latex.text(f"{sign}{sign} {sign}-")
        known = set_as(written)
        assert known.replace("\N{GREEK SMALL LETTER MU}", "µ") == unicodedata.normalize("NFC", f"{sign}{sign} {sign}-")


def test_latex_names_the_signs_that_need_a_font_and_the_package_for_letters_of_other_encodings():
    header = [column("model", is_text=True)]
    text = table_formats.as_latex(header, [["模型 \u202ex"], ["„ą“"]])
    *_, preamble = read(text)
    assert preamble == r"\usepackage{booktabs}\usepackage[T1]{fontenc}"
    assert text.splitlines()[1].endswith(": 型 模")
    assert "\u202e" not in text


def test_latex_has_no_column_wider_than_its_cells_or_its_longest_word_need_nor_an_empty_one():
    header = [column("model", is_text=True), column("difference to the base", "Spearman", "STS-B test"), column("no")]
    text = table_formats.as_latex(header, [["a", Number(1, text="+1.00 (+0.50 to +1.50)"), None]])
    titles, rows, *_ = read(text)
    assert titles == ["model", "difference to the base (STS-B test, Spearman)"]
    assert rows == [["a", "+1.00 (+0.50 to +1.50)"]]
    lines = [line for line in text.splitlines() if line.endswith(r" \\")]
    widest = max(len(line.removesuffix(r" \\").split(" & ")[1]) for line in lines)
    assert widest == len("+1.00 (+0.50 to +1.50)") == 22
    narrow = table_formats.as_latex(header[:2], [["a", Number(1)]])
    assert sum(line.endswith(r" \\") for line in narrow.splitlines()) == latex.MOST_LINES + 1


def test_a_name_with_control_characters_is_obeyed_by_no_terminal_and_refused_by_no_latex():
    header, row = [column("model", is_text=True)], ["\x1b[31mred\x07\x9b"]
    assert table_formats.as_text(header, [row]) == "model\n\ufffd[31mred\ufffd\ufffd\n"
    assert r"{[}31mred \\" in table_formats.as_latex(header, [row]).splitlines()


def compiled(engine, folder, tables):
    """Compile tables as one document, with the packages that they name."""
    packages = dict.fromkeys(read(table)[3] for table in tables)
    lines = [r"\documentclass{article}", *packages, r"\begin{document}", *tables, r"\end{document}"]
    folder.mkdir(exist_ok=True)
    (folder / "table.tex").write_text("\n\n".join(lines), encoding="utf-8")
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stdout[-2000:]
    assert "Missing character" not in ended.stdout + (folder / "table.log").read_text(errors="replace")
    return folder / "table.pdf"


@pytest.mark.parametrize("engine", ["pdflatex", "lualatex"])
def test_an_engine_compiles_every_sign(engine, tmp_path):
    if shutil.which(engine) is None:
        pytest.skip(f"no {engine} on the PATH")
    signs = [f"{sign} one {sign}{sign}" for sign in (*map(chr, range(33, 127)), *SIGNS.replace(" ", ""))] + NASTY
    rows = [[name, *ROWS[0][1:]] for name in signs]
    tables = [table_formats.as_latex(HEADER, rows[at : at + 40]) for at in range(0, len(rows), 40)]
    assert compiled(engine, tmp_path, tables).stat().st_size > 1000
