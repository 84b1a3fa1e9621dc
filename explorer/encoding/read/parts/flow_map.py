"""A sentence-transformers module that applies a flow; it is saved with exported models.

sentence-transformers runs it after the pooling; with transformers alone, it takes pooled vectors. It needs torch and
safetensors, and nothing of Strata.
"""

from __future__ import annotations

import copy
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from safetensors.torch import load_file
from torch import Tensor, nn

from explorer.encoding.locate import configuration, weights
from explorer.encoding.read.flow import Flow
from explorer.encoding.read.module_files import write
from explorer.errors import NotWeights, UnsupportedModel


class FlowMap(nn.Module):
    """A frozen flow, in float32 whatever the encoder's precision."""

    words: ClassVar[str] = "flow"
    module: ClassVar[str] = "flow_map.FlowMap"
    title: ClassVar[str] = "flow of {levels} levels"

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, given: Any) -> Any:
        """Map vectors (sentence, width), or the features dictionary of sentence-transformers."""
        if isinstance(given, Tensor):
            return self.flow(given.float())
        given["sentence_embedding"] = self.flow(given["sentence_embedding"].float())
        return given

    def width(self, given: int) -> int:
        """The width given."""
        return given

    def settings(self) -> dict[str, Any]:
        """The sizes of the flow."""
        return {name: getattr(self.flow, name) for name in ("width", "levels", "steps", "inner")}

    def to(self, *where: Any, **how: Any) -> FlowMap:
        """A copy on another device."""
        return super(FlowMap, copy.deepcopy(self)).to(*where, **how)

    def save(self, folder: str, *_: object, **__: object) -> None:
        """Save sizes and weights in an existing folder."""
        write(folder, self.settings(), self.flow.state_dict())

    @classmethod
    def load(cls, folder: str) -> FlowMap:
        """Load what `save` wrote."""
        flow = Flow(**json.loads((Path(folder) / "config.json").read_text(encoding="utf-8")))
        flow.load_state_dict(load_file(Path(folder) / "model.safetensors"))
        return cls(flow.requires_grad_(False))


@dataclass(frozen=True)
class Sizes:
    """config.json of a flow."""

    width: int = field(metadata={"least": 1})
    levels: int = field(metadata={"least": 1})
    steps: int = field(metadata={"least": 1})
    inner: int = field(metadata={"least": 1})


def opened(place: Path) -> FlowMap:
    """Rebuild a flow from its sizes and weights."""
    path = place / "config.json"
    sizes = configuration.of_strata(path, Sizes, "flow")
    unknown = sorted(set(configuration.settings(path)) - set(asdict(sizes)))
    if unknown:
        raise UnsupportedModel(f"{path} is not a flow of Strata: '{unknown[0]}' is unknown. Export the model again.")
    found = weights.of_module(place, "", ())
    shapes = {name: weight.shape for name, weight in found.items()}
    largest = max((size for shape in shapes.values() for size in shape), default=0)
    if sizes.levels * sizes.steps > len(shapes) or max(sizes.width, sizes.inner) > largest:
        raise _other_sizes(place, sizes)  # before the flow is built: it could take all memory
    flow = Flow(**asdict(sizes))
    expected = {name: weight.shape for name, weight in flow.state_dict().items()}
    weights.check_names(place, "", expected, found)
    if shapes != expected:
        raise _other_sizes(place, sizes)
    flow.load_state_dict(found)
    return FlowMap(flow.requires_grad_(False))


def _other_sizes(place: Path, sizes: Sizes) -> NotWeights:
    stated = ", ".join(f"{name} {size:,}" for name, size in asdict(sizes).items())
    return NotWeights(
        f"{place / 'model.safetensors'} has weights of other sizes than its settings ({stated}). Export the model "
        "again."
    )
