"""Parse the tables of an HTML page with the standard library: a list of rows for each table."""

from __future__ import annotations

from html.parser import HTMLParser


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[object]]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.inside = True
        elif tag == "data":
            self.tables[-1][-1][-1] = float(str(dict(attributes)["value"]))

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, text: str) -> None:
        if self.inside and isinstance(self.tables[-1][-1][-1], str):
            self.tables[-1][-1][-1] += text


def tables(page: str) -> list[list[dict[str, object]]]:
    """Rows by the names in the head; a number is whole, an empty cell is None."""
    reader = _Reader()
    reader.feed(page)
    return [
        [{str(name): None if cell == "" else cell for name, cell in zip(rows[0], row, strict=True)} for row in rows[1:]]
        for rows in reader.tables
    ]


def told(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Rows as a table tells them: yes and no for true and false."""
    words = {True: "yes", False: "no"}
    return [{name: words[value] if isinstance(value, bool) else value for name, value in row.items()} for row in rows]
