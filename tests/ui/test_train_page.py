"""The Train page, without a browser: its form, the runs it starts, and what can be done with them."""

import re
import shlex
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explorer.data import wordnet
from explorer.progress import Progress
from explorer.training import generator, runs
from explorer.training import status as statuses
from explorer.ui import trainer, work
from tests import trainings
from tests.live import ROOT

PAGE = "pages/train.py"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return trainings.furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture(autouse=True)
def no_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("STRATA_DATA", raising=False)
    yield
    for run, _ in trainer.under_way():
        trainer.stop(run, runs.KEEP)
    work.stop_all()
    work._jobs.clear()


@pytest.fixture
def app():
    opened = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    opened.switch_page(PAGE)
    return opened


@pytest.fixture
def tiny(app, place):
    """The page with a form that says a run of a few milliseconds a step."""
    app.query_params["model"] = str(place.model)
    app.query_params["data"] = str(place.text)
    app.run()
    say(app, batch_size=4, steps=6, learning_rate="0.001", projection="off")
    return app


def say(app, **knobs):
    """Fill fields of SG-OPT."""
    for name, value in knobs.items():
        key = f"knob sg-opt {name}"
        (field,) = (one for kind in (app.number_input, app.selectbox, app.text_input) for one in kind if one.key == key)
        field.set_value(value)
    return app.run()


def new(place, **changes):
    return runs.new(trainings.recipe(place, **changes))


def show(app, run):
    app.query_params["run"] = run.name
    return app.run()


def button(app, label):
    return next(one for one in app.button if one.label == label)


def labels(app):
    return [one.label for one in app.button]


def words(elements):
    return [one.value.replace("\\", "") for one in elements]


def marks(app):
    """What stands below the fields that are not the paper's."""
    return re.findall(r":orange-badge\[(.*?)\]", "\n".join(words(app.markdown)))


