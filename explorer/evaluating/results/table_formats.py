"""A table of results as text, CSV, Markdown, LaTeX (booktabs) and JSON."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict

from explorer import escaping, in_words
from explorer.evaluating.results.result_files import Result

FORMATS = ("csv", "markdown", "latex")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # a terminal would obey them, and LaTeX refuses them
_MINUS = re.compile(rf"[-{in_words.MINUS}](?=\d)")  # as it is, LaTeX has a hyphen for it, or no sign
_ONE = rf"[+{in_words.MINUS}-]?\d[\d.,]*"
_NUMBER = re.compile(rf"{_ONE}( ± {_ONE})?( \({_ONE} to {_ONE}\))?")  # a score, with its deviation or its interval
_PARTS = re.compile(  # the same with its parts, and how many seeds have the score
    rf"(?P<mean>{_ONE})( ± (?P<sd>{_ONE}))?( \((?P<low>{_ONE}) to (?P<high>{_ONE})\))?( \((?P<n>\d+) of \d+ seeds\))?"
)
_COLUMNS = {"mean": "", "sd": " sd", "low": " low", "high": " high", "n": " seeds"}
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",  # as they are, the usual fonts have a dash and Spanish marks for these three
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "`": r"\textasciigrave{}",
    in_words.MINUS: "$-$",  # which it does not know by itself
    **{sign: "\\" + sign for sign in "&%$#_{}"},
}


def written(form: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table in one of FORMATS; an empty cell is a score that is not there."""
    return {"csv": as_csv, "markdown": as_markdown, "latex": as_latex}[form](header, rows)


def as_csv(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Comma-separated, as programs read it: deviation, interval and number of seeds have columns of their own.

    A column of numbers holds nothing else: no separator of thousands, a hyphen for a minus. No text is a formula.
    """
    columns: list[tuple[str, list[str]]] = []
    for place, title in enumerate(header):
        cells = [row[place] for row in rows]
        found = [_PARTS.fullmatch(cell) for cell in cells]
        if not any(found) or any(cell and not match for cell, match in zip(cells, found, strict=True)):
            columns.append((title, cells))
            continue
        for part, name in _COLUMNS.items():
            values = ["" if match is None else _for_programs(match[part] or "") for match in found]
            if part == "mean" or any(values):
                columns.append((f"{title}{name}", values))
    titles, parts = zip(*columns, strict=True) if columns else ((), ())
    return escaping.csv_text((titles, *zip(*parts, strict=True)))


def as_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, with numbers on the right."""
    first, *rest = [[escaping.plain(cell) for cell in row] for row in (header, *rows)]
    return escaping.table(first, rest, numbers=True) + "\n"


def as_latex(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A tabular with the rules of the package booktabs."""
    lines = [
        r"% \usepackage{booktabs}; ± is the standard deviation over seeds",
        f"\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"\toprule",
        _latex_row(header),
        r"\midrule",
        *map(_latex_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def as_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of a terminal."""
    lines = [[_CONTROLS.sub("\ufffd", escaping.one_line(cell)) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = (
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(at) for cell, at in zip(row[1:], widths[1:], strict=True))])
        for row in lines
    )
    return "".join(f"{line.rstrip()}\n" for line in texts)


def as_json(results: Sequence[Result]) -> str:
    """Every layer & pooling of every result; a score that is not there is null."""
    rows = []
    for result in results:
        model, task, measured = result.model, result.task, result.measured
        row: dict[str, object] = {"model": model.name, "revision": model.revision}
        row |= {"task": task.name, "folder": task.folder, "kind": task.kind, "data": task.data}
        row |= {"split": measured.split, "seeds": measured.seeds, "setting": {**task.settings, **measured.setting}}
        row |= {"intervals": asdict(measured.intervals)} if measured.intervals else {}
        row |= {"ends": dict(measured.ends)} if measured.ends else {}
        row |= {"cut": asdict(measured.cut)} if measured.cut else {}
        scores = {
            one: {name: in_words.rounded(measured.score(one, name)) for name in measured.measures}
            for one in measured.titles
        }
        rows.append({**row, "seconds": round(measured.seconds, 3), "scores": scores})
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def _for_programs(number: str) -> str:
    return number.replace(in_words.MINUS, "-").replace(",", "").removeprefix("+")


def _latex_row(cells: Sequence[str]) -> str:
    shown = (_CONTROLS.sub("", escaping.one_line(cell)).strip() for cell in cells)
    row = " & ".join(
        _MINUS.sub("$-$", cell) if _NUMBER.fullmatch(cell) else "".join(_LATEX.get(sign, sign) for sign in cell)
        for cell in shown
    )
    row = re.sub("-(?=-)", "-{}", row.replace("±", r"$\pm$"))  # two would become a longer one
    if row.startswith(("[", "*")):  # the line break or the rule above would take it for an argument of its own
        row = f"{{{row[0]}}}{row[1:]}"
    return row + r" \\"
