"""Start, stop and resume whole runs on a GPU: memory that is returned, batches that do not fit, equal results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from benchmarks.gpu.models import corpus, encoder, learner, long_texts, miniature, small
from benchmarks.gpu.parts import Row, Setting
from explorer.data import sample
from explorer.data.text_sets import SENTENCES
from explorer.errors import RunTooLarge
from explorer.progress import Progress, finish

if TYPE_CHECKING:
    from explorer.training.record.runs import Run

CYCLES = 5
LEFT, GROWTH = 128 * 2**20, 8 * 2**20  # bytes: torch keeps a workspace for matrix products after the first run
TRIES = 4
PLENTY = 4096  # rows of 250 tokens, the most that can be chosen: they take about 400 GB


def memory(setting: Setting) -> Iterator[Row]:
    """Memory of the GPU after each of five runs: as after the first, and little."""
    before, held = _held(setting.device), []
    for number in range(CYCLES):
        run = _run(setting, f"cycle-{number}", "simcse", steps=50, batch_size=8)
        _train(run, stop_at=2)
        run.delete()
        held.append(_held(setting.device) - before)
    told = ", ".join(f"{size / 2**20:.0f}" for size in held)
    good = max(held[1:]) <= held[0] + GROWTH and held[0] <= LEFT
    # a processor's memory is the process's, which has other reasons to grow
    yield Row(f"MiB above the start, after each of {CYCLES} runs", told, good if setting.device == "cuda" else None)


def _held(device: str) -> int:
    """Bytes that torch has reserved on the GPU, or those of the process."""
    import psutil
    import torch

    return torch.cuda.memory_reserved() if device == "cuda" else psutil.Process().memory_info().rss


def too_large(setting: Setting) -> Iterator[Row]:
    """Refuse a batch before it is tried, and follow the error until one fits; then run out of memory in a run."""
    from explorer.fair_share import give_back
    from explorer.training.loop.estimate import estimate, ran_out

    of = encoder(setting, small(setting))
    rows = corpus(SENTENCES, 64 if setting.dry else PLENTY, long=True)
    batch, tried = len(rows), []
    with _little_room() if setting.dry else nullcontext():
        for _ in range(TRIES):
            tried.append(batch)
            made = learner(setting, of, "simcse", rows, batch_size=batch, max_length=of.max_length)
            try:
                fits = estimate(made, Path(setting.folder)).words
            except (RunTooLarge, RuntimeError) as error:
                told = error if isinstance(error, RunTooLarge) else ran_out(error, batch)
                if told is None:
                    raise
                yield Row(f"a batch of {batch:,}", str(told), _named(told) > 0)
                batch = _named(told)
            else:
                break
            finally:
                del made
                give_back()
            if not batch:
                break
        else:
            fits = ""
        if not batch or not fits or len(tried) == 1:
            yield Row("a batch that fits", f"none after {', '.join(map(str, tried))} rows", False)
        else:
            made = learner(setting, of, "simcse", rows, batch_size=batch, max_length=of.max_length)
            for _ in range(2):
                made.update()
            made.record_score(1.0)
            yield Row(f"a batch of {batch:,}", f"2 steps fit; {fits}", len(made.fetch()) == 2)
            del made
    give_back()
    yield _out_of_memory(setting)


def _out_of_memory(setting: Setting) -> Row:
    """What a run says that is estimated to fit, and does not."""
    text = Path(setting.folder) / "long.txt"
    text.write_text("\n".join(long_texts(32 if setting.dry else 512)), encoding="utf-8")
    batch = 16 if setting.dry else 256
    run = _run(setting, "out-of-memory", "simcse", (str(text),), batch_size=batch, max_length=128, steps=20)
    try:
        with _memory_that_runs_out(setting):
            _train(run)
    except RunTooLarge as error:
        return Row("memory runs out in a run", str(error), 0 < _named(error) < batch)
    return Row("memory runs out in a run", "it did not", False)


def _named(error: Exception) -> int:
    """The batch size that an error names; 0 if none."""
    found = re.search(r"batch_size to (\d+)", str(error))
    return int(found[1]) if found else 0


@contextmanager
def _little_room() -> Iterator[None]:
    """A processor of which 10 MB are free."""
    with mock.patch("explorer.encoding.load.hardware.free_memory", return_value=10_000_000):
        yield


def _memory_that_runs_out(setting: Setting) -> AbstractContextManager[object]:
    """Let torch have 4 GiB of the GPU, which the estimate does not know; on a processor, raise torch's error."""
    import torch

    from explorer.training.loop.learner import Learner

    if setting.device != "cuda":
        error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return mock.patch.object(Learner, "gradients", mock.Mock(side_effect=error))

    @contextmanager
    def limited() -> Iterator[None]:
        torch.cuda.set_per_process_memory_fraction(min(1.0, 4 * 2**30 / torch.cuda.mem_get_info()[1]))
        try:
            yield
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)

    return limited()


