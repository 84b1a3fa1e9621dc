import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as theirs
from torch import nn

from explorer.encoding.load import declared
from explorer.encoding.load.loading import load
from explorer.encoding.locate import lookup
from explorer.encoding.locate.configuration import TransformerModule
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.dense import ACTIVATIONS
from explorer.errors import BadChoice, NotWeights, UnsupportedModel
from tests.spoiling import configure, declare, encoder_of, reweigh
from tests.tiny_models import FAMILIES, SENTENCES, WIDTH, save_tiny

MODES = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]


def saved(bert: Path, folder: Path, *after: nn.Module, **options: Any) -> Path:
    """What sentence-transformers itself writes for a transformer and the modules after it."""
    torch.manual_seed(1)
    SentenceTransformer(modules=[theirs.Transformer(str(bert)), *after], **options).save(
        str(folder), create_model_card=False
    )
    return folder


def assert_reads_alike(folder: Path, sentences: tuple[str, ...] = SENTENCES) -> Head:
    """Our vectors are those of SentenceTransformer(folder).encode; the answer is the head that made them."""
    encoder = load(find(str(folder)), precision="float32", device="cpu")
    assert encoder.head is not None
    expected = SentenceTransformer(str(folder), device="cpu").encode(list(sentences))
    ours = np.empty_like(expected)
    for views in encoder.views(sentences):
        ours[views.positions] = views.own.numpy()
    np.testing.assert_allclose(ours, expected, atol=1e-6, rtol=0)
    return encoder.head


def settings(folder: Path, **changes: object) -> None:
    """Change a module's config.json; None removes a key."""
    path = folder / "config.json"
    kept = {key: value for key, value in (json.loads(path.read_text()) | changes).items() if value is not None}
    path.write_text(json.dumps(kept))


# GPT-2, Llama and Qwen2 have no padding token, which the library needs; of a BART it runs the decoder, too
@pytest.mark.parametrize("kind", sorted({*FAMILIES} - {"gpt2", "llama", "qwen2", "bart"}))
def test_every_family_is_encoded_as_by_sentence_transformers(kind, tmp_path):
    assert_reads_alike(saved(save_tiny(kind, tmp_path / kind), tmp_path / "st", theirs.Pooling(WIDTH, "mean")))


@pytest.mark.parametrize("mode", MODES)
def test_every_pooling_is_the_one_of_sentence_transformers(bert, tmp_path, mode):
    assert len(assert_reads_alike(saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, mode))).poolings) == 1


def test_poolings_side_by_side_keep_the_order_of_the_file(bert, tmp_path):
    head = assert_reads_alike(saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, ("mean", "cls"))))
    assert head.poolings == ("mean", "cls")
    assert head.describe() == "mean + cls of the last layer"


def test_a_dense_layer_a_layer_norm_and_length_one_follow_in_order(bert, tmp_path):
    after = (theirs.Dense(WIDTH, 16), theirs.Dropout(0.5), theirs.LayerNorm(16), theirs.Normalize())
    folder = saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, "mean"), *after)
    assert_reads_alike(folder)
    assert declared.head(folder).describe() == "mean of the last layer → Dense 16 (tanh) → layer norm → normalised"


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_of_the_table_is_torchs(bert, tmp_path, name):
    dense = theirs.Dense(WIDTH, 8, bias=name != "ReLU", activation_function=getattr(nn, name)())
    folder = saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, "mean"), dense)
    assert assert_reads_alike(folder).dense[0].activation == name


def legacy(bert: Path, folder: Path, pooling: dict[str, object], sentences: dict[str, object], dense: bool) -> Path:
    """What releases of sentence-transformers before 3 wrote: other type names, switches, pickled weights."""
    shutil.copytree(bert, folder)
    names = ["Transformer", "Pooling", *["Dense"] * dense, "Normalize"]
    declare(folder, *names, pooling={"word_embedding_dimension": WIDTH, **pooling})
    (folder / "sentence_bert_config.json").write_text(json.dumps(sentences))
    if dense:
        (folder / "2_Dense").mkdir()
        torch.save(
            {f"linear.{name}": value for name, value in nn.Linear(WIDTH, 12).state_dict().items()},
            folder / "2_Dense" / "pytorch_model.bin",
        )
        stated = {"in_features": WIDTH, "out_features": 12, "bias": True}
        stated["activation_function"] = "torch.nn.modules.activation.Tanh"
        (folder / "2_Dense" / "config.json").write_text(json.dumps(stated))
    return folder


