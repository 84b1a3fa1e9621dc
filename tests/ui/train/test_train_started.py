"""Test runs that the Train page starts, stops and resumes, and how it shows, renames and deletes one by its folder."""

import json
import shlex
import time
from dataclasses import replace

import pytest

from explorer import run_folder
from explorer.data import uploads
from explorer.data.sources import identity, texts
from explorer.encoding.export.encode import OnnxEncoder
from explorer.encoding.load.hardware import DeviceMemory
from explorer.evaluating.probes.class_scores import ClassScores
from explorer.measuring.comparing import headline
from explorer.measuring.scores.judge import PackChange, PairChange, Share
from explorer.measuring.scores.verdict import ElsewhereVerdict, RunVerdict, Verdict
from explorer.places import runs_folder
from explorer.progress import Progress
from explorer.studies.size import picture as measuring
from explorer.training.example import NAME, POOLER
from explorer.training.loop.computed import Computed, PeakMemory, Speed
from explorer.training.loop.measured_facts import Adapters, Cut, FrozenClasses, SeedScores
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.record.run_facts import RunFacts
from explorer.ui.access import jobs
from explorer.ui.frame import page_frame
from explorer.ui.runs import run_curves, set_fields, training_queue
from explorer.ui.train import run_card, run_view, start_form
from explorer.ui.widgets import onnx_export
from tests import trainings
from tests.train_visits import START, displayed, ended, field, new, show, stands, started, the_run
from tests.visits import buttons, by_link, cards, error_of, lead, pressed, tab, wait_until, words


@pytest.fixture
def paced():
    with trainings.paced():
        yield


@pytest.fixture
def stepping(tiny, paced):
    """A run under way on its page."""
    field(tiny, "steps").set_value(100_000)
    run = started(tiny)
    wait_until(lambda: run.status().step > 2)
    tiny.run()
    return run


def test_start_makes_a_run_that_shows_base_and_best_and_compare_shows_both_on_the_test_set(tiny, place):
    run = started(tiny)
    assert tiny.query_params["run"] == run.name
    status = ended(run)
    assert status.state == statuses.FINISHED, status.error
    tiny.run()
    shown = cards(tiny)
    for use, found in (("Test", status.verdict.test), ("Dev", status.verdict.dev)):
        assert shown[f"{use}: {run_card.BASE}"] == f"{found.before:.2f}"
        assert shown[f"{use}: {run_card.SAME}"] == f"{found.before_as_trained:.2f}"
        assert shown[f"{use}: {run_card.TUNED}"] == f"{found.after:.2f}"
    assert len(tiny.get("plotly_chart")) == 2
    assert any(str(run.model) in code.value for code in tiny.code)
    assert "run compare" in buttons(tiny)
    tiny.button(key="run compare").click().run()
    tiny.switch_page("pages/compare.py").run()
    assert tiny.selectbox(key="model").value == str(place.model), "what is trained next does not change"
    assert tiny.selectbox(key="beside").value == f"run:{run.name}"
    assert tiny.selectbox(key="sts").value == str(run.status().facts.test)


def no_memories(*_):
    yield from ()
    return {}


def test_the_model_of_a_run_is_exported_for_onnx_runtime_with_its_measured_score(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "ROUNDS", 1)
    monkeypatch.setattr(measuring, "memories", no_memories)  # each is of a process that imports torch
    ended(started(tiny))
    tiny.session_state["open ONNX export"] = True
    tiny.run().text_input(key=onnx_export.FOLDER).set_value(str(tmp_path / "served"))
    pressed(tiny.run(), onnx_export.WRITE)
    assert any(str(tmp_path / "served") in text for text in words(tiny.success))
    assert OnnxEncoder("onnx/model_qint8.onnx", tmp_path / "served")(["a man plays"]).shape == (1, 32)
    assert "| Weights in | int8 | float32 |" in (tmp_path / "served" / "README.md").read_text(encoding="utf-8")


def test_a_second_start_of_the_same_recipe_shows_the_run_of_the_first(tiny, paced):
    field(tiny, "steps").set_value(100_000)
    run = started(tiny)
    tiny.button(key="run new").click().run()
    tiny.button(key=START).click().run()
    assert [one.name for one in runs.every()] == [run.name]
    assert tiny.query_params["run"] == run.name


def test_a_run_is_called_what_the_visitor_says(tiny):
    tiny.text_input(key="run name").set_value("mine").run()
    assert started(tiny).name == "mine"


