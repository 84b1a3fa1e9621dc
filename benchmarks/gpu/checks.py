"""Check what a GPU computes against the processor, and count how often the program waits for it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.gpu.models import SEED, encoder, every_need, learner, small, trained_methods
from benchmarks.gpu.parts import Row, Setting

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.training.loop.learner import Learner

BATCH, ROWS = 8, 32
STEPS = 3
WARM = 2  # the first steps prepare what later ones reuse
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
    """How often each method makes the program wait for the GPU in a step: never; and how often a fetch does: once."""
    of = encoder(setting, small(setting))
    made = None
    with every_need(setting):
        for name in trained_methods():
            made = learner(setting, of, name, ROWS, batch_size=BATCH)
            for _ in range(WARM):
                made.update()
            with waits(setting.device) as found:
                for _ in range(STEPS):
                    made.update()
            where = f" ({', '.join(dict.fromkeys(found))})" if found else ""
            yield Row(name, f"{len(found) / STEPS:.3g} per step{where}", not found)
    if made:
        with waits(setting.device) as found:
            made.fetch()
        yield Row(f"fetch of {WARM + STEPS} steps", f"{len(found)}", len(found) <= 1)


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
