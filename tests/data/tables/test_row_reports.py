"""Test the counts of a report on rows."""

from explorer.data.tables.row_reports import SHOWN, Dropped, WordCounts, report_on
from explorer.data.tables.table import Table

TABLE = Table(
    "a.csv", ("text",), rows=(("a b",), ("",), ("c",), ("",)), lines=(2, 3, 5, 6), ragged=(4,), set_aside=("v",)
)


def test_every_row_is_either_kept_or_dropped_for_one_reason() -> None:
    report = report_on(TABLE, ("", "empty", "", "empty"), ("a b", "c"), ("a b", "c"))
    assert report.dropped == (Dropped("empty", 2, (3, 6)), Dropped("ragged row", 1, (4,)))
    assert report.rows_read == 5 == report.rows_kept + sum(reason.count for reason in report.dropped)


def test_of_many_lines_the_first_are_named() -> None:
    many = Table("a.csv", ("text",), (*[("",)] * 9, ("a",)), tuple(range(2, 12)))
    (dropped,) = report_on(many, ("empty",) * 9 + ("",), ("a",), ("a",)).dropped
    assert dropped.count == 9
    assert dropped.lines == tuple(range(2, 2 + SHOWN))
    assert str(dropped) == "9 dropped: empty (line 2, 3, 4, 5, 6, …)"


def test_word_counts_are_those_of_a_slow_count() -> None:
    texts = [" ".join("w" * (1 + at % 40)) for at in range(200)]
    counts = sorted(len(text.split()) for text in texts)
    words = report_on(TABLE, ("",) * 4, texts, texts).words
    assert (words.least, words.most) == (counts[0], counts[-1]) == (1, 40)
    assert words.median == (counts[99] + counts[100]) / 2
    assert sum(count <= words.nearly_all for count in counts) >= 190
    assert sum(count < words.nearly_all for count in counts) < 190


def test_a_row_said_three_times_is_two_duplicates() -> None:
    assert report_on(TABLE, ("",) * 4, ("a", "b", "a", "a"), ("a",)).duplicates == 2


def test_a_report_reads_as_plain_lines() -> None:
    report = report_on(TABLE, ("", "empty", "", "empty"), ("a b", "a b"), ("a b", "c"), gold=(0.0, 4.5))
    assert report.words == WordCounts(1, 1.5, 2, 2)
    assert str(report).split("\n") == [
        "2 of 5 rows kept",
        "2 dropped: empty (line 3, 6)",
        "1 dropped: ragged row (line 4)",
        "exact duplicates: 1",
        "scores 0 to 4.5",
        "1 to 2 words per sentence, median 1.5, 95 % have at most 2",
        "columns set aside (lists, objects or bytes): v",
    ]
