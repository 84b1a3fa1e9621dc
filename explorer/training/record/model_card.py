"""Write the model card, README.md: how the model encodes sentences, its scores and its training.

The card never holds training text, only the name, the number of rows and the digest.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from explorer import fair_share, in_words, typed_json
from explorer.data import safe_yaml, sources
from explorer.data.set_items import PAIR, QUERY, ROW, TRANSLATION, TRIPLET
from explorer.encoding.locate import lookup
from explorer.encoding.read.head_facts import HeadFacts
from explorer.escaping import fenced, one_line, plain, table
from explorer.evaluating.kinds.translations import BOTH
from explorer.evaluating.probes.class_scores import MEASURES
from explorer.knobs import Knob, Values
from explorer.measuring.comparing import headline, learned, similarity_text
from explorer.measuring.comparing.verdict_sentence import rendered
from explorer.measuring.scores.metrics import ACCURACY, AVERAGE_PRECISION, DISTINGUISHED, SPEARMAN
from explorer.measuring.scores.similarity import CosineMeaning
from explorer.measuring.scores.verdict import ELSEWHERE, RunVerdict, Verdict
from explorer.training.loop.measured_facts import SeedScores, spread
from explorer.training.record import model_code, run_facts
from explorer.training.record.model_code import ExportedFacts
from explorer.training.record.run_facts import CARD, RunFacts

if TYPE_CHECKING:
    from explorer.methods import Paper

# the task of a set by what its items are, as sentence-transformers names it
_TASKS = {
    PAIR: ("semantic-similarity", "Semantic Similarity"),
    TRIPLET: ("triplet", "Triplet"),
    QUERY: ("information-retrieval", "Information Retrieval"),
    ROW: ("text-classification", "Text Classification"),
    TRANSLATION: ("translation", "Translation"),
    AVERAGE_PRECISION: ("binary-classification", "Binary Classification"),
}
_METRICS = {SPEARMAN: "Spearman_cosine", AVERAGE_PRECISION: "cosine_ap"}
_SCORES = {
    SPEARMAN: "Spearman's ρ × 100 between the cosines and the gold scores (−100 to 100, higher is better)",
    AVERAGE_PRECISION: "average precision × 100 of the pairs, ranked by cosine (0 to 100, higher is better; chance is "
    "the share of pairs that match)",
    ACCURACY: "the share of triplets × 100 whose anchor is nearer to its positive (0 to 100; 50 is chance)",
    BOTH: "the share of texts and translations × 100 that are nearest to each other (0 to 100, higher is better)",
    DISTINGUISHED: "the share of couples × 100 in which a paraphrase has a higher cosine than a pair of another "
    "meaning (0 to 100; 50 is chance)",
}


@dataclass(frozen=True)
class MethodFacts:
    """How a model was trained, or a stage of it: the method, and its settings beside those that are usual."""

    name: str
    title: str
    paper: Paper
    settings: Values  # of method and schedule
    defaults: Values  # the paper's values, or the method's own if none are published
    as_published: bool  # whether the defaults are the paper's
    used: Mapping[str, str] = field(default_factory=dict)  # of settings that were overridden: `100 → 10`


@dataclass(frozen=True)
class CardFacts:
    """What a card shows beside the facts of the run: names, numbers and digests, never training text.

    What is None was not measured, and is left out.
    """

    run: str
    facts: RunFacts
    base_digest: str
    base_revision: str | None  # the commit of a model of the hub
    methods: tuple[MethodFacts, ...]  # one for each stage that the weights have had
    data_digest: str
    verdict: RunVerdict
    trained: HeadFacts  # the layer & pooling that was trained
    seeds: tuple[SeedScores, ...]
    kept: int  # the seed whose weights these are
    seconds: float | None
    exported: ExportedFacts
    versions: Mapping[str, str]
    command: str
    base_cosines: CosineMeaning | None = None  # what they meant before the training
    cosines: CosineMeaning | None = None

    @property
    def model(self) -> SeedScores:
        """The training whose weights were kept."""
        return next((one for one in self.seeds if one.seed == self.kept), SeedScores(self.kept))

    @property
    def method(self) -> MethodFacts:
        """The last method."""
        return self.methods[-1]

    @property
    def on_hub(self) -> str | None:
        """The base's name on the hub, if it is there."""
        base = self.facts.model
        if base == lookup.BUNDLED:
            return lookup.BUNDLED_ON_HUB
        return base.partition("@")[0] if self.base_revision else None


