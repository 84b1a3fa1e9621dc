"""Test that a tokenizer which does not fit its model, or multiplies text, is refused."""

import base64
import itertools
import json
from pathlib import Path
from random import Random

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from explorer.encoding.load import model_tokenizer
from explorer.errors import NotAModelFolder, RemoteCodeRefused, TokenizerMissing, UnsupportedModel
from tests.spoiling import configure, encoder_of
from tests.tiny_models import FAMILIES, POSITIONS, save_tiny, tiny_tokenizer


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
def test_a_broken_tokenizer_is_refused_and_one_that_is_no_json_with_the_place(bert, text):
    (bert / "tokenizer.json").write_text(text)
    with pytest.raises(
        TokenizerMissing, match=r"The tokenizer in .* cannot be read \(.*Copy or download its files again. A tokenizer"
    ):
        encoder_of(bert)
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


A = {"Sequence": {"id": "A", "type_id": 0}}
CLS = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}


def replaced(pattern, content):
    return {
        "type": "Replace",
        "pattern": pattern if isinstance(pattern, dict) else {"String": pattern},
        "content": content,
    }


def in_order(*steps, name="normalizers"):
    return {"type": "Sequence", name: list(steps)}


def template(single, ids=(2,)):
    stated = {"[CLS]": {"id": "[CLS]", "ids": list(ids), "tokens": ["[CLS]"] * len(ids)}}
    return {"type": "TemplateProcessing", "single": single, "pair": [A], "special_tokens": stated}


def charsmap(replacement):
    """A SentencePiece map whose trie is of one unit."""
    return base64.b64encode((4).to_bytes(4, "little") + b"\0" * 4 + replacement.encode() + b"\0").decode()


GROWING = {  # what a tokenizer.json has, and how the error names it
    "three of thousands": (
        {"normalizer": in_order(replaced("a", "b" * 4000), replaced("b", "c" * 4000), replaced("c", "d" * 4000))},
        "normalizer Replace 'c' in .* into 4,000, ",
    ),
    "a little at a time": (
        {"normalizer": in_order(*(replaced(one, other * 3) for one, other in zip("abcde", "bcdef", strict=True)))},
        "normalizer Replace 'a' in .* into 243, ",
    ),
    "between all characters": (
        {"normalizer": in_order(*[replaced({"Regex": "x*"}, "y")] * 9)},
        "normalizer Replace 'x[*]' in .* into 243, ",
    ),
    "in an older spelling": (
        {"normalizer": {"normalizers": [{"pattern": {"String": "a"}, "content": "b" * 101}]}},
        "normalizer Replace 'a' in .* into 101, ",
    ),
    "one in another": (
        {"normalizer": in_order(in_order({"type": "Prepend", "prepend": "b" * 99}), replaced("b", "cc"))},
        "normalizer Prepend 'b.*' in .* into 200, ",
    ),
    "a map of SentencePiece": (
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap("ab" * 51)}},
        "normalizer Precompiled in .* into 102, ",
    ),
    "bytes of bytes": (
        {"normalizer": in_order(*[{"type": "ByteLevel"}] * 22)},
        "normalizer ByteLevel in .* into 125, ",
    ),
    "normalizer and pre-tokenizer together": (
        {
            "normalizer": replaced("a", "b" * 21),
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        },
        "normalizer Replace 'a' in .* into 105, ",
    ),
    "decoder": (
        {"decoder": in_order(replaced("a", "b" * 11), replaced("b", "c" * 11), name="decoders")},
        "decoder Replace 'a' in .* into 121, ",
    ),
    "a sentence again and again": (
        {"post_processor": template([CLS, *[A] * 100])},
        "post_processor in .* has a template of 101 parts",
    ),
    "a special token of many ids": (
        {"post_processor": template([*[CLS] * 20, A], ids=[2] * 20)},
        "post_processor in .* has a template of 401 parts",
    ),
}


@pytest.mark.parametrize("kind", GROWING)
def test_a_tokenizer_that_multiplies_text_is_refused_before_it_reads_any(bert, kind):
    changes, named = GROWING[kind]
    configure(bert / "tokenizer.json", **changes)
    with pytest.raises(UnsupportedModel, match=rf"{named}.* accepts 100, since more could use up all memory. Copy the"):
        encoder_of(bert)


def test_a_file_for_releases_of_transformers_is_checked_too(bert):
    (bert / "tokenizer.json").rename(bert / "tokenizer.4.0.0.json")
    configure(bert / "tokenizer.4.0.0.json", normalizer=replaced("a", "b" * 4000))
    configure(bert / "tokenizer_config.json", fast_tokenizer_files=["tokenizer.4.0.0.json"])
    with pytest.raises(UnsupportedModel, match=r"tokenizer.4.0.0.json can turn one character into 4,000"):
        model_tokenizer.load(bert)


