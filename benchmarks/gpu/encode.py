"""Measure encoding and the grid next to sentence-transformers in the same run, for MiniLM and BERT-base shapes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from benchmarks.gpu.models import encoder, pairs, shaped
from benchmarks.gpu.parts import Row, Setting
from benchmarks.timing import interleaved, ratio
from explorer.progress import finish

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from explorer.encoding.read.encoder import Encoder

PRECISIONS = ("float32", "bfloat16")
GOALS = {"MiniLM": 100_000, "BERT-base": 50_000}  # sentences per second in bfloat16 on an H100
FASTER, OF_ENCODE = 5, 0.35  # times the sentences of sentence-transformers; the grid as a share of its one encode
PAIRS, ROUNDS = 4000, 3
DEFAULT, LARGER = 32, (256, 1024, 4096)  # sentences of a batch of sentence-transformers
COMPARED = 64  # sentences whose vectors are compared
APART = {"float32": 1e-4, "bfloat16": 0.05}  # most that rounding explains, as a share of a vector's length


def against_sentence_transformers(setting: Setting) -> Iterator[Row]:
    """Sentences per second with tokenising, and seconds of the grid, next to what sentence-transformers takes."""
    import torch
    from sentence_transformers import SentenceTransformer

    for shape in ("tiny",) if setting.dry else GOALS:
        model = shaped(setting, shape)
        for precision in PRECISIONS:
            dtype = {"dtype": getattr(torch, precision)}
            theirs = SentenceTransformer(str(model.folder), device=setting.device, model_kwargs=dtype)
            yield from _rows(setting, f"{shape}, {precision}", encoder(setting, model, precision), theirs)


def _rows(setting: Setting, what: str, ours: Encoder, theirs: SentenceTransformer) -> Iterator[Row]:
    from explorer.measuring.scores.layer_scores import score_layers

    chosen = pairs(8 if setting.dry else PAIRS)
    texts = list(chosen.sentences)
    yield _same_vectors(what, ours, theirs, texts[:COMPARED])
    seconds = {size: _seconds(lambda size=size: theirs.encode(texts, batch_size=size)) for size in (DEFAULT, *LARGER)}
    best = min(LARGER, key=lambda size: seconds[size])
    found = interleaved(
        {
            "theirs": lambda: theirs.encode(texts, batch_size=best),
            "encode": lambda: list(ours.under_heads(texts, (ours.default_head,))),
            "grid": lambda: finish(score_layers(ours, chosen)),
        },
        1 if setting.dry else ROUNDS,
    )
    rates = {name: len(texts) / statistics.median(times) for name, times in found.items()}
    yield Row(
        f"{what}: sentence-transformers",
        f"{rates['theirs']:,.0f} sentences per second in batches of {best:,}, the best of {len(LARGER)} sizes; "
        f"{len(texts) / seconds[DEFAULT]:,.0f} in batches of {DEFAULT}, its default",
    )
    goal = GOALS.get(what.partition(",")[0]) if ours.precision == "bfloat16" else None
    yield Row(
        f"{what}: Strata",
        f"{rates['encode']:,.0f} sentences per second{f' (goal {goal:,})' if goal else ''}, "
        f"{ratio(found['theirs'], found['encode']):.1f} times as many as in their best batch (goal {FASTER})",
    )
    yield Row(
        f"{what}: every layer & pooling",
        f"{statistics.median(found['grid']):.3f} s for {len(ours.rows) * len(ours.poolings)} cells of {len(chosen):,} "
        f"pairs, {ratio(found['grid'], found['theirs']):.2f} of their one encode (goal {OF_ENCODE}){_memory(setting)}",
    )


def _same_vectors(what: str, ours: Encoder, theirs: SentenceTransformer, texts: list[str]) -> Row:
    """Whether both encode alike, after which both are warm."""
    import torch

    expected = torch.tensor(theirs.encode(texts, batch_size=len(texts)))
    seen = torch.empty_like(expected)
    for places, (vectors,) in ours.under_heads(texts, (ours.default_head,)):
        seen[places] = vectors
    apart = float(((seen - expected).norm(dim=1) / expected.norm(dim=1)).max())
    return Row(f"{what}: vectors", f"apart by at most {apart:.1e} of their length", apart <= APART[ours.precision])


def _seconds(thing: Callable[[], object]) -> float:
    started = time.perf_counter()
    thing()
    return time.perf_counter() - started


def _memory(setting: Setting) -> str:
    """The most memory of the GPU so far, of both libraries; nothing of a processor."""
    import torch

    return f", at most {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB" if setting.device == "cuda" else ""