def test_what_is_typed_when_the_click_comes_is_what_is_trained(tiny):
    tiny.text_input(key="run name").set_value("mine")
    field(tiny, "steps").set_value(3)
    run = started(tiny)
    assert (run.name, run.recipe().settings["steps"]) == ("mine", 3)
    ended(run)  # until then the page shows the run under way
    del tiny.query_params["run"]
    assert tiny.run().text_input(key="run name").value == "", "the next run has another name"


def test_a_name_that_cannot_be_is_told_and_nothing_starts(tiny):
    tiny.text_input(key="run name").set_value("../mine").run()
    tiny.button(key=START).click().run()
    assert words(tiny.error) == [error_of(lambda: runs.free_name("../mine", runs_folder()))]
    assert runs.every() == []


def test_a_run_that_waits_tells_what_is_in_front_and_stops_at_once(tiny, gate):
    run = started(tiny)
    wait_until(lambda: [job.title for job in jobs.running(jobs.TRAINING)] == ["another run"])  # not a timed step
    tiny.run()
    assert jobs.WAITING_FOR.format("another run") in words(tiny.caption)
    tiny.button(key="run stop").click().run()
    assert run.status().state == statuses.STOPPED
    assert run_view.STOPPED_EARLY in words(tiny.info)
    gate.set()
    tiny.button(key="run resume").click().run()
    assert ended(run).state == statuses.FINISHED


def test_a_run_that_waits_can_be_discarded(tiny, gate):
    started(tiny)
    tiny.button(key="run discard").click().run()
    assert runs.every() == []
    assert START in buttons(tiny)
    assert words(tiny.error) == []
    gate.set()


def test_stop_and_keep_leaves_a_model_and_a_way_to_go_on(tiny, stepping):
    assert any("step" in told for told in [one.proto.text for one in tiny.get("progress")])
    tiny.button(key="run stop").click().run()
    assert ended(stepping).state == statuses.STOPPED
    tiny.run()
    assert stepping.model.is_dir()
    assert "run resume" in buttons(tiny)
    assert any(told.startswith(lead(run_view.STOPPED_AT)) for told in words(tiny.info))


def test_a_run_under_way_is_not_renamed_or_deleted_until_stop_and_discard_deletes_it_and_shows_the_form(tiny, stepping):
    assert not {"run rename", "run delete", "run resume"} & set(buttons(tiny))
    assert "run duplicate" in buttons(tiny)
    assert tiny.query_params["run"] == stepping.name
    tiny.button(key="run discard").click().run()
    wait_until(lambda: not stepping.folder.exists())
    assert START in buttons(tiny.run())
    assert "run" not in tiny.query_params
    assert words(tiny.error) == []


def test_a_stopped_run_is_resumed_where_it_was(tiny, paced):
    field(tiny, "steps").set_value(20)
    run = started(tiny)
    wait_until(lambda: run.status().step > 2)
    training_queue.stop(run, runs.KEEP)
    assert ended(run).state == statuses.STOPPED
    tiny.run()
    tiny.button(key="run resume").click().run()
    assert ended(run).state == statuses.FINISHED
    assert sorted(trainings.losses(run)) == list(range(1, 21))


def result(**numbers):
    return replace(SeedScores(1, steps=6, best_step=4, dev=70.0, test=71.0), **numbers)


def test_a_process_that_is_gone_leaves_an_interrupted_run(app, place):
    displayed(app, place, statuses.RUNNING, step=3, total=6, since=1.0)
    assert run_view.INTERRUPTED in words(app.warning)
    assert "run resume" in buttons(app)


@pytest.mark.parametrize(
    ("memory", "shown"), [(None, None), (DeviceMemory(12_300_000_000, 84_900_000_000), "12.3 GB of 84.9 GB in use")]
)
def test_a_run_that_trains_on_a_gpu_shows_its_memory(app, place, memory, shown):
    run = new(place)
    with run.held():
        stands(run, state=statuses.RUNNING, step=3, total=6, since=1.0, device_memory=memory)
        show(app, run)
        told = [line for line in words(app.caption) if line.startswith(lead(run_view.GPU_MEMORY))]
    assert told == ([] if shown is None else [run_view.GPU_MEMORY.format(shown)])


