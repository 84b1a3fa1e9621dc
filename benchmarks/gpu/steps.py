"""Measure training steps with captured passes, without them, and by sentence-transformers, on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from statistics import median
from typing import TYPE_CHECKING
from unittest import mock

from benchmarks.gpu.models import encoder, learner, shaped
from benchmarks.gpu.parts import Row, Setting
from benchmarks.timing import interleaved, ratio
from explorer.encoding.tune import captured_passes
from explorer.encoding.tune.captured_passes import CapturedPasses

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer
    from torch import nn

    from explorer.encoding.read.encoder import Encoder
    from explorer.training.loop.learner import Learner

SHAPES = ("MiniLM", "BERT-base")
PRECISIONS = ("float32", "bfloat16")
LOSSES = {
    "simcse": "MultipleNegativesRankingLoss",
    "contrast": "MultipleNegativesRankingLoss",
    "cosent": "CoSENTLoss",
    "sg-opt": "",  # sentence-transformers has none
}
ROWS, LENGTH = (16, 64), 32
BATCHES = 4  # of different rows, again and again
STEPS, ROUNDS = 4, 2  # steps of a round, and rounds
FASTER, THAN_THEIRS = 3, 5  # times as many steps as without captured passes, and as sentence-transformers
NEVER = 10**9  # passes of a shape before it is captured
COMPARED = 50  # steps whose losses and weights are compared
APART = 1e-5  # of these, as a share of their length


def against_sentence_transformers(setting: Setting) -> Iterator[Row]:
    """Seconds of a step of each method, and whether captured passes learn the same."""
    with captures(setting):
        for shape in ("tiny",) if setting.dry else SHAPES:
            model = shaped(setting, shape)
            of = encoder(setting, model)
            for precision in PRECISIONS:
                for method, loss in LOSSES.items():
                    for rows in (8,) if setting.dry else ROWS:
                        yield _timed(setting, f"{shape}, {precision}", of, method, rows, loss)
            if shape != "BERT-base":
                yield from (_same(setting, shape, of, method) for method in LOSSES)


@contextmanager
def captures(setting: Setting) -> Iterator[None]:
    """In miniature a processor captures, too, by what stands in for a GPU in tests."""
    from tests.captured_operators import CapturedOperators

    with mock.patch.dict(captured_passes.CAPTURES, {"cpu": CapturedOperators} if setting.dry else {}):
        yield


def _timed(setting: Setting, what: str, of: Encoder, method: str, rows: int, loss: str) -> Row:
    """Seconds of a step, in turn."""
    precision = what.partition(", ")[2]
    made = learner(setting, of, method, rows * BATCHES, precision, batch_size=rows, max_length=LENGTH)
    steps, captured = 1 if setting.dry else STEPS, made.captured

    def ours(passes: CapturedPasses) -> Callable[[], None]:
        def some() -> None:
            made.captured = passes
            for _ in range(steps):
                made.update()
            _wait(setting)

        return some

    things = {"with": ours(captured), "without": ours(CapturedPasses((), setting.device))}
    if loss:
        things["theirs"] = _theirs(setting, str(shaped(setting, what.partition(",")[0]).folder), made, loss, steps)
    for _ in range(3):  # until passes of every width are captured
        things["with"]()
    seconds = interleaved(things, 1 if setting.dry else ROUNDS)
    each = {name: 1000 * median(times) / steps for name, times in seconds.items()}
    found = (
        f"{each['with']:.1f} ms; without {each['without']:.1f} ms, {ratio(seconds['without'], seconds['with']):.1f} "
    )
    found += f"times (goal {FASTER})"
    if loss:
        theirs = ratio(seconds["theirs"], seconds["with"])
        found += f"; sentence-transformers {each['theirs']:.1f} ms, {theirs:.1f} times (goal {THAN_THEIRS})"
    return Row(f"{what}: {method}, {rows} rows", found + said(made))


def said(made: Learner) -> str:
    """What a learner says of its passes that are not captured."""
    news = [one for one in made.captured.news() if one.startswith(captured_passes.NOT_CAPTURED.partition("{")[0])]
    return f"; {'; '.join(news)}" if news else ""


def _theirs(setting: Setting, folder: str, made: Learner, loss: str, steps: int) -> Callable[[], None]:
    """Steps of sentence-transformers on the same rows: AdamW, clipping and autocast as its trainer has them."""
    import torch

    model, of_rows, optimizer = _peer(folder, setting.device, loss)
    narrow = made.world.precision == "bfloat16"

    def some() -> None:
        for number in range(steps):
            columns = made.feed.batch(number)
            texts = [column for column in columns if isinstance(column[0], str)] * (1 + (len(columns) == 1))
            labels = torch.tensor(columns[-1] if len(columns) == 3 else range(len(texts[0])), device=setting.device)
            sides = [_on(setting, model.preprocess(list(column))) for column in texts]
            with torch.autocast(setting.device, torch.bfloat16, enabled=narrow):
                value = of_rows(sides, labels)
            value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        _wait(setting)

    return some


@cache
def _peer(folder: str, device: str, loss: str) -> tuple[SentenceTransformer, nn.Module, torch.optim.Optimizer]:
    """A model of sentence-transformers in training, a loss and an optimiser; loaded once for all rows."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import losses

    model: SentenceTransformer = SentenceTransformer(folder, device=device)
    model.max_seq_length = LENGTH
    model.train()
    return model, getattr(losses, loss)(model), torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)


def _on(setting: Setting, features: dict) -> dict:
    """What a model is given, on its device."""
    return {name: one.to(setting.device) if hasattr(one, "to") else one for name, one in features.items()}


def _same(setting: Setting, shape: str, of: Encoder, method: str) -> Row:
    """Whether steps without dropout have the same losses and weights with captured passes and without."""
    import torch

    steps = 4 if setting.dry else COMPARED
    captured, plain = made = [learner(setting, of, method, 64, batch_size=16, max_length=LENGTH) for _ in range(2)]
    for each in made:
        torch.manual_seed(1)
        each.method.eval()
        with mock.patch.object(captured_passes, "SEEN", NEVER if each is plain else captured_passes.SEEN):
            for _ in range(steps):
                each.update()
    losses = [torch.tensor([update.loss for update in each.fetch()]) for each in made]
    weights = [torch.cat([weight.detach().flatten() for weight in each.names]) for each in (captured, plain)]
    apart = [float((one - other).norm() / other.norm()) for one, other in (losses, weights)]
    told = (
        f"{steps} steps apart by {apart[0]:.1e} in their losses and {apart[1]:.1e} in their weights (at most {APART:g})"
    )
    return Row(f"{shape}, float32: {method}, captured or not", told, max(apart) <= APART)


def _wait(setting: Setting) -> None:
    """Wait until the GPU has done all that was asked of it."""
    import torch

    if setting.device == "cuda":
        torch.cuda.synchronize()
