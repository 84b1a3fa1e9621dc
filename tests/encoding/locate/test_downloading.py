import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file

import strata
from explorer.encoding.locate import model_names
from explorer.errors import HubUnreachable, ModelGated, ModelNotFound, NotAModelFolder
from explorer.progress import Progress, finish
from tests import fake_hub
from tests.spoiling import declare


def test_safetensors_are_fetched_rather_than_pickles_and_nothing_twice():
    files = [
        *("config.json", "modules.json", "tokenizer.json", "vocab.txt", "spiece.model", "README.md", ".gitattributes"),
        *("model.safetensors", "pytorch_model.bin", "tf_model.h5", "model.fp16.safetensors", "training_args.bin"),
        *("onnx/model.onnx", "onnx/config.json", "openvino/openvino_model.bin", "original/model.safetensors"),
        *("1_Pooling/config.json", "2_Dense/config.json", "2_Dense/pytorch_model.bin"),
    ]
    assert model_names.wanted(files) == (
        *("1_Pooling/config.json", "2_Dense/config.json", "2_Dense/pytorch_model.bin", "config.json"),
        *("model.safetensors", "modules.json", "spiece.model", "tokenizer.json", "vocab.txt"),
    )
    shards = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin", "pytorch_model.bin.index.json"]
    assert list(model_names.wanted(shards)) == shards


ASK = """
import json, sys
from explorer.encoding.locate import model_names
answers = {}
for asked in sys.argv[1:]:
    try:
        found = model_names.find(asked, online=True)
        answers[asked] = [found.revision, sorted(path.name for path in found.folder.iterdir())]
    except Exception as error:
        answers[asked] = [type(error).__name__, str(error)]
print(json.dumps([answers, model_names.on_disk()]))
"""


def ask(*names: str, **environment: str) -> tuple[dict[str, list], list[str]]:
    """What a process of its own finds: the hub's settings are read when its library is imported."""
    environment = {"HF_HUB_OFFLINE": "0", "HF_TOKEN": "hf_secret", **environment}
    done = subprocess.run(
        [sys.executable, "-c", ASK, *names],
        env=os.environ | environment,
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "hf_secret" not in done.stdout + done.stderr
    assert done.stderr == "", "no bars on the terminal of whoever serves the pages"
    return json.loads(done.stdout)


def test_a_download_fetches_what_is_needed_and_every_refusal_has_its_own_words(bert, tmp_path):
    model = Path(shutil.copytree(bert, tmp_path / "model"))
    (model / "pytorch_model.bin").write_bytes(b"never fetched")
    needed = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    refusals = {
        "org/words": ("NotAModelFolder", "'org/words' on the hub lacks its weights. Strata needs config.json"),
        "org/tiny@v9": ("ModelNotFound", "'org/tiny' has no revision 'v9'. See its branches, tags and commits"),
        "org/absent": ("ModelNotFound", "The hub has no model 'org/absent'"),
        "org/unknown": ("ModelNotFound", "A private model gives the same error"),
        "org/gated": ("ModelGated", "Accept it at https://huggingface.co/org/gated, then log in"),
        "org/forbidden": ("ModelGated", "The hub refuses 'org/forbidden' (HTTP 403)"),
        "org/busy": ("HubUnreachable", "the hub answers HTTP 503"),
        "org/eager": ("HubUnreachable", "too many requests"),
    }
    words = Path(shutil.copytree(bert, tmp_path / "words", ignore=shutil.ignore_patterns("*.safetensors")))
    with fake_hub.serving({"org/tiny": model, "org/words": words}) as address:
        answers, kept = ask(
            "org/tiny", f"org/tiny@{fake_hub.COMMIT}", *refusals, HF_ENDPOINT=address, HF_HOME=str(tmp_path / "home")
        )
    assert answers["org/tiny"] == [fake_hub.COMMIT, needed]
    assert kept == ["org/tiny"]
    assert answers[f"org/tiny@{fake_hub.COMMIT}"] == answers["org/tiny"]
    assert (tmp_path / "home" / "hub" / "models--org--tiny").is_dir(), "HF_HOME says where the cache is"
    for name, (kind, words) in refusals.items():
        assert answers[name][0] == kind
        assert words in answers[name][1]


def test_the_base_of_an_adapter_is_downloaded_too(bert, tmp_path):
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    stated = {"peft_type": "LORA", "base_model_name_or_path": "org/tiny", "r": 1}
    (adapter / "adapter_config.json").write_text(json.dumps(stated))
    save_file({"unread": torch.zeros(1)}, adapter / "adapter_model.safetensors")
    with fake_hub.serving({"org/tiny": bert, "org/adapter": adapter}) as address:
        answers, kept = ask("org/adapter", HF_ENDPOINT=address, HF_HOME=str(tmp_path / "home"))
    assert answers["org/adapter"] == [fake_hub.COMMIT, ["adapter_config.json", "adapter_model.safetensors"]]
    assert set(kept) == {"org/adapter", "org/tiny"}


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "huggingface.co cannot be reached (ConnectError)"),
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set, so the hub is not used"),
    ],
)
def test_a_hub_out_of_reach_is_said_with_what_is_left(tmp_path, environment, words):
    answers, _ = ask("org/tiny", HF_HUB_CACHE=str(tmp_path), **environment)
    kind, message = answers["org/tiny"]
    assert kind == "HubUnreachable"
    assert words in message
    assert "choose the bundled all-MiniLM-L6-v2 or a folder" in message


