"""Count what would make a GPU wait, on a machine without one."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Waits(TorchDispatchMode):
    """Counts what makes a GPU wait: a number fetched, a tensor copied to the host, places of a mask looked for."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        name = function.overloadpacket.__name__
        places = arguments[1] if name in ("index", "index_put_", "index_put") else ()
        by_mask = any(place is not None and place.dtype in (torch.bool, torch.uint8) for place in places)
        if by_mask or name in ("_local_scalar_dense", "nonzero", "masked_select", "equal", "unique_dim", "_unique2"):
            self.found.append(name)
        return function(*arguments, **(keywords or {}))
