import json
import math
import pickle
import re
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
import yaml

from explorer.errors import BadChoice
from explorer.evaluating.results.scored_task import Options
from explorer.knobs import Knob, Knobs, find, knob
from explorer.measuring.scores.calibration import MatchOptions
from explorer.measuring.scores.in_use import InUse
from explorer.measuring.scores.measure import Settings
from explorer.studies.plans.advice import AdviceOptions
from explorer.studies.plans.plan import Plan, PlanBudget, Variant
from explorer.studies.reproduce.reproduction import ReproductionOptions
from explorer.studies.size.points import SizeOptions
from explorer.training.recipe import Recipe, Stage


class Stove(Knobs):
    heat: float = knob(5e-5, low=1e-7, high=1e-2, front=True, help="Hot enough to boil.")
    pots: int = knob(2, low=1, high=6, help="Each takes a plate.")
    gas: bool = knob(False, help="Electric otherwise.")
    dish: str = knob("soup", choices=("soup", "stew"), help="What there will be.")
    salt: float = knob(0.0, low=0.0, help="A pinch is 1.")
    orders: int = knob(3, high=10, help="More are turned away.")
    taste: float = knob(1.0, help="Yours.")
    label: str = knob("", help="Written on the lid.")

    def __init__(self, **values):
        self.set(values)


@dataclass(frozen=True)
class Spoons(Knobs):
    large: Fraction = knob(Fraction(1, 2), item=Fraction, reads=Fraction, help="Of a cup.")
    small: tuple[Fraction, ...] = knob((), item=Fraction, reads=Fraction, most=2, repeated=True, help="Of a cup.")


class GasStove(Stove):
    gas: bool = knob(True, help="It is one.")
    flame: int = knob(1_000_000, low=1, high=3_000_000, help="Size of it.")


def checked(name, value):
    return find(Stove.knobs, name).checked(value)


READ = {  # of a knob: what is given, and the value that it is read as
    "heat": (("1e-4", 1e-4), (" 0.001 ", 0.001), (1e-7, 1e-7), (1e-2, 1e-2)),
    "taste": ((3, 3.0), ("-2", -2.0)),
    "pots": (("4", 4), ("4.0", 4), (4.0, 4), ("0.5e1", 5), (1, 1), (6, 6)),
    "orders": (("-9007199254740993", -9007199254740993), (-4, -4)),
    "gas": (*((word, True) for word in (True, "on", "Yes", "TRUE")), ("off", False), (" no", False), ("false", False)),
    "dish": (("stew", "stew"),),
    "salt": ((1e300, 1e300),),
    "label": ((7, "7"),),
}


def test_a_value_that_is_made_of_a_text_is_read_once_and_stated_as_text():
    spoons = Spoons("2/3", ("1/4", Fraction(1, 8)))
    assert (spoons.large, spoons.small) == (Fraction(2, 3), (Fraction(1, 4), Fraction(1, 8)))
    assert spoons.stated() == {"large": "2/3", "small": ["1/4", "1/8"]}
    assert Spoons.read(spoons.stated()) == spoons
    assert (Spoons.knobs["large"].usual, Spoons("1/2").stated()) == ("1/2", {})
    assert Spoons.knobs["large"].words(spoons.large) == ["--large", "2/3"]
    for wrong in (3, [3]):
        with pytest.raises(BadChoice, match="cannot be"):
            Spoons.read({"large": wrong})
    with pytest.raises(BadChoice, match=r"small cannot be \['1/4', '1/4', '1/4'\]"):
        Spoons("1/2", (Fraction(1, 4),) * 3)


@pytest.mark.parametrize(("name", "value", "read"), [(name, *case) for name, cases in READ.items() for case in cases])
def test_a_value_is_read_as_the_kind_of_its_knob(name, value, read):
    found = checked(name, value)
    assert found == read
    assert type(found) is type(read)


REFUSED = {
    "heat": ("warm", "", None, [1e-4], True, "on", 1.1e-2, 9e-8, "-1e-4", "0.00_1"),
    "taste": (math.nan, "nan", math.inf, "-inf", "1e999", 10**400, "３", "1 000"),
    "pots": (3.5, "3.5", False, "nan", math.inf, 0, 7, 10**400, "0_4", "٣", "4" * 5000),
    "gas": (1, "1", "maybe", None),
    "dish": ("Soup", "", None),
    "salt": (-1e-9,),
    "orders": (11,),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in REFUSED.items() for value in values])
