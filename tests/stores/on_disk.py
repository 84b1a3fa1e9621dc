"""The stores that write to a disk, by their name in docs/architecture.md."""

from __future__ import annotations

import shutil
from collections.abc import Hashable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

from explorer.commands.plans import check_same
from explorer.data import uploads
from explorer.data.graded import sets
from explorer.data.text_sets import SENTENCES, Corpus, GradedPairs
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import DECODER_POOLINGS, GRID_POOLINGS, REFERENCES, Row
from explorer.encoding.tune.blending import Blending
from explorer.errors import BadChoice, CannotResume
from explorer.evaluating.encoded import Encoded
from explorer.evaluating.kinds import item_scores
from explorer.evaluating.kinds.item_scores import ItemScores
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import Result, ScoredModel
from explorer.evaluating.results.scored_task import FINE_TUNING, RUN_TEST, STS, Options, ScoredTask
from explorer.evaluating.tasks import Task, kinds
from explorer.measuring.scores import item_store
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Settings, score_key, store_scores, stored_scores
from explorer.measuring.scores.verdict import Verdict
from explorer.measuring.sentences import word_pairs
from explorer.measuring.sentences.word_pairs import WordPair
from explorer.progress import finish
from explorer.studies.plans import plan_folder
from explorer.studies.plans.plan import Plan
from explorer.studies.recipe_runs import RecipeRuns
from explorer.studies.size import picture_store, static_folder
from explorer.studies.size.points import Picture, Point, Size
from explorer.studies.size.static_encoder import StaticOptions
from explorer.training import backtranslation
from explorer.training.loop import judging, mining, resume_state
from explorer.training.loop.resume_state import State
from explorer.training.recipe import Recipe
from explorer.ui.train import method_form
from tests.evaluating.results_by_hand import measured
from tests.stores import drawn
from tests.stores.drawn import one_of
from tests.stores.store import Desk, Guard, Store

# two contents whose SHA-256 begins alike, and two sets of pairs whose digests do
TWINS = (b"one line 39846\n", b"one line 63895\n", b"one line\n")
TWIN_PAIRS = tuple(
    GradedPairs("", ("a", "b", "c"), ("d", "e", f"f {number}"), (1.0, 2.0, 3.0), ("", "", ""))
    for number in (20524, 45870)
)


def scores_of(number: int, grid: tuple[str, ...]) -> LayerScores:
    """Scores that tell a number by the seconds that they took."""
    cosines = np.zeros((1, len(grid), 1), dtype=np.float32)
    how = {"precision": "float32", "device": "cpu", "max_length": 8, "truncated": 0, "sentences": 1}
    given = {"rows": (Row((0,)),), "poolings": grid, "gold": np.zeros(1), "parts": ("",)}
    return LayerScores(cosines=cosines, own=None, own_title="", seconds=float(number), **given, **how)


def digest_of(desk: Desk, x: Any) -> Hashable:
    return type(x.value).__name__, replace(x.value, name=x.name).digest


def put_scores(desk: Desk, x: Any) -> Hashable:
    key = score_key(x.model, replace(x.pairs, name=x.name).digest, x.precision, x.device, x.max_length, x.grid)
    store_scores(key, scores_of(x.number, x.grid))
    return key


def read_scores(desk: Desk, key: Hashable) -> int:
    found = stored_scores(str(key))
    assert found is not None
    return int(found.seconds)


def put_item_scores(desk: Desk, x: Any) -> Hashable:
    key = item_scores.key(
        x.model, replace(x.given, name=x.name).digest, x.main, x.device, x.max_length, x.grid, x.windows
    )
    plain = scores_of(x.number, x.grid)
    of_plain = {one.name: getattr(plain, one.name) for one in fields(plain) if one.init}
    item_scores.keep(key, ItemScores(**of_plain, measure=x.main))
    return key


def read_item_scores(desk: Desk, key: Hashable) -> int:
    found = item_scores.kept(str(key))
    assert found is not None
    return int(found.seconds)


def put_words(desk: Desk, x: Any) -> Hashable:
    key = word_pairs.key(x.model, x.sentences, x.reading.title, x.reference, x.max_length, x.device)
    word_pairs.keep(key, WordPair(((), ()), (np.zeros(0), np.zeros(0)), (0.0, 0.0), 0.0, (x.number, x.number)))
    return key


def read_words(desk: Desk, key: Hashable) -> int:
    found = word_pairs.kept(str(key))
    assert found is not None
    return found.points[0]


