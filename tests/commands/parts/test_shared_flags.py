"""Test that numbers and paths on the command line are read in one way by every command."""

import pytest

from explorer.__main__ import main

NUMBERS = [
    ("compare", "A", "B", "--seed"),
    ("search", "hello", "--k"),
    ("plan", "a.yaml", "--processes"),
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
@pytest.mark.parametrize("text", ["1_000", "٣", "1.5", "9" * 5000])
def test_a_number_is_written_in_the_digits_0_to_9(words, text, capsys):
    with pytest.raises(SystemExit) as end:
        main([*words, text])
    assert end.value.code == 2
    assert "is not a whole number. Write it in the digits 0 to 9" in capsys.readouterr().err


@pytest.mark.parametrize("words", [words for words in NUMBERS if words[-1] == "--seed"], ids=" ".join)
@pytest.mark.parametrize("text", ["-1", "4294967296"])
def test_a_seed_is_one_that_every_generator_of_random_numbers_takes(words, text, capsys):
    with pytest.raises(SystemExit) as end:
        main([*words, text])
    assert end.value.code == 2
    assert f"{text} is not a seed. Choose 0 to 4294967295" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("shrink", "all-MiniLM-L6-v2", "--layers", "1_0"), "--layers 1_0 is not a list of whole numbers"),
        (("shrink", "all-MiniLM-L6-v2", "--dimensions", "٣"), "--dimensions ٣ is not a list of whole numbers"),
        (("reproduce", "sg-bert-5", "--seeds", "1,1_0"), "--seeds 1,1_0 is not a list of whole numbers"),
        (("app", "--port", "1_000"), "--port 1_000 is not possible. Choose 1 to 65535."),
        (("train", "simcse", "--set", "steps=1_000", "--estimate"), "steps cannot be '1_000'"),
    ],
)
def test_lists_and_settings_are_read_so_too(words, message, capsys):
    assert main(words) == 1
    assert message in capsys.readouterr().err
