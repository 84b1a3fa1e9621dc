"""Predict classes as SentEval does, by its neural network with a weight decay chosen on dev rows.

The set decides the protocol: nested ten folds without a test split, ten folds over train with one, a fixed split if
there is a dev split too. SentEval rounds mean accuracies to two decimals before it compares them, which decides ties.

Several values of the weight decay are trained at once, with SentEval's rule for stopping. The networks of one training
have the same first weights and the same batches, as in SentEval, which sets the seed before each of them; so their
first layers are one matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from explorer.data.labelled.labelled_sets import FOLDS
from explorer.evaluating.probes import Classes, Features, ProbeData, Rows, folds
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    import torch
    from torch import Tensor

DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)
FOLD_SEED = 1111  # of nested folds, whatever the seed of the run
VALIDATION = 0.05  # share of the rows that the last fit holds out to stop on
STAGE = "SentEval's classifier"
AT_ONCE = 8192  # rows of a prediction


def predictions(data: ProbeData, seed: int, network: Network | None = None) -> Work[Classes]:
    """The predicted class of every scored row; the seed draws weights, batches and, with a test split, folds."""
    if data.test is None:
        found, total = np.empty(len(data.train), dtype=np.intp), FOLDS * (FOLDS + 1)
        for fold, (inner, held) in enumerate(folds(data.train.y, FOLD_SEED)):
            rows, done = data.train.at(inner), fold * (FOLDS + 1)
            decay = yield from _chosen(rows, data.classes, seed, FOLD_SEED, network, done, total)
            model = yield from _fitted_with_holdout(
                rows, data.classes, decay, seed, network, Progress(STAGE, done + FOLDS, total)
            )
            found[held] = model.predict(data.train.x[held])
        return found
    if data.dev is None:
        decay = yield from _chosen(data.train, data.classes, seed, seed, network, 0, FOLDS + 1)
        model = yield from _fitted_with_holdout(
            data.train, data.classes, decay, seed, network, Progress(STAGE, FOLDS, FOLDS + 1)
        )
        return model.predict(data.test.x)
    stage = Progress(STAGE, 0, 1)
    models = yield from trained(data.train, data.dev, data.classes, DECAYS, seed, stage, network=network)
    # SentEval trains the best one again with the same seed, which gives the same network
    return models[_best([model.accuracy for model in models])].predict(data.test.x)


def fits(has_test: bool, has_dev: bool) -> int:
    """How many trainings of four networks there are for one layer & pooling and one seed; a refit counts as one."""
    if not has_test:
        return FOLDS * (FOLDS + 1)
    return 1 if has_dev else FOLDS + 1


def _chosen(
    rows: Rows, classes: int, seed: int, fold_seed: int, network: Network | None, done: int, total: int
) -> Work[float]:
    """The weight decay with the best mean accuracy over folds."""
    shares = []
    for fold, (inner, held) in enumerate(folds(rows.y, fold_seed)):
        stage = Progress(STAGE, done + fold, total)
        models = yield from trained(rows.at(inner), rows.at(held), classes, DECAYS, seed, stage, network=network)
        shares.append([model.accuracy for model in models])
    return DECAYS[_best(np.mean(shares, axis=0))]


def _fitted_with_holdout(
    rows: Rows, classes: int, decay: float, seed: int, network: Network | None, stage: Progress
) -> Work[TrainedNetwork]:
    """A network of all rows, less a share that is held out to stop on."""
    order = np.random.RandomState(seed)
    places, held = order.permutation(len(rows)), int(VALIDATION * len(rows))
    (model,) = yield from trained(
        rows.at(places[held:]), rows.at(places[:held]), classes, (decay,), seed, stage, order, network
    )
    return model


def _best(shares: list[float] | np.ndarray) -> int:
    return int(np.argmax([round(100 * float(share), 2) for share in shares]))


@dataclass(frozen=True)
class Network:
    """SentEval's settings: one hidden layer with a sigmoid, no dropout; one evaluation each `epoch_size` passes."""

    hidden: int = 50
    rate: float = 1e-3
    batch: int = 64
    tenacity: int = 5
    epoch_size: int = 4
    max_epoch: int = 200


class TrainedNetwork:
    """A network as it was at its best evaluation; its training stops after some evaluations without an improvement.

    These are counted, and the count is never reset.
    """

    def __init__(self, tenacity: int) -> None:
        self.weights: tuple[Tensor, ...] = ()  # (hidden, width), (hidden), (class, hidden), (class)
        self.accuracy = -1.0  # on the dev rows, 0 to 1
        self.evaluations = 0
        self.stopped = False
        self._left = tenacity

    def improved(self, accuracy: float) -> bool:
        """Take an accuracy into account, and return whether it is the best so far."""
        self.evaluations += 1
        if accuracy > self.accuracy:
            self.accuracy = accuracy
            return True
        self.stopped = self._left <= 0
        self._left -= 1
        return False

    def predict(self, x: Features) -> Classes:
        """The class of each row."""
        import torch

        stacked = [weight[None] for weight in self.weights]
        parts = [torch.from_numpy(x[start : start + AT_ONCE]) for start in range(0, len(x), AT_ONCE)]
        with torch.inference_mode():
            found = [logits(stacked, part)[0].argmax(1).numpy() for part in parts]
        return np.concatenate(found)


