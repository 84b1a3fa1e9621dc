"""Write the model card, README.md: how the model encodes sentences, its scores and its training.

The card never holds training text, only the name, the number of rows and the digest.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from explorer import in_words
from explorer.data import sources
from explorer.knobs import Knob
from explorer.markdown import fenced, one_line, plain, table
from explorer.measuring.comparing import learned, learned_text
from explorer.measuring.scores.class_scores import MEASURES
from explorer.measuring.scores.verdict import Outcome
from explorer.measuring.scores.verdict_text import ACCURACY, DISTINGUISHED, SPEARMAN, told_size
from explorer.training.loop.seed_scores import spread
from explorer.training.model_card import usage_code
from explorer.training.model_card.card_facts import CardFacts

# the task of a measure, as sentence-transformers names it; that of others is a search
_TASKS = {
    SPEARMAN: ("semantic-similarity", "Semantic Similarity"),
    ACCURACY: ("triplet", "Triplet"),
    DISTINGUISHED: ("semantic-similarity", "Semantic Similarity"),
}

_CODE = """

import json
from safetensors import safe_open

with safe_open(f"{folder}/classifier.safetensors", "pt") as file:
    weight, bias, classes = file.get_tensor("weight"), file.get_tensor("bias"), json.loads(file.metadata()["classes"])
