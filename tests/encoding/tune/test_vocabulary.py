"""Test encoders with fewer words: same vectors of texts whose tokens stay, no new unknown tokens, same exports."""

import json
from pathlib import Path
from random import Random

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from explorer.encoding.export.exporting import export
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.tune import editing
from explorer.encoding.tune.fewer_tokens import smaller
from explorer.encoding.tune.tunable import Tunable
from explorer.encoding.tune.vocabulary import cut_vocabulary
from explorer.errors import UnsupportedModel
from explorer.progress import finish
from tests.exports import by_sentence_transformers, by_transformers
from tests.spoiling import configure, declare, encoder_of
from tests.tiny_models import FAMILIES, POSITIONS, SENTENCES, save_tiny, tiny_model, tiny_tokenizer
from tests.todays_encoders import Static

KEPT = SENTENCES[:2]
UNKNOWN = "<unk>"


def unigram(texts=SENTENCES) -> Tokenizer:
    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", UNKNOWN, "<mask>"]
    kind = trainers.UnigramTrainer(vocab_size=100, special_tokens=special, unk_token=UNKNOWN, show_progress=False)
    backend.train_from_iterator(texts, kind)
    backend.post_processor = tiny_tokenizer("xlm-roberta").backend_tokenizer.post_processor
    return backend


def save(kind: str, folder: Path) -> Path:
    if kind == "static":
        return Static((kind,)).save(folder)
    if kind != "unigram":
        return save_tiny(kind, folder)
    names = {
        "pad_token": "<pad>",
        "unk_token": UNKNOWN,
        "cls_token": "<s>",
        "sep_token": "</s>",
        "mask_token": "<mask>",
    }
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=unigram(), model_max_length=POSITIONS, **names)
    tokenizer.save_pretrained(folder)
    tiny_model("xlm-roberta", len(tokenizer)).save_pretrained(folder)
    return folder


def cut_to(encoder, texts=KEPT):
    return finish(cut_vocabulary(encoder, texts))


def token_ids_agree(encoder) -> None:
    """Every id that a model or a tokenizer states is of the token that it was of."""
    tokenizer, config = encoder.tokenizer(), encoder.model.config
    assert sorted(tokenizer.get_vocab().values()) == list(range(config.vocab_size))
    assert encoder.model.get_input_embeddings().weight.shape[0] == config.vocab_size
    for name in ("pad", "cls", "sep", "mask"):
        stated, own = getattr(config, f"{name}_token_id", None), getattr(tokenizer, f"{name}_token_id")
        assert stated in (None, own), name


@pytest.mark.parametrize("kind", [*FAMILIES, "unigram", "static"])
def test_texts_whose_tokens_stay_have_the_same_vectors_with_fewer_weights(kind, tmp_path):
    encoder = encoder_of(save(kind, tmp_path / kind))
    fewer = cut_to(encoder)
    for text in KEPT:
        assert (fewer.states([text]).hidden - encoder.states([text]).hidden).abs().max() <= 1e-6
        assert fewer.texts(fewer.tokens([text]).ids[0]) == encoder.texts(encoder.tokens([text]).ids[0])
    width = encoder.model.get_input_embeddings().weight.shape[1]
    gone = len(encoder.tokenizer()) - len(fewer.tokenizer())
    assert gone > 5
    assert encoder.model.num_parameters() - fewer.model.num_parameters() == gone * width
    assert fewer.digest != encoder.digest
    token_ids_agree(fewer)
    assert encoder_of(tmp_path / kind).model.num_parameters() == encoder.model.num_parameters(), "it is not changed"


