"""Vectors of sentences under a layer & pooling: computed, refused if not finite, compared by cosine, and exported."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.pooling import OWN, Reading, Row
from explorer.errors import BadChoice, ModelError, NotWeights, UnsupportedModel
from explorer.in_words import rounded
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Vectors = NDArray[np.float32]
_FLOAT32 = "Switch precision to float32."
SHOWN = 80  # characters of a sentence in an error
Matrix = NDArray[np.float64]
# a fixed time in the zip file, so that equal vectors give equal files
_WHEN = (1980, 1, 1, 0, 0, 0)


def of_reading(
    encoder: Encoder, sentences: Sequence[str], reading: Reading, max_length: int | None = None
) -> Work[Vectors]:
    """Vectors (sentence, width) of one layer & pooling."""
    (found,) = yield from gathered(encoder, sentences, [reading], max_length)
    return found


def gathered(
    encoder: Encoder,
    sentences: Sequence[str],
    readings: Sequence[Reading],
    max_length: int | None = None,
    stage: str = "encoding sentences",
) -> Work[tuple[Vectors, ...]]:
    """Vectors (sentence, width) of each layer & pooling, from one pass over the sentences."""
    if OWN in readings and encoder.head is None:
        raise BadChoice(f"'{encoder.name}' declares no model default. Choose a layer & pooling.")
    found: list[Vectors] = []
    done = 0
    parts = yield from encoder.parts(sentences, max_length)
    for places, vectors in encoder.under_readings(parts, readings):
        if not found:  # the width is known only now: a model default can have another one
            found = [np.empty((len(sentences), part.shape[-1]), dtype=np.float32) for part in vectors]
        for of_all, part in zip(found, vectors, strict=True):
            of_all[places] = part.numpy()
        done += len(places)
        yield Progress(stage, done, len(sentences))
    return tuple(found) or tuple(np.empty((0, encoder.width), dtype=np.float32) for _ in readings)


def every_layer(encoder: Encoder, pooling: str) -> list[Reading]:
    """Every layer under a pooling."""
    return [Reading(Row((layer,)), pooling) for layer in range(encoder.rows[-1].layers[-1] + 1)]


def check_finite(
    encoder: Encoder, texts: Sequence[str], reading: Reading, vectors: NDArray[Any], max_length: int | None = None
) -> None:
    """Refuse vectors (text, width) under a layer & pooling if a number in them is not finite."""
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        text = texts[int(wrong[0])]
        shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
        kind, cause = _cause(encoder, text, reading, max_length)
        raise kind(
            f"'{encoder.name}' gives {len(wrong):,} of {len(texts):,} sentences vectors with NaN or infinite numbers "
            f"under {reading.title}, such as '{shown}'. {cause}"
        )


def _cause(encoder: Encoder, text: str, reading: Reading, max_length: int | None) -> tuple[type[ModelError], str]:
    """The kind of error, and the first part whose output for a text is not finite, with what to do."""
    import torch

    exact = encoder.precision == "float32"
    states = encoder.states([text], max_length)
    highest = len(states.hidden) - 1 if reading == OWN else max(reading.row.layers)
    for layer in range(highest + 1):
        if not states.hidden[layer].isfinite().all():
            where = f"They come from its layer {layer}" if layer else "They come from its embedding layer"
            # in another precision than float32 an infinite weight may be rounding
            weights = list(encoder.model.parameters())
            if any(bool((~one.isfinite() if exact else one.isnan()).any()) for one in weights):
                return NotWeights, f"{where}, whose weights are damaged: copy or download the model again."
            below = "a layer below it, or " if layer else ""
            return UnsupportedModel, f"{where}. {f'Choose {below}another model.' if exact else _FLOAT32}"
    if reading == OWN and encoder.head is not None:
        names = encoder.head.facts().stages
        with torch.inference_mode():
            for at, found in enumerate(encoder.head.stages(states.hidden, states.mask)):
                if not found.isfinite().all():
                    after = f", after {' → '.join(names[:at])}" if at else ""
                    step = "Choose another layer & pooling, or another model." if exact else _FLOAT32
                    return UnsupportedModel, f"They come from its {names[at]}{after}. {step}"
    return UnsupportedModel, "Encoded alone, it is finite: start again, and look at this machine if it happens again."


def similarities(vectors: NDArray[Any]) -> Matrix:
    """Cosines (sentence, sentence) of vectors (sentence, width); missing for zero vectors."""
    # equal vectors once, since a matrix product rounds equal rows differently
    distinct, places = np.unique(vectors, axis=0, return_inverse=True)
    exact = distinct.astype(np.float64)
    lengths = np.sqrt((exact**2).sum(1))
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = exact / lengths[:, None]
    known = np.isfinite(unit).all(1)
    unit[~known] = np.nan
    cosines = np.clip(unit @ unit.T, -1, 1)
    np.fill_diagonal(cosines, np.where(known, 1.0, np.nan))
    return np.asarray(cosines[np.ix_(places, places)])


def clustered(cosines: Matrix) -> NDArray[np.intp]:
    """An order with similar sentences side by side: average linkage on 1 - cosine, with optimal leaf ordering."""
    count = len(cosines)
    if count < 3:
        return np.arange(count)
    from scipy.cluster.hierarchy import leaves_list, linkage

    # missing cosines count as distance 1
    distances = 1 - np.nan_to_num(cosines, nan=0.0)
    above = distances[np.triu_indices(count, k=1)]
    tree = linkage(np.maximum(above, 0.0), "average", optimal_ordering=True)
    order = np.asarray(leaves_list(tree), dtype=np.intp)
    return order if order[0] < order[-1] else order[::-1]  # of the two directions, start with the earlier sentence


def apart(cosines: Matrix) -> Matrix:
    """The cosines of all pairs of different sentences."""
    return np.asarray(cosines[np.triu_indices(len(cosines), k=1)])


def foremost(one: Matrix, other: Matrix | None, most: int) -> list[tuple[int, int]]:
    """The positions of the pairs whose cosine changed most; with one side, of the most similar pairs."""
    values = apart(one if other is None else np.abs(other - one))
    firsts, seconds = np.triu_indices(len(one), k=1)
    # stable: ties in the order of the input
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")[:most]
    return [(int(firsts[place]), int(seconds[place])) for place in order]


def similarity_rows(sentences: tuple[str, ...], one: Matrix, other: Matrix | None) -> list[dict[str, object]]:
    """A row for every pair of sentences, with cosines."""
    pairs = zip(*np.triu_indices(len(sentences), k=1), strict=True)
    return [pair_row(sentences, one, other, (int(first), int(second))) for first, second in pairs]


def pair_row(sentences: tuple[str, ...], one: Matrix, other: Matrix | None, pair: tuple[int, int]) -> dict[str, object]:
    """Two sentences, by number and in full, with their cosines."""
    first, second = pair
    row: dict[str, object] = {
        "number": first + 1,
        "other number": second + 1,
        "sentence": sentences[first],
        "other sentence": sentences[second],
        "cosine A": rounded(one[pair], 6),
    }
    if other is not None:
        row["cosine B"] = rounded(other[pair], 6)
        row["B - A"] = rounded(other[pair] - one[pair], 6)
    return row


def as_npy(vectors: NDArray[np.float32]) -> bytes:
    """Vectors (sentence, width) for `numpy.load`."""
    file = io.BytesIO()
    np.save(file, vectors)
    return file.getvalue()


def as_parquet(
    sentences: Sequence[str], vectors: NDArray[np.float32], labels: Mapping[str, Sequence[object]] | None = None
) -> bytes:
    """A row for each sentence: the text, its labels if there are any, and its vector as a list."""
    import pyarrow as pa
    from pyarrow import parquet

    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel())
    columns = {
        "sentence": pa.array(list(sentences), pa.string()),
        **{name: pa.array(list(values)) for name, values in (labels or {}).items()},
        "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
    }
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def as_projector(
    sentences: Sequence[str], vectors: NDArray[np.float32], labels: Mapping[str, Sequence[object]] | None = None
) -> bytes:
    """A zip of vectors.tsv and metadata.tsv, as projector.tensorflow.org loads them.

    Its metadata has a header only with more than one column.
    """
    columns: dict[str, Sequence[object]] = {"sentence": sentences, **(labels or {})}
    rows = list(zip(*columns.values(), strict=True))
    lines = [*[tuple(columns)] * (len(columns) > 1), *rows]
    # nine digits represent any float32 exactly
    numbers = "".join("\t".join(f"{number:.9g}" for number in vector) + "\n" for vector in vectors.tolist())
    # each text as one line and one cell; an empty one becomes "-", since empty lines are skipped
    cells = (["-" if cell is None else " ".join(str(cell).split()) or "-" for cell in line] for line in lines)
    metadata = "".join("\t".join(line) + "\n" for line in cells)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (("vectors.tsv", numbers), ("metadata.tsv", metadata)):
            archive.writestr(zipfile.ZipInfo(name, _WHEN), text.encode("utf-8"), zipfile.ZIP_DEFLATED)
    return file.getvalue()
