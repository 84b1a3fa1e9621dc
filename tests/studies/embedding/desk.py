"""A tiny model, a text with repeats, and short ways to embed it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from explorer.encoding.locate.model_names import find
from explorer.progress import finish
from explorer.studies.embedding.corpus import TextSource
from explorer.studies.embedding.embedding import Embedded, Request, embed
from explorer.training.loop.processes import World
from tests.tiny_models import SENTENCES, save_tiny

WORDS = " ".join(SENTENCES).split()
LINES = [" ".join(WORDS[at : at + 1 + at % 7]) for at in range(24)] + ["no", "no"]
ROWS = 5  # per shard: six shards, the last of one row


@dataclass(frozen=True)
class Desk:
    """A folder with a model and a text."""

    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "tiny"

    @property
    def text(self) -> Path:
        return self.folder / "text.txt"

    def request(self, name: str = "vectors", **changes: Any) -> Request:
        model, texts = find(str(self.model)), (TextSource(str(self.text)),)
        return replace(Request(model, texts, self.folder / name, rows_per_shard=ROWS, merge=True), **changes)

    def embed(self, name: str = "vectors", tell=lambda progress: None, **changes: Any) -> Embedded:
        return finish(embed(self.request(name, **changes), World("float32", "cpu")), tell)

    def words(self, name: str, *more: str) -> list[str]:
        """The command line of the same."""
        shards = ["--rows-per-shard", str(ROWS), "--merge", "--device", "cpu"]
        return ["embed", str(self.model), str(self.text), "--out", str(self.folder / name), *shards, *more]

    def shards(self, name: str = "vectors") -> list[Path]:
        return sorted((self.folder / name / "shards").glob("*.parquet"))


def furnish(folder: Path) -> Desk:
    """All of it, in a folder."""
    desk = Desk(folder)
    save_tiny("bert", desk.model)
    desk.text.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return desk


def columns(path: Path) -> dict[str, Any]:
    """The columns of a file as lists."""
    return pq.read_table(path).to_pydict()
