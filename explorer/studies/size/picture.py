"""Measure the size-quality picture from one encoding: every cut, pooling, number of dimensions and format."""

from __future__ import annotations

import copy
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.set_items import ItemSet
from explorer.encoding.read.pooling import MODEL_DEFAULT, title_of
from explorer.errors import BadChoice
from explorer.evaluating.encoded import as_tensor, encoded
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

if TYPE_CHECKING:
    from explorer.data.text_sets import Sentences
    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.tune.editing import Stack
    from explorer.measuring.scores.judge import Judge

Floats = NDArray[np.float64]
Cell = tuple[int, str]  # a layer that the encoder is cut after, and a pooling

FEWEST = 32  # dimensions, where none are named
BATCH = 32  # sentences, as sentence-transformers encodes them
TEXTS, QUERIES = 128, 16
ROUNDS = 4


def picture(
    encoder: Encoder,
    given: ItemSet,
    text: Sentences,
    options: sizes.SizeOptions,
    others: Sequence[Encoder] = (),
    names: Sequence[str] = (),
) -> Work[sizes.Picture]:
    """Score and time an encoder in all sizes of the options, and other encoders under their model default.

    The names are those of all encoders, which tell them apart; by default what each is called.
    Projections and int8 are fitted on the text, without the sentences of the evaluation set.
    """
    from explorer.encoding.tune.editing import cut, stack

    started = time.perf_counter()
    judge, where = judge_of(given, encoder), stack(encoder)
    options = checked(options, encoder, where)
    fit_on = besides(text, judge)
    points: list[tuple[Encoder, sizes.Size, Floats]] = []
    cells = yield from cells_of(encoder, where, judge.texts, fit_on, options.layers, options.poolings)
    for one in (encoder, *others):
        if one is not encoder:
            cells = yield from cells_of(one, stack(one), judge.texts, fit_on, (), ())
        for cell, every in cells:
            vectors, fitted_on = every[: len(judge.texts)], every[len(judge.texts) :]
            if not judge.is_settled:
                yield Progress("choosing the classifier's regularisation", 0, 0)
                judge = judge.settled(as_tensor(correlation.unit(vectors)))
            for size, items in scored(cell, vectors, fitted_on, judge, options, reference=not points):
                points.append((one, size, items))
                yield Progress(f"scored {size.title}", len(points), 0)
    cuts = {(encoder, layers): cut(encoder, layers, where) for layers in sorted({*options.layers, depth(encoder)})}
    cuts |= {(one, depth(one)): cut(one, depth(one)) for one in others}
    timed = yield from speeds(list(cuts.values()), judge.sentences)
    found, costs, reference = [], dict(zip(cuts, timed, strict=True)), points[0][2]
    before = judge.score(reference)
    named = dict(zip((encoder, *others), names or [one.name for one in (encoder, *others)], strict=True))
    for place, (one, size, items) in enumerate(points):
        yield Progress("comparing with the whole model", place, len(points))
        judged = verdict.Verdict.of(before, judge.score(items), judge.difference(reference, items))
        at = one, size.layers
        found.append(_point(one, named[one], size, judged, cuts[at], costs[at]))
    return sizes.Picture(
        points=tuple(found),
        evaluation=judge.name,
        items=len(judge),
        measure=judge.measure,
        text=text.name,
        sentences=len(fit_on),
        way=options.cut_by,
        device=encoder.device,
        precision=encoder.precision,
        seconds=time.perf_counter() - started,
        why_no_score=metrics.no_score_in_words(judge.why_no_score, len(judge)),
    )


def _point(
    encoder: Encoder,
    name: str,
    size: sizes.Size,
    judged: verdict.Verdict,
    cut: Encoder,
    costs: tuple[float, float],
) -> sizes.Point:
    """A size of an encoder: its score against the whole model's, its bytes, and the speed and latency of its cut."""
    whole_width = encoder.default_head.width(encoder.width) if size.pooling == MODEL_DEFAULT else encoder.width
    map_bytes = 4 * size.dimensions * (encoder.width + 1) if size.dimensions < whole_width else 0
    return sizes.Point(
        model=name,
        size=size,
        verdict=judged,
        vector_bytes=bytes_of(size.stored, size.dimensions),
        # the weights in float32, as they are exported
        model_bytes=4 * int(cut.model.num_parameters()) + map_bytes,
        sentences_per_second=costs[0],
        query_ms=costs[1],
    )


