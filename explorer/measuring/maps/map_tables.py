"""What is listed beside a map: sentences, neighbours, and clusters named by the terms that are typical of each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.data.text_sets import Sentences
from explorer.in_words import rounded
from explorer.measuring.neighbours.vector_index import COMPARED, Neighbourhoods
from explorer.measuring.scores.correlation import unit

Row = dict[str, object]

OTHER_WIDTH = (
    "A's vectors have {:,} dimensions and B's {:,}, so the cosine between the two, and with it the shift of a "
    "sentence, is not defined."
)
MOST_CLUSTERS, FEWEST_CLUSTERS = 12, 3  # clusters of a map
A_CLUSTER = 25  # sentences, roughly
TERMS = 3  # in a name


def rows(
    described: Sentences, places: Sequence[NDArray[np.floating]], members: Sequence[int] | None = None
) -> list[Row]:
    """A row for every sentence, or for some: its attributes and its position on each map."""
    names = [f"{side} {axis}" for side, one in zip("AB", places, strict=False) for axis in "xyz"[: one.shape[1]]]
    where = np.concatenate(places, axis=1).round(5).tolist() if places else []
    return [
        {
            "sentence": described.texts[at],
            **{
                column.name: cell if isinstance(cell := column.cells[at], str) else rounded(cell)
                for column in described.columns
            },
            **(dict(zip(names, where[at], strict=True)) if places else {}),
        }
        for at in (range(len(described)) if members is None else members)
    ]


def labels(described: Sentences) -> dict[str, list[object]]:
    """The attributes of each sentence by column; None if missing."""
    return {
        column.name: [None if cell == "" or cell != cell else cell for cell in column.cells]
        for column in described.columns
    }


def neighbour_rows(
    texts: Sequence[str], vectors: Sequence[NDArray[np.floating]], near: Sequence[Neighbourhoods], sentence: int
) -> list[Row]:
    """The nearest neighbours of a sentence with their cosines; with two sides, those kept, lost and gained."""
    found = [one.places[sentence, :COMPARED].tolist() for one in near]
    if len(near) < 2:
        cosines = _cosines(vectors[0], sentence, found[0])
        return [{"sentence": texts[at], "cosine": cosine} for at, cosine in zip(found[0], cosines, strict=True)]
    one, other = found
    listed: list[Row] = []
    for what, some in (
        ("kept", [place for place in one if place in other]),
        ("lost", [place for place in one if place not in other]),
        ("gained", [place for place in other if place not in one]),
    ):
        both = zip(some, *(_cosines(side, sentence, some) for side in vectors), strict=True)
        listed += [
            {"from A to B": what, "sentence": texts[at], "cosine in A": in_one, "cosine in B": in_other}
            for at, in_one, in_other in both
        ]
    return listed


def line_notes(described: Sentences, vectors: Sequence[NDArray[np.floating]]) -> list[str]:
    """The median cosine of the pairs joined by lines, for each group, in full space."""
    found = []
    for group in dict.fromkeys(described.columns[0].cells[one] for one, _ in described.lines):
        ends = np.array([line for line in described.lines if described.columns[0].cells[line[0]] == group])
        known = [unit(side) for side in vectors]
        medians = [float(np.median((side[ends[:, 0]] * side[ends[:, 1]]).sum(1))) for side in known]
        where = " and ".join(f"{median:.2f} in {name}" for name, median in zip("AB", medians, strict=False))
        found.append(f"Of the {len(ends)} pairs {group} the median cosine is {where}.")
    return found


def width_notes(vectors: Sequence[NDArray[np.floating]]) -> list[str]:
    """The reason why the shift of sentences is not shown; "" if it is."""
    widths = [side.shape[1] for side in vectors]
    if len(set(widths)) < 2:
        return []
    return [OTHER_WIDTH.format(*widths)]


def _cosines(vectors: NDArray[np.floating], sentence: int, others: Sequence[int]) -> list[float]:
    known = unit(vectors[[sentence, *others]])
    return [round(float(cosine), 4) for cosine in known[1:] @ known[0]]


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

    count = int(np.clip(len(texts) // A_CLUSTER, FEWEST_CLUSTERS, MOST_CLUSTERS))
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
