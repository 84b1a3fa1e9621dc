"""Test that a translation depends on sentence and model alone, and that unusable models are refused."""

import json
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForSeq2SeqLM

from explorer.encoding.load.language_models import Translator, load_translator
from explorer.encoding.locate import model_names
from explorer.encoding.locate.model_names import of_folder
from explorer.errors import (
    BadChoice,
    ModelTooLarge,
    NotAModelFolder,
    NotWeights,
    TokenizerMissing,
    UnsupportedModel,
    WeightsMissing,
)
from tests.spoiling import configure, reweigh
from tests.tiny_models import POSITIONS, SENTENCES, save_tiny
from tests.tiny_translators import TRANSLATORS, save_translator


def translator_of(folder: Path, **options: int) -> Translator:
    return load_translator(of_folder("tiny", folder), device="cpu", **({"longest": 10, "beams": 3} | options))


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("translators")
    return {kind: save_translator(kind, place / kind) for kind in TRANSLATORS}


@pytest.fixture
def bart(tmp_path) -> Path:
    return save_translator("bart", tmp_path / "bart")


@pytest.mark.parametrize("kind", TRANSLATORS)
def test_a_translation_does_not_depend_on_what_it_is_read_with(saved, kind):
    translator = translator_of(saved[kind])
    together = translator.translate(SENTENCES)
    assert len(set(together)) > 2, "the model answers all sentences alike: the test would show nothing"
    assert [translator.translate([sentence])[0] for sentence in SENTENCES] == together
    assert translator.translate(SENTENCES[::-1]) == together[::-1]
    assert translator_of(saved[kind], batch=2).translate(SENTENCES) == together
    assert translator.translate([]) == []


@pytest.mark.parametrize("kind", TRANSLATORS)
def test_with_one_beam_the_likeliest_token_is_written_each_time(saved, kind):
    translator = translator_of(saved[kind], beams=1)
    model, tokenizer, settings = translator.model, translator.tokenizer, translator.model.generation_config
    for sentence, found in zip(SENTENCES, translator.translate(SENTENCES), strict=True):
        read = torch.tensor([tokenizer(sentence)["input_ids"]])
        written = [settings.decoder_start_token_id]
        while len(written) < 10 and (len(written) == 1 or written[-1] != settings.eos_token_id):
            with torch.no_grad():
                scores = model(input_ids=read, decoder_input_ids=torch.tensor([written]), use_cache=False).logits
            written.append(int(scores[0, -1].argmax()))
        if len(written) == 10 and settings.forced_eos_token_id is not None:
            written[-1] = settings.forced_eos_token_id
        assert found == tokenizer.decode(written, skip_special_tokens=True).strip()


def test_more_beams_find_likelier_translations(saved):
    def likelihoods(beams: int) -> list[float]:
        translator = translator_of(saved["bart"], beams=beams)
        found = []
        for sentence in SENTENCES:
            read = translator.tokenizer(sentence)["input_ids"]
            written = translator.write([read], most=6)
            with torch.no_grad():
                logits = translator.model(input_ids=torch.tensor([read]), decoder_input_ids=written[:, :-1]).logits
            chances = logits.log_softmax(-1)[0].gather(-1, written[0, 1:, None])[:, 0]
            found.append(chances[:-1].mean().item())  # the last is an end by force
        return found

    one, many = likelihoods(1), likelihoods(8)
    assert all(better >= worse - 1e-6 for better, worse in zip(many, one, strict=True))
    assert sum(many) > sum(one) + 0.005


def test_weights_may_be_pickled_and_chance_has_no_say_whatever_the_model_was_published_with(bart):
    expected = translator_of(bart).translate(SENTENCES)
    configure(bart / "generation_config.json", do_sample=True, temperature=5.0, top_k=10, num_beams=7, max_length=3)
    assert translator_of(bart).translate(SENTENCES) == expected
    reweigh(bart, lambda weights: weights, ".bin")
    assert translator_of(bart).translate(SENTENCES) == expected


def test_a_long_sentence_is_read_to_the_models_end_and_a_translation_breaks_off(bart):
    translator = translator_of(bart, longest=1000)
    assert (translator.reads, translator.writes) == (POSITIONS, POSITIONS)
    assert len(translator.translate(["a man " * 500])) == 1
    assert translator_of(bart, longest=6).write([[0, 5, 2]], most=6).shape[1] <= 6


def test_a_translator_knows_what_it_is(bart):
    found = of_folder("tiny", bart)
    translator = load_translator(found, device="cpu")
    assert (translator.name, translator.digest) == ("tiny", found.digest)
    assert (translator.beams, translator.batch, translator.writes) == (5, 32, POSITIONS)
    assert not translator.model.training
    assert {weight.dtype for weight in translator.model.parameters()} == {torch.float32}
    assert not any(weight.requires_grad for weight in translator.model.parameters())


def test_positions_that_are_calculated_may_be_missing_as_in_wmt19s_files(saved, tmp_path):
    folder = save_translator("fsmt", tmp_path / "fsmt")
    whole = load_file(folder / "model.safetensors")
    reweigh(folder, lambda weights: {name: one for name, one in weights.items() if "embed_positions" not in name})
    assert len(load_file(folder / "model.safetensors")) == len(whole) - 2
    read = translator_of(folder).model.state_dict()
    assert all(torch.equal(read[name], weight) for name, weight in whole.items())


