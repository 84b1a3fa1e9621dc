"""Test how the Train page shows a run, from its folder alone."""

import json
from dataclasses import replace

import pytest

from explorer import run_folder
from explorer.data import uploads
from explorer.measuring.comparing import learned
from explorer.measuring.scores.judge import PackChange, PairChange, Share
from explorer.measuring.scores.metrics import ClassScores
from explorer.measuring.scores.verdict import RunVerdict, Verdict
from explorer.progress import Progress
from explorer.training.loop.measured_facts import Adapters, Cut, SeedScores
from explorer.training.record import status as statuses
from explorer.training.record.status import RunFacts
from explorer.ui.access import jobs
from explorer.ui.runs import run_status
from explorer.ui.train import run_view
from tests.train_visits import START, ended, new, show, stands, well
from tests.visits import buttons, cards, wait_until, words


def result(**numbers):
    return replace(SeedScores(1, steps=6, best_step=4, dev=70.0, test=71.0), **numbers)


def test_a_process_that_is_gone_leaves_an_interrupted_run(app, place):
    run = new(place)
    stands(run, state=statuses.RUNNING, step=3, total=6, since=1.0)
    well(show(app, run))
    assert run_view.INTERRUPTED in words(app.warning)
    assert "run resume" in buttons(app)


def test_a_failed_run_tells_why_and_folds_what_the_program_saw(app, place):
    run = new(place)
    stands(run, state=statuses.FAILED, error="Memory ran out. Lower <b>batch_size</b>.", details="Traceback …")
    well(show(app, run))
    assert words(app.error) == ["Memory ran out. Lower <b>batch_size</b>."]
    assert any("Traceback" in code.value for code in app.code)
    assert "run resume" in buttons(app)


def test_a_run_of_adapters_tells_what_is_trained(app, place):
    run, adapters = new(place), Adapters("LoRA", 8, "attention", 9600, 16.0, 22_000)
    stands(run, state=statuses.RUNNING, step=3, total=6, since=1.0, facts=RunFacts(adapters=adapters))
    well(show(app, run))
    assert any(told.endswith(f" · {adapters.words}") for told in words(app.caption))


def test_a_run_of_a_cut_encoder_tells_what_remains(app, place):
    run, told = new(place), "the first 3 of 6 layers (17 of 22 weights)"
    stands(run, state=statuses.RUNNING, step=3, total=6, since=1.0, facts=RunFacts(cut=Cut(3, 6, 17, 22)))
    well(show(app, run))
    assert any(line.endswith(f"· trains {told}") for line in words(app.caption))


def outcome(difference, low, high):
    return Verdict(73.0, 68.0, 73.0 + difference, difference, low, high)


@pytest.mark.parametrize(
    ("difference", "low", "high", "kind"),
    [(-2.0, -3.0, -1.0, "error"), (2.0, 1.0, 3.0, "success"), (2.0, -1.0, 5.0, "info")],
)
def test_the_verdict_is_better_worse_or_chance_by_its_interval(app, place, difference, low, high, kind):
    run = new(place)
    test = outcome(difference, low, high)
    stands(run, state=statuses.FINISHED, base=72.0, best=70.0, results=(result(),), verdict=RunVerdict(test, test))
    well(show(app, run))
    (told,) = words(getattr(app, kind))
    assert told == learned.line(run.status().learned).text
    boxes = [*app.success, *app.error, *app.info, *app.warning]
    assert len(boxes) == 1, "one result, one box"
    assert (run_view.WHAT_TO_TRY in words(app.caption)) == (kind == "error")
    assert list(cards(app).values())[:3] == ["73.00", "68.00", f"{73 + difference:.2f}"]


def test_the_pairs_of_a_run_are_text_and_its_line_names_what_was_learned(app, place):
    packs = (PackChange("negation", 60, Share(0.1, 0.0, 0.2), Share(0.7, 0.6, 0.8), 0.4, 0.8),)
    pairs = (PairChange("negation", "<b>It</b> rains $here$.", "<b>It</b> never rains $here$.", 0.9, 0.2),)
    run, test = new(place), outcome(-2.0, -3.0, -1.0)
    stands(run, state=statuses.FINISHED, verdict=RunVerdict(test, test, packs=packs, pairs=pairs))
    well(show(app, run))
    (told,) = app.warning
    assert "**negation**" in told.value, "better and worse at once"
    assert any("**never**" in one.value and "\\<b\\>" in one.value for one in app.markdown)
    assert "**0.90 → 0.20**" in words(app.markdown)


def test_a_gain_over_the_same_layer_and_pooling_alone_is_called_worse(app, place):
    run = new(place)
    test = Verdict(81.5, 73.58, 77.88, -3.62, -5.0, -2.2)
    stands(run, state=statuses.FINISHED, results=(result(),), verdict=RunVerdict(test, test))
    well(show(app, run))
    assert words(app.error)
    assert not words(app.success)