def trained(
    rows: Rows,
    dev: Rows,
    classes: int,
    decays: Sequence[float],
    seed: int,
    stage: Progress,
    order: np.random.RandomState | None = None,
    network: Network | None = None,
) -> Work[list[TrainedNetwork]]:
    """One network for each weight decay; `stage` is yielded after each evaluation.

    `order` draws the order of the rows, and continues where a split of the rows was drawn from it.
    """
    import torch

    network = network or Network()
    order = order or np.random.RandomState(seed)
    x, dev_x = torch.from_numpy(rows.x), torch.from_numpy(dev.x)
    targets = torch.nn.functional.one_hot(torch.from_numpy(rows.y).long(), classes).to(x.dtype)
    weights = first_weights(rows.x.shape[1], classes, len(decays), seed, network, x.dtype)
    group = _Group(weights, torch.tensor(decays, dtype=x.dtype), network.rate)
    active, passes = list(range(len(decays))), 0
    found = [TrainedNetwork(network.tenacity) for _ in decays]
    while active and passes <= network.max_epoch:
        for _ in range(network.epoch_size):
            drawn = torch.from_numpy(order.permutation(len(rows)))
            for places in torch.split(drawn, network.batch):
                group.update(x.index_select(0, places), targets.index_select(0, places))
        passes += network.epoch_size
        for place, share in enumerate(_accuracies(group.weights, dev_x, dev.y)):
            if found[active[place]].improved(share):
                found[active[place]].weights = tuple(weight[place].clone() for weight in group.weights)
        stay = [place for place, which in enumerate(active) if not found[which].stopped]
        if len(stay) < len(active):
            active = [active[place] for place in stay]
            group = group.only(stay)
        yield stage
    return found


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
            found.append(drawn.repeat(count, *(1 for _ in shape)))
    return found


def logits(weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """The outputs (network, row, class)."""
    return _outputs(weights, _hidden(weights, x))


def _hidden(weights: Sequence[Tensor], x: Tensor) -> Tensor:
    """The hidden layers (row, network · hidden): one matrix product for all networks."""
    first, bias, _, _ = weights
    return bias.flatten().addmm(x, first.flatten(0, 1).t()).sigmoid_()


def _outputs(weights: Sequence[Tensor], hidden: Tensor) -> Tensor:
    _, _, second, bias = weights
    return bias[:, None].baddbmm(_by_network(weights, hidden), second.transpose(1, 2))


def _by_network(weights: Sequence[Tensor], hidden: Tensor) -> Tensor:
    """The hidden layers as (network, row, hidden)."""
    return hidden.view(len(hidden), *weights[1].shape).transpose(0, 1)


class _Group:
    """The networks that are still trained, with what Adam knows of them.

    All weights are one vector, as are gradients and moments, and the gradients are computed by hand and in place: with
    tensors of their own for each layer, such small networks take three times as long.
    """

    def __init__(self, weights: Sequence[Tensor], decays: Tensor, rate: float) -> None:
        self._decays, self._rate = decays, rate
        self._flat = _joined(weights)
        self.weights = _split(self._flat, weights)
        self._gradient, self._mean, self._square = (self._flat.new_zeros(self._flat.shape) for _ in range(3))
        self._gradients = _split(self._gradient, weights)
        self._decay = _joined([decays.view(-1, *(1 for _ in one.shape[1:])).expand_as(one) for one in weights])
        self._steps = decays.new_zeros(()).float()

    def only(self, stay: list[int]) -> _Group:
        """Some of the networks; the others have stopped."""
        other = _Group([weight[stay] for weight in self.weights], self._decays[stay], self._rate)
        for own, theirs in ((other._mean, self._mean), (other._square, self._square)):
            own.copy_(_joined([part[stay] for part in _split(theirs, self.weights)]))
        other._steps.copy_(self._steps)
        return other

    def update(self, x: Tensor, targets: Tensor) -> None:
        """One step of Adam on the mean cross-entropy of a batch; `targets` (row, class) are 1 or 0."""
        import torch
        from torch.optim.adam import adam

        with torch.no_grad():
            first, first_bias, second, second_bias = self._gradients
            hidden = _hidden(self.weights, x)
            off = _outputs(self.weights, hidden).softmax(2).sub_(targets).div_(len(x))  # the gradient of the outputs
            torch.bmm(off.transpose(1, 2), _by_network(self.weights, hidden), out=second)
            torch.sum(off, 1, out=second_bias)
            inner = torch.bmm(off, self.weights[2]).transpose(0, 1).reshape(hidden.shape)
            inner *= torch.addcmul(hidden, hidden, hidden, value=-1)
            torch.mm(inner.t(), x, out=first.flatten(0, 1))
            torch.sum(inner, 0, out=first_bias.flatten())
            self._gradient.addcmul_(self._flat, self._decay)  # weight decay as in Adam, not AdamW
            adam(
                [self._flat],
                [self._gradient],
                [self._mean],
                [self._square],
                [],
                [self._steps],
                fused=True,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=self._rate,
                weight_decay=0.0,
                eps=1e-8,
                maximize=False,
            )


def _joined(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors as one vector."""
    import torch

    return torch.cat([one.flatten() for one in tensors])


def _split(flat: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Parts of a vector in the shapes of some tensors; they share its memory."""
    import torch

    parts = torch.split(flat, [one.numel() for one in like])
    return [part.view(one.shape) for part, one in zip(parts, like, strict=True)]


def _accuracies(weights: Sequence[Tensor], x: Tensor, y: Classes) -> list[float]:
    """The share of right predictions of each network."""
    import torch

    with torch.inference_mode():
        guesses = logits(weights, x).argmax(2).numpy()
    return [float(share) for share in (guesses == y).mean(axis=1)]