def test_the_badge_of_a_run_that_begins_while_its_page_is_open_says_what_the_line_below_says(app, place, monkeypatch):
    run, actions = new(place), run_view.actions

    def begun(*drawn):
        actions(*drawn)
        stands(run, state=statuses.RUNNING, step=3, total=6, since=1.0)

    with run.held():
        stands(run, state=statuses.WAITING)
        monkeypatch.setattr(run_view, "actions", begun)
        show(app, run)
        badges = [told for told in words(app.markdown) if told.startswith(":") and "-badge[" in told]
    assert "step 3 of 6" in app.get("progress")[0].proto.text
    assert statuses.RUNNING in badges[0], badges


def test_the_card_of_a_run_says_on_what_it_trained_and_how_fast(app, place):
    on_gpu = Computed(2, "NVIDIA H100 80GB HBM3", "cuda", "bfloat16", name="NVIDIA H100 80GB HBM3")
    facts = RunFacts(computed=on_gpu, speed=Speed(140, 8960, 1.77), peak_memory=PeakMemory(3_210_000_000))
    displayed(app, place, statuses.FINISHED, step=140, total=140, seconds=9.0, facts=facts)
    what = "NVIDIA H100 80GB HBM3, bfloat16 · 79.1 steps and 5,062 rows a second · peak memory 3.21 GB"
    assert f"Trained on {what}." in words(app.caption)


def test_a_failed_run_tells_why_and_folds_what_the_program_saw(app, place):
    displayed(app, place, statuses.FAILED, error="Memory ran out. Lower <b>batch_size</b>.", details="Traceback …")
    assert words(app.error) == ["Memory ran out. Lower <b>batch_size</b>."]
    assert any("Traceback" in code.value for code in app.code)
    assert "run resume" in buttons(app)


ADAPTERS = Adapters("LoRA", 8, "attention", 9600, 16.0, 22_000)
CUT = "· trains the first 3 of 6 layers (17 of 22 weights)"


@pytest.mark.parametrize(
    ("facts", "told"), [({"adapters": ADAPTERS}, f" · {ADAPTERS.words}"), ({"cut": Cut(3, 6, 17, 22)}, CUT)]
)
def test_a_run_of_adapters_or_of_a_cut_encoder_tells_what_is_trained(app, place, facts, told):
    displayed(app, place, statuses.RUNNING, step=3, total=6, since=1.0, facts=RunFacts(**facts))
    tab(app, run_view.LOG)
    assert any(line.endswith(told) for line in words(app.caption))


def outcome(difference, low, high):
    return Verdict(73.0, 68.0, 73.0 + difference, difference, low, high)


@pytest.mark.parametrize(
    ("difference", "low", "high", "kind"),
    [(-2.0, -3.0, -1.0, "error"), (2.0, 1.0, 3.0, "success"), (2.0, -1.0, 5.0, "info")],
)
def test_the_verdict_is_better_worse_or_chance_by_its_interval(app, place, difference, low, high, kind):
    test = outcome(difference, low, high)
    scores = {"base": 72.0, "best": 70.0, "results": (result(),)}
    run = displayed(app, place, statuses.FINISHED, verdict=RunVerdict(test, test), **scores)
    (told,) = words(getattr(app, kind))
    assert told.replace("**", "") == headline.line(run.status().learned).text
    assert len([*app.success, *app.error, *app.info, *app.warning]) == 1, "one result, one box"
    assert (run_card.WHAT_TO_TRY in words(app.caption)) == (kind == "error")
    assert list(cards(app).values())[:3] == ["73.00", "68.00", f"{73 + difference:.2f}"]


def test_the_dev_score_of_the_tuned_model_and_that_of_its_best_step_have_a_name_each(app, place):
    dev, steps = Verdict(80.0, 80.0, 84.0, 4.0, 1.0, 7.0), {"best": 82.98, "best_step": 4, "step": 6, "total": 6}
    facts = RunFacts(blend=0.5, held_out=3, dev=identity("mine.csv"), pairs={"dev": 60})
    run = displayed(app, place, statuses.FINISHED, verdict=RunVerdict(dev, dev), facts=facts, **steps)
    assert "**Dev set**: mine.csv, 60 pairs · Spearman × 100" in words(app.markdown)
    assert cards(app)[f"Dev: {run_card.TUNED}"] == "84.00"
    notes = {card.label: card.delta for card in app.metric}
    assert notes["Best checkpoint"] == "of 6 steps, dev at best step 82.98"
    tab(app, run_view.RUNS)
    (row,) = (row for row in app.dataframe[0].value.to_dict("records") if row["Run"] == run.name)
    assert (row["Dev"], row["Dev at best step"]) == (84.0, 82.98)


