"""Test that `methods` lists every method and every setting."""

from explorer import methods
from explorer.methods import Schedule, knobs_of, paper_values


def test_every_method_is_listed_with_what_it_is(said):
    code, out, err = said("methods")
    assert (code, err) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert lines == {name: methods.load(name).title() for name in methods.names()}
    assert len({line.index(lines[line.split()[0]]) for line in out.splitlines()}) == 1, "one below the other"


def test_a_method_is_told_with_its_paper_and_every_knob(said):
    for name in methods.names():
        code, out, _ = said("methods", name)
        kind = methods.load(name)
        assert code == 0
        head, _, _ = out.partition("\nFamily: ")
        described = f"{kind.title()} {kind.about()}".split()
        assert head.split()[: len(described)] == described
        assert len(head.splitlines()[2]) <= 120
        assert f"Family: {kind.family}. Trains on {kind.rows.title}. {kind.paper.line}: {kind.paper.link}" in out
        told = [line.split(" = ")[0].strip() for line in out.splitlines() if line.startswith("  ") and " = " in line]
        scheduled = [knob.name for knob in Schedule.knobs.values() if knob.rows in (None, kind.rows)]
        assert told == [*kind.knobs, *(name for name in scheduled if kind.trains() and name not in kind.unused)]
        assert (f"  batch_size = {kind.schedule.batch_size}   (a whole number from 2 to 4096" in out) == kind.trains()


def test_the_papers_and_the_released_codes_values_are_told_where_they_are_not_the_default(said):
    _, out, _ = said("methods", "cosine-regression")
    assert "  batch_size = 32   (a whole number from 2 to 4096; the paper's value: 16)" in out
    _, out, _ = said("methods", "bt")
    assert "(on or off; the paper's value: on; the released code's: off)" in out


def test_the_same_is_there_as_json_for_all_and_for_one(answered):
    found = answered("methods", "--json")
    assert [one["name"] for one in found] == list(methods.names())
    for one in found:
        kind = methods.load(one["name"])
        assert one["rows"] == kind.rows.name
        assert one["family"] == kind.family
        assert one["trains"] == kind.trains()
        paper = {knob["name"]: knob["default"] for knob in one["knobs"]}
        scheduled = kind.schedule.by_name() if kind.trains() else {}
        own = {name: knob.default for name, knob in kind.knobs.items()}
        assert paper == own | {name: value for name, value in scheduled.items() if name in knobs_of(kind)}
        assert {knob["name"]: knob["paper"] for knob in one["knobs"]} == paper_values(kind)
        assert all(knob["help"] and knob["allowed"] for knob in one["knobs"])
    assert answered("methods", "sg-opt", "--json") == [one for one in found if one["name"] == "sg-opt"]


def test_an_unknown_method_is_refused_with_the_nearest(refused):
    for flags in ((), ("--json",)):
        assert "There is no method 'simsce'. Did you mean 'simcse'?" in refused("methods", "simsce", *flags)
