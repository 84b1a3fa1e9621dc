"""Test that a loaded encoder is the one that was saved, in each family, or is refused."""

import gc
import logging
import shutil
import threading
import warnings
import weakref
from pathlib import Path

import pytest
import torch

from explorer.encoding.load import hardware, loading
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.encoder import Encoder
from explorer.errors import BadChoice, ModelError, NotWeights, RemoteCodeRefused, UnsupportedModel, WeightsMissing
from tests.spoiling import Malicious, configure, encoder_of, reweigh
from tests.tiny_models import FAMILIES, LAYERS, POSITIONS, SENTENCES, WIDTH, save_tiny, tiny_model, tiny_tokenizer


def test_sdpa_is_used_where_the_family_has_it_whatever_the_config_asks_for(bert, tmp_path):
    assert encoder_of(bert).model.config._attn_implementation == "sdpa"
    assert encoder_of(save_tiny("deberta-v2", tmp_path / "deberta")).model.config._attn_implementation == "eager"
    configure(bert / "config.json", _attn_implementation="flash_attention_2", attn_implementation="flash_attention_2")
    assert encoder_of(bert).model.config._attn_implementation == "sdpa"


@pytest.mark.parametrize("attention", ["flash_attention_2", ""])
def test_an_unknown_attention_is_refused(bert, attention):
    with pytest.raises(BadChoice, match=f"'{attention}' is not a way to compute attention. Choose one of sdpa, eager"):
        load(of_folder("tiny", bert), attention=attention)


def test_an_unknown_device_or_precision_is_refused(bert):
    with pytest.raises(BadChoice, match="'tpu' is not a device"):
        load(of_folder("tiny", bert), device="tpu")
    with pytest.raises(BadChoice, match="'int8' is not a precision"):
        load(of_folder("tiny", bert), precision="int8")


def test_the_encoder_knows_what_it_is_and_files_that_changed_since_are_not_loaded_as_that_model(bert):
    found = of_folder("tiny", bert)
    encoder = load(found, precision="float32", device="cpu")
    assert (encoder.name, encoder.digest, encoder.head) == ("tiny", found.digest, None)
    assert (encoder.precision, encoder.device, encoder.lower_case) == ("float32", "cpu", False)
    save_tiny("bert", bert, seed=7)
    with pytest.raises(ModelError, match="The files of 'tiny' have changed since it was chosen"):
        load(found)
    assert load(of_folder("tiny", bert)).digest != found.digest


def test_what_is_in_use_is_shared_by_all_who_load_it_and_forgotten_after_them(bert):
    found = of_folder("tiny", bert)
    one = load(found, precision="float32", device="cpu")
    assert load(of_folder("tiny", bert), "float32", "cpu") is one
    others = load(found, "bfloat16", "cpu"), load(found, "float32", "cpu", "eager"), load(of_folder("b", bert))
    assert len({one, *others}) == 4
    assert [other.name for other in others] == ["tiny", "tiny", "b"]
    weight = weakref.ref(one.model.get_input_embeddings().weight)
    del one
    gc.collect()
    assert weight() is None


def test_a_model_saved_in_half_precision_is_read_in_float32_and_outlives_its_file(bert):
    reweigh(bert, lambda weights: {name: weight.half() for name, weight in weights.items()})
    configure(bert / "config.json", dtype="float16")
    assert {weight.dtype for weight in encoder_of(bert).model.parameters()} == {torch.float32}
    encoder = encoder_of(bert)
    before = encoder.states(["a man"]).hidden
    path = bert / "model.safetensors"
    path.write_bytes(bytes(path.stat().st_size))  # in place, as a careless program would
    assert torch.equal(encoder.states(["a man"]).hidden, before)


def test_pickled_weights_and_shards_load_as_one_safe_file_does(bert, tmp_path):
    expected = encoder_of(bert).states(["a man"]).hidden
    sharded = Path(shutil.copytree(bert, tmp_path / "sharded"))
    (sharded / "model.safetensors").unlink()
    tiny_model("bert", len(tiny_tokenizer())).save_pretrained(sharded, max_shard_size="20KB")
    assert len(list(sharded.glob("model-*.safetensors"))) > 1
    reweigh(bert, lambda weights: weights, ".bin")
    for folder in (bert, sharded):
        assert torch.equal(encoder_of(folder).states(["a man"]).hidden, expected)


