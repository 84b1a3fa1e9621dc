"""The linear layer that predicts classes from vectors, its fit by logistic regression, and the numbers of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from explorer.errors import BadChoice

ITERATIONS = 2000
TOLERANCE = 1e-6  # at the default of 1e-4 some predictions differ from those of a converged fit


@dataclass(frozen=True, eq=False)
class ClassLayer:
    """A row of weights and a bias for each class."""

    weight: Tensor  # (class, width)
    bias: Tensor  # (class)
    classes: tuple[str, ...]

    strength: ClassVar[float] = 1.0  # C of a fit, scikit-learn's default

    def predicted(self, vectors: Tensor) -> tuple[str, ...]:
        """The most likely class of each vector (row, width)."""
        return tuple(self.classes[place] for place in (vectors @ self.weight.T + self.bias).argmax(1).tolist())

    @classmethod
    def fitted(cls, vectors: Tensor, labels: Sequence[str]) -> ClassLayer:
        """The logistic regression of labels on vectors (row, width), in float64.

        The weights have an L2 penalty, the biases have none. Where all labels are one class, it is predicted.
        """
        classes = tuple(sorted(set(labels)))
        if len(classes) == 1:
            return cls(torch.zeros(1, vectors.shape[1]), torch.zeros(1), classes)
        from sklearn.linear_model import LogisticRegression

        places = {name: at for at, name in enumerate(classes)}
        model = LogisticRegression(C=cls.strength, tol=TOLERANCE, max_iter=ITERATIONS)
        model.fit(vectors.double().numpy(), np.array([places[label] for label in labels]))
        weight, bias = torch.from_numpy(model.coef_).float(), torch.from_numpy(model.intercept_).float()
        if len(classes) == 2:  # scikit-learn has the second class only, compared with 0
            weight, bias = (torch.cat([torch.zeros_like(one), one]) for one in (weight, bias))
        return cls(weight, bias, classes)


def class_numbers(labels: Sequence[str], classes: Sequence[str], device: torch.device) -> Tensor:
    """The places of labels among the classes."""
    place = {name: at for at, name in enumerate(classes)}
    unknown = next((label for label in labels if label not in place), None)
    if unknown is not None:
        raise BadChoice(f"There is no class {unknown!r}. There are: {', '.join(classes)}. Give rows of these classes.")
    # given a device, torch.tensor waits for it
    return torch.tensor([place[label] for label in labels]).to(device, non_blocking=True)