def test_a_folder_of_an_old_release_reads_as_it_did(bert, tmp_path):
    pooling = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}
    folder = legacy(bert, tmp_path / "old", pooling, {"max_seq_length": 12, "do_lower_case": False}, dense=True)
    assert assert_reads_alike(folder).describe() == "mean of the last layer → Dense 12 (tanh) → normalised"


def test_the_switches_of_old_releases_join_poolings_in_their_order_and_none_means_the_mean(bert, tmp_path):
    switches = {f"pooling_mode_{name}": True for name in ("mean_tokens", "lasttoken", "cls_token", "max_tokens")}
    for name, stated, poolings in (("old", switches, ("cls", "max", "mean", "last")), ("none", {}, ("mean",))):
        assert assert_reads_alike(legacy(bert, tmp_path / name, stated, {}, dense=False)).poolings == poolings


def test_texts_are_put_in_lower_case_where_an_old_release_did(bert, tmp_path):
    folder = legacy(bert, tmp_path / "old", {}, {"do_lower_case": True}, dense=False)
    assert declared.limits(folder).do_lower_case
    assert_reads_alike(folder, ("A MAN plays", "The DOG"))
    tokenizer = load(find(str(bert)), precision="float32", device="cpu")
    assert tokenizer.tokens(["THE"]).ids != tokenizer.tokens(["the"]).ids, "the tokenizer alone would not do it"


@pytest.mark.parametrize("release", ["old", "new"])
def test_sentences_are_cut_where_sentence_transformers_cuts_them(bert, tmp_path, release):
    longest = 7
    if release == "old":
        folder = legacy(bert, tmp_path / "old", {}, {"max_seq_length": longest}, dense=False)
    else:
        model = SentenceTransformer(modules=[theirs.Transformer(str(bert)), theirs.Pooling(WIDTH, "mean")])
        model.max_seq_length = longest
        model.save(str(tmp_path / "new"))
        folder = tmp_path / "new"
    encoder = load(find(str(folder)), precision="float32", device="cpu")
    assert encoder.max_length == longest
    assert encoder.tokens(SENTENCES).truncated == 3
    assert_reads_alike(folder)


def test_a_transformer_in_a_folder_of_its_own_is_read_from_there(bert, tmp_path):
    folder = legacy(bert, tmp_path / "old", {}, {"max_seq_length": 9}, dense=False)
    inner = folder / "0_Transformer"
    inner.mkdir()
    for path in [path for path in folder.iterdir() if path.is_file() and path.name != "modules.json"]:
        path.rename(inner / path.name)
    lines = json.loads((folder / "modules.json").read_text())
    lines[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(lines))
    assert_reads_alike(folder)
    assert load(find(str(folder)), device="cpu").max_length == 9


def test_a_default_prompt_is_put_before_every_sentence(bert, tmp_path):
    prompts = {"prompts": {"query": "the dog "}, "default_prompt_name": "query"}
    folder = saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, "mean"), **prompts)
    head = assert_reads_alike(folder)
    assert head.prompt == "the dog "
    assert head.describe() == "mean of the last layer, after the prompt 'the dog '"
    settings(folder / "1_Pooling", include_prompt=False)
    without = assert_reads_alike(folder).describe()
    assert without == "mean of the last layer, after the prompt 'the dog ' (left out of the pooling)"


def test_a_default_prompt_that_leaves_no_room_is_refused(bert, tmp_path):
    prompts = {"prompts": {"query": "the dog " * 40}, "default_prompt_name": "query"}
    folder = saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, "mean"), **prompts)
    with pytest.raises(BadChoice, match=r"The default prompt 'the dog .* has 64 tokens and leaves no room"):
        encoder_of(folder)


def test_a_prompt_that_is_no_default_is_left_out(bert, tmp_path):
    folder = saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, "mean"), prompts={"query": "the dog "})
    assert assert_reads_alike(folder).prompt == ""


def test_the_bundled_encoder_reads_as_published():
    assert assert_reads_alike(lookup.bundled_folder()) == Head(("mean",), normalize=True)


def test_a_plain_folder_declares_no_head(bert):
    assert declared.head(bert) is None


