"""Count the house: files, lines, imports and names of `explorer/` and `pages/`. Run it: `python -m tests.house`."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests import floors
from tests.imports import nodes_of, statements

ROOT = Path(__file__).parents[1]
LONG_FILE, LONG_FUNCTION, MANY_MEMBERS = 350, 40, 20
TEXTS = ("text_input", "text_area")
CHOICES = ("selectbox", "multiselect", "slider", "select_slider", "number_input", "toggle", "checkbox", "radio")
CHOICES += ("segmented_control", "pills")
IDENTITIES = ("identity", "sources.identity", "evaluation_sets.identity")
OF_VIEWS = {"bind", "on_change"}  # arguments of an input that a link repeats, or that acts as soon as it changes


@dataclass(frozen=True)
class House:
    """What is counted of a source tree; a name that begins with an underscore is its file's own matter."""

    files: int
    lines: int
    code_lines: int  # without blank lines, comments that stand alone, and docstrings
    import_share: float  # of all lines, those of import statements
    median_lines: float
    dataclasses: int
    names_used_twice: tuple[str, ...]  # classes
    arrows: int  # between rooms of one part
    long_files: tuple[str, ...]
    long_functions: tuple[str, ...]
    large_classes: tuple[str, ...]
    identity_calls: int  # text that is parsed as an evaluation set
    reading_calls: int  # text that is parsed as a layer & pooling
    inputs_by_hand: int  # choices and numbers that pages draw without a declaration, other than those of views
    inputs_of_views: int  # what is looked at: in the address, or acting as it changes
    typed_texts: int  # sentences, names and paths that a visitor writes
    knobs_in_commands: int


def count(root: Path = ROOT) -> House:
    """Count the files of the program below a folder."""
    paths = [root / "app.py", *(path for part in ("explorer", "pages") for path in (root / part).rglob("*.py"))]
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in sorted(paths)}
    trees = {path: nodes_of(text) for path, text in texts.items()}
    nodes = [node for tree in trees.values() for node in statements(tree[0])]
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    names = Counter(node.name for node in classes if not node.name.startswith("_"))
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    calls = {path: Counter(_calls(tree)) for path, tree in trees.items()}
    inputs = Counter(kind for path, tree in trees.items() if "controls" not in path for kind in _inputs(tree))
    return House(
        files=len(texts),
        lines=sum(lines.values()),
        code_lines=sum(_code_lines(text, trees[path]) for path, text in texts.items()),
        import_share=sum(_length(node) for node in imports) / sum(lines.values()),
        median_lines=median(lines.values()),
        dataclasses=sum(any("dataclass" in ast.unparse(one) for one in node.decorator_list) for node in classes),
        names_used_twice=tuple(sorted(name for name, times in names.items() if times > 1)),
        arrows=sum(floors.arrows(root).values()),
        long_files=tuple(path for path, number in lines.items() if number > LONG_FILE),
        long_functions=tuple(node.name for node in functions if _length(node) > LONG_FUNCTION),
        large_classes=tuple(node.name for node in classes if _members(node) > MANY_MEMBERS),
        identity_calls=sum(
            of_file[name] for path, of_file in calls.items() if "scipy" not in texts[path] for name in IDENTITIES
        ),
        reading_calls=sum(
            of_file["parse"] + of_file["pooling.parse"]
            for path, of_file in calls.items()
            if "pooling" in texts[path] and not path.endswith("read/pooling.py")
        ),
        inputs_by_hand=inputs["by hand"],
        inputs_of_views=inputs["of a view"],
        typed_texts=inputs["text"],
        knobs_in_commands=sum(of_file["Knob"] for path, of_file in calls.items() if "/commands/" in path),
    )


def _calls(tree: tuple[ast.AST, ...]) -> list[str]:
    """The names of what a file calls, as they are written."""
    return [ast.unparse(node.func) for node in tree if isinstance(node, ast.Call)]


def _inputs(tree: tuple[ast.AST, ...]) -> list[str]:
    """What each input is that a file draws itself, in whichever place of the page."""
    drawn = [node for node in tree if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    return [
        "of a view"
        if OF_VIEWS & {one.arg for one in node.keywords}
        else "text"
        if node.func.attr in TEXTS
        else "by hand"
        for node in drawn
        if node.func.attr in (*CHOICES, *TEXTS)
    ]


def _length(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _members(node: ast.ClassDef) -> int:
    return sum(isinstance(one, (ast.FunctionDef, ast.AnnAssign, ast.Assign)) for one in node.body)


def _code_lines(text: str, tree: tuple[ast.AST, ...]) -> int:
    """Lines that are no docstring, not blank, and more than a comment."""
    documented = [one for one in tree if isinstance(one, (ast.Module, ast.ClassDef, ast.FunctionDef))]
    docstrings = {
        line
        for node in documented
        if ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, node.body[0].lineno + _length(node.body[0]))
    }
    written = enumerate(text.splitlines(), start=1)
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for at, line in written if at not in docstrings)


if __name__ == "__main__":
    found = count()
    print(f"files                {found.files}")
    print(f"lines                {found.lines:,}, half of the files have at most {found.median_lines:.0f}")
    print(f"lines of code        {found.code_lines:,}")
    print(f"import lines         {100 * found.import_share:.1f} %")
    print(f"dataclasses          {found.dataclasses}")
    print(f"arrows between rooms {found.arrows}")
    print(f"names used twice     {len(found.names_used_twice)}: {', '.join(found.names_used_twice)}")
    print(f"files > {LONG_FILE} lines    {len(found.long_files)}")
    print(f"functions > {LONG_FUNCTION}       {len(found.long_functions)}: {', '.join(found.long_functions)}")
    print(f"classes > {MANY_MEMBERS} members {len(found.large_classes)}: {', '.join(found.large_classes)}")
    print(f"identity(…)          {found.identity_calls}")
    print(f"parse(…) of readings {found.reading_calls}")
    print(f"inputs by hand       {found.inputs_by_hand}; of views {found.inputs_of_views}, texts {found.typed_texts}")
    print(f"Knob(…) in commands  {found.knobs_in_commands}")
