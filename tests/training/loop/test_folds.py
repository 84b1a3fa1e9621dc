"""Test cross-fitting by hand: each fold is trained again as a run of its own, and its rows are judged row by row."""

import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from explorer.data.text_sets import SCORED_PAIRS, Corpus
from explorer.methods import load
from explorer.progress import Phase, finish
from explorer.run_folder import TrainingStep, predictions_file
from explorer.training.loop import folds
from explorer.training.loop.measured_facts import FoldScores
from explorer.training.loop.training_texts import divide
from explorer.training.recipe import Recipe
from explorer.training.record import recorder
from tests.training.fold_runs import FOLDS, METHODS, SETTINGS, SHORT, STEPS, given, in_rows, low_median, seen_by, texts
from tests.training.unbroken import assert_goes_on
from tests.trainings import FEW_SHARES, WORDS, new, train, weights


@pytest.fixture(scope="module", params=METHODS)
def made(request, of_method):
    return of_method(request.param)


def held(made, fold: int) -> list[int]:
    """The rows that the training of a fold did not see."""
    return [place for place, row in enumerate(made.rows) if texts(row) not in in_rows(made.seen[fold])]


def test_folds_of_few_scored_pairs_are_so_few_that_each_has_enough_pairs_for_a_score():
    for rows, wanted in ((11, 2), (22, 4), (60, 5)):
        texts = [tuple(f"{side}{row}" for row in range(rows)) for side in "ab"]
        found = divide(Corpus("made up", SCORED_PAIRS, (*texts, tuple(map(float, range(rows))))), 5)
        assert len(found) == wanted
        assert min(map(len, found)) >= 5


def test_each_row_is_held_out_of_one_fold_whose_training_sees_neither_it_nor_its_sentences(made):
    every = [row for fold in range(1, FOLDS + 1) for row in held(made, fold)]
    assert sorted(every) == list(range(len(made.rows)))
    for fold in range(1, FOLDS + 1):
        assert held(made, fold), "the premise"
        trained = {text for row in in_rows(made.seen[fold]) for text in row}
        assert trained.isdisjoint(text for row in held(made, fold) for text in texts(made.rows[row]))


def encoded(folder, model, sentences):
    """Vectors of a checkpoint, by sentence-transformers."""
    model[0].auto_model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    return dict(zip(sentences, torch.nn.functional.normalize(torch.tensor(model.encode(sentences))), strict=True))


def items_by_hand(made, vectors) -> dict[object, float]:
    """What each row gets, or of pairs and triplets each query: the reciprocal rank of its first passage."""
    if made.method == "cosent":
        return {place: float(vectors[one] @ vectors[other]) for place, (_, one, other) in enumerate(made.rows)}
    documents = list(dict.fromkeys((*(row[1] for row in made.rows), *(row[2] for row in made.rows if len(row) > 2))))
    found = {}
    for query in dict.fromkeys(row[0] for row in made.rows):
        ranked = sorted(documents, key=lambda document: -float(vectors[query] @ vectors[document]))
        rank = 1 + min(ranked.index(row[1]) for row in made.rows if row[0] == query)
        found[query] = 1 / rank if rank <= 10 else 0.0
    return found


@pytest.fixture(scope="module")
def by_hand(made):
    """What each item of a fold gets at each step, from the checkpoints of the plain run on the other rows."""
    sentences = sorted({text for row in made.rows for text in texts(row)})
    found = {}
    for fold in range(1, FOLDS + 1):
        keys = held(made, fold) if made.method == "cosent" else {made.rows[row][0] for row in held(made, fold)}
        model = SentenceTransformer(str(made.plain[fold].model), device="cpu")
        for step in range(STEPS + 1):
            vectors = encoded(made.plain[fold].folder / "steps" / f"step-{step}", model, sentences)
            found[fold, step] = {key: one for key, one in items_by_hand(made, vectors).items() if key in keys}
    return found


def score_by_hand(made, items):
    if made.method != "cosent":
        return 100 * float(np.mean([*items.values()]))
    from scipy.stats import spearmanr

    return 100 * float(spearmanr([*items.values()], [float(made.rows[row][0]) for row in items]).statistic)


def test_a_fold_scores_at_each_step_what_a_plain_run_on_the_other_rows_does(made, by_hand):
    (result,) = made.run.status().results
    assert len(result.folds) == FOLDS
    for number, fold in enumerate(result.folds, start=1):
        assert fold.tried == tuple(range(STEPS + 1))
        scores = [score_by_hand(made, by_hand[number, step]) for step in range(STEPS + 1)]
        assert fold.scores == pytest.approx(scores, abs=0.01)
        assert fold.rows == len(by_hand[number, 0])
        assert scores[int(fold.best)] == pytest.approx(max(scores[1:]), abs=0.01), "step 0 cannot be kept here"