@pytest.mark.parametrize(
    "chain",
    [
        ["Transformer", "Pooling", "WeightedLayerPooling"],
        ["Transformer", "WeightedLayerPooling", "LayerReading"],
        ["Transformer", "Pooling", "Normalize", "Dense"],
        ["Transformer", "Pooling", "CNN"],
        ["Transformer", "Dense", "Pooling"],
        ["Transformer"],
        ["WordEmbeddings", "Pooling"],
    ],
)
def test_a_chain_that_is_not_understood_is_refused_whole(tmp_path, chain):
    lines = [{"path": f"{number}_{name}", "type": f"any.where.{name}"} for number, name in enumerate(chain)]
    (tmp_path / "modules.json").write_text(json.dumps(lines))
    with pytest.raises(UnsupportedModel, match=f"chains {' → '.join(chain)}. Strata supports Transformer → Pooling"):
        declared.head(tmp_path)


@pytest.fixture
def dense(bert, tmp_path) -> Path:
    return saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, "mean"), theirs.Dense(WIDTH, 8), theirs.Normalize())


ACTIVATED = "asks for the activation '{}'. Strata supports torch.nn's Ident"
POOLED = "asks for the pooling .* Strata supports cls, mean, max, lasttoken, weightedm"
REFUSED = [
    *(("2_Dense", {"activation_function": name}, ACTIVATED.format(name))
      for name in ("os.system", "torch.nn.modules.activation.Softmax", "mine.Tanh", "Tanh")),
    *((module, {"module_input_name": "token_embeddings"},
       rf"{module}.*works on 'token_embeddings' \(module_input_name\)")
      for module in ("1_Pooling", "2_Dense", "3_Normalize")),
    *(("1_Pooling", {"pooling_mode": mode}, POOLED) for mode in ("median", [], ["mean", "median"])),
]  # fmt: skip


@pytest.mark.parametrize(("module", "changes", "words"), REFUSED, ids=str)
def test_a_module_with_settings_outside_of_a_table_is_refused_and_nothing_imported(dense, module, changes, words):
    settings(dense / module, **changes)
    with pytest.raises(UnsupportedModel, match=words):
        declared.head(dense)


@pytest.mark.parametrize("width", [WIDTH, 8])
def test_a_dense_layer_may_add_its_input_in_the_same_or_in_another_width(bert, tmp_path, width):
    torch.manual_seed(3)
    step = theirs.Dense(WIDTH, width, use_residual=True)
    folder = saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, "mean"), step, theirs.Normalize())
    head = assert_reads_alike(folder)
    assert head.describe() == f"mean of the last layer → Dense {width} (tanh), residual → normalised"
    (tmp_path / "kept").mkdir()
    head.dense[0].save(str(tmp_path / "kept"))
    given = torch.randn(5, WIDTH)
    again = theirs.Dense.load(str(tmp_path / "kept"))({"sentence_embedding": given})["sentence_embedding"]
    assert torch.equal(again, step({"sentence_embedding": given})["sentence_embedding"])


def test_a_residual_dense_layer_without_the_weights_for_its_input_is_refused(dense):
    settings(dense / "2_Dense", use_residual=True)
    with pytest.raises(NotWeights, match=r"2_Dense holds no weights 'residual.weight'"):
        declared.head(dense)


def test_an_activation_that_is_not_written_is_tanh(dense):
    settings(dense / "2_Dense", activation_function=None)
    assert assert_reads_alike(dense).dense[0].activation == "Tanh"


def test_a_dense_layer_without_weights_or_of_another_width_is_refused(dense):
    (dense / "2_Dense" / "model.safetensors").unlink()
    with pytest.raises(NotWeights, match=r"2_Dense holds no weights 'linear.weight'"):
        declared.head(dense)
    from safetensors.torch import save_file

    save_file({"linear.weight": torch.zeros(8, WIDTH + 1)}, dense / "2_Dense" / "model.safetensors")
    with pytest.raises(NotWeights, match=r"Dense 8 \(tanh\) takes vectors of width 33, and gets vectors of width 32"):
        load(find(str(dense)), device="cpu")


@pytest.mark.parametrize(
    "stated",
    [
        {"transformer_task": "fill-mask"},
        {"modality_config": {"image": {"method_output_name": "last_hidden_state"}}},
        {"modality_config": {}},
        {"modality_config": {"text": {"method_output_name": "pooler_output"}}},
    ],
)
def test_another_task_than_reading_text_is_refused(tmp_path, stated):
    (tmp_path / "sentence_bert_config.json").write_text(json.dumps(stated))
    with pytest.raises(UnsupportedModel, match=r"Strata supports the last hidden state of text"):
        declared.limits(tmp_path)


def test_limits_are_found_under_the_name_of_any_family(tmp_path):
    assert declared.limits(tmp_path) == TransformerModule(max_seq_length=None, do_lower_case=False)
    (tmp_path / "sentence_xlm-roberta_config.json").write_text('{"max_seq_length": 128, "do_lower_case": true}')
    assert declared.limits(tmp_path) == TransformerModule(max_seq_length=128, do_lower_case=True)


