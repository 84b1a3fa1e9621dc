"""Test that numbers and paths on the command line are read in one way by every command."""

import argparse
from dataclasses import dataclass

import pytest

from explorer.__main__ import main
from explorer.commands.parts import flags
from explorer.errors import BadChoice
from explorer.knobs import Knobs, knob
from tests.live import ROOT

NUMBERS = [
    ("compare", "A", "B", "--seed"),
    ("search", "hello", "--k"),
    ("plan", "a.yaml", "--processes"),
    ("plan", "a.yaml", "--at-once"),
    ("reproduce", "list", "--steps"),
    ("generator", "--out", "o", "--steps"),
    ("generator", "--out", "o", "--seed"),
    ("score", "A", "--max-length"),
    ("embed", "A", "a.txt", "--out", "o", "--rows-per-shard"),
    ("backtranslate", "a.txt", "--there", "A", "--back", "B", "--out", "o", "--beams"),
    ("backtranslate", "a.txt", "--there", "A", "--back", "B", "--out", "o", "--batch"),
    ("train", "simcse", "--steps"),
    ("train", "simcse", "--seed"),
    ("train", "simcse", "--processes"),
]


@pytest.mark.parametrize("words", NUMBERS, ids=" ".join)
def test_a_number_is_written_in_the_digits_0_to_9(words, capsys):
    for text in ("1_000", "٣", "1.5", "9" * 5000):
        assert main([*words, text]) == 1
        err = capsys.readouterr().err
        assert err.startswith(f"{words[-1]} cannot be '{text[:20]}")
        assert "whole number" in err
        assert len(err.splitlines()) == 1


@pytest.mark.parametrize("words", [words for words in NUMBERS if words[-1] == "--seed"], ids=" ".join)
@pytest.mark.parametrize("text", ["-1", "4294967296"])
def test_a_seed_is_one_that_every_generator_of_random_numbers_takes(words, text, capsys):
    assert main([*words, text]) == 1
    assert f"--seed cannot be '{text}'" in (err := capsys.readouterr().err)
    assert "from 0 to 4294967295" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("shrink", "all-MiniLM-L6-v2", "--layers", "1_0"), "--layers cannot be '1_0'. Choose whole numbers"),
        (("shrink", "all-MiniLM-L6-v2", "--dimensions", "٣"), "--dimensions cannot be '٣'. Choose whole numbers"),
        (("reproduce", "sg-bert-5", "--seeds", "1,1_0"), "--seeds cannot be '1,1_0'. Choose whole numbers"),
        (("app", "--port", "1_000"), "--port 1_000 is not possible. Choose 1 to 65535."),
        (("train", "simcse", "--set", "steps=1_000", "--estimate"), "steps cannot be '1_000'"),
    ],
)
def test_lists_and_settings_are_read_so_too(words, message, capsys):
    assert main(words) == 1
    assert message in capsys.readouterr().err


@dataclass(frozen=True)
class Oven(Knobs):
    """Settings that no command has."""

    heat: int = knob(180, low=50, high=250, title="Heat", help="In degrees, at most 100 % of what it can.")
    shelves: tuple[int, ...] = knob((), item=int, low=1, empty="all", help="Counted from below.")
    dishes: tuple[str, ...] = knob((), metavar="DISH", repeated=True, help="What is baked.", excludes=("timer",))
    timer: float | None = knob(None, item=float, low=0, empty="until it is brown", help="In minutes.")
    fan: bool = knob(False, help="Heat from all sides.", needs="timer")
    colour: str = knob("brown", choices=("brown", "black"), flag="until", help="When it is done.")
    guests: int = 4


def bake(*words):
    parser = argparse.ArgumentParser()
    flags.add(parser, Oven)
    return parser, parser.parse_args(words)


def test_the_flags_of_a_class_give_its_values():
    words = "--heat 200 --shelves 2,1,2 --until black --fan --timer 1.5"
    found = flags.read(bake(*words.split())[1], Oven)
    assert found == Oven(200, (2, 1), timer=1.5, fan=True, colour="black", guests=4)
    assert flags.read(bake("--dishes", "a,b", "--dishes", "c")[1], Oven) == Oven(dishes=("a,b", "c"))
    assert flags.read(bake()[1], Oven) == Oven()


def test_help_has_name_explanation_and_default():
    told = " ".join(bake()[0].format_help().split())
    assert "--heat N Heat. In degrees, at most 100 % of what it can (default: 180)" in told
    assert "--shelves N,N Counted from below (default: all)" in told
    assert "--dishes DISH What is baked; repeatable" in told
    assert "--until {brown,black} When it is done (default: brown)" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--heat 300", "--heat cannot be '300'. Choose a whole number from 50 to 250 (default 180). In degrees"),
        ("--until red", "--until cannot be 'red'. Choose one of brown, black (default brown)."),
        ("--shelves 1,x", "--shelves cannot be '1,x'. Choose whole numbers with commas between them, 1 or more"),
        ("--dishes a --timer 5", "--timer has no effect with --dishes. Leave one of them out."),
        ("--fan", "--fan needs --timer. Give both, or leave it out."),
    ],
)
def test_what_is_not_allowed_is_named_with_the_next_step(words, message):
    with pytest.raises(BadChoice) as error:
        flags.read(bake(*words.split())[1], Oven)
    assert str(error.value).startswith(message)


def test_flags_that_are_only_stated_leave_no_default():
    parser = argparse.ArgumentParser()
    flags.add(parser, Oven, stated=True)
    assert vars(parser.parse_args(["--heat", "180"])) == {"heat": 180, "fan": False}


def test_no_command_states_a_setting_that_a_class_could():
    for path in (ROOT / "explorer" / "commands").rglob("*.py"):
        assert "Knob(" not in path.read_text(encoding="utf-8"), path
