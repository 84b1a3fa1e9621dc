"""Test that rows are read with a report on what was dropped, and text files decoded and read line by line."""

import codecs

import pytest

from explorer.data.tables import text_files, text_rows
from explorer.data.tables.columns import guess
from explorer.data.tables.files import read_bytes, read_file
from explorer.data.tables.table import ColumnRoles, Table
from explorer.data.tables.text_files import SIGNATURES, Place, decoded, is_streamed, sentences
from explorer.data.tables.text_rows import SHOWN, Dropped, Report, graded_pairs, read_graded_pairs, report_on
from explorer.data.text_sets import (
    KINDS,
    LABELLED_TEXTS,
    PAIRS,
    SCORED_PAIRS,
    SENTENCES,
    TRIPLETS,
    GradedPairs,
    Labelled,
    Sentences,
    Triplets,
)
from explorer.errors import BadScores, TooFewRows, UnreadableFile, WrongColumns

HEADER = "score\tsentence1\tsentence2\tsource\n"
GOOD = "5\tA man.\tA guy.\tnews\n0\tA sea.\tA car.\tforum\n2.5\tA dog.\tA cat.\tnews\n"
GOOD += "1\tA pen.\tA bus.\tforum\n4\tA bed.\tA cot.\tnews\n"


def _graded(rows: str, header: str = HEADER) -> tuple[GradedPairs, Report]:
    table = read_bytes("a.tsv", (header + rows).encode())
    return graded_pairs(table, guess(table, SCORED_PAIRS))


def test_graded_pairs_are_the_rows_in_order_with_single_spaces_and_duplicates():
    pairs, report = _graded(GOOD)
    assert pairs == GradedPairs(
        "a.tsv",
        ("A man.", "A sea.", "A dog.", "A pen.", "A bed."),
        ("A guy.", "A car.", "A cat.", "A bus.", "A cot."),
        (5.0, 0.0, 2.5, 1.0, 4.0),
        ("news", "forum", "news", "forum", "news"),
    )
    assert (report.rows_read, report.rows_kept, report.dropped, report.duplicates) == (5, 5, (), 0)
    assert report.score_range == (0.0, 5.0)
    pairs, _ = _graded("1\ta\tb\n2\tc\td\n3\te\tf\n4\tg\th\n5\ti\tj\n", header="score\tsentence1\tsentence2\n")
    assert pairs.parts == ("",) * 5
    pairs, _ = _graded(GOOD + "1\t  A \u00a0 big   dog \t A\u2003cat\tnews\n")
    assert (pairs.first[-1], pairs.second[-1]) == ("A big dog", "A cat")
    pairs, report = _graded(GOOD + GOOD)
    assert len(pairs) == 10
    assert report.duplicates == 5


def test_every_bad_row_is_dropped_for_its_own_reason():
    pairs, report = _graded(GOOD + "nan\ta\tb\t\n\ta\tb\t\nhigh\ta\tb\t\n3\t\tb\t\n3\ta\t  \t\n3\ta\tb\n")
    assert len(pairs) == 5
    assert report.dropped == (
        Dropped("score missing, NaN or infinite", 2, (7, 8)),
        Dropped("score is text", 1, (9,)),
        Dropped("empty sentence", 2, (10, 11)),
        Dropped("ragged row", 1, (12,)),
    )
    assert report.rows_read == 11


