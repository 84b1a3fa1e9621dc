"""Test the form of the Train page: defaults, links, errors and missing requirements."""

import re
import shlex
import shutil
from functools import partial
from pathlib import Path

import pytest
import torch

from explorer import fair_share, in_words, methods
from explorer.data import corpora, sample, wordnet
from explorer.data.tables.text_rows import read_graded_pairs
from explorer.data.text_sets import BACK_TRANSLATIONS, LABELLED_TEXTS, SCORED_PAIRS
from explorer.encoding.load import hardware
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.knobs import Knob
from explorer.measuring.comparing.comparison import default_reading
from explorer.measuring.scores.layer_scores import score_layers
from explorer.progress import finish
from explorer.studies import gallery
from explorer.training import generator
from explorer.training.loop.judging import under_heads
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.text_defaults import demonstration
from explorer.ui.access import jobs, set_choice
from explorer.ui.runs import run_curves, set_fields, training_form
from explorer.ui.train import knob_form, method_form, recipe_form, start_form
from tests import named_texts, trainings
from tests.train_visits import PAGE, START, ended, field, refusals, say, started
from tests.visits import by_link, error_of, fetches, lead, measured, wait_until, words

PRESET = "preset sg-opt"


def marks(app):
    """The badges below the fields that are not the paper's."""
    return re.findall(r":orange-badge\[(.*?)\]", "\n".join(words(app.markdown)))


def planned(app, rows, batch, steps):
    """Whether the page says that so many rows in batches of a size are so many steps."""
    plan = recipe_form.PLAN.partition(" (")[0].format(rows, batch, steps)
    return any(told.startswith(plan) for told in words(app.caption))


def test_a_first_visit_can_start_the_demonstration(visit):
    visit.run()
    assert refusals(visit) == []
    assert sorted(shlex.split(visit.code[0].value)) == sorted(shlex.split(demonstration().command()))
    assert recipe_form.ABOUT_DEMONSTRATION in words(visit.markdown)
    assert visit.segmented_control(key="preset contrast-hard").value == "Demonstration"
    assert marks(visit) == []
    visit.number_input(key="knob contrast-hard steps").set_value(90).run()
    assert recipe_form.ABOUT_DEMONSTRATION not in words(visit.markdown)


def test_the_model_of_a_run_is_a_base_only_when_the_visitor_says_so(app, place):
    run = runs.new(trainings.recipe(place))
    shutil.copytree(place.model, run.model)
    by_link(app, model=f"run:{run.name}")
    assert app.radio(key="recipe base").value is None
    assert app.button(key=START).disabled
    app.radio(key="recipe base").set_value(str(place.model)).run()
    assert f"--model {place.model}" in app.code[0].value
    app.radio(key="recipe base").set_value(f"run:{run.name}").run()
    assert f"--model run:{run.name}" in app.code[0].value
    assert not app.button(key=START).disabled


@pytest.mark.parametrize(
    ("method", "rows", "plan", "divided"),
    [
        ("classify", "256 rows to train on, 32 to validate, 32 to test", (256, 16, 150), True),
        ("sbert-nli", "320 rows to train on.", (320, 16, 150), False),
    ],
)
def test_labelled_rows_are_divided_for_a_method_that_predicts_classes_only(app, method, rows, plan, divided):
    by_link(app, method=method)
    assert refusals(app) == []
    assert any(rows in told for told in words(app.caption))
    assert planned(app, *plan)
    assert (f"knob {method} validate_by" in {box.key for box in app.selectbox}) == divided


def test_rows_that_a_method_refuses_are_refused_before_the_start(app, tmp_path):
    path = tmp_path / "labelled.csv"
    path.write_text("\n".join(["text,label", *(f"sentence {row},{'yn'[row % 2]}" for row in range(240))]), "utf-8")
    by_link(app, method="classify", data=str(path))
    assert words(app.error) == []
    app.query_params["method"] = "sbert-nli"
    app.selectbox(key="method").set_value("sbert-nli").run()
    rows = named_texts.corpus([str(path)], LABELLED_TEXTS, divide=False)[0]
    assert refusals(app) == [error_of(lambda: methods.load("sbert-nli").check_rows(rows))]


