"""Tables and figures of papers: their tasks and training text, and how each row is made.

The files in `tables/` say how each row is reproduced, one file for each paper: by the name of a row's model, or its
model and pooling, the method and the settings in which the row differs from the paper's values.
"""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from explorer.data import reference_scores
from explorer.data.reference_scores import PrintedRow, PrintedScore, PrintedTable
from explorer.errors import BadChoice
from explorer.evaluating.tasks import tasks_of
from explorer.knobs import Knob, Values
from explorer.methods import load

FOLDER = Path(__file__).parent / "tables"
OTHER_TEXT = ", trained on other text"


@dataclass(frozen=True)
class ReproducedRow:
    """A row of a paper, and where its scores come from: a training, the base model as it is, or nothing, and why."""

    row: PrintedRow
    method: str = ""  # that trains it
    settings: Values = field(default_factory=dict)  # in which it differs from the paper's values
    text: str = ""  # what it is trained on in place of the table's text, a name of `ASKED`
    pooling: str = ""  # of an untrained base: of its last layer, or its model default
    why_not: str = ""  # of a row that Strata does not run
    base: str = ""  # the model that is used
    label: str = ""
    mark: str = ""  # of the label, if a row is trained under several poolings
    trained_as: str = ""  # its row in the plan: rows of one training have one
    setting: str = ""  # how it differs from the paper's, in words

    @property
    def training(self) -> str:
        """What it trains: rows of one method, settings and text are one training."""
        text = [self.text.replace("_", " ")] if self.text else []
        stated = ", ".join([*(f"{name} {Knob.text(value)}" for name, value in self.settings.items()), *text])
        return f"{self.method} ({stated})" if stated else self.method

    def not_run(self, why: str) -> "ReproducedRow":
        """The row without its scores, for a reason."""
        return replace(self, method="", settings={}, text="", pooling="", why_not=why)


@dataclass(frozen=True)
class PaperTable:
    """One table or figure: its training text, its evaluation tasks, and how each row is made."""

    name: str  # as the command takes it: "sg-bert-5"
    paper: str  # as in the published figures: "SG-BERT"
    number: str
    about: str  # one line
    figure: bool = False  # else it is a table
    data: str = ""  # the paper's training text, as Strata names it; "" if the user has to give it
    text: str = ""  # the same in words
    seeds: int = 1  # of the paper
    tasks: tuple[str, ...] = ()
    column: Mapping[str, str] = field(default_factory=dict)  # of the paper, by task, where the names differ
    settings: Values = field(default_factory=dict)  # of every row
    rows_of: str = ""  # the table that has the rows of a figure
    base: str = ""  # of these rows
    losses: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # on other text, by model and column
    other_text: str = ""  # that text in words
    elsewhere: str = ""  # the command or page that shows it, if its rows are not trained here

    @property
    def title(self) -> str:
        """`Table 5`, `Figure 4`."""
        return f"{'Figure' if self.figure else 'Table'} {self.number}"

    def published(self) -> PrintedTable:
        """The paper's table; a figure has rows of a table, and the same ones less what they lose on other text."""
        if not self.losses:
            return reference_scores.find_table(self.paper, self.number)
        whole, rows = reference_scores.find_table(self.paper, self.rows_of), []
        for row in whole.rows:
            if row.base == self.base and row.model in self.losses:
                less = {
                    column: PrintedScore(round(value - lost, 2))
                    for column, lost in self.losses[row.model].items()
                    if (value := row.scores[column].value) is not None
                }
                rows += [row, replace(row, model=f"{row.model}{OTHER_TEXT}", scores=less)]
        return replace(whole, number=self.number, rows=tuple(rows))

    def how(self, row: PrintedRow) -> ReproducedRow:
        """What a row trains or reads, or why it is not run."""
        stated, known = _stated(self.paper), _stated(self.paper)["rows"]
        rule = known.get(f"{row.model}, {row.pooling}") or known.get(row.model)
        if rule is None:
            return ReproducedRow(row, why_not=f"Strata has no such method ({row.reported_by or self.paper})")
        if "not_run" in rule:
            return ReproducedRow(row, why_not=rule["not_run"])
        if "untrained" in rule:
            return ReproducedRow(row, pooling=rule["untrained"].get(row.pooling, "mean"))
        if row.reported_by and not row.reimplemented:
            of_row = row.model, row.base, row.pooling
            if sum((one.model, one.base, one.pooling) == of_row for one in self.published().rows) > 1:
                return ReproducedRow(row, why_not=f"reported by {row.reported_by}: see the authors' own row")
        settings = {stated["parameters"][name]: float(value) for name, value in row.parameters.items()}
        if rule.get("pooled"):
            settings[stated["poolings"]["setting"]] = stated["poolings"]["values"][row.pooling]
        kind = load(rule["method"])
        as_released = {name: kind.released[name] for name in stated.get("released", ()) if name in kind.released}
        given = {**as_released, **settings, **self.settings, **rule.get("settings", {})}
        return ReproducedRow(row, rule["method"], given, rule.get("text", ""))


@cache
def paper_tables() -> tuple[PaperTable, ...]:
    """Every table and figure of the papers."""
    found = []
    for paper in dict.fromkeys(published.paper for published in reference_scores.tables()):
        stated = _stated(paper)
        for one in stated["tables"]:
            given = {**({} if "elsewhere" in one else stated["training"]), **one}
            suite, kind = given.pop("suite", None), "figure-" if given.get("figure") else ""
            tasks = tasks_of(suite) if suite else tuple(given.pop("tasks", ()))
            found.append(PaperTable(f"{stated['prefix']}-{kind}{given['number']}", paper, tasks=tasks, **given))
    return tuple(found)


def paper_table(name: str) -> PaperTable:
    """The table with this name."""
    by_name = {table.name: table for table in paper_tables()}
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name.lower(), by_name, n=1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    raise BadChoice(f"There is no table '{name}'.{meant} 'reproduce list' shows them all.")


@cache
def _stated(paper: str) -> dict[str, Any]:
    found = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json")))
    return next(stated for stated in found if stated["paper"] == paper)