def card(about: CardFacts) -> str:
    """The text of README.md: YAML metadata for the hub, then Markdown for people."""
    head = safe_yaml.card_head(_metadata(about))
    versions = [(plain(name), plain(number)) for name, number in about.versions.items()]
    papers = "\n\n".join(dict.fromkeys(one.paper.bibtex for one in about.methods))
    parts = (
        f"# {plain(about.run)}",
        *_learned(about),
        _what(about),
        model_code.use(about.exported),
        _results(about),
        *(similarity_text.in_card(about.cosines, about.base_cosines) if about.cosines else ()),
        *_classification(about),
        _training(about),
        *(
            _settings(one, f" of stage {at}, {one.name}" * bool(about.facts.stages))
            for at, one in enumerate(about.methods, start=1)
        ),
        f"## Versions\n\n{table(('', 'version'), versions)}",
        f"## Citation\n\n{fenced('bibtex', papers)}",
    )
    return f"---\n{head}---\n\n" + "\n\n".join(parts) + "\n"


def _metadata(about: CardFacts) -> dict[str, Any]:
    name = "sentence-transformers"
    tags = [name, "sentence-similarity", "feature-extraction", "generated_from_trainer", "strata", about.facts.method]
    results = []
    for use, found in about.verdict.by_use.items():
        of, measure = about.facts.set_of(use), about.facts.measure_of(use)
        if not of or found.after is None:
            continue
        # task and metric have the names, and values from 0 to 1, that sentence-transformers writes
        task = _TASKS.get(measure) or _TASKS.get(item := about.facts.item_of(use)) or (item, item.title())
        metric = _METRICS.get(measure) or f"cosine_{measure}".replace(" ", "_")
        value, title = round(found.after / 100, 6), metric.replace("_", " ").title()
        split = "dev" if use == "dev" else "test"
        results.append(
            {
                "task": {"type": task[0], "name": task[1]},
                "dataset": {"type": "unknown", "name": one_line(sources.shown(of)), "split": split},
                "metrics": [{"type": metric.lower(), "value": value, "name": title}],
            }
        )
    hub, verdict = about.on_hub, typed_json.written(about.verdict)
    del verdict["pairs"]  # no sentences
    verdict[ELSEWHERE] = [one | {"name": sources.shown(one["name"])} for one in verdict[ELSEWHERE]]
    return {
        "library_name": name,
        "pipeline_tag": "sentence-similarity",
        "tags": tags,
        **({"base_model": hub} if hub else {}),
        **({"model-index": [{"name": one_line(about.run), "results": results}]} if results else {}),
        **({"verdict": verdict} if about.verdict.test or about.verdict.dev else {}),
    }


def _what(about: CardFacts) -> str:
    hub = about.on_hub
    name = plain(sources.shown(about.facts.model))
    base = f"[{name}](https://huggingface.co/{hub})" if hub else name
    revision = f", revision {plain(about.base_revision)}" if about.base_revision else ""
    cut = f", cut to {plain(about.facts.cut.words)}" if about.facts.cut else ""
    return f"{base}{revision}{cut}, fine-tuned with Strata {_how(about)}SHA-256 of the base: {about.base_digest}."


