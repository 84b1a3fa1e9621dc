"""What a method states for people: its name, its paper, when to use it, and the values of the paper."""

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from explorer.data.wordnet import Need
from explorer.knobs import Values

DEMONSTRATION = "demonstration"  # the preset of the run that a first visit to the Train page shows
UNEVEN = "uneven layer weights"  # the preset of the run that the Layer attention page offers first
FITS = "{} has {}; {} fits them: {}."
PAPERS = Path(__file__).parent / "papers.bib"
_ENTRY = re.compile(r"^%\s([^\n]+)\n(@\w+\{(\S+),\n.*?^\})$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Paper:
    """A publication: its authors as texts name them, and its entry in BibTeX."""

    authors: str
    bibtex: str

    @property
    def title(self) -> str:
        """The title, without the braces that keep its capitals."""
        return self._field("title")

    @property
    def year(self) -> int:
        """The year of publication."""
        return int(self._field("year"))

    @property
    def link(self) -> str:
        """The address of its page."""
        return self._field("url")

    @property
    def line(self) -> str:
        """`Kim, Yoo and Lee 2021, Self-Guided Contrastive Learning for BERT Sentence Representations`."""
        return f"{self.authors} {self.year}, {self.title}"

    def _field(self, name: str) -> str:
        (value,) = re.findall(rf"^\s*{name}\s=\s\{{(.*?)\}},?$", self.bibtex, re.MULTILINE | re.DOTALL)
        return " ".join(re.sub(r"[{}]", "", value).split())


@cache
def papers() -> Mapping[str, Paper]:
    """The papers of `papers.bib` by the keys of their entries."""
    entries = _ENTRY.findall(PAPERS.read_text(encoding="utf-8"))
    return {key: Paper(authors, bibtex) for authors, bibtex, key in entries}


def cited(key: str) -> Paper:
    """The paper of `papers.bib` with this key."""
    return papers()[key]


@dataclass(frozen=True)
class Suggestion:
    """The rows that a method is suggested for, of the kind that it trains on."""

    rows: str  # their name
    texts: int  # sentences in each
    why: str  # a clause

    def sentence(self, text: str, method: str) -> str:
        """What a text has, which method fits, and why."""
        return FITS.format(text, self.rows, method, self.why)


class Described:
    """What menus, forms, commands, model cards and the documentation show of a method.

    Its docstring is shown, too: the first line as its title, the rest where there is room.
    """

    name: ClassVar[str]  # in recipes, commands and addresses
    family: ClassVar[str]  # the heading in the menu
    paper: ClassVar[Paper]
    when_to_use: ClassVar[str] = ""  # one line for the menu, from measured results
    suggestion: ClassVar[Suggestion | None] = None  # for which rows it is chosen where nobody has chosen a method
    needs: ClassVar[tuple[Need, ...]] = ()  # what has to be installed or downloaded

    as_published: ClassVar[bool] = True  # whether the values of its settings are the paper's
    paper_schedule: ClassVar[Values] = {}  # settings of the schedule in which the paper differs from the default
    released: ClassVar[Values] = {}  # settings in which the released code differs from the paper
    by_family: ClassVar[Mapping[str, Values]] = {}  # the paper's values for other encoders than BERT-base
    presets: ClassVar[Mapping[str, Values]] = {}  # more sets of settings by name; "quick" adds to that of all methods

    @classmethod
    def title(cls) -> str:
        """The first line of its docstring, for a menu."""
        return (inspect.getdoc(cls) or "").partition("\n")[0]

    @classmethod
    def about(cls) -> str:
        """The rest of its docstring, a line for each paragraph: details, equations and tables."""
        paragraphs = (inspect.getdoc(cls) or "").split("\n\n")[1:]
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
