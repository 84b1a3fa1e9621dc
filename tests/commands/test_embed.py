"""Test the embed command: with one process, with two, and after it was killed."""

import json
import shutil
import signal
import time

import pytest

from explorer.studies.embedding import embedding, shard_files
from tests.processes import ended, process, two
from tests.studies.embedding import desk as desks
from tests.trainings import command


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return desks.furnish(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def whole(desk):
    desk.embed("whole")
    return desk.folder / "whole"


def test_the_result_is_json_and_the_same_command_finds_all_done(desk, answered):
    told = answered(*desk.words("told"))
    assert (told["rows"], told["shards"], told["embedded"]) == (26, 6, 26)
    assert told["vectors"] == {"model default": 32}
    assert told["merged"] == str(desk.folder / "told" / "vectors.parquet")
    assert answered(*desk.words("told"))["embedded"] == 0


def test_rows_without_a_sentence_are_counted(desk, said):
    table = desk.folder / "table.csv"
    table.write_text("id,said\n1,a man plays\n2,\n3,no\n", encoding="utf-8")
    words = ["embed", desk.model, table, "--out", desk.folder / "table", "--column", "sentence=said"]
    code, out, err = said(*words, "--with-text")
    assert (code, json.loads(out)["rows"], err) == (0, 2, "1 rows without a word were left out.\n")
    assert desks.columns(desk.shards("table")[0])["text"] == ["a man plays", "no"]


def test_an_estimate_writes_nothing(desk, done):
    out, _ = done(*desk.words("estimated"), "--estimate")
    assert out.startswith("26 rows in 6 shards: about")
    assert "vectors.parquet on disk" in out
    assert not (desk.folder / "estimated").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_says_how_many_shards_are_written(desk, said, answered, monkeypatch, number, code):
    def interrupted(*arguments):
        if len(desk.shards("stopped")) == 2:
            signal.raise_signal(number)
        return real(*arguments)

    before = signal.signal(number, signal.default_int_handler)  # a shell in the background, or nohup, ignores it
    real = embedding.vectors_of
    monkeypatch.setattr(embedding, "vectors_of", interrupted)
    ended, out, err = said(*desk.words("stopped"))
    signal.signal(number, before)
    folder = desk.folder / "stopped"
    assert (ended, out) == (code, "")
    assert err == f"Stopped. 2 of 6 shards are written in {folder}; the same command resumes.\n"
    monkeypatch.undo()
    assert answered(*desk.words("stopped"))["embedded"] == 16
    shutil.rmtree(folder)


def noting(arguments, told, environment):
    """The command line, in a process that also notes each shard that it writes."""
    real = shard_files.write

    def write(folder, manifest, shard, *rest):
        with told.with_suffix(".shards").open("a", encoding="utf-8") as file:
            file.write(f"{shard.number} {environment['RANK']}\n")
        return real(folder, manifest, shard, *rest)

    shard_files.write = write
    command(arguments, told, environment)


@pytest.mark.parametrize("more", [(), ("--windows", "--max-length", "4")], ids=["whole", "windows"])
def test_two_processes_write_the_bytes_of_one(desk, whole, done, more):
    told = desk.folder / f"two{len(more)}"
    if more:
        whole = desk.folder / "whole windows"
        done(*desk.words(whole.name, *more))
    both = two(noting, lambda rank: (desk.words(told.name, *more), told.with_suffix(f".{rank}")))
    assert ended(both) == (0, 0), told.with_suffix(".0").read_text() + told.with_suffix(".1").read_text()
    assert json.loads(told.with_suffix(".0").read_text())["processes"] == 2
    assert told.with_suffix(".1").read_text() == "", "one of them talks"
    for path in (*desk.shards(told.name), *(told / "checksums").iterdir(), told / "vectors.parquet"):
        assert path.read_bytes() == (whole / path.relative_to(told)).read_bytes(), path
    written = told.with_suffix(".shards").read_text().splitlines()
    assert sorted(written) == ["0 0", "1 1", "2 0", "3 1", "4 0", "5 1"], "each by one of them"


def test_of_two_killed_processes_two_others_finish_the_work(desk, whole):
    told = desk.folder / "killed"
    both = two(command, lambda rank: (desk.words("killed"), told.with_suffix(f".{rank}")))
    while not desk.shards("killed"):
        assert all(each.is_alive() for each in both)
        time.sleep(0.001)
    for each in both:
        each.kill()
        each.join()
    assert not (told / "vectors.parquet").exists()
    both = two(command, lambda rank: (desk.words("killed"), told.with_suffix(f".{rank}")))
    assert ended(both) == (0, 0)
    assert json.loads(told.with_suffix(".0").read_text())["embedded"] < 26
    assert (told / "vectors.parquet").read_bytes() == (whole / "vectors.parquet").read_bytes()
    assert not list(told.rglob("*.part"))


def test_while_one_process_of_an_earlier_start_is_left_another_start_is_refused(desk, tmp_path):
    """The first of two is gone, and the other still holds the folder."""
    from explorer.studies.embedding.shard_files import held
    from explorer.training.loop.processes import World

    folder = tmp_path / "held"
    with held(folder, World("float32", "cpu")):
        other = process(command, desk.words(str(folder)), tmp_path / "told")
        other.join(60)
    assert other.exitcode == 1
    assert "Another process writes vectors" in (tmp_path / "told").read_text()
