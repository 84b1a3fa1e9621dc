"""The rules of the architecture, and a check of a source tree against them."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from tests.architectures import known
from tests.imports import Import, Source, loads, nodes_of, read_sources

PROGRAM = ("app.py", "pages", "explorer", "strata")
FLOORS = {
    6: ("app", "pages"),
    5: ("explorer.ui",),
    4: ("explorer.training", "explorer.studies", "explorer.commands", "explorer.__main__", "strata"),
    3: ("explorer.methods", "explorer.measuring", "explorer.evaluating", "explorer.drawing"),
    2: ("explorer.encoding",),
    1: (
        "explorer.data",
        "explorer.losses",
        "explorer.gathering",
        "explorer.optimizers",
        "explorer.knobs",
        "explorer.errors",
        "explorer.fair_share",
        "explorer.typed_json",
        "explorer.typed_numbers",
        "explorer.run_folder",
        "explorer.work_folder",
        "explorer.in_words",
        "explorer.escaping",
        "explorer.places",
        "explorer.progress",
    ),
    0: ("explorer",),
}
APART = {("explorer.methods", "explorer.measuring")}  # on one floor, yet no method looks at its own marks

HOMES = {  # a library, and the only places that import it
    "streamlit": ("app", "pages", "explorer.ui"),
    "plotly": ("explorer.drawing", "strata"),  # there it is the type of what figure() gives
    "altair": ("explorer.drawing",),
    "transformers": ("explorer.encoding", "explorer.methods"),
}
SLOWEST = {"torch", "transformers", "umap", "faiss", "sentence_transformers", "datasets", "nltk", "sklearn"}
SLOW = SLOWEST | {"pandas", "scipy", "plotly", "accelerate"}
# what the first page waits for, and where torch is at home: the one must not load the other
FIRST_SEEN = ("app", "pages", "explorer.ui", "explorer.data", "explorer.commands", "explorer.__main__")
TENSORS = (
    "explorer.losses",
    "explorer.gathering",
    "explorer.optimizers",
    "explorer.encoding",
    "explorer.methods",
    "explorer.training",
)

# how a text that is made for people is read back: cut at words or at a mark between words, or compared
CUTS = {"partition", "rpartition", "split", "rsplit", "removesuffix", "removeprefix", "startswith", "endswith"}
WORDS = re.compile(r"[^\W\d_]| \\?\(|[·→±,;:]")  # in a pattern with a space
ERRORS = {"error", "gone", "trouble"}  # what caught errors are called
SENTENCES, TITLES = {"doing", "message", "sentence", "stage", "told"}, {"label", "title"}  # attributes
READ_BACK = {  # the files that may, and what they read
    # notations that people type, or that addresses have, each written and read in one file
    "explorer/data/graded/sts.py": "a split: `STS-B dev`",
    "explorer/data/graded/sets.py": "an uploaded set or file: `mine.csv · 1a2b3c4d · test half`",
    "explorer/encoding/read/pooling.py": "a layer & pooling: `mean of layers 0 + 6`",
    # cells of tables, whoever wrote them, which are numbers or not
    "explorer/escaping.py": "`-0.5 ± 0.1`",
    # markdown that pages send to the browser, as HTML
    "explorer/drawing/sections_page.py": "`#### **B** is better`",
    # names of processors, as their makers have the system say them
    "explorer/encoding/load/hardware.py": "`Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz`",
    # errors of other libraries, which say it in words only
    "explorer/places.py": "`(os error 28)` of safetensors and tokenizers",
    "explorer/encoding/locate/model_names.py": "`cancelled` of xet",
    "explorer/errors.py": "`out of memory` of torch",
}

KNOWS_FAMILIES = "explorer/encoding/locate/families.py"  # the one file that knows architectures
_A_SIGN, _AN_INTERVAL = "formats a number with its sign", "formats two numbers of an interval or of a change"
WRITES_NUMBERS = "explorer/in_words.py"  # the one file that writes a sign, an interval and a before → after
_SIGN = re.compile(r"\{[^{}]*:[^{}]*\+[^{}]*\}|%\+[\d.]*[dfge]|\+,?\.\d+[fge%]")  # in a template, or a format by itself
_BETWEEN = re.compile(r" to | → ")
_DECIMALS = re.compile(r"\.\d*[fe%]|^f$")  # of a format
_TWO = re.compile(
    r"\{[^{}]*:[^{}]*\.\d*[fe%]\}[^{}\w]*(?: to | → )[^{}\w]*\{[^{}]*:[^{}]*\.\d*[fe%]\}"
)  # of a template

LONGEST = 400  # lines of a file
LONGEST_PAGE = 80  # a page puts parts together that stand in its room
MOST_FILES = 16  # in a folder
NO_ROOMS = {"explorer.methods"}  # the folder is the list of methods
NO_NOUN = {"utils", "util", "common", "helpers", "helper", "base", "core", "misc"}


@dataclass(frozen=True)
class Breach:
    """One line that breaks one rule."""

    path: str
    line: int
    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.what}"


def within(module: str, *places: str) -> bool:
    """Whether a module is one of these places or lies inside one."""
    return any(module == place or module.startswith(place + ".") for place in places)


@cache
def part_of(module: str) -> str | None:
    """The part of the house a module lies in; None for a library or a file on no floor."""
    parts = [part for floor in FLOORS.values() for part in floor if part != "explorer"]
    inside = (part for part in parts if within(module, part))
    return "explorer" if module == "explorer" else next(inside, None)


@cache
def floor_of(module: str) -> int | None:
    """How high the part of the house lies in which a module is."""
    return next((floor for floor, parts in FLOORS.items() if part_of(module) in parts), None)


def breaches(root: Path) -> list[Breach]:
    """Every line of the program below root that breaks a rule, in order of place."""
    sources = read_sources(root, *PROGRAM)
    modules = {source.module for source in sources}
    rules = *RULES, partial(nameless, method_names(sources))
    found = [breach for source in sources for rule in rules for breach in rule(source)]
    found += detours(sources)
    found += page_rooms(sources)
    found += crowded(sources)
    found += circles(sources, part_of)
    found += circles(sources, lambda module: room_of(module) if module in modules else None)
    found += circles(sources, lambda module: module if module in modules else None)
    return sorted(set(found), key=lambda breach: (breach.path, breach.line, breach.what))


def room_of(module: str) -> str:
    """The folder inside a part of the house in which a module stands; a module beside the folders is its own room."""
    return ".".join(module.split(".")[:3])


def arrows(root: Path) -> dict[str, int]:
    """For every part of the house, how many pairs of its rooms import one another."""
    found: dict[str, set[tuple[str, str]]] = {}
    for source in read_sources(root, *PROGRAM):
        here = room_of(source.module)
        for one in source.imports:
            there, part = room_of(one.name), part_of(source.module)
            if part and part == part_of(one.name) and here != there and part not in NO_ROOMS:
                found.setdefault(part, set()).add((here, there))
    return {part: len(pairs) for part, pairs in sorted(found.items())}


def goes_up(source: Source, one: Import) -> bool:
    """Whether an import leads from a lower floor to a higher one."""
    here, there = floor_of(source.module), floor_of(one.name)
    return here is not None and there is not None and here < there


def direction(source: Source) -> Iterator[Breach]:
    """An import goes down, or sideways inside a floor; never up."""
    part, floor = part_of(source.module), floor_of(source.module)
    if floor is None:
        known = "; ".join(f"{floor}: {', '.join(parts)}" for floor, parts in FLOORS.items())
        yield Breach(source.path, 1, "direction", f"on no floor; the floors are {known}")
    for one in source.imports:
        if goes_up(source, one):
            what = f"{one.name} is on floor {floor_of(one.name)}; floor {floor} may import {floor} and below"
            yield Breach(source.path, one.line, "direction", what)
        elif (part, part_of(one.name)) in APART:
            yield Breach(source.path, one.line, "direction", f"imports {one.name}; {part} may not, though beside it")


def apart(source: Source) -> Iterator[Breach]:
    """Method files do not import one another, nor do pages; a name with an underscore is neither."""
    folder, _, own = source.module.rpartition(".")
    if folder not in ("pages", "explorer.methods") or own.startswith("_"):
        return
    for one in source.imports:
        its_folder, _, name = one.name.rpartition(".")
        if its_folder == folder and not name.startswith("_"):
            what = f"imports {one.name}; a file in {folder} may import {folder} itself and the floors below"
            yield Breach(source.path, one.line, "apart", what)


def homes(source: Source) -> Iterator[Breach]:
    """Some libraries are known in a few places only."""
    for one in source.imports:
        places = HOMES.get(one.library)
        if places and not within(source.module, *places):
            what = f"imports {one.name}; only {', '.join(places)} may"
            yield Breach(source.path, one.line, "homes", what)


def quick_start(source: Source) -> Iterator[Breach]:
    """A slow library is imported where it is used, so that the first page is quick."""
    slow = SLOW if within(source.module, *FIRST_SEEN) else SLOWEST
    for one in source.imports:
        at_home = one.library == "torch" and within(source.module, *TENSORS)
        if one.on_import and one.library in slow and not at_home:
            what = f"imports {one.name} at the top; allowed inside the function that uses it"
            yield Breach(source.path, one.line, "quick start", what)


def detours(sources: tuple[Source, ...]) -> Iterator[Breach]:
    """What the first page waits for loads none of the slowest libraries by way of another file either."""
    tree = {source.module: source for source in sources}
    loaded = cache(lambda module: loads(module, tree))  # many files import the same ones
    for source in sources:
        for one in source.imports if within(source.module, *FIRST_SEEN) else ():
            if not one.on_import or one.name not in tree or within(one.name, *FIRST_SEEN):
                continue
            ways = loaded(one.name)
            for library in sorted(ways.keys() & SLOWEST)[:1]:  # one is enough to mend the line
                way = " → ".join(ways[library])
                what = f"loads {library} by way of {way}; allowed inside the function that uses it"
                yield Breach(source.path, one.line, "quick start", what)


def method_names(sources: tuple[Source, ...]) -> set[object]:
    """What the classes of the methods state as their names."""
    nodes = (node for one in sources if within(one.module, "explorer.methods") for node in nodes_of(one.text))
    stated = (node for node in nodes if isinstance(node, ast.Assign) and [*map(_name, node.targets)] == ["name"])
    return {node.value.value for node in stated if isinstance(node.value, ast.Constant)}


def nameless(names: set[object], source: Source) -> Iterator[Breach]:
    """Above the methods no method is known by name: the class that states it is all that a new one takes."""
    for node in nodes_of(source.text) if names and (floor_of(source.module) or 0) > 3 else ():
        if isinstance(node, ast.Constant) and node.value in names:
            what = f"names the method {node.value}; ask the methods which one it is"
            yield Breach(source.path, node.lineno, "nameless", what)


def page_rooms(sources: tuple[Source, ...]) -> Iterator[Breach]:
    """What stands in the room of a page is imported by that page and that room only."""
    pages = {source.module.removeprefix("pages.") for source in sources if source.module.startswith("pages.")}
    for source in sources:
        for one in source.imports:
            folder, _, page = room_of(one.name).rpartition(".")
            if (
                folder != "explorer.ui"
                or page not in pages
                or within(source.module, f"pages.{page}", f"{folder}.{page}")
            ):
                continue
            what = f"imports {one.name}; what several pages share stands in a room that is no page's"
            yield Breach(source.path, one.line, "page rooms", what)


def crowded(sources: tuple[Source, ...]) -> Iterator[Breach]:
    """A folder is taken in at a glance."""
    folders: dict[str, list[Source]] = {}
    for source in sources:
        folders.setdefault(source.path.rpartition("/")[0], []).append(source)
    for folder, inside in folders.items():
        if len(inside) > MOST_FILES and folder.replace("/", ".") not in NO_ROOMS:
            what = f"{folder} has {len(inside)} files; {MOST_FILES} are allowed: give what belongs together a folder"
            yield Breach(inside[-1].path, 1, "crowded", what)


def shape(source: Source) -> Iterator[Breach]:
    """A file states in its first line what it does, does one thing, and is named after a noun."""
    lines, most = len(source.text.splitlines()), LONGEST_PAGE if source.module.startswith("pages.") else LONGEST
    if not source.docstring:
        yield Breach(source.path, 1, "shape", "has no docstring; its first line states what the file does")
    elif source.docstring.strip().splitlines()[0].endswith("?"):
        yield Breach(source.path, 1, "shape", "asks a question in its first line; state what the file does")
    if lines > most:
        yield Breach(source.path, most + 1, "shape", f"has {lines} lines; {most} are allowed: make it two files")
    for name in sorted(NO_NOUN & set(source.module.split("."))):
        yield Breach(source.path, 1, "shape", f"is named {name}; name it after the thing it holds")


def circles(sources: tuple[Source, ...], name: Callable[[str], str | None]) -> Iterator[Breach]:
    """Nothing needs itself by way of another, whether the things are files or parts of the house."""
    graph: dict[str, dict[str, tuple[Source, Import]]] = {}
    for source in sources:
        for one in source.imports:
            here, there = name(source.module), name(one.name)
            if here and there and here != there and not goes_up(source, one):
                graph.setdefault(here, {}).setdefault(there, (source, one))
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        ring = error.args[1][::-1]  # each imports the next
        source, one = graph[ring[0]][ring[1]]
        yield Breach(source.path, one.line, "circle", f"{' → '.join(ring)}; sideways is allowed one way only")


def wording(source: Source) -> Iterator[Breach]:
    """No text made for people is parsed or compared: what it says is a value, of which the text is made."""
    if source.path not in READ_BACK:
        yield from read_back(source)


@cache
def read_back(source: Source) -> tuple[Breach, ...]:
    """Every place where a text made for people is read back."""
    return tuple(_read_back(source))


def _read_back(source: Source) -> Iterator[Breach]:
    for node in nodes_of(source.text):
        how = _cut(node) if isinstance(node, ast.Call) else _compared(node) if isinstance(node, ast.Compare) else ""
        if how:
            what = f"{how}; keep the value that the text is made of, and make the text where it is shown"
            yield Breach(source.path, node.lineno, "wording", what)


def signs(source: Source) -> Iterator[Breach]:
    """A sign, an interval and a before → after are written in one file, so that numbers add up as they are shown."""
    for node in nodes_of(source.text) if source.path != WRITES_NUMBERS else ():
        if how := _numbers_by_hand(node):
            what = f"{how}; {WRITES_NUMBERS} writes it: signed, change, ends, interval, arrow"
            yield Breach(source.path, node.lineno, "signs", what)


def _numbers_by_hand(node: ast.AST) -> str:
    """How a node writes a sign, an interval or a before → after; "" if it writes none."""
    if isinstance(node, ast.FormattedValue) and "+" in "".join(_spec(node)):
        return _A_SIGN
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _A_SIGN if _SIGN.search(node.value) else _AN_INTERVAL if _TWO.search(node.value) else ""
    if isinstance(node, ast.JoinedStr):
        for one, between, other in zip(node.values, node.values[1:], node.values[2:], strict=False):
            if _BETWEEN.fullmatch("".join(_literals(between))) and _has_decimals(one) and _has_decimals(other):
                return _AN_INTERVAL
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
        joint = "".join(_literals(node.func.value))
        if _BETWEEN.fullmatch(joint) and any(_has_decimals(one) for one in ast.walk(node)):
            return _AN_INTERVAL
    return ""


def _spec(node: ast.FormattedValue) -> list[str]:
    """The literal parts of a format."""
    return _literals(node.format_spec) if node.format_spec is not None else []


def _has_decimals(node: ast.AST) -> bool:
    return isinstance(node, ast.FormattedValue) and any(map(_DECIMALS.search, _spec(node)))


def families(source: Source) -> Iterator[Breach]:
    """What is peculiar to an architecture is in the row of its family; every other file asks for it."""
    for line, name in known(source.text) if source.path != KNOWS_FAMILIES else ():
        yield Breach(
            source.path, line, "families", f"knows {name} of an architecture; {KNOWS_FAMILIES} has a row for it"
        )


def _cut(node: ast.Call) -> str:
    """How a call takes a text apart: at words, at a mark between words, or what an error says; "" if it does not."""
    if not isinstance(node.func, ast.Attribute) or not node.args:
        return ""
    name, text, literals = node.func.attr, node.func.value, _literals(node.args[0])
    if _name(text) == "re":
        # neither a class of characters nor an escape such as \\s is a word
        plain = [re.sub(r"\[(?:\\.|[^\]])*\]|\\[A-Za-z]|\(\?[a-z]+", "", literal) for literal in literals]
        return f"parses {literals[0]!r}" if any(" " in one and WORDS.search(one) for one in plain) else ""
    if name == "replace" and any(" " in one and re.search(r"[^\W\d_]", one) for one in literals):
        return f"replaces {literals[0]!r}"
    if name in CUTS and (any(" " in one for one in literals) or (_is_error(text) and any(map(str.strip, literals)))):
        return f"cuts at {literals[0]!r}"
    return ""


def _compared(node: ast.Compare) -> str:
    """How a comparison depends on a text; "" if it does not."""
    sides = [node.left, *node.comparators]
    membership = any(isinstance(one, ast.In | ast.NotIn) for one in node.ops)
    if any(map(_is_error, sides)):
        return "compares what an error says"
    if membership and any(" " in one and one.strip() for one in _literals(node.left)):
        return f"looks for {_literals(node.left)[0]!r} in a text"
    for side in sides:
        if isinstance(side, ast.Attribute) and side.attr in SENTENCES | TITLES:
            others = [part for one in sides if one is not side for part in getattr(one, "elts", [one])]
            if any(map(_literals, others)) or (side.attr in SENTENCES and any(map(_is_constant, others))):
                return f"compares .{side.attr}"
    return ""


def _is_error(node: ast.expr) -> bool:
    """Whether it is `str(error)` or `error.args[0]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        return node.value.attr == "args" and _name(node.value.value) in ERRORS
    return isinstance(node, ast.Call) and _name(node.func) == "str" and bool({*map(_name, node.args)} & ERRORS)


def _is_constant(node: ast.expr) -> bool:
    """Whether it is a constant of a module, READING or encoded.ENCODING; not one of an enumeration."""
    of = _name(node.value) if isinstance(node, ast.Attribute) else ""
    return _name(node).isupper() and of == of.lower()


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _literals(node: ast.expr) -> list[str]:
    """The texts that are written in an expression, such as the parts of an f-string."""
    return [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]


Rule = Callable[[Source], Iterator[Breach]]
RULES: tuple[Rule, ...] = (direction, apart, homes, quick_start, shape, wording, signs, families)
