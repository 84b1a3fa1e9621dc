"""Measure the memory of scoring a large model, above the model itself."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from explorer.data import sample
from explorer.data.graded import sts
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find, of_folder
from explorer.measuring.scores.layer_scores import score_layers
from explorer.progress import finish

PAIRS = 3750  # STS14's number


def main() -> None:
    pairs = _pairs()
    with TemporaryDirectory() as folder:
        _save_large(Path(folder))
        encoder = load(of_folder("bert-large shape", Path(folder)))
    next(encoder.views([pairs.first[0]]))  # weights are mapped from disk until they are used once
    process = psutil.Process()
    before, peak = process.memory_info().rss, 0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    started = time.perf_counter()
    finish(score_layers(encoder, pairs))
    seconds = time.perf_counter() - started
    done.set()
    watcher.join()
    print(
        f"\nMemory: bert-large shape, 25 layers and 3 pairs of them × 3 poolings, {len(pairs):,} pairs of {pairs.name}"
    )
    print(f"  model loaded {before / 2**20:,.0f} MiB, at most {(peak - before) / 2**20:,.0f} MiB more", end="")
    print(f" ({encoder.precision}, {encoder.device}, {seconds:.0f} s)")


def _pairs() -> GradedPairs:
    """STS14 where STRATA_DATA has it, else pairs of the sample's sentences, as many."""
    if ("STS14", "test") in sts.available():
        return sts.load("STS14", "test")
    texts = sample.sentences().texts
    first = tuple(texts[place % len(texts)] for place in range(PAIRS))
    second = tuple(texts[(7 * place + place // len(texts)) % len(texts)] for place in range(PAIRS))
    return GradedPairs(
        "sample sentences", first, second, tuple(float(place % 6) for place in range(PAIRS)), ("",) * PAIRS
    )


def _save_large(folder: Path) -> None:
    """A model of bert-large's shape with random weights, and the bundled encoder's words."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    tokenizer = AutoTokenizer.from_pretrained(find("all-MiniLM-L6-v2").folder)
    shape = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(tokenizer), **shape), add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
