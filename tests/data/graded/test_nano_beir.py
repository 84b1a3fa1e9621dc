"""Test NanoBEIR in both layouts of the hub, in a folder and in the cache, and the errors for what is missing."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants

from explorer.data.graded import nano_beir
from explorer.data.sources import identity
from explorer.data.tables import retrieval_folders
from explorer.errors import DataError, SetNotFound, UnreadableFile
from explorer.evaluating import kinds

NAMES = ("NanoNQ", "NanoFEVER")
DOCUMENTS = [{"_id": f"d{at}", "text": f"Document {at}." * (at != 3)} for at in range(6)]
QUERIES = [{"_id": f"q{at}", "text": f"query {at}"} for at in range(3)]
JUDGED = [{"query-id": f"q{at}", "corpus-id": f"d{2 * at}"} for at in range(3)]
TABLES = {"corpus": DOCUMENTS, "queries": QUERIES, "qrels": JUDGED}
COMMIT = "0" * 40


@pytest.fixture(autouse=True)
def _tiny(monkeypatch, tmp_path):
    """The sets have the sizes of these tables, and the cache is empty."""
    small = (replace(one, documents=6, queries=3) for one in nano_beir.SETS)
    monkeypatch.setattr(nano_beir, "SETS", tuple(small))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STRATA_DATA", raising=False)


def put(folder, table="train", tables=TABLES):
    for name, rows in tables.items():
        path = folder / name / f"{table}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), path)


def put_both(folder):
    for at, name in enumerate(NAMES):
        put(folder, name, {**TABLES, "corpus": [*DOCUMENTS[at:], *DOCUMENTS[:at]]})


def cached(tmp_path, hub_id):
    folder = tmp_path / "cache" / f"datasets--{hub_id.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text(COMMIT)
    return folder / "snapshots" / COMMIT


LAYOUTS = {
    "its own folder": lambda place: put(place / "data/NanoNQ"),
    "a folder of all": lambda place: put_both(place / "data/NanoBEIR-en"),
    "its own in the cache": lambda place: put(cached(place, "zeta-alpha-ai/NanoNQ")),
    "all in the cache": lambda place: put_both(cached(place, "sentence-transformers/NanoBEIR-en")),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_set_is_read_in_every_layout_of_the_hub(tmp_path, layout):
    layout(tmp_path)
    found = nano_beir.load("NanoNQ", tmp_path / "data")
    assert (found.name, found.split, found.queries) == ("NanoNQ", "train", ("query 0", "query 1", "query 2"))
    assert found.documents == tuple(row["text"] for row in DOCUMENTS if row["text"])
    assert found.judgements == ({0: 1}, {2: 1}, {3: 1}), "d4 is the fourth with a text"
    assert found.counts["documents without text (left out)"] == 1


def test_a_set_that_is_not_there_is_answered_with_both_addresses(tmp_path):
    with pytest.raises(
        SetNotFound,
        match=r"no .*NanoNQ, and neither zeta-alpha-ai/NanoNQ nor .*NanoBEIR-en is in the hub's cache.*copy of "
        r"https://huggingface\.co/datasets/zeta-alpha-ai/NanoNQ, which has corpus, queries, qrels, or of https://",
    ):
        nano_beir.load("NanoNQ", tmp_path)


def test_missing_tables_columns_and_rows_are_named(tmp_path):
    folder = tmp_path / "NanoNQ"
    put(folder, tables={**TABLES, "corpus": DOCUMENTS[:5]})
    with pytest.raises(DataError, match=r"NanoNQ has 5 documents and 3 queries here, but 6 and 3 as published"):
        nano_beir.load("NanoNQ", tmp_path)
    put(folder, tables={"qrels": [{"query-id": "q0", "document": "d0"}]})
    with pytest.raises(DataError, match=r"has no column corpus-id\. Its columns: query-id, document\. Rename"):
        nano_beir.load("NanoNQ", tmp_path)
    (folder / "queries/train-00000-of-00001.parquet").unlink()
    with pytest.raises(UnreadableFile, match="NanoNQ has no file of queries"):
        nano_beir.load("NanoNQ", tmp_path)
    put_both(tmp_path / "NanoBEIR-en")
    with pytest.raises(UnreadableFile, match=r"no split 'NanoSciFact' of judgements\. It has: NanoFEVER, NanoNQ\."):
        nano_beir.load("NanoSciFact", tmp_path)


def test_a_folder_of_the_hubs_layout_is_read_like_beirs_and_one_of_several_sets_is_not(tmp_path):
    put(tmp_path / "mine", "test")
    assert retrieval_folders.is_retrieval_folder(tmp_path / "mine")
    assert (retrieval_folders.read(tmp_path / "mine").split, len(retrieval_folders.read(tmp_path / "mine"))) == (
        "test",
        3,
    )
    assert retrieval_folders.passages(tmp_path / "mine").texts == tuple(row["text"] for row in DOCUMENTS if row["text"])
    put_both(tmp_path / "NanoBEIR-de")
    with pytest.raises(UnreadableFile, match=r"no split test, dev.* It has: NanoFEVER, NanoNQ\. Copy the files of one"):
        retrieval_folders.read(tmp_path / "NanoBEIR-de")


def test_a_set_is_a_set_to_judge_by_too(tmp_path, monkeypatch):
    put(tmp_path / "NanoNQ")
    monkeypatch.setenv("STRATA_DATA", str(tmp_path))
    found = kinds.run_set(identity("NanoNQ"))
    assert found.queries == nano_beir.load("NanoNQ").queries
