"""Name the clusters of a map by the terms that are typical of each: k-means on the map, then c-TF-IDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST, FEWEST = 12, 3  # clusters of a map
A_CLUSTER = 25  # sentences, roughly
TERMS = 3  # in a name


@dataclass(frozen=True)
class Cluster:
    """Neighbouring sentences of a map, and their most typical terms."""

    name: str
    members: tuple[int, ...]

    def middle(self, places: NDArray[np.floating]) -> tuple[float, float]:
        """Where its median sentence is on a map: this one or another of the same sentences."""
        x, y = np.median(places[list(self.members)], axis=0)[:2]
        return float(x), float(y)


def clusters(texts: Sequence[str], places: NDArray[np.floating], seed: int = 0) -> tuple[Cluster, ...]:
    """Clusters of the map, largest first, without those whose sentences share no word."""
    from sklearn.cluster import KMeans

    count = int(np.clip(len(texts) // A_CLUSTER, FEWEST, MOST))
    if len(np.unique(places, axis=0)) <= count:
        return ()
    group = KMeans(count, n_init=3, random_state=seed).fit_predict(places)
    members = [tuple(np.nonzero(group == number)[0].tolist()) for number in range(count)]
    names = typical_terms([" ".join(texts[at] for at in of_one) for of_one in members])
    found = [Cluster(name, of_one) for name, of_one in zip(names, members, strict=True) if name]
    return tuple(sorted(found, key=lambda cluster: -len(cluster.members)))


def typical_terms(documents: Sequence[str]) -> list[str]:
    """For each document its terms of highest c-TF-IDF (Grootendorst 2022): tf × log(1 + mean length / frequency)."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(stop_words="english", token_pattern=r"(?u)[^\W\d_]{3,}(?:['’]\w+)?")
    try:
        counts = counter.fit_transform(documents).toarray().astype(float)
    except ValueError:  # no words but stop words
        return [""] * len(documents)
    weights = counts * np.log1p(counts.sum() / len(documents) / counts.sum(0))
    terms = counter.get_feature_names_out()
    return [
        ", ".join(terms[at] for at in np.argsort(-of_one, kind="stable")[:TERMS] if of_one[at] > 0)
        for of_one in weights
    ]
