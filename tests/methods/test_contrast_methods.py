"""Test contrastive learning, scored pairs and SBERT against sentence-transformers' losses and loops over a batch."""

import itertools
import math
from functools import partial

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as published
from torch.nn import functional

from explorer import losses, methods
from explorer.data.text_sets import LABELLED_TEXTS, PAIRS, SCORED_PAIRS, TRIPLETS, Corpus
from explorer.encoding.read.head import Head
from explorer.encoding.read.prompts import RolePrompts
from explorer.errors import BadChoice, WrongColumns
from explorer.gathering import text_keys
from explorer.methods import PredictedClasses, _in_batch
from explorer.methods._in_batch import duplicates
from explorer.methods.supervised import with_difference
from explorer.progress import finish
from explorer.training import recipe
from explorer.training.loop import judging
from tests import named_texts
from tests.methods.rows import COLUMNS, FIRST, SECOND, THIRD, vectors_of

ROWS, WIDTH = 9, 12


def vectors(columns, seed, dtype=torch.float64, width=WIDTH):
    drawn = torch.Generator().manual_seed(seed)
    return [torch.randn(ROWS, width, generator=drawn, dtype=dtype).requires_grad_() for _ in range(columns)]


def assert_as_published(theirs, ours, sides, scores=None, close=1e-6):
    """The loss of these sides and its gradient are those of a loss of sentence-transformers"""
    expected = theirs.compute_loss_from_embeddings(list(sides), scores)
    allowed = close if scores is None else close * max(1, abs(expected.item()))
    assert abs(ours.detach() - expected.detach()) <= allowed
    for one, other in zip(torch.autograd.grad(ours, sides), torch.autograd.grad(expected, sides), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=close)


