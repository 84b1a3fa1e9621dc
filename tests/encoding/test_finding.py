import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from explorer.encoding import bundled, digests, hub
from explorer.encoding.finding import Found, find, on_disk
from explorer.encoding.loading import load_parts
from explorer.errors import BadChoice, HubUnreachable, ModelGated, ModelNotFound, NotAModelFolder
from tests import fake_hub
from tests.tiny_models import save_tiny

COMMIT = "a" * 40


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    return save_tiny("bert", tmp_path_factory.mktemp("finding") / "bert")


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty hub cache: the library reads HF_HUB_CACHE once, when it is imported."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def keep(cache: Path, name: str, folder: Path, ref: str = "main") -> Path:
    """Put a folder where the hub's cache would have it."""
    place = cache / f"models--{name.replace('/', '--')}"
    (place / "refs" / ref).parent.mkdir(parents=True, exist_ok=True)
    (place / "refs" / ref).write_text(COMMIT)
    return Path(shutil.copytree(folder, place / "snapshots" / COMMIT))


@pytest.mark.parametrize("nothing", ["", "   ", "\n"])
def test_no_name_is_a_choice_to_be_made(nothing):
    with pytest.raises(BadChoice, match=r"No model is named. Give 'all-MiniLM-L6-v2', a folder, or a name on the hub"):
        find(nothing)


def test_the_bare_name_is_the_bundled_one_and_the_full_name_the_hubs(cache):
    assert find(" all-MiniLM-L6-v2 ") == Found("all-MiniLM-L6-v2", bundled.folder(), None)
    with pytest.raises(HubUnreachable, match="sentence-transformers/all-MiniLM-L6-v2"):
        find("sentence-transformers/all-MiniLM-L6-v2")


def test_a_folder_is_found_by_absolute_relative_and_home_path(bert, monkeypatch):
    monkeypatch.chdir(bert.parent)
    monkeypatch.setenv("HOME", str(bert.parent))
    for source in (str(bert), "bert", "./bert", "~/bert", f"../{bert.parent.name}/bert"):
        found = find(source)
        assert found.name == source
        assert found.folder.is_absolute()
        assert found.folder.samefile(bert)


@pytest.mark.parametrize(
    "path", ["/no/where", "./nowhere", "../nowhere", "~/nowhere", "a\\b", "one/two/three", "~no-user/x"]
)
def test_a_path_to_nothing_is_no_name_on_the_hub(path):
    with pytest.raises(ModelNotFound, match=r"There is no folder|cannot be looked up"):
        find(path)


@pytest.mark.parametrize("path", ["/" + "x" * 300, "a\0b"])
def test_a_name_no_file_system_knows_is_refused_in_words(path):
    with pytest.raises((ModelNotFound, BadChoice), match=r"cannot be looked up|neither a folder here nor"):
        find(path)


def test_a_file_is_not_a_folder(bert):
    with pytest.raises(NotAModelFolder, match=r"is a file. Give the folder it lies in"):
        find(str(bert / "config.json"))


@pytest.mark.parametrize("name", ["my model", "org/na me", "a--b", "a..b", "-a", "a/", "org/model.git", "x" * 97, "é"])
def test_a_name_the_hub_could_not_have_is_refused(cache, name):
    with pytest.raises(BadChoice, match="neither a folder here nor a name the hub could have"):
        find(name)


@pytest.mark.parametrize("revision", ["../../etc", "a b", "/abs"])
def test_a_revision_that_cannot_be_one_is_refused(cache, revision):
    with pytest.raises(BadChoice, match=r"is not a revision. Give a branch, a tag or a commit"):
        find("org/model", revision)


def test_a_revision_belongs_to_the_hub_only(bert):
    for source in (str(bert), "all-MiniLM-L6-v2"):
        with pytest.raises(BadChoice, match=r"A revision \('main'\) belongs to a model of the hub"):
            find(source, "main")


def test_a_name_that_is_nowhere_is_answered_at_once_with_what_to_do(cache):
    find_nothing = pytest.raises(
        HubUnreachable,
        match=r"'org/model' at revision 'v1' is neither a folder here nor in the local cache. Allow the download from "
        r"huggingface.co \(online\), or run 'hf download org/model'. Without a connection, choose the bundled all-Mini",
    )
    start = time.perf_counter()
    with find_nothing:
        find("org/model", "v1")
    assert time.perf_counter() - start < 0.5


