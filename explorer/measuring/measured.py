"""What did an encoder score on a set: off the shelf where it was measured before, measured now where not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.data.kinds import GradedPairs
from explorer.measuring import shelf
from explorer.progress import Progress, Work
from explorer.measuring.scores import LayerScores, score_layers

if TYPE_CHECKING:
    from explorer.encoding.encoder import Encoder
    from explorer.encoding.finding import Found


@dataclass(frozen=True)
class Settings:
    """How to measure; what `auto` turned out to be is written beside the scores."""

    precision: str = "auto"
    device: str = "auto"
    max_length: int | None = None


Load = Callable[["Found", Settings], "Encoder"]


def shelf_key(found: Found, pairs: GradedPairs, settings: Settings) -> str:
    """The name under which these scores are kept. It is made from what was asked, so that no torch is needed."""
    return shelf.key(found.digest, pairs.digest, settings.precision, settings.device, settings.max_length)


def layer_scores(found: Found, pairs: GradedPairs, settings: Settings, load: Load | None = None) -> Work[LayerScores]:
    """Take scores off the shelf, or measure them and put them there."""
    name = shelf_key(found, pairs, settings)
    scores = shelf.kept(name)
    if scores is None:
        yield Progress(f"loading {found.name}", 0, 0)
        encoder = (load or load_encoder)(found, settings)
        scores = yield from score_layers(encoder, pairs, settings.max_length)
        shelf.keep(name, scores)
    return scores


def load_encoder(found: Found, settings: Settings) -> Encoder:
    """The encoder, in the precision and on the device that were asked for."""
    from explorer.encoding.loading import load

    return load(found, precision=settings.precision, device=settings.device)
