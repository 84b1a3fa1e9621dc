"""Test that the files of an embedding hold the vectors of each row, also after it was interrupted."""

import errno
import hashlib
import json
import os
import shutil
from collections import namedtuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.data.vectors.embedding_folder import has_rows, read_manifest
from explorer.encoding.load.loading import load
from explorer.encoding.read.pooling import parse
from explorer.encoding.read.windows import windows
from explorer.errors import BadChoice, CannotResume, DataError, NotWritable, RunBusy, RunError, UnreadableFile
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from explorer.studies.embedding import embedding as module
from explorer.studies.embedding import shard_files
from explorer.studies.embedding.estimate import estimate
from explorer.studies.embedding.shard_files import held
from explorer.training.loop.processes import World
from tests.studies.embedding.desk import LINES, ROWS, WORDS, columns, furnish

TITLES = ("max of layer 2", "cls of layers 0 + 2")  # in the order of the grid


@pytest.fixture
def encoder(desk):
    return load(desk.request().model, "float32", "cpu")


@pytest.fixture
def begun(desk, whole, request):
    """A copy of a whole embedding, to be damaged."""
    folder = desk.folder / request.node.name
    shutil.copytree(whole, folder)
    return folder


def test_each_row_has_the_vector_of_its_sentence_alone(desk, encoder):
    found = columns(desk.embed("titles", titles=TITLES[::-1], with_text=True).merged)
    assert (list(found), found["row"]) == (["row", "text", *TITLES], list(range(len(LINES))))
    assert found["text"] == LINES
    for title in TITLES:
        each = [finish(of_reading(encoder, [line], parse(title, 2)))[0] for line in LINES]
        np.testing.assert_allclose(found[title], each, atol=1e-6)


def test_by_default_it_is_the_model_default_in_shards_of_fixed_rows_and_all_of_them_merged(desk, whole, encoder):
    schema = pq.read_schema(whole / "vectors.parquet")
    assert schema.names == ["row", "model default"]
    assert schema.field("model default").type == pa.list_(pa.float32(), encoder.width)
    each = finish(of_reading(encoder, LINES, parse("mean of layer 2", 2)))
    np.testing.assert_allclose(columns(whole / "vectors.parquet")["model default"], each, atol=1e-6)
    shards = desk.shards("whole")
    assert [columns(path)["row"] for path in shards] == [
        list(range(start, min(start + ROWS, len(LINES)))) for start in range(0, len(LINES), ROWS)
    ]
    assert pa.concat_tables(map(pq.read_table, shards)).equals(pq.read_table(whole / "vectors.parquet"))
    assert np.stack(pd.read_parquet(whole / "vectors.parquet")["model default"]).shape == (len(LINES), 32)


def test_float16_is_the_rounded_vector_and_a_number_that_it_cannot_hold_is_refused(desk, whole):
    done = desk.embed("halves", dtype="float16")
    exact = np.array(columns(whole / "vectors.parquet")["model default"], dtype=np.float32)
    found = pq.read_table(done.merged)["model default"].combine_chunks()
    assert found.type.value_type == pa.float16()
    assert np.array_equal(found.flatten().to_numpy().reshape(exact.shape), exact.astype(np.float16))
    with pytest.raises(BadChoice, match=r"70,000.*--dtype float32"):
        shard_files.check_float16(np.array([[1.0, -70000.0]], dtype=np.float32), "max of layer 2")
    with pytest.raises(BadChoice, match=r"a vector whose largest number is 2e-08.*--dtype float32"):
        shard_files.check_float16(np.array([[1.0, 0], [0, 0], [1e-9, -2e-8]], dtype=np.float32), "max of layer 2")


def test_shards_that_are_whole_are_skipped(desk, begun, whole, counted):
    shards = desk.shards(begun.name)
    shards[1].unlink()
    shards[3].write_bytes(shards[3].read_bytes()[:-9])  # no footer
    shutil.copy(shards[0], shards[5])  # the wrong number of rows
    (begun / "vectors.parquet").unlink()
    left = [begun / "shards" / "tmpabc.part", begun / "tmpdef.part"]
    for path in left:
        path.write_bytes(b"half")
    done = desk.embed(begun.name)
    assert counted == [tuple(LINES[5:10]), tuple(LINES[15:20]), tuple(LINES[25:])]
    assert not any(path.exists() for path in left)
    for path in (*desk.shards(begun.name), done.merged):
        assert path.read_bytes() == (whole / path.relative_to(begun)).read_bytes()


