"""Keep talks on this disk: each is a named list of views of pages in a YAML file, which others may have written.

A view is the address of a page, and the sentences and the pair themselves: it is the same on every machine.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from explorer import places, typed_json
from explorer.data import safe_yaml, selections
from explorer.errors import BadChoice, StrataError
from explorer.ui.access.selection import PAIR, SENTENCES
from explorer.ui.frame.page_list import PAGES

SHIPPED = "What fine-tuning changes, in six views"
MOST, LONGEST = 100, 300  # views of a talk; characters of a line
_NAME = re.compile(r"[^\W_](?:[\w ,()-]{0,78}[\w)])?")  # of a file on any disk; nothing that leaves the folder
_ROOM = "Make room there, or set STRATA_TALKS to a folder that can be written to."
_NEXT = "Correct the file, or remove it from the folder of talks."


@dataclass(frozen=True)
class View:
    """A page with what its address says; `sentences` and `pair` stand in place of their marks."""

    page: str
    text: str = ""  # a line of the speaker
    address: Mapping[str, str] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()
    pair: tuple[str, ...] = ()

    def query(self) -> dict[str, str]:
        """What the address says, with sentences and pair kept under their marks on this disk."""
        chosen = {SENTENCES: self.sentences, PAIR: self.pair}
        return {**self.address, **{key: selections.keep(texts) for key, texts in chosen.items() if texts}}


@dataclass(frozen=True)
class Talk:
    """Views in their order; the name is that of the file."""

    name: str
    views: tuple[View, ...] = ()


@dataclass(frozen=True)
class _Stated:
    views: tuple[View, ...] = ()


def view_of(page: str, query: Mapping[str, str], text: str = "") -> View:
    """The view that a page with this query shows."""
    chosen = {key: selections.read(query[key]) for key in (SENTENCES, PAIR) if query.get(key)}
    address = {key: value for key, value in query.items() if key not in chosen and value}
    return View(page, text[:LONGEST], address, chosen.get(SENTENCES, ()), chosen.get(PAIR, ()))


def names() -> list[str]:
    """The talks on this disk, in alphabetical order, after the one that ships."""
    folder = places.readable(places.talks_folder(), "Check its permissions, or set STRATA_TALKS to another folder.")
    own = sorted(path.stem for path in folder.glob("*.yaml") if _NAME.fullmatch(path.stem))
    return [SHIPPED, *(name for name in own if name != SHIPPED)]


def read(name: str) -> Talk:
    """The talk of a name; an error if there is none, or its file does not state one."""
    path = _path(name)
    if name == SHIPPED and not path.exists():
        path = Path(__file__).with_name("shipped_talk.yaml")
    if not path.exists():
        raise BadChoice(f"There is no talk '{name}' on this disk. The talks are: {', '.join(names())}.")
    stated = safe_yaml.parsed(safe_yaml.text_of(path, _NEXT), str(path), _NEXT)
    found = typed_json.read(_Stated, stated)
    wrong = typed_json.misfit(_Stated, stated) if found and isinstance(stated, dict) else "it states no views"
    if found is None or wrong:
        raise BadChoice(f"{path} is no talk: {wrong}. {_NEXT}")
    known = [page.name for page in PAGES]
    for number, view in enumerate(found.views, start=1):
        if view.page not in known:
            allowed = ", ".join(known)
            raise BadChoice(f"{path}: view {number} is of the page '{view.page}'. Pages are {allowed}. {_NEXT}")
        if len(view.pair) not in (0, 2):
            raise BadChoice(f"{path}: view {number} has a pair of {len(view.pair)} sentences. Write two, or none.")
    return Talk(name, found.views[:MOST])


def write(talk: Talk) -> None:
    """Keep a talk under its name, in place of an older one."""
    if len(talk.views) > MOST:
        raise BadChoice(f"A talk has at most {MOST} views. Remove one of '{talk.name}', or begin another talk.")
    views = [{key: _plain(value) for key, value in asdict(view).items() if value} for view in talk.views]
    text = safe_yaml.written({"views": views}).encode()
    places.write_whole(_path(talk.name), lambda file: file.write(text), _ROOM)


def remove(name: str) -> None:
    """Delete the file of a talk; of the one that ships its own version returns."""
    path = _path(name)
    with places.writing(path, "Check the permissions of the folder of talks."):
        path.unlink(missing_ok=True)


def rename(name: str, new: str) -> Talk:
    """Give a talk another name, under which there is none yet."""
    new = new.strip()
    if new != name:
        if new in names():
            raise BadChoice(f"There is a talk '{new}' already. Choose another name.")
        write(Talk(new, read(name).views))
        remove(name)
    return read(new)


def is_changed(name: str) -> bool:
    """Whether a file of this name is on this disk, which can be removed."""
    try:
        return _path(name).exists()
    except StrataError:
        return False


def _path(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise BadChoice(
            f"'{name}' is no name of a talk: letters, digits, spaces and , ( ) - are allowed, up to 80, and the first "
            "is a letter or a digit. Choose another name."
        )
    return places.talks_folder() / f"{name}.yaml"


def _plain(value: object) -> object:
    """Lists and dicts in place of tuples and mappings, as YAML has them."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
