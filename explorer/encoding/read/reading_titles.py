"""The titles of layers & poolings: `mean of layer 6`, `max of layers 0 + 6`; written and read here alone."""

from __future__ import annotations

import re

# the mean over tokens of layers 1 and L, averaged; another definition of this name uses layer 0
FIRST_LAST = "first-last mean"
# the same with layer 0, and the last two layers: their numbers depend on the encoder
FIRST_LAST_FROM_0 = f"{FIRST_LAST}, from layer 0"
LAST_TWO = "mean of the last two layers"
_TITLE = re.compile(r"(.+) of layers? (\d+)(?: \+ (\d+))?")


def title_of(pooling: str, layers: tuple[int, ...]) -> str:
    """The title of a pooling of one layer, or of two that are averaged."""
    return f"{pooling} of {layers_title(layers)}"


def layers_title(layers: tuple[int, ...]) -> str:
    """`layer 6`, `layers 0 + 6`."""
    return f"layer{'s' * (len(layers) > 1)} {' + '.join(map(str, layers))}"


def titled(name: str, last: int) -> str:
    """The title of a pooling that is named without the number of the last layer; other names as they are."""
    pairs = {FIRST_LAST_FROM_0: (0, last), LAST_TWO: (last - 1, last)}
    return title_of("mean", pairs[name]) if name in pairs else name


def layers_of(title: str) -> tuple[str, tuple[int, ...]]:
    """The pooling in a title, and its layers; -1 is the last, where no layer is named."""
    if title == FIRST_LAST:
        return "mean", (1, -1)
    named = _TITLE.fullmatch(title)
    if not named:
        return title, (-1,)
    pooling, *layers = named.groups()
    return pooling, tuple(int(layer) for layer in layers if layer)