def test_what_was_forgotten_is_in_the_headline_and_has_a_row_for_each_set(app, place):
    elsewhere = (
        ElsewhereVerdict("a/*own*.csv", 500, 700, "Spearman", outcome(-2.0, -3.0, -1.0)),
        ElsewhereVerdict("Sample search", 60, 60, "nDCG@10", outcome(1.0, -1.0, 3.0)),
    )
    verdict = RunVerdict(outcome(2.0, 1.0, 3.0), outcome(2.0, 1.0, 3.0), elsewhere=elsewhere)
    run = displayed(app, place, statuses.FINISHED, verdict=verdict)
    (told,) = app.warning
    assert words([told])[0].replace("**", "") == headline.line(run.status().learned).text
    assert r"\*own\*" in told.value, "it is no markup"
    assert r"Worse\: **similarity on" in told.value
    (table,) = [one.value for one in app.dataframe if "Items" in one.value]
    assert table["Items"].tolist() == ["500 of 700 pairs", "60 queries"]
    assert table["Verdict"].tolist() == ["Worse", "Could be chance"]
    assert table["Tuned model"].tolist() == [71.0, 74.0]
    assert headline.short(run.status().learned).startswith("Better: ")
    assert "worse: " in headline.short(run.status().learned)


def test_sets_elsewhere_are_chosen_once_for_runs_and_plans(app, place):
    tiny = by_link(app, model=str(place.model))
    chosen = tiny.multiselect(key=set_fields.ELSEWHERE)
    assert chosen.value == ["at hand"]
    assert "Probe packs" not in chosen.options
    chosen.set_value(["Sample search", "nowhere.csv"]).run()
    assert tiny.button(key=START).disabled
    assert any("nowhere.csv" in error for error in words(tiny.error))
    tiny.multiselect(key=set_fields.ELSEWHERE).set_value(["Sample search"]).run()
    assert "--elsewhere 'Sample search'" in tiny.code[0].value
    assert tiny.switch_page("pages/plans.py").run().multiselect(key=set_fields.ELSEWHERE).value == ["Sample search"]


def test_the_pairs_of_a_run_are_text_and_its_line_names_what_was_learned(app, place):
    packs = (PackChange("negation", 60, Share(0.1, 0.0, 0.2), Share(0.7, 0.6, 0.8), 0.4, 0.8),)
    pairs = (PairChange("negation", "<b>It</b> rains $here$.", "<b>It</b> never rains $here$.", 0.9, 0.2),)
    test = outcome(-2.0, -3.0, -1.0)
    displayed(app, place, statuses.FINISHED, verdict=RunVerdict(test, test, packs=packs, pairs=pairs))
    (told,) = app.warning
    assert "**negation**" in told.value, "better and worse at once"
    assert any("**never**" in one.value and "\\<b\\>" in one.value for one in app.markdown)
    assert "**0.90 → 0.20**" in words(app.markdown)


def test_a_gain_over_the_same_layer_and_pooling_alone_is_called_worse(app, place):
    test = Verdict(81.5, 73.58, 77.88, -3.62, -5.0, -2.2)
    displayed(app, place, statuses.FINISHED, results=(result(),), verdict=RunVerdict(test, test))
    assert words(app.error)
    assert not words(app.success)


def test_several_seeds_are_told_as_mean_and_spread(app, place):
    run = new(place, seeds=(1, 2, 3))
    scores = result(test=70.0), result(seed=2, test=72.0), result(seed=3, test=74.0)
    stands(run, state=statuses.FINISHED, base=60.0, best=70.0, results=scores, verdict=RunVerdict(outcome(1, 0.5, 2)))
    show(app, run)
    assert any(run_card.OF_SEEDS.format(72, 2) in told for told in words(app.caption))


def test_a_run_that_was_stopped_is_not_tested(app, place):
    displayed(app, place, statuses.STOPPED, verdict=RunVerdict(Verdict(73.0, 68.0), Verdict(72.0, 67.0)))
    assert cards(app)[f"Test: {run_card.TUNED}"] == run_card.NO_TEST_SCORE
    assert run_view.NOT_TESTED in words(app.info)


@pytest.mark.parametrize("state", [statuses.FINISHED, statuses.RUNNING, statuses.FAILED])
def test_a_finished_run_without_a_verdict_is_of_an_older_version_and_any_other_has_none_yet(app, place, state):
    displayed(app, place, state, results=(result(),))
    assert [card.label for card in app.metric] == []
    assert (run_card.NO_COMPARISON in words(app.caption)) == (state == statuses.FINISHED)


