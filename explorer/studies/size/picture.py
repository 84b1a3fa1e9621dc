"""Measure the size-quality picture: every cut, pooling, number of dimensions, and format of vectors and weights."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.set_items import ItemSet
from explorer.encoding.export.quantisation import ONNX_WEIGHTS
from explorer.encoding.load.hardware import MEASURED, device_name
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import BadChoice
from explorer.evaluating.encoded import as_tensor
from explorer.evaluating.kinds import judge_of
from explorer.measuring.scores import correlation, metrics, verdict
from explorer.progress import Progress, Work
from explorer.studies.size import points as sizes
from explorer.studies.size.smaller_vectors import (
    FLOAT32,
    STORAGES,
    Projection,
    Vectors,
    bytes_of,
    compared,
    fitted,
    step_of,
)
from explorer.studies.size.weight_formats import Cell, InOnnx, InTorch, TimedCut, depth

if TYPE_CHECKING:
    from explorer.data.text_sets import Sentences
    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.tune.editing import Stack
    from explorer.measuring.scores.judge import Judge

Floats = NDArray[np.float64]

FEWEST = 32  # dimensions, where none are named
TEXTS, QUERIES = 128, 16
ROUNDS = 4


def picture(
    encoder: Encoder,
    given: ItemSet,
    text: Sentences,
    options: sizes.SizeOptions,
    others: Sequence[Encoder] = (),
    names: Sequence[str] = (),
    words: Sentences | None = None,
) -> Work[sizes.Picture]:
    """Score and time an encoder in all sizes of the options, and other encoders under their model default.

    The names are those of all encoders, which tell them apart; by default what each is called.
    Projections and int8 are fitted on the text, without the sentences of the evaluation set. Of `words` the vocabulary
    of all sizes has the tokens, but not that of the whole model, which they are compared with.
    """
    started = time.perf_counter()
    judge = judge_of(given, encoder)
    fewer = yield from with_words(encoder, words)
    with tempfile.TemporaryDirectory(prefix="strata-") as folder:
        forms, options = forms_of(encoder, fewer, options, others, names, Path(folder))
        fit_on = besides(text, judge)
        points: list[tuple[InTorch, sizes.Size, Floats]] = []
        for form in forms:
            for cell, every in (yield from form.cells((*judge.texts, *fit_on))):
                vectors, fitted_on = every[: len(judge.texts)], every[len(judge.texts) :]
                if not judge.is_settled:
                    yield Progress("choosing the classifier's regularisation", 0, 0)
                    judge = judge.settled(as_tensor(correlation.unit(vectors)))
                for size, items in scored(cell, vectors, fitted_on, judge, options, reference=not points):
                    size = replace(size, weights=form.weights, tokens=form.tokens)
                    points.append((form, size, items))
                    yield Progress(f"scored {size.title}", len(points), 0)
        cuts = {(form, layers): form.cut(layers) for form in forms for layers in form.depths}
        timed = yield from speeds(list(cuts.values()), judge.sentences)
        own = forms[: len(forms) - len(others)]
        memory = yield from memories(own, judge.sentences, Path(folder))
    found, costs, reference = [], dict(zip(cuts, timed, strict=True)), points[0][2]
    before = judge.score(reference)
    for place, (form, size, items) in enumerate(points):
        yield Progress("comparing with the whole model", place, len(points))
        judged = verdict.Verdict.of(before, judge.score(items), judge.difference(reference, items))
        at = form, size.layers
        one = _point(form, size, judged, cuts[at], costs[at])
        found.append(replace(one, memory_bytes=memory.get(form) if size.layers == depth(form.encoder) else None))
    return sizes.Picture(
        points=tuple(found),
        evaluation=judge.name,
        items=len(judge),
        measure=judge.measure,
        text=text.name,
        sentences=len(fit_on),
        way=options.cut_by,
        device=encoder.device,
        device_name=device_name(encoder.device),
        precision=encoder.precision,
        seconds=time.perf_counter() - started,
        why_no_score=metrics.no_score_in_words(judge.why_no_score, len(judge)),
        words="" if words is None else words.name,
    )


def with_words(encoder: Encoder, words: Sentences | None) -> Work[Encoder]:
    """The encoder with the vocabulary of a text, if there is one; else itself."""
    from explorer.encoding.tune.vocabulary import cut_vocabulary

    return encoder if words is None else (yield from cut_vocabulary(encoder, words.texts))


def forms_of(
    encoder: Encoder,
    fewer: Encoder,
    options: sizes.SizeOptions,
    others: Sequence[Encoder],
    names: Sequence[str],
    folder: Path,
) -> tuple[list[InTorch], sizes.SizeOptions]:
    """The encoder with its weights in each format, as it is loaded first, then the others; and the options, complete.

    `fewer` is the encoder with fewer words, which then all but the first are of, or itself. ONNX files are written into
    the folder.
    """
    from explorer.encoding.export import onnx_graph
    from explorer.encoding.tune import editing
    from explorer.encoding.tune.editing import stack

    where, same = stack(fewer), fewer is encoder
    options = checked(options, fewer, where)
    of_onnx = [name for name in options.weights if name in ONNX_WEIGHTS]
    if of_onnx:
        onnx_graph.check(encoder)
    name, *other_names = names or [one.name for one in (encoder, *others)]
    cells = options.layers, options.poolings, 0 if same else int(fewer.model.config.vocab_size)
    loaded = InTorch(encoder, name, stack(encoder), *cells if same and encoder.precision in options.weights else ())
    forms = [loaded]
    for precision in MEASURED:
        if precision in options.weights and not (same and precision == encoder.precision):
            again = editing.recast(fewer, precision)
            forms.append(InTorch(again, name, stack(again), *cells))
    whole = InTorch(fewer, name, where, *cells)
    forms += [InOnnx(whole, weights, folder) for weights in of_onnx]
    forms += [InTorch(one, called, stack(one)) for one, called in zip(others, other_names, strict=True)]
    return forms, options


def _point(
    form: InTorch, size: sizes.Size, judged: verdict.Verdict, cut: TimedCut, costs: tuple[float, float]
) -> sizes.Point:
    """A size of an encoder: its score against the whole model's, its bytes, and the speed and latency of its cut."""
    encoder = form.encoder
    whole_width = encoder.default_head.width(encoder.width) if size.pooling == MODEL_DEFAULT else encoder.width
    map_bytes = 4 * size.dimensions * (encoder.width + 1) if size.dimensions < whole_width else 0
    return sizes.Point(
        model=form.name,
        size=size,
        verdict=judged,
        vector_bytes=bytes_of(size.stored, size.dimensions),
        model_bytes=cut.bytes + map_bytes,
        sentences_per_second=costs[0],
        query_ms=costs[1],
    )