def test_each_row_is_judged_by_its_fold_at_the_median_of_the_other_folds(made, by_hand):
    (result,) = made.run.status().results
    best = [fold.best for fold in result.folds]
    expected = {}
    for fold in range(1, FOLDS + 1):
        at = low_median([one for number, one in enumerate(best, start=1) if number != fold])
        expected |= by_hand[fold, at]
    order = expected if made.method == "cosent" else dict.fromkeys(row[0] for row in made.rows)
    items = recorder.items(made.run, 1)
    wanted = [expected[key] for key in (sorted(order) if made.method == "cosent" else order)]
    assert items == pytest.approx(wanted, abs=1e-5)
    test = made.run.status().verdict.test
    assert test.after == pytest.approx(score_by_hand(made, dict(sorted(expected.items()))), abs=0.01)
    assert (result.dev, result.test) == (None, test.after), "the rows that choose and those that judge are no dev set"
    assert not test.chose


def test_the_saved_model_is_a_plain_run_on_all_rows_for_the_median_of_the_best_numbers_of_updates(made):
    (result,) = made.run.status().results
    chosen = low_median([fold.best for fold in result.folds])
    expected = load_file(made.plain[0].folder / "steps" / f"step-{int(chosen)}" / "model.safetensors")
    found = weights(made.run)
    assert expected.keys() == found.keys()
    assert all(torch.equal(found[name], weight) for name, weight in expected.items())
    facts = made.run.status().facts.folds
    assert (facts.folds, facts.rows, facts.best, facts.chosen) == (
        FOLDS, len(made.rows), tuple(fold.best for fold in result.folds), chosen,
    )  # fmt: skip
    assert result.steps == FOLDS * STEPS + chosen
    steps = [line for line in made.run.metrics() if isinstance(line, TrainingStep)]
    assert [line.step for line in steps] == list(range(1, int(result.steps) + 1))


def test_of_a_fold_no_other_number_of_updates_than_the_folds_own_rows_chose_is_known_to_be_best(made):
    """The folds differ in what is best, or the tests above would not tell the medians apart."""
    best = [fold.best for fold in made.run.status().results[0].folds]
    medians = {low_median(best[:place] + best[place + 1 :]) for place in range(FOLDS)}
    assert len(set(best)) > 1
    assert len({*medians, low_median(best)}) > 1


def test_folds_that_stop_early_are_judged_at_their_last_step_and_the_last_training_does_not_stop(place, of_method):
    made = of_method("cosent")
    changes = {"early_stop": "no new best", "endurance": 1}
    run = train(new(place, "cosent", **given(made.text, **changes)))
    (result,) = run.status().results
    for before, fold in zip(made.run.status().results[0].folds, result.folds, strict=True):
        scores = before.scores[1:]
        ends = [at for at in range(2, STEPS + 1) if scores.index(max(scores[:at])) < at - 1]
        assert fold.tried == tuple(range(min(ends, default=STEPS) + 1))
    updates = [line.step for line in run.metrics() if isinstance(line, TrainingStep) and line.stage == FOLDS + 1]
    assert len(updates) == run.status().facts.folds.chosen
    assert any(len(fold.tried) <= STEPS for fold in result.folds), "the premise: one stops early"
    assert run.status().facts.folds.chosen > 1, "the premise: more than the evaluations without a score that end it"


def blended(place, plain, share):
    """The base and the last step of a run, blended weight by weight."""
    base = load_file(place.model / "model.safetensors")
    tuned = load_file(plain.folder / "steps" / f"step-{STEPS}" / "model.safetensors")
    return {
        name: (1 - share) * base[name].double() + share * weight.double() if name in base else weight
        for name, weight in tuned.items()
    }


