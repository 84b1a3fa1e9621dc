"""Test the sets of MTEB(eng, v2) and STR-2022 in the layouts of the hub, and the errors for other files."""

import csv
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.data.graded import sts
from explorer.data.graded.published_sets import LANGUAGES, NEWS, SETS
from explorer.errors import DataError, SetNotFound

SUBSET = "fr-pl"  # the smallest: 8 pairs
NAME = f"STS22.v2-{SUBSET}"
PAIRS = [
    {"id": f"{at}", "sentence1": f"Un article.\n\nPage  {at}.", "sentence2": f"Drugi {at}.\n", "score": 1 + at % 4}
    for at in range(8)
]
ROWS = [row | {"lang": lang} for row in PAIRS for lang in ("de", SUBSET, "en")]


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch):
    monkeypatch.setattr(sts, "hub_table", lambda *_, **__: None)


def zipped_lines(rows):
    return gzip.compress("\n".join(map(json.dumps, rows)).encode())


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def put_parquet(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


LAYOUTS = {
    "all languages": lambda root: put(root / "STS22.v2/data/test.jsonl.gz", zipped_lines(ROWS)),
    "all in Parquet": lambda root: put_parquet(root / "STS22.v2/data/test-00000-of-00001.parquet", ROWS),
    "a copy": lambda root: put(root / "sts22-crosslingual-sts/data/test.jsonl.gz", zipped_lines(ROWS)),
    "a file each": lambda root: put(root / f"sts22-crosslingual-sts/test/{SUBSET}.jsonl.gz", zipped_lines(PAIRS)),
    "a folder each": lambda root: put_parquet(
        root / f"sts22-crosslingual-sts/{SUBSET}/test-00000-of-00001.parquet", PAIRS
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_subset_of_sts22_has_its_own_pairs_as_written_in_every_layout(tmp_path, layout):
    with pytest.raises(
        SetNotFound, match=r"no .*STS22\.v2/test\.tsv.*lang\), or with a copy of https://.*/mteb/sts22-"
    ):
        sts.load(NAME, folder=tmp_path)
    layout(tmp_path)
    found = sts.load(NAME, folder=tmp_path)
    assert (found.name, len(found)) == (f"{NAME} test", 8)
    assert found.first == tuple(row["sentence1"] for row in PAIRS)
    assert found.second == tuple(row["sentence2"] for row in PAIRS)
    assert found.gold == tuple(float(row["score"]) for row in PAIRS)
    assert (NAME, "test") in sts.available(tmp_path)


def test_a_file_without_the_language_is_refused_with_those_that_it_has(tmp_path):
    put(tmp_path / "STS22.v2/data/test.jsonl.gz", zipped_lines([row for row in ROWS if row["lang"] != SUBSET]))
    with pytest.raises(DataError, match=rf"{NAME}: no row of .*'{SUBSET}' under 'lang', which holds de, en\. Replace"):
        sts.load(NAME, folder=tmp_path)


def test_the_subsets_of_sts22_are_those_of_mteb_and_the_english_one_has_its_name():
    assert sts.find("STS22.v2 (en)") is sts.find("sts22-v2") is NEWS[0]
    assert sum(one.splits[0].rows for one in NEWS) == 3958, "the number of pairs that MTEB states"
    assert {code for one in NEWS for code in one.in_mteb.languages} == {*LANGUAGES.values()}
    assert all(one.in_mteb.subset == one.language for one in NEWS)


def test_all_pairs_of_sick_are_one_file_of_the_hub_or_three_of_a_folder(tmp_path):
    lines = [f"{1 + at % 5}\tOne {at}.\tTwo {at}." for at in range(9927)]
    for file, start, end in (("train", 0, 4500), ("trial", 4500, 5000), ("test", 5000, 9927)):
        assert ("SICK-R-all", "test") not in sts.available(tmp_path)
        text = "\n".join(["score\tsentence1\tsentence2", *lines[start:end]])
        put(tmp_path / f"SICK/{file}.tsv", text.encode())
    found = sts.load("SICK-R-all", folder=tmp_path)
    assert [found.first[at] for at in (0, 4500, 9926)] == ["One 0.", "One 4500.", "One 9926."]
    assert ("SICK-R-all", "test") in sts.available(tmp_path)
    (tmp_path / "SICK/trial.tsv").unlink()
    with pytest.raises(SetNotFound, match=r"all\.tsv.*or with SICK/train\.tsv, SICK/trial\.tsv, SICK/test\.tsv, or"):
        sts.load("SICK-R-all", folder=tmp_path)


def put_related(root, cells):
    path = root / "str-2022/sem_text_rel_ranked.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["Text", "Score", "SourceID", "SubsetID", "PairID"])
        rows.writerows((cell, at % 11 / 10, "Formality", "a", f"F-{at}") for at, cell in enumerate(cells))


def test_both_sentences_of_a_cell_become_two_columns(tmp_path):
    cells = [f"One, {at}.\nTwo {at}." for at in range(5500)]
    put_related(tmp_path, cells)
    found = sts.load("STR-2022", folder=tmp_path)
    assert (found.first[7], found.second[7], found.gold[7]) == ("One, 7.", "Two 7.", 0.7)
    put_related(tmp_path, [*cells[:3], "One alone.", *cells[4:]])
    with pytest.raises(DataError, match="line 8: 'Text' does not hold two sentences"):
        sts.load("STR-2022", folder=tmp_path)


def test_no_two_sets_are_one_subset_of_mteb():
    known = [(one.in_mteb.task, one.in_mteb.subset) for one in SETS if one.in_mteb]
    assert len(known) == len({*known}) > 25