def resume(setting: Setting) -> Iterator[Row]:
    """Weights and losses of a run that was stopped and resumed, compared with those of an unbroken run."""
    for precision in ("float32",) if setting.dry else ("float32", "bfloat16"):
        with _deterministic():
            whole, broken = (_ended(setting, f"{name}-{precision}", precision) for name in ("whole", "broken"))
            told, good = _difference(whole, broken), _difference(whole, broken) == ""
            if not good:
                again = _difference(whole, _ended(setting, f"whole-again-{precision}", precision))
                told += f"; two unbroken runs: {again or 'equal'}"
        yield Row(f"{precision}, deterministic algorithms", told or "weights and losses equal to the bit", good)
    whole, broken = (_ended(setting, f"{name}-as-it-comes", "float32") for name in ("whole", "broken"))
    yield Row("float32, as it comes", _difference(whole, broken) or "weights and losses equal to the bit")


@contextmanager
def _deterministic() -> Iterator[None]:
    """Have torch use algorithms that give the same sums each time, or raise where there is none."""
    import torch

    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def _ended(setting: Setting, name: str, precision: str) -> Run:
    """A run to its end; one whose name starts with "broken" is stopped and resumed on the way."""
    steps = 3 if setting.dry else 12
    values = {"steps": steps, "evaluate_every": steps // 3, "batch_size": 8}
    if setting.dry:
        values["projection"] = False
    run = _run(setting, name, "sg-opt", precision=precision, **values)
    if name.startswith("broken"):
        _train(run, stop_at=steps // 2)
    _train(run)
    return run


def _difference(one: Run, other: Run) -> str:
    """How the weights and losses of two runs differ; "" if they are equal to the bit."""
    from safetensors.torch import load_file

    from explorer.run_folder import TrainingStep

    weights, others = (load_file(run.model / "model.safetensors") for run in (one, other))
    most = max(float((weights[name].double() - others[name].double()).abs().max()) for name in weights)
    losses, theirs = ([line.loss for line in run.metrics() if isinstance(line, TrainingStep)] for run in (one, other))
    if most == 0 and losses == theirs:
        return ""
    apart = max((abs(a - b) for a, b in zip(losses, theirs, strict=False)), default=0.0)
    return f"weights differ by at most {most:.1e}, losses by {apart:.1e} ({len(losses)} and {len(theirs)} steps)"


def _run(
    setting: Setting,
    name: str,
    method: str,
    data: tuple[str, ...] = (),
    precision: str = "float32",
    **values: object,
) -> Run:
    """A run that waits, on the sample unless other text is given."""
    from explorer.training.recipe import Recipe
    from explorer.training.record import runs

    dev, text = sample.DEV, "sample"
    if setting.dry:
        dev, text = str(miniature(setting).dev), str(miniature(setting).text)
    recipe = Recipe(
        method,
        str(small(setting).folder),
        data or (text,),
        dev=dev,
        test=None,
        settings=values,
        precision=precision,
        device=setting.device,
        elsewhere=(),
    )
    return runs.new(recipe, name, Path(setting.folder) / "runs")


def _train(run: Run, stop_at: int = 0) -> None:
    """Train a run to its end, or until a step."""
    from explorer.training import running
    from explorer.training.record import runs

    def stop(progress: Progress) -> None:
        if stop_at and (progress.stage, progress.done) == ("training", stop_at):
            run.request_stop(runs.KEEP)

    finish(running.train(run), stop)
