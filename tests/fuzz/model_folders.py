"""Cases of model folders: a file of a small saved model is changed, then the model is described, loaded and used."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from random import Random

import torch
from safetensors.torch import save_file

from explorer.encoding.load import declared
from explorer.encoding.load.loading import load
from explorer.encoding.locate import layout
from explorer.encoding.locate.model_names import of_folder
from tests.fuzz import mutants
from tests.spoiling import configure, reweigh
from tests.tiny_models import SENTENCES, WIDTH, save_tiny

MODELS = ("bert", "gpt2", "t5", "albert", "simcse", "chain", "weighted", "adapter", "static", "model2vec", "routed")
_TYPE = "sentence_transformers.models."
_TEXTS = ("", "a", "Ġ", "▁", "##", " ", "ab", "é" * 40, "x" * 5000)
_PATTERNS = ("", "a*", "a+", "[a-z]", r"\s+", "(a+)+$", "(a|b|)+c")
_STAGES = {  # of a tokenizer: the name of the steps in a Sequence, and their kinds
    "normalizer": ("normalizers", ("Replace", "Replace", "Prepend", "ByteLevel", "NFKD", "BertNormalizer")),
    "pre_tokenizer": ("pretokenizers", ("ByteLevel", "Metaspace", "Split", "WhitespaceSplit")),
    "decoder": ("decoders", ("Replace", "Replace", "ByteLevel", "Metaspace", "BPEDecoder", "Fuse")),
}
_LIMITS = {"max_seq_length": 20, "do_lower_case": False, "modality_config": {"text": {"method_output_name": None}}}


def prepare(folder: Path) -> None:
    """Save a model of each layout."""
    for kind in MODELS[:4]:
        save_tiny(kind, folder / kind)
    shutil.copytree(folder / "bert", folder / "simcse")
    configure(folder / "simcse" / "config.json", architectures=["BertForCL"])
    head = {"mlp.dense.weight": torch.eye(WIDTH), "mlp.dense.bias": torch.zeros(WIDTH)}
    reweigh(folder / "simcse", lambda weights: weights | head)
    _chain(folder / "chain", folder / "bert", ["Transformer", "Pooling", "Dense", "LayerNorm", "Normalize"])
    _adapter(folder / "adapter", folder / "bert")
    _chain(folder / "weighted", folder / "bert", ["Transformer", "WeightedLayerPooling", "Pooling"])
    _tables(folder)
    _routed(folder / "routed", folder / "bert")


def _tables(folder: Path) -> None:
    """Save static embeddings as sentence-transformers and as model2vec do."""
    count = len(json.loads((folder / "bert" / "tokenizer.json").read_text())["model"]["vocab"])
    table, rows = torch.ones(count, WIDTH), torch.arange(count)
    settings: dict[str, tuple[str, object, dict[str, torch.Tensor]]] = {
        "static": (
            "modules.json",
            [{"type": f"{_TYPE}StaticEmbedding", "path": ""}, {"type": f"{_TYPE}Normalize", "path": "1_Normalize"}],
            {"embedding.weight": table},
        ),
        "model2vec": (
            "config.json",
            {"model_type": "model2vec", "normalize": True},
            {"embeddings": table, "mapping": rows, "weights": torch.ones(count)},
        ),
    }
    for name, (file, content, tensors) in settings.items():
        (folder / name).mkdir()
        shutil.copy(folder / "bert" / "tokenizer.json", folder / name)
        (folder / name / file).write_text(json.dumps(content))
        save_file(tensors, folder / name / "model.safetensors")


def _routed(folder: Path, base: Path) -> None:
    """Save a Router of one route."""
    shutil.copytree(base, folder / "query_0_Transformer")
    (folder / "modules.json").write_text(json.dumps([{"type": f"{_TYPE}Router", "path": ""}]))
    (folder / "query_1_Pooling").mkdir()
    (folder / "query_1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "mean"}))
    names = ("query_0_Transformer", "query_1_Pooling")
    routes = {"types": {name: _TYPE + name[8:] for name in names}, "structure": dict.fromkeys(("a", "b"), names)}
    (folder / "router_config.json").write_text(json.dumps(routes))


def _adapter(folder: Path, base: Path) -> None:
    """Save an adapter as peft does."""
    folder.mkdir()
    stated = {"peft_type": "LORA", "base_model_name_or_path": str(base), "r": 2, "lora_alpha": 4, "use_rslora": False}
    others = {"rank_pattern": {}, "modules_to_save": None, "init_lora_weights": True, "use_dora": False, "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(stated | others))
    name = "base_model.model.encoder.layer.0.attention.self.query"
    shapes = {f"{name}.lora_A.weight": (2, WIDTH), f"{name}.lora_B.weight": (WIDTH, 2), f"{name}.bias": (WIDTH,)}
    save_file({entry: torch.full(shape, 0.01) for entry, shape in shapes.items()}, folder / "adapter_model.safetensors")


def _chain(folder: Path, base: Path, kinds: list[str]) -> None:
    shutil.copytree(base, folder)
    places = ["" if kind == "Transformer" else f"{number}_{kind}" for number, kind in enumerate(kinds)]
    lines = [{"idx": 0, "type": _TYPE + kind, "path": place} for kind, place in zip(kinds, places, strict=True)]
    (folder / "modules.json").write_text(json.dumps(lines))
    (folder / "sentence_bert_config.json").write_text(json.dumps(_LIMITS))
    prompts = {"prompts": {"query": "a ", "none": ""}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    settings = {
        "Pooling": {"pooling_mode": "mean", "pooling_mode_cls_token": False, "include_prompt": True},
        "Dense": {"in_features": WIDTH, "activation_function": "torch.nn.Tanh", "use_residual": False},
        "LayerNorm": {"dimension": WIDTH},
        "Normalize": {"module_input_name": "sentence_embedding"},
        "WeightedLayerPooling": {"layer_start": 1, "num_hidden_layers": 2},
    }
    tensors = {
        "Dense": {"linear.weight": torch.eye(WIDTH), "linear.bias": torch.zeros(WIDTH)},
        "LayerNorm": {"norm.weight": torch.ones(WIDTH), "norm.bias": torch.zeros(WIDTH)},
        "WeightedLayerPooling": {"layer_weights": torch.ones(2)},
    }
    for kind, place in zip(kinds[1:], places[1:], strict=True):
        (folder / place).mkdir()
        (folder / place / "config.json").write_text(json.dumps(settings[kind]))
        if kind in tensors:
            save_file(tensors[kind], folder / place / "model.safetensors")


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Change some files of a model, and use it as pages do."""
    drawn = Random(seed)
    model = place / "model"
    shutil.copytree(folder / drawn.choice(MODELS), model)
    grown = (model / "tokenizer.json").exists() and drawn.random() < 0.3
    if grown:
        _grow(drawn, model / "tokenizer.json")
    files = sorted(path for path in model.rglob("*.*") if path.is_file())
    for path in drawn.sample(files, drawn.choice((0, 0, 1) if grown else (1, 1, 1, 2))):
        path.write_bytes(_changed(drawn, path))
    if drawn.random() < 0.1:
        (model / f"{mutants.OTHER_BYTES}.json").write_text("{}")
    found = of_folder("tiny", model)
    layout.last_layer(model)
    declared.described(declared.default(model), model)
    declared.default_cell(model)
    encoder = load(found, precision="float32", device="cpu")
    encoder.tokenizer().batch_decode([encoder.tokens(["two women"]).ids[0]])
    for views in encoder.views([*SENTENCES, "", "Ünïcödé ﬁ ½ Ａ 🦜\n" * 40]):
        _ = views.own
    encoder.default_head.describe()