@pytest.mark.parametrize("where", ["added_tokens", "unk_token", "tokenizer_config.json"])
def test_a_token_of_enormous_length_is_refused(bert, where):
    path = bert / "tokenizer.json"
    stated = json.loads(path.read_text())
    if where == "added_tokens":
        stated["added_tokens"][0]["content"] = "x" * 1001
    if where == "unk_token":
        stated["model"]["unk_token"] = "x" * 1001
    path.write_text(json.dumps(stated))
    if where == "tokenizer_config.json":
        configure(bert / where, mask_token="x" * 1001)
    with pytest.raises(UnsupportedModel, match=r"has a token of 1,001 characters; Strata accepts 1,000"):
        model_tokenizer.load(bert)


def test_many_long_tokens_are_refused_together(tmp_path):
    model_tokenizer.check_tokens(tmp_path, ["x" * 1000] * 10_000)
    with pytest.raises(UnsupportedModel, match=r"has added tokens of 10,001,000 characters; Strata accepts 10,000,000"):
        model_tokenizer.check_tokens(tmp_path, ["x" * 1000] * 10_001)


@pytest.mark.parametrize("name", ["extra_ids", "offset"])
def test_a_tokenizer_that_makes_up_very_many_tokens_is_refused(bert, name):
    configure(bert / "tokenizer_config.json", **{name: 10**9})
    with pytest.raises(
        UnsupportedModel, match=rf"asks for 1,000,000,000 added tokens \({name}\); Strata accepts 10,000,"
    ):
        model_tokenizer.load(bert)


LLAMA = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
ALBERT = [
    normalizers.Replace("``", '"'),
    normalizers.Replace("''", '"'),
    normalizers.NFKD(),
    normalizers.StripAccents(),
    normalizers.Lowercase(),
    normalizers.Precompiled(base64.b64decode(charsmap("x" * 18))),  # U+FDFA becomes 18 letters
    normalizers.Replace(Regex(" {2,}"), " "),
]
PUNCTUATION = [normalizers.Replace(mark, f" {mark} ") for mark in ".,;:!?()[]{}'\"-–—/&%"]
PUBLISHED = {
    "BERT": ([normalizers.BertNormalizer()], [pre_tokenizers.BertPreTokenizer()], []),
    "RoBERTa": ([], [pre_tokenizers.ByteLevel(add_prefix_space=True)], [decoders.ByteLevel()]),
    "ModernBERT": ([normalizers.NFC()], [pre_tokenizers.ByteLevel()], [decoders.ByteLevel()]),
    "ALBERT": (ALBERT, [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()], [decoders.Metaspace()]),
    "Llama": (LLAMA, [], [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
    "CLIP": (
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()],
        [pre_tokenizers.Split(Regex(r"[\p{L}]+"), "removed"), pre_tokenizers.ByteLevel()],
        [decoders.ByteLevel()],
    ),
    "one that separates punctuation": (PUNCTUATION, [pre_tokenizers.Whitespace()], []),
}


@pytest.mark.parametrize("kind", PUBLISHED)
def test_the_steps_of_published_tokenizers_pass(kind):
    first, second, last = PUBLISHED[kind]
    tokenizer = Tokenizer(tiny_tokenizer().backend_tokenizer.model)
    tokenizer.normalizer = normalizers.Sequence(first)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(second)
    tokenizer.decoder = decoders.Sequence(last)
    model_tokenizer.check(Path(), tokenizer)


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_tokenizers_of_all_families_pass(tmp_path, kind):
    tiny_tokenizer(kind).save_pretrained(tmp_path)
    model_tokenizer.check_file(tmp_path / "tokenizer.json")


PATTERNS = ("a", "ab", "", "a+", "[ab]{2,}", r"\s+", "a*", "a{0,2}", "a{2,0}", "a{2}?", "a+?", "a+{0}", "a|", "(a)",
            r"a\Kb*")  # fmt: skip


def test_a_text_never_grows_beyond_the_bound(monkeypatch):
    texts = ["".join(letters) for size in (1, 2, 3, 4) for letters in itertools.product("ab ", repeat=size)]
    passed = set()
    for seed in range(150):
        drawn = Random(seed)
        first = drawn.choice((normalizers.NFKC(), normalizers.ByteLevel(), normalizers.Prepend("ba")))
        steps = [first, *(some_replacement(drawn) for _ in range(drawn.randint(0, 3)))]
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.Sequence(steps)
        found = max(len(tokenizer.normalizer.normalize_str(text)) / len(text) for text in texts)
        for most in (1, 2, 3, 5, 8, 13):
            monkeypatch.setattr(model_tokenizer, "MOST", most)
            try:
                model_tokenizer.check(Path(), tokenizer)
            except UnsupportedModel:
                continue
            passed.add(most)
            assert found <= most, f"seed {seed}: {steps}"
    assert len(passed) > 3


def some_replacement(drawn):
    pattern = drawn.choice(PATTERNS)
    return normalizers.Replace(drawn.choice((str, Regex))(pattern), drawn.choice(("", "a", "b", "ab", "  ", "aab")))