def test_anything_else_is_refused(name, value):
    with pytest.raises(BadChoice, match=rf"^{name} cannot be "):
        checked(name, value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("heat", "x", "heat cannot be 'x'. Choose a number from 1e-07 to 0.01 (default 5e-05). Hot enough to boil."),
        ("pots", 7, "pots cannot be 7. Choose a whole number from 1 to 6 (default 2). Each takes a plate."),
        ("gas", "x", "gas cannot be 'x'. Choose on or off (default off). Electric otherwise."),
        ("dish", "tea", "dish cannot be 'tea'. Choose one of soup, stew (default soup). What there will be."),
        ("salt", -1, "salt cannot be -1. Choose a number, 0 or more (default 0). A pinch is 1."),
        ("orders", 12, "orders cannot be 12. Choose a whole number, 10 or less (default 3). More are turned away."),
        ("taste", "bad", "taste cannot be 'bad'. Choose a number (default 1). Yours."),
    ],
)  # fmt: skip
def test_a_refusal_names_the_value_what_is_allowed_the_default_and_what_it_does(name, value, message):
    with pytest.raises(BadChoice, match=f"^{re.escape(message)}$"):
        checked(name, value)


def test_a_label_is_the_name_in_words():
    for name, label in [("batch_size", "Batch size"), ("lora_rank", "LoRA rank")]:
        assert Knob(name, 0, "").label == label


def test_bounds_are_told_in_full():
    assert Knob("file", "a.txt", "A file.").allowed == "a name"
    assert GasStove.knobs["flame"].allowed == "a whole number from 1 to 3000000"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "on"), (False, "off"), (5e-5, "5e-05"), (1.0, "1"), (0.05, "0.05"), (0.12345678, "0.12345678"),
        (1 / 3, "0.3333333333333333"), (1_234_567, "1234567"), (-2, "-2"), ("cls", "cls"),
        ("no new best", "no new best"),
    ],
)  # fmt: skip
def test_a_value_that_is_told_is_the_same_when_it_is_read_again(value, words):
    assert Knob.text(value) == words
    assert Knob("it", value, "A thing.").checked(words) == value


def test_what_is_not_set_is_the_default():
    stove = Stove(pots="4", gas="on")
    assert (stove.pots, stove.gas) == (4, True)
    assert (stove.heat, stove.dish, stove.orders) == (5e-5, "soup", 3)


def test_values_are_every_setting_in_the_order_they_are_stated_in():
    expected = {"heat": 1e-3, "pots": 2, "gas": False, "dish": "stew", "salt": 0.0, "orders": 3, "taste": 1.0}
    assert Stove(dish="stew", heat="1e-3").by_name() == expected | {"label": ""}
    assert list(Stove().by_name()) == [*expected, "label"] == list(Stove.knobs)


def test_one_stove_does_not_change_another():
    hot = Stove(heat=1e-2)
    assert Stove().heat == 5e-5
    assert hot.heat == 1e-2
    assert Stove.knobs["heat"].default == 5e-5


def test_knobs_are_inherited_and_may_be_stated_anew():
    assert list(GasStove.knobs) == [*Stove.knobs, "flame"]
    assert (GasStove().gas, Stove().gas) == (True, False)
    assert GasStove.knobs["gas"].help == "It is one."
    assert GasStove.knobs["heat"] is Stove.knobs["heat"]
    assert "flame" not in Stove.knobs, "a subclass adds nothing to what it comes from"
    assert GasStove(flame=2).by_name() == {**Stove(gas=True).by_name(), "flame": 2}


def test_a_knob_knows_its_name_and_what_was_said_of_it():
    assert all(one.name == name for name, one in GasStove.knobs.items())
    assert Stove.knobs["heat"] == Knob("heat", 5e-5, "Hot enough to boil.", low=1e-7, high=1e-2, front=True)
    assert [one.kind for one in Stove.knobs.values()] == [float, int, bool, str, float, int, float, str]
    assert not Stove.knobs["pots"].front


def test_an_unknown_setting_is_refused_with_the_nearest_name():
    with pytest.raises(BadChoice, match=r"no setting 'heet'\. Did you mean 'heat'\? There are: heat, pots, gas, dish"):
        Stove(heet=1e-3)
    with pytest.raises(BadChoice, match=r"no setting 'wok'\. There are: heat"):
        find(Stove.knobs, "wok")


def test_a_value_out_of_bounds_is_refused_where_it_is_set():
    with pytest.raises(BadChoice, match=r"pots cannot be 0\. Choose a whole number from 1 to 6"):
        Stove(pots=0)


def test_what_the_paper_has_is_the_default_unless_it_is_stated():
    class Stated(Knobs):
        one: float = knob(0.5, help="One.")
        other: str = knob("mean", choices=("mean", "cls"), paper="cls", help="Other.")

    assert {name: one.paper_value for name, one in Stated.knobs.items()} == {"one": 0.5, "other": "cls"}
    assert Stated.knobs["other"].default == "mean"


