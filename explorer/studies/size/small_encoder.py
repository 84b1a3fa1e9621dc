"""Build the encoder of one size, and export it as a folder that transformers and sentence-transformers open."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.data import safe_yaml
from explorer.data.graded import sets
from explorer.data.set_items import ItemSet
from explorer.data.text_sets import GradedPairs
from explorer.encoding.export import source_code
from explorer.encoding.export.quantisation import FLOAT32 as ONNX_FLOAT32
from explorer.encoding.export.quantisation import ONNX_WEIGHTS
from explorer.encoding.locate import lookup
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import CannotSplit
from explorer.escaping import fenced, plain, table
from explorer.evaluating.kinds import judge_of
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.measuring.comparing import similarity_text
from explorer.measuring.scores import correlation, similarity
from explorer.progress import Progress, Work
from explorer.studies.size import picture as pictures
from explorer.studies.size import points as sizes
from explorer.studies.size.smaller_vectors import BITS, FLOAT16, FLOAT32, INT8, PCA, ranges_of, step_of
from explorer.studies.size.weight_formats import InOnnx, InTorch

if TYPE_CHECKING:
    from explorer.data.graded.sets import SetIdentity
    from explorer.data.text_sets import Sentences
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder
    from explorer.measuring.scores.judge import Judge


def built(encoder: Encoder, size: sizes.Size, fit_on: Sequence[str], way: str) -> Work[tuple[Encoder, float]]:
    """Fit what a point of the picture needs, as the picture does, and cut the encoder; also the step of int8.

    Its model default is the layer & pooling of the point, with projection and normalisation.
    """
    from explorer.encoding.read.head import Head
    from explorer.encoding.tune.editing import cut, recast, stack

    whole, of_onnx = size.pooling == MODEL_DEFAULT, size.weights in ONNX_WEIGHTS
    if not of_onnx:
        encoder = recast(encoder, size.weights)
    where = stack(encoder)
    layers, poolings = ((), ()) if whole else ((size.layers,), (size.pooling,))
    form = InTorch(encoder, encoder.name, where, layers, poolings)
    with tempfile.TemporaryDirectory(prefix="strata-") as temporary:
        if of_onnx:
            form = InOnnx(form, size.weights, Path(temporary))
        *_, (_, text) = yield from form.cells(fit_on)
    projection = pictures.projection_for(
        sizes.SizeOptions(dimensions=(size.dimensions,), cut_by=way), text, text.shape[1]
    )
    text = text if projection is None else projection(text)
    prompts = encoder.default_head
    head = prompts if whole else Head((size.pooling,), prompt=prompts.prompt, roles=prompts.roles)
    steps = head.dense if projection is None else (*head.dense, projection.as_dense())
    yield Progress("cutting the encoder", 0, 0)
    small = cut(encoder, size.layers, where)
    small.head = replace(head, dense=steps, normalize=True)
    return small, step_of(correlation.unit(text))


def export_weights(
    encoder: Encoder, model: Found, given: ItemSet, named: SetIdentity, text: Sentences, weights: str, folder: Path
) -> Work[None]:
    """Measure a whole encoder with its weights in one format, and export it so to a new folder."""
    options = one_size(sizes.SizeOptions(weights=(weights,)), encoder)
    measured = yield from pictures.picture(encoder, given, text, options, names=(model.name,))
    point = the_one(measured, options)
    yield from export_measured(encoder, model, measured, point, given, named, text, options, folder)


def export_measured(
    encoder: Encoder,
    model: Found,
    picture: sizes.Picture,
    point: sizes.Point,
    given: ItemSet,
    named: SetIdentity,
    text: Sentences,
    options: sizes.SizeOptions,
    folder: Path,
    words: Sentences | None = None,
    made: Sequence[str] = (),
) -> Work[None]:
    """Export a point of a picture that was measured on this set, with this text and these options."""
    fit_on = pictures.besides(text, judge_of(given, encoder))
    judged = cosine_sets(given, named, encoder)
    command = "" if made else command_of(model, named, point, options)
    yield from export(encoder, model, picture, point, fit_on, judged, folder, command, made, words)


def command_of(model: Found, named: SetIdentity, point: sizes.Point, options: sizes.SizeOptions) -> str:
    """The command that measures and writes a point again, but for the text that projections are fitted on."""
    size = point.size
    given = {
        "on": named.written,
        "layers": size.layers,
        "poolings": size.pooling,
        "dimensions": size.dimensions,
        "stored": size.stored,
        "weights": size.weights,
        **({"words": options.words.written} if options.words and size.tokens else {}),
        **({"cut-by": options.cut_by} if options.cut_by != PCA else {}),
        "export": "DIR",
    }
    flags = (word for name, value in given.items() for word in (f"--{name}", f"{value}"))
    return shlex.join(("python", "-m", "explorer", "shrink", model.name, *flags))


def one_size(options: sizes.SizeOptions, encoder: Encoder) -> sizes.SizeOptions:
    """Options of one size, where whatever is not named is that of the whole model."""
    pooling = options.poolings[0] if options.poolings else MODEL_DEFAULT if not options.layers else "mean"
    head = encoder.default_head
    width = encoder.width if pooling != MODEL_DEFAULT else head.width(encoder.width)
    return replace(
        options,
        layers=options.layers or (encoder.model.config.num_hidden_layers,),
        poolings=(pooling,),
        dimensions=options.dimensions or (width,),
        stored=options.stored or (FLOAT32,),
        weights=options.weights or (encoder.precision,),
    )


def the_one(picture: sizes.Picture, options: sizes.SizeOptions) -> sizes.Point:
    """The point of options of one size."""
    named = options.poolings, options.dimensions, options.stored, options.weights, bool(options.words)

    def fits(size: sizes.Size) -> bool:
        own = (size.pooling,), (size.dimensions,), (size.stored,), (size.weights,), bool(size.tokens)
        return own == named

    return next(one for one in picture.points if one.model == picture.whole.model and fits(one.size))


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
    command: str = "",
    made: Sequence[str] = (),
    words: Sentences | None = None,
) -> Work[None]:
    """Write the encoder of a point to a new folder, atomically, with what its cosines mean on the `judged` sets.

    The `command` is the one that does it again; `made` are parts of the card that say how the encoder was made that is
    cut, and `words` is the text whose tokens the point has, if not all.
    """
    from explorer.encoding.export import exporting, onnx_folder, onnx_graph
    from explorer.encoding.tune.tunable import Tunable
    from explorer.training.loop import judging

    auto_class = exporting.auto_class(encoder)  # refuses what cannot be saved, before any work
    if point.size.weights in ONNX_WEIGHTS:
        onnx_graph.check(encoder)
    fewer = yield from pictures.with_words(encoder, words if point.size.tokens else None)
    small, step = yield from built(fewer, point.size, fit_on, picture.way)
    title = f"{point.size.reading}, {point.size.dimensions} dimensions"
    stage = "what cosines of {} mean"
    before = yield from judging.exported_cosines(encoder, judged, stage.format(found.name))
    after = yield from judging.exported_cosines(small, judged, stage.format(title))
    whole, meaning = judging.meanings(judged, before, after, (found.name, f"{found.name} ({title})"))
    yield Progress("writing the encoder", 0, 0)
    of_cosines = _of_cosines(meaning, whole, point.size)
    text = card(small, step, found, picture, point, auto_class, command, of_cosines, made)
    files = {similarity.FILE: similarity.as_file(meaning, whole)} if meaning else {}
    weights, head, tuned = point.size.weights, small.default_head, Tunable(small, small.max_length)
    if weights in ONNX_WEIGHTS:
        add = partial(onnx_folder.add, small, weights)
        exporting.export(tuned, head, folder, text, found.folder, files=files, more=add)
    else:
        exporting.export(tuned, head, folder, text, found.folder, files=files, precision=weights)


def _of_cosines(
    meaning: similarity.CosineMeaning | None, whole: similarity.CosineMeaning | None, size: sizes.Size
) -> tuple[str, ...]:
    if meaning is None:
        return ()
    parts = similarity_text.in_card(meaning, whole, "the whole model")
    of = f"These are cosines of the vectors that the model gives, before they are stored as {size.stored}."
    with_float32 = f"They were measured with weights in float32, not in {size.weights}."
    more = [of] * (size.stored != FLOAT32) + [with_float32] * (
        size.weights in ONNX_WEIGHTS and size.weights != ONNX_FLOAT32
    )
    return (*parts, *more)


def card(
    small: Encoder,
    step: float,
    found: Found,
    picture: sizes.Picture,
    point: sizes.Point,
    auto_class: str,
    command: str,
    of_cosines: Sequence[str] = (),
    made: Sequence[str] = (),
) -> str:
    """The text of README.md; `of_cosines` are the parts that say what they mean, `made` how the encoder was made."""
    size, whole, reads = point.size, picture.whole, small.default_head
    cut = f" with its first {size.layers} layers" if auto_class else ""  # static embeddings have none
    alone = source_code.transformers(reads, auto_class, reads.prompt, small.lower_case)
    rows = [
        ("Score", in_words.number(point.score), in_words.number(whole.score)),
        ("Difference (95 % CI)", point.gap, ""),
        ("Layers", f"{size.layers}", f"{whole.size.layers}"),
        *([("Tokens", sizes.tokens_of(size), sizes.tokens_of(whole.size))] if picture.words else []),
        ("Dimensions", f"{size.dimensions}", f"{whole.size.dimensions}"),
        ("Stored as", size.stored, whole.size.stored),
        ("Bytes per vector", f"{point.vector_bytes:,}", f"{whole.vector_bytes:,}"),
        ("Weights in", size.weights, whole.size.weights),
        ("Bytes of weights", in_words.size(point.model_bytes), in_words.size(whole.model_bytes)),
        *([("Memory of a process", _memory(point), _memory(whole))] if picture.has_memory else []),
        ("Sentences per second", f"{point.sentences_per_second:,.0f}", f"{whole.sentences_per_second:,.0f}"),
        ("Milliseconds per query", f"{point.query_ms:.2f}", f"{whole.query_ms:.2f}"),
    ]
    parts: tuple[str, ...] = (
        metadata(found),
        f"# {plain(found.name)}, smaller",
        f"{plain(found.name)}{cut}: {plain(reads.describe())}. Made with Strata. SHA-256 of the model that was cut: "
        f"{found.digest}.",
        *made,
        "## Use",
        fenced("python", source_code.sentence_transformers(reads)),
        *_served(size),
        *_stored(size, step),
        *(("With transformers alone:", fenced("python", alone)) if alone else ()),
        "## Size and quality",
        table(("", "this model", "the whole model"), rows),
        plain(sizes.text_of(picture)),
        *(("To measure and write it again:", fenced("sh", command)) if command else ()),
        *of_cosines,
    )
    return "\n\n".join(filter(None, parts)) + "\n"


def _memory(point: sizes.Point) -> str:
    return in_words.size(point.memory_bytes) if point.memory_bytes else in_words.NONE


def served_lines(weights: str) -> str:
    """The Python that encodes with the ONNX file of these weights, in the folder of an export."""
    from explorer.encoding.export import onnx_folder

    return "\n".join(
        [
            "from encode import OnnxEncoder  # needs onnxruntime, tokenizers and numpy alone",
            "",
            f'encode = OnnxEncoder("{onnx_folder.file_of(weights)}")',
            'vectors = encode(["The kettle boils.", "The water is hot."])',
        ]
    )


def _served(size: sizes.Size) -> tuple[str, ...]:
    """How to encode with the ONNX file that the score was measured with."""
    if size.weights not in ONNX_WEIGHTS:
        return ()
    from explorer.encoding.export import onnx_folder, onnx_graph

    file, settings = onnx_folder.file_of(size.weights), "`, `".join(onnx_folder.SETTINGS)
    data = f"{file}{onnx_graph.DATA}"
    return (
        f"The score was measured with the weights of `{file}`. To serve it, copy that file (and `{data}`, if it "
        f"is there), `{settings}`, in the same folders; it needs neither torch nor transformers:",
        fenced("python", served_lines(size.weights)),
        "Numbers between layers are rounded by the largest one of a batch. So sentences are encoded one by one, as for "
        "the score: a sentence then has the same vector whatever else is encoded. `encode(sentences, batch=32)` is "
        "faster, and turns vectors a little."
        if size.weights != ONNX_FLOAT32
        else "",
    )


def metadata(found: Found) -> str:
    """The lines of a model card by which the hub lists an encoder that was made of another one."""
    name = "sentence-transformers"
    head = {
        "library_name": name,
        "pipeline_tag": "sentence-similarity",
        "tags": [name, "sentence-similarity", "feature-extraction", "strata"],
        **({"base_model": lookup.BUNDLED_ON_HUB} if found.name == lookup.BUNDLED else {}),
    }
    return f"---\n{safe_yaml.card_head(head)}---"


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
