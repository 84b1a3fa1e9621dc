"""A sentence-transformers module that applies a flow; it is saved with exported models.

sentence-transformers runs it after the pooling; with transformers alone, it takes pooled vectors. It needs torch and
safetensors, and nothing of Strata.
"""

from __future__ import annotations

import copy
import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from explorer.encoding.locate import configuration, weights
from explorer.encoding.read.layer_reading import write
from explorer.errors import NotWeights, UnsupportedModel

_LOG_SCALE = 3.0  # factor between the trained parameter and a scale's logarithm
_LEAST_SPREAD = 1e-6


class Scaling(nn.Module):
    """ActNorm: shift and scale every dimension; initialised so that the first vectors have mean 0 and variance 1."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(width))
        self.size = nn.Parameter(torch.zeros(width))

    def forward(self, vectors: Tensor, beginning: bool = False) -> Tensor:
        """Shift and scale vectors (sentence, width)."""
        if beginning:
            with torch.no_grad():
                spread = vectors.std(0, correction=0)
                self.shift.copy_(-vectors.mean(0))
                sizes = -(spread + _LEAST_SPREAD).log() / _LOG_SCALE
                # constant dimensions are not scaled: the scale would be infinite
                self.size.copy_(torch.where(spread > _LEAST_SPREAD, sizes, torch.zeros_like(sizes)))
        return (vectors + self.shift) * (_LOG_SCALE * self.size).exp()

    def growth(self) -> Tensor:
        """The logarithm of the determinant of its Jacobian."""
        return _LOG_SCALE * self.size.sum()


class Coupling(nn.Module):
    """Additive coupling: shift the second half of the dimensions by a small network of the first half."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.first = nn.Linear(width // 2, inner, bias=False)
        self.second = nn.Linear(inner, inner, bias=False)
        self.last = nn.Linear(inner, width - width // 2)
        self.scalings = nn.ModuleList([Scaling(inner), Scaling(inner)])
        self.size = nn.Parameter(torch.zeros(width - width // 2))
        for layer in (self.first, self.second):
            nn.init.normal_(layer.weight, std=0.05)
        nn.init.zeros_(self.last.weight)  # starts as the identity
        nn.init.zeros_(self.last.bias)

    def forward(self, vectors: Tensor, beginning: bool = False) -> Tensor:
        """Shift half of the dimensions of vectors (sentence, width)."""
        half = self.first.in_features
        kept, moved = vectors[:, :half], vectors[:, half:]
        inner = self.scalings[0](self.first(kept), beginning).relu()
        inner = self.scalings[1](self.second(inner), beginning).relu()
        return torch.cat([kept, moved + self.last(inner) * (_LOG_SCALE * self.size).exp()], dim=1)


class Flow(nn.Module):
    """A normalising flow: invertible steps that map vectors (sentence, width) to a normal distribution.

    The flow of BERT-flow (Li and others 2020): levels of steps, each a scaling, a reversal of the dimensions and an
    additive coupling; after every level but the last, half of the dimensions is final.
    """

    def __init__(self, width: int, levels: int = 3, steps: int = 3, inner: int = 32) -> None:
        super().__init__()
        self.width, self.levels, self.steps, self.inner = width, levels, steps, inner
        widths = [width // 2**level for level in range(levels)]
        self.scalings = nn.ModuleList(Scaling(one) for one in widths for _ in range(steps))
        self.couplings = nn.ModuleList(Coupling(one, inner) for one in widths for _ in range(steps))

    def forward(self, vectors: Tensor, beginning: bool = False) -> Tensor:
        """Map vectors to the normal distribution; `beginning` initialises every scaling with these vectors."""
        done = []
        for level in range(self.levels):
            for place in range(level * self.steps, (level + 1) * self.steps):
                vectors = self.couplings[place](self.scalings[place](vectors, beginning).flip(1), beginning)
            if level < self.levels - 1:
                half = vectors.shape[1] // 2
                done.append(vectors[:, half:])
                vectors = vectors[:, :half]
        return torch.cat([*done, vectors], dim=1)

    def growth(self) -> Tensor:
        """The logarithm of the determinant of its Jacobian; constant, since couplings have determinant 1."""
        return torch.stack([cast(Scaling, one).growth() for one in self.scalings]).sum()

    def surprise(self, mapped: Tensor) -> Tensor:
        """The mean negative log-likelihood of mapped vectors, in bits per dimension; lower is better."""
        likely = -0.5 * (mapped.square() + math.log(2 * math.pi)).sum(1)
        bits: Tensor = -(self.growth() + likely.mean()) / (self.width * math.log(2))
        return bits


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

    @property
    def takes(self) -> int:
        """The width of the flow."""
        return self.flow.width

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
