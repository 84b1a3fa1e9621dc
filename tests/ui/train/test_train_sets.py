"""Test the sets, the text and the method that a form of the Train page fits together, and one run in two tabs."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from explorer.data import sample
from explorer.data.graded import sets, sts
from explorer.data.sample import SEARCH
from explorer.data.sources import CROSS_FITTED, HELD_OUT, identity
from explorer.data.text_sets import GradedPairs
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui.access import jobs, set_choice
from explorer.ui.runs import set_fields, training_form, training_queue
from explorer.ui.runs.training_form import BY_HAND
from explorer.ui.train import knob_form, recipe_form, text_form
from tests import trainings
from tests.live import ROOT
from tests.train_visits import PAGE, START, ended, show, stands
from tests.visits import buttons, by_link, lead, wait_until, words


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch, nothing_is_measured):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))


def kept(count=60, name="mine.csv"):
    rows = range(count)
    first, second = (tuple(f"{side} sentence {row} of {name}" for row in rows) for side in ("one", "other"))
    pairs = GradedPairs(name, first, second, tuple(float(row % 6) for row in rows), ("",) * count)
    return sets.keep(pairs).written


def halves(name=sample.PAIRS):
    return tuple(one.written for one in sets.halves(identity(name)))


def parts(name):
    return tuple(one.written for one in sets.parts(identity(name)))


def judged(app):
    return tuple(app.selectbox(key=f"recipe {name}").value for name in ("dev", "test"))


def optimistic(app):
    return [told for told in words(app.warning) if told.startswith(lead(set_fields.OPTIMISTIC))]


def test_the_halves_of_the_own_set_in_the_sidebar_are_the_default(app):
    by_link(app, sts=(name := kept()))
    assert judged(app) == halves(name)
    assert words(app.error) == []
    assert f"--dev '{name} · dev half' --test '{name} · test half'" in app.code[0].value


def test_an_own_set_without_halves_is_no_default_and_offers_none(app):
    by_link(app, sts=(name := kept(12)))
    assert judged(app) == halves()
    for key in ("recipe dev", "recipe test"):
        assert not set(halves(name)) & set(app.selectbox(key=key).options)
    assert not set(parts(name)) & set(app.multiselect(key="data").options)


def test_further_test_sets_are_part_of_the_run(app):
    app.run()
    further = [SEARCH, sample.PAIRS]
    app.multiselect(key=recipe_form.MORE_TESTS).set_value(further).run()
    main = app.selectbox(key="recipe test").value
    told = app.code[0].value
    places = [told.index(f"--test '{name}'" if " " in name else f"--test {name}") for name in (main, *further)]
    assert places == sorted(places)
    app.selectbox(key="recipe test").set_value(SEARCH).run()
    assert app.multiselect(key=recipe_form.MORE_TESTS).value == further[1:], "the main one is no further one"
    app.selectbox(key="recipe test").set_value(set_fields.NO_TEST).run()
    assert recipe_form.MORE_TESTS not in [one.key for one in app.multiselect]
    assert app.code[0].value.count("--test") == 1


def test_a_folder_of_judged_queries_can_be_typed(app, tmp_path):
    (tmp_path / "help/qrels").mkdir(parents=True)
    for name in ("queries", "corpus"):
        rows = [{"_id": f"{name}{row}", "text": f"{name} about {row} birds"} for row in range(12)]
        (tmp_path / f"help/{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    judged = [f"queries{row}\tcorpus{row}\t1" for row in range(12)]
    (tmp_path / "help/qrels/test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]))
    typed(app, str(tmp_path / "help"))
    assert words(app.error) == []
    assert f"--test {tmp_path / 'help'}" in app.code[0].value


def test_a_path_that_holds_nothing_is_an_error_and_no_run(app, tmp_path):
    typed(app, str(tmp_path / "nothing.csv"))
    assert any("nothing.csv" in told for told in words(app.error))
    assert not app.code


def typed(app, test):
    """Type a test set before the first display; later AppTest refuses to set what is no option."""
    app.session_state["recipe test"] = test
    app.session_state[BY_HAND] = {"recipe test"}
    app.run()


def choose_set(app, name):
    """In the sidebar of a page that shows it."""
    app.switch_page("pages/start.py").run()
    app.selectbox(key="sts").set_value(name).run()
    app.switch_page(PAGE).run()


def test_the_default_follows_the_sidebar_until_somebody_has_set_the_field(app, place):
    by_link(app, model=str(place.model))
    assert judged(app) == halves()
    name, other = kept(), kept(name="other.csv")
    choose_set(app, name)
    assert judged(app) == halves(name)
    app.selectbox(key="recipe test").set_value("none").run()
    choose_set(app, other)
    assert judged(app) == (halves(other)[0], "none"), "what was set by hand stays"
    app.switch_page("pages/start.py").run().switch_page(PAGE).run()
    assert judged(app) == (halves(other)[0], "none")


@pytest.mark.parametrize("whole", [sample.PAIRS, "mine.csv"])
def test_training_on_a_train_part_is_judged_on_its_dev_part_and_test_half(app, whole):
    name = kept() if whole == "mine.csv" else whole
    app.run()
    train, dev = parts(name)
    assert train in app.multiselect(key="data").options
    app.multiselect(key="data").set_value([train]).run()
    assert judged(app) == (dev, halves(name)[1])
    assert optimistic(app) == [], "no sentence is in two splits"


@pytest.mark.parametrize("text", ["STS-B train", "SICK-R train"])
def test_training_on_a_split_of_a_published_set_is_judged_on_its_dev_and_test_split(app, text):
    by_link(app, sts=kept())
    app.multiselect(key="data").set_value([text]).run()
    name = text.removesuffix(" train")
    assert judged(app) == (f"{name} dev", f"{name} test")


def test_shared_sentences_of_text_and_sets_are_warned_of(app):
    by_link(app, sts=(name := kept()), data=name)
    (told,) = optimistic(app)
    every = " and ".join(map(set_fields.ALL_OF.format, ("dev", "test")))
    assert told == set_fields.OPTIMISTIC.format(every)
    train, dev = parts(name)[0], halves(name)[0]
    app.multiselect(key="data").set_value([train]).run()
    app.selectbox(key="recipe dev").set_value(dev).run()
    (told,) = optimistic(app)
    shared = {*sets.load(identity(train)).sentences} & {*sets.load(identity(dev)).sentences}
    assert told == set_fields.OPTIMISTIC.format(set_fields.SOME_OF.format(len(shared), 60, "dev"))


def test_a_dev_set_that_holds_the_test_set_is_refused_and_one_that_holds_some_of_it_says_how_many(app):
    by_link(app, sts=(name := kept())).selectbox(key="recipe dev").set_value(name).run()
    (told,) = [one for one in words(app.error) if "Name another dev set" in one]
    assert "has all 30 pairs of the test set" in told
    assert app.button(key=START).disabled
    app.selectbox(key="recipe dev").set_value(halves(name)[0]).run()
    app.selectbox(key="recipe test").set_value(name).run()
    assert not app.error
    assert not app.button(key=START).disabled
    assert any("30 of the 60 test pairs are in the dev set too" in one for one in words(app.warning))


def test_a_train_part_is_trained_on_from_the_command_it_shows(app):
    name = kept()
    by_link(app, data=parts(name)[0])
    assert f"--data '{name} · train part' --dev '{name} · dev part' --test '{name} · test half'" in app.code[0].value


def test_own_pairs_are_evaluated_on_held_out_rows_until_somebody_names_a_set(app, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("query,passage\n" + "".join(f"what is {row},it is number {row}\n" for row in range(60)))
    by_link(app, method="contrast", data=str(path))
    assert judged(app) == (CROSS_FITTED, CROSS_FITTED)
    assert any(told.startswith("60 rows: ") and "5 folds" in told for told in words(app.caption))
    for key in ("recipe dev", "recipe test"):
        app.selectbox(key=key).set_value(HELD_OUT).run()
    assert f"--dev '{HELD_OUT}' --test '{HELD_OUT}'" in app.code[0].value
    assert any(told.startswith("40 rows: ") and "20 rows are held out" in told for told in words(app.caption))
    app.selectbox(key="recipe dev").set_value(SEARCH).run()
    assert f"--dev '{SEARCH}' --test '{HELD_OUT}'" in app.code[0].value


def test_sentences_cannot_be_held_out_as_an_evaluation_set(app):
    app.run()
    for key in ("recipe dev", "recipe test"):
        assert {HELD_OUT, SEARCH} & {*app.selectbox(key=key).options} == {SEARCH}, key


def test_text_with_the_passages_of_a_retrieval_set_is_warned_of(app, tmp_path):
    path = tmp_path / "pairs.tsv"
    rows = [f"what is {row}\t{text}" for row, text in enumerate(sample.search().documents)]
    path.write_text("\n".join(["query\tpassage", *rows]))
    by_link(app, method="contrast", data=str(path)).selectbox(key="recipe dev").set_value(SEARCH).run()
    (told,) = optimistic(app)
    relevant = len(sample.search().sentences) - len(sample.search())
    assert 60 <= relevant < 600, "other passages are only searched among"
    assert told == set_fields.OPTIMISTIC.format(set_fields.SOME_OF.format(relevant, relevant + 60, "dev"))


ROWS = {
    "contrast": ("query,passage", "what is number {0},it is {0} and nothing else"),
    "contrast-hard": ("anchor,positive,negative", "it rains {0} times,rain falls {0} times,it is dry on day {0}"),
    "cosent": ("sentence1,sentence2,score", "it rains {0} times,rain falls {0} times,{1}"),
    "ct-in-batch": ("sentence", "it rains {0} times in the afternoon"),
    "sbert-nli": ("premise,hypothesis,label", "it rains {0} times,rain falls {0} times,{2}"),
    "classify": ("text,label", "it rains {0} times in the afternoon,{2}"),
}


def of_rows(folder, method):
    """A file of the rows that a method is suggested for."""
    head, row = ROWS[method]
    path = folder / f"{method}.csv"
    lines = (row.format(number, number % 5, ("neutral", "entailment")[number % 2]) for number in range(240))
    path.write_text("\n".join([head, *lines]), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("method", ROWS)
def test_the_method_that_fits_an_own_text_is_chosen_with_its_defaults_and_a_reason(visit, tmp_path, method):
    visit.run()
    visit.multiselect(key="data").set_value([of_rows(tmp_path, method)]).run()
    assert visit.selectbox(key="method").value == method
    assert words(visit.error) == []
    assert visit.segmented_control(key=f"preset {method}").value == knob_form.DEFAULTS
    why = training_form.methods()[method].kind.suggestion.sentence(text_form.ONE_FILE, method)
    assert why in words(visit.caption)
    assert not visit.button(key=START).disabled
    visit.multiselect(key="data").set_value(["minimal pairs"]).run()
    assert recipe_form.ABOUT_DEMONSTRATION in words(visit.markdown), "its text has its method and settings"


def test_a_method_that_somebody_has_chosen_stays_and_the_fitting_one_is_a_click_away(visit, tmp_path):
    visit.run()
    visit.selectbox(key="method").set_value("simcse-hard").run()
    visit.multiselect(key="data").set_value([of_rows(tmp_path, "contrast")]).run()
    assert visit.selectbox(key="method").value == "simcse-hard"
    assert len(words(visit.error)) == 1
    visit.button(key="use fitting method").click().run()
    assert visit.selectbox(key="method").value == "contrast"
    assert words(visit.error) == []


def test_what_the_base_scores_on_own_test_rows_is_said_before_the_start(app, place, tmp_path, monkeypatch):
    monkeypatch.delitem(jobs._queues, jobs.MEASURING)  # but here
    by_link(app, model=str(place.model), method="contrast", data=of_rows(tmp_path, "contrast"))
    (job,) = (job for job in jobs._jobs.values() if job.key.startswith("base on test"))
    wait_until(lambda: not job.live)
    app.run()
    assert job.error == ""
    assert job.result.room.text in [*words(app.caption), *words(app.info)]
    app.selectbox(key="recipe test").set_value(sample.TEST).run()
    assert job.result.room.text not in [*words(app.caption), *words(app.info)], "only of the visitor's own rows"


def test_menus_say_which_sets_are_not_on_this_disk_and_have_them_last(visit, monkeypatch):
    here = {("STS13", "test"), ("STS-B", "dev")}
    monkeypatch.setattr(sts, "on_disk", lambda: frozenset(here))
    visit.run()
    options = visit.selectbox(key="recipe test").options
    away = set_choice.NOT_HERE.format("STS12 test")
    assert {"STS13 test", "STS-B dev", away} <= {*options}
    assert max(map(options.index, ("STS13 test", "STS-B dev"))) < options.index(away)
    visit.selectbox(key="recipe test").set_value("STS12 test").run()
    assert visit.selectbox(key="recipe test").value == "STS12 test", "the name alone is chosen"


def test_texts_that_are_cut_are_said_and_a_click_has_more_read(app, place, tmp_path, monkeypatch):
    monkeypatch.delitem(jobs._queues, jobs.MEASURING)
    by_link(app, model=str(place.model), method="contrast", data=of_rows(tmp_path, "contrast"))
    app.number_input(key=training_form.knob_key("contrast", "max_length")).set_value(4).run()
    job = next(one for key, one in jobs._jobs.items() if key.startswith("base on test") and ", 4)" in key)
    wait_until(lambda: not job.live)
    app.run()
    cut = job.result.cut
    assert cut.used > 0
    assert cut.text in words(app.markdown)
    app.button(key="read more").click().run()
    assert app.number_input(key=training_form.knob_key("contrast", "max_length")).value == cut.read_limit


def test_with_published_sets_on_this_disk_the_demonstration_is_evaluated_on_the_sample(visit, monkeypatch):
    monkeypatch.setattr(set_choice, "on_this_disk", lambda name: True)
    visit.run()
    assert [visit.selectbox(key=f"recipe {name}").value for name in ("dev", "test")] == [sample.DEV, sample.TEST]


NAME = "run"


@pytest.fixture(scope="module")
def both():
    """Two tabs of the Train page."""
    tabs = [AppTest.from_file(str(ROOT / "app.py"), default_timeout=60) for _ in range(2)]
    for tab in tabs:
        tab.switch_page(PAGE)
        tab.query_params["method"], tab.query_params["data"] = "sg-opt", "sample"
    return tabs


def in_both(both, run):
    """Both tabs show a run."""
    for tab in both:
        show(tab, run)


def press(tab, key):
    """Press a button of the page as it was when it was drawn last."""
    return tab.button(key=key).click().run()


def stopped(place):
    """A run that can be resumed."""
    run = runs.new(trainings.recipe(place), NAME)
    stands(run, state=statuses.STOPPED)
    return run


def delete(tab, run):
    press(tab, "run delete")


def rename(tab, run):
    tab.text_input(key=f"name for {run.name}").set_value("renamed")
    press(tab, "run rename")


def folders(run):
    return [path.name for path in run.folder.parent.iterdir()]


@pytest.mark.parametrize("happens", [delete, rename])
def test_a_run_that_another_tab_deleted_or_renamed_is_said_to_be_gone(both, place, happens):
    run = stopped(place)
    in_both(both, run)
    happens(both[0], run)
    both[1].run()
    assert words(both[1].toast) == [training_form.GONE.format(NAME)]
    assert START in buttons(both[1])


@pytest.mark.product(1)
@pytest.mark.parametrize("happens", [delete, rename])
@pytest.mark.parametrize("key", ["run resume", "run rename", "run delete", "run duplicate"])
def test_a_click_on_a_run_that_is_gone_is_refused_and_leaves_no_folder(both, place, happens, key):
    run = stopped(place)
    in_both(both, run)
    if key == "run rename":
        both[1].text_input(key=f"name for {NAME}").set_value("another")
    happens(both[0], run)
    press(both[1], key)
    assert len(words(both[1].error)) == 1
    assert START in buttons(both[1])
    assert folders(run) == ([] if happens is delete else ["renamed"])
    assert training_queue.job_of(run) is None


def test_a_run_that_is_resumed_in_both_tabs_is_trained_once(both, place, gate):
    run = stopped(place)
    in_both(both, run)
    press(both[0], "run resume")
    press(both[1], "run resume")
    assert len(words(both[1].error)) == 1, "the second click is refused"
    assert all("run stop" in buttons(tab) for tab in both)
    gate.set()
    assert ended(run).state == statuses.FINISHED
    assert sorted(trainings.losses(run)) == list(range(1, trainings.SETTINGS["steps"] + 1))
    assert run.log_tail().count("finished") == 1


@pytest.mark.parametrize("key", ["run delete", "run rename"])
def test_a_run_that_waits_since_another_tab_resumed_it_is_neither_deleted_nor_renamed(both, place, gate, key):
    run = stopped(place)
    in_both(both, run)
    press(both[0], "run resume")
    if key == "run rename":
        both[1].text_input(key=f"name for {NAME}").set_value("another")
    press(both[1], key)
    assert len(words(both[1].error)) == 1
    assert "run stop" in buttons(both[1]), "it waits, and both tabs show it"
    assert folders(run) == [NAME]
    assert run.status().state == statuses.WAITING


@pytest.mark.parametrize("key", ["run stop", "run discard"])
def test_a_run_that_waits_and_is_discarded_in_one_tab_is_gone_in_the_other(both, place, gate, key):
    run = stopped(place)
    training_queue.resume(run)
    in_both(both, run)
    press(both[0], "run discard")
    press(both[1], key)
    assert START in buttons(both[1])
    assert folders(run) == []


def test_a_run_that_waits_and_is_stopped_in_both_tabs_is_stopped(both, place, gate):
    run = stopped(place)
    training_queue.resume(run)
    in_both(both, run)
    press(both[0], "run stop")
    press(both[1], "run stop")
    assert run.status().state == statuses.STOPPED
    assert words(both[1].error) == []
    press(both[1], "run resume")
    assert run.status().state == statuses.WAITING
    assert run.stop_requested() == "", "the second click does not stop it later"


def test_a_corpus_below_the_text_is_in_the_command_of_methods_that_train_on_pairs(app, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("query,passage\n" + "".join(f"what is {row},it is number {row}\n" for row in range(60)))
    by_link(app, method="contrast", data=str(path))
    app.text_input(key="recipe corpus").input("my passages.txt").run()
    assert "--corpus 'my passages.txt'" in app.code[0].value
    app.text_input(key="recipe corpus").input("").run()
    assert "--corpus" not in app.code[0].value


def test_sentences_have_no_queries_that_a_corpus_could_be_for(app):
    by_link(app, method="simcse")
    assert "recipe corpus" not in {box.key for box in app.text_input}
