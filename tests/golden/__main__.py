"""Write what Strata gives for fixed inputs, to compare it before and after a change of the code.

`python -m tests.golden FOLDER` writes: JSON of the commands, the table of a plan and of a paper, every file of four
runs, exported folders by the digests of their files, model cards, reports, and the text of every page.
`diff -r OLD NEW` then names what changed. Durations, dates, processes and folders of the machine are taken out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALONE = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "0", "COLUMNS": "100"}


def main(out: Path) -> None:
    """Run everything in folders of its own, with one thread, so that sums are the same each time."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        kept = {f"STRATA_{name}": f"{place}/{name.lower()}" for name in ("CACHE", "RUNS", "RESULTS", "DATA")}
        environment = os.environ | ALONE | kept
        for folder in kept.values():
            Path(folder).mkdir()
        for module in ("tests.golden.outputs", "tests.golden.pages"):
            subprocess.run([sys.executable, "-m", module, place, str(out)], cwd=ROOT, env=environment, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
