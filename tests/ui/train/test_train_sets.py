"""Test dev and test set on the Train page: defaults, and warnings if they share sentences with the text."""

import pytest

from explorer.data.graded import sets, user_sets
from explorer.data.kinds import GradedPairs
from explorer.ui.train import evaluation_form
from tests.train_visits import PAGE, well
from tests.visits import lead, words


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))


def kept(count=60, name="mine.csv"):
    rows = range(count)
    first, second = (tuple(f"{side} sentence {row} of {name}" for row in rows) for side in ("one", "other"))
    return user_sets.keep(GradedPairs(name, first, second, tuple(float(row % 6) for row in rows), ("",) * count))


def judged(app):
    return tuple(app.selectbox(key=f"recipe {name}").value for name in ("dev", "test"))


def optimistic(app):
    return [told for told in words(app.warning) if told.startswith(lead(evaluation_form.OPTIMISTIC))]


def test_the_halves_of_the_own_set_in_the_sidebar_are_the_default(app):
    app.query_params["sts"] = name = kept()
    well(app.run())
    assert judged(app) == sets.halves(name)
    assert words(app.error) == []
    assert f"--dev '{name} · dev half' --test '{name} · test half'" in app.code[0].value


def test_an_own_set_without_halves_is_no_default_and_offers_none(app):
    app.query_params["sts"] = name = kept(12)
    well(app.run())
    assert judged(app) == sets.halves()
    for key in ("recipe dev", "recipe test"):
        assert not set(sets.halves(name)) & set(app.selectbox(key=key).options)
    assert not set(sets.parts(name)) & set(app.multiselect(key="data").options)


def choose_set(app, name):
    """In the sidebar of a page that shows it."""
    app.switch_page("pages/start.py").run()
    app.selectbox(key="sts").set_value(name).run()
    app.switch_page(PAGE).run()


def test_the_default_follows_the_sidebar_until_somebody_has_set_the_field(app):
    well(app.run())
    assert judged(app) == sets.halves()
    name, other = kept(), kept(name="other.csv")
    choose_set(app, name)
    assert judged(app) == sets.halves(name)
    app.selectbox(key="recipe test").set_value("none").run()
    choose_set(app, other)
    assert judged(app) == (sets.halves(other)[0], "none"), "what was set by hand stays"
    app.switch_page("pages/start.py").run()
    app.switch_page(PAGE).run()
    assert judged(app) == (sets.halves(other)[0], "none")


@pytest.mark.parametrize("whole", [sets.SAMPLE, "mine.csv"])
def test_training_on_a_train_part_is_judged_on_its_dev_part_and_test_half(app, whole):
    name = kept() if whole == "mine.csv" else whole
    well(app.run())
    train, dev = sets.parts(name)
    assert train in app.multiselect(key="data").options
    app.multiselect(key="data").set_value([train]).run()
    well(app)
    assert judged(app) == (dev, sets.halves(name)[1])
    assert optimistic(app) == [], "no sentence is in two splits"


def test_shared_sentences_of_text_and_sets_are_warned_of(app):
    app.query_params["sts"] = name = kept()
    app.query_params["data"] = name
    well(app.run())
    (told,) = optimistic(app)
    every = " and ".join(map(evaluation_form.ALL_OF.format, ("dev", "test")))
    assert told == evaluation_form.OPTIMISTIC.format(every)
    train, dev = sets.parts(name)[0], sets.halves(name)[0]
    app.multiselect(key="data").set_value([train]).run()
    app.selectbox(key="recipe dev").set_value(dev).run()
    (told,) = optimistic(app)
    shared = {*sets.by_name(train).sentences} & {*sets.by_name(dev).sentences}
    assert told == evaluation_form.OPTIMISTIC.format(evaluation_form.SOME_OF.format(len(shared), 60, "dev"))


def test_a_dev_set_that_holds_the_test_set_is_warned_of(app):
    app.query_params["sts"] = name = kept()
    app.run().selectbox(key="recipe dev").set_value(name).run()
    assert evaluation_form.TEST_IN_DEV in words(app.warning)


def test_a_train_part_is_trained_on_from_the_command_it_shows(app):
    name = kept()
    app.query_params["data"] = sets.parts(name)[0]
    well(app.run())
    assert f"--data '{name} · train part' --dev '{name} · dev part' --test '{name} · test half'" in app.code[0].value
