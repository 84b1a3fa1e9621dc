"""Test that a base is evaluated once for all its runs, and that held-out triplets choose the best checkpoint."""

import json
import shutil

import numpy as np
import pytest
import torch

from explorer.data import sample
from explorer.data.retrieval_sets import of_pairs
from explorer.data.sources import HELD_OUT
from explorer.data.text_sets import TRIPLETS, Corpus, GradedPairs
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, CannotResume, TooFewRows
from explorer.evaluating import kinds
from explorer.measuring.scores import calibration, similarity
from explorer.methods.simcse import SimCSE
from explorer.progress import finish
from explorer.run_folder import Evaluation
from explorer.training.loop import judging, training_texts
from explorer.training.loop.preparing import check_same
from explorer.training.recipe import Recipe
from tests.exports import by_strata
from tests.methods.rows import FIRST, SECOND
from tests.tiny_models import save_tiny
from tests.trainings import new, train

MEAN, MAX = Head(("mean",)), Head(("max",))


@pytest.fixture
def passes(monkeypatch, tmp_path):
    """The heads of each pass over the texts, in order."""
    found, pure = [], judging.under_heads

    def counted(encoder, texts, heads, stage):
        found.append(heads)
        return pure(encoder, texts, heads, stage)

    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(judging, "under_heads", counted)
    return found


def judged(folder, head, pairs=None):
    """The base's items under this head, of an encoder that was just loaded from a folder."""
    encoder = load(of_folder("tiny", folder), precision="float32", device="cpu")
    method = SimCSE(Tunable(encoder, 16))
    method.base_head = lambda: head
    judge = kinds.judge_of(pairs or sample.pairs(), encoder, encoder.role_prompts)
    return finish(judging.base_items(encoder, method, judge))


def test_a_base_is_evaluated_once_for_each_pooling_set_and_folder(tmp_path, passes):
    first, other = save_tiny("bert", tmp_path / "a"), save_tiny("bert", tmp_path / "b", seed=1)
    dev = GradedPairs("four pairs", tuple(FIRST), tuple(SECOND), (1.0, 2.0, 3.0, 4.0), ())
    items = judged(first, MEAN)
    asked = ((first, MEAN, None), (first, MAX, None), (first, MEAN, dev), (other, MEAN, None), (first, MEAN, None))
    for (folder, head, pairs), due in zip(asked, (1, 2, 3, 4, 4), strict=True):
        found = judged(folder, head, pairs)
        assert len(passes) == due
        assert np.array_equal(found[1], items[1]) == (folder == first and head == MEAN and pairs is None)


def test_a_base_with_weights_of_its_own_is_evaluated_each_time_and_each_measure_has_its_items(tmp_path, passes):
    folder = save_tiny("bert", tmp_path / "a")
    queries, passages = FIRST * 4, [f"{text} {place}" for place, text in enumerate(SECOND * 4)]
    held_out, given = (of_pairs("rows", queries, passages, split=split) for split in (HELD_OUT, "all"))
    assert held_out.digest == given.digest, "the premise: the same rows"
    reciprocal_ranks, ndcg = (judged(folder, MEAN, rows)[1] for rows in (held_out, given))
    assert not np.array_equal(reciprocal_ranks, ndcg)
    for count in (1, 2):
        judged(folder, Head(("mean",), (Dense(torch.randn(4, 32), None, "Tanh"),)))
        assert len(passes) == 2 + count


def test_items_are_found_by_another_process_and_are_computed_where_nothing_can_be_stored(tmp_path, passes, capsys):
    folder = save_tiny("bert", tmp_path / "a")
    items = judged(folder, MEAN)
    for file in (tmp_path / "cache" / "items").iterdir():  # what another process finds
        assert np.load(file) in items
        file.write_bytes(file.read_bytes()[:-3])  # cut off
    assert np.array_equal(judged(folder, MEAN), items)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").write_text("no folder")
    assert np.array_equal(judged(folder, MEAN), items)
    assert "The scores were not stored" in capsys.readouterr().err
    assert len(passes) == 3


def corpus(rows: int, shared: int = 0) -> Corpus:
    """Triplets; the first `shared` rows have one sentence in common."""
    anchors = [f"anchor {0 if row < shared else row}" for row in range(rows)]
    return Corpus("made up", TRIPLETS, (tuple(anchors), *(tuple(f"{what} {row}" for row in range(rows))
                                                          for what in ("positive", "negative"))))  # fmt: skip


