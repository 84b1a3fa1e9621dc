"""Test that a base is evaluated once for all runs that have it and the evaluation set in common."""

import numpy as np
import pytest
import torch

from explorer.data import sample
from explorer.data.retrieval_sets import of_pairs
from explorer.data.sources import HELD_OUT
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.tune.tunable import Tunable
from explorer.evaluating.tasks import judges
from explorer.methods.simcse import SimCSE
from explorer.progress import finish
from explorer.training.loop import judging
from tests.methods.rows import FIRST, SECOND
from tests.tiny_models import save_tiny

MEAN, MAX = Head(("mean",)), Head(("max",))


@pytest.fixture
def passes(monkeypatch):
    """The heads of each pass over the texts, in order."""
    found, pure = [], judging.under_heads

    def counted(encoder, texts, heads, stage):
        found.append(heads)
        return pure(encoder, texts, heads, stage)

    monkeypatch.setattr(judging, "_KNOWN", {})
    monkeypatch.setattr(judging, "under_heads", counted)
    return found


def judged(folder, head, pairs=None):
    """The base's items under this head, of an encoder that was just loaded from a folder."""
    encoder = load(of_folder("tiny", folder), precision="float32", device="cpu")
    method = SimCSE(Tunable(encoder, 16))
    method.base_head = lambda: head
    judge = judges.judge_of(pairs or sample.pairs(), encoder, encoder.role_prompts)
    return finish(judging.base_items(encoder, method, judge))


def test_a_base_is_evaluated_once_for_each_pooling_set_and_folder(tmp_path, passes):
    first, other = save_tiny("bert", tmp_path / "a"), save_tiny("bert", tmp_path / "b", seed=1)
    dev = GradedPairs("four pairs", tuple(FIRST), tuple(SECOND), (1.0, 2.0, 3.0, 4.0), ())
    items = judged(first, MEAN)
    asked = ((first, MEAN, None), (first, MAX, None), (first, MEAN, dev), (other, MEAN, None), (first, MEAN, None))
    for (folder, head, pairs), due in zip(asked, (1, 2, 3, 4, 4), strict=True):
        found = judged(folder, head, pairs)
        assert len(passes) == due
        same = folder == first and head == MEAN and pairs is None
        assert np.array_equal(found[1], items[1]) == same


def test_the_items_of_one_measure_are_not_those_of_another(tmp_path, passes):
    folder = save_tiny("bert", tmp_path / "a")
    queries, passages = FIRST * 4, [f"{text} {place}" for place, text in enumerate(SECOND * 4)]
    held_out, given = (of_pairs("rows", queries, passages, split=split) for split in (HELD_OUT, "all"))
    assert held_out.digest == given.digest, "the premise: the same rows"
    reciprocal_ranks, ndcg = (judged(folder, MEAN, rows)[1] for rows in (held_out, given))
    assert not np.array_equal(reciprocal_ranks, ndcg)


def test_a_head_with_weights_of_its_own_is_evaluated_each_time(tmp_path, passes):
    folder = save_tiny("bert", tmp_path / "a")
    for count in (1, 2):
        judged(folder, Head(("mean",), (Dense(torch.randn(4, 32), None, "Tanh"),)))
        assert len(passes) == count


def test_only_the_last_evaluations_are_kept(tmp_path, passes, monkeypatch):
    monkeypatch.setattr(judging, "KEPT", 1)
    folder = save_tiny("bert", tmp_path / "a")
    for head, due in ((MEAN, 1), (MEAN, 1), (MAX, 2), (MEAN, 3)):
        judged(folder, head)
        assert len(passes) == due
