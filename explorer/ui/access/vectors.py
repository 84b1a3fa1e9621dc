"""Encode sentences with a side of the sidebar, once in the background, then cached."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import digest_of
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.readings import Reading
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences import sentence_vectors
from explorer.progress import Progress, Work
from explorer.ui.access import cached, job_results, jobs

Vectors = NDArray[np.float32]


def of_reading(found: Found, sentences: Sequence[str], reading: Reading, settings: Settings) -> Vectors | None:
    """Vectors (sentence, width), in the order of the sentences; None while they are being computed."""
    texts = digest_of(sentences)
    key = _key(found, texts, reading, settings)
    title = f"Encoding {len(sentences):,} sentences with {found.name}"
    vectors: Vectors | None = job_results.made(key, title, lambda: _read(found, sentences, reading, settings))
    return vectors


def are_coming(found: Found, sentences: Sequence[str], reading: Reading, settings: Settings) -> bool:
    """Whether vectors are being computed: False too if that failed or was stopped."""
    job = jobs.find(_key(found, digest_of(sentences), reading, settings))
    return job is not None and job.live


def _key(found: Found, texts: str, reading: Reading, settings: Settings) -> str:
    return f"vectors {found.digest} {texts} {reading.title} {settings}"


def _read(found: Found, sentences: Sequence[str], reading: Reading, settings: Settings) -> Work[Vectors]:
    yield Progress(f"loading {found.name}", 0, 0)
    vectors = yield from sentence_vectors.of_reading(
        cached.encoder(found, settings), sentences, reading, settings.max_length
    )
    vectors.setflags(write=False)  # every tab of every visitor shares them
    return vectors
