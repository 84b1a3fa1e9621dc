import shutil
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from explorer.encoding.locate import model_names
from explorer.errors import HubUnreachable, ModelNotFound, NotAModelFolder
from explorer.progress import Progress, finish
from tests import fake_hub

MIB = 2**20
HEAVY = 60 * MIB  # the library reads 10 MB at a time


@pytest.fixture
def heavy(bert) -> Path:
    """A model with a large file; that it holds no weights does not matter to a download."""
    (bert / "model.safetensors").write_bytes(bytes(HEAVY))
    return bert


@pytest.fixture
def connect(tmp_path, monkeypatch):
    """Ask this hub and keep what it gives in an empty cache."""

    def change(address: str) -> Path:
        fake_hub.connect(address, tmp_path / "hub", monkeypatch)
        return tmp_path / "hub"

    return change


def test_a_download_tells_each_file_and_how_far_it_is_inside_a_large_one(heavy, connect):
    with fake_hub.serving({"org/tiny": heavy}, pause=0.04) as address:
        connect(address)
        told: list[Progress] = []
        found = finish(model_names.fetch("org/tiny"), told.append)
    names = sorted(path.name for path in heavy.iterdir())
    assert list(dict.fromkeys(each.text for each in told)) == [
        "asking huggingface.co",
        *(f"downloading {name}" for name in names),
    ]
    inside = [each for each in told if each.text == "downloading model.safetensors"]
    assert {each.total for each in inside} == {HEAVY}
    done = [each.done for each in inside]
    assert done == sorted(done)
    assert done[0] == 0
    assert len({number for number in done if 0 < number < HEAVY}) > 1
    assert found == model_names.find("org/tiny")


def test_what_is_on_this_disk_is_found_at_once_and_the_hub_is_not_asked(bert, connect, monkeypatch):
    with fake_hub.serving({"org/tiny": bert}) as address:
        connect(address)
        found = finish(model_names.fetch("org/tiny"))
    monkeypatch.setattr(model_names, "files_on_hub", lambda *_: pytest.fail("the hub was asked"))
    for again in (
        model_names.fetch("org/tiny"),
        model_names.fetch(f"org/tiny@{fake_hub.COMMIT}"),
        model_names.fetch(str(bert)),
    ):
        with pytest.raises(StopIteration) as end:
            next(again)
        assert end.value.value.digest == found.digest


def test_a_stop_inside_a_file_ends_the_download(heavy, connect):
    with fake_hub.serving({"org/tiny": heavy}, pause=0.1) as address:
        cache = connect(address)
        work = model_names.fetch("org/tiny")
        while not (told := next(work)).done:
            assert told.done == 0
        assert told.text == "downloading model.safetensors"
        assert told.done < HEAVY / 2, "most of it is still to come"
        work.close()
        for thread in threading.enumerate():
            if thread.name == "fetching":
                thread.join(60)
                assert not thread.is_alive()
    kept = {path.stat().st_size for path in cache.rglob("*") if path.is_file()}
    assert max(kept) < MIB, "nothing is left of the file that was given up"
    with pytest.raises(HubUnreachable, match="'org/tiny' is in the local cache without its weights"):
        model_names.find("org/tiny")


def test_a_download_that_was_stopped_goes_on_with_the_file_it_was_stopped_in(heavy, connect):
    with fake_hub.serving({"org/tiny": heavy}) as address:
        cache = connect(address)
        work = model_names.fetch("org/tiny")
        while next(work).text != "downloading model.safetensors":
            pass
        work.close()
        config = next(cache.glob("*/snapshots/*/config.json"))
        (heavy / "config.json").write_text("{}")  # would be fetched if it were asked for
        before = config.read_text()
        finish(model_names.fetch("org/tiny"))
    assert config.read_text() == before


def test_a_stop_takes_effect_while_the_hub_does_not_answer(monkeypatch):
    answer, answered = threading.Event(), threading.Event()

    def silent(*_):
        answer.wait(60)
        answered.set()

    monkeypatch.setattr(model_names, "files_on_hub", silent)
    work = model_names.download("org/tiny")
    assert [next(work).text for _ in range(3)] == ["asking huggingface.co"] * 3
    work.close()
    assert not answered.is_set(), "the stop did not wait for the hub"
    answer.set()
    assert answered.wait(60), "the hub was asked"


def test_trouble_on_the_way_is_told_in_words(bert, connect, monkeypatch):
    with fake_hub.serving({"org/tiny": bert}) as address:
        connect(address)
        with pytest.raises(ModelNotFound, match="The hub has no model 'org/absent'"):
            finish(model_names.fetch("org/absent"))
        monkeypatch.setattr(model_names, "files_on_hub", lambda *_: {"model.safetensors": 9, "gone.json": 9})
        with pytest.raises(HubUnreachable, match=r"'org/tiny' could not be downloaded: the hub answers HTTP 404"):
            finish(model_names.fetch("org/tiny"))


@pytest.mark.parametrize(("gone", "lacks"), [("tokenizer.json", "its tokenizer"), ("config.json", "its config.json")])
def test_what_the_hub_itself_lacks_is_not_offered_to_be_fetched_again(bert, connect, gone, lacks):
    (bert / gone).unlink()
    with fake_hub.serving({"org/tiny": bert}) as address:
        connect(address)
        with pytest.raises(NotAModelFolder, match=f"'org/tiny' on the hub lacks {lacks}. Strata needs config.json"):
            finish(model_names.fetch("org/tiny"))


def test_bytes_that_come_by_xet_are_counted_once_they_are_on_the_disk():
    from huggingface_hub.utils._xet_progress_reporting import XetDownloadProgressReporter

    bar = model_names._Bar()
    with XetDownloadProgressReporter(reconstruction_desc="", total=90, log_level=0, tqdm_class=bar) as reporter:
        for on_disk, fetched in ((0, 20), (40, 50), (90, 60)):
            report = SimpleNamespace(total_bytes_completed=on_disk, total_bytes=90, total_bytes_completion_rate=1.0)
            report.total_transfer_bytes_completed, report.total_transfer_bytes_completion_rate = fetched, 1.0
            reporter.update_progress(report)
            assert bar.done == on_disk


def test_a_stop_ends_what_comes_by_xet_and_what_comes_by_http(monkeypatch):
    aborted = []
    monkeypatch.setattr("huggingface_hub.utils._xet.abort_xet_session", lambda: aborted.append(True))
    bar = model_names._Bar()
    bar.update(1)
    bar.give_up()
    assert aborted == [True]
    with pytest.raises(model_names._GivenUpError):
        bar.update(1)


def test_a_fetched_model_is_what_was_served(bert, connect, tmp_path):
    served = Path(shutil.copytree(bert, tmp_path / "served"))
    (served / "1_Pooling").mkdir()
    (served / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    (served / "modules.json").write_text(
        '[{"type": "a.Transformer", "path": ""}, {"type": "a.Pooling", "path": "1_Pooling"}]'
    )
    with fake_hub.serving({"org/tiny": served}) as address:
        connect(address)
        found = model_names.find("org/tiny@main", online=True)
    assert (found.name, found.revision) == ("org/tiny@main", fake_hub.COMMIT)
    assert found.digest == model_names.of_folder("served", served).digest
    (served / "modules.json").write_text("{")
    with pytest.raises(NotAModelFolder, match="is not valid JSON"):
        model_names.of_folder("served", served)