def rows_of(part: Corpus) -> list[tuple[str, ...]]:
    return list(zip(*part.columns, strict=True))


def test_a_tenth_is_held_out_by_the_text_alone_nothing_is_lost_and_no_sentence_is_on_both_sides():
    whole = corpus(200)
    kept, held = training_texts.hold_out(whole)
    assert (len(kept), len(held)) == (180, training_texts.held_out_count(200)) == (180, 20)
    assert sorted(rows_of(kept) + rows_of(held)) == sorted(rows_of(whole))
    backwards = Corpus("other", TRIPLETS, tuple(column[::-1] for column in whole.columns))
    assert sorted(rows_of(held)) == sorted(rows_of(training_texts.hold_out(backwards)[1]))
    kept, held = training_texts.hold_out(corpus(200, shared=15))
    texts = [{text for column in part.columns for text in column} for part in (kept, held)]
    assert not texts[0] & texts[1]
    assert sum(row[0] == "anchor 0" for row in rows_of(held)) in (0, 15)


@pytest.mark.parametrize(("rows", "shared"), [(60, 0), (200, 195)])
def test_too_few_rows_are_an_error_that_says_what_to_do(rows, shared):
    with pytest.raises(TooFewRows, match="select_by to dev"):
        training_texts.hold_out(corpus(rows, shared))


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
    settings = {"steps": 5, "learning_rate": 1e-2}
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
        best = max(reversed([one for one in evaluations(run) if one.step]), key=value[by])  # of equal ones the last
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
    _, held = training_texts.hold_out(corpora.corpus(run.recipe().data, TRIPLETS)[0])
    sides = [by_strata(run.model, column) for column in held.columns]
    anchor, positive, negative = (torch.nn.functional.normalize(side, dim=-1) for side in sides)
    right = ((anchor * positive).sum(1) > (anchor * negative).sum(1)).float().mean()
    best = next(one for one in evaluations(run) if one.step == run.status().best_step)
    assert best.held_out == pytest.approx(100 * float(right), abs=1e-3)


def test_only_methods_that_train_on_triplets_can_choose_by_them():
    assert Recipe("simcse-hard", settings={"select_by": "both"}).settings["select_by"] == "both"
    with pytest.raises(BadChoice, match="no setting 'select_by'"):
        Recipe("simcse", settings={"select_by": "both"})


def test_a_recipe_is_not_gone_on_with_on_other_held_out_rows(runs):
    made = runs["both"].recipe().made_with
    with pytest.raises(CannotResume, match="another version of the held-out rows"):
        check_same(made | {"held_out_digest": "0" * 64}, made)
    assert "held_out_digest" not in runs["dev"].recipe().made_with


def test_the_file_of_a_run_says_what_cosines_of_its_exported_model_mean(place):
    halves = sample.dev(), sample.test()
    run = train(new(place, "simcse", dev=halves[0].name, test=halves[1].name, seeds=(1, 2), settings={"steps": 1}))
    known = json.loads((run.model / similarity.FILE).read_text())
    sides = []
    for half in halves:
        one, other = (by_strata(run.model, side).double() for side in (half.first, half.second))
        cosines = torch.cosine_similarity(one, other).numpy()
        sides.append(calibration.LabelledCosines(half.name, np.array(half.gold), cosines))
    found = calibration.calibrate(*sides)
    brier = known["reliability"]["logistic"]["brier_score"]
    assert brier == pytest.approx(found.reliability["logistic"].brier, abs=1e-5)
    assert brier != known["before"]["reliability"]["logistic"]["brier_score"]
    assert known["test"] == {"set": halves[1].name, "pairs": 120, "matches": sum(gold >= 4 for gold in halves[1].gold)}
    every = similarity.random_pairs(by_strata(run.model, halves[0].sentences), "dev")
    assert np.interp(0.5, known["random_pairs"]["cosine"], known["random_pairs"]["share"]) == pytest.approx(
        every.share(0.5), abs=0.01
    )
    digest = of_folder("tuned", run.model).digest
    (run.model / similarity.FILE).unlink()
    assert of_folder("tuned", run.model).digest == digest, "it influences no vector"
    text = (run.model / "README.md").read_text()
    assert "## What a cosine means" in text
    assert similarity.code(similarity.CosineMeaning("", "", found, every)) in text


def test_a_run_on_few_pairs_knows_random_pairs_alone(place):
    known = json.loads((train(new(place, "simcse", settings={"steps": 2})).model / similarity.FILE).read_text())
    assert known.keys() == {"model", "layer_and_pooling", "random_pairs"}
