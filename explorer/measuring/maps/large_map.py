"""Map up to 200,000 vectors of a corpus on disk: PCA of all, or UMAP of a sample with the others placed next to it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.errors import BadChoice
from explorer.in_words import Rows
from explorer.measuring.maps import projection
from explorer.measuring.maps.map_tables import clusters
from explorer.measuring.maps.projection import Faithfulness, MapSettings, faithfulness, principal
from explorer.measuring.neighbours.vector_index import faiss_library, neighbourhoods
from explorer.progress import Progress, Work

Places = NDArray[np.float32]
Vectors = NDArray[np.float32]

MOST = 200_000  # points of a map
FITTED = 20_000  # vectors that UMAP lays out itself
BESIDE = 5  # of them, next to which any other vector is placed
CHECKED = 500  # vectors whose neighbours are compared with those of the map
AT_ONCE = 4096
KINDS = ("UMAP", "PCA")


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
        note += projection.EXPLAINED.format(2, f"{share:.0%} of the variance")
    else:
        near = yield from neighbourhoods(vectors[fitted], "finding neighbours in the sample")
        maps = yield from projection.maps(vectors[fitted], None, (near,), replace(settings, kind="UMAP"))
        places = yield from _placed(vectors, fitted, maps.places[0])
        note += maps.note
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
