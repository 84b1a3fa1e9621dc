"""Test prompts whose tokens are left out of the pooling, in every family of tokenizers and under every pooling."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as theirs

from explorer.encoding.export.exporting import export
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.head import Head
from explorer.encoding.read.parts.layer_attention import LayerAttention
from explorer.encoding.read.parts.token_convolution import TokenConvolution
from explorer.encoding.read.parts.word_weights import WordWeights
from explorer.encoding.read.pooling import OWN, POOLINGS, parse
from explorer.encoding.read.prompts import PromptedText, after, left_out, prompt_of
from explorer.encoding.read.sentence_pairs import FIRST, SECOND, Composer, inputs
from explorer.encoding.read.word_parts import CLOSE, ends_of, word_parts, words_of
from explorer.errors import UnsupportedModel
from explorer.measuring.sentences.sentence_pair import token_pair
from explorer.progress import finish
from tests.exports import assert_close, tunable
from tests.spoiling import encoder_of
from tests.tiny_models import POSITIONS, SENTENCES, WIDTH, save_tiny

PROMPT, QUERY, DOCUMENT = "the guitar: ", "A man plays ", "women"
LEFT_OUT = 4  # tokens of the prompt in a BERT: [CLS] the guitar [UNK]
CONVOLUTION = TokenConvolution((torch.linspace(-1, 1, 4 * WIDTH * 3).view(4, WIDTH, 3),), (torch.zeros(4),))
TEXTS = (*SENTENCES, "", " ".join(["the dog"] * POSITIONS))
# what sentence-transformers calls them, in the order in which they are side by side
LIBRARY = tuple(pooling.library for pooling in POOLINGS.values())


def saved(kind: str, folder: Path, side: str = "right", poolings: tuple[str, ...] = LIBRARY) -> Path:
    """A tiny model whose prompts are left out of the pooling, as sentence-transformers saves it."""
    first = theirs.Transformer(str(save_tiny(kind, folder / "made")))
    tokenizer = first.tokenizer
    tokenizer.padding_side = side
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    prompts = {"sentence": PROMPT, "query": QUERY, "document": DOCUMENT}
    modules = [first, theirs.Pooling(WIDTH, poolings, include_prompt=False)]
    model = SentenceTransformer(modules=modules, device="cpu", prompts=prompts, default_prompt_name="sentence")
    model.save(str(folder / "saved"), create_model_card=False)
    return folder / "saved"


@pytest.fixture(scope="module")
def prompted(tmp_path_factory):
    return saved("bert", tmp_path_factory.mktemp("prompted"), poolings=("mean",))


@pytest.fixture(scope="module")
def encoder(prompted):
    return encoder_of(prompted)


def model_defaults(encoder, texts, prompt=None):
    ids = encoder.tokens(texts, prompt=prompt).ids
    found = {}
    for views in encoder.views_of(ids):
        found |= dict(zip(views.positions, views.own, strict=True))
    return torch.stack([found[place] for place in range(len(texts))]).numpy()


# a T5 has no token before a sentence, a GPT-2 none at all around it: of an empty text nothing is pooled
@pytest.mark.parametrize(("kind", "side"), [("bert", "right"), ("mpnet", "left"), ("t5", "right"), ("gpt2", "left")])
def test_a_prompt_that_is_left_out_is_left_out_of_every_pooling_as_in_sentence_transformers(kind, side, tmp_path):
    folder = saved(kind, tmp_path, side)
    encoder, opened = encoder_of(folder), SentenceTransformer(str(folder), device="cpu")
    pairs = (
        (model_defaults(encoder, TEXTS), opened.encode(list(TEXTS))),
        (model_defaults(encoder, [after(QUERY, text) for text in TEXTS], ""), opened.encode_query(list(TEXTS))),
        (model_defaults(encoder, [after(DOCUMENT, text) for text in TEXTS], ""), opened.encode_document(list(TEXTS))),
        # the same words without a prompt are words
        (model_defaults(encoder, [QUERY + TEXTS[0]], ""), opened.encode([QUERY + TEXTS[0]], prompt="")),
    )
    for own, other in pairs:
        np.testing.assert_allclose(own, other, atol=1e-6, rtol=0)


def test_every_layer_and_pooling_of_the_grid_leaves_the_prompt_out(encoder):
    text = SENTENCES[1]
    with torch.no_grad():
        rows = encoder.tokenizer()(PROMPT + text, return_tensors="pt")
        states = encoder.model(**rows, output_hidden_states=True).hidden_states
    layers = [layer[0, LEFT_OUT:].double() for layer in states]
    (views,) = encoder.views([text])
    slow = {"cls": lambda each: each[0], "mean": lambda each: each.mean(0), "max": lambda each: each.amax(0)}
    for row, cells in zip(encoder.rows, views.grid, strict=True):
        tokens = sum(layers[layer] for layer in row.layers) / len(row.layers)
        for pooling, found in zip(encoder.poolings, cells, strict=True):
            torch.testing.assert_close(found[0].double(), slow[pooling](tokens), atol=1e-5, rtol=0)


def test_a_prompt_of_a_known_name_is_left_out_where_its_folder_does_not_ask_for_it(tmp_path):
    model = SentenceTransformer(str(save_tiny("t5", tmp_path / "made")), device="cpu", prompts={"query": QUERY})
    model.save(str(tmp_path / "saved"), create_model_card=False)
    model.set_pooling_include_prompt(False)  # as sentence-transformers does by the name
    encoder = load(of_folder("hkunlp/instructor-base", tmp_path / "saved"), "float32", "cpu")
    own = model_defaults(encoder, encoder.role_prompts.before_queries(SENTENCES))
    np.testing.assert_allclose(own, model.encode_query(list(SENTENCES)), atol=1e-6, rtol=0)


@pytest.mark.parametrize("title", ["model default", "cls of layer 1", "max of layer 1", "weighted mean of layer 1"])
def test_the_parts_of_words_add_up_without_a_prompt_that_is_left_out(prompted, title):
    encoder = load(of_folder("tiny", prompted), "float32", "cpu", EAGER)
    sentence, reading = SENTENCES[0], parse(title, 2)
    words = words_of(encoder, sentence)
    assert (words.left_out, words.texts) == (LEFT_OUT, tuple(sentence.split()))
    ends = ends_of(encoder, sentence, reading)
    (views,) = encoder.views([sentence], also=[reading])
    vector = views.own if reading == OWN else views.also.get(reading)
    if vector is None:
        vector = views.grid[1, encoder.poolings.index(reading.pooling)]
    torch.testing.assert_close(ends.last.float(), torch.nn.functional.normalize(vector)[0], atol=1e-5, rtol=0)
    parts, _ = finish(word_parts(ends))
    assert np.linalg.norm((ends.last - ends.first).numpy() - parts.sum(axis=0)) < CLOSE


@pytest.mark.parametrize("pooling", [name for name, one in POOLINGS.items() if one.shares])
def test_tokens_of_a_prompt_that_is_left_out_add_nothing_to_a_cosine(encoder, pooling):
    pair = finish(token_pair(encoder, *SENTENCES[:2], parse(f"{pooling} of layer 2", 2)))
    for shares in pair.shares:
        assert shares.sum() == pytest.approx(pair.cosine, abs=1e-5)
        assert not shares[:LEFT_OUT].any()
        assert shares[LEFT_OUT:].all()


@pytest.mark.parametrize("part", [WordWeights(first_layer=0), CONVOLUTION, LayerAttention(*[torch.eye(WIDTH)] * 3)])
def test_poolings_of_all_layers_leave_the_prompt_out(encoder, part):
    states = encoder.states(SENTENCES)
    found = part(states.hidden, states.mask)
    assert not states.mask[:, :LEFT_OUT].any()
    for sentence, mask in enumerate(states.mask):
        alone = states.hidden[:, sentence, mask][:, None]
        torch.testing.assert_close(found[sentence], part(alone, None)[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("of_layers", [False, True], ids=["Pooling", "LayerReading"])
def test_an_exported_model_leaves_the_same_prompts_out(encoder, tmp_path, of_layers):
    head = Head(("cls", "mean of layer 1"), layers=CONVOLUTION) if of_layers else Head(("cls", "mean"))
    tuned = tunable(encoder)
    export(tuned, head, tmp_path / "run", "", None)
    opened = SentenceTransformer(str(tmp_path / "run"), device="cpu", trust_remote_code=of_layers)
    again, texts = encoder_of(tmp_path / "run"), list(SENTENCES)
    with torch.no_grad():
        for states in [tuned.eval().states(texts)]:
            expected = head(states.hidden, states.mask)
    assert_close(opened.encode(texts, convert_to_tensor=True), expected)
    assert_close(torch.from_numpy(model_defaults(again, texts)), expected)
    queries = model_defaults(again, [after(QUERY, text) for text in texts], "")
    assert_close(opened.encode_query(texts, convert_to_tensor=True), torch.from_numpy(queries))
    assert not again.head.roles.pooled


def test_sentences_are_not_joined_after_a_prompt_that_is_left_out(encoder):
    with pytest.raises(UnsupportedModel, match=r"leaves its prompt 'the guitar: ' out of the pooling .* Choose"):
        Composer(encoder)
    assert inputs(encoder) == (FIRST, SECOND)


def test_a_text_after_a_prompt_is_another_one_than_the_same_characters():
    text = after("the ", "dog")
    assert (text.upper(), prompt_of(text), prompt_of("the dog")) == ("THE DOG", "the ", "")
    for other in ("the dog", after("the d", "og"), after("the ", "cat"), None):
        assert text != other
        assert not text == other  # noqa: SIM201 (both operators are defined)
    assert text == after("the ", "dog")
    assert {text, "the dog", after("the ", "dog")} == {text, "the dog"}
    for copied in (pickle.loads(pickle.dumps(text)), copy.deepcopy(text)):
        assert isinstance(copied, PromptedText)
        assert copied == text
    assert after("", "dog") == "dog"


def test_only_prompts_that_are_left_out_are_counted(encoder, prompted):
    (ids,) = encoder.tokens(["no"]).ids
    (plain,) = encoder.tokens(["no"], prompt="").ids
    assert (left_out(ids), left_out(plain)) == (len(ids) - len(plain) + 1, 0)
