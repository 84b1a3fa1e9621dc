"""Score every layer & pooling on a classification task: accuracy and macro-F1 of a classifier on fixed vectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from explorer.data.labelled import labelled_sets
from explorer.data.labelled.labelled_sets import FOLDS, LabelledSet, check_scored
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.encoded import FLOAT, TaskCost, checked_titles, encoded, seconds_of, width_of
from explorer.evaluating.probes import Classes, ProbeData, Rows, fold_count, logistic, order_of, probe_data, senteval
from explorer.evaluating.probes.class_scores import macro_f1_ends
from explorer.evaluating.results import scored_task
from explorer.evaluating.tasks import Subject, Suite, Task
from explorer.measuring.scores import bootstrap
from explorer.progress import Progress, Work, map_progress

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

TASKS = labelled_sets.names()

MEASURES = ("accuracy", "macro F1")
PROBES: dict[str, Callable[[ProbeData, int], Work[Classes]]] = {
    scored_task.LOGISTIC: logistic.predictions,
    scored_task.SENTEVAL: senteval.predictions,
}
SEEDS = (1, 2, 3, 4, 1234, 2345, 3456, 7890)  # of SG-BERT's transfer table
ROWS = 6000  # that a probe is tried on for an estimate: logistic regression takes more iterations on more of them
PASSES = 56  # of SentEval's classifier over its rows: 11 to 14 evaluations of 4 passes on CR, TREC and MRPC


class Classification(Task[LabelledSet]):
    """Texts with labels: a published task, a file, or a folder with a file for each split."""

    kind = scored_task.TRANSFER
    suites = (Suite("transfer", TASKS, 2, "classification"),)
    also: ClassVar[Mapping[str, str]] = {other: known.name for known in labelled_sets.SETS for other in known.also}
    decided_by = "probe", "seeds"
    any_file = True

    @classmethod
    def load(cls, name: str, options: scored_task.Options) -> Classification:
        """Load all splits."""
        return cls(name, labelled_sets.load(name)[0])

    @property
    def texts(self) -> Sequence[str]:
        """All sentences, split by split."""
        return self.data.texts

    def titles(self, subject: Subject, options: scored_task.Options) -> tuple[str, ...]:
        """Those asked for, by default that of the model alone: a probe is trained for each of them."""
        return super().titles(subject, replace(options, titles=options.titles or (MODEL_DEFAULT,)))

    def score(self, subject: Subject, options: scored_task.Options) -> Work[scored_task.Measured]:
        """Train and score a probe for each layer & pooling and each seed."""
        yield Progress(f"loading {subject.found.name}", 0, 0)
        return (yield from transfer(subject.encoder, self.data, **self._choice(subject, options)))

    def cost(self, subject: Subject, options: scored_task.Options) -> Work[TaskCost | None]:
        """Estimate the time of the encoding and of the trainings of the probe."""
        yield Progress(f"loading {subject.found.name}", 0, 0)
        return (yield from estimate(subject.encoder, self.data, **self._choice(subject, options)))

    def _choice(self, subject: Subject, options: scored_task.Options) -> dict[str, Any]:
        """What decides the work, as both functions name it."""
        return {
            "probe": options.probe,
            "seeds": options.seeds,
            "titles": checked_titles(subject.encoder, self.titles(subject, options)),
            "max_length": self.length(subject),
        }


def transfer(
    encoder: Encoder,
    task: LabelledSet,
    *,
    probe: str = scored_task.LOGISTIC,
    seeds: Sequence[int] = (1,),
    titles: Sequence[str] | None = None,
    max_length: int | None = None,
) -> Work[scored_task.Measured]:
    """Encode all texts once, then train and score the probe for each layer & pooling and each seed.

    Without `titles` that is the model default only. It is always scored: the items are its predictions.
    """
    from sklearn.metrics import accuracy_score, f1_score

    started = time.perf_counter()
    scored_task.Options(probe=probe, seeds=tuple(seeds))  # which refuses others
    check_scored(task)
    kept = checked_titles(encoder, (MODEL_DEFAULT,) if titles is None else titles)
    vectors = yield from encoded(encoder, task.texts, max_length, kept)
    table = np.full((len(kept), len(MEASURES), len(seeds)), np.nan)
    right = np.full((len(seeds), len(task.scored)), np.nan)
    default: dict[int, tuple[NDArray[np.intp], NDArray[np.intp]]] = {}  # labels and predictions, by place of the seed
    rows = {split: order_of(one) for split, one in task.splits.items()}
    setting = _setting(encoder, task, probe, seeds, max_length)

    def measured(titles: Sequence[str]) -> scored_task.Measured:
        return scored_task.Measured(
            task.split,
            tuple(titles),
            MEASURES,
            table[[kept.index(title) for title in titles]],
            tuple(seeds),
            setting,
            scored_task.Items(right.mean(axis=0), digest=task.digest),
            time.perf_counter() - started,
            ends=scored_task.ends(zip(MEASURES, _ends(right.mean(axis=0), default), strict=True)),
        )

    # the model default first: what is kept of work that is stopped has the items
    order = sorted(kept, key=lambda title: title != MODEL_DEFAULT)
    for place, title in enumerate(order):
        data = probe_data(task, vectors.of(title), rows)
        if data.is_finite:  # else the scores stay missing
            for which, seed in enumerate(seeds):
                done = place * len(seeds) + which
                found = yield from _counted(PROBES[probe](data, seed), title, done, len(kept) * len(seeds))
                gold = data.scored.y  # of all scored rows at once
                macro = f1_score(gold, found, average="macro", zero_division=0.0)
                table[kept.index(title), :, which] = 100 * accuracy_score(gold, found), 100 * macro
                if title == MODEL_DEFAULT:
                    right[which, rows[task.split]], default[which] = found == gold, (gold, found)
        scored = [known for known in kept if known in order[: place + 1]]
        yield scored_task.SoFar(f"scored {title}", place + 1, len(kept), measured=measured(scored))
    return measured(kept)


def _ends(
    right: NDArray[np.float64], default: Mapping[int, tuple[NDArray[np.intp], NDArray[np.intp]]]
) -> tuple[tuple[float, float] | None, ...]:
    """The interval of each measure under the model default, from what each row gets, labels and predictions."""
    if not default:
        return None, None
    labels, predictions = zip(*default.values(), strict=True)
    return bootstrap.mean_ends(right), macro_f1_ends(labels[0], np.stack(predictions))


def _counted(work: Work[Classes], title: str, done: int, total: int) -> Work[Classes]:
    """Work whose progress counts the fits of all layers & poolings, `done` of `total` of which are ready."""

    def counted(progress: Progress) -> Progress:
        fits = progress.total
        return Progress(f"{progress.text}: {title}", fits * done + progress.done, fits * total)

    return map_progress(work, counted)


def _setting(
    encoder: Encoder, task: LabelledSet, probe: str, seeds: Sequence[int], max_length: int | None
) -> dict[str, scored_task.Setting]:
    count = fold_count(task.train.labels)
    folds = f"nested {count}" if task.test is None else f"{count}" if task.dev is None else "none"
    about: dict[str, scored_task.Setting] = {
        "folds": folds,
        "seeds": ", ".join(map(str, seeds)),
        "max_length": encoder.limit(max_length),
        "precision": encoder.precision,
    }
    if probe == scored_task.LOGISTIC:
        strengths = ", ".join(f"{strength:g}" for strength in logistic.STRENGTHS)
        return {"probe": probe, "C": strengths, "standardised": True, **about}
    decays = ", ".join(f"{decay:g}" for decay in senteval.DECAYS)
    return {"probe": probe, "l2": decays, "standardised": False, **asdict(senteval.Network()), **about}


def estimate(
    encoder: Encoder,
    task: LabelledSet,
    *,
    probe: str,
    seeds: Sequence[int],
    titles: Sequence[str],
    max_length: int | None = None,
) -> Work[TaskCost]:
    """Encode some texts, train the probe once on random vectors, and extrapolate."""
    distinct = list(dict.fromkeys(check_scored(task).texts))
    disk = sum(width_of(encoder, title) for title in titles) * len(distinct) * FLOAT
    yield Progress("estimating", 0, 2)
    encoding = seconds_of(encoder, distinct, max_length)
    yield Progress("estimating", 1, 2)
    # vectors with as many rows, up to a limit, and as many classes as those of the task, which overlap
    width = width_of(encoder, MODEL_DEFAULT) * (2 if task.is_pairs else 1)
    random, count = np.random.default_rng(0), min(ROWS, len(task.train))
    classes = len(task.classes)
    y = np.arange(count) % classes
    # dimensions that are correlated and classes that overlap, so that logistic regression takes as long as on sentences
    mixed = random.normal(size=(width, width)) * np.geomspace(1, 0.05, width)[:, None]
    x = random.normal(size=(count, width)) @ mixed + 0.15 * random.normal(size=(classes, width))[y]
    rows = Rows(x.astype(np.float32), y.astype(np.intp))
    few = rows.at(np.arange(min(64, len(rows))))
    # the rows of a fit: two folds are left out of nested folds, one out of folds
    share = 1 - (2 if task.test is None else 1 if task.dev is None else 0) / FOLDS
    scale = share * len(task.train) / len(rows)
    splits = task.test is not None, task.dev is not None
    if probe == scored_task.LOGISTIC:
        fits = logistic.fits(*splits) * len(titles) * len(seeds)
        logistic.path(few, [rows.x])  # the first imports scikit-learn
        started = time.perf_counter()
        logistic.path(rows, [rows.x])
        usual = most = fits * scale * (time.perf_counter() - started)
    else:
        fits = senteval.fits(*splits) * len(titles) * len(seeds)
        network = senteval.Network(epoch_size=1, max_epoch=0)  # one pass over the rows, for its four networks
        for again in range(2):  # the first is slower
            started, stage = time.perf_counter(), Progress("estimating", 1, 2)
            yield from senteval.trained(rows, few, len(task.classes), senteval.DECAYS, again, stage, network=network)
        one_pass = time.perf_counter() - started
        longest = senteval.Network.max_epoch + senteval.Network.epoch_size
        usual, most = (fits * scale * passes * one_pass for passes in (PASSES, longest))
    return TaskCost(len(distinct), fits, encoding, usual, most, disk)
