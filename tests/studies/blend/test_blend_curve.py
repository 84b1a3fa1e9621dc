"""Test the curve of blends of a run and its base, what it says, and the export of one, against plain loops."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

from explorer.__main__ import main
from explorer.data import sample
from explorer.encoding.load import hardware
from explorer.errors import BadChoice, RunNotFound, UnsupportedModel
from explorer.progress import finish
from explorer.studies.blend import blend_curve, blending
from tests import exported_meaning, trainings

pytestmark = pytest.mark.device
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@pytest.fixture(scope="module")
def run(place):
    one = trainings.new(place, "simcse", "blended", settings={"learning_rate": 1e-2, "steps": 2})
    trainings.train(one)
    return one


@pytest.fixture(scope="module")
def blended(run, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRATA_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield finish(blending.of_runs([run], SHARES))


def by_hand(place, run, alpha, path):
    """Spearman × 100 of a file of pairs, by a model whose weights transformers alone blends."""
    model, tuned = (AutoModel.from_pretrained(folder, add_pooling_layer=False) for folder in (place.model, run.model))
    other = dict(tuned.named_parameters())
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.copy_(((1 - alpha) * weight.double() + alpha * other[name].double()).float())
    tokenizer = AutoTokenizer.from_pretrained(place.model)
    first, second, gold = trainings.texts_of(path)

    def vectors(sentences):
        with torch.no_grad():
            rows = [model(**tokenizer(one, return_tensors="pt")).last_hidden_state[0].mean(0) for one in sentences]
        return torch.stack(rows)

    return trainings.spearman(vectors(first), vectors(second), gold)


def test_every_point_of_the_curve_is_the_score_of_weights_that_are_blended_by_hand(place, run, blended):
    _, curve = blended
    assert curve.shares == SHARES
    for use, path in (("dev", place.dev), ("test", place.test)):
        expected = [by_hand(place, run, alpha, path) for alpha in SHARES]
        assert np.allclose(list(curve.scores(use).values()), expected, atol=0.05), use


def test_the_ends_are_the_scores_that_the_run_recorded(run, blended):
    models, curve = blended
    assert models.base.device == hardware.best_device()  # where the run was trained and scored
    for use, verdict in run.status().verdict.by_use.items():
        assert curve.scores(use)[1.0] == pytest.approx(verdict.after, abs=1e-4)
        assert curve.judges[use].score(curve.before[use]) == pytest.approx(verdict.before, abs=1e-4)


def test_the_best_share_has_the_highest_dev_score_and_is_judged_on_the_test_set(blended):
    _, curve = blended
    scores = curve.scores("dev")
    assert scores[curve.best] == max(scores.values())
    told = blend_curve.as_json(curve)
    assert told["best"] == told["alpha"] == curve.best
    test = told["sets"]["test"]
    at = told["alphas"].index(curve.best)
    assert test["to_base"]["difference"] == pytest.approx(test["scores"][at] - test["base"], abs=2e-4)
    assert test["to_tuned"]["difference"] == pytest.approx(test["scores"][at] - test["scores"][-1], abs=2e-4)
    assert f"{curve.best:g}*" in blend_curve.as_text(curve)


def test_without_a_dev_score_the_base_is_the_best(blended):
    _, curve = blended
    silent = {alpha: {**items, "dev": np.ones_like(items["dev"])} for alpha, items in curve.points.items()}
    assert replace(curve, points=silent).best == 0.0


def test_what_is_measured_is_not_encoded_again(run, blended, monkeypatch):
    monkeypatch.setattr(blending.model_names, "find", None)
    models, curve = blended
    monkeypatch.setattr(type(models), "at", None)  # a blend would be made to be encoded
    again = finish(blend_curve.curve(models, curve.judges, SHARES))
    assert [again.scores(use) for use in curve.sets] == [curve.scores(use) for use in curve.sets]


def test_an_exported_blend_is_the_same_model_in_sentence_transformers_and_scores_the_same(place, blended, tmp_path):
    models, curve = blended
    folder = tmp_path / "blend"
    finish(blending.export(models, curve, 0.5, folder))
    first, second, gold = trainings.texts_of(place.test)
    library = SentenceTransformer(str(folder), device="cpu")
    sides = (library.encode(texts, convert_to_tensor=True) for texts in (first, second))
    assert trainings.spearman(*sides, gold) == pytest.approx(curve.scores("test")[0.5], abs=1e-3)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "with α = 0.5" in card
    assert f"{curve.scores('test')[0.5]:.2f}" in card


@pytest.fixture(scope="module")
def scored(place, tmp_path_factory):
    """A run with enough pairs to say what a cosine means, and its blends."""
    halves = sample.dev().name, sample.test().name
    one = trainings.new(
        place, "simcse", "scored", dev=halves[0], test=halves[1], settings={"learning_rate": 1e-2, "steps": 2}
    )
    trainings.train(one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRATA_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield one, *finish(blending.of_runs([one], (0.5,)))


def test_an_export_says_what_its_cosines_mean_by_the_sets_of_the_run(scored, tmp_path):
    run, models, curve = scored
    folder = tmp_path / "blend"
    work = blending.export(models, curve, 0.5, folder)
    assert "what cosines mean at α = 0.5" in next(work).text
    work.close()
    assert not list(tmp_path.iterdir()), "what is stopped leaves nothing"
    finish(blending.export(models, curve, 0.5, folder))
    known = exported_meaning.check(folder, sample.dev(), sample.test())
    assert known["model"] == "run:scored blended with tiny (α = 0.5)"
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "## What a cosine means" in card
    assert "| cosine | base | this model |" in card
    of_run = json.loads((run.model / "similarity.json").read_text(encoding="utf-8"))
    finish(blending.export(models, curve, 1.0, tmp_path / "tuned"))
    tuned = json.loads((tmp_path / "tuned" / "similarity.json").read_text(encoding="utf-8"))
    before, after = (brier(one["before"]) for one in (known, of_run)), (brier(one) for one in (tuned, of_run))
    for one, other in (before, after):
        assert one == pytest.approx(other, abs=1e-5)
    assert brier(known) != pytest.approx(brier(tuned), abs=1e-5), "it is another model"
    places = [one["random_pairs"]["cosine"] for one in (tuned, of_run)]
    assert places[0] == pytest.approx(places[1], abs=1e-5)


def brier(known):
    return known["reliability"]["logistic"]["brier_score"]


def test_the_command_says_the_curve_and_writes_a_blend(run, blended, tmp_path, capsys, monkeypatch):
    _, curve = blended
    folder = tmp_path / "blend"
    assert main(["blend", str(run.folder), "--points", "5", "--alpha", "0.25", "--export", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == blend_curve.as_json(curve, 0.25)
    assert "α = 0.25" in (folder / "README.md").read_text(encoding="utf-8")
    assert main(["blend", str(run.folder), "--export", str(folder)]) == 1
    assert "exists already and is not overwritten" in capsys.readouterr().err
    assert main(["blend", str(run.folder), "--dev", "STS-B dev"]) == 1
    assert "--dev needs --base" in capsys.readouterr().err


@pytest.mark.usefixtures("blended")
@pytest.mark.parametrize(
    "typed", ["0.30000001", "0.3333333333333333", "1e-7", "0.9999999", ".123456789", "5e-1", "0", "1.0", "0.0000005"]
)
def test_any_share_that_is_typed_is_that_of_six_decimals(run, capsys, tmp_path, typed):
    folder = tmp_path / "blend"
    assert main(["blend", str(run.folder), "--points", "2", "--alpha", typed, "--json", "--export", str(folder)]) == 0
    told = json.loads(capsys.readouterr().out)
    alpha = round(float(typed), 6)
    assert told["alpha"] == alpha
    at, test = told["alphas"].index(alpha), told["sets"]["test"]
    assert test["to_base"]["difference"] == pytest.approx(test["scores"][at] - test["base"], abs=2e-4)
    assert f"with α = {alpha:g}" in (folder / "README.md").read_text(encoding="utf-8")
    assert main(["blend", str(run.folder), "--points", "2", "--alpha", typed]) == 0
    assert f"{alpha:g}*" in capsys.readouterr().out


def test_a_curve_knows_a_share_however_it_is_written(blended):
    models, curve = blended
    for alpha in np.random.default_rng(0).uniform(size=20):
        found = finish(blend_curve.curve(models, {"dev": curve.judges["dev"]}, [alpha]))
        assert found.against_base("dev", alpha) == found.against_base("dev", round(alpha, 6))
        assert found.learned(alpha).score.after == found.scores("dev")[round(alpha, 6)]


def test_any_two_models_are_blended_and_scored_like_a_run(place, run, blended):
    _, curve = blended
    ends = str(place.model), [str(run.model)]
    _, again = finish(blending.of_models(*ends, str(place.dev), [str(place.test)], SHARES))
    assert all(again.scores(use) == curve.scores(use) for use in ("dev", "test"))
    assert again.learned(0.5).score.after == again.scores("test")[0.5]


def test_a_stored_blend_says_what_it_is_made_of_and_is_written_once(place, run, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    folder = finish(blending.stored(str(place.model), str(run.model), 0.5))
    ends = blending.ends_of(folder)
    assert (ends.base, ends.tuned, ends.alpha) == (str(place.model), str(run.model), 0.5)
    assert blending.ends_of(run.model) is None
    written = (folder / "README.md").stat().st_mtime_ns
    assert finish(blending.stored(str(place.model), str(run.model), 0.5)) == folder
    assert (folder / "README.md").stat().st_mtime_ns == written
    monkeypatch.setattr(blending, "MOST_STORED", 1)
    assert finish(blending.stored(str(place.model), str(run.model), 0.25)).is_dir()
    assert not folder.exists()


def test_the_mean_of_two_runs_is_blended_and_runs_of_two_bases_are_refused(place, run, blended, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    other = trainings.new(place, "simcse", "second", seeds=(2,), settings={"learning_rate": 1e-2, "steps": 2})
    trainings.train(other)
    models, curve = finish(blending.of_runs([run, other], (1.0,)))
    weights = [trainings.weights(one) for one in (run, other)]
    for name, weight in models.at(1.0).model.named_parameters():
        assert torch.allclose(weight, (weights[0][name] + weights[1][name]) / 2, atol=1e-6), name
    assert curve.tuned == ("run:blended", "run:second")


def test_what_cannot_be_blended_is_refused(place, run):
    waiting = trainings.new(place, "simcse", "waiting")
    with pytest.raises(RunNotFound, match="'waiting' has no model to blend: it is waiting"):
        finish(blending.of_runs([waiting], SHARES))
    with pytest.raises(BadChoice, match=r"α = 1.5 is not between 0"):
        finish(blending.of_runs([run], (1.5,)))
    for points in (1, 102):
        with pytest.raises(BadChoice, match=f"points cannot be {points}. Choose a whole number from 2 to 101"):
            blending.BlendOptions(points=points)
    attentive = trainings.new(place, "layer-attention", "attentive")
    trainings.train(attentive)
    with pytest.raises(UnsupportedModel, match="the pooling of the other has weights that the one lacks"):
        finish(blending.of_runs([attentive], SHARES))