def test_vectors_that_have_all_become_alike_are_warned_of(app, place):
    run = new(place)
    stands(run, state=statuses.FINISHED)
    line = '{"number": 1, "seed": 1, "step": %d, "dev": 10.0, "random_pairs": %s, "best": false}\n'
    (run.folder / run_folder.METRICS).write_text(line % (0, 0.4) + line % (2, 0.995), encoding="utf-8")
    show(app, run)
    assert words(app.warning) == [run_curves.COLLAPSED.format(2, 1, 0.995)]


def test_a_job_that_failed_before_it_could_write_is_a_failed_run(app, place):
    run = new(place)

    def broken():
        yield Progress("starting", 0, 0)
        raise ZeroDivisionError("by nothing")

    job = jobs.follow(str(run.folder), run.name, broken, lane=jobs.TRAINING)
    wait_until(lambda: not job.live)
    show(app, run)
    assert words(app.error) == ["ZeroDivisionError: by nothing"]
    app.button(key="run resume").click().run()
    assert ended(run).state == statuses.FINISHED


def test_whatever_a_folder_says_is_shown_as_it_is_written(app, place):
    nasty = "<script>alert(1)</script> :red[x] ![p](http://example.invalid/x.png)"
    displayed(app, place, "strange", error=nasty, facts=RunFacts(nasty, nasty, texts([nasty]), identity(nasty)))
    tab(app, run_view.LOG)
    assert any(nasty in told for told in words(app.caption))


@pytest.mark.parametrize("name", ["none-such", "../runs", "<b>x</b>", "", "."])
def test_a_run_that_is_not_there_is_told_and_the_form_is_shown(app, name):
    by_link(app, run=name)
    assert app.error
    assert START in buttons(app)


