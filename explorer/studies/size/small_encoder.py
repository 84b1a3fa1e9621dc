"""Build the encoder of one size, and export it as a folder that transformers and sentence-transformers open."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.data.graded import sets
from explorer.data.set_items import ItemSet
from explorer.data.text_sets import GradedPairs
from explorer.encoding.export import source_code
from explorer.encoding.locate import lookup
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import CannotSplit
from explorer.escaping import fenced, plain, table
from explorer.evaluating.kinds import judge_of
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.measuring.comparing import similarity_text
from explorer.measuring.scores import correlation, similarity
from explorer.progress import Progress, Work
from explorer.studies.size import points as sizes
from explorer.studies.size.picture import cells_of, projection_for
from explorer.studies.size.smaller_vectors import BITS, FLOAT16, FLOAT32, INT8, ranges_of, step_of

if TYPE_CHECKING:
    from explorer.data.graded.sets import SetIdentity
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder
    from explorer.measuring.scores.judge import Judge


def built(encoder: Encoder, size: sizes.Size, fit_on: Sequence[str], way: str) -> Work[tuple[Encoder, float]]:
    """Fit what a point of the picture needs, as the picture does, and cut the encoder; also the step of int8.

    Its model default is the layer & pooling of the point, with projection and normalisation.
    """
    from explorer.encoding.read.head import Head
    from explorer.encoding.tune.editing import cut, stack

    whole = size.pooling == MODEL_DEFAULT
    where = stack(encoder)
    layers, poolings = ((), ()) if whole else ((size.layers,), (size.pooling,))
    *_, (_, text) = yield from cells_of(encoder, where, (), fit_on, layers, poolings)
    projection = projection_for(sizes.SizeOptions(dimensions=(size.dimensions,), cut_by=way), text, text.shape[1])
    text = text if projection is None else projection(text)
    prompts = encoder.default_head
    head = prompts if whole else Head((size.pooling,), prompt=prompts.prompt, roles=prompts.roles)
    steps = head.dense if projection is None else (*head.dense, projection.as_dense())
    yield Progress("cutting the encoder", 0, 0)
    small = cut(encoder, size.layers, where)
    small.head = replace(head, dense=steps, normalize=True)
    return small, step_of(correlation.unit(text))


def cosine_sets(given: ItemSet, named: SetIdentity, encoder: Encoder) -> dict[str, Judge]:
    """The dev set and the test set that say what cosines mean; of a set without them, itself for random pairs alone."""
    if isinstance(given, GradedPairs):
        with suppress(CannotSplit):
            both = sets.divided(named, given)
            return {"dev": PairJudge(both.dev), "test": PairJudge(both.test)}
    return {"dev": judge_of(given, encoder)}


def export(
    encoder: Encoder,
    found: Found,
    picture: sizes.Picture,
    point: sizes.Point,
    fit_on: Sequence[str],
    judged: Mapping[str, Judge],
    folder: Path,
) -> Work[None]:
    """Write the encoder of a point to a new folder, atomically, with what its cosines mean on the `judged` sets."""
    from explorer.encoding.export import exporting
    from explorer.encoding.tune.tunable import Tunable
    from explorer.training.loop import judging

    auto_class = exporting.auto_class(encoder)  # refuses what cannot be saved, before any work
    small, step = yield from built(encoder, point.size, fit_on, picture.way)
    title = f"{point.size.reading}, {point.size.dimensions} dimensions"
    stage = "what cosines of {} mean"
    before = yield from judging.exported_cosines(in_float32(encoder), judged, stage.format(found.name))
    after = yield from judging.exported_cosines(in_float32(small), judged, stage.format(title))
    whole, meaning = judging.meanings(judged, before, after, (found.name, f"{found.name} ({title})"))
    yield Progress("writing the encoder", 0, 0)
    text = card(small, step, found, picture, point, auto_class, _of_cosines(meaning, whole, point.size))
    files = {similarity.FILE: similarity.as_file(meaning, whole)} if meaning else {}
    tuned = Tunable(small, small.max_length)
    exporting.export(tuned, small.default_head, folder, text, found.folder, files=files)


def in_float32(encoder: Encoder) -> Encoder:
    """The encoder with its weights in float32."""
    if encoder.precision == "float32":
        return encoder
    found = copy.copy(encoder)
    found.model, found.precision = copy.deepcopy(encoder.model).float(), "float32"
    return found


def _of_cosines(
    meaning: similarity.CosineMeaning | None, whole: similarity.CosineMeaning | None, size: sizes.Size
) -> tuple[str, ...]:
    if meaning is None:
        return ()
    parts = similarity_text.in_card(meaning, whole, "the whole model")
    of = f"These are cosines of the vectors that the model gives, before they are stored as {size.stored}."
    return parts if size.stored == FLOAT32 else (*parts, of)


def card(
    small: Encoder,
    step: float,
    found: Found,
    picture: sizes.Picture,
    point: sizes.Point,
    auto_class: str,
    of_cosines: Sequence[str] = (),
) -> str:
    """The text of README.md; `of_cosines` are the parts that say what they mean."""
    import yaml

    name = "sentence-transformers"
    hub = f"{name}/{lookup.BUNDLED}" if found.name == lookup.BUNDLED else None
    head = {
        "library_name": name,
        "pipeline_tag": "sentence-similarity",
        "tags": [name, "sentence-similarity", "feature-extraction", "strata"],
        **({"base_model": hub} if hub else {}),
    }
    size, whole, reads = point.size, picture.whole, small.default_head
    alone = source_code.transformers(reads, auto_class, reads.prompt, small.lower_case)
    rows = [
        ("Score", in_words.number(point.score), in_words.number(whole.score)),
        ("Difference (95 % CI)", point.gap, ""),
        ("Layers", f"{size.layers}", f"{whole.size.layers}"),
        ("Dimensions", f"{size.dimensions}", f"{whole.size.dimensions}"),
        ("Stored as", size.stored, whole.size.stored),
        ("Bytes per vector", f"{point.vector_bytes:,}", f"{whole.vector_bytes:,}"),
        ("Weights", in_words.size(point.model_bytes), in_words.size(whole.model_bytes)),
        ("Sentences per second", f"{point.sentences_per_second:,.0f}", f"{whole.sentences_per_second:,.0f}"),
        ("Milliseconds per query", f"{point.query_ms:.2f}", f"{whole.query_ms:.2f}"),
    ]
    parts = (
        f"---\n{yaml.safe_dump(head, sort_keys=False)}---",
        f"# {plain(found.name)}, smaller",
        f"{plain(found.name)} with its first {size.layers} layers: {plain(reads.describe())}. Made with Strata. "
        f"SHA-256 of the model that was cut: {found.digest}.",
        "## Use",
        fenced("python", source_code.sentence_transformers(reads)),
        *_stored(size, step),
        *(("With transformers alone:", fenced("python", alone)) if alone else ()),
        "## Size and quality",
        table(("", "this model", "the whole model"), rows),
        plain(sizes.text_of(picture)),
        *of_cosines,
    )
    return "\n\n".join(parts) + "\n"


def _stored(size: sizes.Size, step: float) -> tuple[str, ...]:
    """How vectors are stored in the format that the score was measured with."""
    stored = size.stored
    if stored == FLOAT32:
        return ()
    load = ["from sentence_transformers.util import quantize_embeddings", ""]
    if stored == INT8:
        low, high = ranges_of(step)
        lines = [
            "import numpy",
            *load,
            f"ranges = numpy.repeat([[{low:.9g}], [{high:.9g}]], {size.dimensions}, axis=1)",
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
