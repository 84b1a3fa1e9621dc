"""SimCSE without labels: the same sentence under two dropout masks is a positive pair.

Gao, Yao and Chen 2021, equation 4. The dense layer is used in training only (section 6.3); settings as in their
appendix A and Table D.1 for BERT-base.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from explorer.knobs import Values
from explorer.methods import Schedule
from explorer.methods._objectives import FindsItself
from explorer.methods._simcse import DenseHead


class SimCSE(DenseHead, FindsItself):
    """Dropout is the only noise, so an encoder without dropout cannot be trained by it."""

    when_to_use = "Only sentences and the model default: a gain at low cost; SG gave [CLS] almost twice as much."
    training_only = ("dense",)
    schedule = Schedule(batch_size=64, learning_rate=3e-5, max_length=32, evaluate_every=125)
    by_family: ClassVar[Mapping[str, Values]] = {
        "BERT-large": {"learning_rate": 1e-5},
        "RoBERTa-base": {"batch_size": 512, "learning_rate": 1e-5},
        "RoBERTa-large": {"batch_size": 512, "learning_rate": 3e-5},
    }