def wait_until(true, seconds=60.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def ended(run):
    wait_until(lambda: not trainer.standing(run).live)
    return run.status()


def the_run():
    (run,) = runs.every()
    return run


def started(app):
    button(app, "Start").click().run()
    return the_run()


def well(app):
    assert [one.value for one in app.exception] == []
    return app


# the form


def test_the_form_can_be_started_as_it_stands(app):
    well(app.run())
    assert app.selectbox(key="method").value == "sg-opt"
    assert list(app.multiselect(key="data").value) == ["sample"]
    assert words(app.error) == []
    assert not button(app, "Start").disabled
    assert app.code[0].value.startswith("python -m explorer train sg-opt --model all-MiniLM-L6-v2 --data sample")
    assert "1,280 rows in batches of 16: 80 steps, with a look at the development pairs after every 8." in words(
        app.caption
    )


def test_a_link_names_method_and_text(app, place):
    app.query_params["method"] = "simcse"
    app.query_params["data"] = str(place.text)
    well(app.run())
    assert app.selectbox(key="method").value == "simcse"
    assert list(app.multiselect(key="data").value) == [str(place.text)]


@pytest.mark.parametrize("seeds", ["", "one", "1.5", "1, -2", "1, 1", "4294967296", "1; x"])
def test_nonsense_seeds_are_an_error_and_keep_the_run_from_starting(app, seeds):
    app.run().text_input(key="recipe seeds").set_value(seeds).run()
    assert any("Seeds cannot be" in told for told in words(app.error))
    assert button(app, "Start").disabled


@pytest.mark.parametrize("seeds", ["7", " 1, 2,3 ", "1 2 3", "1;2"])
def test_seeds_are_read_however_they_are_parted(app, seeds):
    app.run().text_input(key="recipe seeds").set_value(seeds).run()
    assert words(app.error) == []
    assert not button(app, "Start").disabled


@pytest.mark.parametrize("rate", ["fast", "1", "-1", "nan", "inf", ""])
def test_a_nonsense_setting_is_an_error_that_names_the_range(app, rate):
    say(app.run(), learning_rate=rate)
    (told,) = words(app.error)
    assert told.startswith("learning_rate cannot be")
    assert "1e-07 to 0.01" in told
    assert button(app, "Start").disabled


def test_a_changed_setting_stands_beside_the_papers_value(app):
    say(app.run(), learning_rate="3e-5")
    assert marks(app) == ["paper: 5e-05"]
    assert "--set learning_rate=3e-05" in app.code[0].value


def test_a_batch_that_the_text_does_not_fill_starts_at_what_fits(app):
    app.query_params["method"] = "simcse-sup"
    well(app.run())
    assert app.number_input(key="knob simcse-sup batch_size").value == 16
    assert marks(app) == ["paper: 512"]
    assert any("160 rows do not fill the paper's batch of 512" in told for told in words(app.caption))
    assert not button(app, "Start").disabled


def test_the_fitting_batch_follows_the_text_until_somebody_has_touched_it(app, place):
    app.query_params["method"] = "simcse"
    well(app.run())
    batch, text = "knob simcse batch_size", app.multiselect(key="data")
    assert app.number_input(key=batch).value == 64
    text.set_value([str(place.text)]).run()
    assert app.number_input(key=batch).value == 2, "24 rows hold eight batches of no more"
    app.multiselect(key="data").set_value(["sample"]).run()
    assert app.number_input(key=batch).value == 64
    app.number_input(key=batch).set_value(10).run()
    app.multiselect(key="data").set_value([str(place.text)]).run()
    assert app.number_input(key=batch).value == 10


def test_a_batch_larger_than_the_text_is_an_error(app):
    say(app.run(), batch_size=2000)
    assert words(app.error) == [
        "The text has 1,280 rows, and a batch takes 2000. Lower batch size, or bring more rows."
    ]
    assert button(app, "Start").disabled


def test_a_method_that_the_text_cannot_serve_says_why(app):
    app.query_params["method"] = "bt"
    well(app.run())
    assert any("sample cannot give back-translations" in told for told in words(app.error))
    assert button(app, "Start").disabled
    assert any("sample has no back-translations" in told for told in words(app.markdown))


def test_a_method_that_needs_more_than_came_along_says_what_to_run(app, monkeypatch):
    there = []
    monkeypatch.setattr(wordnet, "place", lambda: Path("/somewhere") if there else None)
    app.query_params["method"] = "conisi-o2"
    app.run()
    (warning,) = (one.value for one in app.warning if "WordNet" in one.value)
    assert "python -m nltk.downloader wordnet" in warning.replace("\\", "")
    assert [one.label for one in app.button if "WordNet" in one.label] == [r"Fetch WordNet \(11 MB\)"]
    assert "Start" not in [one.label for one in app.button if not one.disabled]
    there.append(True)
    app.run()
    assert not [one.value for one in app.warning if "WordNet" in one.value]
    assert "Start" in [one.label for one in app.button if not one.disabled]


def test_a_method_that_needs_another_model_makes_one_of_the_encoder_where_there_is_no_hub(
    app, place, monkeypatch, tmp_path
):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr(generator, "make_generator", partial(generator.make_generator, steps=3))
    text = tmp_path / "text.txt"
    text.write_text("".join(f"a man plays {number} guitars\n" for number in range(80)))
    app.query_params["model"], app.query_params["data"] = str(place.model), str(text)
    app.query_params["method"] = "diffcse"
    app.run()
    (warning,) = (one.value for one in app.warning if "masked language model" in one.value)
    assert "distilbert" in warning
    assert r"Fetch distilbert\-base\-uncased from the hub" in labels(app)
    assert button(app, "Start").disabled
    (make,) = (label for label in labels(app) if label.startswith("Make one of"))
    button(app, make).click().run()
    (job,) = (job for job in work._jobs.values() if job.title == "making a generator")
    job._ended.wait(60)
    assert job.state == work.DONE, job.error
    app.run()
    assert any("it guesses" in told and "masked words" in told for told in words(app.caption))
    button(app, "Use it").click().run()
    assert not app.warning
    assert not button(app, "Start").disabled
    assert "generator=" in next(one.value for one in app.code if "explorer train diffcse" in one.value)


@pytest.mark.parametrize("text", ["/no/such/file.csv", "nonsense", "<b>x</b>", "\0", "x" * 400])
def test_text_that_is_not_there_is_an_error_in_words(app, text):
    app.query_params["data"] = text
    well(app.run())
    assert app.error
    assert button(app, "Start").disabled


def test_a_published_set_that_is_not_on_this_disk_can_be_fetched(app):
    app.query_params["data"] = "STS12"
    well(app.run())
    assert "Fetch STS12 test from the hub" in labels(app)
    assert button(app, "Start").disabled


def test_the_published_pairs_are_the_default_where_they_are_on_this_disk(app, tmp_path, monkeypatch):
    folder = tmp_path / "sets" / "STSB"
    folder.mkdir(parents=True)
    for name, count in (("dev", 1500), ("test", 1379)):
        rows = [f"{row % 6}\tsentence {row}\tother sentence {row}\n" for row in range(count)]
        (folder / f"{name}.tsv").write_text("score\tsentence1\tsentence2\n" + "".join(rows), encoding="utf-8")
    monkeypatch.setenv("STRATA_DATA", str(tmp_path / "sets"))
    well(app.run())
    assert [app.selectbox(key=f"recipe {name}").value for name in ("dev", "test")] == ["STS-B dev", "STS-B test"]


def test_choosing_and_reporting_on_the_same_pairs_is_warned_of(app):
    app.run().selectbox(key="recipe test").set_value("Sample pairs, dev half").run()
    assert any("too good" in told for told in words(app.warning))


def test_what_was_typed_is_there_after_a_look_at_another_page(app):
    say(app.run(), learning_rate="3e-5", batch_size=32)
    app.text_input(key="recipe seeds").set_value("1, 2").run()
    app.switch_page("pages/start.py").run()
    app.switch_page(PAGE).run()
    well(app)
    assert app.text_input(key="knob sg-opt learning_rate").value == "3e-5"
    assert app.number_input(key="knob sg-opt batch_size").value == 32
    assert app.text_input(key="recipe seeds").value == "1, 2"


def test_one_step_can_be_tried_first(tiny):
    button(tiny, "Try one step").click().run()
    wait_until(lambda: not any(job.live for job in work._jobs.values()))
    well(tiny.run())
    assert any("a step, about" in told for told in words(tiny.info))
    assert runs.every() == []


# a run


def test_start_makes_a_run_that_shows_base_and_best(tiny):
    run = started(tiny)
    assert tiny.query_params["run"] == run.name
    status = ended(run)
    assert status.state == statuses.FINISHED, status.error
    well(tiny.run())
    cards = {card.label: card.value for card in tiny.metric}
    assert cards["Development, best step"] == f"{status.base:.2f} → {status.best:.2f}"
    assert cards["Test"] == f"{status.facts['base_test']:.2f} → {status.results[0]['test']:.2f}"
    assert len(tiny.get("plotly_chart")) == 2
    assert any(str(run.model) in code.value for code in tiny.code)
    assert "Compare with base" in labels(tiny)


def test_a_second_start_of_the_same_recipe_shows_the_run_of_the_first(tiny):
    say(tiny, steps=100_000)
    run = started(tiny)
    del tiny.query_params["run"]
    tiny.run()
    button(tiny, "Start").click().run()
    assert [one.name for one in runs.every()] == [run.name]
    assert tiny.query_params["run"] == run.name


def test_a_run_is_called_what_the_visitor_says(tiny):
    tiny.text_input(key="run name").set_value("mine").run()
    assert started(tiny).name == "mine"


def test_a_name_that_cannot_be_is_told_and_nothing_starts(tiny):
    tiny.text_input(key="run name").set_value("../mine").run()
    button(tiny, "Start").click().run()
    assert any("cannot be called" in told for told in words(tiny.error))
    assert runs.every() == []


def test_compare_chooses_the_tuned_encoder(tiny):
    run = started(tiny)
    ended(run)
    tiny.run()
    button(tiny, "Compare with base").click().run()
    assert tiny.selectbox(key="model").value == str(run.model)


def test_a_run_that_waits_tells_what_is_in_front_and_stops_at_once(tiny):
    gate = threading.Event()

    def in_front():
        gate.wait(60)
        yield Progress("working", 1, 1)

    work.follow("front", "another run", in_front, lane=work.TRAINING)
    run = started(tiny)
    assert any("In front: another run" in told for told in words(tiny.caption))
    button(tiny, "Stop and keep").click().run()
    assert run.status().state == statuses.STOPPED
    assert any("Stopped before its first step" in told for told in words(tiny.info))
    gate.set()
    button(tiny, "Resume").click().run()
    assert ended(run).state == statuses.FINISHED


def test_a_run_that_waits_can_be_discarded(tiny):
    gate = threading.Event()

    def in_front():
        gate.wait(60)
        yield Progress("working", 1, 1)

    work.follow("front", "another run", in_front, lane=work.TRAINING)
    started(tiny)
    button(tiny, "Yes, discard it").click().run()
    assert runs.every() == []
    assert "Start" in labels(well(tiny))
    assert words(tiny.error) == []
    gate.set()


def test_stop_and_keep_leaves_a_model_and_a_way_to_go_on(tiny):
    say(tiny, steps=100_000)
    run = started(tiny)
    wait_until(lambda: run.status().step > 2)
    tiny.run()
    assert any("step" in told for told in [one.proto.text for one in tiny.get("progress")])
    button(tiny, "Stop and keep").click().run()
    assert ended(run).state == statuses.STOPPED
    well(tiny.run())
    assert run.model.is_dir()
    assert "Resume" in labels(tiny)
    assert any("Stopped at step" in told for told in words(tiny.info))


def test_stop_and_discard_deletes_the_run_and_shows_the_form(tiny):
    say(tiny, steps=100_000)
    run = started(tiny)
    wait_until(lambda: run.status().step > 2)
    tiny.run()
    button(tiny, "Yes, discard it").click().run()
    wait_until(lambda: not run.folder.exists())
    assert "Start" in labels(well(tiny.run()))
    assert words(tiny.error) == []


def test_a_run_under_way_can_be_neither_renamed_nor_deleted(tiny):
    say(tiny, steps=100_000)
    started(tiny)
    tiny.run()
    assert not {"Rename it", "Yes, delete it", "Resume"} & set(labels(tiny))
    assert "Duplicate and edit" in labels(tiny)


def test_a_stopped_run_is_resumed_where_it_was(tiny):
    say(tiny, steps=60)
    run = started(tiny)
    wait_until(lambda: run.status().step > 2)
    trainer.stop(run, runs.KEEP)
    assert ended(run).state == statuses.STOPPED
    tiny.run()
    button(tiny, "Resume").click().run()
    assert ended(run).state == statuses.FINISHED
    assert sorted(trainings.losses(run)) == list(range(1, 61))


# what a folder tells


def stands(run, **changes):
    """Make a run's folder say this."""
    return statuses.write(run.folder, replace(run.status(), **changes))


def result(**numbers):
    return {"seed": 1, "steps": 6, "best_step": 4, "dev": 70.0, "test": 71.0} | numbers


def test_a_process_that_is_gone_leaves_an_interrupted_run(app, place):
    run = new(place)
    stands(run, state=statuses.RUNNING, step=3, total=6, since=1.0)
    well(show(app, run))
    assert any("ended before the run did" in told for told in words(app.warning))
    assert "Resume" in labels(app)


def test_a_failed_run_tells_why_and_folds_what_the_program_saw(app, place):
    run = new(place)
    stands(run, state=statuses.FAILED, error="Memory ran out. Lower <b>batch_size</b>.", details="Traceback …")
    well(show(app, run))
    assert words(app.error) == ["Memory ran out. Lower <b>batch_size</b>."]
    assert any("Traceback" in code.value for code in app.code)
    assert "Resume" in labels(app)


def test_a_tuned_encoder_that_is_worse_is_called_worse(app, place):
    run = new(place)
    stands(run, state=statuses.FINISHED, base=72.0, best=70.0, results=(result(),),
           facts={**run.status().facts, "base_test": 73.0})  # fmt: skip
    well(show(app, run))
    assert any("scores lower than the base" in told for told in words(app.warning))
    assert {card.label: card.value for card in app.metric}["Test"] == "73.00 → 71.00"


def test_several_seeds_are_told_as_mean_and_spread(app, place):
    run = new(place, seeds=(1, 2, 3))
    scores = result(test=70.0), result(seed=2, test=72.0), result(seed=3, test=74.0)
    stands(run, state=statuses.FINISHED, base=60.0, best=70.0, results=scores,
           facts={**run.status().facts, "base_test": 60.0})  # fmt: skip
    well(show(app, run))
    card = next(card for card in app.metric if card.label == "Test")
    assert (card.value, card.delta) == ("60.00 → 72.00 ± 2.00", "+12.00")


def test_numbers_that_are_missing_are_none(app, place):
    run = new(place)
    stands(run, state=statuses.STOPPED)
    well(show(app, run))
    cards = {card.label: card.value for card in app.metric}
    assert cards == {"Test": "none", "Development, best step": "none"}


def test_vectors_that_have_all_become_alike_are_warned_of(app, place):
    run = new(place)
    stands(run, state=statuses.FINISHED)
    line = '{"number": 1, "seed": 1, "step": %d, "dev": 10.0, "strangers": %s, "best": false}\n'
    (run.folder / runs.METRICS).write_text(line % (0, 0.4) + line % (2, 0.995), encoding="utf-8")
    well(show(app, run))
    assert any("everything has become alike" in told for told in words(app.warning))


def test_a_job_that_failed_before_it_could_write_is_a_failed_run(app, place):
    run = new(place)

    def broken():
        yield Progress("starting", 0, 0)
        raise ZeroDivisionError("by nothing")

    job = work.follow(str(run.folder), run.name, broken, lane=work.TRAINING)
    wait_until(lambda: not job.live)
    well(show(app, run))
    assert words(app.error) == ["ZeroDivisionError: by nothing"]
    button(app, "Resume").click().run()
    assert ended(run).state == statuses.FINISHED


def test_whatever_a_folder_says_is_shown_as_it_is_written(app, place):
    run = new(place)
    nasty = "<script>alert(1)</script> :red[x] ![p](http://example.invalid/x.png)"
    stands(run, state="strange", error=nasty, facts={"method": nasty, "model": nasty, "data": [nasty], "dev": nasty})
    well(show(app, run))
    assert any(nasty in told for told in words(app.caption))


@pytest.mark.parametrize("name", ["none-such", "../runs", "<b>x</b>", "", "."])
def test_a_run_that_is_not_there_is_told_and_the_form_is_shown(app, name):
    app.query_params["run"] = name
    well(app.run())
    assert app.error
    assert "Start" in labels(app)


# what can be done with a run


def test_a_run_is_deleted_when_the_question_is_answered(app, place):
    run = new(place)
    stands(run, state=statuses.FINISHED)
    show(app, run)
    assert run.folder.is_dir()
    button(app, "Yes, delete it").click().run()
    assert not run.folder.exists()
    well(app)
    assert "Start" in labels(app)


def test_a_run_is_renamed_and_stays_in_view(app, place):
    run = new(place)
    stands(run, state=statuses.FINISHED)
    show(app, run).text_input(key=f"name for {run.name}").set_value("better")
    button(app, "Rename it").click().run()
    well(app)
    assert the_run().name == "better"
    assert app.query_params["run"] == "better"


@pytest.mark.parametrize("name", ["", "a b", "../x", "<b>"])
def test_a_name_that_cannot_be_leaves_the_run_as_it_is(app, place, name):
    run = new(place)
    stands(run, state=statuses.FINISHED)
    show(app, run).text_input(key=f"name for {run.name}").set_value(name)
    button(app, "Rename it").click().run()
    well(app)
    assert app.error
    assert the_run().name == run.name


def test_duplicate_fills_the_form_with_the_whole_recipe(app, place):
    made = trainings.recipe(place, "simcse", seeds=(3, 4), precision="bfloat16", settings={"temperature": 0.2})
    run = runs.new(made)
    stands(run, state=statuses.FINISHED)
    show(app, run)
    button(app, "Duplicate and edit").click().run()
    well(app)
    assert words(app.error) == []
    assert sorted(shlex.split(app.code[0].value)) == sorted(shlex.split(made.command()))
    assert "run" not in app.query_params


def test_the_list_tells_every_run_newest_first(app, place):
    for name in ("one", "two"):
        run = runs.new(trainings.recipe(place), name)
        stands(run, state=statuses.FINISHED, base=60.0, best=61.0)
        time.sleep(0.02)
    well(app.run())
    table = app.dataframe[0].value
    assert list(table["Run"]) == ["two", "one"]
    assert list(table["Dev, best"]) == [61.0, 61.0]


def test_the_sidebar_of_every_page_leads_to_the_run_under_way(tiny):
    say(tiny, steps=100_000)
    run = started(tiny)
    wait_until(lambda: run.status().step > 0)
    tiny.switch_page("pages/start.py").run()
    (link,) = tiny.sidebar.get("page_link")
    assert link.proto.label.startswith("Training\\: step")
    assert run.name in link.proto.query_string
    trainer.stop(run, runs.KEEP)
    ended(run)
    tiny.run()
    assert not tiny.sidebar.get("page_link")
