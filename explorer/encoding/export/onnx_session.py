"""Run an ONNX file: vectors of sentences by ONNX Runtime, and the proof that they are those of torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from explorer.encoding.export.onnx_graph import INPUTS, SENTENCES
from explorer.encoding.read.encoder import every_layer
from explorer.encoding.tune import editing
from explorer.errors import UnsupportedModel

if TYPE_CHECKING:
    from explorer.encoding.tune import editing
from explorer.encoding.read.encoder import Encoder

Vectors = NDArray[np.float32]

BATCH = 32  # sentences of neighbouring lengths, padded, as sentence-transformers encodes them
MOST_APART = 1e-4  # between a number of a vector of the file and that of torch, as a share of the largest
_EXAMPLES = (  # of several lengths, in several scripts, the last one longer than most limits
    "Yes.",
    "The kettle boils, and the water is hot.",
    "Müller's café opens at 8 — naïve, isn't it? 東京 Привет",
    " ".join(["A long text is cut at the limit of the encoder."] * 60),
)


class Session:
    """An ONNX file that encodes what the tokenizer of an encoder gives."""

    def __init__(self, path: Path, encoder: Encoder, outputs: Sequence[str] = (SENTENCES,)) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()  # as many as torch has
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._encoder, self._outputs = encoder, outputs

    def batches(self, sentences: Sequence[str], size: int = BATCH) -> Iterator[tuple[list[int], list[Vectors]]]:
        """The vectors of each output for some sentences, with their places, until all are encoded."""
        ids = self._encoder.tokens(sentences).ids
        shortest_first = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        for start in range(0, len(ids), size):
            places = shortest_first[start : start + size]
            numbers, mask = self._encoder.padded([ids[place] for place in places], "cpu")
            given = dict(zip(INPUTS, (numbers.numpy(), mask.long().numpy()), strict=True))
            yield places, self._session.run(self._outputs, given)

    def vectors(self, sentences: Sequence[str]) -> Vectors:
        """The vector of each sentence, from the first output."""
        places, parts = zip(*((places, first) for places, (first, *_) in self.batches(sentences)), strict=True)
        found: Vectors = np.concatenate(parts)[np.argsort(np.concatenate(places))]
        return found


def check_same(vectors: Callable[[Sequence[str]], Vectors], encoder: Encoder) -> None:
    """Refuse vectors in float32 that are not those of the encoder: a branch of its code may have been missed."""
    whole = editing.recast(encoder, "float32", "cpu")
    due = np.concatenate([_of_torch(whole, [text]) for text in _EXAMPLES])
    alone = np.concatenate([vectors([text]) for text in _EXAMPLES])
    apart = max(np.abs(found - due).max() for found in (vectors(_EXAMPLES), alone))
    if not apart <= MOST_APART * np.abs(due).max():
        raise UnsupportedModel(
            f"The ONNX file of '{encoder.name}' gives other vectors than torch: numbers differ by up to {apart:.2g}. "
            f"The code of its {encoder.model.config.model_type} cannot be exported. Use its folder with "
            "sentence-transformers."
        )


@torch.inference_mode()
def _of_torch(encoder: Encoder, sentences: Sequence[str]) -> Vectors:
    ids, mask = encoder.padded(encoder.tokens(sentences).ids)
    states = every_layer(encoder.model, input_ids=ids, attention_mask=mask.long())
    found: Vectors = encoder.default_head(states, mask).numpy()
    return found