def limited(encoder: Encoder, max_length: int | None) -> Encoder:
    """The encoder with this maximum length, which its export has too; None for its own."""
    return encoder.with_changed(max_length=encoder.limit(max_length))


def checked(options: sizes.SizeOptions, encoder: Encoder, where: Stack) -> sizes.SizeOptions:
    """The sizes with all defaults filled in, or an error that names what is possible."""
    last, width = depth(encoder), encoder.width
    layers = options.layers or tuple(range(where.lowest, last + 1))
    _check("layer", layers, range(where.lowest, last + 1), f"{where.lowest} to {last}")
    poolings = options.poolings or (MODEL_DEFAULT, *encoder.poolings)
    stored = options.stored or tuple(STORAGES)
    widest = max(width, encoder.default_head.width(width))
    _check(
        "number of dimensions", options.dimensions, range(1, widest + 1), f"1 to {widest}, the width of {encoder.name}"
    )
    weights = options.weights or (encoder.precision,)
    if encoder.precision != "float32" and (others := [name for name in weights if name != encoder.precision]):
        raise BadChoice(
            f"Weights in {others[0]} are made of those in float32, and {encoder.name} is loaded in "
            f"{encoder.precision}. Set the precision to float32."
        )
    return replace(options, layers=tuple(sorted(set(layers))), poolings=poolings, stored=stored, weights=weights)


def besides(text: Sentences, judge: Judge) -> tuple[str, ...]:
    """The distinct sentences of a text that are not in the evaluation set."""
    scored = {*judge.texts, *judge.sentences}
    left = tuple(one for one in dict.fromkeys(text.texts) if one not in scored)
    if not left:
        raise BadChoice(
            f"Every sentence of {text.name} is in {judge.name}. Projections and int8 are fitted on other sentences "
            "than they are scored on: choose another text."
        )
    return left