@pytest.mark.parametrize("kind", ["bert", "gpt2", "unigram", "t5", "static"])
def test_an_export_is_opened_by_all_libraries_with_the_same_vectors(kind, tmp_path):
    encoder = encoder_of(save(kind, tmp_path / kind))
    fewer = cut_to(encoder)
    texts = (*KEPT, "the women wait for the dog")  # the last of them with words that are gone
    export(Tunable(fewer, fewer.max_length), fewer.default_head, tmp_path / "export", "", tmp_path / kind)
    again = load(of_folder("again", tmp_path / "export"), precision="float32", device="cpu")
    token_ids_agree(again)
    assert again.tokens(texts).ids == fewer.tokens(texts).ids
    own = torch.cat([fewer.states([text]).hidden[-1].mean(1) for text in texts])
    assert torch.allclose(torch.cat([again.states([text]).hidden[-1].mean(1) for text in texts]), own, atol=1e-6)
    if kind != "gpt2":  # which has no token to pad with in other libraries
        assert torch.allclose(by_sentence_transformers(tmp_path / "export", texts), own, atol=1e-5)
    if kind not in ("static", "gpt2"):
        halves = {"t5": "T5EncoderModel"}
        found = by_transformers(tmp_path / "export", "mean", texts, halves.get(kind, "AutoModel"))
        assert torch.allclose(found, own, atol=1e-5)
    assert str(tmp_path.parent.parent) not in (tmp_path / "export" / "tokenizer.json").read_text()


def trained(kind: str, texts: list[str], random: Random) -> Tokenizer:
    """A tokenizer with few letters, so that its tokens overlap in many ways."""
    special = {"special_tokens": ["<pad>", UNKNOWN], "show_progress": False}
    if kind == "Unigram":
        return unigram(texts)
    backend = Tokenizer(models.BPE(unk_token=UNKNOWN) if kind == "BPE" else models.WordPiece(unk_token=UNKNOWN))
    backend.pre_tokenizer = pre_tokenizers.Metaspace() if kind == "BPE" else pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer if kind == "BPE" else trainers.WordPieceTrainer
    backend.train_from_iterator(texts, trainer(vocab_size=60, **special))
    stated = json.loads(backend.to_str())
    model = stated["model"]
    if kind == "BPE":  # any way to merge two tokens into one, in any order
        model["merges"] = [[a, b] for a in model["vocab"] for b in model["vocab"] if a + b in model["vocab"]]
        random.shuffle(model["merges"])
    return Tokenizer.from_str(json.dumps(stated))


@pytest.mark.parametrize("kind", ["WordPiece", "BPE", "Unigram"])
def test_tokens_that_stay_are_found_as_before_and_nothing_becomes_unknown(kind):
    same = 0
    for seed in range(6):
        random = Random(seed)
        some = [" ".join("".join(random.choices("abc", k=random.randint(1, 8))) for _ in range(4)) for _ in range(60)]
        backend = trained(kind, some, random)
        backend = Tokenizer.from_str(backend.to_str())  # the scores of a Unigram lose their last digit in a file
        used = {number for text in some[:4] for number in backend.encode(text).ids}
        fewer = Tokenizer.from_str(json.dumps(smaller(json.loads(backend.to_str()), used, "made up")))
        assert fewer.get_vocab_size() < backend.get_vocab_size()
        others = ["".join(random.choices("abcab ", k=30)) for _ in range(30)]
        strange = ["".join(random.choices("abcz ", k=20)) for _ in range(5)]
        for text in (*some, *others, *strange):
            before, after = backend.encode(text).tokens, fewer.encode(text).tokens
            assert after.count(UNKNOWN) <= before.count(UNKNOWN), text
            if all(token in fewer.get_vocab() for token in before):
                same += 1
                assert after == before, text
    assert same > 20


