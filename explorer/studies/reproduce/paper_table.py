"""How a table of a paper is reproduced: what each of its rows trains or reads, or why it is not run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from explorer.data.published_figures import Row
from explorer.knobs import Values


@dataclass(frozen=True)
class Trained:
    """A row that a method of Strata trains, from the paper's values and these."""

    method: str
    settings: Values = field(default_factory=dict)
    translations: bool = False  # whether it is trained on back-translations


@dataclass(frozen=True)
class Untrained:
    """A row that is the base model under one pooling of its last layer."""

    pooling: str  # "cls", "mean"


@dataclass(frozen=True)
class NotRun:
    """A row that Strata does not run, and why."""

    why: str


How = Trained | Untrained | NotRun


@dataclass(frozen=True)
class PaperTable:
    """One table or figure: its text, its evaluation tasks, and how each row is made."""

    name: str  # as the command takes it: "sg-bert-5"
    paper: str  # as in the published figures: "SG-BERT"
    number: str  # "5"; "Figure 4" for a figure
    about: str  # one line
    data: str = ""  # the paper's training text, as Strata names it; "" if the user has to give it
    text: str = ""  # the paper's training text, in words
    seeds: int = 1  # of the paper
    tasks: tuple[str, ...] = ()
    how: Callable[[Row], How] | None = None  # None for what another command or a page shows
    elsewhere: str = ""  # which one
    column: Mapping[str, str] = field(default_factory=dict)  # of the paper, by task, where the names differ


WHOLE = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
AVERAGE = "STS average"
BASES = {
    "BERT-base": "bert-base-uncased",
    "BERT-large": "bert-large-uncased",
    "RoBERTa-base": "roberta-base",
    "RoBERTa-large": "roberta-large",
    "SBERT-base": "sentence-transformers/bert-base-nli-mean-tokens",
    "SBERT-large": "sentence-transformers/bert-large-nli-mean-tokens",
    "MBERT": "bert-base-multilingual-cased",
}
