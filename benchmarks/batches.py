"""Measure large batches encoded in chunks (gradient caching): memory, time and gradients of a step of `contrast`.

Each setting has a process of its own; their steps are timed in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.by_hand import prepared
from benchmarks.step import pairs
from benchmarks.timing import interleaved, ratio, told
from explorer.data import sample
from explorer.data.text_sets import PAIRS, Corpus
from explorer.encoding.load.loading import load
from explorer.encoding.locate import model_names

LARGE, SMALL, ROUNDS, SEED = 512, 32, 5, 1
SETTINGS = {  # rows of a batch, sentences of a chunk
    f"{SMALL} rows": (SMALL, 0),
    f"{LARGE} rows": (LARGE, 0),
    f"{LARGE} rows, chunks of {2 * SMALL}": (LARGE, 2 * SMALL),
}


def main() -> None:
    whole, chunked = list(SETTINGS)[1:]
    print(f"\nLarge batches: contrast, all-MiniLM-L6-v2, float32, without dropout; {ROUNDS} steps in turn")
    with ExitStack() as stack:
        asked = {name: stack.enter_context(_apart(*setting)) for name, setting in SETTINGS.items()}
        seconds = interleaved({name: lambda ask=ask: ask("step") for name, ask in asked.items()}, ROUNDS)
        memory = {name: ask("memory") for name, ask in asked.items()}
    with _apart(*SETTINGS[whole]) as one, _apart(*SETTINGS[chunked]) as other:  # copies of gradients are memory too
        loss, gradient = one("gradient")
        same_loss, same_gradient = other("gradient")
    for name, times in seconds.items():
        print(f"  {name:32} {memory[name] / 2**20:6,.0f} MiB above the model   {told(times)}")
    print(f"  time with chunks by without: {ratio(seconds[chunked], seconds[whole]):.2f}")
    far = np.linalg.norm(same_gradient - gradient) / np.linalg.norm(gradient)
    print(f"  loss {loss:.6f} and {same_loss:.6f}; the gradients differ by {far:.1e} of their length")


@contextmanager
def _apart(rows: int, chunk: int) -> Iterator[Callable[[str], Any]]:
    """A process that answers: `step` makes one, `gradient` is that of the first batch, `memory` the most so far."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_answers, args=(rows, chunk, there), daemon=True)
    process.start()

    def ask(what: str) -> Any:
        here.send(what)
        return here.recv()

    yield ask
    process.kill()


def _answers(rows: int, chunk: int, pipe: Connection) -> None:
    import resource

    import psutil
    import torch

    from explorer.fair_share import kept_while_training

    learner = _learner(rows, chunk)
    next(learner.method.base.encoder.views(["one sentence"]))  # weights are mapped from disk until they are used once
    before = psutil.Process().memory_info().rss
    with kept_while_training():
        while True:
            match pipe.recv():
                case "step":
                    pipe.send(learner.update())
                case "gradient":
                    loss = learner.gradients(learner.feed.batch(0)).item()
                    gradient = torch.cat([weight.grad.flatten() for weight in learner.names if weight.grad is not None])
                    pipe.send((loss, gradient.numpy().copy()))
                    learner.optimizer.zero_grad()
                case "memory":
                    pipe.send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before)


def _learner(rows: int, chunk: int):
    from explorer.training.loop.learner import Learner
    from explorer.training.loop.processes import World
    from explorer.training.recipe import Recipe

    encoder = load(model_names.find("all-MiniLM-L6-v2"), "float32", "cpu")
    settings = {"batch_size": rows, "chunk": chunk, "steps": 10_000, "dropout": False}
    recipe = Recipe("contrast", settings=settings)
    corpus = Corpus("pairs", PAIRS, tuple(map(tuple, pairs(LARGE))))
    return Learner(prepared(recipe, encoder, corpus, sample.pairs(), SEED), SEED, World("float32", "cpu"))
