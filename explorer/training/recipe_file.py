"""Read the recipe.yaml of a run, or one that a person wrote."""

from functools import lru_cache
from pathlib import Path

from explorer import fair_share
from explorer.data import sources
from explorer.errors import BadChoice
from explorer.measuring.scores.verdict import ELSEWHERE
from explorer.training import safe_yaml
from explorer.training.recipe import Recipe, Stage

_TEXTS = ("method", "model", "dev", "test", "precision", "device")


def read(path: Path) -> Recipe:
    """The recipe in a file."""
    return from_yaml(safe_yaml.text_of(path, "Give the recipe.yaml of a run."), str(path))


@lru_cache(maxsize=256)  # pages read the recipes of all runs in every rerun
def from_yaml(text: str, where: str) -> Recipe:
    """The recipe in a file's text."""
    content = safe_yaml.parsed(text, where, "Give a recipe.yaml.")
    names = set(Recipe.__dataclass_fields__)
    if not isinstance(content, dict) or "method" not in content or not set(content) <= names:
        raise BadChoice(f"{where} is not a recipe: a recipe holds 'method' and any of {', '.join(sorted(names))}.")
    content.setdefault(ELSEWHERE, [])  # in runs of before there was a choice, nothing was scored
    lists = ("data", "seeds", "more_tests", "elsewhere", "stages", "watch")
    mappings = ("columns", "settings", "made_with")
    for name, kind in (*((name, list) for name in lists), *((name, dict) for name in mappings)):
        if not isinstance(content.get(name, kind()), kind):
            raise BadChoice(
                f"{where}: {name} cannot be {content[name]!r}; it must be a {kind.__name__}. See a recipe.yaml."
            )
    # numbers, lists and other types are refused where text is required
    given = [(name, content[name]) for name in _TEXTS if name in content and (name, content[name]) != ("test", None)]
    given += [
        (name, source) for name in ("data", "more_tests", "elsewhere", "watch") for source in content.get(name, ())
    ]
    given += [("corpus", content["corpus"])] if content.get("corpus") is not None else []
    made_with = content.get("made_with", {})
    names = made_with.get(ELSEWHERE, [])
    given += [(f"made_with: {ELSEWHERE}", name) for name in (names if isinstance(names, list) else [None])]
    given += [("columns", word) for pair in content.get("columns", {}).items() for word in pair]
    given += [("made_with: processor", made_with["processor"])] if "processor" in made_with else []
    threads = made_with.get("threads", 1)
    if not fair_share.allowed(threads):
        raise BadChoice(
            f"{where}: made_with: threads cannot be {threads!r}; it must be a whole number from 1 to "
            f"{fair_share.MOST_THREADS:,}. Correct it, or remove it: then this machine decides."
        )
    for name, value in given:
        if not isinstance(value, str):
            raise BadChoice(f"{where}: {name} cannot be {value!r}; it must be text, in quotes if necessary.")
    if ELSEWHERE not in made_with and f"{ELSEWHERE}_1_digest" in made_with:
        # a run named the sets that were at hand in place of 'at hand'
        made_with[ELSEWHERE] = content[ELSEWHERE]
        as_chosen = (sources.AT_HAND if name in sources.MAYBE_AT_HAND else name for name in content[ELSEWHERE])
        content[ELSEWHERE] = list(dict.fromkeys(as_chosen))
    content["stages"] = [stage(one, f"{where}, stage {at}") for at, one in enumerate(content.get("stages", ()), 1)]
    try:
        content |= {name: tuple(content[name]) for name in lists if name in content}
        return Recipe(**content).checked()
    except TypeError as error:
        raise BadChoice(f"{where} is not a recipe ({error}). See the recipe.yaml of a run.") from error


def stage(content: object, where: str) -> Stage:
    """The stage that a recipe's file states."""
    known = Stage.__dataclass_fields__
    if not isinstance(content, dict) or not isinstance(content.get("method"), str) or not set(content) <= set(known):
        raise BadChoice(f"{where} is not a stage: a stage has a method and any of {', '.join(sorted(known))}.")
    data, columns, settings = content.get("data", []), content.get("columns", {}), content.get("settings", {})
    data = [data] if isinstance(data, str) else data
    if not isinstance(data, list) or not all(isinstance(one, str) for one in data):
        raise BadChoice(f"{where}: data cannot be {data!r:.200}; it must be a list of names or files.")
    for name, value in (("columns", columns), ("settings", settings)):
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value):
            raise BadChoice(f"{where}: {name} cannot be {value!r:.200}; it must have a value for each name.")
    if not all(isinstance(one, str) for one in columns.values()):
        raise BadChoice(f"{where}: columns cannot be {columns!r:.200}; each must be text, in quotes if necessary.")
    return Stage(content["method"], tuple(data), columns, settings)
