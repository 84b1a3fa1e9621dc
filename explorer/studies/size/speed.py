"""Time encoders: sentences a second in batches, and milliseconds of a single query."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

BATCH = 32  # sentences, as sentence-transformers encodes them
TEXTS, QUERIES = 128, 16
ROUNDS = 4


def speeds(encoders: Sequence[Encoder], sentences: Sequence[str]) -> Work[list[tuple[float, float]]]:
    """The sentences per second and the milliseconds of a query of each encoder, tokenising included.

    They are timed in turn, several times over, so that what else the machine does slows all of them alike; the fastest
    round counts, which was disturbed least.
    """
    step = max(1, len(sentences) // TEXTS)
    some = sorted(sentences, key=len)[step // 2 :: step][:TEXTS]
    queries = some[:: max(1, len(some) // QUERIES)][:QUERIES]
    batched: list[list[float]] = [[] for _ in encoders]
    single: list[list[float]] = [[] for _ in encoders]
    for done in range(ROUNDS + 1):
        for place, encoder in enumerate(encoders):
            yield Progress(
                "timing the encoder after each layer", done * len(encoders) + place, (ROUNDS + 1) * len(encoders)
            )
            all_of_them = _seconds(encoder, some)
            each = [_seconds(encoder, [query]) for query in queries]
            if done:  # the first round is slower: it prepares each shape of a matrix product
                batched[place].append(all_of_them)
                single[place].append(median(each))
    return [(len(some) / min(whole), 1000 * min(one)) for whole, one in zip(batched, single, strict=True)]


def _seconds(encoder: Encoder, sentences: Sequence[str]) -> float:
    started = time.perf_counter()
    encoded(encoder, sentences)
    return time.perf_counter() - started


def encoded(encoder: Encoder, sentences: Sequence[str]) -> list[NDArray[np.float32]]:
    """Vectors in batches of neighbours in length, padded, from the last layer alone, as other libraries encode."""
    import torch

    head = encoder.default_head
    ids = sorted(encoder.tokens(sentences).ids, key=len)
    found = []
    with torch.inference_mode():
        for start in range(0, len(ids), BATCH):
            numbers, mask = encoder.padded(ids[start : start + BATCH])
            states = encoder.model(input_ids=numbers, attention_mask=mask.long()).last_hidden_state
            found.append(head([states], mask).float().cpu().numpy())
    return found
