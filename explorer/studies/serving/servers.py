"""Encode as a server may do it, with changes of what the model declares for texts, tokens and padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.prompts import left_out
from explorer.progress import Progress, Work
from explorer.studies.serving.causes import Cause
from explorer.studies.serving.readouts import Readout

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder

TOKENS, MOST = 4096, 64  # of a batch: tokens, padding included, and sentences
WHOLE = 10**9  # sentences of the batch that is the whole file
CANDIDATES = 64  # longest texts among which that with most tokens is looked for


@dataclass(frozen=True)
class Padding:
    """To which width a server pads sentences, and whether attention sees the padding; the padding is pooled."""

    batch: int = 0  # sentences that are padded to the longest of them
    by_length: bool = False  # batches are of sentences sorted by length, as sentence-transformers makes them
    width: int = 0  # tokens to which all are padded, in place of batches
    attended: bool = False

    @property
    def words(self) -> str:
        """How sentences are padded: `batches of 32`."""
        if self.width:
            return f"to {self.width:,} tokens"
        if self.batch == WHOLE:
            return "to the longest of all"
        return f"batches of {self.batch:,}{', sorted by length' * self.by_length}"


@dataclass(frozen=True, eq=False)
class Server:
    """An encoder as a server may use it, and in what this is not as the model declares."""

    encoder: Encoder
    padding: Padding | None = None
    causes: tuple[Cause, ...] = ()

    def after(self, change: ServerChange) -> Server:
        """The same with one more change."""
        return replace(change.make(self), causes=(*self.causes, change.cause))

    def ids(self, sentences: Sequence[str]) -> list[list[int]]:
        """The token ids of sentences."""
        return self.encoder.tokens(sentences).ids

    def key(self, sentences: Sequence[str]) -> tuple[object, ...]:
        """A value that is the same for servers with the same tokens of these sentences."""
        ids = self.ids(sentences)
        return (self.padding, *(tuple(one) for one in ids), *map(left_out, ids))

    def vectors(
        self, sentences: Sequence[str], rows: Sequence[int], readouts: Sequence[Readout], stage: str
    ) -> Work[list[NDArray[Any]]]:
        """The vectors (row, width) of some rows under each readout."""
        from explorer.encoding.read.batching import batches, limits_of

        ids = self.ids([sentences[row] for row in rows])
        widths = list(map(len, ids)) if self.padding is None else self.widths(sentences, rows, ids)
        found: list[NDArray[Any]] = []
        done = 0
        for places in batches(widths, TOKENS, MOST, limits_of(self.encoder.device).busy):
            parts = self._of_batch([ids[place] for place in places], [widths[place] for place in places], readouts)
            found = found or [np.empty((len(rows), part.shape[1]), dtype=np.float32) for part in parts]
            for vectors, part in zip(found, parts, strict=True):
                vectors[places] = part.float().cpu().numpy()
            done += len(places)
            yield Progress(stage, done, len(rows))
        return found

    def _of_batch(self, ids: list[list[int]], widths: list[int], readouts: Sequence[Readout]) -> list[Tensor]:
        import torch

        from explorer.encoding.read.encoder import every_layer, to_pool

        padded, real = self.encoder.padded(ids, width=max(widths))
        pooled, attended = to_pool(ids, real), real
        if self.padding is not None:
            filled = torch.arange(real.shape[1])[None, :] < torch.tensor(widths)[:, None]
            filled = filled.to(real.device) & ~real
            pooled, attended = pooled | filled, real | filled if self.padding.attended else real
        with torch.inference_mode():
            hidden = every_layer(self.encoder.model, input_ids=padded, attention_mask=attended.long())
            return [readout.pool(hidden, pooled) for readout in readouts]

    def widths(self, sentences: Sequence[str], rows: Sequence[int], ids: Sequence[list[int]]) -> list[int]:
        """The number of tokens to which each of some rows is padded."""
        assert self.padding is not None, "without padding each has its own"
        if self.padding.width:
            return [max(self.padding.width, len(one)) for one in ids]
        longest = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
        if self.padding.batch >= len(sentences):
            most = max(map(len, [*self.ids([sentences[row] for row in longest[:CANDIDATES]]), *ids]))
            return [most] * len(rows)
        order = longest if self.padding.by_length else list(range(len(sentences)))
        place = {row: at for at, row in enumerate(order)}
        size = self.padding.batch
        starts = [place[row] // size * size for row in rows]
        most_of = dict.fromkeys(starts, 0)
        for start in most_of:
            most_of[start] = max(map(len, self.ids([sentences[row] for row in order[start : start + size]])))
        return [most_of[start] for start in starts]


@dataclass(frozen=True, eq=False)
class ServerChange:
    """A cause, and the server that has it."""

    cause: Cause
    make: Callable[[Server], Server]

    @classmethod
    def of_encoder(cls, cause: Cause, **changed: Any) -> ServerChange:
        """A change of how the encoder tokenises; each value is made of an encoder, or is the value itself."""

        def make(server: Server) -> Server:
            made = {name: one(server.encoder) if callable(one) else one for name, one in changed.items()}
            return replace(server, encoder=server.encoder.with_changed(**made))

        return cls(cause, make)