def limited(encoder: Encoder, max_length: int | None) -> Encoder:
    """The encoder with this maximum length, which its export has too; None for its own."""
    found = copy.copy(encoder)
    found.max_length = encoder.limit(max_length)
    return found


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
    return sizes.SizeOptions(tuple(sorted(set(layers))), poolings, options.dimensions, stored, options.cut_by)


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


def cells_of(
    encoder: Encoder,
    where: Stack,
    texts: Sequence[str],
    fit_on: Sequence[str],
    layers: Sequence[int],
    poolings: Sequence[str],
) -> Work[Iterator[tuple[Cell, Vectors]]]:
    """The model default, then the cuts from the highest to the lowest, each with the vectors of `texts` and `fit_on`.

    All are from one pass over the texts.
    """
    from explorer.encoding.tune.editing import as_cut

    last, head = depth(encoder), encoder.default_head
    every = copy.copy(as_cut(encoder, where))
    every.head = replace(head, normalize=False)  # every vector is normalised after its projection
    plain = head.poolings[0] if head.of_last_layer and len(head.poolings) == 1 and not head.dense else ""
    twice = (last, plain) if MODEL_DEFAULT in poolings else None  # this cell is the model default
    named = [
        (layer, pooling)
        for layer in sorted(layers, reverse=True)
        for pooling in poolings
        if pooling != MODEL_DEFAULT and (layer, pooling) != twice
    ]
    titles = [title_of(pooling, (layer,)) for layer, pooling in named]
    found = yield from encoded(every, (*texts, *fit_on), titles=titles)
    every_cell = zip([(last, MODEL_DEFAULT), *named], (MODEL_DEFAULT, *titles), strict=True)
    return ((cell, found.of(title)) for cell, title in every_cell)


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


def depth(encoder: Encoder) -> int:
    """The number of its layers."""
    layers: int = encoder.model.config.num_hidden_layers
    return layers


def speeds(encoders: Sequence[Encoder], sentences: Sequence[str]) -> Work[list[tuple[float, float]]]:
    """The sentences per second and the milliseconds of a query of each encoder, tokenising included.

    They are timed in turn, several times over, so that what else the machine does slows all of them alike; the fastest
    round counts, which was disturbed least.
    """
    some, queries = timed_on(sentences)
    batched: list[list[float]] = [[] for _ in encoders]
    single: list[list[float]] = [[] for _ in encoders]
    for done in range(ROUNDS + 1):
        for place, encoder in enumerate(encoders):
            yield Progress(
                "timing the encoder after each layer", done * len(encoders) + place, (ROUNDS + 1) * len(encoders)
            )
            all_of_them, each = one_round(encoder, some, queries)
            if done:  # the first round is slower: it prepares each shape of a matrix product
                batched[place].append(all_of_them)
                single[place].append(median(each))
    return [(len(some) / min(whole), 1000 * min(one)) for whole, one in zip(batched, single, strict=True)]


def timed_on(sentences: Sequence[str]) -> tuple[list[str], list[str]]:
    """The sentences whose encoding is timed together, and those of them that are timed one by one."""
    step = max(1, len(sentences) // TEXTS)
    some = sorted(sentences, key=len)[step // 2 :: step][:TEXTS]
    return some, some[:: max(1, len(some) // QUERIES)][:QUERIES]


def one_round(encoder: Encoder, some: Sequence[str], queries: Sequence[str]) -> tuple[float, list[float]]:
    """The seconds of some sentences together, and of each query."""
    return _seconds(encoder, some), [_seconds(encoder, [query]) for query in queries]


def _seconds(encoder: Encoder, sentences: Sequence[str]) -> float:
    started = time.perf_counter()
    batched_vectors(encoder, sentences)
    return time.perf_counter() - started


def batched_vectors(encoder: Encoder, sentences: Sequence[str]) -> list[NDArray[np.float32]]:
    """Vectors in batches of neighbours in length, padded, from the last layer alone, as other libraries encode."""
    import torch

    from explorer.encoding.read.encoder import to_pool

    head = encoder.default_head
    ids = sorted(encoder.tokens(sentences).ids, key=len)
    found = []
    with torch.inference_mode():
        for start in range(0, len(ids), BATCH):
            some = ids[start : start + BATCH]
            numbers, mask = encoder.padded(some)
            states = encoder.model(input_ids=numbers, attention_mask=mask.long()).last_hidden_state
            found.append(head([states], to_pool(some, mask)).float().cpu().numpy())
    return found