def test_several_seeds_are_told_as_mean_and_spread(app, place):
    run = new(place, seeds=(1, 2, 3))
    scores = result(test=70.0), result(seed=2, test=72.0), result(seed=3, test=74.0)
    stands(run, state=statuses.FINISHED, base=60.0, best=70.0, results=scores, verdict=RunVerdict(outcome(1, 0.5, 2)))
    well(show(app, run))
    assert any(run_view.OF_SEEDS.format(72, 2) in told for told in words(app.caption))


def test_a_run_that_was_stopped_is_not_tested(app, place):
    run = new(place)
    stands(run, state=statuses.STOPPED, verdict=RunVerdict(Verdict(73.0, 68.0), Verdict(72.0, 67.0)))
    well(show(app, run))
    assert cards(app)[f"Test: {run_view.TUNED}"] == run_view.NO_TEST_SCORE
    assert run_view.NOT_TESTED in words(app.info)


def test_a_run_of_an_older_version_says_that_it_has_no_verdict(app, place):
    run = new(place)
    stands(run, state=statuses.FINISHED, results=(result(),))
    well(show(app, run))
    assert [card.label for card in app.metric] == []
    assert run_view.NO_COMPARISON in words(app.caption)


def test_vectors_that_have_all_become_alike_are_warned_of(app, place):
    run = new(place)
    stands(run, state=statuses.FINISHED)
    line = '{"number": 1, "seed": 1, "step": %d, "dev": 10.0, "random_pairs": %s, "best": false}\n'
    (run.folder / run_folder.METRICS).write_text(line % (0, 0.4) + line % (2, 0.995), encoding="utf-8")
    well(show(app, run))
    assert words(app.warning) == [run_status.COLLAPSED.format(2, 1, 0.995)]


def test_a_job_that_failed_before_it_could_write_is_a_failed_run(app, place):
    run = new(place)

    def broken():
        yield Progress("starting", 0, 0)
        raise ZeroDivisionError("by nothing")

    job = jobs.follow(str(run.folder), run.name, broken, lane=jobs.TRAINING)
    wait_until(lambda: not job.live)
    well(show(app, run))
    assert words(app.error) == ["ZeroDivisionError: by nothing"]
    app.button(key="run resume").click().run()
    assert ended(run).state == statuses.FINISHED


def test_whatever_a_folder_says_is_shown_as_it_is_written(app, place):
    run = new(place)
    nasty = "<script>alert(1)</script> :red[x] ![p](http://example.invalid/x.png)"
    stands(run, state="strange", error=nasty, facts=RunFacts(nasty, nasty, (nasty,), nasty))
    well(show(app, run))
    assert any(nasty in told for told in words(app.caption))


@pytest.mark.parametrize("name", ["none-such", "../runs", "<b>x</b>", "", "."])
def test_a_run_that_is_not_there_is_told_and_the_form_is_shown(app, name):
    app.query_params["run"] = name
    well(app.run())
    assert app.error
    assert START in buttons(app)


def test_uploaded_text_is_shown_by_its_name(app, place, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    path = uploads.keep("mine.txt", b"one\ntwo\n")
    run = new(place, data=(path, "sample"))
    stands(run, state=statuses.STOPPED, facts=replace(run.status().facts, rows=2))
    well(show(app, run))
    (headline,) = (told for told in words(app.caption) if "mine.txt" in told)
    assert "mine.txt + sample (2 " in headline
    assert "/" not in headline


@pytest.mark.parametrize(
    "damage",
    [
        {"facts": [1]},
        {"seconds": "x"},
        {"state": 5},
        {"best": "high"},
        {"total": None},
        {"results": 3},
        {"results": [1]},
    ],
)
def test_a_status_of_wrong_types_takes_no_page_away(app, place, damage):
    whole, damaged = new(place), new(place)
    path = damaged.folder / run_folder.STATUS
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"pid": 2**22 + 1, "born": ""} | damage), encoding="utf-8"
    )
    well(app.run())
    assert len(app.dataframe[0].value) >= 2, "both are listed"
    well(show(app, whole))
    well(show(app, damaged))
    damaged.delete()
    assert not damaged.folder.exists()


def test_the_scores_of_test_rows_are_their_means_over_seeds(app, place):
    run = new(place)
    scores = ClassScores(40, 80.0, 75.0, 60.0), ClassScores(40, 84.0, 79.0, 66.0)
    results = tuple(result(seed=seed, classes=one) for seed, one in enumerate(scores, start=1))
    stands(run, state=statuses.FINISHED, results=results, verdict=RunVerdict())
    well(show(app, run))
    found = {label: value for label, value in cards(app).items() if label.startswith("Test rows")}
    assert found == {
        "Test rows: accuracy": "82.00 ± 2.83",
        "Test rows: macro F1": "77.00 ± 2.83",
        "Test rows: Matthews": "63.00 ± 4.24",
    }
