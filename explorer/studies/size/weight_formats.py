"""An encoder with its weights in one format: its vectors under every layer & pooling, and its cuts, ready to encode.

Torch runs float32 and bfloat16, ONNX Runtime the other formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.export.quantisation import ONNX_WEIGHTS
from explorer.encoding.load.hardware import MEASURED
from explorer.encoding.read.pooling import MODEL_DEFAULT, title_of
from explorer.evaluating.encoded import encoded
from explorer.progress import Progress, Work
from explorer.studies.size import process_memory
from explorer.studies.size.smaller_vectors import Vectors

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.read.head import Head
    from explorer.encoding.tune.editing import Stack

Cell = tuple[int, str]  # a layer that the encoder is cut after, and a pooling
WEIGHTS = (*MEASURED, *ONNX_WEIGHTS)
TITLES = {name: weights.title for name, weights in ONNX_WEIGHTS.items()}  # in a form
BYTES = {"float32": 4, "bfloat16": 2}  # of a weight in torch


@dataclass(frozen=True, eq=False)
class TimedCut:
    """An encoder of some layers: what encodes sentences with it, and the bytes of its weights."""

    encode: Callable[[Sequence[str]], object]
    bytes: int


class InTorch:
    """An encoder as torch runs it, with cells of these layers and poolings besides the model default."""

    def __init__(
        self,
        encoder: Encoder,
        name: str,
        where: Stack,
        layers: Sequence[int] = (),
        poolings: Sequence[str] = (),
        tokens: int = 0,
    ) -> None:
        self.encoder, self.name, self.where = encoder, name, where
        self.layers, self.poolings = layers, poolings
        self.tokens = tokens  # of a vocabulary that was cut
        self.weights = encoder.precision

    @property
    def depths(self) -> list[int]:
        """The layers that it is cut after, and the last one."""
        return sorted({*self.layers, depth(self.encoder)})

    @property
    def heads(self) -> dict[Cell, Head]:
        """The model default, then the cuts from the highest to the lowest, each with what computes its vectors."""
        from explorer.encoding.read.head import Head

        last, head = depth(self.encoder), self.encoder.default_head
        plain = head.poolings[0] if head.of_last_layer and len(head.poolings) == 1 and not head.dense else ""
        twice = (last, plain) if MODEL_DEFAULT in self.poolings else None  # this cell is the model default
        every = [(layer, pooling) for layer in sorted(self.layers, reverse=True) for pooling in self.poolings]
        named = [cell for cell in every if cell[1] != MODEL_DEFAULT and cell != twice]
        # every vector is normalised after its projection
        own = {(last, MODEL_DEFAULT): replace(head, normalize=False)}
        return own | {cell: Head((title_of(cell[1], cell[:1]),)) for cell in named}

    def cells(self, texts: Sequence[str]) -> Work[Iterator[tuple[Cell, Vectors]]]:
        """Each of the cells with the vectors of the texts, all from one pass over them."""
        from explorer.encoding.tune.editing import as_cut

        (own, own_head), *named = self.heads.items()
        every = as_cut(self.encoder, self.where).with_changed(head=own_head)
        titles = {own: MODEL_DEFAULT} | {cell: head.poolings[0] for cell, head in named}
        found = yield from encoded(every, texts, titles=list(titles.values())[1:])
        return ((cell, found.of(title)) for cell, title in titles.items())

    def cut(self, layers: int) -> TimedCut:
        """The encoder with its first `layers` layers."""
        from explorer.encoding.tune import editing

        some = editing.cut(self.encoder, layers, self.where)
        return TimedCut(partial(batched_vectors, some), BYTES[self.weights] * int(some.model.num_parameters()))

    def memory(self, texts: Sequence[str], folder: Path) -> Work[int | None]:
        """The bytes that a process has in memory that encodes a batch with the whole encoder."""
        return (yield from process_memory.of_torch(self.encoder, texts, folder))


class InOnnx(InTorch):
    """The same encoder as ONNX files in a folder, where the files of all formats are made of that in float32."""

    def __init__(self, whole: InTorch, weights: str, folder: Path) -> None:
        super().__init__(whole.encoder, whole.name, whole.where, whole.layers, whole.poolings, whole.tokens)
        self.weights, self.folder = weights, folder
        self.file = folder / ONNX_WEIGHTS[weights].file
        self.names = {cell: f"cell_{number}" for number, cell in enumerate(self.heads)}

    def cells(self, texts: Sequence[str]) -> Work[Iterator[tuple[Cell, Vectors]]]:
        """The cells as in torch, from one pass of one file over the texts."""
        from explorer.encoding.export.onnx_session import BATCH, Session

        yield from self._written()
        session = Session(self.file, self.encoder, list(self.names.values()))
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        order: list[int] = []
        parts: list[list[Vectors]] = []
        # one by one where numbers are rounded by the largest of a batch, as an exported encoder does it
        size = 1 if ONNX_WEIGHTS[self.weights].quantised else BATCH
        for places, vectors in session.batches(list(distinct), size):
            order += places
            parts.append(vectors)
            yield Progress(f"encoding with weights in {self.weights}", len(order), len(distinct))
        rows = np.argsort(order)[[distinct[text] for text in texts]]
        return (
            (cell, np.concatenate(some)[rows]) for cell, some in zip(self.names, zip(*parts, strict=True), strict=True)
        )

    def cut(self, layers: int) -> TimedCut:
        """The part of the file that computes the vectors of a layer, as a file of its own."""
        from explorer.encoding.export import onnx_graph
        from explorer.encoding.export.onnx_session import Session

        name = next(name for (layer, _), name in self.names.items() if layer == layers)
        path = self._cut_file(layers)
        onnx_graph.extract(self.file, {name: onnx_graph.SENTENCES}, path)
        return TimedCut(Session(path, self.encoder).vectors, onnx_graph.size(path))

    def _cut_file(self, layers: int) -> Path:
        return self.folder / f"{layers}_{self.file.name}"

    def memory(self, texts: Sequence[str], folder: Path) -> Work[int | None]:
        """The same with ONNX Runtime in place of torch and transformers, once the encoder was cut after all layers."""
        return (yield from process_memory.of_onnx(self.encoder, self._cut_file(depth(self.encoder)), texts, folder))

    def _written(self) -> Work[None]:
        from explorer.encoding.export import onnx_graph
        from explorer.encoding.export.onnx_session import Session, check_same
        from explorer.encoding.export.quantisation import FLOAT32, quantise
        from explorer.encoding.tune import editing
        from explorer.encoding.tune.editing import as_cut, stack

        plain = self.folder / ONNX_WEIGHTS[FLOAT32].file
        if not plain.exists():
            yield Progress("writing the encoder for ONNX Runtime", 0, 0)
            whole = editing.recast(self.encoder, "float32", "cpu")
            every = as_cut(whole, self.where if whole is self.encoder else stack(whole))
            onnx_graph.write(every, {self.names[cell]: head for cell, head in self.heads.items()}, plain)
            whole = whole.with_changed(head=next(iter(self.heads.values())))
            check_same(Session(plain, whole, list(self.names.values())[:1]).vectors, whole)
        if not self.file.exists():
            yield Progress(f"storing weights as {self.weights}", 0, 0)
            quantise(plain, ONNX_WEIGHTS[self.weights], self.file)


def depth(encoder: Encoder) -> int:
    """The number of its layers."""
    layers: int = encoder.model.config.num_hidden_layers
    return layers


def batched_vectors(encoder: Encoder, sentences: Sequence[str]) -> list[NDArray[np.float32]]:
    """Vectors in batches of neighbours in length, padded, from the last layer alone, as other libraries encode."""
    import torch

    from explorer.encoding.export.onnx_session import BATCH
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