def test_the_old_names_of_layer_norm_are_read(bert):
    expected = encoder_of(bert).states(["a man"]).hidden
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

    def rename(weights):
        return {next((n.replace(a, b) for a, b in old.items() if a in n), n): w for n, w in weights.items()}

    reweigh(bert, rename, ".bin")
    assert torch.equal(encoder_of(bert).states(["a man"]).hidden, expected)


def kept_but(name):
    return lambda weights: {one: weight for one, weight in weights.items() if name not in one}


def named(change):
    return lambda weights: {change(name): weight for name, weight in weights.items()}


OUTPUT = "encoder.layer.1.attention.output.dense.weight"
WIDER = "encoder.layer.1.output.dense.weight"
QUANTISED = {"quantization_config": {"quant_method": "gptq", "bits": 4}}
# how the weights and config.json are changed, and what the error says
CHANGED = {
    "a weight is missing": (
        kept_but(OUTPUT), {}, WeightsMissing, rf"lacks 1 of the model's weights \({OUTPUT}\): they would be"
    ),
    "other names": (
        named("other.{}".format), {}, WeightsMissing,
        r"lacks 37 of the model's weights \(embeddings.LayerNorm.bias, .*, …\)",
    ),
    "only code fits them": (
        named(lambda name: name.replace("intermediate", "gated")), {"auto_map": {"AutoModel": "modeling.GatedBert"}},
        RemoteCodeRefused, "calls itself 'bert', but its weights fit only the Python code that comes",
    ),
    "another shape": (
        lambda weights: weights | {WIDER: torch.zeros(8, 8)}, {}, WeightsMissing,
        rf"1 weights of another shape .*\({WIDER} \[8, 8\] for \[32, 64\]\)",
    ),
    "no numbers": (
        lambda weights: {name: weight * float("nan") for name, weight in weights.items()}, {}, NotWeights,
        "returns values that are not numbers: its weights are damaged",
    ),
    "five heads": (
        dict, {"num_attention_heads": 5}, UnsupportedModel,
        r"transformers cannot build 'tiny' from .* not a multiple of the number",
    ),
    "heads in words": (dict, {"num_attention_heads": "two"}, UnsupportedModel, "transformers cannot build 'tiny'"),
    "quantised": (dict, QUANTISED, UnsupportedModel, r"transformers cannot build 'tiny' from .* GPTQ"),
    "no plain encoder": (
        dict, {"model_type": "encoder-decoder"}, UnsupportedModel,
        r"holds a 'encoder-decoder', for which transformers has no plain encoder. Choose a te",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGED)
def test_a_folder_that_is_no_whole_model_is_refused_and_nothing_is_made_up(bert, case):
    change, settings, error, words = CHANGED[case]
    reweigh(bert, change)
    configure(bert / "config.json", **settings)
    with pytest.raises(error, match=words):
        encoder_of(bert)


def test_a_missing_pooler_does_not_matter(bert):
    reweigh(bert, kept_but("pooler"))
    assert encoder_of(bert).head is None


@pytest.mark.parametrize("old", [False, True])
def test_code_in_a_pickle_is_refused_and_not_run(bert, tmp_path, old):
    (bert / "model.safetensors").unlink()
    weights = {"embeddings.word_embeddings.weight": Malicious(tmp_path / "ran")}
    file = bert / "pytorch_model.bin"
    torch.save(weights, file, pickle_protocol=4, _use_new_zipfile_serialization=not old)
    with (
        warnings.catch_warnings(record=True) as caught,
        pytest.raises(NotWeights, match=r"pytorch_model.bin .* torch refuses it, since it is broken or holds code"),
    ):
        encoder_of(bert)
    assert not (tmp_path / "ran").exists()
    assert caught == []


@pytest.mark.parametrize("name", ["ViT", "CLIP"])
def test_a_model_that_does_not_read_text_is_refused(tmp_path, name):
    import transformers

    small = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    vision = {**small, "image_size": 8, "patch_size": 4}
    sizes = vision if name == "ViT" else {"text_config": small, "vision_config": vision, "projection_dim": 8}
    config = getattr(transformers, f"{name}Config")(**sizes)
    getattr(transformers, f"{name}Model")(config).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(
        UnsupportedModel, match=rf"'tiny' \({name}Model\) has no word embeddings: it is not a text encod"
    ):
        encoder_of(tmp_path)


def test_a_model_that_loses_tokens_on_its_way_is_refused(tmp_path):
    from transformers import FunnelConfig, FunnelModel

    sizes = {"d_model": WIDTH, "n_head": 2, "d_head": 16, "d_inner": 64, "block_sizes": [1, 1], "vocab_size": 128}
    FunnelModel(FunnelConfig(**sizes, num_decoder_layers=1)).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(UnsupportedModel, match=r"does not return one state per token for each of its layers"):
        encoder_of(tmp_path)


def test_a_t5_with_its_decoder_gives_the_encoder_alone(tmp_path):
    from transformers import AutoConfig, AutoModel

    folder = save_tiny("t5", tmp_path / "t5")
    whole = AutoModel.from_config(AutoConfig.from_pretrained(folder, is_encoder_decoder=True))
    whole.save_pretrained(folder)
    model = encoder_of(folder).model
    assert not [name for name, _ in model.named_parameters() if "decoder" in name]
    assert torch.equal(model.get_input_embeddings().weight, whole.shared.weight)


def test_loading_in_many_threads_leaves_transformers_as_it_was(bert):
    from transformers import PreTrainedModel

    def replaced():
        level = logging.getLogger("transformers").level
        found = PreTrainedModel.tie_weights, torch.linspace, torch.get_default_dtype(), level
        return *found, dict(vars(torch.nn.init))

    untouched = replaced()
    failures: list[Exception] = []

    def work(precision: str) -> None:
        try:
            for _ in range(4):
                encoder_of(bert, precision=precision)
        except Exception as error:  # noqa: BLE001  reported below, by the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("float32", "bfloat16") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert replaced() == untouched


def test_while_a_model_is_built_others_that_have_values_are_initialised():
    def weights():
        torch.manual_seed(0)
        layers = torch.nn.Linear(3, 4), torch.nn.Embedding(5, 3, padding_idx=1), torch.nn.LayerNorm(3)
        return [weight for layer in layers for weight in layer.parameters()]

    usual = weights()
    with loading.nothing_drawn(), torch.device("meta"):
        assert all(weight.is_meta for weight in weights())
        with torch.device("cpu"):
            found = weights()
    assert len(found) == 5
    assert all(map(torch.equal, found, usual))


def test_nothing_is_written_to_the_terminal_nor_logged(bert, capfd, logged, monkeypatch):
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)  # as it is where CI is set
    encoder_of(bert)
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""
    assert logged == []


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory) -> tuple[str, Path, Encoder]:
    folder = save_tiny(request.param, tmp_path_factory.mktemp("loading") / request.param)
    return request.param, folder, encoder_of(folder)