def _how(about: CardFacts) -> str:
    """The method with its paper; of stages each of them."""
    papers = [f"[{plain(one.paper.line)}]({one.paper.link})" for one in about.methods]
    if not about.facts.stages:
        return (
            f"by the method **{plain(about.facts.method)}**: {plain(about.method.title)}\n\n"
            f"The method is from {papers[0]}. "
        )
    names = [f"**{plain(name)}**" for name in about.facts.stages.methods]
    done, left = names[: len(papers)], names[len(papers) :]
    stopped = f" It was stopped before {', '.join(left)}." * bool(left)
    lines = (
        f"- {plain(one.name)}: {plain(one.title)} From {paper}."
        for one, paper in zip(about.methods, papers, strict=True)
    )
    return (
        f"in stages: {', then '.join(done)}.{stopped} Each stage starts from the best checkpoint of the one before.\n\n"
        + "\n".join(lines)
        + "\n\n"
    )


def _results(about: CardFacts) -> str:
    """The verdict, then the scores on each set; sets and columns without a score are left out."""
    header = ("", "base, model default", f"base, {about.trained.words}", "this model", "difference (95 % CI)",
              f"mean ± standard deviation of {len(about.seeds)} seeds")  # fmt: skip
    rows = []
    for title, found, of_seeds in _scored(about):
        scores = (found.before, found.before_as_trained, found.after)
        # only if every seed has a score: a mean of some would be optimistic
        over_seeds = spread(of_seeds) if len(about.seeds) > 1 else None
        cells = (
            *("" if score is None else in_words.number(score) for score in scores),
            found.gap,
            "" if over_seeds is None else f"{over_seeds[0]:.2f} ± {over_seeds[1]:.2f}",
        )
        if any(cells):
            rows.append((title, *cells))
    columns = [column for column in zip(map(plain, header), *rows, strict=True) if any(column[1:])]
    none = [f"{title} has no score: {plain(why)}." for title, why in _without(about)]
    if not columns:
        return "\n\n".join(("## Results", *(none or ["The model was not evaluated."])))
    default = about.facts.default.words if about.facts.default else in_words.NONE
    text = " ".join(_measured(about.facts.measures or {})) + f" The base's model default is: {plain(default)}."
    if about.model.dev is not None:
        by = "the dev set and held-out triplets" if about.facts.held_out else "the dev set"
        by += f", by the mean of the scores after each of {about.facts.layers} layers" if about.facts.layers else ""
        by = by if about.model.classes is None else "validation rows"
        text += f" {'Step and seed were' if len(about.seeds) > 1 else 'The step was'} chosen on {by}."
    lines = list(zip(*columns, strict=True))
    return "\n\n".join(("## Results", text, table(lines[0], lines[1:]), *none))


def _without(about: CardFacts) -> Iterator[tuple[str, str]]:
    """Title of each set that has no score, and why."""
    facts = about.facts
    for use in facts.unscored or {}:
        if name := facts.set_of(use):
            yield f"{plain(sources.shown(name))} ({use}, {facts.counted(use)})", facts.why_no_score(use)


def _scored(about: CardFacts) -> Iterator[tuple[str, Verdict, list[float | None]]]:
    """Title and verdict of each set that the model was scored on, and the score of each seed."""
    facts = about.facts
    for use, found in about.verdict.by_use.items():
        if name := facts.set_of(use):
            title = f"{plain(sources.shown(name))} ({use}, {facts.counted(use)})"
            yield title, found, [seed.score(use) for seed in about.seeds]
    for one in about.verdict.elsewhere:
        size = one.items if one.measure == SPEARMAN else f"{one.items}, {one.measure}"
        same = [seed.verdict.on_items_of(one) if seed.verdict else None for seed in about.seeds]
        of_seeds = [None if found is None else found.after for found in same]
        yield f"{plain(sources.shown(one.name))} ({ELSEWHERE}, {size})", one.verdict, of_seeds


def _measured(measures: Mapping[str, str]) -> Iterator[str]:
    """What the scores are, a sentence for each measure."""
    for measure in dict.fromkeys(measures.values()):
        uses = " and ".join(use for use, one in measures.items() if one == measure)
        where = f"On the {uses} set: " if len(set(measures.values())) > 1 else ""
        text = _SCORES.get(
            measure, f"{measure} × 100, the mean over queries, ranked by cosine (0 to 100, higher is better)"
        )
        yield f"{where}{text}."


