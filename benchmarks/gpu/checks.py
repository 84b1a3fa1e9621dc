"""Check what a GPU computes against the processor, and count how often the program waits for it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.gpu.models import SEED, encoder, every_need, learner, small, trained_methods
from benchmarks.gpu.parts import Row, Setting
from benchmarks.gpu.steps import captures, said

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.training.loop.learner import Learner

BATCH, ROWS = 8, 32
STEPS = 3
WARM = 4  # steps that prepare what later ones reuse; then the passes of a batch are captured
TRIES = 3  # of a method that draws its texts anew, whose passes may have another shape
# Of the largest differences that float32 explains. A GPU sums in another order than a processor: a sum of n products
# differs by about √n units of roundoff (6e-8), 3e-6 for BERT's 3,072, in every layer; a temperature of 0.05 to 0.01
# multiplies the error of a cosine by 20 to 100. AdamW divides a gradient by its size, so that later steps differ more.
LOSS, GRADIENT, LATER = 1e-4, 1e-3, 1e-3
# A loss near 0 is a difference of cosines by the temperature: float32 rounds a cosine of 1 by 0.01 to 8e-6.
LEAST = 1e-5


def like_the_cpu(setting: Setting) -> Iterator[Row]:
    """Loss, gradient and the losses of some steps of every method on both devices, without dropout."""
    found = small(setting)
    sides = [encoder(setting, found, device=device) for device in ("cpu", setting.device)]
    yield Row(
        "tolerance",
        f"loss {LOSS:g}, gradient {GRADIENT:g} (Euclidean norm), losses of {STEPS} steps {LATER:g}, all relative, and "
        f"0 below {LEAST:g}: "
        "float32 sums of 3,072 products in another order differ by 3e-6, and a temperature multiplies that by 100",
    )
    with every_need(setting):
        for name in trained_methods():
            expected, seen = (_numbers(learner(setting, of, name, ROWS, batch_size=BATCH)) for of in sides)
            apart = [_apart(one, other) for one, other in zip(seen, expected, strict=True)]
            told = "loss {:.1e}, gradient {:.1e}, steps {:.1e}".format(*apart)
            yield Row(name, told, all(map(float.__le__, apart, (LOSS, GRADIENT, LATER))))


def _numbers(of: Learner) -> tuple[Tensor, Tensor, Tensor]:
    """The loss and the gradient of the first batch, and the losses of some steps, all without dropout."""
    import torch

    from explorer.methods import sow

    of.method.eval()  # each device draws its own dropout; all else is drawn on the processor
    sow(SEED)
    loss = of.gradients(of.feed.batch(0))
    gradient = torch.cat([weight.grad.flatten().double().cpu() for weight in of.names if weight.grad is not None])
    of.optimizer.zero_grad()
    for _ in range(STEPS):
        of.update()
    return loss.double().cpu(), gradient, torch.tensor([update.loss for update in of.fetch()], dtype=torch.float64)


def _apart(one: Tensor, other: Tensor) -> float:
    """The distance of two, by the length of the second; 0 if rounding explains it."""
    distance = float((one - other).norm())
    return 0.0 if distance <= LEAST else distance / float(other.norm())


def synchronisations(setting: Setting) -> Iterator[Row]:
    """How often each method makes the program wait for the GPU in a step: never; and how often a fetch does: once.

    The steps are made on one batch, so that its passes are captured before, where they can be.
    """
    of = encoder(setting, small(setting))
    made = None
    with captures(setting), every_need(setting):
        for name in trained_methods():
            made = learner(setting, of, name, ROWS, batch_size=BATCH)
            _steps_on_one_batch(made, WARM)
            for _ in range(TRIES):
                before = made.captured.count
                with waits(setting.device) as found:
                    _steps_on_one_batch(made, STEPS)
                if made.captured.count == before:
                    break
            where = f" ({', '.join(dict.fromkeys(found))})" if found else ""
            told = f"{len(found) / STEPS:.3g} per step{where}, {made.captured.count} captured passes{said(made)}"
            yield Row(name, told, not found)
    if made:
        with waits(setting.device) as found:
            steps = len(made.fetch())
        yield Row(f"fetch of {steps} steps", f"{len(found)}", len(found) <= 1)


def _steps_on_one_batch(of: Learner, steps: int) -> None:
    for _ in range(steps):
        of.step = 0
        of.update()


@contextmanager
def waits(device: str) -> Iterator[list[str]]:
    """The places that make the program wait, filled in afterwards: by torch on a GPU, by operators on a processor."""
    import torch

    from tests.waits import Waits

    found: list[str] = []
    if device == "cpu":
        with Waits() as counted:
            yield found
        found += counted.found
        return
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode("default")
    # not the one that says that this mode is a prototype
    found += [f"{Path(one.filename).name}:{one.lineno}" for one in heard if "called a synchron" in str(one.message)]
