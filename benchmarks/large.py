"""Search a million sentences: build time, bytes, milliseconds per query and recall of each index.

The sentences are recombined from the text that ships: the first third of one, the middle third of another, the last
third of a third one. Their vectors are the mean of layer 0 of the bundled encoder, its embedding layer alone, since all
its layers would take hours. `STRATA_LARGE` is the number of sentences, or a source of vectors to measure instead.
"""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from explorer import in_words, places
from explorer.data import sample
from explorer.data.vectors.opening import is_vectors, opened
from explorer.data.vectors.vector_corpus import VectorCorpus, prepared
from explorer.encoding.load.loading import load
from explorer.encoding.locate import model_names
from explorer.encoding.read.encoder import Encoder
from explorer.measuring.neighbours.vector_index import KINDS
from explorer.measuring.neighbours.vector_search import searchable
from explorer.progress import finish

COUNT, QUERIES, K = 1_000_000, 50, 10
AT_ONCE, BATCH = 20_000, 512
SHORTEST = 6  # words of a sentence that is recombined


def main() -> None:
    asked = os.environ.get("STRATA_LARGE", str(COUNT))
    source = asked if is_vectors(asked) else str(recombined(int(asked)))
    started = time.perf_counter()
    found = finish(prepared(opened(source)))
    seconds = time.perf_counter() - started
    size = found.vectors.nbytes
    print(f"\n{found.note} {in_words.size(size)} of {found.vectors.dtype}; checked in {seconds:.0f} s")
    print(f"  load of the machine {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")
    print("| index | build, s | size | ms per query, median (95 %) | of processor | recall@10 | searched |")
    print("|---|---|---|---|---|---|---|")
    for kind in KINDS:
        _measure(found, kind)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"  most memory of the process, mapped files included: {in_words.size(peak)}")


def _measure(found: VectorCorpus, kind: str) -> None:
    finish(searchable(found, kind))
    search = finish(searchable(found, kind))  # as it is opened from the disk
    rows = np.random.default_rng(1).choice(len(found), QUERIES + 5, replace=False).tolist()
    times, busy = [], []
    for row in rows:
        started, used = time.perf_counter(), time.process_time()
        search.found(row, K)
        times.append(1000 * (time.perf_counter() - started))
        busy.append(1000 * (time.process_time() - used))
    times, processor = sorted(times[5:]), statistics.median(busy[5:])  # the first ones read the files
    facts = search.facts
    setting = facts.setting
    how = {"flat": "all vectors", "ivf": f"{setting.nprobe} of {setting.nlist:,} lists", "hnsw": f"ef {setting.ef}"}
    recall = "1 (exact)" if facts.recall is None else f"{facts.recall:.3f} on {facts.queries} vectors"
    size = in_words.size(facts.bytes or found.vectors.nbytes)
    speed = f"{statistics.median(times):.1f} ({times[int(0.95 * len(times))]:.1f})"
    print(f"| {kind} | {facts.seconds:.0f} | {size} | {speed} | {processor:.1f} | {recall} | {how[kind]} |", flush=True)


def recombined(count: int) -> Path:
    """The vectors of recombined sentences as .npy, with their text."""
    encoder = load(model_names.find("all-MiniLM-L6-v2"), "float32", "cpu")
    path = places.cache_folder() / f"recombined-{count}.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    vectors = np.lib.format.open_memmap(path, "w+", np.float32, (count, encoder.width))
    started = time.perf_counter()
    with path.with_suffix(".txt").open("w", encoding="utf-8") as file:
        for start, texts in _recombined(count):
            vectors[start : start + len(texts)] = _embedded(encoder, texts)
            file.write("".join(f"{text}\n" for text in texts))
    vectors.flush()
    print(f"\n{count:,} sentences recombined and encoded in {time.perf_counter() - started:.0f} s")
    return path


def _recombined(count: int) -> Iterator[tuple[int, list[str]]]:
    pairs, search = sample.pairs(), sample.search()
    known = dict.fromkeys((*sample.sentences().texts, *pairs.sentences, *search.documents))
    words = [text.split() for text in known if len(text.split()) >= SHORTEST]
    drawn, seen = np.random.default_rng(0), set[tuple[int, ...]]()
    texts: list[str] = []
    done = 0
    while done < count:
        one = tuple(int(at) for at in drawn.integers(len(words), size=3))
        if one in seen:
            continue
        seen.add(one)
        thirds = (
            words[at][len(words[at]) * part // 3 : len(words[at]) * (part + 1) // 3] for part, at in enumerate(one)
        )
        texts.append(" ".join(word for third in thirds for word in third))
        if len(texts) == min(AT_ONCE, count - done):
            yield done, texts
            done += len(texts)
            texts = []


def _embedded(encoder: Encoder, texts: list[str]) -> np.ndarray:
    """The mean of layer 0 (sentence, width)."""
    import torch

    ids = encoder.tokens(texts).ids
    found = np.empty((len(texts), encoder.width), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda at: len(ids[at]))
    with torch.inference_mode():
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            longest = len(ids[some[-1]])
            padded = torch.tensor([ids[at] + [0] * (longest - len(ids[at])) for at in some])
            mask = torch.tensor([[1.0] * len(ids[at]) + [0.0] * (longest - len(ids[at])) for at in some])[..., None]
            states = encoder.model.embeddings(input_ids=padded)
            found[some] = ((states * mask).sum(1) / mask.sum(1)).numpy()
    return found


if __name__ == "__main__":
    main()
