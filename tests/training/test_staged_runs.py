"""Test runs with stages: each starts from the best checkpoint of the one before, and the record says which is which."""

import json
import shutil
from dataclasses import replace

import pytest
import torch

from explorer.errors import BadChoice, CannotResume, StrataError, TooFewRows
from explorer.progress import Phase, finish
from explorer.run_folder import RECIPE, Evaluation, TrainingStep
from explorer.training import recipe_file
from explorer.training.loop import stages
from explorer.training.loop.preparing import prepare
from explorer.training.recipe import Stage
from explorer.training.record import runs
from explorer.training.record.runs import KEEP, Run
from explorer.training.record.status import FAILED, FINISHED, INTERRUPTED, STOPPED
from tests.training.unbroken import assert_goes_on, assert_same, break_off
from tests.trainings import SETTINGS, Place, furnish, losses, new, recipe, train, weights

STEPS = 2  # of a stage
QUICK = SETTINGS | {"steps": STEPS}


def stage(place: Place, method: str = "tsdae", data=(), **settings) -> Stage:
    return Stage(method, tuple(map(str, data or [place.text])), settings=QUICK | {"pooling": "mean"} | settings)


def staged(place: Place, *before: Stage, method: str = "contrast", name: str = "", **changes) -> Run:
    settings = ({} if method == "whitening" else {"steps": STEPS}) | changes.pop("settings", {})
    return new(place, method, name, stages=before or (stage(place),), settings=settings, **changes)


def by_hand(place: Place, method: str = "tsdae", model="", **settings) -> Run:
    """A run of one stage, from the base or from the model of another run."""
    settings = {"steps": STEPS, **settings}
    return train(new(place, method, **({"model": str(model)} if model else {}), settings=settings))


@pytest.fixture(autouse=True)
def scores_of_the_base_are_kept_by_no_other_test(monkeypatch, tmp_path):
    """A run that finds them kept tells less on its way."""
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def unbroken(place) -> Run:
    """A run of two seeds with two stages that nobody interrupts."""
    return train(staged(place, seeds=(1, 2)))


@pytest.fixture(scope="module")
def first(place) -> Run:
    """The first stage by hand."""
    return by_hand(place, pooling="mean")


def test_two_stages_train_the_weights_of_two_runs_by_hand(place, first):
    """The second run has what the first one saved for its base."""
    run = train(staged(place, stage(place, "tsdae"), stage(place, "simcse", lora_rank=2), settings={"dropout": True}))
    second = by_hand(place, "simcse", first.model, pooling="mean", lora_rank=2)
    third = by_hand(place, "contrast", second.model)
    assert weights(run).keys() == weights(third).keys()
    for name, weight in weights(third).items():
        assert torch.equal(weights(run)[name], weight), name
    mine, theirs, of_base = (one.status().verdict.test for one in (run, third, first))
    assert mine.after == theirs.after
    # "before" is the base that people use, under its default and as the last stage trains it
    assert mine.before == of_base.before != theirs.before
    assert mine.before_as_trained == of_base.before_as_trained


def test_steps_are_numbered_through_and_each_states_its_stage(unbroken, place):
    run, whole = unbroken, 2 * STEPS
    lines, facts = run.metrics(), run.status().facts
    for number in (1, 2):
        own = [line for line in lines if line.number == number]
        steps = [(line.step, line.stage) for line in own if isinstance(line, TrainingStep)]
        assert steps == [(step, 1 if step <= STEPS else 2) for step in range(1, whole + 1)]
        evaluated = [(line.step, line.stage) for line in own if isinstance(line, Evaluation)]
        assert evaluated == [(step, 1 if step <= STEPS else 2) for step in range(whole + 1)]
        result = run.status().results[number - 1]
        best = {one: [line.step for line in own if isinstance(line, Evaluation) and line.best and line.stage == one][-1]
                for one in (1, 2)}  # fmt: skip
        assert (result.steps, result.best_step, result.stages[0].steps) == (whole, best[2], STEPS)
        assert result.stages[0].best_step == best[1]
    assert facts.stages.words == "1. tsdae on text.csv (24 rows), 2. contrast on triplets.csv (24 rows)"
    assert "stage 1 of 2: tsdae is done" in run.log_tail(100)
    assert facts.stages.words.partition(" ")[2] in (run.folder / "README.md").read_text()
    assert run.recipe().command() == replace(run.recipe(), made_with={}).command()
    assert not run.state.exists()


# `make kill` kills a run at every call that changes a file
def test_a_run_with_stages_that_is_broken_off_anywhere_ends_as_if_it_never_was(unbroken):
    assert_goes_on(
        unbroken,
        (1, 0, *[Phase.EVALUATING_BASE] * 6),
        (1, STEPS, Phase.STARTING),
        (2, 1, Phase.TRAINING),
        (2, STEPS + 1, Phase.EVALUATING_DEV),
    )


