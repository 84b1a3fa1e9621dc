"""Test every default against the papers' hyper-parameters; a departure is listed with its reason, and only then."""

from collections import Counter

from explorer import methods
from explorer.methods import ADAPTERS, Schedule
from explorer.training.recipe import knobs_of, paper_values
from tests.independent import papers

# what no paper of these methods has: the length in steps, several batches for one update, what chooses or keeps a
# checkpoint, and adapters
STRATAS_OWN = {"steps", "accumulate", "select_by", "validate_by", "keep_steps", *ADAPTERS}
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
        assert dict(methods.load(name).released) == {
            line.setting: typed(line) for line in RELEASED if line.method == name
        }


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
        found = {
            (family, setting): value for family, values in kind.by_family.items() for setting, value in values.items()
        }
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
