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


@dataclass(frozen=True)
class House:
    """What is counted of a source tree; a name that begins with an underscore is its file's own matter."""

    files: int
    lines: int
    import_share: float  # of all lines, those of import statements
    median_lines: float
    dataclasses: int
    names_used_twice: tuple[str, ...]  # classes
    arrows: int  # between rooms of one part


def count(root: Path = ROOT) -> House:
    """Count the files of the program below a folder."""
    paths = [root / "app.py", *(path for part in ("explorer", "pages") for path in (root / part).rglob("*.py"))]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    nodes = [node for text in texts for node in statements(nodes_of(text)[0])]
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    names = Counter(node.name for node in classes if not node.name.startswith("_"))
    lines = [len(text.splitlines()) for text in texts]
    return House(
        files=len(paths),
        lines=sum(lines),
        import_share=sum(node.end_lineno - node.lineno + 1 for node in imports) / sum(lines),
        median_lines=median(lines),
        dataclasses=sum(any("dataclass" in ast.unparse(one) for one in node.decorator_list) for node in classes),
        names_used_twice=tuple(sorted(name for name, times in names.items() if times > 1)),
        arrows=sum(floors.arrows(root).values()),
    )


if __name__ == "__main__":
    found = count()
    print(f"files                {found.files}")
    print(f"lines                {found.lines:,}, half of the files have at most {found.median_lines:.0f}")
    print(f"import lines         {100 * found.import_share:.1f} %")
    print(f"dataclasses          {found.dataclasses}")
    print(f"arrows between rooms {found.arrows}")
    print(f"names used twice     {len(found.names_used_twice)}: {', '.join(found.names_used_twice)}")
