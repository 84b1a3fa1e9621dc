"""Encoders in memory: those that pages used last, each once for all visitors."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from explorer.encoding.locate import stored_vectors
from explorer.encoding.locate.model_names import Found
from explorer.measuring.scores.measure import Settings, load_encoder, with_room

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

MOST = 2
_LOADED: dict[Hashable, Encoder] = {}
_LOCK = threading.Lock()


def encoder(model: Found, settings: Settings) -> Encoder:
    """A loaded encoder, of any maximum length; the one used longest ago makes room before another one is loaded."""
    key = model.digest, settings.precision, settings.device
    with _LOCK:
        loaded = _LOADED.pop(key, None)
        _make_room(MOST - 1)
    if loaded is None:
        loaded = load_encoder(model, replace(settings, max_length=None))
    with _LOCK:
        _LOADED[key] = loaded  # the last one
        _make_room(MOST)
    return loaded if model.prompt is None else with_room(loaded, settings)


def _make_room(most: int) -> None:
    while len(_LOADED) > most:
        del _LOADED[next(iter(_LOADED))]


def attending(model: Found) -> Encoder:
    """The same model as it returns attention weights; in float32, so that rows sum to 1.

    It takes 10 ms and shares the weights; kept here, it would hold those of models that `encoder` has let go.
    """
    from explorer.encoding.tune import tunable

    stored_vectors.refuse(model.folder, model.name)
    return tunable.attending(encoder(model, Settings()))
