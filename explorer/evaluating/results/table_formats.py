"""A table of results as text, CSV, Markdown, LaTeX (booktabs) and JSON, from numbers and what they measure."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from explorer import escaping, in_words
from explorer.evaluating.results import latex
from explorer.evaluating.results.result_files import Result

FORMATS = ("csv", "markdown", "latex")
OF_NUMBERS = ("column", "set", "measure", "mean", "sd", "low", "high", "n")  # columns of a CSV
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # a terminal would obey them


@dataclass(frozen=True)
class Number:
    """A cell: a score × 100, a difference or a cost; a mean over seeds has their deviation, if there are several."""

    mean: float
    std: float | None = None
    low: float | None = None  # the 95 % interval
    high: float | None = None
    seeds: int = 1  # that it is the mean of; 0 if that is not known
    of: int = 0  # how many there should be, if some have no score
    digits: int = 2
    text: str = ""  # as people read it, if mean and deviation are not all of it
    measure: str = ""  # if it is another one than that of the column

    @property
    def lacking(self) -> str:
        """`1 of 2 seeds`, if some have no score."""
        return f"{self.seeds} of {self.of} seeds" if self.of > self.seeds else ""

    def __str__(self) -> str:
        large = self.mean >= 1000  # no score is
        text = f"{self.mean:,.{self.digits}f}" if large else in_words.number(self.mean, self.digits)
        text = self.text or (text if self.std is None else f"{text} ± {in_words.number(self.std, self.digits)}")
        return f"{text} ({self.lacking})" if self.lacking else text


TableCell = str | Number | None  # None is a number that is not there


@dataclass(frozen=True)
class TableColumn:
    """A column of texts, or of numbers of a measure on a set.

    Notes are sentences that rows share: in a terminal and in LaTeX they stand below the table, once each.
    """

    name: str
    measure: str = ""
    data: str = ""  # the set that is scored, if the name does not say it
    is_text: bool = False
    is_note: bool = False

    @property
    def about(self) -> str:
        """The set and the measure."""
        return ", ".join(filter(None, (self.data, self.measure)))

    def __str__(self) -> str:
        return f"{self.name} ({self.about})" if self.about else self.name


Header = Sequence[TableColumn]
Rows = Sequence[Sequence[TableCell]]


def written(form: str, header: Header, rows: Rows) -> str:
    """The table in one of FORMATS; an empty cell is a score that is not there."""
    return {"csv": as_csv, "markdown": as_markdown, "latex": as_latex}[form](header, rows)


def as_csv(header: Header, rows: Rows) -> str:
    """Comma-separated, as programs read it: a line for each number, with the texts of its row before it.

    Mean, deviation, ends of the interval and number of seeds are columns of numbers alone, with more digits than people
    are shown and a hyphen for a minus. Notes are left out, and no text is a formula.
    """
    named = [column for column in header if column.is_text and not column.is_note]
    lines: list[list[object]] = [[*map(str, named), *OF_NUMBERS]]
    for row in rows:
        cells = list(zip(header, row, strict=True))
        texts = [cell or "" for column, cell in cells if column in named]
        for column, cell in cells:
            if isinstance(cell, Number):
                parts = map(in_words.rounded, (cell.mean, cell.std, cell.low, cell.high))
                about = column.name, column.data, cell.measure or column.measure
                lines.append([*texts, *about, *parts, cell.seeds or None])
    return escaping.csv_text(lines)


def shown(header: Header, rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Header and rows as people read them."""
    return list(map(str, header)), [["" if cell is None else str(cell) for cell in row] for row in rows]


def as_markdown(header: Header, rows: Rows) -> str:
    """A Markdown table, with numbers on the right."""
    titles, texts = shown(header, rows)
    first, *rest = [[escaping.plain(cell) for cell in row] for row in (titles, *texts)]
    return escaping.table(first, rest, [place for place, column in enumerate(header) if not column.is_text]) + "\n"


def as_latex(header: Header, rows: Rows) -> str:
    """A tabular with the rules of booktabs, without empty columns; it begins with what the preamble needs."""
    used = [place for place, column in enumerate(header) if column.is_text or any(row[place] for row in rows)]
    header, rows = [header[place] for place in used], [[row[place] for place in used] for row in rows]
    titles = [escaping.one_line(one.name) + f"\n({escaping.one_line(one.about)})" * bool(one.about) for one in header]
    lines, notes = with_notes(header, shown(header, rows)[1])
    sides = ["l" if column.is_text else "r" for column in header]
    has_seeds = any(isinstance(cell, Number) and cell.std is not None for row in rows for cell in row)
    remarks = ["± is the standard deviation over seeds"] * has_seeds
    return latex.tabular(titles, lines, sides, notes, remarks)


def as_text(header: Header, rows: Rows) -> str:
    """Columns of a terminal: names in the first line, below them sets and measures; notes below the table."""
    texts, notes = with_notes(header, shown(header, rows)[1])
    titles = [[getattr(column, line) for column in header] for line in ("name", "data", "measure")]
    every = [titles[0], *filter(any, titles[1:]), *texts]
    lines = [[visible(cell) for cell in row] for row in every]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [str.ljust if column.is_text else str.rjust for column in header]
    aligned = ("  ".join(side(cell, at) for side, cell, at in zip(sides, row, widths, strict=True)) for row in lines)
    return "".join(f"{line.rstrip()}\n" for line in (*aligned, *map(visible, notes)))


def with_notes(header: Header, rows: Sequence[Sequence[str]]) -> tuple[list[list[str]], list[str]]:
    """Rows with a number in place of each note, and the notes with their numbers."""
    places = [place for place, column in enumerate(header) if column.is_note]
    notes = list(dict.fromkeys(row[place] for row in rows for place in places if row[place]))
    marks = {note: f"[{number}]" for number, note in enumerate(notes, start=1)} | {"": ""}
    lines = [[marks[cell] if place in places else cell for place, cell in enumerate(row)] for row in rows]
    return lines, [f"{marks[note]} {note}" for note in notes]


def visible(text: str) -> str:
    """Text on one line, without characters that a terminal would obey."""
    return _CONTROLS.sub("\ufffd", escaping.one_line(text))


def as_json(results: Sequence[Result], groups: Mapping[str, Mapping[str, object]] | None = None) -> str:
    """Every layer & pooling of every result; a score that is not there is null.

    `groups` are the scores in the groups of a column, by the key of the result.
    """
    rows = []
    for result in results:
        model, task, measured = result.model, result.task, result.measured
        row: dict[str, object] = {"model": model.name, "revision": model.revision}
        row |= {"task": task.name, "folder": task.folder, "kind": task.kind, "data": task.data}
        row |= {"split": measured.split, "seeds": measured.seeds, "setting": {**task.settings, **measured.setting}}
        row |= {"intervals": asdict(measured.intervals)} if measured.intervals else {}
        row |= {"ends": dict(measured.ends)} if measured.ends else {}
        row |= {"cut": asdict(measured.cut)} if measured.cut else {}
        row |= {"by_column": groups[result.key]} if groups and result.key in groups else {}
        scores = {
            one: {name: in_words.rounded(measured.score(one, name)) for name in measured.measures}
            for one in measured.titles
        }
        rows.append({**row, "seconds": round(measured.seconds, 3), "scores": scores})
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
