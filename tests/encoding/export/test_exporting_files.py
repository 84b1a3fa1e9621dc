"""Test the files of an export and their content."""

import json

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoTokenizer

from explorer.encoding.export.exporting import export
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from tests.exports import TEXTS, as_trained, assert_close, by_sentence_transformers, by_transformers, dense, tunable
from tests.spoiling import configure, encoder_of, reweigh
from tests.tiny_models import WIDTH, save_tiny

WITH_POOLER = ("bert", "roberta", "mpnet", "albert", "xlm-roberta")


@pytest.fixture
def tuned(bert) -> Tunable:
    return tunable(encoder_of(bert))


@pytest.mark.parametrize("kind", WITH_POOLER)
def test_the_pooler_of_the_base_is_handed_on_unchanged(kind, tmp_path):
    base = save_tiny(kind, tmp_path / kind)
    export(tunable(encoder_of(base)), Head(("cls",)), tmp_path / "run", "", base)
    before, after = (load_file(folder / "model.safetensors") for folder in (base, tmp_path / "run"))
    poolers = [name for name in before if name.startswith("pooler.")]
    assert len(poolers) == 2
    assert after.keys() == before.keys()
    assert [name for name in before if torch.equal(before[name], after[name])] == poolers


def test_the_pooler_of_a_model_saved_for_a_task_is_found_under_its_prefix(bert, tmp_path):
    def prefixed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
        return {f"bert.{name}": value for name, value in weights.items()} | {"cls.weight": torch.zeros(2)}

    expected = load_file(bert / "model.safetensors")["pooler.dense.weight"]
    reweigh(bert, prefixed, ".bin")
    export(tunable(encoder_of(bert)), Head(("cls",)), tmp_path / "run", "", bert)
    assert torch.equal(load_file(tmp_path / "run" / "model.safetensors")["pooler.dense.weight"], expected)
    by_transformers(tmp_path / "run", "cls")


def test_the_pooler_of_a_transformer_in_a_folder_of_its_own_is_found(bert, tmp_path):
    export(tunable(encoder_of(bert)), Head(("mean",)), tmp_path / "first", "", bert)
    (tmp_path / "first" / "0_Transformer").mkdir()
    for path in [path for path in (tmp_path / "first").iterdir() if path.is_file() and path.name != "modules.json"]:
        path.rename(tmp_path / "first" / "0_Transformer" / path.name)
    lines = json.loads((tmp_path / "first" / "modules.json").read_text())
    (tmp_path / "first" / "modules.json").write_text(json.dumps([lines[0] | {"path": "0_Transformer"}, lines[1]]))
    export(tunable(encoder_of(tmp_path / "first")), Head(("mean",)), tmp_path / "run", "", tmp_path / "first")
    by_transformers(tmp_path / "run", "mean")


def test_a_base_without_a_pooler_gets_none_made_up(bert, tmp_path):
    reweigh(bert, lambda all: {name: value for name, value in all.items() if "pooler" not in name})
    encoder = encoder_of(bert)
    for place, base in (("kept", bert), ("gone", tmp_path / "no such folder"), ("unknown", None)):
        export(tunable(encoder), Head(("cls",)), tmp_path / place, "", base)
        assert not [name for name in load_file(tmp_path / place / "model.safetensors") if "pooler" in name]


def test_pooler_weights_of_a_family_without_a_pooler_are_left_out(tmp_path):
    base = save_tiny("deberta-v2", tmp_path / "base")
    reweigh(base, lambda weights: weights | {"pooler.dense.weight": torch.zeros(WIDTH, WIDTH)})
    export(tunable(encoder_of(base)), Head(("cls",)), tmp_path / "run", "", base)
    by_transformers(tmp_path / "run", "cls")


def test_cutting_and_padding_of_the_last_batch_are_not_written_down(tuned, bert, tmp_path):
    tuned.encoder.tokens(TEXTS, 5)
    assert tuned.encoder.tokenizer().backend_tokenizer.truncation is not None
    export(tuned, Head(("mean",)), tmp_path / "run", "", bert)
    written = json.loads((tmp_path / "run" / "tokenizer.json").read_text())
    assert (written["truncation"], written["padding"]) == (None, None)


def test_a_tokenizer_that_padded_on_the_left_pads_as_it_did_in_training(bert, tmp_path):
    configure(bert / "tokenizer_config.json", padding_side="left")
    tuned, head = tunable(encoder_of(bert)), Head(("cls",))
    export(tuned, head, tmp_path / "run", "", bert)
    assert AutoTokenizer.from_pretrained(tmp_path / "run").padding_side == "right"
    assert_close(by_sentence_transformers(tmp_path / "run"), as_trained(tuned, head))
    assert tuned.encoder.tokenizer() is not tuned.encoder.tokenizer()


def test_a_rounded_copy_is_written_in_float32_and_says_so(tuned, bert, tmp_path):
    tuned.to(torch.bfloat16)
    export(tuned, Head(("mean",)), tmp_path / "run", "", bert)
    assert {value.dtype for value in load_file(tmp_path / "run" / "model.safetensors").values()} == {torch.float32}
    by_transformers(tmp_path / "run", "mean")
    assert {weight.dtype for weight in tuned.parameters()} == {torch.bfloat16}


def test_the_folder_holds_what_is_published_and_nothing_of_this_machine(tuned, bert, tmp_path):
    configure(bert / "config.json", auto_map={"AutoModel": "modeling.Mine"})
    card = "# A card\n\nwith “marks”\n"
    tuned = tunable(encoder_of(bert))
    export(tuned, Head(("cls",), (dense(),), normalize=True), tmp_path / "deeper" / "run", card, bert)
    run = tmp_path / "deeper" / "run"
    assert {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()} == {
        "1_Pooling/config.json",
        "2_Dense/config.json",
        "2_Dense/model.safetensors",
        "README.md",
        "config.json",
        "config_sentence_transformers.json",
        "model.safetensors",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert (run / "README.md").read_text(encoding="utf-8") == card
    text = "".join(path.read_text(encoding="utf-8") for path in run.rglob("*.json"))
    assert not [word for word in (str(tmp_path), "local_files_only", "is_local", "auto_map") if word in text]
    assert json.loads((run / "tokenizer_config.json").read_text())["tokenizer_class"] == "PreTrainedTokenizerFast"
    types = [line["type"] for line in json.loads((run / "modules.json").read_text())]
    assert types == [
        f"sentence_transformers.models.{kind}" for kind in ("Transformer", "Pooling", "Dense", "Normalize")
    ]
    assert json.loads((run / "1_Pooling" / "config.json").read_text()) == {
        "word_embedding_dimension": WIDTH,
        "pooling_mode_cls_token": True,
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }
