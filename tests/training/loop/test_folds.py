"""Test cross-fitting by hand: each fold is trained again as a run of its own, and its rows are judged row by row."""

import json
import random
import shutil
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from explorer.data.sources import CROSS_FITTED
from explorer.errors import BadChoice, TooFewRows
from explorer.measuring.comparing.nothing_learned import IN_FOLDS
from explorer.methods import load
from explorer.progress import Phase, finish
from explorer.run_folder import Evaluation, TrainingStep, predictions_file
from explorer.training import running
from explorer.training.loop.estimate import try_out
from explorer.training.loop.learner import SHARES, Learner
from explorer.training.record import recorder, runs
from explorer.training.record.runs import KEEP
from explorer.training.record.status import STOPPED
from tests.training.unbroken import assert_goes_on, assert_same
from tests.trainings import WORDS, new, recipe, solved_pairs, train, weights

FOLDS, STEPS = 3, 6
# every epoch has all rows that a fold leaves: 16, in batches of 4
SETTINGS = {"steps": STEPS, "batch_size": 4, "evaluate_every": 1, "learning_rate": 3e-3, "pooling": "mean"}
METHODS = {"cosent": "score,sentence1,sentence2", "contrast": "query,passage",
           "contrast-hard": "anchor,positive,negative"}  # fmt: skip


def rows_of(method: str, count: int = 24) -> list[tuple[str, ...]]:
    """Rows of which each two share their first sentence; of pairs, so that a query has two passages."""
    drawn, found = random.Random(6), []
    for number in range(count):
        first = found[-1][-2 if method == "contrast" else -3] if number % 2 and method == "contrast-hard" else ""
        words = drawn.sample(WORDS, 6)
        first = first or (found[-1][1 if method == "cosent" else 0] if number % 2 else " ".join(words))
        second = " ".join((*first.split()[: 1 + number % 5], *drawn.sample(WORDS, 3)))
        row = {"cosent": (f"{number % 5}", first, second), "contrast": (first, second)}
        found.append(row.get(method, (first, second, " ".join(drawn.sample(WORDS, 6)))))
    return found


def written(path: Path, method: str, rows: list[tuple[str, ...]]) -> str:
    path.write_text("\n".join([METHODS[method], *map(",".join, rows)]) + "\n", encoding="utf-8")
    return str(path)


def given(text: str, **settings) -> dict:
    return {"data": (text,), "dev": CROSS_FITTED, "test": CROSS_FITTED, "folds": FOLDS,
            "settings": SETTINGS | settings}  # fmt: skip


def seen_by(patch: pytest.MonkeyPatch) -> dict[int, list]:
    """The columns of each batch that is trained on, by the fold it is of; 0 is that of all rows."""
    seen, update = defaultdict(list), Learner.update

    def watched(learner):
        gradients = learner.gradients

        def of_batch(columns, share=1.0):
            seen[learner.prepared.fold].append(columns)
            return gradients(columns, share)

        learner.gradients = of_batch
        update(learner)
        del learner.gradients

    patch.setattr(Learner, "update", watched)
    return seen


def in_rows(batches) -> set[tuple[str, ...]]:
    """The rows of some batches, by their sentences."""
    return {
        tuple(cell for cell in row if isinstance(cell, str))
        for columns in batches
        for row in zip(*columns, strict=True)
    }


@pytest.fixture(scope="module")
def of_method(place, tmp_path_factory):
    """Of a method a run in folds, what each training saw, and each fold again as a plain run on the rows it saw."""

    @cache
    def made(method: str) -> SimpleNamespace:
        folder, rows = tmp_path_factory.mktemp("folds"), rows_of(method)
        text = written(folder / "text.csv", method, rows)
        with pytest.MonkeyPatch.context() as patch:
            seen = seen_by(patch)
            run = train(new(place, method, **given(text)))
        plain = {}
        for fold in range(FOLDS + 1):
            own = [row for row in rows if not fold or texts(row) in in_rows(seen[fold])]
            data = written(folder / f"fold-{fold}.csv", method, own)
            plain[fold] = train(new(place, method, data=(data,), test=None, settings=SETTINGS | {"keep_steps": True}))
        return SimpleNamespace(method=method, rows=rows, text=text, run=run, seen=seen, plain=plain)

    return made


@pytest.fixture(scope="module", params=METHODS)
def made(request, of_method):
    return of_method(request.param)


