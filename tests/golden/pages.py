"""Write the text of every page, without a browser, once all that it measures is there."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from streamlit.testing.v1 import AppTest

from explorer.ui.access import jobs
from explorer.ui.frame.page_list import PAGES
from tests.golden.scrubbing import ROOT, scrubbed
from tests.visits import measured

VISITS = {"alone": {}, "compared": {"beside": "run:example"}}


def main(place: Path, out: Path) -> None:
    """Every page with one model, and with the example run as model B."""
    folder = out / "pages"
    folder.mkdir()
    for visit, address in VISITS.items():
        for page in PAGES:
            app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
            app.query_params.update(address)
            app.switch_page(page.file)
            measured(app, seconds=300)
            lines = [*_lines(app.sidebar, "sidebar"), *_lines(app.main, "main")]
            (folder / f"{page.name}-{visit}.txt").write_text(scrubbed("\n".join(lines), place) + "\n", encoding="utf-8")
            jobs.stop_all()
            for key in list(jobs._jobs):
                jobs.forget(key)


def _lines(block: object, where: str) -> list[str]:
    """Every element in the order of the page: its kind, its label and what it shows."""
    lines = []
    for one in getattr(block, "children", {}).values():
        if hasattr(one, "children"):
            label = getattr(one, "label", "")
            lines += [f"[{where}] {label}"] if label else []
            lines += _lines(one, where)
            continue
        told = [_text(getattr(one, name, None)) for name in ("label", "value", "delta", "help")]
        lines.append(f"{where} {one.type}: " + " | ".join(text for text in told if text))
    return lines


def _text(value: object) -> str:
    if isinstance(value, pd.DataFrame):
        return value.to_csv(index=False)
    return "" if value is None else str(value)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
