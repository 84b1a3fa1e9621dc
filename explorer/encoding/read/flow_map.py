"""A sentence-transformers module that applies a flow; it is saved with exported models.

sentence-transformers runs it after the pooling; with transformers alone, it takes pooled vectors. It needs torch and
safetensors, and nothing of Strata.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from explorer.encoding.read.flow import Flow


class FlowMap(nn.Module):
    """A frozen flow, in float32 whatever the encoder's precision."""

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, given: Any) -> Any:
        """Map vectors (sentence, width), or the features dictionary of sentence-transformers."""
        if isinstance(given, Tensor):
            return self.flow(given.float())
        given["sentence_embedding"] = self.flow(given["sentence_embedding"].float())
        return given

    def describe(self) -> str:
        """`flow of 3 levels`."""
        return f"flow of {self.flow.levels} levels"

    def to(self, *where: Any, **how: Any) -> FlowMap:
        """A copy on another device."""
        return super(FlowMap, copy.deepcopy(self)).to(*where, **how)

    def save(self, folder: str, *_: object, **__: object) -> None:
        """Save sizes and weights in an existing folder."""
        sizes = {name: getattr(self.flow, name) for name in ("width", "levels", "steps", "inner")}
        (Path(folder) / "config.json").write_text(json.dumps(sizes, indent=2) + "\n", encoding="utf-8")
        weights = {name: weight.detach().float().cpu().contiguous() for name, weight in self.flow.state_dict().items()}
        save_file(weights, Path(folder) / "model.safetensors", {"format": "pt"})

    @classmethod
    def load(cls, folder: str) -> FlowMap:
        """Load what `save` wrote."""
        flow = Flow(**json.loads((Path(folder) / "config.json").read_text(encoding="utf-8")))
        flow.load_state_dict(load_file(Path(folder) / "model.safetensors"))
        return cls(flow.requires_grad_(False))