def test_where_a_share_is_chosen_each_row_is_judged_by_the_blend_that_is_best_on_average_in_the_other_folds(
    place, of_method, with_shares
):
    shared = SimpleNamespace(**vars(of_method("cosent")) | {"run": with_shares})
    (result,) = shared.run.status().results
    tried = (0.0, *FEW_SHARES)
    sentences = sorted({text for row in shared.rows for text in texts(row)})
    items, means = {}, []
    for fold in range(1, FOLDS + 1):
        model = SentenceTransformer(str(shared.plain[fold].model), device="cpu")
        scores = []
        for share in tried:
            state = {name: weight.float() for name, weight in blended(place, shared.plain[fold], share).items()}
            model[0].auto_model.load_state_dict(state, strict=False)
            vectors = torch.nn.functional.normalize(torch.tensor(model.encode(sentences)))
            every = items_by_hand(shared, dict(zip(sentences, vectors, strict=True)))
            items[fold, share] = {row: every[row] for row in held(shared, fold)}
            scores.append(score_by_hand(shared, items[fold, share]))
        found = result.folds[fold - 1]
        assert found.tried == tried
        assert found.scores == pytest.approx(scores, abs=0.01)
        assert scores[tried.index(found.best)] == pytest.approx(max(scores), abs=0.01)
        means.append(found.scores)  # as above, but rounded alike
    expected = {}
    for fold in range(1, FOLDS + 1):
        expected |= items[fold, best_on_average(tried, means[: fold - 1] + means[fold:])]
    assert recorder.items(shared.run, 1) == pytest.approx([expected[row] for row in sorted(expected)], abs=1e-4)
    chosen = best_on_average(tried, means)
    assert (result.blend, shared.run.status().facts.blend, shared.run.status().facts.folds.chosen) == (chosen,) * 3
    for name, weight in blended(place, shared.plain[0], chosen).items():
        assert torch.allclose(weights(shared.run)[name].double(), weight.double(), atol=1e-6), name
    assert chosen > 0, "the premise: something is learned"


@pytest.mark.parametrize(
    ("scores", "without", "chosen"),
    [
        (
            [(80, 79), (80, 79.5), (80, 90)],
            None,
            0.5,
        ),  # two of three folds prefer the base, by less than the third gains
        ([(80, 79), (80, 79.5), (80, 90)], 2, 0.0),
        ([(80, 80), (70, 70)], None, 0.5),  # of equal ones the larger
        ([(None, None), (80, 70)], None, 0.5),  # one fold has too few rows for a score
    ],
)
def test_the_folds_choose_the_share_with_the_best_mean_score(scores, without, chosen):
    whole = SimpleNamespace(recipe=Recipe("cosent", settings={"blend": 0.5}))
    done = [FoldScores(9, 9, (0.0, 0.5), one, 0.0) for one in scores]
    assert folds.chosen(whole, done, without) == chosen
    by_steps = SimpleNamespace(recipe=Recipe("cosent"))
    done = [FoldScores(9, 9, (0.0, 3.0, 6.0), (1.0, 2.0, 3.0), best) for best in (3.0, 6.0, 6.0)]
    assert (folds.chosen(by_steps, done), folds.chosen(by_steps, done, 2)) == (6.0, 3.0)


def best_on_average(tried, scores):
    """The share with the highest mean score; of equal ones the largest."""
    means = [sum(column) / len(column) for column in zip(*scores, strict=True)]
    return max(share for share, one in zip(tried, means, strict=True) if one >= max(means) - 1e-9)


def test_steps_and_vectors_are_kept_of_the_model_that_is_saved_with_the_sentences_that_they_are_of(
    place, of_method, monkeypatch
):
    made = of_method("cosent")
    monkeypatch.setattr("explorer.training.loop.folds.PROBED", 5)  # items, of texts that have more
    run = train(new(place, "cosent", **given(made.text, keep_steps=True)))
    chosen = int(run.status().facts.folds.chosen)
    steps = [FOLDS * STEPS + step for step in range(chosen + 1)]
    assert sorted(path.name for path in (run.folder / "steps").iterdir()) == [f"step-{step}" for step in steps]
    sentences = recorder.probe_sentences(run)
    assert {*sentences} == {text for row in made.rows[:5] for text in texts(row)}
    vectors = recorder.probes(run, 1, steps)
    for step, of_step in zip(steps, vectors, strict=True):
        folder = run.folder / "steps" / f"step-{step}"
        expected = load_file(made.plain[0].folder / "steps" / f"step-{step - FOLDS * STEPS}" / "model.safetensors")
        assert all(torch.equal(weight, expected[name]) for name, weight in weights_in(folder).items())
        found = SentenceTransformer(str(folder), device="cpu").encode(sentences, normalize_embeddings=True)
        assert np.allclose(of_step / np.linalg.norm(of_step, axis=1, keepdims=True), found, atol=2e-3)
    assert len([*(run.folder / "probe").glob("*.npy")]) == len(steps)


def weights_in(folder):
    return load_file(folder / "model.safetensors")


