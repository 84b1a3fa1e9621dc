"""Test runs that leave the model as it was: the base is kept, and every place says so and why."""

import json

import numpy as np
import pytest
import torch
from scipy.stats import norm

from explorer.data.tables import text_rows
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.encoding.read.pooling import OWN
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.measuring.comparing import headline, learned
from explorer.measuring.comparing.nothing_learned import (
    BELOW,
    NO_GRADIENT,
    NO_RATE,
    STOPPED,
    TIED,
    NothingLearned,
    excluded_gain,
)
from explorer.measuring.scores.bootstrap import difference
from explorer.measuring.scores.layer_scores import score_layers
from explorer.measuring.scores.verdict import UNLEARNED
from explorer.methods import load
from explorer.progress import Phase, finish
from explorer.training.loop.learner import Learner
from explorer.training.loop.preparing import prepare
from explorer.training.loop.processes import World
from explorer.training.loop.training_facts import why_nothing_learned
from explorer.training.record.runs import KEEP
from tests.device import DEVICE
from tests.trainings import learner, looks, new, recipe, solved_pairs, train, weights

HARD = {"steps": 4, "learning_rate": 1e-2, "keep_base": True}


@pytest.fixture(scope="module")
def solved(place, tmp_path_factory):
    """Pairs whose gold scores are the cosines of the base, which therefore has a Spearman of 100 on them."""
    return solved_pairs(place, tmp_path_factory.mktemp("solved") / "solved.csv")


@pytest.fixture(scope="module")
def below(place, solved):
    return train(new(place, "simcse", "below", dev=str(solved), settings={**HARD, "pooling": "mean"}))


def test_the_base_is_kept_to_the_bit_where_every_evaluation_is_below_it(below, place):
    scores = looks(below)
    assert all(score < scores[0] for step, score in scores.items() if step), "else the test tests nothing"
    before = loading.load(model_names.find(str(place.model)), precision="float32", device="cpu").model.state_dict()
    now = weights(below)
    assert before.keys() <= now.keys(), "the saved model has a pooler, too, which nothing uses"
    assert all(torch.equal(weight, now[name]) for name, weight in before.items())


def test_status_card_and_output_say_that_nothing_was_learned_and_why(below):
    status = below.status()
    found = status.learned
    assert (found.kind, found.score, found.packs, found.elsewhere) == (UNLEARNED, None, (), ())
    assert status.facts.nothing is not None
    assert (status.facts.nothing.why, status.facts.nothing.evaluations) == (BELOW, len(looks(below)) - 1)
    assert status.facts.nothing.base == pytest.approx(looks(below)[0])
    assert status.facts.nothing.best == pytest.approx(max(score for step, score in looks(below).items() if step))
    line = headline.line(found)
    assert line is not None
    assert line.text.startswith("Nothing was learned: ")
    assert headline.short(found) == "Nothing was learned"
    assert learned.as_json(found)["kind"] == UNLEARNED
    assert line.text in " ".join(
        (below.folder / "README.md").read_text("utf-8").replace("**", "").replace("\\", "").split()
    )
    verdict = status.verdict
    assert verdict.test.after == verdict.test.before_as_trained
    assert verdict.test.difference is None, "0.00 of two equal models is no result of a test"
    assert json.loads(json.dumps(status.as_json()))["facts"]["nothing"]["why"] == BELOW


def excluded_by_hand(gold, base, tried):
    """The largest upper end of the intervals of what was tried, as wide as Bonferroni has it."""
    gaps = [difference(gold, base, other) for other in tried]
    wider = norm.ppf(1 - 0.025 / len(gaps)) / norm.ppf(0.975)
    return max(0.0, *(float(gap.difference + wider * (gap.high - gap.difference)) for gap in gaps))


def test_a_gain_beyond_every_interval_of_what_was_tried_is_excluded():
    texts = tuple(map(str, range(60)))
    random = np.random.default_rng(0)
    judge = PairJudge(GradedPairs("own", texts, texts[::-1], tuple(random.uniform(size=60)), ("",) * 60))
    base, *tried = random.uniform(size=(4, 60))
    assert excluded_gain(judge, base, tried) == pytest.approx(excluded_by_hand(judge.gold, base, tried))
    assert excluded_gain(judge, judge.gold, tried) == 0.0, "each of them is certainly worse"
    assert excluded_gain(judge, base, []) is None
    assert excluded_gain(judge, base, [np.full(60, np.nan)]) is None


