"""Measure an index and the neighbours of a whole corpus, and compare FAISS with a NumPy product."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

import numpy as np

from benchmarks.timing import interleaved, ratio, told
from explorer.data import sources
from explorer.data.corpora import of_source
from explorer.data.text_sets import Sentences
from explorer.encoding.load.loading import load
from explorer.encoding.locate import model_names
from explorer.measuring.neighbours.vector_index import Index, overlap
from explorer.measuring.scores.correlation import unit
from explorer.measuring.sentences import sentence_vectors
from explorer.progress import finish

SENTENCES, K, ROUNDS, ROWS = 10_000, 10, 7, 1024


def main() -> None:
    corpus = _corpus()
    texts = corpus.texts[:SENTENCES]
    encoder = load(model_names.find("all-MiniLM-L6-v2"))
    readings = sentence_vectors.every_layer(encoder, "mean")
    layers = finish(sentence_vectors.gathered(encoder, texts, readings, 64))
    last, middle = layers[-1], layers[3]
    one, other = Index(last), Index(middle)
    known = unit(last)
    print(f"\nSearch: {len(texts):,} sentences of {corpus.name}, width {known.shape[1]}, {os.cpu_count()} processors")
    things = {
        "index": lambda: Index(last),
        f"Jaccard@{K}, two sides": lambda: finish(overlap(one, other, K)),
        "neighbours by FAISS": lambda: _by_faiss(known),
        "neighbours by numpy": lambda: _by_numpy(known),
        "one query": lambda: one.found(0, K),
    }
    seconds = interleaved(things, ROUNDS)
    for name, times in seconds.items():
        print(f"  {name:24} {told(times)}")
    print(f"  mean Jaccard@{K} of layers 6 and 3: {finish(overlap(one, other, K)).mean:.3f}")
    by = ratio(seconds["neighbours by FAISS"], seconds["neighbours by numpy"])
    print(f"  FAISS by one product in numpy, {ROWS:,} rows at a time: {by:.2f}")
    print(f"  one query: {1000 * statistics.median(seconds['one query']):.2f} ms")


def _corpus() -> Sentences:
    """Sentences of Wikipedia where STRATA_DATA has them, else the sample."""
    path = Path(os.environ.get("STRATA_DATA", "")) / "wiki" / "sentences.tsv"
    return of_source(sources.text(str(path) if path.is_file() else "sample"))


def _by_faiss(known: np.ndarray) -> np.ndarray:
    import faiss

    index = faiss.IndexFlatIP(known.shape[1])
    index.add(known)
    return index.search(known, K + 1)[1]  # which takes some thousands of rows at a time by itself


def _by_numpy(known: np.ndarray) -> np.ndarray:
    found = []
    for at in range(0, len(known), ROWS):
        cosines = known[at : at + ROWS] @ known.T
        top = np.argpartition(cosines, -K - 1, axis=1)[:, -K - 1 :]
        order = np.argsort(-np.take_along_axis(cosines, top, 1), axis=1)
        found.append(np.take_along_axis(top, order, 1))
    return np.concatenate(found)


if __name__ == "__main__":
    main()