def settings_of_a_task(random: Random) -> dict[str, Any]:
    return {name: random.choice((None, 1, "1")) for name in sorted(random.sample(("a", "b", "a b"), 2))}


def write_result(desk: Desk, x: Any) -> Hashable:
    task = ScoredTask(x.kind, x.data, dict(x.settings), x.task, x.folder)
    model = ScoredModel(x.model, f"local-{x.digest[:12]}", x.digest)
    result_files.write(Result(model, task, measured(x.number)))
    return task.key(x.digest)


def read_result(desk: Desk, key: Hashable) -> int:
    found = next(one for one in result_files.read_all()[0] if one.key == key)
    saved = result_files.saved(replace(found.model, name="another name"), replace(found.task, name="another task"))
    assert saved is not None
    return int(saved.measured.score())


def of_kind(kind: type[Task[Any]]) -> Store:
    """The results of a kind of task, whose keys have the options that it says decide its scores."""
    options = {
        "text": one_of("raw", "senteval"), "probe": one_of("logistic", "senteval"), "seeds": one_of((1,), (12,)),
        "index": one_of("flat", "ivf"), "query_prompt": one_of(None, "", "a"), "document_prompt": one_of(None, "", "a"),
        "windows": one_of(True, False),
    }  # fmt: skip
    decides = {name: options.pop(name) for name in kind.decided_by}

    def key(desk: Desk, x: Any) -> Hashable:
        task = kind(x.name, SimpleNamespace(digest=x.data))
        about = x.text, x.probe, x.seeds, x.prompt, x.index, x.query_prompt, x.document_prompt, x.windows, x.titles
        chosen = Options(*about, again=x.again)
        return task.key(chosen, Settings(x.precision, "cpu", x.max_length)).key(x.model)

    prompts = one_of(None, "", "sts", "mteb")
    encoding = {"precision": one_of("bfloat16", "float32"), "max_length": one_of(None, 4, 44), "prompt": prompts}
    asked = {"name": drawn.name, "titles": one_of((), ("all",)), "again": one_of(True, False)}
    decides = {"data": drawn.digest, "model": drawn.digest, **encoding, **decides}
    return Store(decides, {**asked, **options}, key, bases=100)


def vectors_of_a_task(desk: Desk, x: Any) -> Hashable:
    title = x.reading.title
    block = np.array([[x.number, 0.0]], dtype=np.float32)
    found = Encoded(("another title", title), (-block, block), np.zeros(1, dtype=np.intp), 0, 0.0).of(title)
    assert found[0, 0] == x.number
    return title


def write_model(desk: Desk, name: str, content: str) -> Path:
    """A folder whose files tell which model it is; nothing loads it."""
    desk.put(f"{name}/config.json", "{}")
    desk.put(f"{name}/model.safetensors", content)
    return desk.folder / name


def recipe_of(desk: Desk, x: Any) -> Recipe:
    shutil.rmtree(desk.folder / "named", ignore_errors=True)
    lines = "".join(f"{x.text} {at}\n" for at in range(40))
    text, model = desk.put(f"named/{x.name}.txt", lines), write_model(desk, f"named/{x.folder}", x.model)
    return Recipe("simcse", str(model), (str(text),), settings={"temperature": x.temperature}, seeds=(x.seed,))


def trainings(desk: Desk, x: Any) -> Hashable:
    recipe = recipe_of(desk, x)
    return recipe.settings.get("temperature"), recipe.seeds, tuple(RecipeRuns().digests(recipe).items())


def state_of(x: Any) -> Mapping[str, Any]:
    settings = {"learning_rate": x.rate, "pooling": x.pooling}
    recipe = Recipe("simcse", x.model, (x.data,), precision=x.precision, seeds=x.seeds, settings=settings)
    return recipe.how_trained()


def save_state(desk: Desk, x: Any) -> None:
    resume_state.save(desk.folder / "state", State({}, {"recipe": state_of(x)}))


def resumes(desk: Desk, x: Any) -> bool:
    state = resume_state.load(desk.folder / "state")
    assert state is not None
    try:
        resume_state.check(state, state_of(x))
    except CannotResume:
        return False
    return True


def plan_of(x: Any) -> Plan:
    return Plan("mine", (x.method,), (x.model,), ((x.text,),), dev=x.dev, seeds=x.seeds, tasks=x.tasks)


def begin_plan(desk: Desk, x: Any) -> None:
    desk.patch.setenv("STRATA_RUNS", str(desk.folder / f"runs {len(list(desk.folder.iterdir()))}"))
    plan_folder.new(plan_of(x))


