"""How does a head of self-attention look at a sentence: at how many tokens, and how much at the special ones?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def tokens_looked_at(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """(layer, head) of weights (layer, head, token that looks, token that is looked at): e to the power of the entropy
    of a token's weights, averaged over tokens. 1 is one token each, the number of tokens is all of them alike."""
    exact = weights.astype(np.float64)
    logs = np.log(exact, where=exact > 0, out=np.zeros_like(exact))
    return np.asarray(np.exp(-(exact * logs).sum(-1)).mean(-1))


def share_of(weights: NDArray[np.float32], special: tuple[bool, ...]) -> NDArray[np.float64]:
    """(layer, head): which share of a token's look falls on the special tokens, averaged over tokens."""
    return np.asarray(weights[..., list(special)].astype(np.float64).sum(-1).mean(-1))
