"""Test the facts that a run measures: that its status keeps them, and their words."""

import json
from dataclasses import replace

from explorer import typed_json
from explorer.encoding.read.head import Head
from explorer.training.loop.measured_facts import LORA, Adapters, Cut, Estimate, TextOverlap
from explorer.training.record.status import RunFacts

FACTS = RunFacts(
    reading=Head(("cls",), normalize=True).facts(),
    default=Head(("mean",), prompt="query: ").facts(),
    seen=TextOverlap(12, 240, ("test", "test 2")),
    estimate=Estimate(0.2, 90, 10**9, 10**10, 10**8, trained=512, weights=1024),
    adapters=Adapters(LORA, 8, "attention", 9216, 16.0, 22_565_376),
    cut=Cut(3, 6, 17, 22),
)


def test_a_status_keeps_them_as_values():
    assert typed_json.read(RunFacts, json.loads(json.dumps(FACTS.as_json()))) == FACTS
    texts = [f"{value}" for value in FACTS.as_json().values()]
    for one in (FACTS.reading, FACTS.default, FACTS.seen, FACTS.estimate, FACTS.adapters, FACTS.cut):
        assert not any(one.words in text for text in texts), "no words are stored"


def test_what_was_trained_is_told_by_how_it_became_adapters():
    assert FACTS.adapters.words == (
        "LoRA (rank 8, alpha 16, targets attention): 9,216 weights, beside 22,565,376 that do not change"
    )
    afterwards = replace(FACTS.adapters, targets="all linear", alpha=None, frozen=None)
    assert afterwards.words == "all weights; their change is cut to LoRA (rank 8, all linear): 9,216 weights"


def test_an_overlap_is_a_warning_only_if_there_is_one():
    rest = " test sentences are in the training text (without their scores): this score is optimistic."
    assert FACTS.seen.words == f"12 of the 240{rest}"
    assert TextOverlap(240, 240, ("test",)).words == f"All{rest}"
    assert not TextOverlap(0, 240)
    assert TextOverlap(0, 240).words == ""
