import random
from dataclasses import replace

import pytest
from tokenizers import models
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.head import Head
from explorer.encoding.read.prompts import RolePrompts, left_out
from explorer.encoding.read.token_ids import token_ids
from explorer.errors import TokenizerMissing
from tests.tiny_models import FAMILIES, SENTENCES, save_tiny, tiny_tokenizer

KINDS = [kind for kind in FAMILIES if kind != "bart"]
ODD = (
    "",
    " ",
    "\n\t",
    "İß",
    "e\u0301 é",
    "\x00a",
    "a\u200bman",
    "猫と犬",
    "👩‍🚀 runs",
    "[CLS] a <s> man </s> [MASK]",
    "no " * 70,
)
RANGES = ((32, 127), (0, 0x2FF), (0x300, 0x36F), (0x600, 0x6FF), (0x4E00, 0x9FFF), (0x1F300, 0x1FAFF), (0, 0xD7FF))


def texts() -> list[str]:
    drawn = random.Random(0)
    made = [
        "".join(chr(drawn.randint(*span)) for _ in range(drawn.randint(1, 30))) for span in RANGES for _ in range(4)
    ]
    return [*SENTENCES, *ODD, *made]


def tokenizer_of(kind):
    return tiny_tokenizer(kind) if kind in FAMILIES else ByT5Tokenizer()


@pytest.mark.parametrize("kind", [*FAMILIES, "one without a fast form"])
@pytest.mark.parametrize("most", [None, 4, 9])
def test_ids_are_those_of_transformers_under_every_option(kind, most):
    ours, theirs = tokenizer_of(kind), tokenizer_of(kind)
    cut = {"truncation": True, "max_length": most} if most else {}
    for special_tokens in (True, False):
        for side in ("right", "left"):
            for split in (False, True) if kind in FAMILIES else (False,):
                for one in (ours, theirs):
                    one.truncation_side, one.split_special_tokens = side, split
                if kind in FAMILIES:  # what another use of it has left behind
                    ours.backend_tokenizer.enable_padding(length=20)
                    ours.backend_tokenizer.enable_truncation(2)
                wanted = theirs(texts(), add_special_tokens=special_tokens, verbose=False, **cut)["input_ids"]
                assert token_ids(ours, texts(), special_tokens=special_tokens, most=most) == wanted


def test_a_class_with_steps_of_its_own_takes_them():
    class Backwards(PreTrainedTokenizerFast):
        def _encode_plus(self, text, **options):
            return super()._encode_plus([one[::-1] for one in text], **options)

    plain = tiny_tokenizer("bert")
    own = Backwards(tokenizer_object=plain.backend_tokenizer, pad_token="[PAD]")
    assert token_ids(own, ["nam a"]) == token_ids(plain, ["a man"]) != token_ids(plain, ["nam a"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lower_case", [False, True])
def test_an_encoder_puts_its_prompt_before_texts_and_counts_those_that_are_cut(tmp_path, kind, lower_case):
    encoder = load(of_folder(kind, save_tiny(kind, tmp_path / kind)), "float32", "cpu")
    blank = [encoder.tokenizer().pad_token_id]
    for prompt, pooled in (("", True), ("The dog: ", True), ("The dog: ", False)):
        head = replace(encoder.head or Head(("mean",)), prompt=prompt, roles=RolePrompts(pooled=pooled))
        given = [prompt + text for text in texts()]
        given = [text.lower() for text in given] if lower_case else given
        found = encoder.with_changed(head=head, lower_case=lower_case).tokens(texts(), 12)
        tokenizer = encoder.tokenizer()
        wanted = [tokenizer(text, truncation=True, max_length=12)["input_ids"] or blank for text in given]
        assert found.ids == wanted
        assert found.truncated == sum(len(tokenizer(text, verbose=False)["input_ids"]) > 12 for text in given)
        assert all(map(left_out, found.ids)) is (bool(prompt) and not pooled)


def test_no_texts_have_no_ids(tiny_encoder):
    assert token_ids(tiny_tokenizer("bert"), []) == token_ids(ByT5Tokenizer(), []) == tiny_encoder.tokens([]).ids == []


def test_a_tokenizer_that_breaks_off_is_an_error_of_the_model(tiny_encoder):
    damaged = tiny_tokenizer("bert")
    damaged.backend_tokenizer.model = models.WordPiece({"a": 0}, unk_token="[UNK]")  # which is not in the vocabulary
    with pytest.raises(TokenizerMissing, match="is damaged: the tokenizers library broke off"):
        tiny_encoder.with_changed(tokenizer=damaged).tokens(["a word"])
