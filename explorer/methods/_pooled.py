"""Base of the methods that train one pooling of the last layer: the model default, or a chosen one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from explorer.encoding.read.head import Head
from explorer.methods import MODEL_DEFAULT, TRAINED_POOLINGS, Method, knob


def pooling_knob(paper: str | None = None) -> str:
    """The setting of the pooling; `paper` is the paper's value, if it is one of them."""
    return knob(
        MODEL_DEFAULT,
        choices=(MODEL_DEFAULT, *TRAINED_POOLINGS),
        paper=paper,
        help="Pooling in training and afterwards. model default: the pooling that the model declares, with its dense "
        "layers unchanged; [CLS] of the last layer if the model declares none. cls, mean and max: of the last "
        "layer, without those dense layers.",
    )


class Pooled(Method):
    """A method whose vectors are one pooling, with nothing added by default."""

    pooling: str = pooling_knob("cls")

    _resolved: Mapping[str, tuple[str, Head]] = MappingProxyType({})

    @property
    def pooled(self) -> Head:
        """The chosen pooling, with the maps that the model declares after it, on the current device."""
        return self.on_device("pooled", self._declared)

    def on_device(self, name: str, made: Callable[[], Head]) -> Head:
        """The head with this name on the current device; it is made once for each device."""
        device = str(self.base.model.device)
        if name not in self._resolved or self._resolved[name][0] != device:
            head = made().to(device)  # which may ask for another
            self._resolved = {**self._resolved, name: (device, head)}
        return self._resolved[name][1]

    @property
    def before_normalising(self) -> Head:
        """The same before normalisation: for a head that is trained on top."""
        return replace(self.pooled, normalize=False)

    def head(self) -> Head:
        """The pooling alone."""
        return self.pooled

    def start(self) -> Head:
        """The base under the same pooling."""
        return self.pooled

    def _declared(self) -> Head:
        declared = self.base.encoder.head
        if self.pooling != MODEL_DEFAULT:
            return Head((self.pooling,))
        if declared is None:
            return Head(("cls",))
        # the tokenizer adds the prompt already
        return replace(declared, prompt="", remark="")
