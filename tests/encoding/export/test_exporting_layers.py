"""Test exported pooling over all layers in both libraries, in Strata, and without Strata."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer

from explorer.encoding.export import source_code
from explorer.encoding.export.exporting import export
from explorer.encoding.export.source_code import of_head
from explorer.encoding.load import declared, loading
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.flow_map import Flow, FlowMap
from explorer.encoding.read.parts.layer_attention import LayerAttention
from explorer.encoding.read.parts.token_convolution import TokenConvolution
from explorer.encoding.read.parts.word_weights import WordWeights
from explorer.encoding.read.pooling import FIRST_LAST
from explorer.errors import NotWeights, UnsupportedModel
from explorer.methods.layer_attention import POOLERS
from tests.exports import TEXTS, as_trained, assert_close, by_strata, tunable
from tests.spoiling import configure, encoder_of
from tests.tiny_models import WIDTH, save_tiny

OF_ALL_LAYERS = [name for name, (poolings, layers) in POOLERS.items() if layers or FIRST_LAST in poolings]


def head_of(pooler: str, **settings) -> Head:
    poolings, attention = POOLERS[pooler]
    torch.manual_seed(5)
    layers = None
    if attention:
        maps = [torch.nn.Parameter(torch.randn(WIDTH, WIDTH) * 0.3) for _ in range(3)]
        layers = LayerAttention(*maps, asks=attention[0], answers=attention[1], **settings)
    linear = torch.nn.Linear(WIDTH * (len(poolings) + bool(attention)), WIDTH)
    return Head(poolings, (Dense(linear.weight, linear.bias, "Tanh"),), layers=layers)


def narrow_attention() -> LayerAttention:
    torch.manual_seed(8)
    return LayerAttention(*(torch.randn(6, WIDTH) * 0.3 for _ in range(3)))


def flow_map() -> FlowMap:
    torch.manual_seed(6)
    flow = Flow(WIDTH)
    with torch.no_grad():
        for weight in flow.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
    return FlowMap(flow)


def convolution() -> TokenConvolution:
    torch.manual_seed(7)
    filters = tuple(torch.randn(4, WIDTH, kernel) / WIDTH for kernel in (1, 3, 5))
    return TokenConvolution(filters, tuple(torch.randn(4) for _ in filters))


# what comes after an encoder: lower layers, words that are weighted, convolutions, flows
AFTER = [
    Head(("mean of layer 1",)),
    Head(("cls of layers 0 + 1",)),
    Head(("max of layer 0",), (Dense(torch.eye(WIDTH) * 2, torch.ones(WIDTH), "Identity"),), normalize=True),
    Head(("max of layers 0 + 2", "cls")),
    Head((), layers=WordWeights(0)),
    Head(("cls",), layers=narrow_attention()),
    Head(("cls",), layers=convolution()),
    Head((FIRST_LAST,), (flow_map(),)),
    Head(("mean",), (Dense(torch.eye(WIDTH) * 2, torch.ones(WIDTH), "Identity"), flow_map()), normalize=True),
]


@pytest.fixture(scope="module", params=["bert", "roberta", "t5", "modernbert"])
def tuned(request, tmp_path_factory):
    return tunable(encoder_of(save_tiny(request.param, tmp_path_factory.mktemp("bases") / request.param)))


@pytest.fixture(scope="module")
def tuned_bert(saved_bert):
    return tunable(encoder_of(saved_bert))


@pytest.fixture
def exported(tuned_bert, tmp_path):
    """A tiny BERT with a head."""

    def of(head: Head) -> Path:
        export(tuned_bert, head, tmp_path / "run", "# card", None)
        return tmp_path / "run"

    return of


def in_a_new_process(codes: list[str], cwd) -> tuple[list[torch.Tensor], set[str]]:
    """What vectors pieces of Python make, one after another, in a place from which Strata cannot be imported.

    Before that, BERT is imported; the second answer is all that comes with it.
    """
    run = """
