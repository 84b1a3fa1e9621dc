"""Measure the cost of the whole grid, compared with sentence-transformers encoding the last layer once."""

from __future__ import annotations

import statistics

from benchmarks.timing import interleaved, ratio, told
from explorer.data import sample
from explorer.data.graded import sts
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load import hardware
from explorer.encoding.load.loading import load
from explorer.encoding.locate import model_names
from explorer.measuring.scores.layer_scores import score_layers
from explorer.progress import finish

ROUNDS = 7
PRECISIONS = ("float32", "bfloat16")


def main() -> None:
    import torch
    from sentence_transformers import SentenceTransformer

    pairs = _pairs()
    found = model_names.find("all-MiniLM-L6-v2")
    sentences = list(pairs.sentences)
    encoders = {precision: load(found, precision=precision) for precision in PRECISIONS}
    device = encoders["float32"].device
    peers = {
        precision: SentenceTransformer(
            str(found.folder), device=device, model_kwargs={"dtype": getattr(torch, precision)}
        )
        for precision in PRECISIONS
    }
    print(f"\nThe grid: {len(sentences):,} sentences of {pairs.name}, {device}, {torch.get_num_threads()} threads")
    print(f"bfloat16 is {'native' if hardware.precision('auto', device) == 'bfloat16' else 'emulated'} here")
    things = {}
    for precision in PRECISIONS:
        things[f"grid {precision}"] = lambda e=encoders[precision]: finish(score_layers(e, pairs))
        things[f"peer {precision}"] = lambda p=peers[precision]: p.encode(sentences)
    seconds = interleaved(things, ROUNDS)
    work = _operations(encoders["float32"], sentences)
    for precision in PRECISIONS:
        peak = _peak(getattr(torch, precision), device)
        for name, who in (("grid", "Strata, every layer and pooling"), ("peer", "sentence-transformers, last layer")):
            times = seconds[f"{name} {precision}"]
            share = work / statistics.median(times) / peak
            print(f"  {precision:9} {who:34} {told(times)}  {share:5.1%} of the matrix-product peak")
        print(f"  {precision:9} peak {peak / 1e9:,.0f} GFLOP/s")
    for precision in PRECISIONS:
        default = ratio(seconds[f"grid {precision}"], seconds["peer float32"])
        same = ratio(seconds[f"grid {precision}"], seconds[f"peer {precision}"])
        print(f"  grid in {precision}: {default:.2f} of sentence-transformers as it comes (float32), ", end="")
        print(f"{same:.2f} of it in {precision}")


def _pairs() -> GradedPairs:
    """STS-B test where STRATA_DATA has it, else the sample."""
    return sts.load("STS-B", "test") if ("STS-B", "test") in sts.available() else sample.pairs()


def _operations(encoder, sentences: list[str]) -> float:
    """Floating-point operations of one pass over the sentences, padding excluded."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        for _ in encoder.views(sentences):
            pass
    return float(counter.get_total_flops())


def _peak(dtype, device: str, size: int = 2048, rounds: int = 9) -> float:
    """Operations a second of a large matrix product, the best of several."""
    import time

    import torch

    one, other = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        (one @ other).sum().item()
        times.append(time.perf_counter() - started)
    return 2 * size**3 / min(times)
