"""Measure the time and memory of splitting cosines into what words add, and what differing words add in probe packs."""

from __future__ import annotations

import resource
import time
from itertools import product

import numpy as np

from benchmarks.timing import told
from explorer.data import sample
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.pooling import OWN
from explorer.measuring.sentences.probe_cosines import PACKS, PairSums, differing, pack_words, pair_sums
from explorer.measuring.sentences.word_pairs import word_pair
from explorer.progress import finish

ROUNDS = 5
WHOLE = 6  # pairs of a pack of which the whole matrix is computed too
MODELS = ("all-MiniLM-L6-v2", "run:example")
PAIRS = {
    "8 and 7 words": ("A man is not playing the old guitar.", "A man is playing the old guitar."),
    "10 words": (
        "The small shop near our old school opens at nine.",
        "The small shop near our old school closes at nine.",
    ),
    "25 words": (
        "People on fast motorcycles who wear colourful racing gear ride around a narrow racetrack in the rain while a "
        "large crowd cheers loudly for its heroes.",
        "People on slow bicycles who wear colourful racing gear ride around a narrow racetrack in the sun while a "
        "large crowd waits quietly for its heroes.",
    ),
}


def main() -> None:
    print("\nWords of a cosine, float32")
    encoders = {name: load(find(name), "float32", attention="eager") for name in MODELS}
    for name, encoder in encoders.items():
        finish(word_pair(encoder, "It rains.", "It pours.", OWN))  # what torch prepares once
        for (what, pair), matrix in product(PAIRS.items(), (False, True)):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            seconds = []
            for _ in range(ROUNDS):
                started = time.perf_counter()
                found = finish(word_pair(encoder, *pair, OWN, matrix=matrix))
                seconds.append(time.perf_counter() - started)
            kind = "matrix" if matrix else "bars"
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(
                f"  {name:17} {what:14} {kind:6} {told(seconds)}, points {max(found.points)}, missed by "
                f"{found.missed:.4f}, {more:.0f} MB above the peak before"
            )
    _packs(encoders)


def _packs(encoders: dict[str, Encoder]) -> None:
    """Every pack under both models, and the first pairs of it by their whole matrices too."""
    print("\nWords that differ, in the probe packs")
    for pack in (pack for pack in sample.probe_packs() if pack.name in PACKS):
        found: dict[str, PairSums] = {}
        for side, (name, encoder) in zip("AB", encoders.items(), strict=True):
            started = time.perf_counter(), time.process_time()
            found[side] = finish(pair_sums(encoder, pack, OWN))
            ended = time.perf_counter(), time.process_time()
            wholes = [
                finish(word_pair(encoder, *pair, OWN, matrix=True))
                for pair in zip(pack.first[:WHOLE], pack.second[:WHOLE], strict=True)
            ]
            whole = (time.process_time() - ended[1]) / WHOLE * len(pack)
            gaps = []
            for one, added in zip(wholes, found[side][0], strict=False):
                assert one.matrix is not None
                rows, columns = (np.append(marks, False) for marks in differing(*one.words))
                gaps.append(abs(one.matrix[rows[:, None] | columns].sum() - added))
            print(
                f"  {pack.name:11} {name:17} {ended[0] - started[0]:.1f} s, processor {ended[1] - started[1]:.1f} s, "
                f"by the matrices {whole:.0f} s; largest gap {max(gaps):.4f}",
                flush=True,
            )
        of_pack = pack_words(pack.name, found)
        for side, (mean, low, high) in (*of_pack.sides.items(), ("B - A", of_pack.change)):
            print(f"    {side:6} {mean:+.3f} ({low:+.3f} to {high:+.3f})")
        print(f"    {of_pack}", flush=True)