import gc, json, sys
gc.disable()  # nothing that is imported is garbage
sys.modules["explorer"] = None
import transformers.models.bert.modeling_bert
print(json.dumps(sorted(sys.modules)))
codes, own = json.load(sys.stdin), list(sys.path)
for code in codes:
    names = {}
    exec(code, names)
    print(json.dumps([row.tolist() for row in names["vectors"]]))
    sys.path[:] = own
    for brought in ("layer_reading", "flow_map"):
        sys.modules.pop(brought, None)
"""
    done = subprocess.run(
        [sys.executable, "-c", run], input=json.dumps(codes), cwd=cwd, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    modules, *vectors = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    return [torch.tensor(rows) for rows in vectors], set(modules)


@pytest.mark.product(1)
@pytest.mark.parametrize("head", [*map(head_of, OF_ALL_LAYERS), *AFTER], ids=Head.describe)
def test_every_reading_of_all_layers_and_after_an_encoder_is_read_alike_by_all(tuned, tmp_path, head):
    export(tuned, head, tmp_path / "run", "# card", None)
    expected = as_trained(tuned, head)
    opened = SentenceTransformer(str(tmp_path / "run"), device="cpu", trust_remote_code=True)
    assert_close(opened.encode(list(TEXTS), convert_to_tensor=True), expected)
    assert_close(by_strata(tmp_path / "run"), expected)
    assert declared.head(tmp_path / "run").describe() == head.describe()
    assert sorted(path.stem for path in (tmp_path / "run").glob("*.py")) == sorted(
        name.partition(".")[0] for name in head.own_modules
    )


@pytest.mark.parametrize(
    "settings", [{"activation": "none"}, {"normaliser": "linear"}, {"normaliser": "literal"}, {"first_layer": 1}]
)
def test_every_setting_of_the_attention_travels_along(tuned_bert, tmp_path, settings):
    head = head_of("attention of cls to mean, cls", **settings)
    assert not torch.allclose(
        as_trained(tuned_bert, head), as_trained(tuned_bert, head_of("attention of cls to mean, cls")), atol=1e-3
    )
    export(tuned_bert, head, tmp_path / "run", "# card", None)
    assert_close(by_strata(tmp_path / "run"), as_trained(tuned_bert, head))
    opened = SentenceTransformer(str(tmp_path / "run"), device="cpu", trust_remote_code=True)
    assert_close(opened.encode(list(TEXTS), convert_to_tensor=True), as_trained(tuned_bert, head))


def test_what_the_card_tells_to_type_gives_the_vectors_where_strata_is_not(tuned_bert, tmp_path):
    heads = [head_of("attention of cls to mean, cls"), *AFTER]
    codes, expected = [], []
    for number, head in enumerate(heads):
        folder = tmp_path / f"run{number}"
        export(tuned_bert, head, folder, "# card", None)
        for told in (source_code.sentence_transformers(head), source_code.transformers(head, "AutoModel")):
            code = told.replace(source_code.FOLDER, str(folder))
            known = {}
            exec(code[code.index("sentences = ") :].splitlines()[0], known)
            codes.append(code)
            expected.append(as_trained(tuned_bert, head, tuple(known["sentences"])))
    (tmp_path / "elsewhere").mkdir()
    found, modules = in_a_new_process(codes, tmp_path / "elsewhere")
    early = {name for name in loading.LIBRARIES if "models.auto" not in name}
    assert early <= modules, "nothing is imported early that an encoder would not import"
    assert len(found) == 2 * len(heads) > 10
    for vectors, one in zip(found, expected, strict=True):
        assert_close(vectors, one)


def test_no_library_runs_the_file_in_the_folder_unless_told_to_and_maps_that_are_gone_are_missed(exported, tmp_path):
    run = exported(head_of("attention of cls to mean"))
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        SentenceTransformer(str(run), device="cpu")
    marker = tmp_path / "it_ran"
    (run / "layer_reading.py").write_text(f"open({str(marker)!r}, 'w')")
    by_strata(run)
    assert not marker.exists()
    (run / "1_LayerReading" / "model.safetensors").unlink()
    with pytest.raises(NotWeights, match="holds no weights 'query'"):
        declared.head(run)


@pytest.mark.parametrize("head", [head_of("attention of cls to mean"), *AFTER], ids=Head.describe)
def test_the_file_in_the_folder_stands_alone(head):
    files = of_head(head)
    assert sorted(files) == sorted(f"{name.partition('.')[0]}.py" for name in head.own_modules)
    for text in files.values():
        source = ast.parse(text)
        imported = {
            (node.module or "").split(".")[0] if isinstance(node, ast.ImportFrom) else node.names[0].name.split(".")[0]
            for node in ast.walk(source)
            if isinstance(node, (ast.Import, ast.ImportFrom))
        }
        assert imported <= {"torch", "safetensors", *sys.stdlib_module_names}
        assert ast.get_docstring(source)


@pytest.mark.parametrize(
    ("part", "change", "error", "message"),
    [
        ("1_LayerReading", {"poolings": ["cls", "nonsense"]}, UnsupportedModel, "is not a LayerReading of Strata"),
        ("1_LayerReading", {"attention": {"asks": "cls"}}, UnsupportedModel, "is not a LayerReading of Strata"),
        ("1_LayerReading", {"poolings": [], "attention": None}, UnsupportedModel, "is not a LayerReading of Strata"),
        ("1_LayerReading", {"poolings": ["nonsense of layer 1"]}, UnsupportedModel, "is not a LayerReading of Strata"),
        ("1_LayerReading", {"words": {"first_layer": "4", "window": 2, "whole_window": False}}, UnsupportedModel,
         "is not a LayerReading of Strata"),
        ("1_LayerReading", {"words": ["first_layer"]}, UnsupportedModel, "is not a LayerReading of Strata"),
        ("2_FlowMap", {"levels": 0}, UnsupportedModel, "is not a flow of Strata"),
        ("2_FlowMap", {"levels": "3"}, UnsupportedModel, "is not a flow of Strata"),
        ("2_FlowMap", {"depth": 3}, UnsupportedModel, "is not a flow of Strata"),
        ("2_FlowMap", {"inner": 16}, NotWeights, "has weights of other sizes than its settings"),
        ("2_FlowMap", {"levels": 2}, NotWeights, "has weights of other sizes than its settings"),
        ("2_FlowMap", {"steps": 4}, NotWeights, "holds no weights '"),
    ],
)  # fmt: skip
def test_a_layer_reading_or_a_flow_that_is_none_of_stratas_is_refused(exported, part, change, error, message):
    head = Head(("mean",), (flow_map(),)) if part == "2_FlowMap" else head_of("attention of cls to mean")
    run = exported(head)
    configure(run / part / "config.json", **change)
    with pytest.raises(error, match=message):
        declared.head(run)


def test_a_layer_the_model_does_not_have_is_told_by_its_number(exported):
    run = exported(Head(("mean of layer 1", "cls")))
    configure(run / "1_LayerReading" / "config.json", poolings=["mean of layer 12", "cls"])
    with pytest.raises(UnsupportedModel, match="there is no layer 12; the last is 2"):
        by_strata(run)


def test_what_built_in_modules_can_express_needs_no_file_and_no_trust(tuned_bert, tmp_path):
    for number, head in enumerate([Head(("mean of layer 1",)), Head((FIRST_LAST,)), Head(("max of layers 0 + 2",))]):
        folder = tmp_path / f"run{number}"
        export(tuned_bert, head, folder, "# card", None)
        assert not list(folder.glob("*.py"))
        opened = SentenceTransformer(str(folder), device="cpu")
        assert_close(opened.encode(list(TEXTS), convert_to_tensor=True), as_trained(tuned_bert, head))


@pytest.mark.parametrize(
    "shares", [[1.0, 2.0, 0.0], [1.0, 2.0, 1.0], [1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 1.0]]
)
def test_layers_that_are_weighted_in_another_way_are_refused_with_their_weights(exported, shares):
    run = exported(Head(("mean of layer 1",)))
    save_file({"layer_weights": torch.tensor(shares)}, run / "1_WeightedLayerPooling" / "model.safetensors")
    with pytest.raises(UnsupportedModel, match=f"weights its layers {shares[0]:g}, .* Strata supports one layer"):
        declared.head(run)
