"""Report on the rows of a table: kept, dropped and why, sentence lengths."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import median

from explorer.data.tables.table import Table

SHOWN = 5  # lines named for each reason
RAGGED = "ragged row"  # found when the file was read; every other reason is found by `data.text`


@dataclass(frozen=True)
class Dropped:
    """Rows dropped for one reason, and their first lines."""

    reason: str
    count: int
    lines: tuple[int, ...]

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.lines) else ""
        return f"{self.count} dropped: {self.reason} (line {', '.join(map(str, self.lines))}{more})"


@dataclass(frozen=True)
class WordCounts:
    """The numbers of words of the kept sentences, split at spaces; tokenizers count more."""

    least: int
    median: float
    nearly_all: int  # 95 % of the sentences have no more
    most: int


@dataclass(frozen=True)
class Report:
    """The report on reading a table, for the user."""

    rows_read: int
    rows_kept: int
    dropped: tuple[Dropped, ...]
    duplicates: int  # rows equal to an earlier row
    score_range: tuple[float, float] | None  # None without scores
    words: WordCounts
    set_aside: tuple[str, ...]  # columns of lists, objects or bytes
    same_twice: int = 0  # rows of scored pairs whose two sentences are the same

    def __str__(self) -> str:
        words = self.words
        lines = [f"{self.rows_kept} of {self.rows_read} rows kept", *map(str, self.dropped)]
        if self.duplicates:
            lines.append(f"exact duplicates: {self.duplicates}")
        if self.same_twice:
            lines.append(f"the same sentence in both columns: {self.same_twice}")
        if self.score_range:
            lines.append("scores {:g} to {:g}".format(*self.score_range))
        lines.append(
            f"{words.least} to {words.most} words per sentence, median {words.median:g}, "
            f"95 % have at most {words.nearly_all}"
        )
        if self.set_aside:
            lines.append(f"columns set aside (lists, objects or bytes): {', '.join(self.set_aside)}")
        return "\n".join(lines)


def dropped_rows(table: Table, faults: Sequence[str]) -> tuple[Dropped, ...]:
    """The rows with a fault, by reason; `faults` has one entry per row, "" for a good row."""
    lines: dict[str, list[int]] = {}
    for line, fault in zip(table.lines, faults, strict=True):
        if fault:
            lines.setdefault(fault, []).append(line)
    if table.ragged:
        lines[RAGGED] = list(table.ragged)
    return tuple(Dropped(reason, len(found), tuple(found[:SHOWN])) for reason, found in lines.items())


def report_on(
    table: Table,
    faults: Sequence[str],
    rows: Sequence[Hashable],
    texts: Sequence[str],
    gold: Sequence[float] = (),
) -> Report:
    """Build the report on a table of which `rows` were kept; `texts` are all their sentences."""
    counts = sorted(text.count(" ") + 1 for text in texts)  # the texts are squeezed to single spaces
    return Report(
        rows_read=len(table.rows) + len(table.ragged),
        rows_kept=len(rows),
        dropped=dropped_rows(table, faults),
        duplicates=len(rows) - len(set(rows)),
        score_range=(min(gold), max(gold)) if gold else None,
        words=WordCounts(counts[0], median(counts), counts[math.ceil(0.95 * len(counts)) - 1], counts[-1]),
        set_aside=table.set_aside,
    )
