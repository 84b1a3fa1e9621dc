"""Test that vectors with their sentences are read from every format and from a folder of `embed`, or refused."""

import json
import os
import re
import shutil
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.data.vectors import embedding_folder, vector_corpus, vector_files
from explorer.data.vectors.opening import is_vectors, opened
from explorer.errors import CannotResume, DataError, UnreadableFile, WrongColumns
from explorer.progress import finish
from tests.data.vectors.made_vectors import ROWS, SENTENCES, VECTORS, WIDTH, fixed, table
from tests.studies.embedding.desk import LINES, columns, furnish


def read(files):
    """All rows of a source; no block is larger than the limit."""
    found = list(files.blocks())
    assert max(len(texts) for _, texts in found) <= 3
    return np.concatenate([vectors for vectors, _ in found]), [text for _, texts in found for text in texts]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_npy_file_is_read_with_the_text_beside_it(npy, dtype, order):
    np.save(npy, np.asarray(VECTORS.astype(dtype), order=order))
    files = opened(npy)
    vectors, texts = read(files)
    assert (files.rows, files.width, files.dtype, texts) == (ROWS, WIDTH, np.dtype(dtype), SENTENCES)
    np.testing.assert_array_equal(vectors, VECTORS.astype(dtype))
    assert is_vectors(str(npy))


def test_the_text_of_an_npy_file_can_be_named_and_one_that_is_cut_off_is_refused(npy, tmp_path):
    assert read(opened(npy, npy.with_suffix(".txt").rename(tmp_path / "other.txt")))[1] == SENTENCES
    with pytest.raises(UnreadableFile, match=r"no file .*mine\.txt"):
        opened(npy)
    npy.write_bytes(npy.read_bytes()[:-4])
    with pytest.raises(UnreadableFile, match=r"mine\.npy has 236 bytes.* 240"):
        opened(npy)


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), "fixed"])
def test_a_parquet_file_has_columns_of_sentences_and_of_vectors(tmp_path, kind):
    column = fixed() if kind == "fixed" else pa.array(VECTORS.tolist(), kind)
    path = table(tmp_path / "mine.parquet", column, "emb", column="body", row=pa.array(range(ROWS)))
    files = opened(path)
    vectors, texts = read(files)
    assert (files.rows, files.width, texts, files.columns) == (ROWS, WIDTH, SENTENCES, ("body", "emb"))
    np.testing.assert_array_equal(vectors, VECTORS)
    assert is_vectors(str(path))


def test_of_several_columns_those_with_usual_names_are_taken_or_those_that_are_named(tmp_path):
    path = table(tmp_path / "mine.parquet", fixed(), other=fixed(-VECTORS), title=pa.array(["t"] * ROWS))
    assert opened(path).columns == ("text", "vector")
    assert opened(path, columns={"sentence": "title", "vector": "other"}).columns == ("title", "other")
    with pytest.raises(WrongColumns, match=r"no column 'words' of text .* 'text', 'title'"):
        opened(path, columns={"sentence": "words"})
    with pytest.raises(WrongColumns, match="no role 'score'"):
        opened(path, columns={"score": "words"})
    unclear = table(tmp_path / "unclear.parquet", fixed(), "one", two=fixed())
    with pytest.raises(WrongColumns, match=r"2 columns of lists of floats .* 'one', 'two'"):
        opened(unclear)
    with pytest.raises(WrongColumns, match="0 columns of text"):
        opened(table(tmp_path / "none.parquet", fixed(), column="vector2", texts=list(range(ROWS))))


def test_a_folder_of_an_embedding_is_a_corpus_that_knows_its_encoder(tmp_path):
    desk = furnish(tmp_path)
    done = desk.embed("with text", titles=("mean of layer 2", "max of layer 1"), with_text=True)
    files = opened(tmp_path / "with text", columns={"vector": "max of layer 1"})
    vectors, texts = read(files)
    assert texts == LINES
    np.testing.assert_array_equal(vectors, np.array(columns(done.merged)["max of layer 1"], dtype=np.float32))
    assert (files.title, files.origin.model_digest) == ("max of layer 1", done.manifest.model_digest)
    assert opened(done.merged, columns={"vector": "max of layer 1"}).origin == files.origin
    with pytest.raises(WrongColumns, match="'max of layer 1', 'mean of layer 2'"):
        opened(tmp_path / "with text")
    assert is_vectors(str(tmp_path / "with text"))
    desk.shards("with text")[1].unlink()
    with pytest.raises(DataError, match=r"lacks 1 of 6 shards, such as 00000001\.parquet"):
        opened(tmp_path / "with text")
    desk.embed("without text")
    with pytest.raises(DataError, match=r"without its sentences.*--with-text"):
        opened(tmp_path / "without text")