def _learned(about: CardFacts) -> list[str]:
    """What the model learned, and how sure that is; nothing if it was not measured."""
    found = run_facts.learned(about.facts, about.verdict)
    line = headline.line(found)
    marked = [] if line is None else [rendered(line.pieces, _piece, lambda text: f"**{text}**")]
    return [*marked, plain(learned.sure(found))] if marked else []


def _piece(text: str) -> str:
    """A piece of a sentence; the spaces at its ends separate it from the next one."""
    return " " * text[:1].isspace() + plain(text) + " " * text[-1:].isspace()


def _classification(about: CardFacts) -> list[str]:
    """Scores of test rows and code that classifies, if the model was fine-tuned on labelled texts; else nothing."""
    scores = about.model.classes
    if scores is None:
        return []
    frozen, rows = about.model.frozen, []
    for name in MEASURES:
        seeds = [None if one.classes is None else one.classes.measure(name) for one in about.seeds]
        average = spread(seeds) if len(seeds) > 1 else None
        over_seeds = f"{average[0]:.2f} ± {average[1]:.2f}" if average else ""
        before = "" if frozen is None else f"{frozen.classes.measure(name):.2f}"
        rows.append((name, before, f"{scores.measure(name):.2f}", over_seeds))
    header = ("", "frozen encoder + logistic layer", "this model",
              f"mean ± standard deviation of {len(about.seeds)} seeds")  # fmt: skip
    columns = [column for column in zip(header, *rows, strict=True) if any(column[1:])]
    text = (
        f"Classes of {scores.rows:,} test rows, which were neither trained on nor used to choose the step; × 100, "
        "higher is better. Matthews' correlation is 0 for classes by chance."
    )
    compared = [rendered(frozen.sentence.pieces, _piece, lambda text: f"**{text}**")] if frozen else []
    first, *others = zip(*columns, strict=True)
    code = model_code.classifying(about.exported, about.method.settings)
    return ["\n\n".join(("## Classification", *compared, text, table(first, others), *code))]


def _training(about: CardFacts) -> str:
    model = about.model
    seen = plain(about.facts.seen.words) if about.facts.seen else None
    count = "" if about.facts.rows is None else f", {about.facts.rows:,} rows"
    rows = {
        "Trained on": plain(" + ".join(map(sources.shown, about.facts.data))) + count,
        "SHA-256 of the training text": about.data_digest,
        "Overlap with the test sets" if about.facts.more_tests else "Overlap with the test set": seen,
        "Seeds": ", ".join(str(one.seed) for one in about.seeds) or None,
        "Seed of these weights": str(about.kept) if len(about.seeds) > 1 else None,
        "Steps": None if model.steps is None else f"{model.steps:,}",
        "Best step": None if model.best_step is None else f"{model.best_step:,}",
        **{title: plain(words) for title, words in about.facts.listed(CARD).items()},
        "Remark": plain(model.remark) or None,
        "Time": None if about.seconds is None else in_words.duration(about.seconds),
    }
    again = shlex.join(map(sources.shown, shlex.split(about.command)))
    threads = f"{fair_share.STATED}={about.facts.computed.of_run} " if about.facts.computed else ""
    return "\n\n".join(
        (
            "## Training",
            "The training text is not included.",
            table(("", ""), [(name, text) for name, text in rows.items() if text is not None]),
            "To repeat the training:",
            fenced("sh", threads + again),
        )
    )


def _settings(about: MethodFacts, of: str) -> str:
    rows = []
    for name, value in about.settings.items():
        usual, shown = about.defaults.get(name, value), plain(about.used.get(name) or Knob.text(value))
        differs = name in about.used or value != usual
        rows.append((plain(name), *((f"**{shown}**", plain(Knob.text(usual))) if differs else (shown, ""))))
    whose = "the paper's value" if about.as_published else "the default"
    return f"## Settings{plain(of)}\n\nSettings in bold differ from {whose}.\n\n" + table(("", "value", whose), rows)
