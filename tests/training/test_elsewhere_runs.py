"""Test what runs are scored on elsewhere: which items, against other libraries, once for a base, and how it is told."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from explorer import typed_json
from explorer.__main__ import _options
from explorer.commands.train import _recipe
from explorer.data import sample, sources
from explorer.data.graded import sets
from explorer.data.sources import identity
from explorer.encoding.locate.model_names import of_folder
from explorer.errors import BadChoice, CannotResume, SetNotFound, UnreadableFile
from explorer.measuring.comparing import learned, verdict_sentence
from explorer.measuring.scores import verdict
from explorer.measuring.scores.verdict import BETTER, CHANCE, UNKNOWN, WORSE, ElsewhereVerdict, Verdict
from explorer.progress import finish
from explorer.studies.blend import blend_curve, blending
from explorer.training import recipe_file, running
from explorer.training.loop import judging
from explorer.training.loop.elsewhere import choose
from explorer.training.loop.learner import Learner
from explorer.training.loop.preparing import prepare
from explorer.training.loop.processes import World
from explorer.training.record import run_results, runs
from explorer.training.record.run_facts import PAGE
from tests.device import DEVICE
from tests.training.unbroken import assert_same, break_off_in_training
from tests.trainings import new, recipe, spearman, train

MOST = 40
QUICK = {"steps": 2}


@pytest.fixture(scope="module")
def run(place):
    return train(
        new(place, "simcse", elsewhere=(sample.PAIRS, str(place.triplets)), elsewhere_most=MOST, settings=QUICK)
    )


def test_scores_elsewhere_are_those_of_other_libraries_on_the_items_with_the_lowest_sha(place, run):
    pairs, found = sample.pairs(), run.status().verdict.elsewhere
    assert [(one.name, one.size, one.of) for one in found] == [
        (sample.PAIRS, MOST, 240),
        (str(place.triplets), 24, 24),
    ]
    rows = zip(pairs.first, pairs.second, pairs.gold, strict=True)
    some = sorted(rows, key=lambda row: hashlib.sha256(f"{row[0]}\0{row[1]}".encode()).hexdigest())[:MOST]
    rows = sources.triplets(str(place.triplets))
    texts = (rows.anchors, rows.positives, rows.negatives)
    for folder, which in ((place.model, "before"), (run.model, "after")):
        model = SentenceTransformer(str(folder), device="cpu")
        one, other = (model.encode(list(side), convert_to_tensor=True) for side in list(zip(*some, strict=True))[:2])
        expected = spearman(one, other, [row[2] for row in some])
        assert getattr(found[0].verdict, which) == pytest.approx(expected, abs=1e-3)
        anchor, positive, negative = (model.encode(list(side), convert_to_tensor=True) for side in texts)
        right = torch.cosine_similarity(anchor, positive) > torch.cosine_similarity(anchor, negative)
        assert getattr(found[1].verdict, which) == pytest.approx(100 * float(right.float().mean()), abs=1e-3)
    for one in found:
        assert one.verdict.difference == pytest.approx(one.verdict.after - one.verdict.before)


def test_a_base_that_was_scored_is_not_encoded_again(place, run, monkeypatch):
    encoded = []

    def counted(encoder, texts, heads, stage):
        encoded.append(texts)
        return under_heads(encoder, texts, heads, stage)

    under_heads = judging.under_heads
    monkeypatch.setattr(judging, "under_heads", counted)
    again = train(
        new(place, "simcse", elsewhere=(sample.PAIRS, str(place.triplets)), elsewhere_most=MOST, settings=QUICK)
    )
    assert encoded == []
    assert again.status().verdict == run.status().verdict
    prepared = finish(prepare(again.recipe()))
    method = Learner(prepared, 1, World("float32", DEVICE)).method
    assert all(judging.is_kept(prepared.encoder, method, one) for one in prepared.measured.values())
    with monkeypatch.context() as patch:
        patch.setattr(prepared.encoder, "max_length", prepared.encoder.max_length - 1)
        assert not judging.is_kept(prepared.encoder, method, prepared.dev)
    train(new(place, "simcse", elsewhere=(sample.PAIRS,), elsewhere_most=MOST + 1, settings=QUICK))
    assert len(encoded) == 1, "other items are another set"


def test_items_with_a_text_that_the_run_uses_are_left_out(tmp_path):
    pairs = sample.pairs()
    (found,), left_out = choose((sets.SAMPLE,), 0, {pairs.first[3], pairs.second[7]}, online=False)
    name, part, of = found
    rows = list(zip(part.first, part.second, part.gold, strict=True))
    every = list(zip(pairs.first, pairs.second, pairs.gold, strict=True))
    assert rows == [row for row in every if pairs.first[3] not in row[:2] and pairs.second[7] not in row[:2]]
    assert (name, of, left_out) == (sample.PAIRS, 240, [])
    search = sample.search()
    relevant = search.documents[next(iter(search.judgements[0]))]
    (found,), _ = choose((identity(sample.SEARCH),), 0, {relevant, search.queries[5]}, online=False)
    assert found[1].documents == search.documents
    gone = {0, 5} | {at for at, one in enumerate(search.judgements) if search.documents.index(relevant) in one}
    assert found[1].queries == tuple(query for at, query in enumerate(search.queries) if at not in gone)
    assert choose((identity(sample.SEARCH),), 0, set(search.texts), online=False) == (
        [],
        [
            "elsewhere, Sample search is left out: 0 of its 60 items share no text with the training text, dev and "
            "test set"
        ],
    )


def test_what_is_at_hand_needs_no_download(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_DATA", str(tmp_path))
    shipped = (sample.PAIRS, sample.SEARCH)
    assert tuple(map(str, sources.at_hand())) == shipped
    for folder, name in (("STSB", "STS-B test"), ("SICK", "SICK-R test")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test.tsv").write_text("not as published")
        assert tuple(map(str, sources.at_hand())) == (*shipped, name)
    found, (left_out,) = choose((sets.AT_HAND, sets.SAMPLE), 0, set(), online=False)
    assert [one[0] for one in found] == list(shipped)
    assert left_out.startswith("elsewhere, SICK-R test is left out: ")
    with pytest.raises(SetNotFound):
        choose((identity("STS12 test"),), 0, set(), online=False)


def test_an_encoder_that_cannot_search_is_trained_and_a_set_that_was_named_and_left_out_is_told(place, tmp_path):
    folder = tmp_path / "prompted"
    model = SentenceTransformer(str(place.model), device="cpu")
    model.prompts = {"query": "the dog " * 300}
    model.save_pretrained(str(folder))
    chosen = (sources.AT_HAND, str(place.test))
    one = train(new(place, "simcse", model=str(folder), elsewhere=chosen, elsewhere_most=MOST, settings=QUICK))
    assert [found.name for found in one.status().verdict.elsewhere] == [sample.PAIRS]
    log = one.log_tail()
    assert "elsewhere, Sample search is left out: The query prompt 'the dog the dog " in log
    assert "elsewhere, test.csv is left out: 0 of its 9 items" in log
    assert one.status().facts.listed(PAGE)["Left out elsewhere"] == "Left out elsewhere: test.csv"


def test_a_run_resumes_with_the_sets_that_it_began_with(place, run, tmp_path, monkeypatch):
    text = tmp_path / "triplets.csv"
    text.write_text(place.triplets.read_text())
    broken = new(place, "simcse", elsewhere=(sources.AT_HAND, str(text)), elsewhere_most=MOST, settings=QUICK)
    break_off_in_training(broken)
    assert broken.recipe().every()["elsewhere"] == [sources.AT_HAND, str(text)]
    assert broken.recipe().made_with["elsewhere"] == [sample.PAIRS, sample.SEARCH, str(text)]
    assert set(broken.recipe().made_with) >= {"elsewhere_1_digest", "elsewhere_2_digest", "elsewhere_3_digest"}
    monkeypatch.setattr(sources, "at_hand", lambda: ())
    text.write_text(place.triplets.read_text().replace("a", "b"))
    with pytest.raises(CannotResume, match="another version of the set elsewhere 3"):
        train(broken)
    text.write_text(place.triplets.read_text())
    train(broken)
    found = broken.status().verdict.elsewhere
    assert (found[0], found[2].verdict) == (
        run.status().verdict.elsewhere[0],
        run.status().verdict.elsewhere[1].verdict,
    )
    same = new(place, "simcse", elsewhere=(sample.PAIRS, str(place.triplets)), elsewhere_most=MOST, settings=QUICK)
    break_off_in_training(same)
    assert_same(train(same), run)


def test_a_run_that_is_broken_off_once_its_base_is_scored_resumes_with_the_same_sets(place, monkeypatch):
    one = new(place, "simcse", elsewhere=(sources.AT_HAND,), elsewhere_most=MOST, settings=QUICK)
    monkeypatch.setattr(sources, "at_hand", lambda: (sets.SAMPLE,))
    break_off_after(one, "base scores")
    assert one.recipe().made_with["elsewhere"] == [sample.PAIRS]
    monkeypatch.setattr(sources, "at_hand", lambda: (sets.SAMPLE, sources.identity(sample.SEARCH)))
    train(one)
    assert [found.name for found in one.status().verdict.elsewhere] == [sample.PAIRS]


def break_off_after(run, line):
    work = running.train(run)
    while line not in run.log_tail():
        next(work)
    work.close()


def test_a_run_goes_on_without_a_set_that_is_gone_and_every_other_set_keeps_its_base(place, tmp_path, monkeypatch):
    first, named = tmp_path / "first.csv", tmp_path / "named.csv"
    for path in (first, named):
        path.write_text(place.triplets.read_text().replace("a", path.name))
    monkeypatch.setattr(sources, "at_hand", lambda: (sources.identity(str(first)), sets.SAMPLE))
    chosen = {"elsewhere": (sources.AT_HAND, str(named)), "elsewhere_most": MOST, "seeds": (1, 2)}
    chosen |= {"settings": {"pooling": "cls"}}  # of which the second seed is the best
    whole, broken = train(new(place, "simcse", **chosen)), new(place, "simcse", **chosen)
    break_off_in_training(broken)
    began_with = broken.recipe().made_with
    assert began_with["elsewhere"] == [str(first), sample.PAIRS, str(named)]
    texts = {path: path.read_text() for path in (first, named)}
    for path in texts:
        path.unlink()
    break_off_after(broken, "named.csv is left out")
    assert [one.name for one in broken.status().verdict.elsewhere] == [sample.PAIRS]
    assert broken.status().facts.left_out == "first.csv, named.csv"
    assert broken.recipe().made_with == began_with
    for path, text in texts.items():
        path.write_text(text)
    break_off_after(broken, "seed 2")
    assert "left_out" not in broken.status().facts.as_json(), "what comes back is scored again"
    first.unlink()
    train(broken)
    of_seed = [one.verdict.elsewhere for one in broken.status().results]
    expected = [one.verdict.elsewhere for one in whole.status().results]
    assert of_seed == [expected[0], expected[1][1:]]
    assert (broken.model / "model.safetensors").read_bytes() == (whole.model / "model.safetensors").read_bytes()
    lines = (broken.model / "README.md").read_text().splitlines()
    of_name = {
        name: [line for line in lines if f"| {name} (elsewhere" in line] for name in ("Sample pairs", "first.csv")
    }
    assert of_name["first.csv"] == [], "the seed of the model lacks it"
    scores = [next(one.verdict.after for one in seed if one.name == sample.PAIRS) for seed in of_seed]
    assert f"| {np.mean(scores):.2f} ± {np.std(scores, ddof=1):.2f} |" in of_name["Sample pairs"][0]


def test_a_recipe_is_repeated_without_what_was_at_hand_but_not_without_what_was_named(place, tmp_path, monkeypatch):
    text = tmp_path / "there.csv"
    text.write_text(place.triplets.read_text())
    monkeypatch.setattr(sources, "at_hand", lambda: (sources.identity(str(text)), sets.SAMPLE))
    quick = {"elsewhere_most": MOST, "settings": QUICK}
    one = train(new(place, "simcse", elsewhere=(sources.AT_HAND,), **quick))
    named = train(new(place, "simcse", elsewhere=(str(text), sample.PAIRS), **quick))
    text.unlink()
    again = train(runs.new(one.recipe(), "", place.runs))
    assert again.status().verdict.elsewhere == one.status().verdict.elsewhere[1:]
    assert again.status().facts.left_out == "there.csv"
    assert "elsewhere, there.csv is left out: " in again.log_tail()
    _, curve = finish(blending.of_runs([named], (1.0,)))
    assert [use for use in curve.sets if use.startswith("elsewhere")] == ["elsewhere 2"]
    with pytest.raises(UnreadableFile, match=r"there\.csv"):
        train(runs.new(named.recipe(), "", place.runs))


def test_a_recipe_that_names_what_was_at_hand_is_read_as_one_that_says_at_hand(place):
    then = recipe(place, "simcse", elsewhere=(sample.SEARCH, "SICK-R test", "own.csv"))
    text = replace(then, made_with={f"elsewhere_{at}_digest": f"{at}" for at in (1, 2, 3)}).as_yaml()
    read = recipe_file.from_yaml(text, "recipe.yaml")
    assert read.elsewhere == (sets.AT_HAND, identity("own.csv"))
    assert read.made_with["elsewhere"] == [sample.SEARCH, "SICK-R test", "own.csv"]
    assert recipe_file.from_yaml(read.as_yaml(), "recipe.yaml") == read
    assert recipe_file.from_yaml(then.as_yaml(), "recipe.yaml") == then, "no run has begun"
    for spoiled in ("5", "[5]", "a: b"):
        with pytest.raises(BadChoice, match="made_with: elsewhere cannot be"):
            recipe_file.from_yaml(f"method: simcse\nmade_with: {{elsewhere: {spoiled}}}".replace("a: b", "{a: b}"), "a")


def outcome(name, low, high, measure="Spearman"):
    return ElsewhereVerdict(
        name, 10, 20, measure, Verdict(70.0, None, 70 + (low + high) / 2, (low + high) / 2, low, high)
    )


def test_the_line_has_the_kind_of_the_worst_and_its_words():
    every = [outcome("/folder/own.csv", -1.6, -0.6), outcome("Sample search", -0.2, 0.8, "nDCG@10"), outcome("c", 1, 2)]
    found = verdict_sentence.elsewhere(every)
    assert found.text == (
        "Elsewhere: own.csv Spearman −1.10 (−1.60 to −0.60), worse; Sample search nDCG@10 +0.30 (−0.20 to +0.80), "
        "could be chance; c Spearman +1.50 (+1.00 to +2.00), better."
    )
    assert [verdict_sentence.worst(every[start:]) for start in range(4)] == [WORSE, CHANCE, BETTER, UNKNOWN]
    without = ElsewhereVerdict("d", 10, 10, "Spearman", Verdict(after=3.0))
    assert (
        verdict_sentence.elsewhere([without]).text == "Elsewhere: d Spearman no score that can be compared, not known."
    )
    base = ElsewhereVerdict("d", 10, 10, "Spearman", Verdict(before=3.0))
    assert verdict_sentence.elsewhere([base]) is None, "it is not trained yet"
    run = verdict.RunVerdict(elsewhere=tuple(every))
    assert typed_json.read(verdict.RunVerdict, json.loads(json.dumps(typed_json.written(run)))) == run


def test_page_command_card_and_blends_tell_it(place, run, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    status = run.status()
    text = verdict_sentence.elsewhere(status.verdict.elsewhere).text
    headline = learned.lines(status.learned)[0]
    for one in status.verdict.elsewhere:
        assert f"{one.verdict.shown_difference:+.1f}".replace("-", "−") in headline
    assert learned.as_json(status.learned)["elsewhere"]["text"] == text
    both = of_folder("tiny", place.model), of_folder("tuned", run.model)
    assert run_results.tuning(both, "").probes.elsewhere == status.verdict.elsewhere, "Compare and its report"
    card = (run.model / "README.md").read_text()
    assert f"| Sample pairs (elsewhere, {MOST} of 240 pairs) |" in card
    assert str(run.folder.parent.parent) not in card, "a set is named by the last part of its path"
    _, curve = finish(blending.of_runs([run], (1.0,)))
    scores = blend_curve.as_json(curve)["sets"]
    for number, one in enumerate(status.verdict.elsewhere, start=1):
        assert scores[f"elsewhere {number}"]["scores"][-1] == pytest.approx(one.verdict.after, abs=1e-3)
    assert curve.learned(1.0).elsewhere[0].verdict.after == pytest.approx(
        status.verdict.elsewhere[0].verdict.after, abs=1e-3
    )


def test_recipe_file_and_command_keep_the_choice(place):
    given = recipe(place, "simcse", elsewhere=("Sample search",), elsewhere_most=7)
    assert recipe_file.from_yaml(given.as_yaml(), "recipe.yaml") == given
    read = _recipe(_options(["train", "simcse", "--elsewhere", "Sample search", "--elsewhere-most", "7"]))
    assert (read.elsewhere, read.elsewhere_most) == (given.elsewhere, 7)
    assert "--elsewhere 'Sample search' --elsewhere-most 7" in given.command()
    assert _recipe(_options(["train", "simcse"])).elsewhere == (sets.AT_HAND,)
    none = _recipe(_options(["train", "simcse", "--elsewhere", "none"]))
    assert none.elsewhere == ()
    assert "--elsewhere none" in none.command()
    assert "elsewhere" not in none.as_yaml(), "as before there was a choice"
    assert recipe_file.from_yaml("method: simcse", "recipe.yaml").elsewhere == ()
    with pytest.raises(BadChoice, match="elsewhere cannot be 'Probe packs': every run is scored on them"):
        recipe(place, "simcse", elsewhere=("Probe packs",))
    with pytest.raises(BadChoice, match="elsewhere_most cannot be -1"):
        recipe(place, "simcse", elsewhere_most=-1)
