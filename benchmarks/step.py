"""Measure a training step, compared with sentence-transformers' step with MultipleNegativesRankingLoss.

The same model, rows and optimiser, and the step each library takes by itself: loss, gradients, clipping, update.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import cycle, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.by_hand import prepared
from benchmarks.timing import interleaved, ratio, told
from explorer.data import sample
from explorer.data.tables.columns import guess
from explorer.data.tables.files import read_file
from explorer.data.tables.text_rows import triplets
from explorer.data.text_sets import PAIRS, TRIPLETS
from explorer.encoding.load.loading import load
from explorer.encoding.locate import model_names

ROWS, STEPS, ROUNDS, SEED = 64, 5, 7, 1


def main() -> None:
    kinds = ("peer", "float32", "bfloat16")
    print(f"\nA step: {ROWS} pairs, all-MiniLM-L6-v2, {STEPS} steps a round, each in a process of its own")
    with ExitStack() as stack:
        seconds = interleaved({kind: stack.enter_context(_apart(kind)) for kind in kinds}, ROUNDS)
    for name, times in seconds.items():
        who = "sentence-transformers, float32" if name == "peer" else f"Strata, {name}"
        print(f"  {who:32} {told([time / STEPS for time in times])}")
    for precision in kinds[1:]:
        print(f"  sentence-transformers by Strata in {precision}: {ratio(seconds['peer'], seconds[precision]):.2f}")


@contextmanager
def _apart(kind: str) -> Iterator[Callable[[], None]]:
    """A process that makes a round of steps whenever it is told to: memory is kept in one way by each of the two."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_rounds, args=(kind, there), daemon=True)
    process.start()
    there.close()  # so that a process that ends early is an error here, and no wait for ever

    def one() -> None:
        here.send(True)
        here.recv()

    yield one
    process.kill()


def _rounds(kind: str, pipe: Connection) -> None:
    from explorer.fair_share import kept_while_training

    anchors, positives = pairs(ROWS * STEPS)
    found = model_names.find("all-MiniLM-L6-v2")
    if kind == "peer":
        steps, kept = _peer(found.folder, anchors, positives), nullcontext()
    else:
        steps, kept = _own(load(found, "float32", "cpu"), kind, anchors, positives), kept_while_training()
    with kept:
        while pipe.recv():
            steps()
            pipe.send(True)


def pairs(count: int) -> tuple[list[str], list[str]]:
    """Pairs of SNLI where STRATA_DATA has them, else those of the sample, again and again."""
    path = Path(os.environ.get("STRATA_DATA", "")) / "SNLI" / "triplets_dev.tsv"
    rows = sample.triplets()
    if path.is_file():
        table = read_file(path)
        rows, _ = triplets(table, guess(table, TRIPLETS))
    return list(islice(cycle(rows.anchors), count)), list(islice(cycle(rows.positives), count))


def _peer(folder: Path, anchors: list[str], positives: list[str]):
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    model = SentenceTransformer(str(folder), device="cpu")
    loss = MultipleNegativesRankingLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)
    model.train()

    def steps() -> None:
        for at in range(0, ROWS * STEPS, ROWS):
            sides = [model.preprocess(rows[at : at + ROWS]) for rows in (anchors, positives)]
            loss(sides, torch.arange(ROWS)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

    return steps


def _own(encoder, precision: str, anchors: list[str], positives: list[str]):
    from explorer.data.text_sets import Corpus
    from explorer.training.loop.learner import Learner
    from explorer.training.loop.processes import World
    from explorer.training.recipe import Recipe

    settings = {"batch_size": ROWS, "max_length": encoder.max_length, "pooling": "mean", "steps": 10_000}
    recipe = Recipe("simcse-sup", settings=settings)
    corpus = Corpus("pairs", PAIRS, (tuple(anchors), tuple(positives)))
    learner = Learner(prepared(recipe, encoder, corpus, sample.pairs(), SEED), SEED, World(precision, "cpu"))

    def steps() -> None:
        for _ in range(STEPS):
            learner.update()

    return steps
