"""Measure the answer whether to fine-tune: on real texts within a time limit, and where nothing can be won.

Texts are read from STRATA_DATA. Scores that are shuffled among their pairs have nothing to be learned: of twenty such
texts one in forty is expected to be answered with yes.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import replace
from pathlib import Path

from explorer.data import sources
from explorer.data.graded import sets
from explorer.data.text_sets import GradedPairs
from explorer.errors import RunNotFound
from explorer.progress import finish
from explorer.studies.plans import advice, answer, own_data, plan_folder, plan_table
from explorer.studies.plans.advice import AdviceOptions
from explorer.studies.plans.plan import Plan

MINUTES, MINUTES_SHUFFLED = 20.0, 4.0
PAIRS, SEEDS = 480, range(1, 21)


def main() -> None:
    real()
    shuffled()


def real() -> None:
    """Pairs with labels, pairs with scores, and sentences."""
    data = Path(os.environ["STRATA_DATA"])
    for text in (str(data / "QQP" / "dev.tsv"), "STS-B", str(data / "wiki" / "sentences.tsv")):
        _answered(text, MINUTES)


def shuffled() -> None:
    """Texts from which nothing can be learned."""
    texts = [_shuffled(seed) for seed in SEEDS]
    words = [_answered(text, MINUTES_SHUFFLED, elsewhere=()) for text in texts]  # what else changed is not asked
    print(f"No in {words.count(answer.NO)} of {len(words)} texts whose scores are shuffled.")


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
    status = finish(advice.execute(begun))
    known = advice.of_folder(begun)
    assert known is not None, "it was made with its file"
    reached = answer.answer(plan_table.table(begun.plan()), known, status)
    took = (time.monotonic() - started) / 60
    print(f"{sources.shown(text)}: {took:.1f} min of a limit of {minutes:g}{expected}\n{reached.text}", flush=True)
    return reached.word


def _shuffled(seed: int) -> str:
    """Some pairs of STS-B train with their scores in another order, as an uploaded set."""
    pairs = sets.load(sources.identity("STS-B train"))
    drawn = random.Random(seed)
    rows = sorted(drawn.sample(range(len(pairs)), PAIRS))
    some = pairs.taken(rows, f"shuffled {seed}")
    gold = list(some.gold)
    drawn.shuffle(gold)
    return sources.written(sets.keep(GradedPairs(some.name, some.first, some.second, tuple(gold), ("",) * PAIRS)))