def dimensions_for(options: sizes.SizeOptions, width: int) -> tuple[int, ...]:
    """The numbers of dimensions of vectors of this width, the most first: those named, or halves of the width."""
    if options.dimensions:
        return tuple(sorted({one for one in options.dimensions if one <= width}, reverse=True))
    powers = [2**power for power in range(20, 4, -1)]
    return (width, *(one for one in powers if FEWEST <= one < width))


def projection_for(options: sizes.SizeOptions, text: Vectors, width: int) -> Projection | None:
    """The map onto the most dimensions that are fewer than the width; None if there are none to map onto."""
    fewer = [one for one in dimensions_for(options, width) if one < width]
    return fitted(options.cut_by, text, max(fewer)) if fewer else None


def scored(
    cell: Cell, vectors: Vectors, fit_on: Vectors, judge: Judge, options: sizes.SizeOptions, reference: bool
) -> Iterator[tuple[sizes.Size, Floats]]:
    """What each item gets, in every number of dimensions and every format; the `reference` is the whole model."""
    width = vectors.shape[1]
    projection = projection_for(options, fit_on, width)
    wanted = [(count, name) for count in dimensions_for(options, width) for name in options.stored]
    if reference:
        more = wanted if MODEL_DEFAULT in options.poolings else []
        wanted = list(dict.fromkeys([(width, FLOAT32), *more]))
    for count, some in groupby(wanted, key=lambda size: size[0]):
        onto = projection.onto(count) if projection is not None and count < width else lambda whole: whole
        mapped, step = correlation.unit(onto(vectors)), step_of(correlation.unit(onto(fit_on)))
        for _, name in some:
            yield sizes.Size(*cell, count, name), judge.items(as_tensor(compared(name, mapped, step)))


def _check(what: str, given: Sequence[object], known: Container[object], text: str) -> None:
    wrong = [one for one in given if one not in known]
    if wrong:
        raise BadChoice(f"{wrong[0]} is not a possible {what}. Choose {text}.")


def speeds(cuts: Sequence[TimedCut], sentences: Sequence[str]) -> Work[list[tuple[float, float]]]:
    """The sentences per second and the milliseconds of a query of each cut, tokenising included.

    They are timed in turn, several times over, so that what else the machine does slows all of them alike; the fastest
    round counts, which was disturbed least.
    """
    some, queries = timed_on(sentences)
    batched: list[list[float]] = [[] for _ in cuts]
    single: list[list[float]] = [[] for _ in cuts]
    for done in range(ROUNDS + 1):
        for place, cut in enumerate(cuts):
            yield Progress("timing the encoder after each layer", done * len(cuts) + place, (ROUNDS + 1) * len(cuts))
            all_of_them, each = one_round(cut, some, queries)
            if done:  # the first round is slower: it prepares each shape of a matrix product
                batched[place].append(all_of_them)
                single[place].append(median(each))
    return [(len(some) / min(whole), 1000 * min(one)) for whole, one in zip(batched, single, strict=True)]


def memories(forms: Sequence[InTorch], sentences: Sequence[str], folder: Path) -> Work[dict[InTorch, int | None]]:
    """What a process of its own has in memory with each form of an encoder, if they differ in their weights."""
    from explorer.encoding.export.onnx_session import BATCH

    some, found = timed_on(sentences)[0][:BATCH], {}
    if len({form.weights for form in forms}) > 1:
        for form in forms:
            found[form] = yield from form.memory(some, folder)
    return found


def timed_on(sentences: Sequence[str]) -> tuple[list[str], list[str]]:
    """The sentences whose encoding is timed together, and those of them that are timed one by one."""
    step = max(1, len(sentences) // TEXTS)
    some = sorted(sentences, key=len)[step // 2 :: step][:TEXTS]
    return some, some[:: max(1, len(some) // QUERIES)][:QUERIES]


def one_round(cut: TimedCut, some: Sequence[str], queries: Sequence[str]) -> tuple[float, list[float]]:
    """The seconds of some sentences together, and of each query."""
    return _seconds(cut, some), [_seconds(cut, [query]) for query in queries]


def _seconds(cut: TimedCut, sentences: Sequence[str]) -> float:
    started = time.perf_counter()
    cut.encode(sentences)
    return time.perf_counter() - started
