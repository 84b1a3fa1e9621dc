"""Test runs on pairs with two labels: judged by average precision, and what a product needs of them."""

import random
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sklearn.metrics import average_precision_score

from explorer.errors import CannotResume
from explorer.measuring.scores.in_use import AtRecall, in_use
from explorer.measuring.scores.metrics import AVERAGE_PRECISION
from explorer.progress import Phase
from explorer.run_folder import Evaluation
from explorer.training.loop import resume_state
from explorer.training.record import recorder
from tests.training.unbroken import break_off_at
from tests.trainings import WORDS, new, train


def labelled(folder, name, count, seed):
    """Pairs that share some of six words: those that share three or more have label 1."""
    drawn, lines = random.Random(seed), ["label,sentence1,sentence2"]
    for number in range(count):
        words, others = drawn.sample(WORDS, 6), drawn.sample(WORDS, 6)
        shared = number % 6
        lines.append(f"{int(shared > 2)},{' '.join(words)},{' '.join(words[:shared] + others[shared:])}")
    path = folder / name
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def asked(place, tmp_path_factory):
    """The recipe of a run whose text, dev set and test set have two labels."""
    folder = tmp_path_factory.mktemp("labels")
    names = (("text.csv", 30, 1), ("dev.csv", 60, 2), ("test.csv", 90, 3))
    data, dev, test = (labelled(folder, *one) for one in names)
    about = {"columns": {"first": "sentence1", "second": "sentence2", "score": "label"}}
    return lambda: new(place, "cosent", data=(data,), dev=dev, test=test, settings={"steps": 6}, **about)


@pytest.fixture(scope="module")
def run(asked):
    return train(asked())


def cosines_of(model, path):
    """Labels, and the cosines by sentence-transformers."""
    rows = [line.split(",") for line in Path(str(path)).read_text(encoding="utf-8").splitlines()[1:]]
    encoder = SentenceTransformer(str(model), device="cpu")
    one, other = (encoder.encode([row[side] for row in rows], normalize_embeddings=True) for side in (1, 2))
    return np.array([float(row[0]) for row in rows]), (one.astype(np.float64) * other).sum(axis=1)


def test_two_labels_are_judged_by_average_precision_which_also_chooses_the_checkpoint(place, run):
    recipe, status = run.recipe(), run.status()
    assert status.facts.measures == {"dev": AVERAGE_PRECISION, "test": AVERAGE_PRECISION}
    (result,) = status.results
    for model, score in ((place.model, "before"), (run.model, "after")):
        for use, path in (("test", recipe.test), ("dev", recipe.dev)):
            theirs = 100 * average_precision_score(*cosines_of(model, path))
            assert getattr(getattr(status.verdict, use), score) == pytest.approx(theirs, abs=1e-2), (use, score)
    scores = {line.step: line.dev for line in run.metrics() if isinstance(line, Evaluation)}
    del scores[0]
    assert scores[result.best_step] == max(scores.values())
    assert "cosine_ap" in (run.model / "README.md").read_text(encoding="utf-8")


def test_the_items_of_base_and_model_are_kept_for_what_a_product_needs(place, run):
    kept = recorder.in_use(run, run.recipe().seeds[0])
    for side, model in (("before", place.model), ("after", run.model)):
        for use in ("dev", "test"):
            labels, cosines = cosines_of(model, getattr(run.recipe(), use))
            assert kept[f"{use} match"] == pytest.approx(labels)
            assert kept[f"{use} cosine {side}"] == pytest.approx(cosines, abs=1e-5)
    assert isinstance(in_use(kept), AtRecall)


def test_a_run_whose_checkpoints_were_chosen_by_another_measure_is_not_resumed(asked):
    run = asked()
    break_off_at(run, 1, 3, Phase.TRAINING)
    state = resume_state.load(run.folder / "state")
    assert state.notes["measure"] == AVERAGE_PRECISION
    notes = {name: value for name, value in state.notes.items() if name != "measure"}
    resume_state.save(run.folder / "state", resume_state.State(state.tensors, notes))
    with pytest.raises(CannotResume, match="chosen by Spearman, and pairs with two labels are now scored by average"):
        train(run)
