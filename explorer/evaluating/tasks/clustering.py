"""Score a model on clustering: whether clusters of its vectors are the classes of the texts.

The protocol is MTEB's: mini-batch k-means with as many clusters as there are labels, and V-measure × 100, higher is
better. Of a file with sets of texts, each is clustered in batches of 500, and the score is the mean over sets.
Otherwise 16,384 texts are drawn ten times with replacement and clustered in batches of 512. MTEB gives k-means of sets
no seed, so its scores differ a little between runs; here the seed is always 42.

A result has no items: V-measure is no mean over texts, so models are compared by their intervals only.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cached_property

import numpy as np

from explorer.data import sources
from explorer.data.labelled import clustering_sets
from explorer.data.labelled.clustering_sets import SEED, ClusteringSet
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.encoded import FLOAT, TaskCost, checked_titles, encoded, of_encoding, width_of
from explorer.evaluating.probes import clusters
from explorer.evaluating.probes.clusters import Places
from explorer.evaluating.results import scored_task
from explorer.evaluating.tasks import Subject, Suite, Task
from explorer.places import given_path
from explorer.progress import Progress, Work

V_MEASURE = "v_measure"  # as MTEB calls it
DRAWS, DRAWN = 10, 16_384  # draws of texts, and texts of each
OF_SETS = (500, "auto")  # batch and starts of k-means, of sets and of draws
OF_DRAWS = (512, 1)


class Clustering(Task[ClusteringSet]):
    """Texts with labels of a published set of MTEB, or of a folder in its layout, to be clustered."""

    kind = scored_task.CLUSTERING
    suites = (Suite("clustering", clustering_sets.names(), 7, "by topic"),)

    @classmethod
    def load(cls, name: str, options: scored_task.Options) -> Clustering:
        """Load the test split."""
        return cls(name, clustering_sets.load(name, online=options.online))

    @classmethod
    def own(cls, source: str) -> Clustering | None:
        """Load a folder with a test file of labelled texts and no train file."""
        found = clustering_sets.read(given_path(source)) if sources.is_folder(source) else None
        return None if found is None else cls(source, found)

    @cached_property
    def labels(self) -> Places:
        """The number of the class of each text."""
        return np.unique(self.data.labels, return_inverse=True)[1].astype(np.intp)

    @cached_property
    def drawn(self) -> list[Places]:
        """The rows of each set or draw."""
        return [np.asarray(rows, dtype=np.intp) for rows in self.data.drawn(DRAWS, DRAWN)]

    def titles(self, subject: Subject, options: scored_task.Options) -> tuple[str, ...]:
        """Those asked for, by default that of the model alone: clusters are computed for each of them."""
        return super().titles(subject, replace(options, titles=options.titles or (MODEL_DEFAULT,)))

    def score(self, subject: Subject, options: scored_task.Options) -> Work[scored_task.Measured]:
        """Cluster the vectors under each layer & pooling."""
        started = time.perf_counter()
        yield Progress(f"loading {subject.found.name}", 0, 0)
        encoder = subject.encoder
        titles = checked_titles(encoder, self.titles(subject, options))
        vectors = yield from encoded(encoder, self.data.texts, self.length(subject), titles)
        setting = {**self._setting, "max_length": encoder.limit(self.length(subject)), "precision": encoder.precision}
        scores: dict[str, float] = {}
        ends: dict[str, tuple[float, float]] = {}

        def measured() -> scored_task.Measured:
            known = tuple(title for title in titles if title in scores)
            table = np.array([[[scores[title]]] for title in known])
            seconds = time.perf_counter() - started
            return scored_task.Measured(
                "test", known, (V_MEASURE,), table, (SEED,), setting, seconds=seconds, ends=ends
            )

        # the model default first: what is kept of work that is stopped has the interval
        for title in sorted(titles, key=lambda title: title != MODEL_DEFAULT):
            of_title = vectors.of(title)
            found = (yield from self._clusters(title, of_title)) if np.isfinite(of_title).all() else []
            # without finite vectors the score stays missing
            scores[title] = clusters.mean_v_measure(self.labels, self.drawn, found) if found else math.nan
            if found and title == MODEL_DEFAULT:
                interval = clusters.ends(self.labels, vectors.places, self.drawn, found)
                ends = scored_task.ends([(V_MEASURE, interval)])
            yield scored_task.SoFar(f"scored {title}", len(scores), len(titles), measured=measured())
        return measured()

    def cost(self, subject: Subject, options: scored_task.Options) -> Work[TaskCost | None]:
        """Estimate the time of the encoding and of k-means, which is tried on random vectors of one set or draw."""
        yield Progress(f"loading {subject.found.name}", 0, 0)
        encoder, rows = subject.encoder, self.drawn[0]
        titles = checked_titles(encoder, self.titles(subject, options))
        cost = of_encoding(encoder, self.data.texts, self.length(subject))
        random = np.random.default_rng(0).normal(size=(len(rows), width_of(encoder, MODEL_DEFAULT)))
        started = time.perf_counter()
        self._of_rows(random.astype(np.float32), rows)
        every = len(titles) * sum(map(len, self.drawn))
        usual = (time.perf_counter() - started) * every / len(rows)
        disk = sum(width_of(encoder, title) for title in titles) * cost.texts * FLOAT
        fits = len(titles) * len(self.drawn)
        return replace(cost, fits=fits, probing=usual, probing_at_most=usual, disk=disk)

    def _clusters(self, title: str, vectors: clusters.Vectors) -> Work[list[Places]]:
        """The clusters of every set or draw."""
        found = []
        for at, rows in enumerate(self.drawn):
            yield Progress(f"clustering: {title}", at, len(self.drawn))
            found.append(self._of_rows(vectors[rows], rows))
        return found

    def _of_rows(self, vectors: clusters.Vectors, rows: Places) -> Places:
        """The clusters of one set or draw: as many as the set has labels, or as there are labels to draw."""
        batch, starts = OF_SETS if self.data.sets else OF_DRAWS
        count = len(np.unique(self.labels[rows] if self.data.sets else self.labels))
        return clusters.clusters(vectors, count, batch, starts, SEED)

    @property
    def _setting(self) -> dict[str, scored_task.Setting]:
        """What else decides the scores."""
        batch, starts = OF_SETS if self.data.sets else OF_DRAWS
        return {
            "texts": len(self.data),
            "texts in all": self.data.total or len(self.data),
            "classes": len(self.data.classes),
            "sets" if self.data.sets else "draws": len(self.drawn),
            "clustering": "MiniBatchKMeans",
            "batch": batch,
            "starts": starts,
        }