def test_the_hubs_own_exceptions_are_put_in_words_without_their_text():
    from huggingface_hub import errors

    def raised(kind: type[Exception], status: int) -> Exception:
        return kind("hf_secret", response=SimpleNamespace(status_code=status, headers={}, request="hf_secret"))

    cases = (
        (raised(errors.GatedRepoError, 403), ModelGated),
        (raised(errors.RepositoryNotFoundError, 401), ModelNotFound),
        (raised(errors.RevisionNotFoundError, 404), ModelNotFound),
        (raised(errors.HfHubHTTPError, 401), ModelGated),
        (raised(errors.HfHubHTTPError, 500), HubUnreachable),
        (errors.OfflineModeIsEnabled("hf_secret"), HubUnreachable),
        (errors.LocalEntryNotFoundError("hf_secret"), HubUnreachable),
        (ConnectionResetError(104, "hf_secret"), HubUnreachable),
        (RuntimeError("Operation cancelled: hf_secret"), HubUnreachable),
        (OSError(28, "No space left on device"), HubUnreachable),
    )
    for error, kind in cases:
        answer = model_names.in_words(error, "org/model", "v1")
        assert type(answer) is kind
        assert "org/model" in str(answer)
        assert "hf_secret" not in str(answer)
    assert "No space left on device" in str(answer)


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
    monkeypatch.setattr(model_names, "on_hub", lambda *_: pytest.fail("the hub was asked"))
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

    monkeypatch.setattr(model_names, "on_hub", silent)
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
        files = {"model.safetensors": 9, "gone.json": 9}
        monkeypatch.setattr(model_names, "on_hub", lambda *_: model_names.OnHub(files, ""))
        with pytest.raises(HubUnreachable, match=r"'org/tiny' could not be downloaded: the hub answers HTTP 404"):
            finish(model_names.fetch("org/tiny"))


@pytest.mark.parametrize(("gone", "lacks"), [("tokenizer.json", "its tokenizer"), ("config.json", "its config.json")])
def test_what_the_hub_itself_lacks_is_not_offered_to_be_fetched_again(bert, connect, gone, lacks):
    (bert / gone).unlink()
    with fake_hub.serving({"org/tiny": bert}) as address:
        connect(address)
        with pytest.raises(NotAModelFolder) as error:
            finish(model_names.fetch("org/tiny"))
    assert str(error.value) == (
        f"'org/tiny' on the hub lacks {lacks}. Strata needs config.json, model.safetensors or pytorch_model.bin, and "
        "the tokenizer's files. Choose a model saved for transformers."
    )


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
    declare(served, "Transformer", "Pooling", pooling={"pooling_mode": "cls"})
    with fake_hub.serving({"org/tiny": served}) as address:
        connect(address)
        found = model_names.find("org/tiny@main", online=True)
        with pytest.raises(HubUnreachable, match=r"Allow the download from huggingface\.co \(online\)"):
            strata.load("org/tiny@other")
        assert strata.load("org/tiny@main", online=True).found == found, "as the error advises"
    assert (found.name, found.revision) == ("org/tiny@main", fake_hub.COMMIT)
    assert found.digest == model_names.of_folder("served", served).digest
    (served / "modules.json").write_text("{")
    with pytest.raises(NotAModelFolder, match="is not valid JSON"):
        model_names.of_folder("served", served)
