"""Measure the time of a process's first UMAP, and its trustworthiness."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

from explorer.data import sample
from explorer.data.graded import sts
from explorer.encoding.load.loading import load
from explorer.encoding.locate import model_names
from explorer.encoding.read.pooling import parse
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish

ROOT = Path(__file__).parent.parent
COUNTS, ROUNDS = (3_000, 10_000), 3
WAYS = {
    "bare": "with imports and compiling",
    "imported": "with compiling",
    "after": "as on the page, where UMAP loads while sentences are read",
}
# neighbours, the layout and its judgement are timed; unless they were done before, imports and compiling, too
TIMED = """
import sys, time
import numpy as np
if sys.argv[4] == "imported":
    import faiss, umap
if sys.argv[4] == "after":
    from explorer.measuring.maps.umap_layout import loaded
    from explorer.progress import finish
    finish(loaded())
started, busy = time.perf_counter(), time.process_time()
from explorer.measuring.neighbours.vector_index import neighbourhoods
from explorer.measuring.maps.projection import MapSettings, maps
from explorer.progress import finish
sides = [np.load(sys.argv[1])[: int(sys.argv[2])]]
if sys.argv[3] == "both":
    sides.append(sides[0] + np.random.default_rng(0).normal(scale=0.02, size=sides[0].shape).astype(np.float32))
near = tuple(finish(neighbourhoods(side)) for side in sides)
found = finish(maps(sides[0], sides[1] if len(sides) > 1 else None, near, MapSettings()))
print(time.perf_counter() - started, time.process_time() - busy, found.faithfulness[0].trustworthiness)
"""


def main() -> None:
    encoder, found = load(model_names.find("all-MiniLM-L6-v2")), sentences(max(COUNTS))
    vectors = finish(of_reading(encoder, found, parse("mean of layer 6", 6), 64))
    print(f"\nThe first UMAP of a process, {vectors.shape[1]} dimensions; the best of {ROUNDS} processes")
    with tempfile.TemporaryDirectory() as folder:
        import numpy as np

        file = Path(folder) / "vectors.npy"
        np.save(file, vectors)
        for count in COUNTS:
            if count > len(vectors):
                print(
                    f"  {count:,} sentences: only {len(vectors):,} are here. Set STRATA_DATA to a folder with STS sets."
                )
                continue
            for way, sides in product(WAYS, ("one", "both")):
                wall, busy, trust = zip(*(_timed(file, count, sides, way) for _ in range(ROUNDS)), strict=True)
                who = "A alone" if sides == "one" else "A and B"
                print(
                    f"  {count:6,} sentences, {who}  {min(wall):6.2f} s  (processor {min(busy):.2f} s, "
                    f"trustworthiness {trust[0]:.3f}), {WAYS[way]}"
                )


def _timed(file: Path, count: int, sides: str, way: str) -> tuple[float, float, float]:
    told = subprocess.run(
        [sys.executable, "-c", TIMED, str(file), str(count), sides, way], cwd=ROOT, check=True, capture_output=True
    ).stdout.split()
    return float(told[0]), float(told[1]), float(told[2])


def sentences(most: int) -> list[str]:
    """Of the published sets that are here, else of the sample."""
    found = dict.fromkeys(sample.pairs().sentences)
    for name, split in sts.available():
        if len(found) >= most:
            break
        found |= dict.fromkeys(sts.load(name, split).sentences)
    return list(found)[:most]