def test_a_run_is_broken_off_again_and_again_between_stages(unbroken, place):
    run, attempts = staged(place, seeds=(1, 2)), 1
    while break_off(run, 20):
        assert run.status().state == INTERRUPTED
        attempts += 1
    assert attempts > 4
    assert_same(run, unbroken)


def test_to_stop_in_a_stage_of_either_seed_saves_the_best_so_far_and_resumes_to_the_same(unbroken, place):
    run = staged(place, seeds=(1, 2))
    for seed in (1, 2):

        def ask(progress, seed=seed):
            status = run.status()
            in_stage = progress.stage == Phase.TRAINING and (status.seed, status.stage) == (seed, 1)
            if in_stage and status.step % STEPS == STEPS - 1:
                run.request_stop(KEEP)

        train(run, ask)
        status = run.status()
        assert (status.state, status.seed, status.stage) == (STOPPED, seed, 1)
        card = (run.folder / "README.md").read_text()
        if seed == 1:
            assert "in stages: **tsdae**. It was stopped before **contrast**." in card
        else:  # an unfinished chain is not better than a finished one
            assert "in stages: **tsdae**, then **contrast**." in card
            assert "| Seeds | 1 |" in card
        runs.restarted(run)
    train(run)
    assert_same(run, unbroken)


def test_the_blend_of_the_last_stage_is_with_the_base_of_the_run(place):
    before = weights(train(staged(place)))
    blended = weights(train(staged(place, settings={"blend": 0.25})))
    from safetensors.torch import load_file

    base = load_file(place.model / "model.safetensors")
    assert base.keys() <= blended.keys()
    for name, weight in base.items():
        assert torch.allclose(blended[name], 0.75 * weight + 0.25 * before[name], atol=1e-6), name


def test_hard_negatives_of_a_later_stage_are_mined_with_the_model_of_the_one_before(place, first):
    run = train(staged(place, settings={"hard_negatives": 1}))
    second = by_hand(place, "contrast", first.model, hard_negatives=1)
    assert "mined with the model of stage 1" in run.log_tail(100)
    for name, weight in weights(second).items():
        assert torch.equal(weights(run)[name], weight), name


def test_a_method_in_closed_form_is_a_last_stage(place):
    run = train(staged(place, method="whitening", data=(str(place.text),)))
    assert run.status().state == FINISHED
    evaluated = [(line.step, line.stage) for line in run.metrics() if isinstance(line, Evaluation)]
    assert evaluated[-2:] == [(STEPS, 1), (STEPS + 1, 2)]
    result = run.status().results[0]
    assert (result.steps, result.best_step) == (STEPS + 1, STEPS + 1)


def test_rows_that_the_last_stage_holds_out_are_trained_on_in_no_stage(place):
    given = recipe(place, "contrast", dev="held-out rows", test="held-out rows",
                   stages=(stage(place, data=[place.triplets]),))  # fmt: skip
    wide = place.folder / "many.csv"
    words = place.text.read_text().split()
    rows = [f"{words[at % len(words)]} {at} one,{words[at % len(words)]} {at} two" for at in range(200)]
    wide.write_text("\n".join(["first,second", *rows]) + "\n")
    given = replace(given, data=(str(wide),), stages=(stage(place, data=[wide]),))
    prepared = finish(prepare(given))
    held = {text for judge in prepared.judged.values() for text in judge.sentences}
    trained = {text for rows in prepared.stage_rows[0].values() for text in rows.texts[0]}
    assert held
    assert len(held) + len(trained) == 400
    assert held.isdisjoint(trained)
    assert not prepared.seen


def test_a_stage_without_a_text_has_that_of_the_run_in_the_same_columns(place):
    wide = place.folder / "columns of stages.csv"
    rows = [f"the question {at} is here,the answer {at} is here,a remark {at} on both" for at in range(24)]
    wide.write_text("\n".join(["question,answer,comment", *rows]) + "\n")
    of_run = {"data": (str(wide),), "columns": {"first": "question", "second": "comment"}}
    given = recipe(place, "contrast", stages=(Stage("tsdae", settings=QUICK),), **of_run)
    (text,) = finish(prepare(given)).texts.stages[0].corpus.texts
    assert len(text) == 48
    assert not any("answer" in one for one in text)
    assert given.stages[0].columns == of_run["columns"]
    own = replace(given, stages=(Stage("tsdae", (str(place.text),), settings=QUICK),))
    assert own.stages[0].columns == {}, "of another text"


def test_overlap_with_the_test_set_counts_the_text_of_every_stage(place):
    text = place.folder / "overlap.txt"
    shared = place.test.read_text().splitlines()[1].split(",")[1]
    text.write_text("\n".join([shared, *place.text.read_text().splitlines()[1:]]) + "\n")
    prepared = finish(prepare(recipe(place, "contrast", stages=(stage(place, data=[text]),))))
    assert prepared.seen.found == 1
    assert not finish(prepare(recipe(place, "contrast"))).seen
    # a set elsewhere leaves out what any stage is trained on
    others = place.folder / "others.csv"
    pairs = [f"{at % 5},{at} first,{at} second" for at in range(12)]
    others.write_text("\n".join(["score,sentence1,sentence2", *pairs]) + "\n")
    text.write_text("\n".join(["3 first", *place.text.read_text().splitlines()[1:]]) + "\n")
    given = recipe(place, "contrast", stages=(stage(place, data=[text]),), elsewhere=(str(others),))
    assert [len(one.judge) for one in finish(prepare(given)).elsewhere.values()] == [11]