def texts(row: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(cell for cell in row if not cell.isdigit())


def held(made, fold: int) -> list[int]:
    """The rows that the training of a fold did not see."""
    return [place for place, row in enumerate(made.rows) if texts(row) not in in_rows(made.seen[fold])]


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


def low_median(values):
    return sorted(values)[(len(values) - 1) // 2]


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
    assert test.exported == pytest.approx(score_by_hand(made, dict(sorted(expected.items()))), abs=0.01)
    assert (result.dev, result.test) == (None, test.exported), (
        "the rows that choose and those that judge are no dev set"
    )
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
    changes = {"early_stop": "no new best", "endurance": 2}
    run = train(new(place, "cosent", **given(made.text, **changes)))
    (result,) = run.status().results
    for before, fold in zip(made.run.status().results[0].folds, result.folds, strict=True):
        scores = before.scores[1:]
        ends = [at for at in range(3, STEPS + 1) if scores.index(max(scores[:at])) < at - 2]
        assert fold.tried == tuple(range(min(ends, default=STEPS) + 1))
    updates = [line.step for line in run.metrics() if isinstance(line, TrainingStep) and line.stage == FOLDS + 1]
    assert len(updates) == run.status().facts.folds.chosen
    assert any(len(fold.tried) <= STEPS for fold in result.folds), "the premise: one stops early"
    assert run.status().facts.folds.chosen > 2, "the premise: more than the evaluations without a score that end it"


@pytest.fixture(scope="module")
def text(of_method):
    """A file of scored pairs."""
    return of_method("cosent").text


@pytest.fixture(scope="module")
def whole(place, text):
    """A run of two seeds that nobody touched."""
    return train(new(place, "cosent", seeds=(1, 2), **given(text)))


@pytest.fixture(scope="module")
def shared(place, of_method):
    """A run whose folds choose the share of the tuned weights."""
    made = of_method("cosent")
    run = train(new(place, "cosent", **given(made.text, blend=0.0, keep_base=True)))
    return SimpleNamespace(**vars(made) | {"run": run})


def blended(place, plain, share):
    """The base and the last step of a run, blended weight by weight."""
    base = load_file(place.model / "model.safetensors")
    tuned = load_file(plain.folder / "steps" / f"step-{STEPS}" / "model.safetensors")
    return {
        name: (1 - share) * base[name].double() + share * weight.double() if name in base else weight
        for name, weight in tuned.items()
    }


def test_where_a_share_is_chosen_each_row_is_judged_by_the_blend_at_the_median_of_the_other_folds(place, shared):
    (result,) = shared.run.status().results
    tried = (0.0, *SHARES)
    sentences = sorted({text for row in shared.rows for text in texts(row)})
    items = {}
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
    best = [fold.best for fold in result.folds]
    expected = {}
    for fold in range(1, FOLDS + 1):
        others = best[: fold - 1] + best[fold:]
        expected |= items[fold, low_median(others)]
    assert recorder.items(shared.run, 1) == pytest.approx([expected[row] for row in sorted(expected)], abs=1e-4)
    chosen = low_median(best)
    assert (result.blend, shared.run.status().facts.blend, shared.run.status().facts.folds.chosen) == (chosen,) * 3
    for name, weight in blended(place, shared.plain[0], chosen).items():
        assert torch.allclose(weights(shared.run)[name].double(), weight.double(), atol=1e-6), name
    assert chosen > 0, "the premise: something is learned"


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


def test_the_best_checkpoint_of_a_fold_is_not_said_to_be_that_of_the_run(whole):
    status = whole.status()
    assert (status.best, status.best_step) == (None, None)
    assert [(one.best_step, one.dev_at_best_step) for one in status.results] == [(None, None)] * 2


FOLD, TRAINING, LOOK, BEST = Phase.EVALUATING_HELD_OUT, Phase.TRAINING, Phase.EVALUATING_DEV, Phase.EVALUATING_BEST


def last_step(run) -> int:
    return int(run.status().results[0].steps)


@pytest.mark.parametrize("kind", ["whole", "shared"])
def test_a_run_that_is_broken_off_in_a_fold_between_folds_or_in_the_last_training_ends_the_same(kind, request):
    made = request.getfixturevalue(kind)
    run = made if kind == "whole" else made.run
    places = [(1, 1, TRAINING), (1, STEPS, LOOK), (1, STEPS + 3, TRAINING), (1, FOLDS * STEPS, LOOK)]
    places += [(1, FOLDS * STEPS + 1, TRAINING), (1, last_step(run), BEST)]
    places += [(1, STEPS, FOLD, FOLD), (1, 2 * STEPS, FOLD, TRAINING)] * (kind == "shared")
    if kind == "whole":
        places += [(2, 2 * STEPS, LOOK), (2, FOLDS * STEPS + 1, TRAINING)]
    ends = assert_goes_on(run, *sorted(places, key=lambda place: place[:2]))
    assert np.array_equal(recorder.items(ends, 1), recorder.items(run, 1))
    assert ends.status().facts.folds == run.status().facts.folds


@pytest.mark.parametrize("save_every", [60.0, 0.0], ids=["saved between folds", "saved at every step"])
@pytest.mark.parametrize("step", [2, STEPS, STEPS + 2, FOLDS * STEPS + 1])
def test_a_run_whose_process_is_killed_goes_on_from_what_is_on_disk_and_ends_the_same(
    place, of_method, save_every, step, monkeypatch
):
    monkeypatch.setattr("explorer.training.loop.loop.SAVE_EVERY", save_every)
    made = of_method("cosent")
    run = new(place, "cosent", **given(made.text))
    work = running.train(run)
    while next(work).stage is not TRAINING or run.status().step < step:
        pass
    killed = shutil.copytree(run.folder, place.runs / f"{run.name}-killed")  # as it is between two steps
    work.close()
    run.delete()
    train(runs.Run(killed))
    assert_same(runs.Run(killed), made.run)
    assert np.array_equal(recorder.items(runs.Run(killed), 1), recorder.items(made.run, 1))
    runs.Run(killed).delete()


def test_of_several_seeds_the_first_is_kept_since_the_rows_that_judge_them_choose_none(whole):
    first, second = whole.status().results
    assert (first.seed, second.seed) == (1, 2)
    assert whole.status().verdict == first.verdict
    assert first.verdict != second.verdict


def stopped_at(run, step):
    def ask(progress):
        if (progress.stage, progress.done) == (TRAINING, step):
            run.request_stop(KEEP)

    train(run, ask)
    assert run.status().state == STOPPED


def test_stop_in_a_fold_keeps_no_model_in_the_last_training_the_one_so_far_and_both_go_on(place, text, of_method):
    run = runs.new(recipe(place, "cosent", **given(text)), "", place.runs)
    stopped_at(run, STEPS + 2)
    assert not run.has_model
    stopped_at(run, FOLDS * STEPS + 1)
    assert run.has_model
    assert run.status().verdict.test.exported is None, "no row is judged by all folds' choice before the run is over"
    train(run)
    assert_same(run, of_method("cosent").run)


def test_the_base_is_saved_and_nothing_was_learned_where_it_is_best_in_most_folds(place, tmp_path):
    text = solved_pairs(place, tmp_path / "solved.csv", 18)
    run = train(new(place, "cosent", **given(str(text), learning_rate=1e-2, keep_base=True)))
    (result,) = run.status().results
    below = sum(fold.scores[0] > max(fold.scores[1:]) for fold in result.folds)
    nothing = run.status().facts.nothing
    assert below * 2 > FOLDS, "the premise"
    assert (nothing.why, nothing.evaluations, nothing.items) == (IN_FOLDS, below, FOLDS)
    base = load_file(place.model / "model.safetensors")
    assert all(torch.equal(weight, weights(run)[name]) for name, weight in base.items())
    assert run.status().verdict.test.difference is None


def test_the_estimate_counts_every_fold_and_the_training_on_all_rows_of_each_seed(place, text):
    found = finish(try_out(recipe(place, "cosent", seeds=(1, 2), **given(text))))
    assert found.steps == 2 * (FOLDS + 1) * STEPS
    assert found.folds == FOLDS
    assert f"for {FOLDS} folds and all rows" in found.words
    least = found.step_seconds * found.steps
    assert least < found.seconds
    one = finish(try_out(recipe(place, "cosent", **given(text))))
    assert one.steps * 2 == found.steps


def test_as_many_updates_as_epochs_on_the_rows_of_the_smallest_training_and_of_pairs_of_labels_as_they_have(
    place, text, labelled
):
    run = train(new(place, "cosent", **given(text, steps=0, epochs=2)))
    fewest = 24 - max(fold.rows for fold in run.status().results[0].folds)
    assert {fold.tried[-1] for fold in run.status().results[0].folds} == {2 * (fewest // 4)}
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
    run = train(new(place, "classify", **given(labelled)))
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
        run = train(new(place, "setfit", **given(labelled, iterations=3)))
    texts = [line.split(",")[1] for line in Path(labelled).read_text().splitlines()[1:]]
    trained = {fold: {cell for columns in seen[fold] for column in columns for cell in column} for fold in seen}
    for text in texts:
        assert any(text not in trained[fold] for fold in range(1, FOLDS + 1))
    ends = assert_goes_on(run, (1, STEPS + 2, TRAINING), (1, FOLDS * STEPS, LOOK))
    for file in ("model/classifier.safetensors", "predictions/seed-1.tsv"):
        assert (ends.folder / file).read_bytes() == (run.folder / file).read_bytes()


def few(tmp_path, *lines):
    path = tmp_path / "few.csv"
    path.write_text("\n".join(["score,sentence1,sentence2", *lines]) + "\n", encoding="utf-8")
    return str(path)


def test_rows_that_all_share_sentences_or_leave_a_fold_without_a_batch_are_refused_before_the_first_update(
    place, tmp_path
):
    linked = few(tmp_path, *(f"{number},a dog {number},a dog {number + 1}" for number in range(6)))
    with pytest.raises(TooFewRows, match=r"The 6 rows of few\.csv cannot be divided .* name another dev set and test"):
        train(new(place, "cosent", **given(linked)))
    # of four rows three are linked: the model that judges these has one to train on
    uneven = few(tmp_path, "1,a dog,a man", "2,a dog,a train", "3,a train,the park", "0,no,red ball")
    run = new(place, "cosent", **given(uneven, batch_size=2))
    message = r"few\.csv without the rows of fold \d of 2 has 1 row to train on, but a batch takes 2\. Use more rows\."
    with pytest.raises(TooFewRows, match=message):
        train(run)
    assert run.metrics() == []
    with pytest.raises(TooFewRows, match=message):
        finish(try_out(recipe(place, "cosent", **given(uneven, batch_size=2))))


@pytest.mark.parametrize(
    ("method", "changes", "message"),
    [
        ("cosent", {"dev": "dev.csv"}, "dev cannot be 'dev.csv' where a test set is 'cross-fitted rows'.*Set dev to"),
        (
            "simcse",
            {},
            "simcse trains on sentences, which cannot be judged by themselves. Choose a set of scored pairs",
        ),
        ("whitening", {}, "whitening trains on sentences, which cannot be judged"),
        ("sbert-nli", {}, "sbert-nli trains on labelled texts, which cannot be judged"),
        ("contrast-hard", {"settings": {"select_by": "both"}}, "select_by cannot be 'both' with .* Set it to dev"),
        ("cosent", {"folds": 1}, "folds cannot be 1"),
        ("cosent", {"folds": 21}, "folds cannot be 21"),
    ],
)
def test_what_cannot_be_cross_fitted_is_refused_with_what_to_do(place, method, changes, message):
    with pytest.raises(BadChoice, match=message):
        recipe(place, method, **({"dev": CROSS_FITTED, "test": CROSS_FITTED} | changes))


def test_stages_cannot_be_cross_fitted(place, text):
    from explorer.training.recipe import Stage

    with pytest.raises(BadChoice, match="cannot be used with stages: each fold would need a model of every stage"):
        recipe(place, "cosent", **given(text), stages=(Stage("tsdae", (text,)),))


def test_status_and_card_name_the_folds(whole):
    facts = whole.status().facts.folds
    assert facts.words in json.loads((whole.folder / "status.json").read_text())["facts"].get("folds", {}).get(
        "words", facts.words
    )
    card = " ".join((whole.folder / "README.md").read_text().split())
    assert f"{FOLDS} folds: each of the 24 rows is judged by a model that was not trained on it" in card
    looked = [line for line in whole.metrics() if isinstance(line, Evaluation) and line.number == 1]
    assert {line.stage for line in looked} == set(range(1, FOLDS + 2))
    assert all(line.dev is None for line in looked if line.stage == FOLDS + 1), "its rows are trained on"
