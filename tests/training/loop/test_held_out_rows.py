"""Test held-out triplets, and the choice of the best checkpoint by them."""

import numpy as np
import pytest
import torch

from explorer.data.text_sets import TRIPLETS, Corpus
from explorer.errors import BadChoice, CannotResume, TooFewRows
from explorer.run_folder import Evaluation
from explorer.training.loop import judging, preparing
from explorer.training.loop.preparing import check_same
from explorer.training.recipe import Recipe
from tests.exports import by_strata
from tests.trainings import new, train


def corpus(rows: int, shared: int = 0) -> Corpus:
    """Triplets; the first `shared` rows have one sentence in common."""
    anchors = [f"anchor {0 if row < shared else row}" for row in range(rows)]
    return Corpus("made up", TRIPLETS, (tuple(anchors), *(tuple(f"{what} {row}" for row in range(rows))
                                                          for what in ("positive", "negative"))))  # fmt: skip


def rows_of(part: Corpus) -> list[tuple[str, ...]]:
    return list(zip(*part.columns, strict=True))


def test_a_tenth_is_held_out_and_nothing_is_lost():
    whole = corpus(200)
    kept, held = preparing.hold_out(whole)
    assert (len(kept), len(held)) == (180, preparing.held_out_count(200)) == (180, 20)
    assert sorted(rows_of(kept) + rows_of(held)) == sorted(rows_of(whole))


def test_no_sentence_is_on_both_sides():
    whole = corpus(200, shared=15)
    kept, held = preparing.hold_out(whole)
    texts = [{text for column in part.columns for text in column} for part in (kept, held)]
    assert not texts[0] & texts[1]
    assert sum(row[0] == "anchor 0" for row in rows_of(held)) in (0, 15)


def test_what_is_held_out_follows_from_the_text_alone():
    whole = corpus(200)
    backwards = Corpus("other", TRIPLETS, tuple(column[::-1] for column in whole.columns))
    assert sorted(rows_of(preparing.hold_out(whole)[1])) == sorted(rows_of(preparing.hold_out(backwards)[1]))


@pytest.mark.parametrize(("rows", "shared"), [(60, 0), (200, 195)])
def test_too_few_rows_are_an_error_that_says_what_to_do(rows, shared):
    with pytest.raises(TooFewRows, match="select_by to dev"):
        preparing.hold_out(corpus(rows, shared))


def test_accuracy_is_the_share_of_anchors_nearer_to_their_positive():
    held = Corpus("two", TRIPLETS, (("a", "b", "c"), ("d", "e", "c"), ("f", "g", "c")))
    texts = list(dict.fromkeys(text for column in held.texts for text in column))
    vectors = {"a": (1, 0), "d": (2, 0.1), "f": (0, 3), "b": (0, 1), "e": (1, 0), "g": (0.1, 5), "c": (1, 1)}
    right = judging.triplet_accuracy(held, texts, np.array([vectors[text] for text in texts], dtype=np.float32))
    assert right == pytest.approx(100 * (1 + 0 + 0.5) / 3)


@pytest.fixture(scope="module")
def runs(place, tmp_path_factory):
    """The same run, its best checkpoint chosen in each of the three ways."""
    text = tmp_path_factory.mktemp("text") / "triplets.csv"
    rows = place.triplets.read_text().splitlines()
    more = [f"{row},again {number},not {number}" for number, row in enumerate(["a b", "c d"] * 60)]
    more = [",".join([f"{number} {row.split(',')[0]}", *row.split(",")[1:]]) for number, row in enumerate(more)]
    text.write_text("\n".join([*rows, *more]) + "\n")
    settings = {"steps": 8, "evaluate_every": 1, "learning_rate": 1e-2}
    return {
        by: train(new(place, "simcse-hard", data=(str(text),), settings={**settings, "select_by": by}))
        for by in ("dev", "held-out triplets", "both")
    }


def evaluations(run) -> list[Evaluation]:
    return [line for line in run.metrics() if isinstance(line, Evaluation)]


def test_the_best_checkpoint_is_the_one_that_is_highest_by_what_chooses(runs):
    value = {
        "dev": lambda one: one.dev,
        "held-out triplets": lambda one: one.held_out,
        "both": lambda one: (one.dev + one.held_out) / 2,
    }
    for by, run in runs.items():
        after = [one for one in evaluations(run) if one.step]
        best = max(after, key=value[by])
        status = run.status()
        assert status.best_step == best.step, by
        assert status.best == best.dev, "what is told is the dev score there"
        assert status.results[0].best_step == best.step
        assert status.results[0].dev == best.dev


def test_held_out_rows_are_counted_and_not_trained_on(runs):
    run = runs["both"]
    found = run.recipe().made_with
    assert (found["data_rows"], found["held_out_rows"]) == (130, 14)
    assert run.status().facts.held_out == 14
    assert runs["dev"].recipe().made_with["held_out_rows"] == 0
    assert evaluations(runs["dev"])[0].held_out is None


def test_the_accuracy_on_record_is_that_of_the_exported_model(runs):
    from explorer.data import corpora

    run = runs["held-out triplets"]
    _, held = preparing.hold_out(corpora.corpus(run.recipe().data, TRIPLETS)[0])
    sides = [by_strata(run.model, column) for column in held.columns]
    anchor, positive, negative = (torch.nn.functional.normalize(side, dim=-1) for side in sides)
    right = ((anchor * positive).sum(1) > (anchor * negative).sum(1)).float().mean()
    best = next(one for one in evaluations(run) if one.step == run.status().best_step)
    assert best.held_out == pytest.approx(100 * float(right), abs=1e-3)


def test_only_methods_that_train_on_triplets_can_choose_by_them():
    assert Recipe("simcse-hard", settings={"select_by": "both"}).checked().settings["select_by"] == "both"
    with pytest.raises(BadChoice, match="no setting 'select_by'"):
        Recipe("simcse", settings={"select_by": "both"}).checked()


def test_a_recipe_is_not_gone_on_with_on_other_held_out_rows(runs):
    made = runs["both"].recipe().made_with
    with pytest.raises(CannotResume, match="another version of the held-out rows"):
        check_same(made | {"held_out_digest": "0" * 64}, made)
    assert "held_out_digest" not in runs["dev"].recipe().made_with
