"""Train SentEval's neural network, several values of the weight decay at once, with SentEval's rule for stopping.

The networks of one training have the same first weights and the same batches, as in SentEval, which sets the seed
before each of them; so their first layers are one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.evaluating.probes.probe_data import Classes, Features, Rows
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from torch.optim import Adam

AT_ONCE = 8192  # rows of a prediction


@dataclass(frozen=True)
class Network:
    """SentEval's settings: one hidden layer with a sigmoid, no dropout; one evaluation each `epoch_size` passes."""

    hidden: int = 50
    rate: float = 1e-3
    batch: int = 64
    tenacity: int = 5
    epoch_size: int = 4
    max_epoch: int = 200


@dataclass(frozen=True, eq=False)
class Trained:
    """The network of the best evaluation."""

    weights: tuple[Tensor, ...]  # (hidden, width), (hidden), (class, hidden), (class)
    accuracy: float  # on the dev rows, 0 to 1
    evaluations: int

    def predict(self, x: Features) -> Classes:
        """The class of each row."""
        import torch

        stacked = [weight[None] for weight in self.weights]
        parts = [torch.from_numpy(x[start : start + AT_ONCE]) for start in range(0, len(x), AT_ONCE)]
        with torch.inference_mode():
            found = [logits(stacked, part)[0].argmax(1).numpy() for part in parts]
        return np.concatenate(found)


class Stopping:
    """When one network stops: evaluations that are no improvement are counted, and the count is never reset."""

    def __init__(self, tenacity: int) -> None:
        self.best = -1.0
        self.evaluations = 0
        self.stopped = False
        self._tenacity = tenacity
        self._worse = 0

    def improved(self, accuracy: float) -> bool:
        """Take an accuracy into account, and return whether it is the best so far."""
        self.evaluations += 1
        if accuracy > self.best:
            self.best = accuracy
            return True
        self.stopped = self._worse >= self._tenacity
        self._worse += 1
        return False


def trained(
    rows: Rows,
    dev: Rows,
    classes: int,
    decays: Sequence[float],
    seed: int,
    told: Progress,
    order: np.random.RandomState | None = None,
    network: Network | None = None,
) -> Work[list[Trained]]:
    """One network for each weight decay; `told` is yielded after each evaluation.

    `order` draws the order of the rows, and continues where a split of the rows was drawn from it.
    """
    import torch

    network = network or Network()
    order = order or np.random.RandomState(seed)
    x, y, dev_x = torch.from_numpy(rows.x), torch.from_numpy(rows.y), torch.from_numpy(dev.x)
    weights = first_weights(rows.x.shape[1], classes, len(decays), seed, network, x.dtype)
    optimizer = torch.optim.Adam(weights, lr=network.rate, fused=True)
    active, passes = list(range(len(decays))), 0
    rules = [Stopping(network.tenacity) for _ in decays]
    best: list[tuple[Tensor, ...]] = [()] * len(decays)
    while active and passes <= network.max_epoch:
        shrink = torch.tensor([decays[which] for which in active], dtype=x.dtype)
        for _ in range(network.epoch_size):
            _one_pass(weights, optimizer, shrink, x, y, torch.from_numpy(order.permutation(len(rows))), network.batch)
        passes += network.epoch_size
        for place, share in enumerate(_accuracies(weights, dev_x, dev.y)):
            if rules[active[place]].improved(share):
                best[active[place]] = tuple(weight.detach()[place].clone() for weight in weights)
        stay = [place for place, which in enumerate(active) if not rules[which].stopped]
        if len(stay) < len(active):
            active = [active[place] for place in stay]
            _keep(weights, optimizer, stay)
        yield told
    return [Trained(kept, rule.best, rule.evaluations) for kept, rule in zip(best, rules, strict=True)]


def first_weights(
    width: int, classes: int, count: int, seed: int, network: Network, dtype: torch.dtype | None = None
) -> list[Tensor]:
    """The weights that two `nn.Linear` have after `torch.manual_seed`, for each of `count` networks.

    They are drawn from a generator of their own: the global one may be in use by a training in another thread.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    found = []
    for inputs, outputs in ((width, network.hidden), (network.hidden, classes)):
        for shape in ((outputs, inputs), (outputs,)):
            drawn = torch.empty(shape).uniform_(-(inputs**-0.5), inputs**-0.5, generator=generator).to(dtype)
            found.append(drawn.repeat(count, *(1 for _ in shape)).requires_grad_())
    return found


def logits(weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """The outputs (network, row, class)."""
    return _outputs(weights, _hidden(weights, x))


def _hidden(weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """The hidden layers (row, network · hidden): one matrix product for all networks."""
    import torch

    first, bias, _, _ = weights
    return torch.nn.functional.linear(x, first.flatten(0, 1), bias.flatten()).sigmoid()


def _outputs(weights: Sequence[Tensor], hidden: Tensor) -> Tensor:
    import torch

    _, _, second, bias = weights
    return torch.baddbmm(bias[:, None], _by_network(weights, hidden), second.transpose(1, 2))


def _by_network(weights: Sequence[Tensor], hidden: Tensor) -> Tensor:
    """The same as (network, row, hidden)."""
    return hidden.view(len(hidden), *weights[1].shape).transpose(0, 1)


def _one_pass(
    weights: list[Tensor], optimizer: Adam, shrink: Tensor, x: Tensor, y: Tensor, order: Tensor, batch: int
) -> None:
    import torch

    shrinks = [shrink.view(-1, *(1 for _ in weight.shape[1:])) for weight in weights]
    with torch.no_grad():
        for places in torch.split(order, batch):
            for weight, gradient, decay in zip(
                weights, _gradients(weights, x[places], y[places]), shrinks, strict=True
            ):
                # coupled weight decay, one for each network
                weight.grad = gradient.addcmul_(weight, decay)
            optimizer.step()


def _gradients(weights: Sequence[Tensor], x: Tensor, y: Tensor) -> list[Tensor]:
    """The gradients of each network's mean cross-entropy.

    By hand, since torch's graph costs much beside the arithmetic of such small networks: a step takes about three
    quarters of the time that it takes with autograd.
    """
    import torch

    first, first_bias, second, second_bias = weights
    hidden = _hidden(weights, x)
    off = _outputs(weights, hidden).softmax(2)  # becomes the gradient of the outputs
    off[:, torch.arange(len(x)), y] -= 1
    off /= len(x)
    inner = torch.bmm(off, second).transpose(0, 1).reshape(hidden.shape)
    inner *= hidden * (1 - hidden)
    return [
        torch.mm(inner.t(), x).view_as(first),
        inner.sum(0).view_as(first_bias),
        torch.bmm(off.transpose(1, 2), _by_network(weights, hidden)),
        off.sum(1).view_as(second_bias),
    ]


def _accuracies(weights: list[Tensor], x: Tensor, y: Classes) -> list[float]:
    """The share of right predictions of each network."""
    import torch

    with torch.inference_mode():
        guesses: NDArray[np.intp] = logits(weights, x).argmax(2).numpy()
    return [float(share) for share in (guesses == y).mean(axis=1)]


def _keep(weights: list[Tensor], optimizer: Adam, stay: list[int]) -> None:
    """Drop the networks that have stopped, with what Adam knows of them."""
    for weight in weights:
        weight.grad = None
        weight.data = weight.data[stay]
        state = optimizer.state[weight]
        for moment in ("exp_avg", "exp_avg_sq"):
            state[moment] = state[moment][stay]
