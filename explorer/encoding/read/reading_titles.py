"""The titles of layers & poolings: `mean of layer 6`, `max of layers 4-6`; written and read here alone."""

from __future__ import annotations

import re

# the mean over tokens of layers 1 and L, averaged; another definition of this name uses layer 0
FIRST_LAST = "first-last mean"
LAST = -1  # the last layer, where no number is named
# the same with layer 0, and the last two layers: their numbers depend on the encoder
FIRST_LAST_FROM_0 = f"{FIRST_LAST}, from layer 0"
LAST_TWO = "mean of the last two layers"
_TITLE = re.compile(r"(.+) of layers? ([0-9]{1,4})(?: \+ ([0-9]{1,4})|-([0-9]{1,4}))?")


def title_of(pooling: str, layers: tuple[int, ...]) -> str:
    """The title of a pooling of one layer, or of several that are averaged."""
    return f"{pooling} of {layers_title(layers)}"


def layers_title(layers: tuple[int, ...]) -> str:
    """`layer 6`, `layers 0 + 6`, `layers 4-6`."""
    return f"layer{'s' * (len(layers) > 1)} {layer_numbers(layers)}"


def layer_numbers(layers: tuple[int, ...], plus: str = " + ") -> str:
    """`6`, `0 + 6`, `4-6`: three layers or more follow one another."""
    return f"{layers[0]}-{layers[-1]}" if len(layers) > 2 else plus.join(map(str, layers))


def titled(name: str, last: int) -> str:
    """The title of a pooling that is named without the number of the last layer; other names as they are."""
    pairs = {FIRST_LAST_FROM_0: (0, last), LAST_TWO: (last - 1, last)}
    return title_of("mean", pairs[name]) if name in pairs else name


def layers_of(title: str) -> tuple[str, tuple[int, ...]]:
    """The pooling in a title, and its layers, none for a reversed range; `LAST` where no layer is named."""
    if title == FIRST_LAST:
        return "mean", (1, LAST)
    named = _TITLE.fullmatch(title)
    if not named:
        return title, (LAST,)
    pooling, first, second, end = named.groups()
    if end:
        return pooling, tuple(range(int(first), int(end) + 1))
    return pooling, tuple(int(layer) for layer in (first, second) if layer)
