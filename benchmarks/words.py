"""Measure the time and memory of splitting the cosine of two sentences into what their words add."""

from __future__ import annotations

import resource
import time

from benchmarks.timing import told
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.readings import OWN
from explorer.measuring.sentences.word_pair import word_pair
from explorer.progress import finish

ROUNDS = 5
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
        for what, pair in PAIRS.items():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            seconds = []
            for _ in range(ROUNDS):
                started = time.perf_counter()
                found = finish(word_pair(encoder, *pair, OWN))
                seconds.append(time.perf_counter() - started)
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(
                f"  {name:17} {what:14} {told(seconds)}, points {max(found.points)}, missed by {found.missed:.4f}, "
                f"{more:.0f} MB above the peak before"
            )