def no_row(place: Place) -> Stage:
    few = place.folder / "few.txt"
    few.write_text("one sentence\nanother sentence\n")
    return stage(place, data=[few], batch_size=4)


REFUSED = [
    (lambda place: Stage("tsdea"), "Stage 1 of 2 .tsdea on triplets.csv.: .*tsdae"),
    (lambda place: Stage("whitening", (str(place.text),)), "whitening leaves the weights of the encoder.*last stage"),
    (lambda place: Stage("flow", (str(place.text),)), "flow leaves the weights of the encoder.*last stage"),
    (lambda place: stage(place, blend=0.5), "Stage 1 of 2.*blend cannot be 0.5 before the last stage"),
    (lambda place: stage(place, temperature=3), "Stage 1 of 2.*There is no setting 'temperature'"),
    (lambda place: stage(place, data=["no such.csv"]), "Stage 1 of 2 .tsdae on no such.csv"),
    (no_row, "Stage 1 of 2 .tsdae on few.txt.: .*2 rows to train on, but a batch takes 4"),
    (lambda place: stage(place, "contrast"), "Stage 1 of 2 .contrast on text.csv.*one sentence per row"),
]


@pytest.mark.parametrize(("made", "told"), REFUSED)
def test_a_stage_that_cannot_be_trained_is_refused_by_its_name(place, made, told):
    with pytest.raises(StrataError, match=told) as caught:
        train(staged(place, made(place)))
    assert len(str(caught.value).split("Stage ")) == 2


def test_adapters_of_the_last_stage_are_blended_with_nothing(place):
    with pytest.raises(BadChoice, match=r"blend cannot be 0\.5 with lora_rank in a run"):
        staged(place, settings={"lora_rank": 2, "blend": 0.5})


def test_a_later_stage_that_would_fail_is_refused_before_the_first_step(place):
    run = staged(place, settings={"batch_size": 64})
    with pytest.raises(
        TooFewRows, match=r"Stage 2 of 2 \(contrast on triplets.csv\): .*24 rows to train on, but a batch takes 64"
    ):
        train(run)
    assert not run.metrics()


def test_a_stage_that_fails_leaves_the_finished_ones_to_resume_from(place, monkeypatch, unbroken):
    run = staged(place, seeds=(1, 2))
    real = stages.prepare

    def fail(whole, number, *given, **options):
        if number == 2:
            raise TooFewRows("The disk of the text is gone.")
        return (yield from real(whole, number, *given, **options))

    with monkeypatch.context() as patch:
        patch.setattr(stages, "prepare", fail)
        with pytest.raises(TooFewRows, match=r"Stage 2 of 2 .*The disk of the text is gone"):
            train(run)
    assert run.status().state == FAILED
    train(run)
    assert f"resumed at step {STEPS} of seed 1" in run.log_tail(100), "stage 1 is not trained again"
    assert_same(run, unbroken)


def test_a_model_of_a_finished_stage_that_was_changed_is_not_gone_on_from(place):
    run = staged(place)
    work = iter(runs_until(run, 2))
    list(work)
    folder = stages.folder_of(run.folder, 1, 1)
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"hidden_dropout_prob": 0.5}))
    with pytest.raises(CannotResume, match="is not as stage 1 left it"):
        train(run)
    shutil.rmtree(folder)
    with pytest.raises(CannotResume, match=r"\(.* then, gone now\)"):
        train(run)


def runs_until(run: Run, number: int):
    """Train until a step of this stage, and no further."""
    from explorer.training import running

    work = running.train(run)
    for progress in work:
        yield progress
        if (
            progress.stage == Phase.TRAINING
            and run.status().stage == number
            and losses(run)
            and max(losses(run)) > STEPS
        ):
            break
    work.close()


def test_a_recipe_with_stages_is_read_as_it_was_written(place):
    given = recipe(place, "contrast", stages=(stage(place), stage(place, "simcse", temperature=0.1)))
    again = recipe_file.from_yaml(given.as_yaml(), RECIPE)
    assert again == given
    assert "stages" not in recipe(place, "contrast").as_yaml()
    assert [one.method for one in given.chain] == ["tsdae", "simcse", "contrast"]
    assert given.methods == "tsdae, then simcse, then contrast"


def test_another_text_of_a_stage_is_another_training(tmp_path):
    own = furnish(tmp_path)
    run = staged(own)
    list(runs_until(run, 2))
    own.text.write_text(own.text.read_text().replace("\n", " more\n"))
    with pytest.raises(CannotResume, match="the training text of stage 1"):
        train(run)
