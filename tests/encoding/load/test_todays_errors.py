"""Test that folders of today's encoders with a missing file, a wrong width or too long a prompt are refused clearly."""

import shutil
from pathlib import Path

import pytest
import torch

from explorer.encoding.read.prompts import RolePrompts
from explorer.errors import BadChoice, NotAModelFolder, NotWeights, TokenizerMissing
from explorer.evaluating.kinds.queries import check_prompts
from tests.spoiling import configure, encoder_of, reweigh
from tests.tiny_models import WIDTH
from tests.todays_encoders import KINDS

BERT, E5, LABSE = "google-bert/bert-base-uncased", "intfloat/e5-base-v2", "sentence-transformers/LaBSE"
GEMMA, QWEN, INSTRUCTOR = "google/embeddinggemma-300m", "Qwen/Qwen3-Embedding-0.6B", "hkunlp/instructor-base"
TABLE, MODEL2VEC = "sentence-transformers/static-retrieval-mrl-en-v1", "minishlab/potion-base-8M"
WEIGHTS, TOKENIZER, CONFIG = r"has no weights: .* Copy", r"has no tokenizer: .* Copy", r"config.json is missing"

LONG = "the dog " * 300


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder of a kind of encoder, built once."""
    made: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in made:
            kind = next(kind for kind in KINDS if name in kind.names)
            made[name] = kind.save(tmp_path_factory.mktemp("built"))
        return made[name]

    return of


@pytest.fixture
def copied(built, tmp_path):
    return lambda name: Path(shutil.copytree(built(name), tmp_path / "it"))


@pytest.mark.parametrize(
    ("name", "file", "error", "message"),
    [
        (BERT, "config.json", NotAModelFolder, CONFIG),
        (BERT, "model.safetensors", NotWeights, WEIGHTS),
        (BERT, "tokenizer.json", TokenizerMissing, TOKENIZER),
        (E5, "config.json", NotAModelFolder, CONFIG),
        (
            E5,
            "1_Pooling/config.json",
            NotAModelFolder,
            r"1_Pooling/config.json is missing, which states",
        ),
        (
            LABSE,
            "2_Dense/config.json",
            NotAModelFolder,
            r"2_Dense/config.json is missing, .* Copy or download",
        ),
        (LABSE, "2_Dense/model.safetensors", NotWeights, r"2_Dense holds no weights 'linear.weight'. Copy or download"),
        (GEMMA, "3_Dense/config.json", NotAModelFolder, r"3_Dense/config.json is missing"),
        (QWEN, "tokenizer.json", TokenizerMissing, TOKENIZER),
        (INSTRUCTOR, "2_Dense/model.safetensors", NotWeights, r"2_Dense holds no weights 'linear.weight'. Copy"),
        (TABLE, "model.safetensors", NotWeights, WEIGHTS),
        (TABLE, "tokenizer.json", TokenizerMissing, TOKENIZER),
        (MODEL2VEC, "model.safetensors", NotWeights, WEIGHTS),
    ],
)
def test_a_missing_file_is_named_in_one_line(copied, name, file, error, message):
    folder = copied(name)
    (folder / file).unlink()
    with pytest.raises(error, match=message) as refused:
        encoder_of(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", [LABSE, INSTRUCTOR, GEMMA])
def test_a_dense_layer_of_a_wrong_width_is_refused_with_both_widths(copied, name):
    folder = copied(name)
    narrow = {"linear.weight": torch.zeros(8, 24), "linear.bias": torch.zeros(8)}
    reweigh(folder / "2_Dense", lambda found: {part: narrow[part] for part in found})
    message = rf"'tiny' do not fit together: Dense 8.* takes vectors of width 24, and gets vectors of width {WIDTH}\."
    with pytest.raises(NotWeights, match=message) as refused:
        encoder_of(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", [E5, QWEN, INSTRUCTOR, TABLE])
def test_prompts_of_queries_and_documents_that_leave_no_room_are_refused(built, name):
    encoder = encoder_of(built(name))
    for role, prompts in (("query", RolePrompts(query=LONG)), ("document", RolePrompts(document=LONG))):
        with pytest.raises(BadChoice, match=rf"The {role} prompt 'the dog .* of tiny has .* leaves no room .* Shorten"):
            check_prompts(prompts, encoder, encoder.limit(20))


@pytest.mark.parametrize("name", [E5, QWEN, INSTRUCTOR, TABLE])
def test_a_default_prompt_that_leaves_no_room_is_refused_where_there_is_a_limit(copied, name):
    folder = copied(name)
    configure(folder / "config_sentence_transformers.json", prompts={"all": LONG}, default_prompt_name="all")
    if name == TABLE:
        assert encoder_of(folder).default_head.prompt == LONG
    else:
        with pytest.raises(BadChoice, match=r"^The default prompt 'the dog .* leaves no room .* Shorten"):
            encoder_of(folder)
