"""Test GIST against sentence-transformers' losses on whole models, and its guide."""

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses as published
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

from explorer import losses, methods
from explorer.encoding.read.head import Head
from explorer.encoding.read.prompts import RolePrompts
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import HubUnreachable
from explorer.training.recipe import Recipe
from tests.methods.rows import COLUMNS
from tests.spoiling import encoder_of, reweigh
from tests.tiny_models import save_tiny

LENGTH = 32
# of whole words, since sentence-transformers gives a guide with other tokens the text of those of the encoder
TEXTS = (
    ["no", "a man plays a guitar", "two women talk about the weather", "the dog runs after a red ball in the park"],
    ["a man", "the guitar", "women talk while they wait for a late train", "a dog in the park"],
    ["a late train", "the man is a dog", "no women", "a red guitar runs"],
)


def larger(weights):
    """Weights under which the vectors of sentences differ."""
    return {
        name: weight * 10 if "encoder." in name and weight.dim() > 1 else weight for name, weight in weights.items()
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A BERT that is trained, and a RoBERTa, whose tokens are others, as its guide."""
    place = tmp_path_factory.mktemp("guides")
    for family in ("bert", "roberta"):
        save_tiny(family, place / family, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        reweigh(place / family, larger)
    return place


@pytest.fixture(scope="module")
def models(folders):
    """The models as sentence-transformers has them."""

    def model(family):
        encoder = Transformer(str(folders / family), max_seq_length=LENGTH)
        return SentenceTransformer(modules=[encoder, Pooling(encoder.get_embedding_dimension())], device="cpu")

    return {family: model(family) for family in ("bert", "roberta")}


def gist(folders, columns, **values):
    method = methods.load({2: "gist", 3: "gist-hard"}[columns])
    base = Tunable(encoder_of(folders / "bert"), LENGTH)
    return method(base, {"pooling": "mean", "temperature": 0.1, **values})


def slopes(model):
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


CASES = {
    "pairs": (2, {}, {}),
    "triplets in chunks, another guide": (3, {"guide": "roberta", "chunk": 3}, {}),
    "a margin": (3, {"guide": "roberta", "margin": 0.01}, {"margin": 0.01}),
    "a share in chunks": (
        3,
        {"guide": "roberta", "margin": 0.01, "margin_strategy": "relative", "chunk": 5},
        {"margin": 0.01, "margin_strategy": "relative"},
    ),
    "positives alone": (
        2,
        {"guide": "roberta", "contrast_anchors": False, "contrast_positives": False},
        {"contrast_anchors": False, "contrast_positives": False},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_loss_and_gradient_are_those_of_sentence_transformers(folders, models, case):
    columns, ours, theirs = CASES[case]
    guide = ours.get("guide", "bert")
    method = gist(folders, columns, **{**ours, "guide": str(folders / guide)})
    model = models["bert"]
    model.zero_grad()
    kind = published.CachedGISTEmbedLoss if method.chunk else published.GISTEmbedLoss
    features = [model.preprocess(column) for column in TEXTS[:columns]]
    expected = kind(model, models[guide], temperature=0.1, **theirs)(features, None)
    loss = method(*TEXTS[:columns])
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    expected.backward()
    loss.backward()
    wanted = {name.removeprefix("0.model."): slope for name, slope in slopes(model).items()}
    found = {name.removeprefix("base.model."): slope for name, slope in slopes(method).items()}
    assert found.keys() == wanted.keys()
    size = max(slope.abs().max().item() for slope in wanted.values())
    assert size > 1e-2
    for name, slope in wanted.items():
        assert torch.allclose(found[name], slope, rtol=0, atol=1e-6 * max(1, size)), name


def masks(method, *columns):
    keys = torch.stack([torch.tensor([hash(text) for text in column]) for column in columns])
    (left_out,) = method.no_negatives(columns, keys)
    return left_out


def test_a_higher_margin_leaves_out_more_but_never_a_rows_own_positive(folders):
    counts = []
    for margin in (0.0, 0.01, 0.03, 1.0):
        left_out = masks(gist(folders, 2, guide=str(folders / "roberta"), margin=margin), *TEXTS[:2])
        assert not left_out.diagonal().any()
        counts.append(left_out.sum().item())
    assert counts == sorted(set(counts))


def test_a_text_that_occurs_twice_is_no_negative_of_itself_whatever_the_guide_finds(folders):
    anchors, positives = ["no", "a man", "no"], ["a red ball", "a guitar", "the weather"]
    method = gist(folders, 2)
    left_out = masks(method, anchors, positives)
    twice = torch.tensor(
        [  # rows 0 and 2 share their anchor; after the positives come the anchors, then the positives again
            [False, False, True, True, False, True, True, False, True],
            [False, False, False, False, True, False, False, True, False],
            [True, False, False, True, False, True, True, False, True],
        ]
    )
    assert left_out[twice].all()
    guided = losses.guided_cosines(method.sides_of_guide([anchors, positives]))
    assert torch.equal(left_out, twice | losses.false_negatives(guided, 0.0, relative=False))
    assert not losses.false_negatives(guided, 0.0, relative=False)[twice].all(), "the guide alone would keep some"


def test_the_guide_stays_as_it_was_while_the_encoder_learns(base):
    method = methods.load("gist")(base, {"temperature": 0.3}).train()
    assert method.frozen_guide is not base
    before = method.sides_of_guide(COLUMNS[method.rows])
    method(*COLUMNS[method.rows]).backward()
    with torch.no_grad():
        for weight in base.parameters():
            weight -= weight.grad
    after = method.sides_of_guide(COLUMNS[method.rows])
    assert all(map(torch.equal, before, after)), "without dropout, too"
    assert not any(weight.requires_grad for part in method.constant() for weight in part.parameters())


def test_each_encoder_gets_the_prompts_of_its_own(folders, monkeypatch):
    method = gist(folders, 2, guide=str(folders / "roberta"), query_prompt="the dog ", document_prompt="women ")
    queries, documents = TEXTS[:2]
    by_hand = method.sides_of_guide([[f"a man {text}" for text in queries], [f"no {text}" for text in documents]])
    roles = RolePrompts("a man ", "no ")
    monkeypatch.setattr(method.frozen_guide.encoder, "head", Head(("mean",), roles=roles))
    assert all(map(torch.allclose, method.sides_of_guide(TEXTS[:2]), by_hand))
    assert str(method.prompted(TEXTS[:2])[0][0]) == "the dog no", "the trained encoder has those that are set"


def test_an_unknown_guide_is_refused_and_a_recipe_names_the_one_that_is_set(base):
    with pytest.raises(HubUnreachable, match="'nobody/nothing' is neither a folder here nor in the local cache"):
        methods.load("gist")(base, {"guide": "nobody/nothing"})
    assert Recipe("gist", settings={"guide": "all-MiniLM-L6-v2"}).named_models() == {"guide": "all-MiniLM-L6-v2"}
    assert Recipe("gist").named_models() == {}


def test_a_share_of_a_negative_cosine_lowers_the_bound_as_well():
    guided = torch.tensor([[-0.5, -0.54, -0.7], [0.9, 0.4, 0.35], [0.1, 0.15, 0.3]])
    expected = [[False, True, False], [True, False, False], [False, False, False]]
    assert losses.false_negatives(guided, 0.1, relative=True).tolist() == expected
    expected = [[False, True, False], [True, False, True], [False, False, False]]
    assert losses.false_negatives(guided, 0.1, relative=False).tolist() == expected
