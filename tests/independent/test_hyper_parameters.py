"""Test every default against the papers, and when training stops against the counter of the released code."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from explorer import methods
from explorer.methods import ENCODERS, Schedule, knobs_of, paper_values
from explorer.training.loop import judging
from tests.independent import papers
from tests.trainings import few_probes, furnish, in_no_time, looks, new, train

# what no paper of these methods has: the length in steps, several batches for one update, what chooses or keeps a
# checkpoint, adapters, and a blend with the base
STRATAS_OWN = {"steps", "accumulate", "keep_base", "select_by", "validate_by", "rows", "keep_steps", *ENCODERS}
STATED = papers.lines(papers.STATED)
RELEASED = papers.lines(papers.RELEASED)
BY_FAMILY = papers.lines(papers.BY_FAMILY)
LEFT_OPEN, DEPARTURES = papers.reasons(papers.LEFT_OPEN), papers.reasons(papers.DEPARTURES)


def settings(name):
    """The settings of a method that take part in its training, with their defaults."""
    kind = methods.load(name)
    own = {one.name: one.default for one in kind.knobs.values()}
    if not kind.trains():
        return own
    schedule = {setting: one.default for setting, one in knobs_of(kind).items() if setting in Schedule.knobs}
    schedule = {setting: value for setting, value in schedule.items() if setting not in STRATAS_OWN}
    if schedule["early_stop"] == "none":
        del schedule["endurance"]
    return own | schedule


def typed(line):
    """A value of the table in its setting's type."""
    return (methods.load(line.method).knobs | Schedule.knobs)[line.setting].checked(line.value)


def test_every_setting_is_stated_by_a_paper_or_listed_as_left_open():
    for name in methods.names():
        stated = Counter(line.setting for line in STATED if line.method == name)
        stated += Counter(setting for method, setting in LEFT_OPEN if method == name)
        assert stated == Counter(settings(name).keys())


def test_a_default_is_the_papers_unless_it_is_a_listed_departure():
    for name in methods.names():
        found = settings(name)
        apart = {line.setting for line in STATED if line.method == name and typed(line) != found[line.setting]}
        assert apart == {setting for method, setting in DEPARTURES if method == name}


def test_the_released_codes_settings_are_those_of_the_table():
    for name in methods.names():
        assert dict(methods.load(name).released) == {one.setting: typed(one) for one in RELEASED if one.method == name}


def test_the_papers_values_that_a_form_sets_are_the_stated_ones():
    for name in methods.names():
        stated = {line.setting: typed(line) for line in STATED if line.method == name}
        open_ones = {setting for method, setting in LEFT_OPEN if method == name} | STRATAS_OWN
        for setting, value in paper_values(methods.load(name)).items():
            if setting in stated:
                assert value == stated[setting], setting
            else:
                assert setting in open_ones | {"endurance"}


def test_the_values_for_a_family_of_encoders_are_those_of_the_table():
    for name in methods.names():
        kind = methods.load(name)
        stated = {tuple(line.setting.split(".")): line.value for line in BY_FAMILY if line.method == name}
        found = {(family, knob): value for family, values in kind.by_family.items() for knob, value in values.items()}
        assert found == {(family, setting): knobs_of(kind)[setting].checked(value)
                         for (family, setting), value in stated.items()}  # fmt: skip
        for (family, setting), value in found.items():
            assert paper_values(kind, family)[setting] == value
            usual = knobs_of(kind)[setting]
            assert knobs_of(kind, family)[setting].default == (value if usual.paper is None else usual.default)


def test_every_line_names_a_method_and_says_why():
    for line in (*STATED, *RELEASED, *BY_FAMILY):
        assert line.method in methods.names()
        assert line.source, line
    for (method, setting), reason in (LEFT_OPEN | DEPARTURES).items():
        assert method in methods.names()
        assert len(reason) > 8, setting


HIGH = [90.0, 60.0, 61.0, 60.5, 62.0, 61.5, 63.0, 62.0, 64.0, 63.0, 65.0]  # the base first, far above the rest
LOW = [10.0, *HIGH[1:]]


def drops(scores, endurance):
    """The evaluation at which SG-BERT's code stops: a counter of falls that never starts over, from step 1 on."""
    before, falls = 0.0, 0
    for number, score in enumerate(scores[1:], start=1):
        falls += score < before
        before = score
        if falls == endurance:
            return number
    return None


def no_new_best(scores, endurance):
    """Patience: so many evaluations in a row without a new best, from step 1 on."""
    best, since = 0.0, 0
    for number, score in enumerate(scores[1:], start=1):
        best, since = (score, 0) if score > best else (best, since + 1)
        if since == endurance:
            return number
    return None


RULES = {"drops": drops, "no new best": no_new_best}


def assert_same_stops(rule, base, endurance):
    """On dev scores at random, after that of the base."""
    random, stopped = np.random.default_rng(endurance), 0
    schedule = Schedule(early_stop=rule, endurance=endurance)
    for _ in range(30):
        scores = [base, *random.integers(50, 70, 25).astype(float).tolist()]
        expected = RULES[rule](scores, endurance)
        stops = (number for number in range(len(scores)) if schedule.stops_early(scores[: number + 1]))
        assert next(stops, None) == expected
        stopped += expected is not None
    assert stopped, "otherwise nothing stops"


@pytest.mark.parametrize("endurance", [1, 2, 3, 10])
@pytest.mark.parametrize(("rule", "base"), [("drops", 0.0), ("no new best", 0.0), ("no new best", 99.0)])
def test_a_rule_stops_where_its_counter_does(rule, base, endurance):
    assert_same_stops(rule, base, endurance)


def test_a_high_score_of_the_base_is_no_fall():
    assert_same_stops("drops", 99.0, 1)


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    return furnish(tmp_path_factory.mktemp("calm"), dropout=0.0)


@pytest.mark.parametrize(
    ("rule", "scores", "endurance"),
    [("drops", LOW, 3), ("drops", HIGH, 3), ("no new best", HIGH, 2), ("none", HIGH, 1)],
)
def test_a_run_stops_there_and_keeps_the_best_step_after_the_base(calm, monkeypatch, rule, scores, endurance):
    given, look = iter(scores), judging.checkup
    monkeypatch.setattr(judging, "checkup", lambda *seen, **how: replace(look(*seen, **how), score=next(given)))
    steps = {"steps": len(scores) - 1, "evaluate_every": 1, "early_stop": rule, "endurance": endurance}
    with in_no_time(), few_probes():
        run = train(new(calm, "simcse", settings=steps))
    last = RULES[rule](scores, endurance) if rule in RULES else None
    last = len(scores) - 1 if last is None else last
    assert list(looks(run).values()) == scores[: last + 1]
    (result,) = run.status().results
    assert (result.steps, result.dev_at_best_step) == (last, max(scores[1 : last + 1]))
    assert result.best_step == scores.index(result.dev_at_best_step)