def plan_goes_on(desk: Desk, x: Any) -> bool:
    try:
        check_same(replace(plan_of(x), budget=x.budget), plan_folder.find("mine"))
    except BadChoice:
        return False
    return True


class Upper:
    """A translator that writes in capitals."""

    def translate(self, some: tuple[str, ...]) -> list[str]:
        return [text.upper() for text in some]


def translate(desk: Desk, x: Any, out: str = "out.tsv") -> None:
    desk.patch.setattr(backtranslation, "load_translator", lambda *_, **__: Upper())
    there, back = (Found(x.name, Path(x.name), digest) for digest in (x.there, x.back))
    finish(backtranslation.backtranslate(x.sentences, there, back, desk.folder / out, beams=x.beams))


def begin_translation(desk: Desk, x: Any) -> None:
    for file in desk.folder.glob("out.tsv*"):
        file.unlink()
    translate(desk, x)


def translation_goes_on(desk: Desk, x: Any) -> bool:
    try:
        translate(desk, x)
    except CannotResume:
        return False
    return True


def put_items_of_a_blend(desk: Desk, x: Any) -> Hashable:
    models = SimpleNamespace(
        base=SimpleNamespace(digest=x.base), tuned=[SimpleNamespace(digest=one) for one in x.tuned]
    )
    judge = SimpleNamespace(measure=x.measure, digest=x.data, texts=x.texts, name=x.name)
    key = item_store.item_key(Blending.digest(models, x.alpha), judge, x.head, x.device, x.max_length)
    item_store.keep_items(key, np.array([float(x.number)]))
    return key


def put_items_of_a_base(desk: Desk, x: Any) -> Hashable:
    encoder = SimpleNamespace(digest=x.model, device=x.device, max_length=x.max_length, default_head=Head(("cls",)))
    judge = SimpleNamespace(name=x.name, measure=x.measure, digest=x.data, texts=x.texts)
    key = judging._key(encoder, judge, Head((x.pooling,)))
    item_store.keep_items(key, np.array([float(x.number)]))
    return key


def put_vectors_of_mining(desk: Desk, x: Any) -> Hashable:
    key = mining.vectors_key(x.model, x.texts, x.device, x.max_length)
    item_store.keep_items(key, np.array([float(x.number)]))
    return key


def read_items(desk: Desk, key: Hashable) -> int:
    found = item_store.kept_items(str(key))
    assert found is not None
    return int(found[0])


def put_picture(desk: Desk, x: Any) -> Hashable:
    key = picture_store.key_of(x.subject, x.names)
    point = Point("tiny", Size(1, "mean", 8, "int8"), Verdict(80.0, None, 80.0, 0.0, 0.0, 0.0), 1, 1, 1.0, 1.0)
    shown = Picture((point,), "set", 3, "Spearman", "text", 9, "PCA", "cpu", "float32", float(x.number))
    picture_store.keep(key, shown)
    return key


def read_picture(desk: Desk, key: Hashable) -> int:
    found = picture_store.kept(str(key))
    assert found is not None
    assert found.points[0].verdict.after == 80.0
    return int(found.seconds)