def test_a_head_by_hand():
    weight, bias = torch.tensor([[0.5, 0.25], [1.0, 0.0], [0.0, -1.0]]), torch.tensor([0.0, 0.1, -0.2])
    head = Head(("mean",), (Dense(weight, bias, "Tanh"),))
    states = torch.tensor([[[1.0, -2.0], [1.0, -2.0]], [[2.0, 1.0], [9.0, 9.0]]])  # (sentence, token, width)
    mask = torch.tensor([[True, True], [True, False]])
    expected = torch.tensor([[0.0, 0.800499, 0.946806], [0.848284, 0.970452, -0.833655]])
    found = head([states], mask)
    assert torch.allclose(found, expected, atol=1e-6)
    without = Head(("mean",), (Dense(weight, bias, "Identity"),))([states], mask)
    cosines = [torch.cosine_similarity(*vectors, dim=0).item() for vectors in (found, without)]
    assert cosines == pytest.approx([-0.006549, 0.026117], abs=1e-6), "with the activation of DistilUSE, and without"
    assert torch.allclose(Head(("mean",), normalize=True)(states, mask).norm(dim=1), torch.ones(2))


@pytest.mark.parametrize(
    ("kind", "prefix", "name"), [("bert", "bert.", "BertForCL"), ("roberta", "roberta.", "RobertaForCL")]
)
@pytest.mark.parametrize("suffix", [".bin", ".safetensors"])
def test_a_simcse_save_is_its_encoder_and_its_head(tmp_path, kind, prefix, name, suffix):
    folder = save_tiny(kind, tmp_path / kind)
    expected = encoder_of(folder).states(list(SENTENCES)).hidden
    torch.manual_seed(2)
    mlp = torch.nn.Linear(WIDTH, WIDTH)
    beside = {f"mlp.dense.{key}": value for key, value in mlp.state_dict().items()} | {"lm_head.bias": torch.zeros(9)}
    reweigh(folder, lambda weights: {prefix + key: value for key, value in weights.items()} | beside, suffix)
    configure(folder / "config.json", architectures=[name])
    encoder = encoder_of(folder)
    states = encoder.states(list(SENTENCES))
    assert torch.equal(states.hidden, expected)
    assert encoder.head.describe() == "cls of the last layer → Dense 32 (tanh), as in supervised SimCSE"
    with torch.inference_mode():
        by_hand = torch.tanh(states.hidden[-1, :, 0] @ mlp.weight.T + mlp.bias)
    assert torch.allclose(encoder.head(states.hidden, states.mask), by_hand, atol=1e-6)


def test_a_simcse_save_without_its_head_has_none_and_a_declared_head_goes_before_a_training_head(bert):
    assert declared.simcse_head(bert) is None
    configure(bert / "config.json", architectures=["BertForCL"])
    assert declared.simcse_head(bert) is None
    reweigh(bert, lambda own: own | {"mlp.dense.weight": torch.eye(WIDTH), "mlp.dense.bias": torch.zeros(WIDTH)})
    declare(bert, "Transformer", "Pooling", pooling={})
    assert encoder_of(bert).head == Head(("mean",))


def test_prompts_of_queries_and_documents_are_those_that_sentence_transformers_adds(bert, tmp_path):
    prompts = {"query": "the dog ", "passage": "a man ", "document": "women "}
    folder = saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, "mean"), prompts=prompts)
    encoder, opened = load(find(str(folder)), "float32", "cpu"), SentenceTransformer(str(folder), device="cpu")
    roles = encoder.head.roles
    for prompt, encode in ((roles.query, opened.encode_query), (roles.document, opened.encode_document)):
        ids = encoder.tokens(list(SENTENCES), prompt=prompt).ids
        own = torch.empty(len(SENTENCES), WIDTH)
        for views in encoder.views_of(ids):
            own[views.positions] = views.own
        torch.testing.assert_close(own, encode(list(SENTENCES), convert_to_tensor=True), atol=1e-5, rtol=0)
    assert (roles.query, roles.document) == ("the dog ", "women ")


def test_prompts_of_roles_that_are_left_out_of_the_pooling_are_marked(bert, tmp_path):
    folder = saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, "mean"), prompts={"query": "the dog "})
    assert declared.head(folder).roles.pooled
    settings(folder / "1_Pooling", include_prompt=False)
    assert not declared.head(folder).roles.pooled