@pytest.mark.parametrize(
    ("rows", "error", "fault"),
    [
        ("5\tA man.\tA guy.\tnews\n", TooFewRows, r"a\.tsv has too few usable rows: 1\. Scored pairs need at least 5"),
        ("5\ta\tb\t\n4\t\tb\t\n4\ta\t\t\n2\tc\td\t\n", TooFewRows,
         r"rows: 2\. .*; 2 dropped: empty sentence \(line 3, 4\)\. Add rows"),
        (GOOD[: GOOD.index("4\tA bed")], TooFewRows, "rows: 4. Scored pairs need at least 5; nothing was dropped"),
        ("", TooFewRows, r"a\.tsv has column names and no rows"),
        ("3\ta\tb\t\n3\tc\td\t\n3.0\te\tf\t\n3\tg\th\t\n3\ti\tj\t\n", BadScores, "every score in 'score' is 3"),
        ("nan\ta\tb\t\nNaN\tc\td\t\n\te\tf\t\n", BadScores, "every score in 'score' is missing, NaN or infinite"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_graded_are_refused_with_the_reason(rows, error, fault):
    with pytest.raises(error, match=fault):
        _graded(rows)


def test_columns_of_another_kind_are_refused_with_what_is_missing(tmp_path):
    with pytest.raises(WrongColumns, match=r"a\.tsv has no column for score.*sentence1, sentence2\. Choose"):
        _graded("a\tb\nc\td\n", header="sentence1\tsentence2\n")
    table = read_bytes("a.tsv", (HEADER + GOOD).encode())
    with pytest.raises(WrongColumns, match="chosen as graded pairs, not as triplets"):
        text_rows.triplets(table, guess(table))
    table = read_bytes("a.tsv", ("label\ttext\n" + "".join(f"{at}\tText {at}.\n" for at in range(30))).encode())
    with pytest.raises(WrongColumns, match=r"'label' has 30 different values in 30 rows, so it holds no classes"):
        text_rows.labelled(table, guess(table, LABELLED_TEXTS))
    path = tmp_path / "mine.txt"
    path.write_text("One.\nTwo.\nThree.\n", encoding="utf-8")
    with pytest.raises(WrongColumns, match="no column for second or score, which graded pairs need"):
        read_graded_pairs(path)


def test_a_sentence_said_twice_is_kept_once_but_one_that_came_back_as_it_went_stays():
    table = read_bytes("a.txt", b"One.\nTwo.\nOne.\n\n One. \n")
    sentences, report = text_rows.sentences(table, guess(table))
    assert sentences == Sentences("a.txt", ("One.", "Two."))
    assert report.dropped == (Dropped("sentence seen before", 2, (3, 5)),)
    table = read_bytes("a.tsv", b"sentence\tback_translation\nA man.\tA guy.\nA sea.\tA sea.\nA dog.\t \n")
    found, report = text_rows.texts(table, guess(table))
    assert found == (("A man.", "A sea."), ("A guy.", "A sea."))
    assert report.dropped == (Dropped("empty sentence", 1, (4,)),)


def test_pairs_and_triplets_keep_whole_rows_only():
    table = read_bytes("a.csv", b"anchor,positive,negative\na,b,c\nd,,f\ng,h,i\n")
    triplets, report = text_rows.triplets(table, guess(table))
    assert triplets == Triplets("a.csv", ("a", "g"), ("b", "h"), ("c", "i"))
    assert report.dropped == (Dropped("empty sentence", 1, (3,)),)
    pairs, _ = text_rows.texts(table, guess(table, PAIRS))
    assert pairs == (("a", "g"), ("b", "h"))


def test_labelled_rows_keep_duplicates_and_lose_what_has_no_text_or_no_label():
    table = read_bytes("a.tsv", b"label\ttext\nyes\t a  b \nno\tc\n\td\nyes\t\nno\tc\n")
    rows, report = text_rows.labelled(table, guess(table, LABELLED_TEXTS))
    assert rows == Labelled("a.tsv", ("a b", "c", "c"), ("yes", "no", "no"))
    assert report.dropped == (Dropped("label missing", 1, (4,)), Dropped("empty sentence", 1, (5,)))
    assert (report.rows_kept, report.duplicates) == (3, 1)
    table = read_bytes("a.tsv", b"label\tsentence1\tsentence2\n1\ta\tb\n0\tc\td\n1\te\t\n")
    rows, _ = text_rows.labelled(table, guess(table, LABELLED_TEXTS))
    assert rows == Labelled("a.tsv", ("a", "c"), ("1", "0"), ("b", "d"))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_no_kind_is_made_of_nothing(kind):
    table = Table("a.csv", ("sentence1", "sentence2", "negative", "score"), rows=(), lines=())
    mapping = ColumnRoles.of(
        kind,
        {"sentence": "sentence1", "first": "sentence1", "second": "sentence2", "score": "score"}
        | {"anchor": "sentence1", "positive": "sentence2", "negative": "negative", "translated": "sentence2"}
        | {"text": "sentence1", "label": "score", "document": "sentence1"},
    )
    make = {SENTENCES: text_rows.sentences, SCORED_PAIRS: graded_pairs, LABELLED_TEXTS: text_rows.labelled}.get(
        kind, text_rows.texts
    )
    with pytest.raises(TooFewRows, match=f"{kind.title.capitalize()} need at least {kind.least};"):
        make(table, mapping)


@pytest.mark.parametrize(
    ("kind", "rows", "kept", "reasons"),
    [
        (PAIRS, ["a\ta", "a\tb", "c \t c", "c\td"], 2, {"both sentences are the same": (2, 4)}),
        (TRIPLETS, ["a\tb\tb", "a\tb\ta", "a\ta\tb", "a\tb\tc"], 1,
         {"the negative is the anchor or the positive": (2, 3), "both sentences are the same": (4,)}),
    ],
)  # fmt: skip
def test_a_row_that_says_the_same_twice_is_dropped_with_its_line(kind, rows, kept, reasons):
    table = read_bytes("mine.tsv", "\n".join(["\t".join(kind.roles), *rows]).encode())
    found, report = text_rows.texts(table, ColumnRoles.of(kind, {role: role for role in kind.roles}))
    assert len(found[0]) == report.rows_kept == kept
    assert {dropped.reason: dropped.lines for dropped in report.dropped} == reasons


def test_columns_that_hold_the_same_are_refused_with_the_reason():
    table = read_bytes("mine.csv", b"one,two\na b,a b\nc d,c d\ne f,e f\n")
    with pytest.raises(TooFewRows, match=r"3 dropped: both sentences are the same .*choose other columns"):
        text_rows.texts(table, ColumnRoles.of(PAIRS, {"first": "one", "second": "two"}))
    table = read_bytes("mine.tsv", b"anchor\tpositive\tnegative\na\tb\tb\nc\td\td\n")
    mapping = ColumnRoles.of(TRIPLETS, {role: role for role in ("anchor", "positive", "negative")})
    with pytest.raises(
        TooFewRows, match=r"2 dropped: the negative is the anchor or the positive.*choose other columns"
    ):
        text_rows.triplets(table, mapping)


def test_a_file_of_graded_pairs_is_read_in_one_go(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text(HEADER + GOOD, encoding="utf-8")
    pairs, _ = read_graded_pairs(path)
    assert pairs.gold == (5.0, 0.0, 2.5, 1.0, 4.0)
    swapped, _ = read_graded_pairs(path, {"first": "sentence2", "second": "sentence1", "part": None})
    assert (swapped.first, swapped.second) == (pairs.second, pairs.first)
    assert swapped.parts == ("",) * 5
    for name in ("mine.txt", "mine.tsv"):
        (tmp_path / name).write_text(HEADER + GOOD, encoding="utf-8")
    (text_pairs, _), (pairs, _) = (read_graded_pairs(tmp_path / name) for name in ("mine.txt", "mine.tsv"))
    assert (text_pairs.first, text_pairs.second, text_pairs.gold) == (pairs.first, pairs.second, pairs.gold)


def test_the_same_sentence_on_both_sides_is_counted_and_refused_where_all_rows_are_so():
    pairs, report = _graded("5\ta b\ta  b\tnews\n" + GOOD)
    assert len(pairs) == 6
    assert report.same_twice == 1
    with pytest.raises(WrongColumns, match=r"in all 5 rows 'sentence1' and 'sentence2' hold the same sentence.*Choose"):
        _graded("".join(f"{row}\t{row} a\t{row} a\tnews\n" for row in range(5)))


@pytest.mark.parametrize(
    ("scores", "far"),
    [
        (["0", "5", "2.5", "1", "4", "9e9"], [6]),
        (["0", "5", "2.5", "-9e9", "4", "3"], [4]),
        ([*"012345" * 10, "9e9", "8e9"], [61, 62]),
        (["0", "1", "2", "50", "97", "100"], []),  # a scale with gaps
        ([*["0", "1", "5"] * 5, *["100"] * 5], []),  # too many to be outliers
        (["0"] * 9 + ["1"], []),  # two labels
        (["1", "2", "3", "4", "5", "54"], [6]),  # 49 from the others, whose range is 4
        (["1", "2", "3", "4", "5", "44"], []),
    ],
)
def test_scores_far_from_all_others_are_named_with_their_lines(scores, far):
    _, report = _graded("".join(f"{score}\tone {row}\tother {row}\t\n" for row, score in enumerate(scores)))
    assert report.outliers == tuple((row + 1, float(scores[row - 1])) for row in far)
    assert ("far from all others" in str(report)) == bool(far)


def test_rows_that_score_one_pair_differently_are_counted_in_either_order():
    _, report = _graded(GOOD + "3\tA guy.\tA man.\tnews\n5\tA man.\tA guy.\tnews\n2\tA dog.\tA fox.\tnews\n")
    assert (report.contradicting, report.duplicates) == (3, 1)
    assert "rows whose pair has another score in another row: 3" in str(report)
    _, report = _graded(GOOD + GOOD)
    assert (report.contradicting, report.outliers) == (0, ())


TABLE = Table("a.csv", ("text",), (("a b",), ("",), ("c",), ("",)), (2, 3, 5, 6), ragged=(4,), set_aside=("v",))


def test_every_row_is_kept_or_dropped_for_one_reason_and_of_many_lines_the_first_are_named():
    report = report_on(TABLE, ("", "empty", "", "empty"), ("a b", "c"), ("a b", "c"))
    assert report.dropped == (Dropped("empty", 2, (3, 6)), Dropped("ragged row", 1, (4,)))
    assert report.rows_read == 5 == report.rows_kept + sum(reason.count for reason in report.dropped)
    assert report_on(TABLE, ("",) * 4, ("a", "b", "a", "a"), ("a",)).duplicates == 2
    many = Table("a.csv", ("text",), (*[("",)] * 9, ("a",)), tuple(range(2, 12)))
    (dropped,) = report_on(many, ("empty",) * 9 + ("",), ("a",), ("a",)).dropped
    assert (dropped.count, dropped.lines) == (9, tuple(range(2, 2 + SHOWN)))
    assert str(dropped) == "9 dropped: empty (line 2, 3, 4, 5, 6, …)"


def test_word_counts_are_those_of_a_slow_count():
    texts = [" ".join("w" * (1 + at % 40)) for at in range(200)]
    counts = sorted(len(text.split()) for text in texts)
    report = report_on(TABLE, ("",) * 4, texts, texts)
    assert (report.least_words, report.most_words) == (counts[0], counts[-1]) == (1, 40)
    assert report.median_words == (counts[99] + counts[100]) / 2
    assert sum(count <= report.nearly_most_words for count in counts) >= 190
    assert sum(count < report.nearly_most_words for count in counts) < 190


def test_a_report_reads_as_plain_lines():
    report = report_on(TABLE, ("", "empty", "", "empty"), ("a b", "a b"), ("a b", "c"), gold=(0.0, 4.5))
    assert (report.least_words, report.median_words, report.nearly_most_words, report.most_words) == (1, 1.5, 2, 2)
    assert str(report).split("\n") == [
        "2 of 5 rows kept",
        "2 dropped: empty (line 3, 6)",
        "1 dropped: ragged row (line 4)",
        "exact duplicates: 1",
        "scores 0 to 4.5",
        "1 to 2 words per sentence, median 1.5, 95 % have at most 2",
        "columns set aside (lists, objects or bytes): v",
    ]


TEXT = "Où est la gare?\nNo idea.\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    ],
)
def test_every_marked_encoding_gives_the_same_text(data):
    assert decoded("a.txt", data) == TEXT


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_of_every_system_become_newlines(end):
    assert decoded("a.txt", f"One.{end}Two.{end}".encode()) == "One.\nTwo.\n"


def test_a_line_separator_inside_a_sentence_does_not_end_it():
    assert decoded("a.txt", "One\u2028sentence\x85 here.".encode()).split("\n") == ["One\u2028sentence\x85 here."]


def test_text_that_is_not_utf8_or_utf16_is_named_with_its_offset():
    data = b"Fine.\nCaf\xe9.\n"
    assert data[9] == 0xE9
    message = r"a b\.txt is not UTF-8: byte 0xe9 at offset 9 \(line 2\).*iconv -f cp1252 -t utf-8 'a b\.txt'"
    with pytest.raises(UnreadableFile, match=message):
        decoded("a b.txt", data)
    with pytest.raises(UnreadableFile, match=r"byte 0xe9 at offset 6 \(line 1\)"):
        decoded("a.txt", codecs.BOM_UTF8 + b"Caf\xe9")
    with pytest.raises(UnreadableFile, match=r"is UTF-16 that ends incompletely at byte offset 2.*as UTF-8"):
        decoded("a.txt", codecs.BOM_UTF16_LE + b"A")
    with pytest.raises(UnreadableFile, match="is binary: it has a zero byte at offset 5"):
        decoded("a.csv", b"Plain\x00text")


@pytest.mark.parametrize(("signature", "what"), SIGNATURES.items())
def test_a_file_of_another_kind_is_called_by_its_kind(signature, what):
    with pytest.raises(UnreadableFile, match=what.split("(")[0] + r".*not text\. Export"):
        decoded("a.csv", signature + b"\x00\x01 and more")


@pytest.mark.parametrize("data", [b"\n \n", codecs.BOM_UTF8, codecs.BOM_UTF16_LE])
def test_blanks_alone_are_an_empty_file(data):
    with pytest.raises(UnreadableFile, match="is empty"):
        decoded("a.csv", data)


TEXTS = {
    "plain": b"One two.\nThree.\n",
    "without a last line end": b"One.\nTwo.",
    "blank lines": "One.\n\n \u00a0\t\nTwo.\n\n".encode(),
    "spaces": "  One \u00a0 two.\t\nThree\u2028four\x0bfive.\n".encode(),
    "Windows": b"One.\r\n\r\nTwo.\r\n",
    "carriage returns": b"One.\rTwo.\r\rThree.\r",
    "mixed": b"One.\rTwo.\r\nThree.\nFour.",
    "marked": codecs.BOM_UTF8 + "Où?\nLà.\n".encode(),
    "a mark inside": "One.\n\ufeffTwo.\n".encode(),
    "repeats": b"One.\nOne.\n",
}


def read_whole(path):
    table = read_file(path)
    return text_rows.sentences(table, guess(table, SENTENCES), keep_duplicates=True, as_written=True)[0].texts


@pytest.mark.parametrize("data", TEXTS.values(), ids=TEXTS)
def test_the_sentences_are_those_of_the_reader_of_files_and_reading_goes_on_from_the_place_of_any(tmp_path, data):
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    assert is_streamed(path)
    lines = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert read_whole(path) == tuple(line for line in lines if line.split())
    assert tuple(text for _, text in sentences(path) if text) == read_whole(path)
    path.write_bytes(data)
    every = list(sentences(path))
    for at, (place, _) in enumerate(every):
        assert list(sentences(path, place)) == every[at:]


def test_tables_and_utf_16_are_left_to_the_reader_of_files(tmp_path):
    for name, data in {
        "tabs.txt": b"a\tb\nc\td\n",
        "utf16.txt": codecs.BOM_UTF16_LE + "One.\n".encode("utf-16-le"),
        "text.csv": b"One.\n",
    }.items():
        (tmp_path / name).write_bytes(data)
        assert not is_streamed(tmp_path / name)
    assert not is_streamed(tmp_path / "nowhere.txt")
    assert not is_streamed(tmp_path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"Fine.\nCaf\xe9.\n", r"text\.txt is not UTF-8: byte 0xe9 at offset 9"),
        (codecs.BOM_UTF8 + b"Caf\xe9.\n", r"byte 0xe9 at offset 6"),
        (b"Fine.\nA\0b\n", r"zero byte at offset 7"),
        (b"Fine.\n" + b"x" * 100, r"the line at offset 6 has more than 50 bytes"),
        (b"%PDF-1.7\n", r"is a PDF, not text"),
    ],
)
def test_what_is_no_text_is_named_with_its_offset(tmp_path, monkeypatch, data, said):
    monkeypatch.setattr(text_files, "LONGEST", 50)
    (tmp_path / "text.txt").write_bytes(data)
    with pytest.raises(UnreadableFile, match=said):
        list(sentences(tmp_path / "text.txt"))


def test_a_line_is_read_at_a_time_and_what_has_no_sentence_is_refused(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"One.\n" * 10 + b"\xff\n")
    assert next(sentences(path)) == (Place(0), "One."), "the broken last line was not reached"
    with pytest.raises(UnreadableFile, match="offset 50"):
        list(sentences(path))
    (tmp_path / "text.txt").write_bytes("\u00a0\n".encode())
    assert [text for _, text in sentences(tmp_path / "text.txt")] == [""]
    with pytest.raises((TooFewRows, UnreadableFile)):
        read_whole(tmp_path / "text.txt")