print([classes[place] for place in (vectors @ weight.T + bias).argmax(1)])"""


def card(facts: CardFacts) -> str:
    """The text of README.md: YAML metadata for the hub, then Markdown for people."""
    import yaml

    head = yaml.safe_dump(_metadata(facts), sort_keys=False, allow_unicode=True, width=10_000)
    parts = (
        f"# {plain(facts.run)}",
        *_learned(facts),
        _what(facts),
        _use(facts),
        _results(facts),
        *_classification(facts),
        _training(facts),
        _settings(facts),
        _sources(facts),
    )
    return f"---\n{head}---\n\n" + "\n\n".join(parts) + "\n"


def _metadata(facts: CardFacts) -> dict[str, Any]:
    name = "sentence-transformers"
    tags = [name, "sentence-similarity", "feature-extraction", "generated_from_trainer", "strata", facts.method]
    test, dev = facts.verdict.test, facts.verdict.dev
    results = [
        _result("dev" if use == "dev" else "test", facts.sets[use], found.exported, facts.measures.get(use, SPEARMAN))
        for use, found in facts.verdict.by_use.items()
        if facts.sets.get(use) and found.exported is not None
    ]
    hub = facts.on_hub
    return {
        "library_name": name,
        "pipeline_tag": "sentence-similarity",
        "tags": tags,
        **({"base_model": hub} if hub else {}),
        **({"model-index": [{"name": one_line(facts.run), "results": results}]} if results else {}),
        **({"verdict": _metadata_verdict(facts)} if test or dev else {}),
    }


def _metadata_verdict(facts: CardFacts) -> dict[str, Any]:
    """The verdict without sentences."""
    return {name: value for name, value in facts.verdict.as_json().items() if name != "pairs"}


def _result(split: str, name: str, score: float, measure: str) -> dict[str, Any]:
    """Task and metric have the names, and values from 0 to 1, that sentence-transformers writes."""
    task = _TASKS.get(measure, ("information-retrieval", "Information Retrieval"))
    metric = f"{measure}_cosine" if measure == SPEARMAN else f"cosine_{measure}".replace(" ", "_")
    return {
        "task": {"type": task[0], "name": task[1]},
        "dataset": {"type": "unknown", "name": one_line(sources.shown(name)), "split": split},
        "metrics": [{"type": metric.lower(), "value": round(score / 100, 6), "name": metric.replace("_", " ").title()}],
    }


def _what(facts: CardFacts) -> str:
    hub = facts.on_hub
    base = (
        f"[{plain(sources.shown(facts.base))}](https://huggingface.co/{hub})"
        if hub
        else plain(sources.shown(facts.base))
    )
    revision = f", revision {plain(facts.base_revision)}" if facts.base_revision else ""
    cut = f", cut to {plain(facts.cut.words)}" if facts.cut else ""
    return (
        f"{base}{revision}{cut}, fine-tuned with Strata by the method **{plain(facts.method)}**: "
        f"{plain(facts.title)}\n\n"
        f"The method is from [{plain(facts.paper.line)}]({facts.paper.link}). "
        f"SHA-256 of the base: {facts.base_digest}."
    )


def _use(facts: CardFacts) -> str:
    code = usage_code.transformers(facts.head, facts.opener, facts.prompt, facts.lower_case)
    rows = {
        "Layer & pooling": plain(facts.head.describe()),
        "Embedding dimension": f"{facts.dimension}",
        "Maximum length": f"{facts.max_length} tokens (longer sentences are truncated)",
        "Prompt before each sentence": plain(repr(facts.prompt)) if facts.prompt else None,
        "Prompt before queries": plain(repr(facts.prompts.query)) if facts.prompts.query else None,
        "Prompt before documents": plain(repr(facts.prompts.document)) if facts.prompts.document else None,
        "Text": "lowercased" if facts.lower_case else None,
        "Similarity": "cosine",
    }
    alone = ["With transformers alone:", fenced("python", code)] if code else []
    return "\n\n".join(
        (
            "## Use",
            fenced("python", usage_code.sentence_transformers(facts.head)),
            *alone,
            table(("", ""), _known_only(rows)),
        )
    )


def _results(facts: CardFacts) -> str:
    """The verdict, then the scores on each set; sets and columns without a score are left out."""
    header = ("", "base, model default", f"base, {facts.trained.words}", "this model", "difference (95 % CI)",
              f"mean ± standard deviation of {len(facts.seeds)} seeds")  # fmt: skip
    rows = []
    for use, found in facts.verdict.by_use.items():
        name = facts.sets.get(use)
        if not name:
            continue
        scores = (found.declared_base, found.same_reading_base, found.exported)
        seeds = [one.score(use) for one in facts.seeds]
        cells = (*map(_score, scores), _difference(found), _spread(seeds))
        if any(cells):
            size = told_size(facts.set_sizes.get(use, 0), facts.measures.get(use, SPEARMAN))
            rows.append((f"{plain(sources.shown(name))} ({use}, {size})", *cells))
    columns = [column for column in zip(map(plain, header), *rows, strict=True) if any(column[1:])]
    if not columns:
        return "## Results\n\nThe model was not evaluated."
    text = " ".join(_measured(facts.measures)) + f" The base's model default is: {plain(facts.default.words)}."
    if facts.model.dev is not None:
        by = "the dev set" if facts.model.criterion is None else "the dev set and held-out triplets"
        by = by if facts.model.classes is None else "validation rows"
        text += f" {'Step and seed were' if len(facts.seeds) > 1 else 'The step was'} chosen on {by}."
    lines = list(zip(*columns, strict=True))
    return "\n\n".join(("## Results", text, table(lines[0], lines[1:])))


def _measured(measures: Mapping[str, str]) -> Iterator[str]:
    """What the scores are, a sentence for each measure."""
    for measure in dict.fromkeys(measures.values()):
        uses = " and ".join(use for use, one in measures.items() if one == measure)
        where = f"On the {uses} set: " if len(set(measures.values())) > 1 else ""
        if measure == SPEARMAN:
            yield f"{where}Spearman's ρ × 100 between the cosines and the gold scores (-100 to 100, higher is better)."
        elif measure == ACCURACY:
            yield f"{where}the share of triplets × 100 whose anchor is nearer to its positive (0 to 100; 50 is chance)."
        elif measure == DISTINGUISHED:
            yield (
                f"{where}the share of couples × 100 in which a paraphrase has a higher cosine than a pair of another "
                "meaning (0 to 100; 50 is chance)."
            )
        else:
            yield f"{where}{measure} × 100, the mean over queries, ranked by cosine (0 to 100, higher is better)."


def _learned(facts: CardFacts) -> list[str]:
    """What the model learned, and how sure that is; nothing if it was not measured."""
    found = learned.of_run(facts.verdict, facts.sets, facts.set_sizes, facts.measures)
    line = learned_text.line(found)
    if line is None:
        return []
    return [learned_text.rendered(line.pieces, _piece, lambda text: f"**{text}**"), plain(learned_text.sure(found))]


def _piece(text: str) -> str:
    """A piece of a line; the spaces at its ends separate it from the next piece."""
    return " " * text[:1].isspace() + plain(text) + " " * text[-1:].isspace()


def _difference(found: Outcome) -> str:
    if found.difference is None or found.low is None or found.high is None:
        return ""
    return f"{found.difference:+.2f} ({found.low:+.2f} to {found.high:+.2f})"


def _classification(facts: CardFacts) -> list[str]:
    """Scores of test rows and code that classifies, if the model was fine-tuned on labelled texts; else nothing."""
    scores = facts.model.classes
    if scores is None:
        return []
    rows = []
    for name in MEASURES:
        seeds = [None if one.classes is None else one.classes.measure(name) for one in facts.seeds]
        average = spread(seeds) if len(seeds) > 1 else None
        over_seeds = [f"{average[0]:.2f} ± {average[1]:.2f}"] if average else []
        rows.append((name, f"{scores.measure(name):.2f}", *over_seeds))
    header = ("", "this model", f"mean ± standard deviation of {len(facts.seeds)} seeds")[: len(rows[0])]
    told = (
        f"Classes of {scores.rows:,} test rows, which were neither trained on nor used to choose the step; × 100, "
        "higher is better. Matthews' correlation is 0 for classes by chance."
    )
    code = usage_code.transformers(
        replace(facts.head, normalize=False), facts.opener, facts.prompt, facts.lower_case, _longest(facts)
    )
    example = [
        "To classify (of two sentences each, give the tokenizer two lists):",
        fenced("python", f"{code}{_CODE}"),
    ]
    return ["\n\n".join(("## Classification", told, table(header, rows), *(example if code else [])))]


def _longest(facts: CardFacts) -> int:
    """The most tokens of a row, in training and test."""
    return min(int(facts.settings.get("max_length", facts.max_length)), facts.max_length)


def _training(facts: CardFacts) -> str:
    model = facts.model
    seen = plain(facts.seen.words) if facts.seen else None
    adapters = f"{plain(facts.adapters.words)}; added to the weights of the base" if facts.adapters else None
    rows = {
        "Trained on": f"{plain(' + '.join(map(sources.shown, facts.data)))}, {facts.data_rows:,} rows",
        "SHA-256 of the training text": facts.data_digest,
        "Overlap with the test sets" if facts.more_tests else "Overlap with the test set": seen,
        "Seeds": ", ".join(str(one.seed) for one in facts.seeds) or None,
        "Seed of these weights": str(facts.kept) if len(facts.seeds) > 1 else None,
        "Steps": None if model.steps is None else f"{model.steps:,}",
        "Best step": None if model.best_step is None else f"{model.best_step:,}",
        "Trained weights": adapters,
        "Remark": plain(model.remark) or None,
        "Time": None if facts.seconds is None else in_words.duration(facts.seconds),
    }
    again = shlex.join(map(sources.shown, shlex.split(facts.command)))
    return "\n\n".join(
        (
            "## Training",
            "The training text is not included.",
            table(("", ""), _known_only(rows)),
            "To repeat the training:",
            fenced("sh", again),
        )
    )


def _settings(facts: CardFacts) -> str:
    rows = []
    for name, value in facts.settings.items():
        usual = facts.defaults.get(name, value)
        shown = plain(Knob.told(value))
        cells = (shown, "") if value == usual else (f"**{shown}**", plain(Knob.told(usual)))
        rows.append((plain(name), *cells))
    whose = "the paper's value" if facts.as_published else "the default"
    return f"## Settings\n\nSettings in bold differ from {whose}.\n\n" + table(("", "value", whose), rows)


def _sources(facts: CardFacts) -> str:
    versions = table(("", "version"), [(plain(name), plain(number)) for name, number in facts.versions.items()])
    return f"## Versions\n\n{versions}\n\n## Citation\n\n{fenced('bibtex', facts.paper.bibtex)}"


def _known_only(rows: Mapping[str, str | None]) -> list[tuple[str, str]]:
    return [(name, told) for name, told in rows.items() if told is not None]


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"


def _spread(scores: Sequence[float | None]) -> str:
    """Mean and standard deviation, only if every seed has a score: a mean of some would be optimistic."""
    found = spread(scores) if len(scores) > 1 else None
    return "" if found is None else f"{found[0]:.2f} ± {found[1]:.2f}"
