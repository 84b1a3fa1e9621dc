"""How is a method trained: how long, how fast, in which steps, and when is it enough?"""

from __future__ import annotations

from explorer.knobs import Knobs, Values, knob

EARLY_STOPS = ("none", "drops", "no new best")
SELECTIONS = ("dev", "held-out triplets", "both")


class Schedule(Knobs):
    """What every method's training can be set to; a method gives its paper's values."""

    steps: int = knob(0, low=0, front=True, help="Updates in all; 0 means as many as the epochs make.")
    epochs: int = knob(1, low=1, high=100, help="Times the data is gone through, where steps are not set.")
    batch_size: int = knob(
        16, low=2, high=4096, front=True, help="Rows an update learns from; each is a negative for the others."
    )
    learning_rate: float = knob(
        5e-5, low=1e-7, high=1e-2, front=True, help="Size of an update at its largest; above 1e-4 encoders forget."
    )
    max_length: int = knob(128, low=3, high=8192, help="Tokens read of a sentence in training; longer ones are cut.")
    warmup: float = knob(0.0, low=0.0, high=1.0, help="Share of the steps in which the learning rate climbs.")
    decay: str = knob(
        "linear", choices=("linear", "none"), help="How the learning rate ends: it falls to zero, or stays."
    )
    weight_decay: float = knob(0.0, low=0.0, high=1.0, help="Pull of weights to zero; biases and norms are spared.")
    beta2: float = knob(0.999, low=0.5, high=0.9999, help="Memory of AdamW for the size of gradients.")
    epsilon: float = knob(1e-8, low=1e-12, high=1e-3, help="What AdamW adds below the fraction.")
    clip: float = knob(1.0, low=0.0, high=1e6, help="Longest gradient an update follows; 0 for any length.")
    accumulate: int = knob(
        1,
        low=1,
        high=1024,
        help="Batches an update adds up. It saves memory; the negatives stay those of one batch, and do not grow.",
    )
    evaluate_every: int = knob(
        50, low=1, high=1_000_000, help="Steps between two looks at the development pairs; at least ten looks a run."
    )
    early_stop: str = knob(
        "none",
        choices=EARLY_STOPS,
        help="drops: after so many falls against the look before, counted over the whole run, as the code of SG-BERT "
        "does. no new best: after so many looks in a row without a new best.",
    )
    endurance: int = knob(10, low=1, high=1000, help="How many such looks an early stop waits for.")
    select_by: str = knob(
        "dev",
        choices=SELECTIONS,
        triplets=True,
        help="What chooses the best checkpoint: Spearman on the dev set; the share of triplets, held out of training "
        "(one in ten), whose anchor is nearer to the positive; or the mean of both.",
    )
    keep_steps: bool = knob(
        False, help="Keep the model of every look, so that any step can be compared: each takes as much room again."
    )

    def __init__(self, **values: bool | int | float | str) -> None:
        self.set(values)

    def but(self, values: Values) -> Schedule:
        """The same with other values."""
        return Schedule(**{**self.values(), **values})

    def updates(self, rows: int) -> int:
        """How many updates so many rows come to."""
        return self.steps or max(1, rows // self.batch_size * self.epochs // self.accumulate)

    def look_every(self, updates: int) -> int:
        """Steps between two looks at the development pairs: as the paper has it, but ten looks a run at least."""
        return max(1, min(self.evaluate_every, updates // 10))
