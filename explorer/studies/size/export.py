"""Export an encoder of one size as a folder that transformers and sentence-transformers open, with a model card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.encoding.export import source_code
from explorer.encoding.locate import lookup
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.escaping import fenced, plain, table
from explorer.measuring.scores.correlation import unit
from explorer.progress import Progress, Work
from explorer.studies.size.compression import BITS, FLOAT16, FLOAT32, INT8, ranges_of, step_of
from explorer.studies.size.picture import cells_of, projection_for
from explorer.studies.size.points import Picture, Point, Size, SizeOptions, text_of

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.read.head import Head


@dataclass(frozen=True, eq=False)
class SmallEncoder:
    """A cut encoder, its layer & pooling with projection and normalisation, and the step of int8."""

    encoder: Encoder
    head: Head
    size: Size
    step: float


def built(encoder: Encoder, size: Size, fit_on: Sequence[str], way: str) -> Work[SmallEncoder]:
    """Fit what a point of the picture needs, as the picture does, and cut the encoder."""
    from explorer.encoding.read.head import Head
    from explorer.encoding.tune.editing import cut, stack

    whole = size.pooling == MODEL_DEFAULT
    where = stack(encoder)
    layers, poolings = ((), ()) if whole else ((size.layers,), (size.pooling,))
    *_, cell = yield from cells_of(encoder, where, (), fit_on, layers, poolings)
    options, text = SizeOptions(dimensions=(size.dimensions,), cut_by=way), cell.text
    projection = projection_for(options, text, text.shape[1])
    text = text if projection is None else projection(text)
    prompts = encoder.default_head
    head = prompts if whole else Head((size.pooling,), prompt=prompts.prompt, roles=prompts.roles)
    steps = head.dense if projection is None else (*head.dense, projection.as_dense())
    yield Progress("cutting the encoder", 0, 0)
    return SmallEncoder(
        encoder=cut(encoder, size.layers, where),
        head=replace(head, dense=steps, normalize=True),
        size=size,
        step=step_of(unit(text)),
    )


def export(
    encoder: Encoder, found: Found, picture: Picture, point: Point, fit_on: Sequence[str], folder: Path
) -> Work[None]:
    """Write the encoder of a point to a new folder, atomically."""
    from explorer.encoding.export import exporting
    from explorer.encoding.tune.tunable import Tunable

    opener = exporting.opener(encoder)  # refuses what cannot be saved, before any work
    small = yield from built(encoder, point.size, fit_on, picture.way)
    yield Progress("writing the encoder", 0, 0)
    text = card(small, found, picture, point, opener)
    exporting.export(Tunable(small.encoder, small.encoder.max_length), small.head, folder, text, found.folder)


def card(small: SmallEncoder, found: Found, picture: Picture, point: Point, opener: str) -> str:
    """The text of README.md."""
    import yaml

    name = "sentence-transformers"
    hub = f"{name}/{lookup.BUNDLED}" if found.name == lookup.BUNDLED else None
    head = {
        "library_name": name,
        "pipeline_tag": "sentence-similarity",
        "tags": [name, "sentence-similarity", "feature-extraction", "strata"],
        **({"base_model": hub} if hub else {}),
    }
    size = point.size
    parts = (
        f"---\n{yaml.safe_dump(head, sort_keys=False)}---",
        f"# {plain(found.name)}, smaller",
        f"{plain(found.name)} with its first {size.layers} layers: {plain(small.head.describe())}. Made with Strata. "
        f"SHA-256 of the model that was cut: {found.digest}.",
        "## Use",
        fenced("python", source_code.sentence_transformers(small.head)),
        *_stored(small, size.stored, size.dimensions),
        *_alone(small, opener),
        "## Size and quality",
        table(("", "this model", "the whole model"), _rows(point, picture.whole)),
        plain(text_of(picture)),
    )
    return "\n\n".join(parts) + "\n"


def _rows(point: Point, whole: Point) -> list[tuple[str, str, str]]:
    return [
        ("Score", in_words.number(point.score), in_words.number(whole.score)),
        ("Difference (95 % CI)", point.gap, ""),
        ("Layers", f"{point.size.layers}", f"{whole.size.layers}"),
        ("Dimensions", f"{point.size.dimensions}", f"{whole.size.dimensions}"),
        ("Stored as", point.size.stored, whole.size.stored),
        ("Bytes per vector", f"{point.vector_bytes:,}", f"{whole.vector_bytes:,}"),
        ("Weights", in_words.size(point.model_bytes), in_words.size(whole.model_bytes)),
        ("Sentences per second", f"{point.sentences_per_second:,.0f}", f"{whole.sentences_per_second:,.0f}"),
        ("Milliseconds per query", f"{point.query_ms:.2f}", f"{whole.query_ms:.2f}"),
    ]


def _stored(small: SmallEncoder, stored: str, dimensions: int) -> tuple[str, ...]:
    """How vectors are stored in the format that the score was measured with."""
    if stored == FLOAT32:
        return ()
    load = ["from sentence_transformers.util import quantize_embeddings", ""]
    if stored == INT8:
        low, high = ranges_of(small.step)
        lines = [
            "import numpy",
            *load,
            f"ranges = numpy.repeat([[{low:.9g}], [{high:.9g}]], {dimensions}, axis=1)",
            'codes = quantize_embeddings(vectors, precision="int8", ranges=ranges)  # compare them by their cosine',
        ]
    elif stored == BITS:
        lines = [
            *load,
            'codes = quantize_embeddings(vectors, precision="ubinary")  # compare them by their Hamming distance',
        ]
    else:
        assert stored == FLOAT16, stored
        lines = ['codes = vectors.astype("float16")  # compare them by their cosine']
    return f"The score was measured with vectors stored as {stored}:", fenced("python", "\n".join(lines))


def _alone(small: SmallEncoder, opener: str) -> tuple[str, ...]:
    encoder = small.encoder
    code = source_code.transformers(small.head, opener, small.head.prompt, encoder.lower_case)
    return ("With transformers alone:", fenced("python", code)) if code else ()