@pytest.mark.parametrize(("lines", "count"), [(ROWS - 1, "6"), (ROWS + 2, "9"), (3, "3")])
def test_other_numbers_of_vectors_and_lines_are_both_named(npy, lines, count):
    npy.with_suffix(".txt").write_text("\n".join((SENTENCES * 2)[:lines]), encoding="utf-8")
    with pytest.raises(DataError, match=rf"mine\.npy has 7 vectors, but mine\.txt has {count} lines"):
        read(opened(npy))


BAD_ARRAYS = [
    (np.array([{"a": 1}], dtype=object), "Python objects, which are never unpickled"),
    (VECTORS[0], r"shape \(4,\)"),
    (VECTORS[:0], r"shape \(0, 4\)"),
    (VECTORS[None], r"shape \(1, 7, 4\)"),
    (np.arange(8).reshape(2, 4), "holds int64"),
    (VECTORS.astype(complex), "holds complex128"),
]


@pytest.mark.parametrize(("array", "words"), BAD_ARRAYS, ids=[words for _, words in BAD_ARRAYS])
def test_an_array_that_is_none_of_vectors_is_refused(npy, array, words):
    np.save(npy, array, allow_pickle=True)
    with pytest.raises(DataError, match=words):
        opened(npy)


@pytest.mark.parametrize(
    "data", [b"", b"\x93NUMPY", b"\x80\x04K\x01.", b"PK\x03\x04", b"\x93NUMPY\x01\x00v\x00{'descr'"]
)
def test_damaged_files_are_refused(npy, tmp_path, data):
    npy.write_bytes(data)
    with pytest.raises(UnreadableFile, match=r"mine\.npy is not a \.npy file"):
        opened(npy)
    (tmp_path / "mine.parquet").write_bytes(data)
    with pytest.raises(UnreadableFile, match="not a readable Parquet file"):
        opened(tmp_path / "mine.parquet")
    assert not is_vectors(str(tmp_path / "mine.parquet"))


def test_a_damaged_first_page_of_vectors_is_an_error_in_a_line(tmp_path):
    column = pa.array(VECTORS.tolist(), pa.list_(pa.float32()))  # its width is that of the first row
    path, how = tmp_path / "mine.parquet", {"write_page_checksum": True, "use_dictionary": False}
    pq.write_table(pa.table({"text": SENTENCES, "vector": column}), path, **how)
    data = bytearray(path.read_bytes())
    data[pq.read_metadata(path).row_group(0).column(1).data_page_offset + 60] ^= 1
    path.write_bytes(data)
    with pytest.raises(UnreadableFile, match=r"mine\.parquet is not a readable Parquet file"):
        opened(path)


@pytest.mark.parametrize(
    ("row", "words"),
    [(None, "Row 4 of .* has no vector"), ([1.0], "Row 4 of .* a vector of width 1; that of row 0 is 4")],
)
def test_a_row_without_its_vector_is_named(tmp_path, row, words):
    rows = [*VECTORS[:4].tolist(), row, *VECTORS[5:].tolist()]
    with pytest.raises(DataError, match=words):
        read(opened(table(tmp_path / "mine.parquet", pa.array(rows, pa.list_(pa.float32())))))
    if row is None:
        with pytest.raises(DataError, match=words):
            read(opened(table(tmp_path / "mine.parquet", pa.array(rows, pa.list_(pa.float32(), WIDTH)))))


def test_what_holds_no_vectors_is_none(tmp_path, npy):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    pq.write_table(pa.table({"sentence": SENTENCES}), tmp_path / "text.parquet")
    (empty := tmp_path / "empty").mkdir()
    for source in ("sample", str(empty), str(tmp_path / "a.csv"), str(tmp_path / "text.parquet"), "\0", "~no/x", ""):
        assert not is_vectors(source)
    for source, words in ((empty, "no file of vectors"), (tmp_path / "a.csv", "no file of vectors")):
        with pytest.raises(UnreadableFile, match=words):
            opened(source)
    with pytest.raises(UnreadableFile, match="There is no"):
        opened(tmp_path / "absent.npy")
    with pytest.raises(DataError, match="holds its own sentences"):
        opened(table(tmp_path / "mine.parquet", fixed()), npy.with_suffix(".txt"))


def test_a_named_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "mine.parquet")
    os.mkfifo(tmp_path / embedding_folder.NAME)
    for source, name in ((tmp_path / "mine.parquet", r"mine\.parquet"), (tmp_path, r"manifest\.json")):
        assert not is_vectors(str(source))
        with pytest.raises(UnreadableFile, match=f"{name} is a named pipe, not a file"):
            opened(source)


def test_blocks_have_a_size_that_fits_into_memory():
    assert vector_files.AT_ONCE * 4096 * 4 < 2**28


