"""How a table of a paper is reproduced: what each of its rows trains or reads, or why it is not run.

The files in `tables/` say it, one for each paper: by the name of a row's model, or its model and pooling, the method
and the settings in which the row differs from the paper's values.
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
from explorer.knobs import Values
from explorer.methods import load

FOLDER = Path(__file__).parent / "tables"
WHOLE = tasks_of("sts")  # whose average papers print
AVERAGE = "STS average"
OTHER_TEXT = ", trained on other text"
BASES = {
    "BERT-base": "bert-base-uncased",
    "BERT-large": "bert-large-uncased",
    "RoBERTa-base": "roberta-base",
    "RoBERTa-large": "roberta-large",
    "SBERT-base": "sentence-transformers/bert-base-nli-mean-tokens",
    "SBERT-large": "sentence-transformers/bert-large-nli-mean-tokens",
    "MBERT": "bert-base-multilingual-cased",
}

# text that single rows are trained on and the user gives, by its name in `Scale`: what a row without it says
ASKED = {
    "translations": "it needs back-translations: make them with 'backtranslate', and give --translations FILE",
    "other_text": "it is trained on text of another domain: give sentences with --other-text FILE",
}


@dataclass(frozen=True)
class RowSource:
    """Where the scores of a row come from: a training, the base model as it is, or nothing, and why."""

    method: str = ""  # that trains it
    settings: Values = field(default_factory=dict)  # in which it differs from the paper's values
    text: str = ""  # what it is trained on in place of the table's text, a name of `ASKED`
    pooling: str = ""  # of an untrained base: of its last layer, or its model default
    why_not: str = ""  # of a row that Strata does not run


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
        whole = reference_scores.find_table(self.paper, self.rows_of)
        rows = [row for row in whole.rows if row.base == self.base and row.model in self.losses]
        moved = [
            replace(row, model=f"{row.model}{OTHER_TEXT}", scores=_less(row, self.losses[row.model])) for row in rows
        ]
        return replace(
            whole, number=self.number, rows=tuple(row for pair in zip(rows, moved, strict=True) for row in pair)
        )

    def how(self, row: PrintedRow) -> RowSource:
        """What a row trains or reads, or why it is not run."""
        stated, known = _stated(self.paper), _stated(self.paper)["rows"]
        rule = known.get(f"{row.model}, {row.pooling}") or known.get(row.model)
        if rule is None:
            return RowSource(why_not=f"Strata has no such method ({row.reported_by or self.paper})")
        if "not_run" in rule:
            return RowSource(why_not=rule["not_run"])
        if "untrained" in rule:
            return RowSource(pooling=rule["untrained"].get(row.pooling, "mean"))
        if row.reported_by and self._authors_have_their_own(row):
            return RowSource(why_not=f"reported by {row.reported_by}: see the authors' own row")
        names = stated.get("parameters", {})
        settings = {names[name]: float(value) for name, value in row.parameters.items()}
        if rule.get("pooled"):
            settings[stated["poolings"]["setting"]] = stated["poolings"]["values"][row.pooling]
        kind = load(rule["method"])
        as_released = {name: kind.released[name] for name in stated.get("released", ()) if name in kind.released}
        given = {**as_released, **settings, **self.settings, **rule.get("settings", {})}
        return RowSource(rule["method"], given, rule.get("text", ""))

    def _authors_have_their_own(self, row: PrintedRow) -> bool:
        same = [
            one
            for one in self.published().rows
            if (one.model, one.base, one.pooling) == (row.model, row.base, row.pooling)
        ]
        return len(same) > 1 and not row.reimplemented


@cache
def tables() -> tuple[PaperTable, ...]:
    """Every table and figure of the papers."""
    papers = [published.paper.name for published in reference_scores.tables()]
    return tuple(_table(stated, one) for paper in dict.fromkeys(papers) for stated in [_stated(paper)]
                 for one in stated["tables"])  # fmt: skip


def find(name: str) -> PaperTable:
    """The table with this name."""
    by_name = {table.name: table for table in tables()}
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name.lower(), by_name, n=1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    raise BadChoice(f"There is no table '{name}'.{meant} 'reproduce list' shows them all.")


def _less(row: PrintedRow, losses: Mapping[str, float]) -> dict[str, PrintedScore]:
    printed = {column: row.scores[column].value for column in losses}
    return {
        column: PrintedScore(round(value - losses[column], 2)) for column, value in printed.items() if value is not None
    }


@cache
def _stated(paper: str) -> dict[str, Any]:
    found = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json")))
    return next(stated for stated in found if stated["paper"] == paper)


def _table(paper: dict[str, Any], stated: dict[str, Any]) -> PaperTable:
    given = {**({} if "elsewhere" in stated else paper["training"]), **stated}
    suite, kind = given.pop("suite", None), "figure-" if given.get("figure") else ""
    tasks = tasks_of(suite) if suite else tuple(given.pop("tasks", ()))
    name = f"{paper['prefix']}-{kind}{given['number']}"
    return PaperTable(name, paper["paper"], tasks=tasks, **given)
