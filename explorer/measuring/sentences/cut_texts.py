"""Count the texts that are longer than a training or an evaluation reads, and than the encoder can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.data.set_items import counted
from explorer.in_words import verb

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

TEXT = "text"
TRAINING, EVALUATION = "training", "evaluation"  # what reads the texts
MOST_COUNTED = 20_000  # texts whose tokens are counted; of more, so many from all over them
CUT = "{count:,} of {of} {are} longer than the {limit:,} tokens that {who}: the rest of {them} is not read."
_READERS = {TRAINING: "this training reads", EVALUATION: "are read here"}
_CHOICES = {
    TRAINING: "Raise max_length, up to {:,}.",
    EVALUATION: "Raise the maximum length (--max-length), up to {:,}.",
}


@dataclass(frozen=True)
class CutTexts:
    """How many distinct texts are longer than what is read of them in a use, and than the model can read."""

    of: int
    used: int  # that are longer than the limit of the use
    used_limit: int  # tokens
    read: int  # longer than the model's
    read_limit: int
    use: str = TRAINING

    @property
    def words(self) -> str:
        """`12 of 500 texts, at 128 tokens; the model reads 256 (3 are longer)`; "" if nothing is cut."""
        if not self.used:
            return ""
        more = f"; the model reads {self.read_limit:,} ({self.read:,} {verb(self.read, 'is', 'are')} longer)"
        return f"{self.used:,} of {counted(self.of, TEXT)}, at {self.used_limit:,} tokens" + more * self.can_read_more

    @property
    def can_read_more(self) -> bool:
        """Whether the use reads less of a text than the model can."""
        return self.used_limit < self.read_limit

    @property
    def text(self) -> str:
        """What is cut and what to do, in sentences; "" if nothing is."""
        return " ".join(self.lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """The same for the use and for the model."""
        texts = []
        if self.used and self.can_read_more:
            found = self._cut(self.used, self.used_limit, _READERS[self.use])
            texts.append(f"{found} {_CHOICES[self.use].format(self.read_limit)}")
        if self.read:
            found = self._cut(self.read, self.read_limit, "the model reads")
            texts.append(f"{found} Split {verb(self.read, 'it', 'them')}, or choose a model that reads more.")
        return tuple(texts)

    def _cut(self, count: int, limit: int, who: str) -> str:
        are, them = verb(count, "is", "are"), verb(count, "it", "them")
        return CUT.format(count=count, of=counted(self.of, TEXT), are=are, limit=limit, who=who, them=them)


def count(
    encoder: Encoder, texts: Sequence[str], limit: int | None = None, use: str = TRAINING, prompt: str | None = None
) -> CutTexts:
    """Count the distinct texts that are longer than a limit, by default the encoder's, and than the encoder reads."""
    distinct = list(dict.fromkeys(texts))
    some = distinct[:: max(1, -(-len(distinct) // MOST_COUNTED))]  # from all over: a file may be sorted by length
    used = encoder.limit(limit)
    cut = {one: encoder.tokens(some, one, prompt).truncated for one in {used, encoder.max_length}}
    return CutTexts(len(some), cut[used], used, cut[encoder.max_length], encoder.max_length, use)