def test_as_many_updates_as_epochs_on_the_rows_of_the_smallest_training_and_of_pairs_of_labels_as_they_have(
    place, text, labelled
):
    run = train(new(place, "cosent", **given(text, steps=0, epochs=2, batch_size=8)))
    fewest = 24 - max(fold.rows for fold in run.status().results[0].folds)
    assert {fold.tried[-1] for fold in run.status().results[0].folds} == {2 * (fewest // 8)}
    own = {"steps": 0, "iterations": 1, "batch_size": 8}
    run = train(new(place, "setfit", **given(labelled, **own)))
    fewest = 20 - max(fold.rows for fold in run.status().results[0].folds)
    assert {fold.tried[-1] for fold in run.status().results[0].folds} == {2 * fewest // 8}, "as many pairs"


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """Rows of two classes, of which each two of a class are almost alike, and two are the same text."""
    drawn, lines = random.Random(2), []
    for number in range(20):
        label = "yes" if number % 2 else "no"
        lines.append(f"{label},{' '.join([*['dog'] * (number % 2), *drawn.sample(WORDS, 4)])}")
    lines[4] = lines[0]
    path = tmp_path_factory.mktemp("labelled") / "text.csv"
    path.write_text("\n".join(["label,text", *lines]) + "\n", encoding="utf-8")
    return str(path)


def replayed(place, name, batches, rates, wanted):
    """The classes of rows after each update of a loop by hand: a method on some batches, at some rates."""
    from explorer import optimizers
    from explorer.encoding.tune.tunable import Tunable
    from explorer.methods import sow
    from tests.spoiling import encoder_of

    kind = load(name)
    schedule = kind.schedule.with_values({key: SETTINGS[key] for key in SETTINGS if key != "pooling"})
    sow(1)
    method = kind(Tunable(encoder_of(place.model), 16), {"pooling": "mean"}, ("no", "yes"))
    method.train()
    sow(1 + 0)
    optimizer = method.make_optimizer(method.groups(schedule), schedule)
    found = [finish(method.predicted([wanted]))]
    for number, (batch, rate) in enumerate(zip(batches, rates, strict=True)):
        method(*batch).backward()
        torch.nn.utils.clip_grad_norm_([weight for weight in method.parameters() if weight.requires_grad], 1.0)
        for group in optimizer.param_groups:
            group["lr"], group[optimizers.UPDATE] = rate, number
        optimizer.step()
        optimizer.zero_grad()
        found.append(finish(method.predicted([wanted])))
    return found


def test_labelled_rows_get_the_class_that_a_model_predicts_which_saw_neither_them_nor_their_text(
    place, labelled, monkeypatch
):
    seen = seen_by(monkeypatch)
    run = train(new(place, "classify", **given(labelled, steps=6)))  # each row that a fold leaves is drawn
    rows = [tuple(line.split(",")) for line in Path(labelled).read_text().splitlines()[1:]]
    (result,) = run.status().results
    rates = {fold: [line.rate for line in run.metrics() if isinstance(line, TrainingStep) and line.stage == fold]
             for fold in range(1, FOLDS + 1)}  # fmt: skip
    best, expected = [fold.best for fold in result.folds], {}
    for fold in range(1, FOLDS + 1):
        trained = {text for texts, _ in seen[fold] for text in texts}
        mine = [place for place, (_, text) in enumerate(rows) if text not in trained]
        assert len(mine) == result.folds[fold - 1].rows
        classes = replayed(place, "classify", seen[fold], rates[fold], [rows[row][1] for row in mine])
        scores = [100 * np.mean([one == rows[row][0] for one, row in zip(of_step, mine, strict=True)])
                  for of_step in classes]  # fmt: skip
        assert result.folds[fold - 1].scores == pytest.approx(scores)
        at = low_median(best[: fold - 1] + best[fold:])
        expected |= dict(zip(mine, classes[int(at)], strict=True))
    assert sorted(expected) == list(range(len(rows)))
    lines = predictions_file(run.folder, 1).read_text().splitlines()[1:]
    assert [tuple(line.split("\t")) for line in lines] == [(rows[row][0], expected[row]) for row in range(len(rows))]
    right = [expected[row] == rows[row][0] for row in range(len(rows))]
    assert result.classes.accuracy == result.test == pytest.approx(100 * np.mean(right))


def test_setfit_pairs_no_row_with_one_that_its_fold_holds_out_and_goes_on_after_a_break(place, labelled, monkeypatch):
    with monkeypatch.context() as patch:
        seen = seen_by(patch)
        run = train(new(place, "setfit", **given(labelled, iterations=3, steps=SHORT)))
    texts = [line.split(",")[1] for line in Path(labelled).read_text().splitlines()[1:]]
    trained = {fold: {cell for columns in seen[fold] for column in columns for cell in column} for fold in seen}
    for text in texts:
        assert any(text not in trained[fold] for fold in range(1, FOLDS + 1))
    ends = assert_goes_on(run, (1, SHORT + 2, Phase.TRAINING), (1, FOLDS * SHORT, Phase.EVALUATING_DEV))
    for file in ("model/classifier.safetensors", "predictions/seed-1.tsv"):
        assert (ends.folder / file).read_bytes() == (run.folder / file).read_bytes()
