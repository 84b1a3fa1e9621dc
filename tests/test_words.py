"""Test that no text for visitors has a word that the glossary replaces."""

import re

import pytest

from tests import words

# a regular expression, without case, and what to write instead
GLOSSARY = {
    r"\breadings\b|\b(a|own|its|this|chosen|every|each|trained) reading\b|\bas it reads\b": "layer & pooling",
    r"\bits makers meant\b": "model default",
    r"\bwhat is loaded\b": "model, encoder",
    r"\bbeside it\b|\bstands? beside\b": "Compare with: model B; next to",
    r"\bgraded pairs\b": "evaluation set; scored pairs",
    r"\b(what )?people (said|gave|say)\b|\bagrees? with people\b": "gold score, human score",
    r"\bdevelopment (pairs|sentences|scores?)\b|\bpairs it is judged on\b": "dev set, test set",
    r"\b(each|every|this|last|first|best|two|its) looks?\b|\blooks? every\b|\blooks? at the dev\b": "evaluation",
    r"\bwears?\b|\bworn\b": "best checkpoint, restore",
    r"\bdraws? of (the )?pairs\b|\bbeyond chance\b": "significant; could be chance",
    r"\bthe middle (\{\}|\d)": "confidence interval",
    r"\bstrangers\b": "random pairs",
    r"\bpartners\b": "positive pairs",
    r"\bmend(s|ed)?\b": "improved; fix the highlighted fields",
    r"\b(told|tells?|telling) (\w+ ){0,3}apart\b|\bhears?\b": "distinguishes",
    r"\bbelieved?\b": "trustworthiness, neighbours preserved",
    r"\blies? in space\b|\bhow (they|(the )?(vectors|layers|sentences)) lie\b": "embedding geometry",
    r"\b(un)?likest\b": "most / least similar",
    r"\b(draw|drawn|drag|dragged) round\b": "select with the lasso",
    r"\b(take|taken|took|takes|came|comes?|goes) (\w+ )?along\b": "upload, download, export",
    r"\bbring (a|an|one|your|more|other|it)\b|\b(is|are|was|were) brought\b": "upload; add",
    r"\bpictures? as\b": "figure format",
    r"\bhow to measure\b": "measurement settings",
    r"\b(try|tried|tries) one step\b|\bone step (was|is) tried\b": "estimate time and memory",
    r"\bstop and (keep|discard)\b": "stop (can be resumed); discard",
    r"(?<!lfs )\bpulls?\b": "weight regularisation λ",
    r"\bwhat is guided\b": "frozen copy (guide), view layers",
    r"\blearn(s|ed|ing|t)? (from|by heart)\b": "trained on, fine-tuned",
    r"\blisten(s|ed|ing)?\b|\bloudest\b": "weight of a layer",
}
# a kind of rows, and what the digest of such a set begins with
KEPT = {"graded pairs"}


def hits(text):
    """What to write instead, for each word of the text that the glossary replaces."""
    if text in KEPT:
        return []
    found = ((re.search(pattern, text, re.IGNORECASE), instead) for pattern, instead in GLOSSARY.items())
    return [f"'{match[0]}': write '{instead}'" for match, instead in found if match]


@pytest.mark.parametrize("read", [words.texts, words.documents])
def test_texts_for_visitors_and_documents_use_the_words_of_the_glossary(read):
    found = [f"{one.place}: {hit}" for one in read() for hit in hits(one.text)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text", ["Take it along", "The likest pairs", "cosine of strangers", "Bring a file", "own reading"]
)
def test_a_planted_word_is_found(text):
    source = f'"""A docstring: {text}."""\nst.caption(f"{text} of {{name}}", key="{text} here")'
    (one,) = words.of_source(source, "pages/planted.py")
    assert (one.place, one.text) == ("pages/planted.py:2", f"{text} of {{}}")
    assert len(hits(one.text)) == 1


@pytest.mark.parametrize("text", ["a wide range of layers", "It brings 3 points", "Reading the file", "the last layer"])
def test_ordinary_english_is_not_hit(text):
    assert hits(text) == []


def test_titles_of_methods_are_read():
    assert any(one.text.startswith("SimCSE without labels: the same sentence") for one in words.texts())


# what to write instead of parts of names in code
INSTEAD = {
    "text, message": "told said",
    "broadcast, received": "heard hears",
    "stop_requested": "wish",
    "best_weights": "champion",
    "restore_best": "wear wears worn",
    "random_pairs": "strangers",
    "positive_pairs": "partners",
    "layer_weights": "listening loudest",
    "rows": "eats",
    "metric, aggregation": "ways",
    "evaluate, evaluation": "look looks looked",
    "model_b": "beside",
}
IDENTIFIERS = {part: instead for instead, parts in INSTEAD.items() for part in parts.split()}


def test_no_name_in_code_has_a_word_that_the_glossary_replaces():
    found = [
        f"{path}:{line}: {name}: write {IDENTIFIERS[part]}"
        for path, line, name in words.identifiers()
        for part in re.findall("[a-z]+", re.sub("([A-Z])", r"_\1", name).lower())
        if part in IDENTIFIERS
    ]
    assert not found, "\n".join(found)


# names that say nothing of what a parameter holds, in the folders of `explorer/` that are free of them
VAGUE = {"found", "one", "other", "asked", "told", "go_on", "opener"}
CLEAN = ("commands", "drawing", "encoding", "methods", "ui")


def vague(*folders):
    """Every parameter of the folders with such a name."""
    return [f"{file}:{line}: {name}" for file, line, name in words.parameters(*folders) if name in VAGUE]


def test_a_parameter_is_named_after_what_it_holds():
    found = vague(*(words.ROOT / "explorer" / folder for folder in CLEAN))
    assert not found, "write model, table, side, … in place of:\n" + "\n".join(found)


def test_a_parameter_that_is_named_after_nothing_is_found(tmp_path):
    (tmp_path / "pair.py").write_text(
        "def gap(one, /, *told, other=0, **found):\n    asked = one\n    return lambda go_on: other\n", encoding="utf-8"
    )
    assert vague(tmp_path) == ["pair.py:1: one", "pair.py:1: told", "pair.py:1: other", "pair.py:1: found"]


def test_a_name_with_a_replaced_word_is_found(tmp_path):
    (tmp_path / "loop.py").write_text("def wear_best(): told = 1\nclass LooksEvery:\n    eats: int\n", encoding="utf-8")
    assert {name for _, _, name in words.identifiers(tmp_path)} == {"wear_best", "told", "LooksEvery", "eats"}
