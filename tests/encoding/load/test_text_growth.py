import base64
import itertools
import json
from pathlib import Path
from random import Random

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from explorer.encoding.load import model_tokenizer
from explorer.errors import UnsupportedModel
from tests.spoiling import configure, encoder_of
from tests.tiny_models import FAMILIES, tiny_tokenizer

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


PATTERNS = (
    "a",
    "ab",
    "",
    r"a+",
    r"[ab]{2,}",
    r"\s+",
    "a*",
    "a{0,2}",
    "a{2,0}",
    "a{2}?",
    "a+?",
    "a+{0}",
    "a|",
    "(a)",
    r"a\Kb*",
)


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