JUDGED = {
    "data": drawn.digest, "texts": drawn.texts, "device": one_of("cpu", "cuda"), "max_length": one_of(4, 64),
    "measure": one_of("MRR@10", "nDCG@10"),
}  # fmt: skip
STORES: Mapping[str, Store | Guard | tuple[Store, ...]] = {
    "Digests": tuple(
        Store({"value": draw}, {"name": drawn.name}, digest_of, bases=200) for draw in (drawn.data, drawn.labelled_rows)
    ),
    "Scores": Store(
        {"model": drawn.digest, "pairs": drawn.pairs, "precision": one_of("bfloat16", "float32"),
         "device": one_of("auto", "cpu"), "max_length": one_of(None, 4),
         "grid": one_of(GRID_POOLINGS, DECODER_POOLINGS)},
        {"name": drawn.name},
        put_scores,
        read_scores,
    ),
    "Pictures of sizes": Store(
        {"subject": one_of("sizes a", "sizes b"), "names": one_of(("a", "b"), ("ab",), ("a", "bc"))},
        {},
        put_picture,
        read_picture,
    ),
    "Static encoders": Store(
        {"model": drawn.digest, "dimensions": one_of(0, 1, 11), "sif": one_of(0.0, 0.1, 1.0),
         "pooling": one_of("mean", "token", "model default")},
        {"name": drawn.name},
        lambda desk, x: static_folder.place(
            Found(x.name, desk.folder, x.model), StaticOptions(x.dimensions, x.sif, x.pooling)
        ).name,
    ),
    "Words": Store(
        {"model": drawn.digest, "sentences": lambda random: drawn.texts(random, 2), "reading": drawn.reading,
         "reference": one_of(*REFERENCES), "max_length": one_of(None, 4), "device": one_of("auto", "cpu")},
        {},
        put_words,
        read_words,
    ),
    "Item scores": Store(
        {"model": drawn.digest, "given": drawn.retrieval_set, "main": one_of("nDCG@10", "MRR@10"),
         "device": one_of("auto", "cpu"), "max_length": one_of(None, 4),
         "grid": one_of(GRID_POOLINGS, DECODER_POOLINGS), "windows": one_of(True, False)},
        {"name": drawn.name},
        put_item_scores,
        read_item_scores,
    ),
    "Items of models": (
        Store(
            {"model": drawn.digest, **JUDGED, "pooling": one_of("cls", "mean", "max")},
            {"name": drawn.name},
            put_items_of_a_base,
            read_items,
            bases=40,
        ),
        Store(
            {"base": drawn.digest, "tuned": lambda random: random.choices(("1", "2", "12"), k=random.choice((1, 2))),
             "alpha": one_of(0.0, 0.5, 0.55, 1.0), "head": one_of("default", "tuned"), **JUDGED},
            {"name": drawn.name},
            put_items_of_a_blend,
            read_items,
        ),
    ),
    "Vectors of hard negatives": Store(
        {"model": drawn.digest, "texts": drawn.texts, "device": one_of("cpu", "cuda"), "max_length": one_of(8, 64)},
        {"name": drawn.name},
        put_vectors_of_mining,
        read_items,
        bases=40,
    ),
    "Results": (
        Store(
            {"kind": one_of(STS, FINE_TUNING, RUN_TEST), "data": drawn.digest, "digest": drawn.digest,
             "settings": settings_of_a_task},
            {"model": drawn.name, "task": drawn.name, "folder": drawn.name},
            write_result,
            read_result,
            bases=5,
        ),
        *map(of_kind, kinds()),
    ),
    "Vectors of a task": Store({"reading": drawn.reading}, {}, vectors_of_a_task, bases=100),
    "Uploaded texts": Store(
        {"data": one_of(*TWINS)},
        {},
        lambda desk, x: uploads.keep("a.txt", x.data),
        lambda desk, path: desk.numbers[(repr(Path(path).read_bytes()),)],
    ),
    "Uploaded pairs": Store(
        {"pairs": lambda random: random.choice((*TWIN_PAIRS, drawn.pairs(random))), "name": drawn.name},
        {},
        lambda desk, x: sets.keep(replace(x.pairs, name=x.name)),
        lambda desk, one: desk.numbers[(repr(replace(sets.uploaded_pairs(one), name="")), repr(one.name))],
    ),
    "Generators": Store(
        {"base": drawn.digest, "text": drawn.texts},
        {"name": drawn.name},
        lambda desk, x: method_form.folder_of(x.base, Corpus(x.name, SENTENCES, (x.text,)).digest),
    ),
    "Trainings": Store(
        {"text": one_of("first", "second"), "model": one_of("one", "other"), "seed": one_of(1, 2),
         "temperature": one_of(0.05, 0.1)},
        {"name": drawn.name, "folder": drawn.name},
        trainings,
        bases=3,
    ),
    "Stopped runs": Guard(
        {"rate": one_of(1e-3, 2e-3), "pooling": one_of("cls", "mean"), "precision": one_of("float32", "bfloat16"),
         "seeds": one_of((1,), (1, 2), (2, 1))},
        {"data": drawn.name, "model": drawn.name},
        save_state,
        resumes,
    ),
    "Plans": Guard(
        {"method": one_of("simcse", "sg-opt"), "model": one_of("a", "a b", "b"), "text": one_of("a", "b", "a · b"),
         "dev": one_of("", "a"), "seeds": one_of((1,), (1, 2), (2, 1)), "tasks": one_of((), ("STS12",), ("STS13",))},
        {"budget": one_of(Plan("x").budget, replace(Plan("x").budget, steps=3))},
        begin_plan,
        plan_goes_on,
    ),
    "Back-translations": Guard(
        {"sentences": one_of(("a", "b"), ("a", "c"), ("b", "a")), "there": drawn.digest, "back": drawn.digest,
         "beams": one_of(1, 2)},
        {"name": drawn.name},
        begin_translation,
        translation_goes_on,
    ),
}  # fmt: skip