def test_a_run_states_the_gain_that_the_models_of_its_steps_exclude(place, solved, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    run = train(
        new(place, "simcse", "kept-below", dev=str(solved), settings={**HARD, "keep_steps": True, "pooling": "mean"})
    )
    dev = text_rows.read_graded_pairs(solved)[0]
    cosines = [
        finish(score_layers(loading.load(model_names.find(f"run:kept-below@step-{step}"), "float32"), dev)).cosines_of(
            OWN
        )
        for step in sorted(looks(run))
    ]
    nothing = run.status().facts.nothing
    wanted = excluded_by_hand(np.array(dev.gold), cosines[0], cosines[1:])
    assert nothing.excluded == pytest.approx(wanted, abs=1e-2)
    assert nothing.reason in (run.folder / "README.md").read_text("utf-8").replace("**", "").replace("\\", "")


@pytest.mark.parametrize(("excluded", "shown"), [(0.0, "0.0"), (0.81, "0.9"), (1.2, "1.2"), (None, None)])
def test_an_excluded_gain_is_rounded_upwards_and_a_missing_one_not_stated(excluded, shown):
    text = NothingLearned(BELOW, 3, 80.0, 79.0, "Sample pairs", 240, excluded).reason
    assert ("is excluded" in text) == (shown is not None)
    assert shown is None or f"; a gain of more than {shown} points is excluded (95 %)" in text
    named = NothingLearned(BELOW, 3, 80.0, 79.0, "Sample pairs", 240, excluded, "Pearson").reason
    assert shown is None or f"a gain of more than {shown} Pearson is excluded" in named


def test_the_best_trained_checkpoint_is_kept_where_the_base_may_not_be_best(place, solved):
    run = train(new(place, "simcse", dev=str(solved), settings={**HARD, "pooling": "mean", "keep_base": False}))
    trained = {step: score for step, score in looks(run).items() if step}
    assert run.status().best_step == max(trained, key=trained.get)
    assert run.status().facts.nothing is None
    assert run.status().learned.kind != UNLEARNED


def test_of_equal_scores_the_last_is_kept_and_the_page_says_so(place):
    one = learner(place, "simcse", keep_base=True)
    for step, score in enumerate((50.0, 60.0, 60.0, 59.0, 60.0 + 1e-12)):
        one.step = step
        one.record_score(score)
    assert one.best_step == 4
    assert one.ties is not None
    assert (one.ties.evaluations, one.ties.by_loss) == (3, False)
    assert "the last was kept" in one.ties.words


def test_of_equal_scores_the_one_with_the_lower_loss_on_held_out_rows_is_kept(place):
    """Held-out rows of pairs give a loss: a checkpoint that was damaged afterwards loses the tie."""
    made = _with_held_out_rows(place)
    made.record_score(50.0)
    made.step = 1
    assert made.record_score(60.0)
    kept = made.held_out_loss()
    assert kept is not None
    _make_worse(made)
    made.step = 2
    assert not made.record_score(60.0)
    assert (made.best_step, made.by_loss) == (1, True)
    made.restore_best()
    assert made.held_out_loss() == pytest.approx(kept, rel=1e-6), "nothing of the method was changed meanwhile"


def _make_worse(made):
    """Draw other weights, of which the loss on held-out rows is higher."""
    before = made.held_out_loss()
    for seed in range(50):
        random = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for weight in made.names:
                weight.copy_(torch.randn(weight.shape, generator=random))
        if made.held_out_loss() > before:
            return
    raise AssertionError("none of fifty drawn models is worse")


def _with_held_out_rows(place):
    made = recipe(place, "contrast", dev="held-out rows", test=None)
    return Learner(finish(prepare(made)), 1, World("float32", DEVICE))


def test_a_tie_with_the_base_goes_to_the_base_only_by_the_loss(place):
    made = _with_held_out_rows(place)
    made.schedule = made.schedule.with_values({"keep_base": True})
    made.record_score(100.0)
    _make_worse(made)
    made.step = 1
    assert not made.record_score(100.0)
    made.restore_best()
    found = why_nothing_learned(made)
    assert found is not None
    assert (found.why, found.evaluations, found.base) == (TIED, 1, 100.0)


def test_a_run_that_is_stopped_before_its_first_evaluation_has_learned_nothing(place, solved):
    run = new(place, "simcse", dev=str(solved), settings={"steps": 60, "keep_base": True, "pooling": "mean"})

    def stop(progress):
        if progress.stage is Phase.TRAINING and progress.done == 1:
            run.request_stop(KEEP)

    train(run, stop)
    assert run.status().facts.nothing is not None
    assert run.status().facts.nothing.why == STOPPED


def test_no_rate_and_no_gradient_are_told_apart(place, monkeypatch):
    for rate, why in ((0.0, NO_RATE), (1e-3, NO_GRADIENT)):
        one = learner(place, "simcse", keep_base=False, pooling="mean")
        monkeypatch.setattr(load("simcse"), "rate", lambda *_, rate=rate: rate)
        one.record_score(50.0)
        one.step = 1
        one.record_score(51.0)
        found = why_nothing_learned(one)
        assert found is not None
        assert found.why == why
    with torch.no_grad():
        next(weight for weight, name in one.names.items() if name.startswith("base.")).view(-1)[0] += 1e-6
    assert why_nothing_learned(one) is None, "a single changed weight is a tuned model"


def test_the_loss_on_held_out_rows_is_that_of_the_method_by_hand(place):
    made = _with_held_out_rows(place)
    rows, size = made.prepared.loss_rows, made.feed.size
    made.method.eval()
    losses = []
    with torch.no_grad():
        for start in range(0, len(rows) - size + 1, size):
            losses.append(float(made.method.loss(*[list(column[start : start + size]) for column in rows.columns])))
    assert made.held_out_loss() == pytest.approx(sum(losses) / len(losses), rel=1e-6)
