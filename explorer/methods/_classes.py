"""Number the classes of labelled rows."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.errors import BadChoice


def numbers(labels: Sequence[str], classes: Sequence[str], device: torch.device) -> Tensor:
    """The places of labels among the classes."""
    place = {name: at for at, name in enumerate(classes)}
    unknown = next((label for label in labels if label not in place), None)
    if unknown is not None:
        raise BadChoice(f"There is no class {unknown!r}. There are: {', '.join(classes)}. Give rows of these classes.")
    # given a device, torch.tensor waits for it
    return torch.tensor([place[label] for label in labels]).to(device, non_blocking=True)