def test_few_rows_whose_pairs_fill_batches_can_be_trained_on_and_the_plan_counts_the_pairs(app, tmp_path):
    for split, count in (("train", 8), ("dev", 10), ("test", 12)):
        lines = [f"{split} sentence {row},{'yn'[row % 2]}" for row in range(count)]
        (tmp_path / f"{split}.csv").write_text("\n".join(["text,label", *lines]), "utf-8")
    by_link(app, method="setfit", data=str(tmp_path))
    assert refusals(app) == []
    fitted = methods.few_rows(methods.load("setfit"), 8)
    assert "batch_size" not in fitted, "320 pairs fill its own"
    assert planned(app, 8, methods.load("setfit").schedule.batch_size, fitted["steps"])
    assert any(recipe_form.OF_PAIRS.format(320) in told for told in words(app.caption))
    app.number_input(key="knob setfit batch_size").set_value(321).run()
    assert refusals(app) == [recipe_form.TOO_FEW_ROWS.format(8, 321)]


def test_the_form_of_a_link_can_be_started_as_it_stands_and_a_nonsense_setting_is_an_error_that_names_the_range(app):
    app.run()
    assert "select_by" not in app.code[0].value
    assert app.selectbox(key="method").value == "sg-opt"
    assert list(app.multiselect(key="data").value) == ["sample"]
    assert refusals(app) == []
    assert app.code[0].value.startswith("python -m explorer train sg-opt --model all-MiniLM-L6-v2 --data sample")
    assert planned(app, 1280, 16, 80)
    checked = training_form.methods()["sg-opt"].knobs["learning_rate"].checked
    for rate in ("fast", "1", "-1", "nan", "inf", ""):
        say(app, learning_rate=rate)
        refused = error_of(partial(checked, rate))
        assert words(app.error) == [refused], rate
        assert "1e-07 to 0.01" in refused
        assert app.button(key=START).disabled, rate


def test_a_number_outside_of_its_bounds_reaches_the_form_and_keeps_the_run_from_starting(app):
    checked = training_form.methods()["sg-opt"].knobs["batch_size"].checked
    batch = field(app.run(), "batch_size").proto
    assert (batch.has_min, batch.has_max) == (False, False), "a browser would keep such a number to itself"
    for size, typed in ((5000, 5000), (1, 1), (None, "")):
        say(app, batch_size=size)
        assert refusals(app) == [error_of(partial(checked, typed))], size
    say(app, batch_size=8, steps=999_999_999)
    assert refusals(app) == [], "there is no most of steps"
    app.number_input(key=recipe_form.MOST_ELSEWHERE).set_value(-1).run()
    assert refusals(app) == [error_of(partial(training_form.setting("elsewhere_most").checked, -1))]


def test_seeds_are_read_however_they_are_parted_and_nonsense_keeps_the_run_from_starting(app, place):
    app.run()
    for seeds in ("7", "one", " 1, 2,3 ", "", "1 2 3", "1.5", "1;2", "1, -2", "1, 1", "4294967296", "1; x"):
        app.text_input(key="recipe seeds").set_value(seeds).run()
        if seeds in ("7", " 1, 2,3 ", "1 2 3", "1;2"):
            refused = []
        else:
            refused = [error_of(lambda typed=seeds: trainings.recipe(place, seeds=training_form.typed_seeds(typed)))]
        assert refusals(app) == refused, seeds


def test_a_changed_setting_stands_beside_the_papers_value(app):
    say(by_link(app, method="sg-opt", data="sample"), learning_rate="3e-5")
    assert marks(app) == ["paper: 5e-05", "paper: cls", "paper: off"]
    assert "--set learning_rate=3e-05" in app.code[0].value


