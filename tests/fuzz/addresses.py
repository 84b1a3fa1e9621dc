"""Cases of page addresses: parameters of pages get values that no page has written."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

from explorer.ui.frame import page_list
from tests.fuzz.pages import APP, shown
from tests.tiny_models import save_tiny

_BOUND = re.compile(
    r"""key=["']?(\w+)["']?[^()]*?bind="query-params"|bind="query-params"[^()]*?key=["']?(\w+)"""
    r"""|segments\.chosen\(.*?key=["']?(\w+)""",
    re.DOTALL,
)
_CONSTANT = re.compile(r"^([A-Z_]+)(?:, [A-Z_]+)* = \"([\w ]+)\"$", re.MULTILINE)
VALUES = (
    "", "0", "-1", "1", "2", "3.5", "1e9", "9" * 30, "nan", "true", "false", "none", "x" * 3000, "a b", "ü", "\0",
    "1_000", "٣", "~nosuch/x", "x" * 300 + ".tsv", "a\0b.tsv",
    "../../etc/passwd", "/", "<script>alert(1)</script>", "**bold**", ":red[x]", "$x^2$", "[]", "{}", "[1", "'", '"',
    "model default", "cls of layer 2", "mean of layer 99", "cls of layers 0 + 1", "example", "run:example", "run:x@y",
    "Sample pairs, test half", "STS-B test", "sample", "bfloat16", "float32", "PCA", "UMAP", "all-MiniLM-L6-v2",
)  # fmt: skip


def prepare(folder: Path) -> None:
    """Save the model that pages show, since the included one takes longer."""
    save_tiny("bert", folder / "tiny")


def names() -> list[str]:
    """The parameters that widgets are bound to, by the source of the pages."""
    found: set[str] = {"run", "method", "sources", "look"}
    for path in (APP.parent / "explorer" / "ui").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        constants = dict(_CONSTANT.findall(text))
        for before, after, segment in _BOUND.findall(text):
            key = before or after or segment
            found.add(constants.get(key, key))
    return sorted(name for name in found if name.islower())


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Show a page at a random address."""
    drawn = Random(seed)
    page = drawn.choice(page_list.PAGES).name
    chosen = drawn.sample(names(), drawn.choice((1, 1, 2, 3, 6)))
    values = (*VALUES, str(folder / "tiny"), str(folder))
    shown(page, **{"model": str(folder / "tiny")} | {name: drawn.choice(values) for name in chosen})
