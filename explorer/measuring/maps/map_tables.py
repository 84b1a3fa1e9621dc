"""What is listed beside a map: sentences, neighbours, and clusters named by their typical terms; and maps of a corpus.

A map of vectors on disk has up to 200,000: PCA of all, or UMAP of a sample with the others placed next to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data.text_sets import Sentences
from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.errors import BadChoice
from explorer.in_words import Rows, rounded
from explorer.measuring.maps.projection import EXPLAINED, MapSettings, maps, principal
from explorer.measuring.maps.trustworthiness import Faithfulness, faithfulness
from explorer.measuring.neighbours.vector_index import COMPARED, Neighbourhoods, faiss_library, neighbourhoods
from explorer.measuring.scores.correlation import unit
from explorer.progress import Progress, Work

Row = dict[str, object]

OTHER_WIDTH = (
    "A's vectors have {:,} dimensions and B's {:,}, so the cosine between the two, and with it the shift of a "
    "sentence, is not defined."
)
MOST_CLUSTERS, FEWEST_CLUSTERS = 12, 3  # clusters of a map
A_CLUSTER = 25  # sentences, roughly
TERMS = 3  # in a name
Places = NDArray[np.float32]
Vectors = NDArray[np.float32]

MOST = 200_000  # points of a map
FITTED = 20_000  # vectors that UMAP lays out itself
BESIDE = 5  # of them, next to which any other vector is placed
CHECKED = 500  # vectors whose neighbours are compared with those of the map
AT_ONCE = 4096
KINDS = ("UMAP", "PCA")


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
        where = " and ".join(
            f"{in_words.number(median)} in {name}" for name, median in zip("AB", medians, strict=False)
        )
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


@dataclass(frozen=True, eq=False)
class LargeMap:
    """Positions (sentence, axis) of rows of a corpus, named regions, and what the map preserves."""

    rows: NDArray[np.int64]
    places: Places
    names: tuple[tuple[str, tuple[float, float]], ...]
    faithfulness: Faithfulness
    note: str


def large_map(corpus: VectorCorpus, settings: MapSettings) -> Work[LargeMap]:
    """Lay out all rows of a corpus that are searched, or as many as a map has at most, drawn at random."""
    if settings.kind not in KINDS or settings.axes != 2:
        raise BadChoice(
            f"{settings.kind} in {settings.axes} dimensions is not possible for vectors on disk. Choose "
            f"{' or '.join(KINDS)} in 2 dimensions."
        )
    count = corpus.searched
    if count < 2:
        raise BadChoice(f"A map needs at least 2 sentences; {corpus.name} has {count} with a vector that is not zero.")
    drawn = np.random.default_rng(settings.seed)
    rows = np.arange(count)
    note = f"All {count:,} sentences. "
    if count > MOST:
        rows = np.sort(drawn.choice(count, MOST, replace=False))
        note = f"{MOST:,} of {count:,} sentences, drawn at random. "
    rows = corpus.rows_searched(rows)
    yield Progress("reading vectors", 0, 0)
    vectors = corpus.rows(rows)
    fitted = np.sort(drawn.choice(len(rows), min(FITTED, len(rows)), replace=False))
    if settings.kind == "PCA":
        yield Progress("principal components", 0, 0)
        places, _, (share,) = principal(vectors, None, 2)
        note += EXPLAINED.format(2, f"{in_words.percent(share)} of the variance")
    else:
        near = yield from neighbourhoods(vectors[fitted], "finding neighbours in the sample")
        laid_out = yield from maps(vectors[fitted], None, (near,), replace(settings, kind="UMAP"))
        places = yield from _placed(vectors, fitted, laid_out.places[0])
        note += laid_out.note
        if len(fitted) < len(rows):
            note += (
                f" UMAP lays out {len(fitted):,} of them, drawn at random; each other one is placed between its "
                f"{BESIDE} nearest of these, closest to the nearest."
            )
    faith = yield from faithfulness(vectors, None, places, "trustworthiness of the map", settings.seed, CHECKED)
    yield Progress("naming clusters", 0, 0)
    texts = corpus.texts(rows[fitted].tolist())
    names = tuple((one.name, one.middle(places[fitted])) for one in clusters(texts, places[fitted]))
    return LargeMap(rows, places, names, faith, note)


def table(corpus: VectorCorpus, found: LargeMap) -> Rows:
    """A row for each sentence of the map: its number in the corpus, its text and its position."""
    every = zip(found.rows.tolist(), found.places.round(5).tolist(), strict=True)
    return [{"row": row, "sentence": corpus.text(row), "x": x, "y": y} for row, (x, y) in every]


def _placed(vectors: Vectors, fitted: NDArray[np.int64], of_fitted: Places) -> Work[Places]:
    """Each vector at the weighted mean of its nearest fitted ones; a fitted one where it was laid out.

    The weights are those of UMAP's graph in form: exp(-(d - d1) / s), where d1 is the least distance and s the mean of
    d - d1, so that a vector between two clusters is close to one of them.
    """
    places = np.empty((len(vectors), of_fitted.shape[1]), dtype=np.float32)
    places[fitted] = of_fitted
    others = np.setdiff1d(np.arange(len(vectors)), fitted)
    if not len(others):
        return places
    index = faiss_library().IndexFlatIP(vectors.shape[1])
    index.add(vectors[fitted])
    for start in range(0, len(others), AT_ONCE):
        yield Progress("placing the other sentences", start, len(others))
        some = others[start : start + AT_ONCE]
        cosines, nearest = index.search(vectors[some], min(BESIDE, len(fitted)))
        beyond = cosines[:, :1] - cosines
        scale = beyond.mean(axis=1, keepdims=True)
        weights = np.exp(-beyond / np.where(scale > 0, scale, 1))
        weights /= weights.sum(axis=1, keepdims=True)
        places[some] = np.einsum("sn,sna->sa", weights, of_fitted[nearest])
    return places