DAMAGED = [
    ("(-7, 4)", "'<f4'", r"not a \.npy file \(its header states the shape \(-7, 4\)"),
    ("(-1, -28)", "'<f4'", r"states the shape \(-1, -28\)"),
    ("(True, 4)", "'<f4'", r"states the shape \(True, 4\)"),
    ("(7.0, 4)", "'<f4'", "shape is not valid"),
    ("(7, 2)", "'<f4'", r"has 240 bytes; .* shape \(7, 2\) of float32 it would have 184"),
    ("(7, 8)", "'<f4'", r"shape \(7, 8\) of float32 it would have 352"),
    ("(7, 4)", "'<f8'", r"shape \(7, 4\) of float64 it would have 352"),
    (f"({10**18}, 4)", "'<f4'", "cut off or damaged"),
    (f"({10**18}, {10**18})", "'<f4'", "width 1,000,000,000,000,000,000"),
    (f"({'9' * 400}, 4)", "'<f4'", "cut off or damaged"),
    ("(7, 0)", "'<f4'", r"shape \(7, 0\)"),
    ("(7, 65537)", "'<f4'", r"width 65,537; at most 65,536"),
    ("(7, 4)", "'|b1'", "holds bool"),
    ("(7, 4)", "'|O'", "Python objects, which are never unpickled"),
    ("(7, 4)", "[('a', '<f4')]", r"holds \[\('a', '<f4'\)\]"),
    ("(7, 4)", "'<f4', 'more': 1", "not a .npy file"),
    ("(7, 4)", "(" * 300, "not a .npy file"),
    ("(7, 4)", "-" * 5000 + "1", "not a .npy file"),
]


@pytest.mark.parametrize(("shape", "descr", "words"), DAMAGED, ids=range(len(DAMAGED)))
def test_a_header_that_does_not_describe_the_file_is_refused_in_a_line(npy, shape, descr, words):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    npy.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + VECTORS.tobytes())
    with pytest.raises(DataError, match=words):
        opened(npy)


def test_a_header_of_a_wrong_length_and_more_bytes_than_it_states_are_refused(npy):
    with npy.open("ab") as file:
        np.save(file, VECTORS)
    with pytest.raises(UnreadableFile, match="has 480 bytes"):
        opened(npy)
    npy.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{")
    with pytest.raises(UnreadableFile, match=r"mine\.npy is not a \.npy file"):
        opened(npy)


@pytest.mark.parametrize("ending", [".npy", ".txt"])
def test_a_named_pipe_in_place_of_an_array_or_its_text_is_refused_at_once(npy, ending):
    pipe = npy.with_suffix(ending)
    pipe.unlink()
    os.mkfifo(pipe)
    with pytest.raises(UnreadableFile, match=rf"mine\{ending} is a named pipe, not a file"):
        opened(npy)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    desk = furnish(tmp_path_factory.mktemp("desk"))
    desk.embed(with_text=True, merge=False)
    return desk.folder / "vectors"


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "vectors")


def shard(folder, number):
    return folder / "shards" / f"{number:08d}.parquet"


HUGE = 10**12
IMPOSSIBLE = [
    ({"shards": HUGE}, CannotResume, r"is damaged: 26 rows in shards of 5 are 6 shards, and not 1,000,000,000,000"),
    ({"shards": 0}, CannotResume, "its 'shards' is 0, which must be a whole number of at least 1"),
    ({"shards": -1}, CannotResume, "its 'shards' is -1"),
    ({"rows": True}, CannotResume, "its 'rows' is True"),
    ({"rows_per_shard": 0}, CannotResume, "its 'rows_per_shard' is 0"),
    ({"vectors": [{"title": "model default", "width": 0}]}, CannotResume, "its 'vectors' is .* list of objects"),
    ({"rows": HUGE, "shards": HUGE, "rows_per_shard": 1}, DataError,
     r"lacks 999,999,999,994 of 1,000,000,000,000 .*06"),
    ({"rows": 31, "shards": 7}, DataError, r"lacks 1 of 7 shards, such as 00000006\.parquet"),
    ({"rows": 27}, DataError, r"00000000\.parquet of vectors does not have the rows that its manifest\.json states"),
    ({"precision": "bfloat16"}, DataError, r"00000000\.parquet of vectors does not have the rows"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "error", "words"), IMPOSSIBLE, ids=range(len(IMPOSSIBLE)))
def test_a_manifest_that_is_not_of_these_shards_is_refused_at_once(folder, changes, error, words):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(error, match=words):
        opened(folder)