def test_a_cached_model_is_found_and_loads_with_its_commit(cache, bert):
    keep(cache, "org/tiny", bert)
    found = find("org/tiny")
    assert found.revision == COMMIT
    assert load_parts(found, precision="float32", device="cpu").model.config.hidden_size == 32
    assert find("org/tiny", COMMIT) == found
    with pytest.raises(HubUnreachable, match="at revision 'v2' is neither"):
        find("org/tiny", "v2")


def test_a_cached_tag_is_found_by_its_name(cache, bert):
    keep(cache, "org/tiny", bert, ref="refs/pr/1")
    assert find("org/tiny", "refs/pr/1").revision == COMMIT
    with pytest.raises(HubUnreachable, match="neither a folder here"):
        find("org/tiny")


@pytest.mark.parametrize(("gone", "lacks"), [("model.safetensors", "its weights"), ("tokenizer.json", "its tokenizer")])
def test_a_model_cached_in_part_says_what_is_missing(cache, bert, gone, lacks):
    (keep(cache, "org/tiny", bert) / gone).unlink()
    assert on_disk() == ()
    with pytest.raises(HubUnreachable, match=f"'org/tiny' is in the local cache without {lacks}. Allow the download"):
        find("org/tiny")


def test_a_cached_model_without_a_shard_or_a_module_is_incomplete(cache, bert):
    folder = keep(cache, "org/tiny", bert)
    (folder / "modules.json").write_text(
        json.dumps([{"type": "a.Transformer", "path": ""}, {"type": "a.Pooling", "path": "1_Pooling"}])
    )
    assert hub.lacks(folder) == "its modules"
    (folder / "1_Pooling").mkdir()
    assert hub.lacks(folder) == ""
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    shards = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(shards))
    assert hub.lacks(folder) == "its weights"


def test_the_models_in_the_cache_are_listed_and_offered(cache, bert):
    assert on_disk() == ()
    for name in ("org/tiny", "alone", "org/second"):
        keep(cache, name, bert)
    (cache / "models--org--empty").mkdir()
    (cache / "datasets--org--tiny").mkdir()
    assert on_disk() == ("alone", "org/second", "org/tiny")
    with pytest.raises(HubUnreachable, match="or one of those in the cache: alone, org/second, org/tiny"):
        find("org/other")


def test_the_digest_is_of_what_decides_a_vector(bert, tmp_path):
    folder = Path(shutil.copytree(bert, tmp_path / "copy"))
    first = Found("a", folder).digest
    assert first == Found("b", bert, "c").digest, "neither the name nor the place counts"
    (folder / "README.md").write_text("words")
    (folder / "checkpoint-5").mkdir()
    (folder / "checkpoint-5" / "config.json").write_text("{}")
    assert Found("a", folder).digest == first, "files that are never read do not count"
    seen = {first}
    for file in ("config.json", "tokenizer.json", "model.safetensors"):
        with (folder / file).open("ab") as end:
            end.write(b" ")
        seen.add(Found("a", folder).digest)
    (folder / "modules.json").write_text(
        '[{"type": "a.Transformer", "path": ""}, {"type": "a.Dense", "path": "2_Dense"}]'
    )
    (folder / "2_Dense").mkdir()
    for file in ("config.json", "model.safetensors"):
        (folder / "2_Dense" / file).write_text("{}")
        seen.add(Found("a", folder).digest)
    assert len(seen) == 6


def test_a_second_digest_is_free_and_a_changed_file_is_seen(tmp_path):
    file = tmp_path / "big.json"
    file.write_bytes(b"0" * 50_000_000)
    first = digests.of_file(file)
    start = time.perf_counter()
    assert digests.of_file(file) == first
    assert time.perf_counter() - start < 0.005
    file.write_bytes(b"1" * 50_000_000)
    assert digests.of_file(file) != first


def test_safetensors_are_fetched_rather_than_pickles_and_nothing_twice():
    files = [
        *("config.json", "modules.json", "tokenizer.json", "vocab.txt", "spiece.model", "README.md", ".gitattributes"),
        *("model.safetensors", "pytorch_model.bin", "tf_model.h5", "model.fp16.safetensors", "training_args.bin"),
        *("onnx/model.onnx", "onnx/config.json", "openvino/openvino_model.bin", "original/model.safetensors"),
        *("1_Pooling/config.json", "2_Dense/config.json", "2_Dense/pytorch_model.bin"),
    ]
    assert hub.wanted(files) == (
        *("1_Pooling/config.json", "2_Dense/config.json", "2_Dense/pytorch_model.bin", "config.json"),
        *("model.safetensors", "modules.json", "spiece.model", "tokenizer.json", "vocab.txt"),
    )
    shards = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin", "pytorch_model.bin.index.json"]
    assert list(hub.wanted(shards)) == shards


