"""The stores of a process, by their name in docs/architecture.md; in place of a computation stands what it is of."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from explorer.data.set_items import Attribute
from explorer.data.sources import identity
from explorer.encoding.locate import lookup
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read import sentence_pairs
from explorer.encoding.read.pooling import Reading, Row
from explorer.evaluating.results import result_files
from explorer.measuring.maps import projection
from explorer.measuring.maps.projection import MapSettings
from explorer.measuring.scores.calibration import MatchOptions
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.verdict import Verdict
from explorer.measuring.sentences.edits import Edited
from explorer.run_folder import METRICS, PROBE, PROBE_SENTENCES, STATUS, STEPS, probe_file
from explorer.studies.plans.plan import Plan
from explorer.studies.size.points import Point, Size, SizeOptions
from explorer.training.recipe import Recipe
from explorer.training.record import recorder
from explorer.training.record.runs import Run
from explorer.ui import blend, layers
from explorer.ui.access import cached, cached_texts, loaded_encoders
from explorer.ui.access.sidebar_choice import Reader
from explorer.ui.compare import compared, geometry_view, split_view
from explorer.ui.layer_attention import pair_view, pooler_view
from explorer.ui.map import layers_view, map_view
from explorer.ui.plans import plan_view
from explorer.ui.replay import step_grid, step_map
from explorer.ui.results import table_view
from explorer.ui.runs import run_curves, training_queue
from explorer.ui.search import neighbours
from explorer.ui.size import serving, size_export, size_view
from explorer.ui.start import file_cautions, first_pair
from explorer.ui.widgets import cosine_meaning, differences, microscope, pair_words
from tests.evaluating.results_by_hand import result
from tests.stores import drawn
from tests.stores.drawn import one_of
from tests.stores.store import Desk, Store


class Side(Reader):
    """A side of the sidebar whose encoder is not loaded."""

    title = "A"

    def vectors(self, sentences: Any) -> Any:
        return np.zeros((len(sentences), 2), dtype=np.float32)


def key_of(desk: Desk, module: Any, work: Any, there: Any = None) -> str:
    """The last key under which some work asks for a result; `there` is what each of them is."""
    keys: list[str] = []
    desk.patch.setattr(module.jobs, "result", lambda key, *_: keys.append(key) or there)
    work()
    return keys[-1]


def own(answer: Hashable, expected: Hashable) -> Hashable:
    """The answer, if it is that of the input."""
    assert answer == expected, "the answer of another input"
    return answer


def answered(desk: Desk, key: Hashable, what: Hashable) -> Hashable:
    """What is answered where the first value of each key is kept, such as the result of a job."""
    return own(desk.answers.setdefault(key, what), what)


def found(x: Any) -> Found:
    return Found(x.name, None, x.model)


def side(x: Any) -> Side:
    return Side("A", found(x), x.reading, x.settings)


def sides(x: Any) -> tuple[Side, ...]:
    return tuple(Side("A", Found(x.name, None, model), reading, x.settings) for model, reading in x.sides)


def named(data: Any, x: Any) -> Any:
    return replace(data, name=x.name)


def encoders(desk: Desk, x: Any) -> Hashable:
    desk.patch.setattr(loaded_encoders, "load_encoder", lambda one, settings: (one.digest, settings))
    loaded = loaded_encoders.encoder(found(x), Settings(x.precision, x.device, x.max_length))
    return own(loaded, (x.model, Settings(x.precision, x.device)))


def sources(desk: Desk, x: Any) -> Hashable:
    """What pages read of a file, and of a retrieval set in a folder."""
    lines = (f"{score},a man {score},a dog" for score in x.scores)
    file = desk.put("pairs.csv", "\n".join(["score,sentence1,sentence2", *lines]), x.seconds)
    for name, key in (("corpus", "d"), ("queries", "q")):
        texts = (json.dumps({"_id": f"{key}{at}", "text": f"{at} {x.text}"}) for at in range(2))
        desk.put(f"judged/{name}.jsonl", "\n".join(texts), x.seconds)
    desk.put("judged/qrels/test.tsv", f"query-id\tcorpus-id\tscore\nq0\td{x.relevant}\t1\n", x.seconds)
    pairs, judged = (cached_texts.evaluated_on(identity(str(one)), True) for one in (file, desk.folder / "judged"))
    answer = pairs.gold, judged.queries, tuple(judged.judgements[0])
    return own(answer, (x.scores, (f"0 {x.text}",), (x.relevant,)))


def sentence_vectors(desk: Desk, x: Any) -> Hashable:
    return key_of(desk, cached, lambda: cached.vectors(found(x), x.sentences, x.reading, x.settings))


def mapped_neighbours(desk: Desk, x: Any) -> Hashable:
    return key_of(desk, map_view, lambda: map_view.mapped(named(x.sentences, x), sides(x), MapSettings("PCA")))


def maps(desk: Desk, x: Any) -> Hashable:
    return key_of(
        desk, map_view, lambda: map_view.mapped(named(x.sentences, x), (side(x),), x.way), there=("near", "frames")
    )


def layers_of_a_map(desk: Desk, x: Any) -> Hashable:
    return key_of(desk, layers_view, lambda: layers_view.layered(named(x.sentences, x), side(x), x.way))


def indexes(desk: Desk, x: Any) -> Hashable:
    desk.patch.setattr(neighbours.st, "markdown", lambda *_, **__: None)
    desk.patch.setattr(neighbours.declared, "described", lambda *_: "")
    return key_of(desk, neighbours, lambda: neighbours.search_side(side(x), named(x.sentences, x), ""))


def neighbour_overlap(desk: Desk, x: Any) -> Hashable:
    desk.patch.setattr(neighbours.st, "subheader", lambda *_: None)
    return key_of(desk, neighbours, lambda: neighbours.changes(sides(x), named(x.sentences, x), (), x.k))


def judged_scores(desk: Desk, x: Any) -> Hashable:
    task = named(x.task, x)
    return key_of(desk, neighbours, lambda: neighbours._scores(side(x), task, task.documents))


def token_pairs(desk: Desk, x: Any) -> Hashable:
    return key_of(desk, microscope, lambda: microscope._token_pair(side(x), *x.sentences))


def word_pairs(desk: Desk, x: Any) -> Hashable:
    return key_of(desk, microscope, lambda: pair_words._word_pair(side(x), *x.sentences, x.reference))


def edit_costs(desk: Desk, x: Any) -> Hashable:
    desk.patch.setattr(loaded_encoders, "attending", lambda one: one.digest)
    desk.patch.setattr(differences, "costs_of", lambda *given: given)
    desk.patch.setattr(differences, "progress", SimpleNamespace(finish=lambda given: given))
    edited, length = Edited(*x.sentences, (), ()), x.settings.max_length
    return own(differences.computed(found(x), edited, x.reading, length), (x.model, edited, x.reading, length))


def cosines(desk: Desk, x: Any) -> Hashable:
    desk.patch.setattr(loaded_encoders, "encoder", lambda one, settings: (one.digest, settings))
    desk.patch.setattr(first_pair, "of_reading", lambda *given: given)
    desk.patch.setattr(first_pair, "finish", lambda given: given)
    # a cosine is a number: of what decides it
    desk.patch.setattr(first_pair, "similarities", lambda given: {(0, 1): hash(given)})
    given = (x.model, x.settings), x.sentences, x.reading, x.settings.max_length
    return own(first_pair.cosine(found(x), x.sentences, x.reading, x.settings), float(hash(given)))


def layer_weights(desk: Desk, x: Any) -> Hashable:
    desk.patch.setattr(loaded_encoders, "encoder", lambda one, settings: (one.digest, settings))
    desk.patch.setattr(pooler_view.attention_weights, "layer_weights", lambda *given: given)
    desk.patch.setattr(pair_view.sentence_pair, "pair_layers", lambda *given: given)
    of, most = (x.model, x.settings), x.settings.max_length
    own(pooler_view.layer_weights(found(x), x.sentences, x.settings), (of, x.sentences, most))
    return own(pair_view.pair_layers(found(x), *x.sentences, x.settings), (of, *x.sentences, most))


def attention(desk: Desk, x: Any) -> Hashable:
    desk.patch.setattr(loaded_encoders, "attending", lambda one: one.digest)
    desk.patch.setattr(sentence_pairs, "self_attention", lambda *given: given)
    return own(pair_view.self_attention(found(x), *x.sentences, x.way), (x.model, *x.sentences, x.way))


def measured(x: Any) -> tuple[Hashable, ...]:
    """What identifies the scores of A and B."""
    settings = x.settings.precision, x.settings.device, x.settings.max_length
    return tuple((model, x.pairs, *settings) for model in x.models)


def intervals(desk: Desk, x: Any) -> Hashable:
    of = (x.models, x.pairs, x.settings, x.metric, x.aggregate)
    comparison = SimpleNamespace(
        cells=lambda *_: (of, None), among=lambda *_: None, chosen=lambda *_: (of, x.readings),
        one_reading=x.readings[0], other_reading=x.readings[1],
    )  # fmt: skip
    answer = compared.differences(measured(x), comparison, x.metric, x.aggregate)
    return own((answer.grid, answer.chosen), (of, (of, x.readings)))


def groups_of_a_column(desk: Desk, x: Any) -> Hashable:
    of = (x.models, x.pairs, x.settings, x.metric, x.readings, x.column, x.intervals)
    desk.patch.setattr(split_view.splits, "split", lambda *_, **__: of)
    titles = tuple(one.title for one in x.readings)
    return own(split_view.changes(measured(x), titles, x.metric, x.column, x.intervals, None), of)


def best_layers(desk: Desk, x: Any) -> Hashable:
    of = (x.models, x.pairs, x.settings, x.metric, x.aggregate)
    desk.patch.setattr(layers.best_cell, "choose", lambda *_: of)
    return own(layers.best_layer(measured(x), x.metric, x.aggregate, None, None), of)


def calibrations(desk: Desk, x: Any) -> Hashable:
    of = (x.models, x.pairs, x.settings, x.reading, x.options)
    desk.patch.setattr(cosine_meaning.calibration, "calibrate", lambda *_: of)
    scored = SimpleNamespace(name="", scores=SimpleNamespace(gold=None, cosines_of=lambda _: None))
    found = cosine_meaning.calibrated(measured(x), x.reading.title, x.options, x.reading, scored, scored)
    return own(found, of)


def pairs_of_a_text(desk: Desk, x: Any) -> Hashable:
    of = (x.model, x.reading, x.settings, x.text.texts)
    desk.patch.setattr(cosine_meaning.similarity, "random_pairs", lambda *_: of)
    side = Side("A", found(x), x.reading, x.settings)
    return own(cosine_meaning.random_pairs(cosine_meaning.pairs_key(side, x.text), None), of)


def pairs_of_vectors(desk: Desk, x: Any) -> Hashable:
    desk.patch.setattr(cosine_meaning.similarity, "random_pairs", lambda *_: x.vectors)
    return own(cosine_meaning.random_pairs(cosine_meaning.vectors_key(x.vectors), None), x.vectors)


def layer_geometry(desk: Desk, x: Any) -> Hashable:
    sides = [SimpleNamespace(found=Found(x.name, None, model), pairs=named(x.pairs, x)) for model in x.models]
    return geometry_view.key_of(sides, x.pooling, x.settings)


def cloud(desk: Desk, x: Any) -> Hashable:
    one = SimpleNamespace(found=found(x), pairs=named(x.pairs, x), reading=x.reading)
    return geometry_view.geometry_key(one, x.settings)


def map_of_a_run(desk: Desk, x: Any) -> Hashable:
    run, steps = Run(desk.folder / "run"), (0, 10)[: x.steps]
    desk.put(f"run/{PROBE}/{PROBE_SENTENCES}", json.dumps([f"{x.text} {at}" for at in range(5)]), x.seconds)
    for step in steps:
        file, random = probe_file(run.folder, x.seed, step), np.random.default_rng([x.vectors, step])
        file.unlink(missing_ok=True)
        np.save(file, random.normal(size=(5, 3)))
    answer, probes = step_map.travel_of(run, x.seed, steps), recorder.probes(run, x.seed, steps)
    assert answer is not None
    assert np.array_equal(answer[0].places, projection.travel(probes).places), "the map of other vectors"
    return own(answer[1][0], f"{x.text} 0"), answer[0].places.tobytes(), x.seed


def steps_of_a_run(desk: Desk, x: Any) -> Hashable:
    names = [f"run:{x.name}@step-{step}" for step in (0, 10)[: x.steps]]
    for step in (0, 10):
        desk.keep(f"run/{STEPS}/step-{step}/model.safetensors", x.weights)
    return answered(desk, step_grid.models_key(Run(desk.folder / "run"), names), (x.steps, x.weights))


def subject(x: Any) -> size_view.SizeRequest:
    one, *others = (Found(x.name, None, model) for model in x.models)
    return size_view.SizeRequest(
        one,
        named(x.data, x),
        identity("sample"),
        named(x.text, x),
        x.wanted,
        words(x),
        tuple(others),
        x.length,
        x.static,
    )


def words(x: Any) -> Any:
    return x.words and named(x.words, x)


def exports(desk: Desk, x: Any) -> Hashable:
    point = Point("tiny", x.size, Verdict(80.0, None, 80.0, 0.0, 0.0, 0.0), 1, 1, 1.0, 1.0)
    return size_export.key_of(replace(subject(x), named=x.set), point, Path(x.folder))


def checks(desk: Desk, x: Any) -> Hashable:
    files = (serving.ServedFile(f"mine.{end}", content) for end, content in (("npy", x.content), ("txt", x.text)))
    return serving.key_of(Found(x.name, Path("tiny"), x.model), x.settings, serving.Served(*files))


def results(desk: Desk, x: Any) -> Hashable:
    path = result_files.write(result("tiny", "pairs", x.score))
    desk.put(path, path.read_text(), x.seconds)
    return own(next(one.measured.score() for one in table_view.every_result() if one.model.name == "tiny"), x.score)


def model_and_text(desk: Desk, x: Any) -> tuple[str, tuple[str, ...]]:
    desk.keep("tiny/config.json", "{}")
    return str(desk.keep("tiny/model.safetensors", x.weights).parent), (str(desk.keep("text.txt", x.content)),)


def plans(desk: Desk, x: Any) -> Hashable:
    desk.patch.setenv("STRATA_RUNS", str(desk.folder / "runs"))
    desk.keep(f"runs/run/{STATUS}", json.dumps({"state": x.state}))
    model, text = model_and_text(desk, x)
    key = plan_view.table_stamp(Plan("mine", ("simcse",), (model,), (text,)))
    return answered(desk, key, (x.state, x.weights, x.content))


def estimates(desk: Desk, x: Any) -> Hashable:
    recipe = Recipe("simcse", *model_and_text(desk, x), settings={"steps": x.steps}, made_with={"rows": x.rows})
    return answered(desk, training_queue.trial_key(recipe), (x.weights, x.content, x.steps))


def metrics(desk: Desk, x: Any) -> Hashable:
    lines = (json.dumps({"number": 1, "seed": 1, "step": step, "time": 0.0, "loss": loss, "rate": 0.1})
             for step, loss in enumerate(x.losses, start=1))  # fmt: skip
    (desk.folder / METRICS).write_text("".join(f"{line}\n" for line in lines))
    return own(tuple(one.loss for one in run_curves.numbers(desk.folder).lines()), x.losses)


def texts_cut(desk: Desk, x: Any) -> Hashable:
    of = (x.model, x.pairs.digest, x.settings, x.most, x.use)
    desk.patch.setattr(loaded_encoders, "encoder", lambda *_: SimpleNamespace(max_length=256))
    desk.patch.setattr(file_cautions.cut_texts, "count", lambda *_: of)
    pairs = named(x.pairs, x)
    given = pairs.digest, lambda: pairs.sentences, x.settings, x.most, x.use
    return own(file_cautions.cut_texts_of(found(x), *given), of)


def two(draw: Any) -> Any:
    """Two values, as of A and B."""
    return lambda random: (draw(random), draw(random))


NAMED, SECONDS = {"name": drawn.name}, {"seconds": one_of(1, 2, 3)}  # the latter a time of modification
READ = {"model": drawn.digest, "reading": drawn.reading, "settings": drawn.settings}
SIDES = {"sides": two(lambda random: (drawn.digest(random), drawn.reading(random))), "settings": drawn.settings}
MAP_SETTINGS = MapSettings("PCA"), MapSettings("PCA", 3), MapSettings("PCA", seed=1)
TWO = {"models": two(drawn.digest), "pairs": drawn.digest, "settings": drawn.settings,
       "metric": one_of("Spearman", "Pearson"), "aggregate": one_of("all", "mean")}  # fmt: skip
SIZES = {"models": two(drawn.digest), "data": drawn.pairs, "text": drawn.sentences, "length": one_of(None, 4, 64),
         "wanted": one_of(SizeOptions(), SizeOptions((1,)), SizeOptions((), (), (1,)),
                          SizeOptions(cut_by="first"), SizeOptions(weights=("int8",))), "static": one_of(False, True),
         "words": lambda random: drawn.sentences(random) if random.random() < 0.7 else None}  # fmt: skip
WEIGHTS = {"weights": one_of("weights 1", "weights 2")}
CONTENT = one_of("one\ntwo\n", "one\nten\n", "six\ntwo\n")  # of one size
PAIR = {"sentences": lambda random: tuple(random.choices(("", "a", "b", "ab", "str:a", "astr:a", "astr:"), k=2))}

STORES: Mapping[str, Store | tuple[Store, ...]] = {
    "Digests of files": Store(
        {"content": CONTENT}, SECONDS, lambda desk, x: lookup.file_digest(desk.put("weights", x.content, x.seconds))
    ),
    "Encoders": Store(
        {"model": drawn.digest, "precision": one_of("bfloat16", "float32"), "device": one_of("auto", "cpu")},
        {**NAMED, "max_length": one_of(None, 4, 64)},
        encoders,
    ),
    "Texts and sets": Store(
        {"scores": one_of(*(tuple(map(float, digits)) for digits in ("12345", "54321", "13245"))),
         "text": one_of("one", "two"), "relevant": one_of(0, 1)},
        SECONDS,
        sources,
        bases=5,
    ),
    "Vectors of sentences": Store({**READ, "sentences": drawn.texts}, NAMED, sentence_vectors, bases=60),
    "Maps": (
        Store({**SIDES, "sentences": drawn.sentences}, NAMED, mapped_neighbours),
        Store({**READ, "sentences": drawn.sentences, "way": one_of(*MAP_SETTINGS)}, NAMED, maps),
        Store({**READ, "reading": one_of(*(Reading(Row((1,)), one) for one in ("cls", "mean", "max"))),
               "sentences": drawn.sentences, "way": one_of(*MAP_SETTINGS)}, NAMED, layers_of_a_map),
    ),
    "Searches": (
        Store({**READ, "sentences": drawn.sentences,
               "settings": one_of(Settings(), Settings(windows=True), Settings(max_length=4, windows=True))},
              NAMED, indexes),
        Store({**SIDES, "sentences": drawn.sentences, "k": one_of(1, 10)}, NAMED, neighbour_overlap),
        Store({**READ, "task": drawn.retrieval_set}, NAMED, judged_scores),
    ),
    "Pairs of sentences": (
        Store({**READ, **PAIR}, NAMED, token_pairs, bases=60),
        Store({"model": drawn.digest, "reading": drawn.reading, "reference": one_of("[PAD]", "[MASK]"),
               "settings": one_of(Settings(), Settings("float32", "auto", 4)), **PAIR}, NAMED, word_pairs, bases=80),
        Store({"model": drawn.digest, "reading": drawn.reading,
               "settings": one_of(Settings(), Settings("float32", "auto", 4)), **PAIR},
              NAMED, edit_costs, bases=80),
        Store({"model": drawn.digest, "reading": drawn.reading,
               "settings": one_of(Settings(), Settings("float32", "auto", 4)), **PAIR},
              NAMED, cosines, bases=80),
        Store({"model": drawn.digest, "settings": one_of(Settings(), Settings("float32", "auto", 4)), **PAIR}, NAMED,
              layer_weights, bases=80),
        Store({"model": drawn.digest, "way": one_of("as one input", "alone"), **PAIR}, NAMED, attention, bases=80),
    ),
    "Intervals": (
        Store({**TWO, "readings": two(drawn.reading)}, {}, intervals),
        Store(
            {**{name: one for name, one in TWO.items() if name != "aggregate"},
             "readings": two(drawn.reading), "intervals": one_of(True, False),
             "column": one_of(Attribute("a", ("x", "y")), Attribute("b", ("x", "y")), Attribute("a", ("x", "x")),
                              Attribute("a", (1.0, 2.0)))},
            {"aggregate": TWO["aggregate"]},
            groups_of_a_column,
        ),
        Store(TWO, {}, best_layers),
    ),
    "Meanings of cosines": (
        Store(
            {"models": two(drawn.digest), "pairs": drawn.digest, "settings": drawn.settings, "reading": drawn.reading,
             "options": one_of(MatchOptions(), MatchOptions(match=3.0), MatchOptions(at_recall=0.5))},
            {},
            calibrations,
        ),
        Store({**READ, "text": drawn.sentences}, NAMED, pairs_of_a_text),
        Store({"vectors": drawn.digest}, NAMED, pairs_of_vectors),
    ),
    "Embedding geometry": (
        Store({"models": two(drawn.digest), "pairs": drawn.pairs, "pooling": one_of("cls", "mean"),
               "settings": drawn.settings}, {**NAMED, "reading": drawn.reading}, layer_geometry, bases=40),
        Store({**READ, "pairs": drawn.pairs}, NAMED, cloud, bases=40),
    ),
    "Maps of a run": Store(
        {"text": one_of("one", "two"), "vectors": one_of(1, 2), "seed": one_of(1, 2), "steps": one_of(1, 2)},
        SECONDS,
        map_of_a_run,
        bases=4,
    ),
    "Scores of steps": Store({**WEIGHTS, "steps": one_of(1, 2)}, NAMED, steps_of_a_run),
    "Sizes": Store(SIZES, NAMED, lambda desk, x: subject(x).key, bases=40),
    "Blends of runs": Store(
        {"model": drawn.digest, "base": drawn.digest, "shares": one_of((0.0, 0.5), (0.0, 0.55), (0.0, 0.5, 0.55)),
         **NAMED, "set": drawn.name},
        {},
        lambda desk, x: blend.key_of((x.name, x.set), x.model, {"model_digest": x.base, "data_rows": 3}, x.shares),
    ),
    "Vectors of servers": Store(
        {"model": drawn.digest, "settings": drawn.settings, "content": one_of(b"1", b"2"), "text": one_of(b"1", b"2"),
         **NAMED},
        {},
        checks,
    ),
    "Exports of sizes": Store(
        {**SIZES, "size": one_of(Size(1, "mean", 8, "int8"), Size(2, "mean", 8, "int8")), "folder": one_of("a", "a b"),
         "set": one_of(*map(identity, ("sample", "sample dev", "STS-B test")))},
        NAMED,
        exports,
        bases=40,
    ),
    "Tables of results": Store({"score": one_of(80, 81, 82)}, SECONDS, results, bases=3),
    "Tables of plans": Store({**WEIGHTS, "content": CONTENT, "state": one_of("finished", "stopped!")}, {}, plans),
    "Estimates": Store({**WEIGHTS, "content": CONTENT, "steps": one_of(10, 20)}, {"rows": one_of(1, 2)}, estimates),
    "Metrics of runs": Store({"losses": one_of((1.0, 2.0), (1.0, 3.0), (4.0, 2.0), (1.0, 2.0, 3.0))}, {}, metrics),
    "Texts cut": Store({"model": drawn.digest, "pairs": drawn.pairs, "settings": drawn.settings,
                        "most": one_of(None, 128), "use": one_of("training", "evaluation")}, NAMED, texts_cut),
}  # fmt: skip
