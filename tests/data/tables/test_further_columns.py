"""Test that columns of a file without a role are kept beside its rows, and change neither its kind nor its digest."""

import json
import math
from dataclasses import replace

import pytest

from explorer.data import sources, splitting
from explorer.data.graded import sets
from explorer.data.labelled import labelled_sets
from explorer.data.set_items import Attribute, word_count
from explorer.data.tables import retrieval_folders
from explorer.data.tables.columns import guess, table_kind
from explorer.data.tables.files import read_file
from explorer.data.tables.further_columns import further
from explorer.data.tables.text_rows import graded_pairs
from explorer.data.text_sets import LABELLED_TEXTS, PAIRS, SCORED_PAIRS
from explorer.errors import SetNotFound

LANGUAGES = ("de", "en", "en", "")


def written(folder, name, header, rows):
    path = folder / name
    path.write_text("\n".join("\t".join(map(str, row)) for row in (header, *rows)) + "\n")
    return path


def scored(folder, extra):
    """A file of 40 scored pairs, one of which is dropped, with two more columns if they are wanted."""
    rows = [
        (f"a sentence {n}", f"another sentence {n}", n % 6, *((LANGUAGES[n % 4], 1.5 * n) * extra)) for n in range(40)
    ]
    rows[7] = ("", *rows[7][1:])
    header = ("sentence1", "sentence2", "score", *(("language", "year") * extra))
    return written(folder, f"{extra}.tsv", header, rows)


def test_scored_pairs_keep_the_columns_of_the_rows_that_are_kept(tmp_path):
    pairs, _ = sources.scored_pairs(str(scored(tmp_path, 1)))
    kept = [n for n in range(40) if n != 7]
    assert pairs.attributes == (
        Attribute("language", tuple(LANGUAGES[n % 4] for n in kept)),
        Attribute("year", tuple(1.5 * n for n in kept)),
    )
    bare, _ = sources.scored_pairs(str(scored(tmp_path, 0)))
    assert bare.attributes == ()
    assert bare.digest == pairs.digest, "scores do not depend on further columns"


def test_halves_and_drawn_items_keep_the_cells_of_their_rows(tmp_path):
    pairs, _ = sources.scored_pairs(str(scored(tmp_path, 1)))
    language = dict(zip(pairs.first, pairs.attributes[0].cells, strict=True))
    for half in splitting.halves(pairs):
        assert half.attributes[0].cells == tuple(language[text] for text in half.first)


def test_stored_pairs_have_the_columns_of_the_upload(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    pairs, _ = sources.scored_pairs(str(scored(tmp_path, 1)))
    gaps = replace(pairs, attributes=(Attribute("rating", (math.nan, *map(float, range(1, len(pairs))))),))
    given = sets.keep(gaps)
    found = sets.load(given).attributes[0].cells
    assert math.isnan(found[0])
    assert found[1:] == gaps.attributes[0].cells[1:]
    path = sets.upload_path(given)
    head, columns = path.read_text().split("\n")
    columns = json.loads(columns)
    path.write_text("\n".join((head, json.dumps({name: columns[name] for name in columns if name != "attributes"}))))
    assert sets.load(given).attributes == (), "files of earlier versions have none"
    for cells in ([1.0], [1.0, *["x"] * (len(pairs) - 1)]):  # too few, and of two types
        columns["attributes"] = {"rating": cells}
        path.write_text("\n".join((head, json.dumps(columns))))
        with pytest.raises(SetNotFound, match="can no longer be read"):
            sets.load(given)


def test_queries_have_the_cells_of_their_first_pair(tmp_path):
    rows = [("q one", "passage one", "de"), ("q two", "passage two", "en"), ("q one", "passage three", "fr")]
    found = sources.retrieval_set(str(written(tmp_path, "q.tsv", ("query", "passage", "language"), rows * 2)))
    assert found.queries == ("q one", "q two")
    assert found.attributes == (Attribute("language", ("de", "en")),)
    assert found.taken([1]).attributes == (Attribute("language", ("en",)),)
    bare = sources.retrieval_set(str(written(tmp_path, "b.tsv", ("query", "passage"), [row[:2] for row in rows])))
    assert bare.digest == found.digest


def test_queries_of_a_folder_have_the_columns_of_their_file(tmp_path):
    rows = [{"_id": f"q{n}", "text": f"query {n}", "language": LANGUAGES[n % 3]} for n in range(6)]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "corpus.jsonl").write_text(
        "\n".join(json.dumps({"_id": f"d{n}", "text": f"text {n}"}) for n in range(6))
    )
    written(tmp_path, "qrels.tsv", ("query-id", "corpus-id", "score"), [(f"q{n}", f"d{n}", 1) for n in (1, 2, 3, 5)])
    found = retrieval_folders.read(tmp_path)
    assert found.queries == ("query 1", "query 2", "query 3", "query 5")
    assert found.attributes == (Attribute("language", ("en", "en", "de", "en")),)


def test_triplets_and_labelled_rows_keep_their_columns(tmp_path):
    rows = [(f"anchor {n}", f"positive {n}", f"negative {n}", LANGUAGES[n % 3]) for n in range(9)]
    found = sources.triplets(str(written(tmp_path, "t.tsv", ("anchor", "positive", "negative", "language"), rows)))
    assert found.attributes == (Attribute("language", tuple(LANGUAGES[n % 3] for n in range(9))),)
    assert found.taken([0, 4]).attributes == (Attribute("language", ("de", "en")),)
    rows = [(f"a text of number {n}", ("yes", "no")[n % 2], LANGUAGES[n % 3]) for n in range(120)]
    labelled, _ = labelled_sets.load(str(written(tmp_path, "l.tsv", ("text", "label", "language"), rows)))
    assert labelled.attributes == (Attribute("language", tuple(LANGUAGES[n % 3] for n in range(120))),)


def test_a_language_is_no_label(tmp_path):
    rows = [(f"how far is place {n}", f"it is some {n} miles away", LANGUAGES[n % 3]) for n in range(200)]
    of_languages = read_file(written(tmp_path, "a.tsv", ("asked", "answered", "language"), rows))
    of_topics = read_file(written(tmp_path, "b.tsv", ("asked", "answered", "topic"), rows))
    assert table_kind(of_languages) == PAIRS
    assert table_kind(of_topics) == LABELLED_TEXTS, "the premise: a column of few values is a label"


def test_columns_that_divide_nothing_are_left_out(tmp_path):
    header = ("sentence1", "sentence2", "score", "id", "row", "same", "note", "kind")
    rows = [
        (f"one {n}", f"other {n}", n % 4, f"x{n}", n, "always", f"this is note {n}", ("a", "b")[n % 2])
        for n in range(60)
    ]
    table = read_file(written(tmp_path, "c.tsv", header, rows))
    roles = guess(table, SCORED_PAIRS).corrected({"score": "score"})
    assert [one.name for one in further(table, roles, [""] * 60)] == ["kind"]
    part = roles.corrected({"part": "kind"})
    pairs, _ = graded_pairs(table, part)
    assert [one.name for one in pairs.attributes] == ["kind"], "the sub-corpus, by the name of its column"


def test_words_of_scripts_without_spaces_are_counted_by_character():
    assert word_count("two words") == 2
    assert word_count("東京は大きい") == 6
    assert word_count("the 東京 tower") == 4
    assert word_count("") == 0
