"""What does an encoder score on a set? Off the shelf where it was measured before, measured now where not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.data.kinds import GradedPairs
from explorer.errors import NotWritable
from explorer.measuring.scores import score_store
from explorer.measuring.scores.layer_scores import LayerScores, score_layers
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """How to measure; what `auto` turned out to be is written beside the scores."""

    precision: str = "auto"
    device: str = "auto"
    max_length: int | None = None


Load = Callable[["Found", Settings], "Encoder"]


def shelf_key(found: Found, pairs: GradedPairs, settings: Settings) -> str:
    """The name under which scores are kept: what was measured, on what, and how."""
    return score_store.key(found.digest, pairs.digest, settings.precision, settings.device, settings.max_length)


def load_encoder(found: Found, settings: Settings) -> Encoder:
    """The encoder, in the precision and on the device that were asked for."""
    from explorer.encoding.load.loading import load

    return load(found, precision=settings.precision, device=settings.device)


def measure(found: Found, pairs: GradedPairs, settings: Settings, load: Load = load_encoder) -> Work[LayerScores]:
    """Take scores off the shelf, or measure them and put them there.

    They are kept under what was asked, so that the next look needs no torch to know what `auto` means, and under
    what was used, so that asking for that by name is no new measurement.
    """
    asked = shelf_key(found, pairs, settings)
    scores = score_store.kept(asked)
    if scores is not None:
        return scores
    yield Progress(f"loading {found.name}", 0, 0)
    encoder = load(found, settings)
    used = shelf_key(found, pairs, Settings(encoder.precision, encoder.device, encoder.limit(settings.max_length)))
    scores = score_store.kept(used)
    if scores is None:
        scores = yield from score_layers(encoder, pairs, settings.max_length)
    try:
        score_store.keep(asked, scores)
        score_store.keep(used, scores)
    except NotWritable as error:  # minutes of work are not thrown away for want of a place
        logger.warning("The scores were not kept. %s", error)
    return scores
