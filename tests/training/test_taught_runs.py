"""Test runs that learn from translations, or from scores that are columns of their text."""

import math
import random

import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import TranslationEvaluator

from tests import trainings


def test_a_run_on_translations_is_judged_by_which_find_each_other(place, tmp_path):
    columns = [line.split(",")[:2] for line in place.triplets.read_text(encoding="utf-8").splitlines()[1:]]
    files = {use: tmp_path / f"{use} rows.csv" for use in ("train", "dev", "test")}
    for use, rows in zip(files, (columns[:12], columns[12:18], columns[18:]), strict=True):
        files[use].write_text("\n".join(["source,translation", *map(",".join, rows)]), encoding="utf-8")
    text, dev, test = map(str, files.values())
    run = trainings.train(trainings.new(place, "distil-translations", data=(text,), dev=dev, test=test))
    status = run.status()
    assert status.facts.measures == {"dev": "translation accuracy", "test": "translation accuracy"}
    card = (run.model / "README.md").read_text(encoding="utf-8")
    assert "the share of texts and translations × 100 that are nearest to each other" in card
    assert "type: translation" in card
    evaluator = TranslationEvaluator(*map(list, zip(*columns[18:], strict=True)), write_csv=False)
    assert max(status.verdict.test.before, status.verdict.test.after) > 0
    for score, model in ((status.verdict.test.before, place.model), (status.verdict.test.after, run.model)):
        wanted = evaluator(SentenceTransformer(str(model), device="cpu"))["mean_accuracy"]
        assert score == pytest.approx(100 * wanted, abs=1e-9)


def test_a_run_learns_the_scores_of_its_text_and_says_so(place, tmp_path):
    sides = (trainings._phrases(random.Random(seed), 130) for seed in range(3))
    rows = [f"{','.join(row)},{number % 5 / 10},0" for number, row in enumerate(zip(*sides, strict=True))]
    text = tmp_path / "many.csv"
    text.write_text("\n".join(["anchor,positive,negative,pos_score,neg_score", *rows]), encoding="utf-8")
    settings = {"teacher": "column", "select_by": "both", "steps": 4}
    run = trainings.new(place, "margin-mse", data=(str(text),), dev="held-out rows", test=None, settings=settings)
    trainings.train(run)
    assert run.status().state == "finished"
    log = (run.folder / "train.log").read_text(encoding="utf-8")
    assert "the teacher's scores are columns of the text" in log
    assert "scores 0 to 0.4" in log
    assert all(math.isfinite(loss) for loss in trainings.losses(run).values())