def test_a_manifest_or_shard_that_is_none_is_refused_at_once(folder):
    shutil.copy(shard(folder, 1), shard(folder, 3))
    with pytest.raises(
        DataError, match=r"00000003\.parquet of vectors does not have the rows .* Start the same `embed`"
    ):
        opened(folder)
    shard(folder, 3).unlink()
    os.mkfifo(shard(folder, 3))
    with pytest.raises(DataError, match=r"lacks 1 of 6 shards, such as 00000003\.parquet"):
        opened(folder)
    with (folder / "manifest.json").open("r+b") as file:
        file.truncate(10**12)  # a hole: it takes no room
    with pytest.raises(CannotResume, match=r"has 1,000,000,000,000 bytes; a manifest has at most"):
        opened(folder)


def test_a_changed_bit_in_the_vectors_is_noticed(folder, whole):
    data = bytearray(shard(folder, 3).read_bytes())
    start = pq.read_metadata(shard(folder, 3)).row_group(0).column(2).data_page_offset
    data[start + 300] ^= 1
    shard(folder, 3).write_bytes(data)
    files = opened(folder)
    with pytest.raises(
        UnreadableFile, match=r"00000003\.parquet is not a readable Parquet file \(could not verify page"
    ):
        list(files.blocks())
    assert np.concatenate([vectors for vectors, _ in opened(whole).blocks()]).shape == (len(LINES), 32)


def test_any_changed_byte_of_a_shard_is_noticed(folder):
    """Also one in the header of a page, which its checksum in the file does not cover."""
    data = shard(folder, 3).read_bytes()
    for at in range(0, len(data), 101):
        shard(folder, 3).write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])
        with pytest.raises(DataError, match=r"00000003\.parquet"):
            finish(vector_corpus.prepared(opened(folder)))
    shard(folder, 3).write_bytes(data)
    assert finish(vector_corpus.prepared(opened(folder))).texts(range(len(LINES))) == tuple(LINES)


def json_lines(path, texts=SENTENCES, vectors=VECTORS, **names):
    text, vector = names.get("text", "text"), names.get("vector", "embedding")
    rows = zip(texts, vectors.astype(float).tolist(), strict=True)
    path.write_text("".join(json.dumps({"id": 1, text: one, vector: other}) + "\n" for one, other in rows))
    return path


def test_json_lines_are_vectors_with_their_sentences_as_written(tmp_path):
    texts = ["two  spaces", " before", "a\nline", "\u00a0", "e\u0301", "\u00e9", "\U0001f600"]
    path = json_lines(tmp_path / "theirs.jsonl", texts)
    assert is_vectors(str(path))
    vectors, sentences = read(opened(path))
    np.testing.assert_array_equal(vectors, VECTORS)
    assert list(sentences) == texts
    named = json_lines(tmp_path / "named.jsonl", text="title", vector="numbers")
    assert opened(named).columns == ("title", "numbers")
    assert opened(named, columns={"sentence": "title", "vector": "numbers"}).width == WIDTH


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"text": "x", "embedding": [1, 2]}', "Line 8 of theirs.jsonl has 2 numbers as 'embedding'; the first line"),
        ('{"text": "x"}', "Line 8 of theirs.jsonl has no list of numbers as 'embedding'"),
        ('{"text": 7, "embedding": [1, 2, 3, 4]}', "Line 8 of theirs.jsonl has no sentence: 'text' is not text"),
        ('["x", [1, 2, 3, 4]]', "Line 8 of theirs.jsonl is not an object of JSON"),
        ('{"text": "x", "embedding": [1, 2, 3', "Line 8 of theirs.jsonl is not an object of JSON"),
    ],
)
def test_a_line_that_is_no_sentence_with_its_vector_is_named(tmp_path, line, words):
    path = json_lines(tmp_path / "theirs.jsonl")
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(DataError, match=re.escape(words)):
        read(opened(path))


def test_a_folder_of_files_is_their_rows_in_the_order_of_their_names(tmp_path, npy):
    table(tmp_path / "a.parquet", fixed(VECTORS[::-1].copy()), texts=[f"{text} (a)" for text in SENTENCES])
    json_lines(tmp_path / "z.jsonl", [f"{text} (z)" for text in SENTENCES])
    (tmp_path / "notes.md").write_text("What these are.")
    assert is_vectors(str(tmp_path))
    vectors, sentences = read(opened(tmp_path))
    np.testing.assert_array_equal(vectors, np.concatenate([VECTORS[::-1], VECTORS, VECTORS]))
    assert sentences[ROWS - 1 : ROWS + 1] == [f"{SENTENCES[-1]} (a)", SENTENCES[0]]
    assert sentences[-1] == f"{SENTENCES[-1]} (z)"
    json_lines(tmp_path / "z.jsonl", vectors=VECTORS[:, :3])
    with pytest.raises(DataError, match=r"a\.parquet has vectors of width 4, and z\.jsonl of width 3"):
        opened(tmp_path)