def test_every_family_shows_the_state_after_each_layer_without_a_pooler_and_cuts_what_is_longer_than_it_can_read(
    family,
):
    _, _, encoder = family
    states = encoder.states(list(SENTENCES))
    assert states.hidden.shape[0] == LAYERS + 1
    assert states.hidden.shape[-1] == WIDTH
    assert torch.isfinite(states.hidden[:, states.mask]).all()
    assert not [name for name, _ in encoder.model.named_parameters() if "pooler" in name]
    assert encoder.max_length == POSITIONS
    for words in (POSITIONS - 2, 3 * POSITIONS):
        states = encoder.states([" ".join(["a"] * words)])
        assert torch.isfinite(states.hidden).all()
    assert states.hidden.shape[2] == POSITIONS


def test_every_family_reads_the_weights_that_were_saved(family):
    kind, _, encoder = family
    model = encoder.model
    assert not model.training
    assert not any(weight.requires_grad for weight in model.parameters())
    original = tiny_model(kind, len(tiny_tokenizer(kind)))
    original = original.get_encoder() if kind == "bart" else original
    expected = original.state_dict()
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, expected[name]), f"{kind}: {name}"


def test_every_family_reads_in_bfloat16_with_exact_positions_and_can_compute_attention_to_be_looked_at(family):
    _, folder, exact = family
    rounded = encoder_of(folder, precision="bfloat16")
    assert {weight.dtype for weight in rounded.model.parameters()} == {torch.bfloat16}
    for (name, table), (_, other) in zip(exact.model.named_buffers(), rounded.model.named_buffers(), strict=True):
        assert torch.equal(table, other), name
    assert torch.isfinite(rounded.states(list(SENTENCES)).hidden).all()
    shown = encoder_of(folder, attention="eager")
    ids = torch.tensor(exact.tokens([SENTENCES[0]]).ids)
    with torch.inference_mode():
        attentions = shown.model(input_ids=ids, output_attentions=True).attentions
    assert len(attentions) == LAYERS
    assert attentions[0].shape[-2:] == (ids.shape[1], ids.shape[1])
    expected, states = (encoder.states([SENTENCES[0]]).hidden for encoder in (exact, shown))
    assert torch.allclose(states, expected, atol=1e-5)