def test_weights_that_are_learned_may_not(bart):
    reweigh(bart, lambda weights: {name: one for name, one in weights.items() if "decoder.layers.1.fc1" not in name})
    with pytest.raises(WeightsMissing, match=r"lacks 2 of the model's weights \(model\.decoder\.layers\.1\.fc1\.bias"):
        translator_of(bart)


def test_an_encoder_is_no_translator(tmp_path):
    with pytest.raises(UnsupportedModel, match=r"'tiny' \(bert\) is not a translation model: .*wmt19-en-de'"):
        translator_of(save_tiny("bert", tmp_path / "bert"))
    with pytest.raises(WeightsMissing, match=r"lacks \d+ of the model's weights \(decoder"):
        translator_of(save_tiny("t5", tmp_path / "t5"))


def test_a_model_of_many_languages_is_refused_before_it_is_read(bart):
    configure(bart / "config.json", model_type="m2m_100")
    with pytest.raises(UnsupportedModel, match=r"\(m2m_100\) is multilingual, which Strata does not support. Choose"):
        translator_of(bart)


def test_what_is_broken_or_lacking_is_named(bart):
    (bart / "tokenizer.json").rename(bart / "hidden")
    with pytest.raises(TokenizerMissing, match="has no tokenizer"):
        translator_of(bart)
    (bart / "hidden").rename(bart / "tokenizer.json")
    weights = bart / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    with pytest.raises(NotWeights, match="it is truncated"):
        translator_of(bart)
    (bart / "config.json").unlink()
    with pytest.raises(NotAModelFolder, match=r"config\.json is missing"):
        translator_of(bart)


def test_a_tokenizer_of_another_model_is_refused(bart):
    assert json.loads((bart / "config.json").read_text())["vocab_size"] > 20
    configure(bart / "config.json", vocab_size=20)
    reweigh(
        bart,
        lambda weights: {
            name: one[..., :20].clone()
            if name == "final_logits_bias"
            else one[:20].clone()
            if "shared" in name
            else one
            for name, one in weights.items()
        },
    )
    with pytest.raises(UnsupportedModel, match="they do not belong together"):
        translator_of(bart)


def test_a_model_that_cannot_write_is_found_out_while_loading(bart):
    configure(bart / "generation_config.json", decoder_start_token_id=9999)
    with pytest.raises(
        UnsupportedModel, match=r"\(BartForConditionalGeneration\) cannot translate a word \(IndexError"
    ):
        translator_of(bart)


@pytest.mark.parametrize("choice", ["beams", "batch", "longest"])
def test_a_number_below_one_is_refused(bart, choice):
    with pytest.raises(BadChoice, match=f"{choice} is 0; at least 1 is needed"):
        translator_of(bart, **{choice: 0})


@pytest.mark.parametrize("said", ["CUDA out of memory. Tried", "DefaultCPUAllocator: can't allocate memory: you"])
def test_too_little_memory_is_said_with_what_needs_less(bart, monkeypatch, said):
    translator = translator_of(bart)

    def refuse(*_, **__):
        raise RuntimeError(said)

    monkeypatch.setattr(translator.model, "generate", refuse)
    with pytest.raises(
        ModelTooLarge, match=r"batch of 5 sentences and beam size 3. Choose a smaller batch or beam size"
    ):
        translator.translate(SENTENCES)


def _wmt19(folder: Path) -> Path:
    """A folder with the files of facebook/wmt19-en-de: two vocabularies, pickled weights without positions."""
    letters = sorted(set("".join(SENTENCES).lower()) - {" "})
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    read = [*special, *letters, *(f"{letter}</w>" for letter in letters)]
    written = [*special, *(f"{letter}</w>" for letter in "ABCDEFGHIJ"), *"ABCDEFGHIJ"]
    folder.mkdir()
    for side, words in (("src", read), ("tgt", written)):
        (folder / f"vocab-{side}.json").write_text(json.dumps({word: number for number, word in enumerate(words)}))
    (folder / "merges.txt").write_text("m a\na n</w>\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"langs": ["en", "de"], "model_max_length": 1024}))
    sizes = {"src_vocab_size": len(read), "tgt_vocab_size": len(written)}
    config = AutoConfig.for_model("fsmt", langs=["en", "de"], **sizes, **TRANSLATORS["fsmt"][1])
    torch.manual_seed(0)
    model = AutoModelForSeq2SeqLM.from_config(config)
    model.save_pretrained(folder)
    for name in ("model.safetensors", "generation_config.json"):
        (folder / name).unlink()
    weights = {name: one for name, one in model.state_dict().items() if "embed_positions" not in name}
    torch.save(weights, folder / "pytorch_model.bin")
    return folder


def test_wmt19s_files_are_a_whole_model_on_this_disk(tmp_path):
    assert model_names.lacks(_wmt19(tmp_path / "wmt19")) == ""


def test_wmt19s_files_are_read_and_written_in_two_vocabularies(tmp_path):
    pytest.importorskip("sacremoses", reason="WMT19's tokenizer needs sacremoses")
    written = translator_of(_wmt19(tmp_path / "wmt19")).translate(SENTENCES)
    assert len(set(written)) > 1
    assert set("".join(written)) <= set("ABCDEFGHIJ ")


def test_a_package_that_wmt19_needs_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(
        TokenizerMissing, match=r"a package that is not installed. Install it with 'pip install sacremo"
    ):
        translator_of(_wmt19(tmp_path / "wmt19"))
