"""Measure what a process of its own has in memory that has loaded an encoder and encoded a batch with it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

_TORCH = """
import sys, psutil, torch
kind, config, weights, given = torch.load(sys.argv[1], weights_only=False)  # a file that Strata has just written
model = kind(config).eval()
model.load_state_dict(weights, strict=False, assign=True)
model.to(next(iter(weights.values())).dtype)  # with a pooling layer that the weights lack
with torch.inference_mode():
    model(**given)
print(psutil.Process().memory_info().rss)
"""
_ONNX = """
import sys, numpy, onnxruntime, psutil
given = dict(numpy.load(sys.argv[1]))
onnxruntime.InferenceSession(sys.argv[2], providers=["CPUExecutionProvider"]).run(None, given)
print(psutil.Process().memory_info().rss)
"""
_SECONDS = 0.1  # between two looks at the process


def of_torch(encoder: Encoder, texts: Sequence[str], folder: Path) -> Work[int | None]:
    """The bytes with torch and transformers; None if the process fails, as for want of memory."""
    import torch

    from explorer.encoding.tune.editing import recast

    ids, mask = encoder.padded(encoder.tokens(texts).ids, "cpu")
    path = folder / "model.pt"
    model = recast(encoder, encoder.precision, "cpu").model
    given = {"input_ids": ids, "attention_mask": mask.long()}
    torch.save((type(model), model.config, model.state_dict(), given), path)
    return (yield from _bytes(_TORCH, path))


def of_onnx(encoder: Encoder, file: Path, texts: Sequence[str], folder: Path) -> Work[int | None]:
    """The bytes with ONNX Runtime."""
    import numpy as np

    ids, mask = encoder.padded(encoder.tokens(texts).ids, "cpu")
    path = folder / "batch.npz"
    np.savez(path, input_ids=ids.numpy(), attention_mask=mask.long().numpy())
    return (yield from _bytes(_ONNX, path, file))


def _bytes(code: str, *paths: Path) -> Work[int | None]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, paths)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        while process.poll() is None:
            yield Progress("measuring the memory of a process that encodes", 0, 0)
            time.sleep(_SECONDS)
    finally:
        process.kill()
        out, _ = process.communicate()
    return int(out) if process.returncode == 0 else None