def _grow(drawn: Random, path: Path) -> None:
    """Give a tokenizer steps that may lengthen a text, in one stage or in several."""
    stated = json.loads(path.read_text())
    for stage in drawn.sample(sorted(_STAGES), drawn.choice((1, 1, 2, 3))):
        name, kinds = _STAGES[stage]
        steps = [_step(drawn, drawn.choice(kinds)) for _ in range(drawn.choice((1, 2, 3, 5, 30)))]
        own = [stated[stage]] if stated[stage] else []
        stated[stage] = {"type": "Sequence", name: drawn.choice((steps, steps + own, own + steps))}
    if drawn.random() < 0.2:
        parts = [{"Sequence": {"id": "A", "type_id": 0}}] * drawn.choice((1, 2, 90, 5000))
        stated["post_processor"] = {"type": "TemplateProcessing", "single": parts, "pair": parts, "special_tokens": {}}
    path.write_text(json.dumps(stated))


def _step(drawn: Random, kind: str) -> dict[str, object]:
    text = drawn.choice(_TEXTS)
    pattern = drawn.choice(({"String": drawn.choice(_TEXTS)}, {"Regex": drawn.choice(_PATTERNS)}))
    settings: dict[str, dict[str, object]] = {
        "Replace": {"pattern": pattern, "content": text},
        "Prepend": {"prepend": text},
        "ByteLevel": {"add_prefix_space": True, "trim_offsets": True, "use_regex": drawn.random() < 0.5},
        "BertNormalizer": dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), True),
        "Metaspace": {"replacement": drawn.choice("ab▁"), "prepend_scheme": "always", "split": True},
        "Split": {"pattern": pattern, "behavior": "Isolated", "invert": False},
        "BPEDecoder": {"suffix": text},
    }
    return {"type": kind, **settings.get(kind, {})}


def _changed(drawn: Random, path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".safetensors":
        (length,) = struct.unpack("<Q", data[:8])
        if drawn.random() < 0.4:
            return mutants.of_bytes(drawn, data, 8 + length)
        header = mutants.of_json(drawn, json.loads(data[8 : 8 + length]))
        text = mutants.text_of(drawn, header).encode("utf-8", "surrogatepass")
        return struct.pack("<Q", len(text)) + text + data[8 + length :]
    if path.suffix != ".json" or drawn.random() < 0.15:
        return mutants.of_bytes(drawn, data)
    return mutants.text_of(drawn, mutants.of_json(drawn, json.loads(data))).encode("utf-8", "surrogatepass")
