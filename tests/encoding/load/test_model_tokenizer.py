import json
from pathlib import Path

import pytest

from explorer.encoding.load import model_tokenizer
from explorer.errors import (
    NotAModelFolder,
    RemoteCodeRefused,
    TokenizerMissing,
    UnsupportedModel,
)
from tests.spoiling import configure, encoder_of
from tests.tiny_models import POSITIONS, save_tiny, tiny_tokenizer


def test_a_decoder_pads_with_a_token_it_has(tmp_path):
    folder = save_tiny("gpt2", tmp_path / "gpt2")
    assert model_tokenizer.load(folder).pad_token == "<|endoftext|>"
    configure(folder / "tokenizer_config.json", eos_token=None, unk_token=None, bos_token=None)
    assert model_tokenizer.load(folder).pad_token_id == 0


def test_a_tokenizer_of_another_model_is_refused_before_it_breaks_an_index(bert):
    configure_vocabulary(bert, "guitarist", 78)
    with pytest.raises(UnsupportedModel, match=r"has ids up to 78, .* embeddings for 0 to 77: they do not bel"):
        encoder_of(bert)
    configure_vocabulary(bert, "drums", 500)  # numbers may be left out
    with pytest.raises(UnsupportedModel, match="has ids up to 500"):
        encoder_of(bert)


def test_a_template_that_has_the_sentence_twice_is_refused_where_it_is_too_long(bert):
    path = bert / "tokenizer.json"
    stated = json.loads(path.read_text())
    single = stated["post_processor"]["single"]
    (sentence,) = [part for part in single if "Sequence" in part]
    stated["post_processor"]["single"] = [*single, sentence]
    path.write_text(json.dumps(stated))
    encoder = encoder_of(bert)
    assert len(encoder.tokens(["guitar"]).ids[0]) == 4, "short sentences fit"
    with pytest.raises(UnsupportedModel, match=rf"cannot truncate a sentence to {POSITIONS} tokens: the post_proc"):
        encoder.tokens(["guitar " * 100])


def configure_vocabulary(folder: Path, word: str, number: int) -> None:
    path = folder / "tokenizer.json"
    stated = json.loads(path.read_text())
    stated["model"]["vocab"][word] = number
    path.write_text(json.dumps(stated))


@pytest.mark.parametrize("text", ["{}", '{"model": {"type": "Nonsense"}}', '{"normalizer": {"type": "Nonsense"}}'])
def test_a_broken_tokenizer_is_refused(bert, text):
    (bert / "tokenizer.json").write_text(text)
    with pytest.raises(
        TokenizerMissing, match=r"The tokenizer in .* cannot be read \(.*Copy or download its files again. A tokenizer"
    ):
        encoder_of(bert)


def test_a_tokenizer_that_is_no_json_is_refused_with_the_place(bert):
    (bert / "tokenizer.json").write_text("{")
    with pytest.raises(NotAModelFolder, match=r"tokenizer.json is not valid JSON \(.*char 1\)\). Copy or download the"):
        encoder_of(bert)


def test_a_vocabulary_of_nothing_but_special_tokens_is_refused(bert):
    (bert / "tokenizer.json").unlink()
    (bert / "tokenizer_config.json").unlink()
    (bert / "merges.txt").touch()
    (bert / "vocab.json").write_text("{}")  # files of another family: transformers would make up five tokens
    with pytest.raises(TokenizerMissing, match="knows 5 tokens, all of them special: every word would be unkn"):
        encoder_of(bert)


def test_a_tokenizer_that_brings_code_is_refused(bert):
    (bert / "tokenizer.json").rename(bert / "vocab.txt")
    own = {"tokenizer_class": "OwnTokenizer", "auto_map": {"AutoTokenizer": ["tokenization_own.OwnTokenizer", None]}}
    configure(bert / "tokenizer_config.json", **own)
    (bert / "tokenization_own.py").write_text("raise SystemExit('ran')")
    with pytest.raises(RemoteCodeRefused, match=r"The tokenizer in .* would run Python code that comes with the model"):
        encoder_of(bert)


def test_a_vocabulary_file_alone_is_a_tokenizer(bert):
    words = tiny_tokenizer().get_vocab()
    (bert / "tokenizer.json").unlink()
    (bert / "tokenizer_config.json").unlink()
    (bert / "vocab.txt").write_text("\n".join(sorted(words, key=words.__getitem__)) + "\n")
    encoder = encoder_of(bert)
    assert encoder.tokens(["the dog runs"]).ids == [tiny_tokenizer()("the dog runs")["input_ids"]]
    assert encoder.max_length == POSITIONS, "the tokenizer knows no limit, the model does"


def test_the_least_of_all_limits_counts(bert, tmp_path):
    configure(bert / "tokenizer_config.json", model_max_length=40)
    assert encoder_of(bert).max_length == 40
    configure(bert / "tokenizer_config.json", model_max_length=10**30)
    assert encoder_of(bert).max_length == POSITIONS
    (bert / "sentence_bert_config.json").write_text('{"max_seq_length": 20}')
    assert encoder_of(bert).max_length == 20
    (bert / "sentence_bert_config.json").write_text('{"max_seq_length": 200}')
    assert encoder_of(bert).max_length == POSITIONS, "a model cannot read beyond its positions"
    (bert / "sentence_bert_config.json").write_text('{"max_seq_length": 1}')
    with pytest.raises(UnsupportedModel, match=r"may have 1 tokens, but 2 special ones are added .* Correct max_seq_l"):
        encoder_of(bert)
    t5 = save_tiny("t5", tmp_path / "t5")
    configure(t5 / "tokenizer_config.json", model_max_length=10**30)
    assert encoder_of(t5).max_length == 512, "nobody sets a limit"
