"""What does one step of training cost, beside sentence-transformers' step with MultipleNegativesRankingLoss?

The same model, rows and optimiser, and the step each library takes by itself: loss, gradients, clipping, update.
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path

from benchmarks.timing import interleaved, ratio, told
from explorer.data import sample
from explorer.data.columns import guess
from explorer.data.files import read_file
from explorer.data.text import triplets
from explorer.encoding import finding
from explorer.encoding.loading import load

ROWS, STEPS, ROUNDS, SEED = 32, 5, 9, 1


def main() -> None:
    import torch

    anchors, positives = _rows()
    found = finding.find("all-MiniLM-L6-v2")
    print(f"\nA step: {ROWS} pairs, all-MiniLM-L6-v2, {torch.get_num_threads()} threads, {STEPS} steps a round")
    things = {"peer": _peer(found.folder, anchors, positives)}
    for precision in ("float32", "bfloat16"):
        things[precision] = _own(load(found, "float32", "cpu"), precision, anchors, positives)
    seconds = interleaved(things, ROUNDS)
    for name, times in seconds.items():
        who = "sentence-transformers, float32" if name == "peer" else f"Strata, {name}"
        print(f"  {who:32} {told([time / STEPS for time in times])}")
    for precision in ("float32", "bfloat16"):
        print(f"  sentence-transformers by Strata in {precision}: {ratio(seconds['peer'], seconds[precision]):.2f}")
    print(f"  (median of {ROUNDS} rounds; {statistics.median(seconds['peer']):.1f} s a round of the peer)")


def _rows() -> tuple[list[str], list[str]]:
    """Pairs of SNLI where STRATA_DATA has them, else of the sample."""
    path = Path(os.environ.get("STRATA_DATA", "")) / "SNLI" / "triplets_dev.tsv"
    rows = sample.triplets()
    if path.is_file():
        table = read_file(path)
        rows, _ = triplets(table, guess(table, "triplets"))
    return list(rows.anchors[: ROWS * STEPS]), list(rows.positives[: ROWS * STEPS])


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
    from explorer.data.corpora import Corpus
    from explorer.training.learner import Learner
    from explorer.training.memory import kept_while_training
    from explorer.training.preparing import Prepared
    from explorer.training.recipe import Recipe
    from explorer.training.world import World

    settings = {"batch_size": ROWS, "max_length": encoder.max_length, "pooling": "mean", "steps": 10_000}
    recipe = Recipe("simcse-sup", settings=settings).checked()
    corpus = Corpus("pairs", "pairs", (tuple(anchors), tuple(positives)))
    learner = Learner(Prepared(recipe, None, encoder, corpus, sample.pairs(), None, ()), SEED, World(precision, "cpu"))

    def steps() -> None:
        with kept_while_training():
            for _ in range(STEPS):
                learner.update()

    return steps