@pytest.mark.product(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("temperature", [0.01, 0.05, 1.0])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_loss_and_gradient_are_those_of_sentence_transformers(columns, symmetric, temperature, seed, dtype):
    kind = published.MultipleNegativesSymmetricRankingLoss if symmetric else published.MultipleNegativesRankingLoss
    sides = vectors(columns, seed, dtype)
    keys = torch.arange(columns * ROWS).view(columns, ROWS)
    ours = losses.ranking(sides[0], torch.cat(sides[1:]), temperature, symmetric, *duplicates(keys))
    close = 1e-6 if dtype == torch.float64 else 2e-5
    assert_as_published(kind(model=None, scale=1 / temperature), ours, sides, close=close)


COSINES, ANGLES = losses.paired_cosines, losses.angle_similarities
SCORED = {
    "CoSENT 1": (published.CoSENTLoss(model=None, scale=1.0), COSINES, partial(losses.cosent, scale=1.0)),
    "CoSENT 20": (published.CoSENTLoss(model=None, scale=20.0), COSINES, partial(losses.cosent, scale=20.0)),
    "AnglE 1": (published.AnglELoss(model=None, scale=1.0), ANGLES, partial(losses.cosent, scale=1.0)),
    "AnglE 20": (published.AnglELoss(model=None, scale=20.0), ANGLES, partial(losses.cosent, scale=20.0)),
    "regression": (published.CosineSimilarityLoss(model=None), COSINES, losses.cosine_regression),
}


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
@pytest.mark.parametrize("loss", SCORED)
@pytest.mark.parametrize("seed", range(3))
def test_losses_of_scored_pairs_and_their_gradients_are_those_of_sentence_transformers(seed, loss, dtype, close):
    theirs, similarities, ours = SCORED[loss]
    sides = vectors(2, seed, dtype)
    scores = torch.randint(0, 6, (ROWS,), generator=torch.Generator().manual_seed(seed)).to(dtype) / 5
    assert len(set(scores.tolist())) < ROWS, "some are equal"
    assert_as_published(theirs, ours(similarities(*sides), scores), sides, scores, close)


def test_a_vector_of_odd_width_has_a_last_imaginary_part_of_zero_as_in_sentence_transformers():
    sides = vectors(2, 0, width=WIDTH - 1)
    scores = torch.linspace(0, 1, ROWS, dtype=torch.float64)
    ours = losses.cosent(losses.angle_similarities(*sides), scores, 20.0)
    assert_as_published(published.AnglELoss(model=None), ours, sides, scores)


def by_hand(texts, sides, temperature, symmetric):
    """The same by loops over rows and texts, without a candidate that says what its own row says."""

    def cosine(one, other):
        return torch.nn.functional.cosine_similarity(one, other, dim=0).item() / temperature

    rows, terms = range(len(texts[0])), []
    own = [{column[row] for column in texts} for row in rows]
    meaning = [{column[row] for column in texts[:2]} for row in rows]
    for row in rows:
        right = cosine(sides[0][row], sides[1][row])
        wrong = [
            cosine(sides[0][row], sides[1][other])
            for other in rows
            if other != row and not meaning[row] & meaning[other] and texts[1][other] not in own[row]
        ]
        for text, side in zip(texts[2:], sides[2:], strict=True):
            wrong += [
                cosine(sides[0][row], side[other])
                for other in rows
                if text[other] not in (meaning[row] if other == row else own[row])
            ]
        terms.append(math.log(sum(map(math.exp, [right, *wrong]))) - right)
        if symmetric:
            back = [
                cosine(sides[1][row], sides[0][other])
                for other in rows
                if other != row and not meaning[row] & meaning[other]
            ]
            terms.append(math.log(sum(map(math.exp, [right, *back]))) - right)
    return sum(terms) / len(terms)


REPEATED = {
    "one anchor twice": (["a", "b", "a", "c"], ["p", "q", "r", "s"], ["x", "y", "z", "w"]),
    "one positive twice": (["a", "b", "c", "d"], ["p", "q", "p", "s"], ["x", "y", "z", "w"]),
    "an anchor that is a positive elsewhere": (["a", "b", "c", "d"], ["p", "a", "r", "s"], ["x", "y", "z", "w"]),
    "a negative that is an anchor elsewhere": (["a", "b", "c", "d"], ["p", "q", "r", "s"], ["x", "a", "z", "w"]),
    "a negative that is a positive elsewhere": (["a", "b", "c", "d"], ["p", "q", "r", "s"], ["x", "y", "p", "w"]),
    "one negative twice": (["a", "b", "c", "d"], ["p", "q", "r", "s"], ["x", "y", "x", "w"]),
    "a negative that is its own positive": (["a", "b", "c", "d"], ["p", "q", "r", "s"], ["p", "y", "z", "w"]),
}


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("texts", REPEATED.values(), ids=REPEATED)
def test_a_sentence_that_occurs_twice_is_no_negative_of_its_own(texts, columns, symmetric):
    texts = texts[:columns]
    sides = [side[:4].detach() for side in vectors(columns, 5)]
    keys = torch.stack([text_keys(column, "cpu") for column in texts])
    found = losses.ranking(sides[0], torch.cat(sides[1:]), 0.5, symmetric, *duplicates(keys))
    assert found.item() == pytest.approx(by_hand(texts, sides, 0.5, symmetric), abs=1e-9)


def test_keys_of_texts_are_equal_where_the_texts_are():
    texts = ["a", "b", "a", "A", "", " ", "a\ud800"]
    keys = text_keys(texts, "cpu").tolist()
    for (one, key), (other, another) in itertools.product(zip(texts, keys, strict=True), repeat=2):
        assert (one == other) == (key == another)


@pytest.mark.parametrize("name", ["contrast", "contrast-hard"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_the_loss_is_of_the_vectors_that_are_read_afterwards(base, name, symmetric):
    method = methods.load(name)(base, {"symmetric": symmetric, "temperature": 0.3, "pooling": "mean"}).eval()
    texts = COLUMNS[method.rows]
    sides = [vectors_of(method, list(column)).double() for column in texts]
    assert method(*texts).item() == pytest.approx(by_hand(texts, sides, 0.3, symmetric), rel=1e-4)
    assert method.head() == Head(("mean",))


def test_a_row_that_is_there_twice_is_no_negative_of_itself(base):
    method = methods.load("contrast-hard")(base, {"temperature": 0.5}).eval()
    alone = method(*([column[0]] for column in (FIRST, SECOND, THIRD))).item()
    twice = method(*([column[0]] * 2 for column in (FIRST, SECOND, THIRD))).item()
    assert alone > 0.1
    assert twice == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("name", ["contrast", "contrast-hard"])
def test_without_dropout_two_losses_in_training_are_the_same(base, name):
    def twice(dropout):
        method = methods.load(name)(base, {"dropout": dropout, "temperature": 0.3}).train()
        return [method(*COLUMNS[method.rows]).item() for _ in range(2)]

    one, other = twice(dropout=False)
    assert one == other
    one, other = twice(dropout=True)
    assert one != other


def gradients_of(method, seed=0):
    """The loss of a batch, and the gradient of every weight."""
    texts = [[f"{text} {number}" for number in range(3) for text in column] for column in COLUMNS[method.rows]]
    method.zero_grad()
    torch.manual_seed(seed)
    loss = method(*texts)
    loss.backward()
    return loss.item(), {name: one.grad.clone() for name, one in method.named_parameters() if one.grad is not None}


@pytest.mark.parametrize("name", ["contrast", "contrast-hard"])
@pytest.mark.parametrize("chunk", [1, 4, 7])
def test_chunks_change_neither_loss_nor_gradient(base, name, chunk):
    def found(chunk):
        settings = {"temperature": 0.3, "dropout": False, "symmetric": True, "chunk": chunk}
        return gradients_of(methods.load(name)(base, settings).train())

    loss, gradients = found(0)
    in_chunks, same = found(chunk)
    assert in_chunks == pytest.approx(loss, rel=1e-5)
    assert gradients.keys() == same.keys()
    assert max(gradient.norm().item() for gradient in gradients.values()) > 1e-3
    largest = max(gradient.abs().max().item() for gradient in gradients.values())
    for weight, gradient in gradients.items():
        assert torch.allclose(same[weight], gradient, rtol=1e-4, atol=1e-5 * largest), weight


def test_dropout_is_the_same_when_a_chunk_is_encoded_again(base, monkeypatch):
    method = methods.load("contrast")(base, {"temperature": 0.3, "chunk": 5}).train()
    again = gradients_of(method)
    monkeypatch.setattr(_in_batch, "checkpoint", lambda encode, texts, use_reentrant: encode(texts))
    once = gradients_of(method)
    assert again[0] == once[0] != gradients_of(method, seed=1)[0]
    for weight, gradient in once[1].items():
        assert torch.equal(again[1][weight], gradient), weight


def test_of_several_chunks_only_the_vectors_are_held_until_the_backward_pass(base):
    texts = [[f"{text} {number}" for number in range(3) for text in column] for column in COLUMNS[PAIRS]]

    def held(chunk):
        method = methods.load("contrast")(base, {"chunk": chunk}).train()
        weights = {weight.untyped_storage().data_ptr() for weight in method.parameters()}
        sizes = {}

        def keep(tensor):
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in weights:
                sizes[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            method(*texts)
        return sum(sizes.values()), method.rows_in_memory(len(texts[0]))

    whole, rows = held(0)
    part, held_rows = held(4)
    assert part < whole / 10
    assert (rows, held_rows) == (len(texts[0]), 2)


@pytest.mark.parametrize("name", ["contrast", "contrast-hard"])
def test_matryoshka_sums_the_loss_of_halves(base, name):
    kind = methods.load(name)
    method = kind(base, {"temperature": 0.3, "pooling": "mean", "matryoshka": base.width // 4}).eval()
    texts = COLUMNS[method.rows]
    whole = [vectors_of(method, list(column)).double() for column in texts]
    widths = (base.width, base.width // 2, base.width // 4)
    expected = sum(by_hand(texts, [side[:, :width] for side in whole], 0.3, False) for width in widths)
    assert method(*texts).item() == pytest.approx(expected, rel=1e-4)
    assert method.widths == widths
    assert f"{widths[1]}, {widths[2]}" in method.remark()
    assert kind(base, {}).remark() == ""


def test_a_matryoshka_dimension_without_a_half_is_refused_and_all_hard_negatives_of_a_row_are_its_negatives(base):
    with pytest.raises(BadChoice, match=rf"matryoshka cannot be {base.width}.*Choose {base.width // 2} or less"):
        methods.load("contrast")(base, {"matryoshka": base.width})
    method = methods.load("contrast")(base, {"temperature": 0.3, "pooling": "mean", "hard_negatives": 2}).eval()
    texts = (FIRST, SECOND, THIRD, [f"not {text}" for text in THIRD])
    sides = [vectors_of(method, list(column)).double() for column in texts]
    assert method(*texts).item() == pytest.approx(by_hand(texts, sides, 0.3, False), rel=1e-4)


@pytest.fixture
def prompts(base, monkeypatch):
    """The encoder declares prompts for queries and documents."""
    found = RolePrompts("the dog ", "women ")
    monkeypatch.setattr(base.encoder, "head", Head(("mean",), roles=found))
    return found


@pytest.mark.parametrize("name", ["contrast", "contrast-hard"])
def test_queries_and_documents_are_trained_with_the_prompts_of_their_role(base, name, prompts):
    def loss(texts, **settings):
        settings = {"temperature": 0.3, "pooling": "mean", **settings}
        return methods.load(name)(base, settings).eval()(*texts).item()

    plain = COLUMNS[methods.load(name).rows]
    by_role = [prompts.query, *[prompts.document] * (len(plain) - 1)]
    prompted = [[prompt + text for text in column] for prompt, column in zip(by_role, plain, strict=True)]
    bare = {"query_prompt": "", "document_prompt": ""}
    assert loss(plain) == loss(prompted, **bare)
    assert loss(plain) != loss(plain, **bare)
    typed = {"query_prompt": prompts.document, "document_prompt": prompts.query}
    swapped = [prompts.document, *[prompts.query] * (len(plain) - 1)]
    others = [[prompt + text for text in column] for prompt, column in zip(swapped, plain, strict=True)]
    assert loss(plain, **typed) == loss(others, **bare)


def test_prompts_of_roles_are_not_added_after_a_default_prompt_and_a_second_one_is_refused(base, prompts, monkeypatch):
    monkeypatch.setattr(base.encoder, "head", Head(("mean",), prompt="a ", roles=prompts))
    assert methods.load("contrast")(base, {}).prompted([["one"], ["two"]]) == (("one",), ("two",))
    monkeypatch.setattr(base.encoder, "head", Head(("mean",), prompt="a "))
    with pytest.raises(BadChoice, match=r"query_prompt 'query: ' cannot be used: .* puts 'a ' before every text"):
        methods.load("contrast").prompts({"query_prompt": "query: "}, base.encoder)


def test_held_out_triplets_have_the_prompts_of_their_role(base, prompts):
    method = methods.load("contrast-hard")(base, {"pooling": "mean"}).eval()
    rows = COLUMNS[method.rows]
    held = Corpus("held", TRIPLETS, tuple(map(tuple, rows)))
    by_role = (prompts.query, prompts.document, prompts.document)
    sides = [vectors_of(method, [prompt + text for text in side]) for prompt, side in zip(by_role, rows, strict=True)]
    alike = [torch.cosine_similarity(sides[0], side) for side in sides[1:]]
    found = finish(judging.held_out_score(method, held, "accuracy"))
    assert found == pytest.approx(100 * (alike[0] > alike[1]).double().mean().item())


SCORES = COLUMNS[SCORED_PAIRS][2]


@pytest.mark.parametrize("name", ["cosent", "angle"])
def test_only_the_order_of_scores_counts(base, name):
    method = methods.load(name)(base).eval()
    shifted = [7 * score - 3 for score in SCORES]
    assert method(FIRST, SECOND, shifted).item() == pytest.approx(method(FIRST, SECOND, SCORES).item())
    other_way = [-score for score in SCORES]
    assert method(FIRST, SECOND, other_way).item() != pytest.approx(method(FIRST, SECOND, SCORES).item())


@pytest.mark.parametrize("name", ["cosent", "angle"])
def test_a_batch_whose_scores_are_all_equal_has_no_loss_and_a_gradient_of_zero(base, name):
    method = methods.load(name)(base)
    loss = method(FIRST, SECOND, [0.5] * 4)
    assert loss.item() == 0
    loss.backward()
    for weight in method.parameters():
        assert weight.grad is not None
        assert not weight.grad.any()


THREE = ("contradiction", "entailment", "neutral")
LABELS = ["neutral", "entailment", "contradiction", "neutral"]


def made(base, **values):
    torch.manual_seed(0)
    return methods.load("sbert-nli")(base, values, THREE)


def test_the_loss_is_the_one_worked_out():
    one, other = torch.tensor([[1.0, 2]]), torch.tensor([[3.0, 1]])
    weight = torch.tensor([[0.1, 0, 0.2, 0, -0.1, 0.3], [0, 0.1, 0, -0.2, 0.4, 0], [0.3, -0.1, 0, 0.1, 0, 0.2]])
    bias = torch.tensor([0.1, 0, -0.1])
    assert with_difference(one, other).tolist() == [[1, 2, 3, 1, 2, 1]]
    scores = with_difference(one, other) @ weight.T + bias
    assert scores[0].tolist() == pytest.approx([0.9, 0.8, 0.3])
    losses = [functional.cross_entropy(scores, torch.tensor([label])).item() for label in range(3)]
    assert losses == pytest.approx([0.897576, 0.997576, 1.497576], abs=1e-6)
    assert (with_difference(other, one) @ weight.T + bias)[0].tolist() == pytest.approx([0.7, 0.5, 1.1])


def test_a_classifier_of_zeros_knows_nothing_and_teaches_the_encoder_nothing(base):
    method = made(base)
    assert method.classifier.weight.shape == (3, 3 * method.width)
    torch.nn.init.zeros_(method.classifier.weight)
    torch.nn.init.zeros_(method.classifier.bias)
    loss = method(FIRST, SECOND, LABELS)
    loss.backward()
    assert loss.item() == pytest.approx(math.log(3))
    assert not any(weight.grad.any() for weight in base.model.parameters())
    assert method.classifier.weight.grad.any()


def test_the_number_of_a_class_is_immaterial(base):
    method = made(base).eval()
    before = method(FIRST, SECOND, LABELS).item()
    assert method(FIRST, SECOND, LABELS[::-1]).item() != pytest.approx(before)
    method.classes = (THREE[2], THREE[0], THREE[1])
    with torch.no_grad():
        for weights in (method.classifier.weight, method.classifier.bias):
            weights.copy_(weights[[2, 0, 1]])
    assert method(FIRST, SECOND, LABELS).item() == pytest.approx(before)


def test_the_classifier_is_no_part_of_the_trained_model(base):
    method = made(base, pooling="mean").eval()
    assert method.head().describe() == "mean of the last layer"
    assert not isinstance(method, PredictedClasses)
    assert not method.predicts()
    before = vectors_of(method, FIRST)
    with torch.no_grad():
        method.classifier.weight.add_(1)
    assert torch.equal(vectors_of(method, FIRST), before)


def test_rows_of_one_sentence_and_other_classes_are_refused(base, tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("label\ttext\n" + "".join(f"{'ab'[at % 2]}\ttext {at}\n" for at in range(20)), encoding="utf-8")
    rows, _ = named_texts.corpus([str(path)], LABELLED_TEXTS, divide=False)
    with pytest.raises(WrongColumns, match=r"mine\.tsv has one sentence per row: SBERT compares two"):
        methods.load("sbert-nli").check_rows(rows)
    methods.load("classify").check_rows(rows)
    with pytest.raises(BadChoice, match="There is no class 'maybe'"):
        made(base)(FIRST, SECOND, ["maybe"] * 4)


def test_no_setting_is_shown_that_scores_predicted_classes():
    assert "validate_by" in recipe.knobs_of(methods.load("classify"))
    assert "validate_by" not in recipe.knobs_of(methods.load("sbert-nli"))