def test_uploaded_text_is_shown_by_its_name(app, place, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    run = new(place, data=(uploads.keep("mine.txt", b"one\ntwo\n"), "sample"))
    stands(run, state=statuses.STOPPED, facts=replace(run.status().facts, rows=2))
    show(app, run)
    tab(app, run_view.LOG)
    (headline,) = (told for told in words(app.caption) if "mine.txt" in told)
    assert "mine.txt + sample (2 " in headline
    assert "/" not in headline


@pytest.mark.parametrize(
    "damage",
    [{"facts": [1]}, {"seconds": "x"}, {"state": 5}, {"best": "x"}, {"total": None}, {"results": 3}, {"results": [1]}],
)
def test_a_status_of_wrong_types_takes_no_page_away(app, place, damage):
    whole, damaged = new(place), new(place)
    path = damaged.folder / run_folder.STATUS
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": 2**22 + 1, "born": ""} | damage))
    tab(app.run(), run_view.RUNS)
    assert len(app.dataframe[0].value) >= 2, "both are listed"
    show(app, whole)
    show(app, damaged)
    damaged.delete()
    assert not damaged.folder.exists()


@pytest.mark.parametrize("seeds", [1, 2])
def test_the_scores_of_test_rows_are_their_means_over_seeds(app, place, seeds):
    scores = ClassScores(40, 80.0, 75.0, 60.0), ClassScores(40, 84.0, 79.0, 66.0)
    results = tuple(result(seed=seed, classes=one) for seed, one in enumerate(scores[:seeds], start=1))
    displayed(app, place, statuses.FINISHED, results=results, verdict=RunVerdict())
    found = {label: value for label, value in cards(app).items() if label.startswith("Test rows")}
    measures = ("Test rows: accuracy", "Test rows: macro F1", "Test rows: Matthews")
    means = [("80.00", "75.00", "60.00"), ("82.00 ± 2.83", "77.00 ± 2.83", "63.00 ± 4.24")]
    assert found == dict(zip(measures, means[seeds - 1], strict=True))


def test_the_test_rows_of_the_saved_seed_are_compared_with_the_frozen_base(app, place):
    before, after = ClassScores(40, 70.0, 65.0, 50.0), ClassScores(40, 80.0, 75.0, 60.0)
    gaps = (10.0, 2.5, 17.5), (-2.5, -7.5, 2.5)
    frozen = [FrozenClasses(30, before, Verdict(70.0, None, 70 + gap[0], *gap)) for gap in gaps]
    results = tuple(
        result(seed=seed, classes=after, criterion=score, frozen=one)
        for seed, (score, one) in enumerate(zip((81.0, 90.0), frozen, strict=True), start=1)
    )
    for state, shown, kind, sentence in (
        (statuses.FINISHED, results, "info", frozen[1].sentence.text),
        (statuses.FINISHED, results[:1], "success", frozen[0].sentence.text),
        (statuses.STOPPED, results[:1], "success", None),  # its model may be of a seed that was not tested
    ):
        displayed(app, place, state, results=shown, verdict=RunVerdict())
        found = [told.replace("**", "") for told in words(getattr(app, kind))]
        assert (sentence in found) if sentence else not found


def test_a_run_is_deleted_when_the_question_is_answered(app, place):
    run = displayed(app, place, statuses.FINISHED)
    assert run.folder.is_dir()
    app.button(key="run delete").click().run()
    assert not run.folder.exists()
    assert START in buttons(app)


@pytest.mark.parametrize("name", ["better", "", "a b", "../x", "<b>"])
def test_a_run_is_renamed_and_stays_in_view_and_a_name_that_cannot_be_leaves_it_as_it_is(app, place, name):
    run = new(place)
    stands(run, state=statuses.FINISHED)
    show(app, run).text_input(key=f"name for {run.name}").set_value(name)
    app.button(key="run rename").click().run()
    assert bool(app.error) == (name != "better")
    assert the_run().name == (run.name if app.error else "better")
    assert app.query_params["run"] == the_run().name


def test_duplicate_fills_the_form_with_the_whole_recipe(visit, place):
    made = trainings.recipe(place, "simcse", seeds=(3, 4), precision="bfloat16", settings={"temperature": 0.2})
    run = runs.new(made)
    stands(run, state=statuses.FINISHED)
    show(visit, run)
    visit.button(key="run duplicate").click().run()
    assert words(visit.error) == []
    tab(visit, start_form.COMMAND)
    assert sorted(shlex.split(visit.code[0].value)) == sorted(shlex.split(made.command()))
    assert "run" not in visit.query_params


def test_the_list_tells_every_run_newest_first(app, place):
    for name in ("one", "two"):
        stands(runs.new(trainings.recipe(place), name), state=statuses.FINISHED, base=60.0, best=61.0)
        time.sleep(0.02)
    tab(app.run(), run_view.RUNS)
    table = app.dataframe[0].value
    assert list(table["Run"]) == ["two", "one", "example", "layer-attention-example"], "the examples come last"
    assert list(table["Dev at best step"])[:2] == [61.0, 61.0]
    assert table["Dev"].isna().tolist()[:2] == [True, True], "they are not compared with the base"


def test_the_sidebar_of_every_page_leads_to_the_run_under_way(tiny, paced):
    field(tiny, "steps").set_value(100_000)
    run = started(tiny)
    wait_until(lambda: run.status().step > 0)
    tiny.switch_page("pages/start.py").run()
    (link,) = tiny.sidebar.get("page_link")
    assert link.proto.label.replace("\\", "").startswith(page_frame.TRAINING.format("step"))
    assert run.name in link.proto.query_string
    training_queue.stop(run, runs.KEEP)
    ended(run)
    tiny.run()
    assert not tiny.sidebar.get("page_link")


@pytest.mark.parametrize(("name", "trusts"), [(NAME, False), (POOLER, True)])
def test_an_example_whose_model_is_an_adapter_says_how_to_export_and_load_it(app, name, trusts):
    by_link(app, run=name)
    export, load = (one.value for one in app.code[:2])
    assert export == f"python -m explorer export {name} {name}-model"
    assert f"SentenceTransformer('{name}-model'" in load
    assert ("trust_remote_code=True" in load) == trusts


def test_an_example_that_is_trained_again_keeps_its_number_of_threads_but_not_its_digests(
    tiny, place, tmp_path, monkeypatch
):
    monkeypatch.setattr(runs, "examples_folder", lambda: tmp_path / "examples")
    made_with = {"threads": 3, "data_digest": "of a text that has changed"}
    example = runs.new(replace(trainings.recipe(place), made_with=made_with), "small", tmp_path / "examples")
    stands(example, state=statuses.FINISHED)
    show(tiny, example)
    tiny.button(key="run again").click().run()
    run = the_run()
    assert ended(run).state == statuses.FINISHED, run.status().error
    assert run.recipe().made_with["threads"] == 3
    tab(tiny.run(), run_view.LOG)
    assert any(", 3 threads;" in caption for caption in words(tiny.caption))
