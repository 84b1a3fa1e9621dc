"""Find the antonym of a word in WordNet, which Strata does not ship.

WordNet is searched in nltk's data, then in the folder of Debian's package. It is downloaded only on request.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.errors import BadChoice, HubUnreachable

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader


DEBIAN = Path("/usr/share/wordnet")
HOW = "Run 'python -m nltk.downloader wordnet', or on Debian and Ubuntu 'sudo apt-get install wordnet-base'."

# the lexicographer files by number, which nltk needs and Debian's package lacks (see lexnames(5WN))
_NOUNS = (
    "Tops act animal artifact attribute body cognition communication event feeling food group location motive object "
    "person phenomenon plant possession process quantity relation shape state substance time"
)
_VERBS = (
    "body change cognition communication competition consumption contact creation emotion motion perception "
    "possession social stative weather"
)
_FILES = (
    *("adj.all", "adj.pert", "adv.all"),
    *(f"noun.{name}" for name in _NOUNS.split()),
    *(f"verb.{name}" for name in _VERBS.split()),
    "adj.ppl",
)
LEXNAMES = "\n".join(f"{number:02d}\t{name}\t0" for number, name in enumerate(_FILES))


@dataclass(frozen=True)
class Need:
    """A requirement of a method that is not installed with Strata; `fetch` downloads it, only on request."""

    name: str
    size: str
    there: Callable[[], bool]
    fetch: Callable[[], None]
    how: str  # to install it, in a sentence

    def check(self) -> None:
        """Raise if it is missing."""
        if not self.there():
            raise BadChoice(f"{self.name} is not on this machine. {self.how}")


def there() -> bool:
    """Whether WordNet is on this machine, without importing nltk, which takes seconds."""
    return place() is not None


def place() -> Path | None:
    """The folder or archive of WordNet: in nltk's data, else Debian's."""
    for folder in _nltk_folders():
        for name in ("wordnet", "wordnet.zip"):
            if (folder / "corpora" / name).exists():
                return folder / "corpora" / name
    return DEBIAN if (DEBIAN / "data.adj").is_file() else None


def fetch() -> None:
    """Download it into nltk's folder."""
    import nltk

    if not nltk.download("wordnet", quiet=True):
        raise HubUnreachable(f"WordNet could not be downloaded: nltk's server does not answer. {HOW}")


WORDNET = Need(name="WordNet", size="11 MB", there=there, fetch=fetch, how=HOW)


@lru_cache(maxsize=100_000)
def antonym(word: str) -> str | None:
    """The antonym of a word or of its base form, of its most common sense that has one."""
    found = place()
    if found is None:
        raise BadChoice(f"WordNet is not on this machine. {HOW}")
    reader = _reader(found)
    word = word.lower()
    best: tuple[int, str] | None = None
    for synset in reader.synsets(word):
        base = reader.morphy(word, synset.pos()) or word
        for lemma in synset.lemmas():
            if lemma.name().lower() != base.lower():  # antonyms belong to a word, not to its synonyms
                continue
            for other in lemma.antonyms():
                if best is None or lemma.count() > best[0]:
                    best = lemma.count(), other.name().replace("_", " ")
    return best[1] if best else None


@lru_cache(maxsize=1)
def _reader(found: Path) -> WordNetCorpusReader:
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    home = str(found if found == DEBIAN else found.parent.parent)
    if home not in nltk.data.path:  # nltk opens files in its search path only
        nltk.data.path.insert(0, home)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about missing languages
        if found != DEBIAN:
            inside = f"corpora/{found.name}/wordnet/" if found.suffix else "corpora/wordnet"
            return WordNetCorpusReader(nltk.data.find(inside), None)

        class Debian(WordNetCorpusReader):  # type: ignore[misc]  # nltk has no types
            """Replaces two files that the package lacks; the second is for other languages only."""

            def open(self, file: str) -> Any:
                return io.StringIO(LEXNAMES) if file == "lexnames" else super().open(file)

            def map_wn(self, version: str = "wordnet") -> None:
                return None

        return Debian(str(found), None)


def _nltk_folders() -> list[Path]:
    """The data folders of nltk, as documented."""
    stated = [Path(folder) for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    own = [Path(sys.prefix, part) for part in ("", "share", "lib")]
    common = map(Path, ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"))
    return [*stated, *(home / "nltk_data" for home in (Path.home(), *own, *common))]
