"""Test DeCLUTR: golden values, its spans over many draws, the documents it leaves out, and its head."""

import random
from itertools import pairwise

import pytest
import torch
from transformers import AutoConfig, AutoModelForMaskedLM

from explorer import methods
from explorer.data.text_sets import DOCUMENTS, Corpus
from explorer.encoding.export.exporting import export
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, TooFewRows, UnsupportedModel
from explorer.losses import nt_xent
from explorer.methods import Feed, Schedule
from explorer.methods.declutr import DRAWN, anchors_of, contrast
from explorer.training.loop.loop import Training
from tests import trainings
from tests.methods.rows import COLUMNS, FIRST, seeded, vectors_of
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny, tiny_tokenizer

SHORT = {"anchors": 1, "shortest_span": 8, "longest_span": 32}
ONE = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
OTHERS = torch.tensor([[[2.0, 0.0], [0.0, 1.0]], [[-1.0, 1.0], [1.0, 1.0]]])


def method_on(folder, **values):
    return seeded("declutr", Tunable(encoder_of(folder), 64), **values)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny("bert", tmp_path_factory.mktemp("encoder") / "bert")


def test_positives_are_averaged_before_they_are_normalised():
    assert contrast(ONE, OTHERS, 1.0).item() == pytest.approx(0.687479, abs=1e-6)
    assert contrast(ONE, OTHERS, 0.05).item() == pytest.approx(7.314039e-05, rel=1e-3)
    first = torch.nn.functional.normalize(OTHERS, dim=-1)
    assert nt_xent(ONE, first.mean(1), 1.0).item() == pytest.approx(0.820488, abs=1e-6), "the wrong order"


def test_the_learning_rate_is_a_slanted_triangle(folder):
    method = method_on(folder)
    rates = {step: method.rate(step, 1000, method.schedule) for step in (0, 50, 100, 550, 1000)}
    assert rates == pytest.approx({0: 1.5625e-6, 50: 2.578125e-5, 100: 5e-5, 550: 2.578125e-5, 1000: 1.5625e-6})
    assert method.rate(0, 10, method.schedule.with_values({"warmup": 0.0})) == pytest.approx(5e-5)


def drawn(anchors, positives, seed):
    return torch.rand(
        anchors, DRAWN + 2 + positives * (DRAWN + 1), generator=torch.Generator().manual_seed(seed)
    ).tolist()


@pytest.mark.parametrize(
    ("tokens", "anchors", "shortest", "longest"),
    [(2048, 2, 32, 512), (5000, 2, 32, 512), (64, 1, 8, 32), (95, 1, 8, 32), (192, 3, 8, 32), (240, 5, 1, 24)],
)
def test_anchors_do_not_overlap_and_positives_touch_their_anchor(tokens, anchors, shortest, longest):
    lengths, of_positives, starts = [], [], []
    for seed in range(1000):
        found = anchors_of(tokens, drawn(anchors, 2, seed), shortest, longest)
        assert len(found) == anchors
        assert all(end <= start for (_, end), (start, _) in pairwise(sorted(anchor for anchor, _ in found)))
        for (start, end), positives in found:
            assert 0 <= start < end <= tokens
            lengths.append(end - start)
            starts.append(start)
            assert len(positives) == 2
            for first, last in positives:
                assert 0 <= first < last <= tokens
                assert first <= end
                assert last >= start
                of_positives.append(last - first)
    for every, share in ((lengths, 4 / 6), (of_positives, 2 / 6)):
        assert min(every) >= shortest
        assert max(every) <= longest
        assert sum(every) / len(every) == pytest.approx(shortest + share * (longest - shortest), rel=0.04, abs=0.6)
    assert min(starts) < 0.1 * tokens
    assert max(starts) + longest > 0.9 * tokens - longest
    inside = sum(a <= length for a, length in zip(of_positives, [x for x in lengths for _ in range(2)], strict=True))
    assert 0 < inside < len(of_positives)