def test_the_papers_value_for_a_family_is_the_default_unless_the_default_departs_from_the_paper():
    plain, apart = Knob("rate", 1.0, "Fast."), Knob("pooling", "declared", "Where.", paper="mean")
    assert (plain.for_family(2.0).default, plain.for_family(2.0).paper_value) == (2.0, 2.0)
    assert (apart.for_family("cls").default, apart.for_family("cls").paper_value) == ("declared", "cls")


@dataclass(frozen=True)
class Menu(Knobs):
    guests: int = knob(2, low=1, high=12, help="Who comes.")
    wine: float | None = knob(None, item=float, low=0.0, help="Litres.")
    dish: str = knob("soup", choices=("soup", "stew"), help="What there will be.")
    tables: tuple[int, ...] = knob((1,), item=int, low=1, high=9, least=1, most=3, distinct=True, help="Their numbers.")
    names: tuple[str, ...] = knob((), repeated=True, help="Of the guests.")
    hot: bool = knob(True, help="Or cold.")

    def consistent(self) -> None:
        if self.wine and self.dish == "soup":
            raise BadChoice("wine cannot be with soup. Choose stew.")


def test_an_instance_that_is_not_allowed_cannot_be_built():
    wrong = {
        "guests": (0, 13, "two", 2.5, None, True), "wine": (-0.1, math.nan, "dry"), "dish": ("tea", 3, None),
        "tables": ((), (1, 1), (10,), ("a",), (1, 2, 3, 4), 0), "names": ((3,), 3, None), "hot": ("maybe", 2),
    }  # fmt: skip
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(BadChoice, match=rf"^{name} cannot be .*\. Choose "):
                Menu(**{name: value})
            with pytest.raises(BadChoice, match=rf"^{name} cannot be "):
                replace(Menu(), **{name: value})
    with pytest.raises(BadChoice, match="wine cannot be with soup"):
        Menu(wine=0.5)
    assert Menu(wine=1, dish="stew", guests=3.0) == Menu(3, 1.0, "stew")


def test_an_instance_keeps_what_it_was_given_and_is_copied_by_pickle_and_replace():
    menu = Menu(names=(" Ann", "a,b", " Ann"), tables=[3, 2])
    assert (menu.names, menu.tables) == ((" Ann", "a,b", " Ann"), (3, 2))
    assert pickle.loads(pickle.dumps(menu)) == replace(menu) == menu


def test_what_differs_from_the_default_is_stated_and_read_again():
    menu = Menu(3, 0.5, "stew", (2, 1), ("a, b",), False)
    assert Menu().stated() == {}
    assert Menu(tables=(2,)).stated() == {"tables": [2]}
    for form in (menu.stated(), json.loads(json.dumps(menu.stated())), yaml.safe_load(yaml.safe_dump(menu.stated()))):
        assert Menu.read(form) == menu
    texts = {"guests": "3", "wine": "0.5", "dish": "stew", "tables": "2, 1", "names": ["a, b"], "hot": "off"}
    assert Menu.read(texts) == menu, "as flags and fields have it"
    assert Menu.read({"names": "a, b"}).names == ("a, b",), "one value of a list"


def test_every_mistake_has_one_error_that_begins_with_where_it_is():
    for stated, message in (
        ({"gests": 3}, "menu.yaml: There is no setting 'gests'. Did you mean 'guests'? There are: guests, wine"),
        ({3: 3}, "menu.yaml: There is no setting '3'"),
        ({"guests": 13}, "menu.yaml: guests cannot be 13. Choose a whole number from 1 to 12 (default 2). Who comes."),
        ({"dish": ["stew"]}, "menu.yaml: dish cannot be ['stew']. Choose one of soup, stew"),
        ({"names": [3]}, "menu.yaml: names cannot be [3]. Choose names"),
        ({"wine": 1}, "menu.yaml: wine cannot be with soup"),
        ([3], "menu.yaml cannot be [3]. Give any of guests, wine, dish, tables, names, hot, by name."),
    ):
        with pytest.raises(BadChoice) as caught:
            Menu.read(stated, "menu.yaml")
        assert str(caught.value).startswith(message)


EVERY = (
    AdviceOptions, InUse, MatchOptions, Options, Plan, PlanBudget, Recipe, ReproductionOptions, Settings, SizeOptions,
    Stage, Variant,
)  # fmt: skip


@pytest.mark.parametrize("kind", EVERY)
def test_no_declaration_of_the_program_can_hold_what_it_does_not_allow(kind):
    required = {name: "simcse" for name, one in kind.declared.items() if one.required}
    kind(**required)
    for name, one in kind.declared.items():
        wrong = [object(), [object()]]
        wrong += [one.low - 1] if one.low is not None else []
        wrong += [one.high + 1] if one.high is not None else []
        wrong += ["nonsense"] if one.choices else []
        for value in wrong:
            with pytest.raises(BadChoice, match=rf"^{name} cannot be .* Choose "):
                kind(**{**required, name: (value,) if one.many else value})
