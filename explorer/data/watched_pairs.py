"""Choose the pairs of sentences whose cosines a training records at every evaluation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from explorer.data import sample

MOST = 3
PACKS = "negation", "number", "role swap"
OWN, POSITIVE, NEGATIVE, ROW = "own pair", "positive", "negative", "held-out row"  # kinds of pairs that are of no pack


@dataclass(frozen=True)
class WatchedPair:
    """Two sentences, and what kind of pair they are: of a probe pack its name, OWN, POSITIVE, NEGATIVE or ROW."""

    kind: str
    first: str
    second: str


def choose(
    own: tuple[str, ...], held_out: Sequence[tuple[str, ...]], trained: Collection[str], *, is_scored: bool = False
) -> tuple[WatchedPair, ...]:
    """The visitor's own pair if there is one, then pairs of held-out rows, then the shortest pair of each of PACKS.

    `held_out` are the sentences of rows that are not trained on; `is_scored` if they have scores or labels. No pair of
    a pack is among the `trained` sentences.
    """
    found = [WatchedPair(OWN, own[0], own[1])] if own else []
    for first, *others in held_out[:MOST]:
        kinds = zip((ROW,) if is_scored else (POSITIVE, NEGATIVE), others, strict=False)
        found += [WatchedPair(kind, first, other) for kind, other in kinds]
    known = set(trained)
    for pack in sample.probe_packs():
        if pack.name in PACKS:
            pairs = zip(pack.first, pack.second, strict=True)
            unseen = [pair for pair in pairs if known.isdisjoint(pair)]
            found += [WatchedPair(pack.name, *min(unseen, key=lambda pair: len("".join(pair))))] if unseen else []
    return tuple(dict.fromkeys(found))[:MOST]