def test_words_that_are_gone_are_spelled_and_prompts_stay_whole(bert):
    prompts = {"query": "women: ", "document": ""}
    declare(bert, "Transformer", "Pooling", pooling={})
    (bert / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    encoder = encoder_of(bert)
    fewer = cut_to(encoder)
    assert fewer.texts(fewer.tokens(["guitar women weather"]).ids[0]) == (
        *("[CLS]", "guitar", "women", *("w", "##e", "##a", "##t", "##h", "##e", "##r"), "[SEP]"),
    )


def test_words_beyond_the_limit_of_a_text_stay_too(bert):
    fewer = cut_to(encoder_of(bert), [" ".join(["the"] * POSITIONS + ["park"])])
    assert fewer.texts(fewer.tokens(["park"]).ids[0]) == ("[CLS]", "park", "[SEP]")


def test_positions_that_start_after_padding_do_not_move(tmp_path):
    folder = save_tiny("roberta", tmp_path / "roberta")
    stated = json.loads((folder / "tokenizer.json").read_text())
    words = stated["model"]["vocab"]
    first, words["weather"], words["<s>"] = words["weather"], 0, words["weather"]  # a word before padding, which is 1
    stated["post_processor"]["special_tokens"]["<s>"]["ids"] = [first]
    stated["added_tokens"] = [token for token in stated["added_tokens"] if token["content"] != "<s>"]
    (folder / "tokenizer.json").write_text(json.dumps(stated))
    configure(folder / "config.json", bos_token_id=first)
    encoder = encoder_of(folder)
    fewer = cut_to(encoder)
    assert fewer.tokenizer().pad_token_id == 1
    assert fewer.model.config.bos_token_id == fewer.tokens([KEPT[0]]).ids[0][0] > 1
    assert torch.equal(fewer.states(KEPT[:1]).hidden, encoder.states(KEPT[:1]).hidden)


def test_layers_are_cut_too(bert):
    encoder = encoder_of(bert)
    both, one = editing.cut(cut_to(encoder), 1), editing.cut(encoder, 1)
    assert torch.equal(both.states(KEPT[:1]).hidden, one.states(KEPT[:1]).hidden)
    assert len({both.digest, one.digest, cut_to(encoder).digest, encoder.digest}) == 4


def model_of(folder: Path, **changes: object) -> Path:
    """A folder with another model in its tokenizer.json."""
    stated = json.loads((folder / "tokenizer.json").read_text())
    stated["model"] |= changes
    (folder / "tokenizer.json").write_text(json.dumps(stated))
    return folder


def without(folder: Path, *tokens: str) -> Path:
    """A folder whose tokenizer lacks tokens."""
    words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    return model_of(folder, vocab={token: number for token, number in words.items() if token not in tokens})


def test_what_would_make_texts_unknown_is_refused(bert, tmp_path):
    whole = "Leave it whole, or choose an encoder such as BERT"
    with pytest.raises(UnsupportedModel, match=f"token 'dog' has a character that is no token, .*{whole}"):
        cut_to(encoder_of(without(bert, "##g", "g")))
    words = {"type": "WordLevel", "unk_token": "[UNK]"}
    with pytest.raises(UnsupportedModel, match=f"its tokenizer is a WordLevel, which cannot spell.*{whole}"):
        cut_to(encoder_of(model_of(save_tiny("bert", tmp_path / "words"), **words)))
    with pytest.raises(UnsupportedModel, match=f"its BPE marks parts of words, or merges them at random.*{whole}"):
        cut_to(encoder_of(model_of(save_tiny("gpt2", tmp_path / "dropout"), dropout=0.5)))


def test_tokens_of_bytes_spell_what_is_no_token():
    of_bytes = [[f"<0x{number:02X}>", -9.0] for number in range(256)]
    pieces = [["<unk>", 0.0], ["ab", -1.0], ["c", -2.0], ["▁", -3.0], ["▁cc", -4.0]]  # of "ab" only together
    steps = {"normalizer": None, "post_processor": None, "decoder": None, "added_tokens": []}
    model = {"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": [*pieces, *of_bytes]}
    stated = {**steps, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}}
    stated["model"] = model
    fewer = Tokenizer.from_str(json.dumps(smaller(stated, {4}, "made up")))
    assert fewer.encode("abcc cc é").tokens == ["▁", "<0x61>", "<0x62>", "c", "c", "▁cc", "▁", "<0xC3>", "<0xA9>"]
    stated["model"] = model | {"byte_fallback": False}
    with pytest.raises(UnsupportedModel, match="token '<0x00>' has a character that is no token"):
        smaller(stated, {4}, "made up")


def test_a_tokenizer_without_a_file_of_its_tokens_is_refused(bert):
    encoder = encoder_of(bert)
    with pytest.raises(UnsupportedModel, match=r"cannot be cut: its tokenizer has no tokenizer\.json\. Leave it whole"):
        cut_to(encoder.with_model(encoder.model, encoder.digest, encoder.head, ByT5Tokenizer()))


def test_a_model_that_uses_token_ids_in_other_ways_is_refused(bert):
    encoder = encoder_of(bert)
    hook = encoder.model.get_input_embeddings().register_forward_hook(lambda _, given, out: out * given[0][..., None])
    with pytest.raises(UnsupportedModel, match="states depend on the ids of tokens in other ways than by word emb"):
        cut_to(encoder)
    hook.remove()
