"""What methods share that train one pooling of the last layer: the model's own, or one that is chosen."""

from __future__ import annotations

from dataclasses import replace

from explorer.encoding.read.head import Head
from explorer.methods import MODEL_DEFAULT, TRAINED_POOLINGS, Method, knob


def pooling_knob(paper: str | None = None) -> str:
    """The setting of the pooling; `paper` is what the paper uses, where it uses one of them."""
    return knob(
        MODEL_DEFAULT,
        choices=(MODEL_DEFAULT, *TRAINED_POOLINGS),
        paper=paper,
        help="How a sentence becomes a vector, in training and after. model default: as the model declares it, with "
        "its own dense layers kept as they are; [CLS] of the last layer where the model declares nothing. cls, mean "
        "and max are of the last layer, without those dense layers.",
    )


class Pooled(Method):
    """A method whose vectors are those of one pooling, with nothing added unless it says so."""

    pooling: str = pooling_knob("cls")

    _resolved: tuple[str, Head] | None = None

    @property
    def pooled(self) -> Head:
        """The pooling that is chosen, with the maps that the model declares after it, where the weights are now."""
        device = str(self.base.model.device)
        if self._resolved is None or self._resolved[0] != device:
            self._resolved = device, self._declared().to(device)
        return self._resolved[1]

    @property
    def before_normalising(self) -> Head:
        """The same before vectors are brought to length 1: for a head that is trained on top."""
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
        # the tokenizer puts the prompt before every sentence already
        return replace(declared, prompt="", remark="")