ASK = """
import json, sys
from explorer.encoding import finding
answers = {}
for asked in sys.argv[1:]:
    name, _, revision = asked.partition("@")
    try:
        size = finding.size(name, revision or None)
        found = finding.find(name, revision or None, online=True)
        answers[asked] = [size, found.revision, sorted(path.name for path in found.folder.iterdir())]
    except Exception as error:
        answers[asked] = [type(error).__name__, str(error)]
print(json.dumps([answers, finding.on_disk()]))
"""


def ask(*names: str, **environment: str) -> tuple[dict[str, list], list[str]]:
    """What a process of its own finds: the hub's settings are read when its library is imported."""
    environment = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_TOKEN": "hf_secret", **environment}
    done = subprocess.run(
        [sys.executable, "-c", ASK, *names], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    assert "hf_secret" not in done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_download_fetches_what_is_needed_and_every_refusal_has_its_own_words(bert, tmp_path):
    model = Path(shutil.copytree(bert, tmp_path / "model"))
    (model / "pytorch_model.bin").write_bytes(b"never fetched")
    needed = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    refusals = {
        "org/tiny@v9": ("ModelNotFound", "'org/tiny' has no revision 'v9'"),
        "org/absent": ("ModelNotFound", "The hub has no model 'org/absent'"),
        "org/unknown": ("ModelNotFound", "A private model looks the same from outside"),
        "org/gated": ("ModelGated", "Accept it at https://huggingface.co/org/gated, then log in"),
        "org/forbidden": ("ModelGated", "The hub refuses 'org/forbidden' (HTTP 403)"),
        "org/busy": ("HubUnreachable", "the hub answers HTTP 503"),
        "org/eager": ("HubUnreachable", "the hub asks to wait"),
    }
    with fake_hub.serving({"org/tiny": model}) as address:
        answers, kept = ask("org/tiny", *refusals, HF_ENDPOINT=address, HF_HOME=str(tmp_path / "home"))
    assert answers["org/tiny"] == [sum((bert / name).stat().st_size for name in needed), fake_hub.COMMIT, needed]
    assert kept == ["org/tiny"]
    assert (tmp_path / "home" / "hub" / "models--org--tiny").is_dir(), "HF_HOME says where the cache is"
    for name, (kind, words) in refusals.items():
        assert answers[name][0] == kind
        assert words in answers[name][1]


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "huggingface.co cannot be reached (ConnectError)"),
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set, so the hub is not asked"),
    ],
)
def test_a_hub_out_of_reach_is_said_with_what_is_left(tmp_path, environment, words):
    answers, _ = ask("org/tiny", HF_HUB_CACHE=str(tmp_path), **environment)
    kind, message = answers["org/tiny"]
    assert kind == "HubUnreachable"
    assert words in message
    assert "choose the bundled all-MiniLM-L6-v2 or a folder" in message


def test_the_hubs_own_exceptions_are_put_in_words_without_their_text():
    from httpx2 import Request, Response
    from huggingface_hub import errors

    def raised(kind: type[Exception], status: int) -> Exception:
        request = Request("GET", "https://user:hf_secret@huggingface.co")
        return kind("hf_secret", response=Response(status, request=request))

    cases = (
        (raised(errors.GatedRepoError, 403), ModelGated),
        (raised(errors.RepositoryNotFoundError, 401), ModelNotFound),
        (raised(errors.RevisionNotFoundError, 404), ModelNotFound),
        (raised(errors.HfHubHTTPError, 401), ModelGated),
        (raised(errors.HfHubHTTPError, 500), HubUnreachable),
        (errors.OfflineModeIsEnabled("hf_secret"), HubUnreachable),
        (errors.LocalEntryNotFoundError("hf_secret"), HubUnreachable),
        (ConnectionResetError(104, "hf_secret"), HubUnreachable),
        (OSError(28, "No space left on device"), HubUnreachable),
    )
    for error, kind in cases:
        answer = hub.in_words(error, "org/model", "v1")
        assert type(answer) is kind
        assert "org/model" in str(answer)
        assert "hf_secret" not in str(answer)
    assert "No space left on device" in str(answer)