def test_every_setting_is_the_papers_on_one_click(app):
    say(app.run(), learning_rate="3e-5", pooling="mean")
    assert app.selectbox(key="knob sg-opt pooling").value == "mean"
    assert app.segmented_control(key=PRESET).value is None
    app.segmented_control(key=PRESET).set_value(knob_form.PAPER).run()
    assert app.selectbox(key="knob sg-opt pooling").value == "cls"
    assert app.text_input(key="knob sg-opt learning_rate").value == "5e-05"
    assert marks(app) == []
    assert "--set pooling=cls" in app.code[0].value
    assert "learning_rate" not in app.code[0].value
    app.segmented_control(key=PRESET).set_value(knob_form.DEFAULTS).run()
    kind = methods.load("sg-opt")
    usual = {f"{name}={Knob.text(methods.knobs_of(kind)[name].default)}" for name in methods.fitted_names(kind)}
    words_set = shlex.split(app.code[0].value.partition(" --set ")[2])[::2]
    assert {*words_set} == usual, "the command states what the text could decide, and nothing else"


def test_the_values_of_the_released_code_are_one_click_away_and_the_switch_shows_whose_are_set(app):
    assert app.run().segmented_control(key=PRESET).value == knob_form.DEFAULTS
    app.segmented_control(key=PRESET).set_value(knob_form.RELEASED).run()
    assert app.selectbox(key="knob sg-opt view_pooling").value == "mean"
    assert app.selectbox(key="knob sg-opt guide_dropout").value == "on"
    assert app.segmented_control(key=PRESET).value == knob_form.RELEASED
    say(app, temperature="0.02")
    assert app.segmented_control(key=PRESET).value is None


def test_a_text_that_is_small_for_the_method_starts_with_what_was_measured_for_so_few_rows(app):
    by_link(app, method="simcse-sup")
    fitted = methods.few_rows(methods.load("simcse-sup"), 160)
    assert {*fitted} == {"batch_size", "steps"}
    for name, value in fitted.items():
        assert app.number_input(key=f"knob simcse-sup {name}").value == value
    assert marks(app) == ["paper: set by the epochs", "paper: 512", "paper: cls", "paper: off"]
    told = recipe_form.FITTED.format(160, "batch size, steps", recipe_form.OF_PAPER)
    assert told in words(app.caption)
    assert not app.button(key=START).disabled
    app.segmented_control(key="preset simcse-sup").set_value(knob_form.PAPER).run()
    assert app.number_input(key="knob simcse-sup steps").value == 0, "the paper's schedule is the paper's"
    assert told not in words(app.caption)


def test_a_link_names_the_text_and_the_fitting_batch_follows_it_until_somebody_has_touched_it(app, place):
    by_link(app, method="simcse", data=str(place.text))
    assert app.selectbox(key="method").value == "simcse"
    assert list(app.multiselect(key="data").value) == [str(place.text)]
    batch = "knob simcse batch_size"
    assert app.number_input(key=batch).value == methods.few_rows(methods.load("simcse"), 24)["batch_size"]
    app.multiselect(key="data").set_value(["sample"]).run()
    of_many = methods.load("simcse").schedule.with_values(methods.few_rows(methods.load("simcse"), 1280))
    assert app.number_input(key=batch).value == of_many.batch_size
    app.number_input(key=batch).set_value(10).run()
    app.multiselect(key="data").set_value([str(place.text)]).run()
    assert app.number_input(key=batch).value == 10


def test_the_number_of_rows_and_steps_follows_whether_duplicates_are_kept(app, tmp_path):
    path = tmp_path / "twice.txt"
    path.write_text("A man plays.\nA dog runs.\n" * 40, encoding="utf-8")
    say(by_link(app, data=str(path)), batch_size=2, steps=0)
    assert planned(app, 80, 2, 40)
    assert any("78 of them are duplicates" in told for told in words(app.caption))
    app.selectbox(key="knob sg-opt keep_duplicates").set_value("off").run()
    assert planned(app, 2, 2, 1)
    assert any("78 dropped: sentence seen before" in told for told in words(app.warning))
    assert "--set keep_duplicates=off" in app.code[0].value