def test_the_published_lengths_have_the_means_of_their_beta_distributions():
    found = [one for seed in range(3000) for one in anchors_of(2048, drawn(2, 2, seed), 32, 512)]
    lengths = [end - start for (start, end), _ in found]
    of_positives = [end - start for _, positives in found for start, end in positives]
    assert sum(lengths) / len(lengths) == pytest.approx(352, abs=4)
    assert sum(of_positives) / len(of_positives) == pytest.approx(192, abs=4)
    cells = {start // 512 for (start, _), _ in found}
    assert cells == {0, 1, 2, 3}, "every part of the document is drawn"


def test_an_anchor_lies_in_the_middle_where_a_cell_is_left_for_the_other():
    ((start, _), _), ((other, _), _) = anchors_of(4 * 32, [[0.5] * (DRAWN + 2)] * 2, 32, 32)
    assert (start, other) == (2 * 32, 0)


@pytest.mark.parametrize("tokens", range(9))
def test_a_document_of_a_few_tokens_gives_spans_all_the_same(tokens):
    for anchor, positives in anchors_of(tokens, drawn(2, 2, 1), 32, 512):
        assert all(0 <= start <= end <= tokens for start, end in (anchor, *positives))
        assert len(positives) == 2


def test_spans_are_slices_of_the_documents_tokens_between_special_ones(folder):
    method = method_on(folder, **SHORT)
    documents = [column[:4000] for column in COLUMNS[DOCUMENTS][0]]
    torch.manual_seed(3)
    anchors, positives = method.spans(documents)
    assert (len(anchors), len(positives)) == (4, 8)
    tokenizer = tiny_tokenizer()
    whole = [tokenizer(document, add_special_tokens=False)["input_ids"] for document in documents]
    for place, ids in enumerate(anchors):
        own = whole[place]
        assert (ids[0], ids[-1]) == (2, 3)
        assert 8 <= len(ids) - 2 <= 32
        assert any(own[start : start + len(ids) - 2] == ids[1:-1] for start in range(len(own)))
    assert {len(ids) for ids in method_on(folder).spans(COLUMNS[DOCUMENTS][0])[0]} <= set(range(34, 65))


def words(count, seed=0):
    return " ".join(random.Random(seed).choices(["a", "man", "plays", "guitar", "dog", "park", "train"], k=count))


def test_short_documents_are_left_out_and_counted(folder):
    method = method_on(folder, **SHORT)
    rows = Corpus("mine.csv", DOCUMENTS, ((words(63), words(64), words(200, 1), words(5), words(64, 2)),))
    of = Feed(rows, Schedule(batch_size=3), 1, sampler=method.sampler())
    told = "2 of 5 documents are left out: they have fewer than 64 tokens, 2 × anchors × longest_span"
    assert method.remark() == of.sampler.remark == told
    assert sorted(of.batch(0)[0]) == sorted(rows.columns[0][row] for row in (1, 2, 4))
    with pytest.raises(
        TooFewRows, match=rf"mine\.csv has 3 rows to train on \({told}\), but a batch takes 4\. Set batch"
    ):
        Feed(rows, Schedule(batch_size=4), 1, sampler=method.sampler())
    published = method_on(folder)
    with pytest.raises(
        TooFewRows,
        match=r"has 0 rows to train on \(5 of 5 .* fewer than 2,048 tokens.*Use more rows, or choose settings",
    ):
        Feed(rows, Schedule(batch_size=4), 1, sampler=published.sampler())


def test_documents_that_are_long_enough_need_no_remark_and_spans_that_cannot_be_are_refused(folder):
    method = method_on(folder)
    assert list(method.sampler().usable(Corpus("mine.csv", DOCUMENTS, COLUMNS[DOCUMENTS]))) == [0, 1, 2, 3]
    assert method.remark() == ""
    with pytest.raises(BadChoice, match=r"shortest_span is 32, but longest_span is 16\. Set shortest_span to 16"):
        method_on(folder, longest_span=16)


def test_the_head_is_that_of_the_folder_and_shares_the_trained_embeddings(tmp_path):
    config = AutoConfig.for_model(
        "bert", hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        vocab_size=len(tiny_tokenizer()), max_position_embeddings=64, pad_token_id=0,
    )  # fmt: skip
    theirs = AutoModelForMaskedLM.from_config(config).eval()
    with torch.no_grad():
        theirs.cls.predictions.bias.normal_()
    theirs.save_pretrained(tmp_path / "whole")
    tiny_tokenizer().save_pretrained(tmp_path / "whole")
    method = method_on(tmp_path / "whole").eval()
    ids, mask = method.base.encoder.padded(method.base.encoder.tokens(FIRST).ids)
    chosen = mask.clone()
    states, scores = method.masked.states_and_scores(ids, mask, chosen, int(chosen.sum()))
    with torch.no_grad():
        expected = theirs(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True)
    assert torch.allclose(scores, expected.logits[mask], atol=1e-5)
    assert torch.allclose(states.hidden[-1][mask], expected.hidden_states[-1][mask], atol=1e-5)
    assert method.masked.model.get_output_embeddings().weight is method.base.model.get_input_embeddings().weight
    assert method.masked.model.base_model is method.base.model


def test_without_a_head_in_the_folder_it_starts_at_random_from_the_seed(folder):
    one, other = (method_on(folder).masked.model.get_output_embeddings().bias for _ in range(2))
    assert torch.equal(one, other)
    weights = [method_on(folder).masked.model.cls.predictions.transform.dense.weight for _ in range(2)]
    assert torch.equal(*weights)
    torch.manual_seed(5)
    third = methods.load("declutr")(Tunable(encoder_of(folder), 64))
    assert not torch.equal(third.masked.model.cls.predictions.transform.dense.weight, weights[0])


def test_a_family_without_a_masked_language_model_is_refused(tmp_path):
    with pytest.raises(UnsupportedModel, match="is a bart, for which transformers has no masked language model"):
        method_on(save_tiny("bart", tmp_path / "bart"))
    with pytest.raises(BadChoice, match="has no mask token"):
        method_on(save_tiny("gpt2", tmp_path / "gpt2"))


@pytest.mark.parametrize("family", ["roberta", "distilbert", "mpnet", "albert", "modernbert", "deberta-v2"])
def test_every_family_with_a_masked_language_model_learns_every_weight(family, tmp_path):
    method = method_on(save_tiny(family, tmp_path / family), **SHORT)
    loss = method([words(80, seed) for seed in range(3)])
    loss.backward()
    assert torch.isfinite(loss)
    assert [name for name, weight in method.named_parameters() if weight.grad is None] == []


def test_dropout_is_on_and_masks_are_drawn_anew(folder):
    method = method_on(folder, **SHORT)
    documents = [words(80, seed) for seed in range(3)]
    assert method(documents).item() != method(documents).item()
    assert method.base.model.training
    assert method.masked.training


def test_the_exported_model_has_no_head(folder, tmp_path):
    method = method_on(folder, **SHORT)
    export(method.base, method.head(), tmp_path / "out", "# card", None)
    states = encoder_of(tmp_path / "out").states(FIRST)
    assert torch.allclose(vectors_of(method, FIRST), method.head()(states.hidden, states.mask), atol=1e-5)
    config = (tmp_path / "out" / "config.json").read_text()
    assert "BertModel" in config
    assert "MaskedLM" not in config


def test_a_run_tells_how_many_documents_are_left_out_at_its_start_and_at_its_end(tmp_path):
    place = trainings.furnish(tmp_path)
    file = tmp_path / "documents.txt"
    file.write_text("\n".join([words(5, 1), *(words(80, seed) for seed in range(8))]) + "\n", encoding="utf-8")
    settings = {**SHORT, "batch_size": 4, "steps": 2}
    run = Training(trainings.recipe(place, "declutr", data=(str(file),), settings=settings), tmp_path)
    with trainings.in_no_time():
        told = [step.message for step in run.steps() if "left out" in step.message]
    assert told == ["1 of 9 documents are left out: they have fewer than 64 tokens, 2 × anchors × longest_span"] * 2
    assert run.results[0].remark == told[0]
