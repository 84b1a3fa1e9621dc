"""Test that a table is in every format what it was: no cell is markup, a command or a formula."""

import csv
import io
import shutil
import subprocess

import pytest

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
SCORES = ["model", "STS-B", "average"], [["all_MiniLM & co|x", "82.03 ± 0.45", ""], ["=cmd", "1.00", "2.00"]]


def test_csv_gives_the_cells_back_numbers_are_numbers_and_no_text_is_a_formula():
    text = table_formats.written("csv", HEADER, [*ROWS, *SCORES[1], ["a\r=1+1", "b\n=2", "\r=3"]])
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert found == [HEADER, *ROWS, SCORES[1][0], ["'=cmd", "1.00", "2.00"], ["a\r=1+1", "b\n=2", "'\r=3"]]


def test_markdown_shows_the_cells():
    shown = Shown(table_formats.written("markdown", HEADER, ROWS))
    assert shown.cells == [[" ".join(cell.split()) for cell in row] for row in (HEADER, *ROWS)]
    assert (shown.tags, shown.found_later) == ({"table", "thead", "tbody", "tr", "th", "td"}, [])


def test_columns_with_an_empty_cell_are_aligned_in_markdown_and_text():
    lines = table_formats.as_markdown(*SCORES).splitlines()
    assert lines[1] == "| --- | ---: | ---: |"
    assert {line.replace(r"\|", "").count("|") for line in lines} == {4}
    lines = table_formats.as_text(*SCORES).splitlines()
    assert lines[2].startswith("=cmd")
    assert lines[1].index("±") > len("all_MiniLM & co|x")


def test_latex_escapes_what_it_would_read_also_at_the_beginning_of_a_row():
    lines = table_formats.as_latex(HEADER, ROWS).splitlines()
    assert [line[:3] for line in lines[3:7] if not line.startswith("\\")] == ["{[}", "{[}", "{*}"]
    assert not [line for line in lines if line.lstrip().startswith(("[", "*"))]
    text = table_formats.written("latex", *SCORES)
    assert r"all\_MiniLM \& co\textbar{}x & 82.03 $\pm$ 0.45 &  \\" in text
    assert text.splitlines()[1] == r"\begin{tabular}{lrr}"
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]


def test_a_name_with_control_characters_is_obeyed_by_no_terminal_and_refused_by_no_latex():
    header, row = ["model"], ["\x1b[31mred\x07\x9b"]
    assert table_formats.as_text(header, [row]) == "model\n\ufffd[31mred\ufffd\ufffd\n"
    assert table_formats.as_latex(header, [row]).splitlines()[5] == r"{[}31mred \\"


@pytest.mark.parametrize(
    ("cell", "written"),
    [("-0.50", "$-$0.50"), ("-0.50 ± 0.10", r"$-$0.50 $\pm$ 0.10"),
     ("+1.10 (-3.20 to 5.60)", "+1.10 ($-$3.20 to 5.60)"),
     ("2024-05", "2024-05"), ("layer-6", "layer-6"), ("-6 of x", "-6 of x")],
)  # fmt: skip
def test_a_negative_number_has_a_minus_sign_in_latex_and_a_name_its_hyphen(cell, written):
    assert f"m & {written} \\\\" in table_formats.as_latex(["model", "score"], [["m", cell]])


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on the PATH")
def test_latex_is_compiled_and_shows_the_cells(tmp_path):
    """A table of ASCII: what an engine makes of other characters depends on its fonts."""
    signs = [chr(code) for code in range(33, 127)]
    rows = [[f"{sign} one", f"{sign}{sign}", sign] for sign in signs] + ROWS
    lines = [
        r"\documentclass{article}\usepackage{booktabs}\begin{document}",
        *(table_formats.as_latex(HEADER, rows[at : at + 40]) for at in range(0, len(rows), 40)),
        r"\end{document}",
    ]
    (tmp_path / "table.tex").write_text("\n\n".join(lines))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stdout[-2000:]