def test_a_part_of_the_rows_is_drawn_and_more_than_there_are_is_an_error(app, tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("".join(f"A man plays {number}.\n" for number in range(40)), encoding="utf-8")
    say(by_link(app, data=str(path)), batch_size=2, steps=0)
    app.text_input(key="knob sg-opt rows").set_value("25%").run()
    assert planned(app, 10, 2, 5)
    assert any("They are drawn from 40 rows." in told for told in words(app.caption))
    assert "rows=25 %" in shlex.split(app.code[0].value)
    for typed, told in (
        ("41", "rows cannot be 41: the text has 40 rows"),
        ("1", "but a batch takes 2"),
        ("all", "'all'"),
    ):
        app.text_input(key="knob sg-opt rows").set_value(typed).run()
        assert any(told in error for error in words(app.error))
        assert app.button(key="run start").disabled


def test_defaults_are_the_papers_for_the_family_of_the_encoder_and_the_form_says_so(app, monkeypatch):
    family = "explorer.encoding.locate.model_names.family"
    monkeypatch.setattr(family, lambda source, online=False: "BERT-large")
    by_link(app, method="conisi-s")
    share = "knob conisi-s share"
    assert app.text_input(key=share).value == "0.1"
    told = recipe_form.OF_ENCODERS.format("BERT-large", "share 0.1, max length 28")
    assert told in words(app.caption)
    fitted = ["paper: set by the epochs"]
    assert marks(app) == [*fitted, "paper: cls", "paper: off"]
    assert {"share=0.1", "max_length=28"} <= {*shlex.split(app.code[0].value)}
    app.text_input(key=share).set_value("0.8").run()
    assert sorted(marks(app)) == sorted([*fitted, "paper: 0.1", "paper: cls", "paper: off"])
    assert "share=0.8" in shlex.split(app.code[0].value)
    app.text_input(key=share).set_value("0.1").run()
    monkeypatch.setattr(family, lambda source, online=False: "")
    app.run()
    assert app.text_input(key=share).value == "0.8", "it follows the encoder"
    assert not any("BERT-large" in told for told in words(app.caption))
    assert {"share", "max_length"}.isdisjoint(one.partition("=")[0] for one in shlex.split(app.code[0].value))


def test_more_layers_to_keep_than_the_encoder_has_are_an_error(app, place):
    by_link(app, model=str(place.model), method="distil")
    assert refusals(app) == []
    app.number_input(key="knob distil keep_layers").set_value(2).run()
    assert "'tiny' has 2 layers, and none would be removed. Choose 1, or 0 for half of them." in words(app.error)[0]
    assert app.button(key=START).disabled


def test_a_batch_larger_than_the_text_is_an_error(app):
    say(app.run(), batch_size=2000)
    assert refusals(app) == [recipe_form.TOO_FEW_ROWS.format(1280, 2000)]


def test_a_method_that_the_text_cannot_serve_says_why(app):
    by_link(app, method="bt")
    assert refusals(app) == [error_of(lambda: named_texts.corpus(["sample"], BACK_TRANSLATIONS))]
    lack = named_texts.serves("sample")[BACK_TRANSLATIONS]
    assert lack
    assert not any(lack in told for told in words(app.markdown)), "the list is folded"
    app.session_state["every method"] = True
    app.run()
    assert any(f"sample {lack}" in told for told in words(app.markdown))
    assert app.button(key="choose bt").disabled
    app.button(key="choose simcse").click().run()
    assert app.selectbox(key="method").value == "simcse"


def test_a_method_that_there_is_not_is_named_and_the_one_that_fits_the_text_is_used_meanwhile(app, place, tmp_path):
    by_link(app, model=str(place.model), method="cosine-mse", data=trainings.scored_pairs(tmp_path, 60))
    used = "cosent"
    error = error_of(partial(methods.load, "cosine-mse"))
    assert f"{error} Until then '{used}' is used." in words(app.warning)
    assert refusals(app) == []
    assert f" train {used} " in app.code[0].value
    app.selectbox(key="method").set_value("simcse").run()
    assert words(app.warning) == []


def test_graded_pairs_are_trained_on_without_the_rows_that_the_run_is_evaluated_on(app, tmp_path):
    shared = sample.dev().first[0]
    rows = [f"{row % 6},sentence {row},another {row}" for row in range(80)] + [f"3,{shared},another one"]
    path = tmp_path / "graded.csv"
    path.write_text("\n".join(["rating,left,right", *rows]), encoding="utf-8")
    by_link(app, method="cosent", data=str(path))
    assert words(app.warning) == [], "all rows are judged, and trained on"
    for key, half in (("recipe dev", "dev"), ("recipe test", "test")):
        app.selectbox(key=key).set_value(f"Sample pairs, {half} half").run()
    assert words(app.error) == []
    scored = named_texts.corpus([str(path)], SCORED_PAIRS)[0]
    left, dropped = corpora.without_evaluated(scored, [sample.dev().sentences, sample.test().sentences], 32)
    assert len(left) == 80
    assert f"{dropped}." in words(app.warning)
    assert planned(app, 80, *(methods.few_rows(methods.load("cosent"), 81)[name] for name in ("batch_size", "steps")))
    assert not app.button(key=START).disabled
    boxes = {one.key for one in app.selectbox if one.key.startswith("text column")}
    assert boxes == {"text column first", "text column second", "text column score"}


def test_the_sample_s_pairs_are_not_trained_on_where_the_run_is_evaluated_on_them(app):
    by_link(app, method="cosent")
    assert refusals(app) == []
    assert app.selectbox(key="recipe dev").value == sample.DEV_PART
    app.selectbox(key="recipe dev").set_value(sample.DEV).run()
    rows, evaluated = named_texts.corpus(["sample"], SCORED_PAIRS)[0], [sample.dev().sentences, sample.test().sentences]
    assert error_of(lambda: corpora.without_evaluated(rows, evaluated, 64)) in words(app.error)
    assert app.button(key=START).disabled


def test_a_method_that_needs_more_than_came_along_says_what_to_run(app, monkeypatch):
    there = []
    monkeypatch.setattr(wordnet, "place", lambda: Path("/somewhere") if there else None)
    by_link(app, method="conisi-o2")
    need = wordnet.WORDNET
    assert words(app.warning).count(method_form.MISSING.format("conisi-o2", need.name, need.how)) == 1
    assert fetches(app) == [method_form.FETCH.format(need.name, need.size)]
    assert app.button(key=START).disabled
    there.append(True)
    app.run()
    assert not [told for told in words(app.warning) if need.name in told]
    assert not app.button(key=START).disabled


def test_a_method_that_needs_another_model_makes_one_of_the_encoder_where_there_is_no_hub(
    app, place, monkeypatch, tmp_path
):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr(generator, "make_generator", partial(generator.make_generator, steps=3))
    text = tmp_path / "text.txt"
    text.write_text("".join(f"a man plays {number} guitars\n" for number in range(80)))
    by_link(app, model=str(place.model), data=str(text), method="diffcse")
    missing = "distilbert-base-uncased"
    assert words(app.warning) == [method_form.NO_GENERATOR.format("diffcse", "generator", missing, "generator")]
    assert fetches(app) == [set_choice.FETCH.format(missing)]
    assert app.button(key=START).disabled
    app.button(key="make generator").click().run()
    (job,) = (job for job in jobs._jobs.values() if job.title == "making a generator")
    job._ended.wait(60)
    assert job.state == jobs.DONE, job.error
    content = text.read_text()
    for now, made in ((content, True), (content.replace("guitars", "violins"), False), (content, True)):
        text.write_text(now)
        app.run()
        assert any(told.startswith(lead(method_form.MADE)) for told in words(app.caption)) == made, "of this text"
    app.button(key="use made generator").click().run()
    assert not app.warning
    assert not app.button(key=START).disabled
    assert "generator=" in next(one.value for one in app.code if "explorer train diffcse" in one.value)


@pytest.mark.parametrize("text", ["/no/such/file.csv", "nonsense", "<b>x</b>", "\0", "x" * 400])
def test_text_that_is_not_there_is_an_error_in_words(app, text):
    by_link(app, data=text)
    assert app.error
    assert app.button(key=START).disabled


def test_a_published_set_that_is_not_on_this_disk_can_be_fetched(app):
    by_link(app, data="STS12")
    assert fetches(app) == [set_choice.FETCH.format("STS12 test")]
    assert not app.error
    assert any(told.startswith(set_choice.NOT_ON_DISK.format("STS12 test", "")) for told in words(app.info))
    assert app.button(key=START).disabled
    app.multiselect(key="data").set_value(["nonsense", "STS12"]).run()
    assert "nonsense" in app.error[0].value
    assert fetches(app) == [set_choice.FETCH.format("STS12 test")]


def test_the_published_pairs_are_the_default_where_they_are_on_this_disk(app, tmp_path, monkeypatch):
    folder = tmp_path / "sets" / "STSB"
    folder.mkdir(parents=True)
    for name, count in (("dev", 1500), ("test", 1379)):
        rows = [f"{row % 6}\tsentence {row}\tother sentence {row}\n" for row in range(count)]
        (folder / f"{name}.tsv").write_text("score\tsentence1\tsentence2\n" + "".join(rows), encoding="utf-8")
    monkeypatch.setenv("STRATA_DATA", str(tmp_path / "sets"))
    app.run()
    assert [app.selectbox(key=f"recipe {name}").value for name in ("dev", "test")] == ["STS-B dev", "STS-B test"]


def test_choosing_and_reporting_on_the_same_pairs_is_refused(app):
    app.run().selectbox(key="recipe test").set_value("Sample pairs, dev half").run()
    assert any("has all 120 pairs of the test set" in one for one in words(app.error))
    assert app.button(key=START).disabled


def test_what_was_typed_is_there_after_a_look_at_another_page(app):
    say(app.run(), learning_rate="3e-5", batch_size=32)
    app.text_input(key="recipe seeds").set_value("1, 2").run()
    app.switch_page("pages/start.py").run().switch_page(PAGE).run()
    assert app.text_input(key="knob sg-opt learning_rate").value == "3e-5"
    assert app.number_input(key="knob sg-opt batch_size").value == 32
    assert app.text_input(key="recipe seeds").value == "1, 2"


def test_a_step_on_few_own_rows_is_tried_without_being_asked(tiny, monkeypatch):
    monkeypatch.setattr(start_form, "FEW", 100)
    tiny.run()
    wait_until(lambda: not any(job.live for job in jobs._jobs.values()))
    tiny.run()
    (job,) = (job for job in jobs._jobs.values() if job.key.startswith("try "))
    takes = start_form.TAKES.format(in_words.duration(job.result.seconds), job.result.steps)
    (shown,) = (one for one in tiny.markdown if one.value.startswith(f"{takes} "))
    assert where() in shown.value.replace("\\", "")
    assert start_form.ESTIMATE.format(job.result.words) in shown.proto.help.replace("\\", "")
    assert runs.every() == []


def where() -> str:
    """What the form says of this machine: device, precision, threads, and its free memory in some unit."""
    precision = hardware.precision("auto", "cpu")
    here = f"{hardware.device_name()}, {precision}, {fair_share.at_start()} threads".replace("1 threads", "1 thread")
    return start_form.WHERE.format(here, "{}").partition("{}")[0]


def test_the_form_says_what_a_run_would_use_before_anything_is_measured(tiny):
    tiny.run()
    (shown,) = (told for told in words(tiny.caption) if told.startswith(where()))
    assert re.search(r"with [\d.]+ (GB|MB) of memory free\.$", shown)
    assert not any(told.startswith(lead(start_form.TAKES)) for told in words(tiny.markdown)), "the premise"


def test_a_device_that_this_machine_lacks_is_said_before_the_start(tiny):
    lacks = "mps" if torch.cuda.is_available() else "cuda"
    tiny.run().session_state[recipe_form.DEVICE] = lacks
    tiny.run()
    assert any(f"This machine has no '{lacks}'" in told for told in words(tiny.warning))


def test_one_step_can_be_tried_first(tiny):
    for key, half in (("recipe dev", "dev"), ("recipe test", "test")):
        tiny.selectbox(key=key).set_value(f"Sample pairs, {half} half").run()
    tiny.button(key="run estimate").click().run()
    wait_until(lambda: not any(job.live for job in jobs._jobs.values()))
    tiny.run()
    assert any(told.startswith(lead(start_form.TAKES)) for told in words(tiny.markdown))


def test_before_the_start_the_figure_has_the_score_and_the_cosines_of_the_base(tiny, monkeypatch, place):
    monkeypatch.setattr(start_form, "PREVIEWED", 100)
    tiny.run()
    wait_until(lambda: not any(job.live for job in jobs._jobs.values()))
    tiny.run()
    (found,) = (job.result for job in jobs._jobs.values() if job.key.startswith("first point"))
    encoder = load(find(str(place.model)), precision="float32")
    texts = [text for pair in found.pairs for text in (pair.first, pair.second)]
    (vectors,) = finish(under_heads(encoder, texts, (encoder.default_head,), ""))
    expected = torch.nn.functional.cosine_similarity(vectors[::2].double(), vectors[1::2].double())
    assert found.cosines == pytest.approx(expected.tolist(), abs=1e-6)
    scores = finish(score_layers(encoder, read_graded_pairs(place.dev)[0]))
    assert found.dev == pytest.approx(scores.score(default_reading(scores)), abs=0.01)
    assert len(tiny.get("plotly_chart")) == 2


def test_of_cross_fitted_rows_the_figure_is_of_the_folds_and_there_is_none_before_their_first_step(
    app, place, tmp_path, monkeypatch
):
    monkeypatch.setattr(start_form, "PREVIEWED", 100)
    pairs, title = trainings.scored_pairs(tmp_path, 20), "Spearman on the rows that each fold leaves out"
    for name, value in {"steps": 2, "batch_size": 4, "learning_rate": "0.001"}.items():
        app.session_state[f"knob cosent {name}"] = value
    app.session_state[set_fields.ELSEWHERE] = []
    measured(app, model=str(place.model), method="cosent", data=pairs)
    assert f"**{title}**" in words(app.markdown)
    assert run_curves.NOT_YET in words(app.caption)
    assert len(app.get("plotly_chart")) == 1, "that of the watched pairs"
    run = started(app)
    assert not any("on the dev set**" in told for told in words(app.markdown)), "nor while it waits"
    assert ended(run).state == statuses.FINISHED
    app.run()
    assert any(told.startswith(f"**{title}**") for told in words(app.markdown))
    assert len(app.get("plotly_chart")) == 2
    assert title in gallery.run_page(run, run.status()).decode()


def test_a_method_whose_settings_are_no_papers_says_so(app):
    by_link(app, method="contrast-hard")
    assert marks(app) == []
    usual = app.number_input(key="knob contrast-hard batch_size").value
    app.number_input(key="knob contrast-hard batch_size").set_value(usual // 2).run()
    assert marks(app) == [f"{knob_form.FOR_TEXT}: {usual}"]
    assert app.segmented_control(key="preset contrast-hard").options == [knob_form.DEFAULTS, "Demonstration", "Quick"]


def test_where_values_fit_few_rows_the_form_says_where_those_for_many_are_and_they_are_there(app, place, tmp_path):
    by_link(app, model=str(place.model), method="cosent", data=trainings.scored_pairs(tmp_path, 60))
    usual, fitted = methods.knobs_of(methods.load("cosent")), methods.few_rows(methods.load("cosent"), 60)
    assert recipe_form.FITTED.format(60, "batch size, steps, blend", recipe_form.OF_DEFAULTS) in words(app.caption)
    for name in fitted:
        kinds = app.number_input, app.text_input
        (field,) = (one for kind in kinds for one in kind if one.key == f"knob cosent {name}")
        assert f"Default: {Knob.text(usual[name].default)}." in field.help.replace("\\", "")
    app.number_input(key="knob cosent steps").set_value(90).run()
    app.text_input(key="knob cosent learning_rate").set_value("1e-4").run()
    assert sorted(marks(app)) == sorted([f"{knob_form.FOR_TEXT}: 60", "default: 2e-05"])