def test_without_file_locks_the_work_is_done_all_the_same(desk, monkeypatch):
    import fcntl

    def none(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    assert desk.embed("no-locks").embedded == 26


def test_an_embedding_that_is_stopped_keeps_whole_shards(desk, whole, counted):
    work = module.embed(desk.request("stopped"), World("float32", "cpu"))
    while len(desk.shards("stopped")) < 2:
        next(work)
    work.close()
    assert not list((desk.folder / "stopped").rglob("*.part"))
    assert not (desk.folder / "stopped" / "vectors.parquet").exists()
    done = desk.embed("stopped")
    assert len(counted) == 6, "none twice"
    assert done.embedded == len(LINES) - 2 * ROWS
    assert done.merged.read_bytes() == (whole / "vectors.parquet").read_bytes()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rows_per_shard": 6}, "rows per shard: 5 there, 6 now"),
        ({"titles": ("cls of layer 1",)}, "layers & poolings: model default there, cls of layer 1 now"),
        ({"settings": Settings("float32", "cpu", 8)}, "max length: 64 there, 8 now"),
        ({"settings": Settings("bfloat16", "cpu")}, "precision: float32 there, bfloat16 now"),
        ({"dtype": "float16"}, "dtype: float32 there, float16 now"),
        ({"with_text": True}, "with text: False there, True now"),
        ({"windows": True}, "windows: False there, True now"),
    ],
)
def test_other_settings_in_the_same_folder_are_refused(desk, whole, changes, said):
    with pytest.raises(CannotResume, match=said):
        desk.embed("whole", **changes)


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Texts of which some are longer than the eight tokens that are read of them."""
    other = furnish(tmp_path_factory.mktemp("long"))
    lines = [" ".join(WORDS[at : at + 1 + 9 * (at % 4)]) for at in range(9)] + [
        "  two  spaces   between all of the words "
    ]
    other.text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    other.embed("windows", **IN_WINDOWS)
    return other, lines


IN_WINDOWS = {"windows": True, "with_text": True, "rows_per_shard": 4, "settings": Settings("float32", "cpu", 8)}


def test_in_windows_each_row_has_the_vector_of_its_part_of_a_text_alone(long, encoder):
    desk, lines = long
    found = columns(desk.folder / "windows" / "vectors.parquet")
    assert list(found) == ["text_row", "start", "end", "text", "model default"]
    expected = [(at, text) for at, line in enumerate(lines) for text in finish(windows(encoder, [line], 8)).texts]
    assert list(zip(found["text_row"], found["text"], strict=True)) == expected
    spans = zip(found["text_row"], found["start"], found["end"], strict=True)
    assert [lines[at][start:end] for at, start, end in spans] == found["text"]
    for at, line in enumerate(lines):
        covered = {place for row, start, end in zip(found["text_row"], found["start"], found["end"], strict=True)
                   if row == at for place in range(start, end)}  # fmt: skip
        assert all(place in covered for place, letter in enumerate(line) if letter != " "), "all of it is read"
    each = [finish(of_reading(encoder, [text], parse("mean of layer 2", 2)))[0] for text in found["text"]]
    np.testing.assert_allclose(found["model default"], each, atol=1e-6)
    shards = [columns(path)["text_row"] for path in desk.shards("windows")]
    assert [sorted(set(rows)) for rows in shards] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]], "by rows of the corpus"
    assert max(map(len, shards)) > 4


def test_windows_are_resumed_and_a_shard_of_other_texts_is_written_again(long, counted):
    desk, _ = long
    shutil.copytree(desk.folder / "windows", desk.folder / "begun")
    shards = desk.shards("begun")
    shards[0].unlink()
    shutil.copy(shards[2], shards[1])
    (desk.folder / "begun" / "checksums" / "00000002.sha256").unlink()
    done = desk.embed("begun", **IN_WINDOWS)
    assert (len(counted), done.embedded) == (2, 8), "the last one has its bytes, so it gets its checksum again"
    assert done.vectors == len(columns(done.merged)["text"])
    for path in (*shards, done.merged):
        assert path.read_bytes() == (desk.folder / "windows" / path.relative_to(desk.folder / "begun")).read_bytes()
    with pytest.raises(CannotResume, match="windows: True there, False now"):
        desk.embed("begun", **{**IN_WINDOWS, "windows": False})
    manifest = desk.folder / "begun" / "manifest.json"
    assert json.loads(manifest.read_text())["windows"] is True


def test_a_file_of_windows_needs_all_texts_of_its_shard(long):
    desk, _ = long
    manifest = read_manifest(desk.folder / "windows")
    path = desk.shards("windows")[1]
    table, kept = pq.read_table(path), desk.folder / "other.parquet"
    rows = np.array(table["text_row"])
    assert pq.read_metadata(path).num_row_groups > 1, "texts are shared between its row groups"
    assert has_rows(path, manifest, 4, 4)
    assert not has_rows(path, manifest, 4, 3)
    assert not has_rows(path, manifest, 3, 5)
    for lost in (4, 7):
        pq.write_table(table.filter(pa.array(rows != lost)), kept, row_group_size=4)
        assert not has_rows(kept, manifest, 4, 4)


def test_an_estimate_of_windows_is_near_what_the_files_take(long):
    desk, lines = long
    found = finish(estimate(desk.request("estimated", **IN_WINDOWS), World("float32", "cpu")))
    assert (found.rows, found.shards, found.tried) == (len(lines), 3, len(lines))
    assert found.disk == pytest.approx((desk.folder / "windows" / "vectors.parquet").stat().st_size, rel=0.3)


def test_the_room_for_windows_is_that_of_one_for_each_text_and_for_three_bytes_a_token(long, monkeypatch):
    desk, lines = long
    usage = namedtuple("usage", "total used free")
    size = [len(line.encode()) for line in lines]
    windows = sum(len(some) + sum(some) // (3 * 8) for some in (size[:4], size[4:8], size[8:]))
    need = 2 * (sum(size) + windows * (32 * 4 + 32))
    monkeypatch.setattr(module.shutil, "disk_usage", lambda place: usage(2**40, 0, need + module.SPARE - 1))
    with pytest.raises(NotWritable, match=r"MB are free\. Make room"):
        desk.embed("small", **IN_WINDOWS)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda place: usage(2**40, 0, need + module.SPARE))
    desk.embed("small", **IN_WINDOWS)


def test_a_folder_from_before_there_were_windows_is_the_same_embedding(desk, begun):
    path = begun / "manifest.json"
    stated = json.loads(path.read_text())
    assert stated.pop("windows") is False
    path.write_text(json.dumps(stated))
    of_before = {name: value for name, value in stated.items() if name not in ("model", "texts", "versions", "shards")}
    key = hashlib.sha256(json.dumps(of_before, sort_keys=True).encode()).hexdigest()
    assert pq.read_metadata(desk.shards(begun.name)[0]).metadata[b"strata.key"] == key.encode()
    assert desk.embed(begun.name).embedded == 0


def test_another_text_or_model_in_the_same_folder_is_refused(desk, whole, tmp_path):
    other = furnish(tmp_path)
    (other.model / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 64}))
    with pytest.raises(CannotResume, match="model digest: "):
        other.embed(folder=whole)
    other.text.write_text("no\n", encoding="utf-8")
    with pytest.raises(CannotResume, match=r"text digest: .{12}… there, .{12}… now; rows: 26 there, 1 now"):
        other.embed(folder=whole)


def test_the_name_of_model_and_text_does_not_matter(desk, begun, tmp_path):
    other = furnish(tmp_path)
    other.text.rename(tmp_path / "renamed.txt")
    moved = module.corpora.TextSource(str(tmp_path / "renamed.txt"))
    assert other.embed(folder=begun, texts=(moved,)).embedded == 0


def test_a_folder_that_holds_something_else_is_refused_untouched(desk):
    folder = desk.folder / "letters"
    folder.mkdir()
    (folder / "letter.txt").write_text("Dear reader")
    with pytest.raises(NotWritable, match=r"something else, such as 'letter\.txt'"):
        desk.embed("letters")
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]
    with pytest.raises(NotWritable, match="is a file"):
        desk.embed("letters/letter.txt")
    (folder / "letter.txt").rename(folder / "manifest.json")
    with pytest.raises(CannotResume, match="damaged"):
        desk.embed("letters")
    (desk.folder / "pipe").mkdir()
    os.mkfifo(desk.folder / "pipe" / "manifest.json")
    with pytest.raises(UnreadableFile, match=r"manifest\.json is a named pipe, not a file"):
        desk.embed("pipe")


def test_a_folder_that_another_process_writes_to_is_refused(desk, whole):
    world = World("float32", "cpu")
    with held(whole, world), pytest.raises(RunBusy, match="Another process writes vectors"):
        desk.embed("whole")
    desk.embed("whole")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"titles": ("mean of layer 3",)}, "no layer & pooling 'mean of layer 3'.*layer from 0 to 2"),
        ({"titles": ("median of layer 1",)}, r"no layer & pooling 'median of layer 1'.*cls, mean, max"),
        ({"dtype": "float64"}, r"dtype cannot be 'float64'\. Choose one of float32, float16"),
        ({"rows_per_shard": 0}, r"rows_per_shard cannot be 0\. Choose a whole number from 1 to 10000000"),
        ({"rows_per_shard": -1}, "rows_per_shard cannot be -1"),
        ({"rows_per_shard": 10**30}, "rows_per_shard cannot be 10+"),
    ],
)
def test_bad_choices_make_no_folder(desk, changes, said):
    with pytest.raises(BadChoice, match=said):
        desk.embed("never", **changes)
    assert not (desk.folder / "never").exists()


@pytest.mark.parametrize(("written", "lines"), [(1, [*LINES[:20], *LINES]), (6, [*LINES, "one more"])])
def test_a_text_that_changes_meanwhile_or_grows_after_its_last_shard_is_noticed(tmp_path, written, lines):
    other = furnish(tmp_path)

    def change(progress):
        if len(other.shards()) == written:
            other.text.write_text("\n".join(lines) + "\n", encoding="utf-8")

    with pytest.raises(DataError, match=r"changed while it was embedded: text\.txt"):
        other.embed(tell=change)
    assert other.shards()
    assert (len(other.shards()) == 6) == (written == 6)
    assert not (tmp_path / "vectors" / "vectors.parquet").exists()


def test_a_disk_that_is_too_small_is_named_before_the_start(desk, monkeypatch):
    usage = namedtuple("usage", "total used free")
    need = len(LINES) * (32 * 4 + 16) * 2
    monkeypatch.setattr(module.shutil, "disk_usage", lambda place: usage(2**40, 0, need + module.SPARE - 1))
    with pytest.raises(NotWritable, match=r"MB are free\. Make room"):
        desk.embed("small")
    assert not (desk.folder / "small").exists()
    monkeypatch.setattr(module.shutil, "disk_usage", lambda place: usage(2**40, 0, need + module.SPARE))
    desk.embed("small")


def test_a_folder_that_cannot_be_made_is_not_said_to_lack_room(desk):
    message = r"^/proc/x cannot be written to: No such file or directory\. Choose another folder for --out\.$"
    with pytest.raises(NotWritable, match=message):
        desk.embed("/proc/x")


def test_on_a_disk_that_becomes_full_whole_shards_stay(desk, whole, monkeypatch):
    real = shard_files._write

    def write(file, manifest, columns):
        if len(desk.shards("full")) == 2:
            file.write(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file, manifest, columns)

    monkeypatch.setattr(shard_files, "_write", write)
    with pytest.raises(NotWritable, match=r"No space left on device\. Make room there and start the same command"):
        desk.embed("full")
    assert len(desk.shards("full")) == 2
    assert not list((desk.folder / "full").rglob("*.part"))
    monkeypatch.undo()
    assert desk.embed("full").merged.read_bytes() == (whole / "vectors.parquet").read_bytes()


def test_a_shard_that_another_machine_wrote_elsewhere_is_missed(desk, monkeypatch):
    real = shard_files.write
    monkeypatch.setattr(
        shard_files,
        "write",
        lambda folder, manifest, shard, *rest: shard.number == 2 or real(folder, manifest, shard, *rest),
    )
    with pytest.raises(RunError, match=r"1 shards are missing .*00000002\.parquet"):
        desk.embed("lost")


def test_an_estimate_is_near_what_the_files_take(desk, whole):
    found = finish(estimate(desk.request("estimated", with_text=True), World("float32", "cpu")))
    assert not (desk.folder / "estimated").exists()
    assert (found.rows, found.shards, found.processes, found.tried) == (26, 6, 1, 26)
    assert found.seconds == pytest.approx(26 / found.rows_per_second)
    done = desk.embed("estimated", with_text=True)
    assert found.merged == found.disk == pytest.approx(done.merged.stat().st_size, rel=0.3)
    assert "26 rows in 6 shards: about" in found.text
