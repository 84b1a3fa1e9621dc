"""Measure the answer whether to fine-tune: on real texts within a time limit, and where nothing, or much, can be won.

Texts are drawn from STRATA_DATA. Scores that are shuffled among their pairs have nothing to be learned: one in forty of
such texts is expected to be answered with yes. Of the negations among the minimal pairs, which the base takes for
paraphrases, all texts are expected to be.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import few_rows
from explorer.data import sample, sources
from explorer.errors import RunNotFound
from explorer.progress import finish
from explorer.studies.plans import advice, answer, extension, own_data, plan_folder, plan_table
from explorer.studies.plans.advice import AdviceOptions
from explorer.studies.plans.plan import Plan

MINUTES, FEW_MINUTES, EACH_MINUTES = 20.0, (3.0, 10.0), 2.0
SCORED = ("score", "sentence1", "sentence2")
PAIRS, SEEDS, NEGATIONS = 60, range(1, 21), range(1, 11)


def main() -> None:
    real()
    few()
    shuffled()
    negations()


def real() -> None:
    """Pairs with labels, pairs with scores, and sentences, by the thousand."""
    data = Path(os.environ["STRATA_DATA"])
    for text in (str(data / "QQP" / "dev.tsv"), "STS-B", str(data / "wiki" / "sentences.tsv")):
        _answered(text, MINUTES)


def few() -> None:
    """Texts of 20 to 200 rows of every kind, with a short and a longer limit."""
    duplicates = [row[1:3] for row in few_rows.table("QQP/dev.tsv") if row[0] == "1"]
    texts = [
        _drawn("60 scored pairs", SCORED, [row[:3] for row in few_rows.table("STSB/train.tsv")], 60),
        _drawn("100 sentences", ("sentence",), [row[:1] for row in few_rows.table("wiki/sentences.tsv")], 100),
        _drawn("40 labelled texts", ("label", "text"), [row[:2] for row in few_rows.table("MR/all.tsv")], 40),
        _drawn("200 pairs", ("query", "passage"), duplicates, 200),
        _drawn("20 scored pairs", SCORED, [row[:3] for row in few_rows.table("STSB/train.tsv")], 20),
    ]
    for minutes in FEW_MINUTES:
        for text in texts:
            _answered(text, minutes)


def shuffled(seeds: Iterable[int] = SEEDS) -> None:
    """Texts from which nothing can be learned."""
    words = []
    for seed in seeds:
        drawn = random.Random(seed)
        rows = drawn.sample([row[:3] for row in few_rows.table("STSB/train.tsv")], PAIRS)
        scores = [row[0] for row in rows]
        drawn.shuffle(scores)
        rows = [(score, *row[1:]) for score, row in zip(scores, rows, strict=True)]
        text = _drawn(f"shuffled {seed}", SCORED, rows, PAIRS)
        words.append(_answered(text, EACH_MINUTES, elsewhere=()))  # what else changed is not asked
    _counted("texts whose scores are shuffled", words)


def negations(seeds: Iterable[int] = NEGATIONS) -> None:
    """Texts from which much can be learned."""
    every = sample.minimal_pairs()
    rows = [row for row in zip(every.anchors, every.positives, every.negatives, strict=True) if _negates(*row)]
    columns = "anchor", "positive", "negative"
    texts = [_drawn(f"negations {seed}", columns, rows, PAIRS, seed) for seed in seeds]
    _counted("texts of negations", [_answered(text, EACH_MINUTES, elsewhere=()) for text in texts])


def _negates(anchor: str, positive: str, negative: str) -> bool:
    words = {"not", "never", "no", "nobody", "nothing", "n't"}
    has = [bool(words.intersection(text.lower().replace("n't", " n't").split())) for text in (anchor, negative)]
    return has[0] != has[1]


def _counted(what: str, words: Sequence[str]) -> None:
    print(f"Of {len(words)} {what}: {', '.join(f'{words.count(word)} {word}' for word in sorted(set(words)))}.")


def _drawn(name: str, columns: Sequence[str], rows: Sequence[few_rows.Row], count: int, seed: int = 1) -> str:
    """A file of some of the rows."""
    path = Path(os.environ["STRATA_CACHE"]) / f"{name}.csv"
    return few_rows.written(path, columns, random.Random(seed).sample(rows, count))


def _answered(text: str, minutes: float, elsewhere: tuple[str, ...] = Plan.elsewhere) -> str:
    """The answer in a word; all of it is printed, with the time that it took."""
    asked = AdviceOptions(minutes=minutes)
    data = own_data.read(text, asked.model)
    name, started = advice.usual_name(data, asked), time.monotonic()
    try:
        begun, expected = plan_folder.find(name), ""
    except RunNotFound:
        found = finish(advice.proposal(data, asked))
        expected = f", estimated {found.seconds / 60:.1f}"
        begun = advice.begin(replace(found, plan=replace(found.plan, elsewhere=elsewhere)))
    status = finish(extension.execute(begun))
    known = advice.of_folder(begun)
    assert known is not None, "it was made with its file"
    reached = answer.answer(plan_table.table(begun.plan()), known, status)
    took = (time.monotonic() - started) / 60
    print(f"{sources.shown(text)}: {took:.1f} min of a limit of {minutes:g}{expected}\n{reached.text}", flush=True)
    return reached.word
