import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file

from explorer.encoding.locate import model_names
from explorer.errors import HubUnreachable, ModelGated, ModelNotFound
from tests import fake_hub


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
