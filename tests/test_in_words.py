"""Test that sizes, errors and progress are told in words that show them, in one line of bounded length."""

import re
from pathlib import Path

import pytest

from explorer import errors, in_words
from explorer.errors import LONGEST, StrataError
from explorer.progress import Progress, finish

ROOT = Path(__file__).parent.parent
BY_HAND = re.compile(r"/ (?:1e[369]|2 ?\*\* ?[123]0|10(?:00|24) ?\*\* ?\d)[^}]*\}[^{\"]{0,3}\b[KMGT]B\b")


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1_000, "1 KB"), (12_345, "12.3 KB"),
        (340_000_000, "340 MB"), (1_200_000_000, "1.2 GB"), (1_543_210_000, "1.54 GB"), (20_000_000_000, "20 GB"),
        (33_600_000_000, "33.6 GB"), (999_600, "1 MB"), (999_499, "999 KB"), (2.5e12, "2.5 TB"), (7.2e15, "7,200 TB"),
        (0.4, "0 bytes"),
    ],
)  # fmt: skip
def test_a_size_is_told_in_the_unit_that_shows_it(count, told):
    assert in_words.size(count) == told


def test_a_size_can_be_read_back_to_three_digits():
    for count in (10**power * first for power in range(1, 17) for first in (1, 3, 9.99, 9.994, 9.996)):
        number, unit = in_words.size(count).split()
        back = float(number.replace(",", "")) * {"bytes": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[unit]
        assert back == pytest.approx(count, rel=0.005, abs=0.5)


@pytest.mark.parametrize(
    ("cosine", "told"),
    [
        (0.9963, "0.996"), (0.99496, "0.99"), (0.99997, "0.99997"), (0.999985, "0.99999"), (1.0, "1.00"),
        (0.9999999, "1.00"), (0.5, "0.50"), (-0.004, "0.00"), (-0.9999, "−1.00"), (None, "none"),
        (float("nan"), "none"),
    ],
)  # fmt: skip
def test_a_cosine_of_different_sentences_is_not_shown_as_1(cosine, told):
    assert in_words.cosine(cosine) == told
    assert in_words.cosines(cosine, cosine) == f"{told} → {told}"


def test_both_sides_of_a_change_of_a_cosine_have_as_many_digits():
    assert in_words.cosines(0.9963, 0.98) == "0.996 → 0.980"
    assert in_words.cosines(0.5, 0.25, digits=3) == "0.500 → 0.250"


def test_no_size_in_a_text_is_divided_by_hand():
    files = [path for place in ("explorer", "pages", "strata") for path in (ROOT / place).rglob("*.py")]
    found = [f"{file.relative_to(ROOT)}: {match[0]}" for file in files
             for match in BY_HAND.finditer(file.read_text(encoding="utf-8"))]  # fmt: skip
    assert found == [], "in_words.size writes it in the unit that shows it"


@pytest.mark.parametrize("text", ["{need / 1e9:.1f} GB", "{4 * self.fit / 1e9:,.1f} GB", "{size / 2**20:g} MB"])
def test_a_planted_size_is_found(text):
    assert BY_HAND.search(text)


def test_a_message_is_one_line():
    for kind in [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception)]:
        assert str(kind("model_type cannot be 'a\nb\r\nc'. Choose one.")) == "model_type cannot be 'a b c'. Choose one."


def test_a_long_message_keeps_its_beginning_and_the_next_step():
    told = str(StrataError("It holds " + "x" * 10_000 + ". Remove it."))
    assert len(told) == LONGEST
    assert told.startswith("It holds xxx")
    assert told.endswith("xxx. Remove it.")


def test_half_of_a_surrogate_pair_is_shown_as_text():
    assert str(StrataError("'\ud800' is no name")) == r"'\ud800' is no name"


def test_a_message_raised_again_is_the_same():
    first = StrataError("x" * 5_000)
    assert str(StrataError(first)) == str(StrataError(str(first))) == str(first)


def test_finish_does_all_the_work_tells_every_step_and_gives_its_result():
    steps, worked, told = [Progress("counting", step, 3) for step in range(3)], [], []

    def work():
        for step in steps:
            worked.append(step)
            yield step
        return "done"

    assert finish(work()) == "done"
    assert worked == steps
    assert finish(work(), told.append) == "done"
    assert told == steps


def test_an_amount_is_told_in_its_unit():
    assert Progress("reading tokens", 1200, 36689).amount == "1,200 of 36,689"
    assert Progress("fetching x", 12_500_000, 90_868_376, "bytes").amount == "12.5 MB of 90.9 MB"
    assert Progress("loading", 0, 0).amount == ""


@pytest.mark.parametrize(
    ("hours", "shown"),
    [(2, "2 h 00 min"), (71.9, "71 h 54 min"), (72, "3 days 0 h"), (17_519, "729 days 23 h"), (17_520, "2 years"),
     (631_969.4, "72 years"), (10**8, "11,408 years")],
)  # fmt: skip
def test_a_time_of_many_hours_is_told_in_days_and_years(hours, shown):
    assert in_words.duration(3600 * hours) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.81, "0.9"), (0.9, "0.9"), (1.2000000001, "1.2"), (0.0, "0.0"), (3, "3.0")]
)
def test_an_upper_bound_is_rounded_upwards(value, shown):
    assert in_words.bound(value) == shown


@pytest.mark.parametrize(("share", "shown"), [(0.625, "62 %"), (0.0, "0 %"), (1.0, "100 %")])
def test_a_share_has_a_space_before_its_sign(share, shown):
    assert in_words.percent(share) == shown