def test_a_device_or_precision_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(BadChoice, match=r"'tpu' is not a device. Choose one of auto, cpu, cuda, mps"):
        hardware.device("tpu")
    with pytest.raises(BadChoice, match=r"'float8' is not a precision. Choose one of auto, bfloat16, float32"):
        hardware.precision("float8", "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_device_this_machine_lacks_is_refused_with_what_it_has():
    with pytest.raises(BadChoice, match=r"This machine has no 'cuda'. Choose from cpu"):
        hardware.device("cuda")


def test_what_is_asked_for_is_given_and_apple_chips_get_float32():
    assert hardware.device("cpu") == "cpu"
    assert hardware.precision("float32", "cpu") == "float32"
    assert hardware.precision("bfloat16", "cpu") == "bfloat16"
    assert hardware.device("auto") == hardware.best_device()
    assert hardware.precision("auto", "cpu") == hardware.best_precision("cpu")
    assert hardware.best_precision("mps") == "float32"


def test_a_processor_has_its_name_and_the_instructions_that_torch_uses(tmp_path, monkeypatch):
    able = torch.backends.cpu.get_cpu_capability()
    stated = tmp_path / "cpuinfo"
    stated.write_text("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nprocessor\t: 1\nmodel name\t: Another\n")
    monkeypatch.setattr(hardware, "_PROCESSORS", stated)
    assert hardware.processor() == f"Some CPU @ 2 GHz ({able})"
    monkeypatch.setattr(hardware, "_PROCESSORS", tmp_path / "none")
    assert hardware.processor().endswith(f" ({able})")
    assert len(hardware.processor()) > len(f" ({able})")


@pytest.mark.parametrize(
    ("stated", "name"),
    [
        ("AMD EPYC 9R14", "AMD EPYC 9R14"),
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
        ("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "Intel Xeon Platinum 8375C"),
        ("11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz", "11th Gen Intel Core i7-1165G7"),
    ],
)
def test_a_processor_is_called_as_people_call_it(tmp_path, monkeypatch, stated, name):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nmodel name\t: {stated}\n")
    monkeypatch.setattr(hardware, "_PROCESSORS", tmp_path / "cpuinfo")
    assert hardware.device_name() == name


@pytest.mark.parametrize(
    ("able", "precision"),
    [
        ({}, "float32"),
        ({"avx2": True}, "float32"),
        ({"amx_bf16": False, "avx512_bf16": False}, "float32"),
        ({"amx_bf16": True}, "bfloat16"),
        ({"avx512_bf16": True}, "bfloat16"),
    ],
)
def test_a_processor_gets_bfloat16_only_where_it_computes_in_it(monkeypatch, able, precision):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    assert hardware.best_precision("cpu") == precision


def test_a_containers_limit_counts_where_there_is_one(tmp_path):
    def limited(limit: str) -> int:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text("600\n")
        (tmp_path / "memory.stat").write_text("anon 450\ninactive_file 150\nactive_file 0\n")
        return hardware.container_room(tmp_path, otherwise=7)

    assert hardware.container_room(tmp_path, otherwise=7) == 7, "no container"
    assert limited("1000") == 550, "what is cached of files is given back when needed"
    assert limited("100") == 0
    assert limited("max") == 7
    assert hardware.free_memory("cpu") > 0


def test_memory_that_torch_keeps_of_a_gpu_counts_as_free(monkeypatch):
    for name, found in (("mem_get_info", (1000, 5000)), ("memory_reserved", 300), ("memory_allocated", 200)):
        monkeypatch.setattr(f"torch.cuda.{name}", lambda found=found: found)
    assert hardware.free_memory("cuda") == 1100
