"""How much a training on a text of one's own takes: rows, passes and updates, its settings, and its seconds."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from explorer import methods
from explorer.measuring.sentences.cut_texts import CutTexts
from explorer.progress import Work
from explorer.studies.plans import own_data
from explorer.studies.plans.own_data import OwnData
from explorer.training.loop.estimate import try_out

FIRST_SEEDS = 3  # seeds before other numbers of rows are tried
BATCH, STEPS = 16, 150  # of a text that is not small: rows, and at least so many updates
EVALUATIONS = 10
BLEND = {"blend": 0.0}  # the share of the tuned weights is chosen by the dev set, or by the folds
LEAST_ROWS = 64  # of a large text that a training is proposed for: four batches
LEAST_STEPS = 20
SHARES = (1, 2, 4, 8, 16, 32, 64, 128)  # by which a plan is smaller than one of all rows: half as long, a quarter, …
OF_SEVERAL = 3  # how many of these shares, the first ones, leave time for several seeds, and are taken of a small text


@dataclass(frozen=True)
class Amount:
    """How much a training takes of what one on all rows would take: its rows, and its share of the updates."""

    rows: int = 0
    epochs: int = 1  # passes over the rows; of a small text its updates count, whatever the passes
    share: float = 1.0


@dataclass(frozen=True)
class TrainingCost:
    """Seconds of loading and evaluating for one training on all rows, and of a step, and how many steps it has."""

    fixed: float = 0.0
    step: float = 0.0
    steps: float = 0.0  # in all folds
    in_a_row: float = 1.0  # what the method trains on in a row of the text: two sentences of a scored pair
    cut: CutTexts | None = None  # texts that are longer than it reads

    def own(self, rows: int) -> int:
        """How many of the method's own rows so many of the text are."""
        return round(rows * self.in_a_row)

    def seconds(self, amount: Amount) -> float:
        """Seconds of a training."""
        return self.fixed + self.step * self.steps * amount.share


def is_large(data: OwnData) -> bool:
    """Whether a text is read in passes; a small one is trained for the updates that its rows were measured with."""
    return data.rows > own_data.MOST_FOLDED


def cost(data: OwnData, method: str, model: str, max_length: int | None = None) -> Work[TrainingCost]:
    """What a training on all rows takes, from one step of it; the base is scored once for several of them."""
    started = loaded = time.monotonic()
    whole = amounts(data)[0]
    given = own_data.recipe(data, method, model, settings(data, method, whole, max_length))
    work = try_out(replace(given, seeds=tuple(range(1, FIRST_SEEDS + 1))))
    while True:
        try:
            progress = next(work)
        except StopIteration as end:
            found = end.value
            evaluations = (found.seconds - found.step_seconds * found.steps) / FIRST_SEEDS
            steps = found.steps / FIRST_SEEDS
            in_a_row = steps / _steps(whole) if is_large(data) else 1.0
            return TrainingCost(loaded - started + evaluations, found.step_seconds, steps, in_a_row, found.cut)
        loaded = time.monotonic()  # the last report comes before the first step
        yield progress


def amounts(data: OwnData) -> list[Amount]:
    """How much is trained, the most first: of a small text fewer updates, else fewer passes before fewer rows."""
    if not is_large(data):
        return [Amount(data.rows, share=1 / share) for share in SHARES[:OF_SEVERAL]]
    whole = Amount(data.rows, _epochs(data.rows))
    read = data.rows * whole.epochs
    found = (Amount(min(data.rows, read // share), max(1, read // share // data.rows)) for share in SHARES)
    return [replace(one, share=_steps(one) / _steps(whole)) for one in found if one.rows >= LEAST_ROWS]


def settings(
    data: OwnData, method: str, amount: Amount, max_length: int | None = None
) -> dict[str, bool | int | float | str]:
    """The settings of a training of such an amount; without a `max_length` it reads the method's number of tokens."""
    kind = methods.load(method)
    blend = {} if kind.predicts() else BLEND  # a class layer is of one encoder
    if is_large(data):
        steps = _steps(amount)
        values: dict[str, bool | int | float | str] = {"batch_size": BATCH, "epochs": amount.epochs}
    else:
        few = methods.few_rows(kind, data.rows)
        whole = few.get("steps") or kind.schedule.with_values(few).updates(kind.items({}, data.rows))
        steps = max(LEAST_STEPS, round(int(whole) * amount.share))
        values = {**few, "steps": steps}
    length = {"max_length": max_length} if max_length and "max_length" in kind.knobs else {}
    return {**values, "evaluate_every": max(1, steps // EVALUATIONS), **blend, **length}


def _epochs(rows: int) -> int:
    """Passes over few rows, for about as many steps as one over many."""
    return max(1, -(-STEPS * BATCH // rows))


def _steps(amount: Amount) -> int:
    return amount.epochs * max(1, amount.rows // BATCH)
