"""Scores of an encoder on a set: stored ones if they exist, else measured and stored."""

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
    """Measurement settings; the values chosen for `auto` are stored with the scores."""

    precision: str = "auto"
    device: str = "auto"
    max_length: int | None = None


Load = Callable[["Found", Settings], "Encoder"]


def shelf_key(found: Found, pairs: GradedPairs, settings: Settings) -> str:
    """The key of stored scores: model, set and settings."""
    return score_store.key(found.digest, pairs.digest, settings.precision, settings.device, settings.max_length)


def load_encoder(found: Found, settings: Settings) -> Encoder:
    """Load the encoder in the chosen precision and on the chosen device."""
    from explorer.encoding.load.loading import load

    return load(found, precision=settings.precision, device=settings.device)


def measure(
    found: Found, pairs: GradedPairs, settings: Settings, load: Load = load_encoder, *, again: bool = False
) -> Work[LayerScores]:
    """Load stored scores, or measure and store them; `again` measures even what is stored.

    They are stored under the requested settings, so that resolving `auto` does not need torch next time, and under the
    settings used, so that requesting these by name does not measure again.
    """
    asked = shelf_key(found, pairs, settings)
    scores = None if again else score_store.kept(asked)
    if scores is not None:
        return scores
    yield Progress(f"loading {found.name}", 0, 0)
    encoder = load(found, settings)
    used = shelf_key(found, pairs, Settings(encoder.precision, encoder.device, encoder.limit(settings.max_length)))
    scores = None if again else score_store.kept(used)
    if scores is None:
        scores = yield from score_layers(encoder, pairs, settings.max_length)
    try:
        score_store.keep(asked, scores)
        score_store.keep(used, scores)
    except NotWritable as error:  # return the scores even if they cannot be stored
        logger.warning("The scores were not stored. %s", error)
    return scores
