"""methods: list the methods and their settings.

Every method with its paper and settings.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from textwrap import fill
from typing import Any

from explorer.data import measured_methods
from explorer.knobs import Knob, Values


def state(verb: argparse.ArgumentParser) -> None:
    """State the flags."""
    verb.add_argument("method", nargs="?", metavar="METHOD", help="Show one method with its settings")
    verb.add_argument("--json", action="store_true", help="All methods with all settings, as JSON")
    verb.add_argument("--markdown", action="store_true", help="All methods as a page of Markdown")


def run(options: argparse.Namespace) -> None:
    """Print the methods."""
    from explorer import methods

    wanted = [options.method] if options.method else methods.names()
    if options.json:
        print(json.dumps([_facts(name) for name in wanted], indent=1, ensure_ascii=False))
    elif options.markdown:
        print(_markdown(wanted))
    elif options.method:
        print(_page(options.method))
    else:
        width = max(map(len, wanted))
        for name in wanted:
            print(f"{name:{width}}  {methods.load(name).title()}")


def _facts(name: str) -> dict[str, Any]:
    from explorer import methods
    from explorer.training.recipe import knobs_of, presets, released_values

    kind = methods.load(name)
    released = released_values(kind)
    return {
        "name": name,
        "title": kind.title(),
        "about": kind.about(),
        "when_to_use": kind.when_to_use,
        "measured": [asdict(row) for row in measured_methods.of(name)],
        "family": kind.family,
        "trains": kind.trains(),
        "rows": kind.rows.name,
        "paper": kind.paper.line,
        "link": kind.paper.link,
        "by_family": {family: dict(values) for family, values in kind.by_family.items()},
        "presets": {name: dict(values) for name, values in presets(kind).items() if values},
        "needs": [{"name": need.name, "there": need.there(), "how": need.how} for need in kind.needs],
        "knobs": [
            {
                "name": knob.name,
                "default": knob.default,
                "paper": knob.paper_value,
                "released": released[knob.name],
                "allowed": knob.allowed,
                "help": knob.help,
            }
            for knob in knobs_of(kind).values()
        ],
    }


def _page(name: str) -> str:
    from explorer import methods

    kind, facts = methods.load(name), _facts(name)
    rows, advice = kind.rows.title, measured_methods.advice(name, kind.when_to_use)
    lines = [
        facts["title"],
        "",
        _wrapped(facts["about"]),
        "",
        *([advice, ""] if advice else []),
        f"Family: {facts['family']}. Trains on {rows}. {facts['paper']}: {facts['link']}",
        *(f"Needs {need['name']}, which is {_here(need)}" for need in facts["needs"]),
        "",
    ]
    for knob in facts["knobs"]:
        paper = "" if knob["paper"] == knob["default"] else f"; the paper's value: {Knob.told(knob['paper'])}"
        code = "" if knob["released"] == knob["paper"] else f"; the released code's: {Knob.told(knob['released'])}"
        lines += [f"  {knob['name']} = {knob['default']}   ({knob['allowed']}{paper}{code})", f"      {knob['help']}"]
    lines += [f"  The paper's values for {family}: {values}" for family, values in _in_words(facts["by_family"])]
    lines += [f"  Preset '{preset}': {values}" for preset, values in _in_words(facts["presets"])]
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    """Paragraphs in lines of 120 characters at most."""
    return "\n\n".join(fill(one, 120, break_on_hyphens=False) for one in text.split("\n\n"))


def _in_words(sets: dict[str, Values]) -> list[tuple[str, str]]:
    """Sets of values by name, in words."""
    return [
        (name, ", ".join(f"{knob} {Knob.told(value)}" for knob, value in values.items()))
        for name, values in sets.items()
    ]


_PREFACE = """\
# The methods

Written by `python -m explorer methods --markdown`. A method with settings of its own lists them; what all share (steps,
batch size, learning rate and others) is shown by `python -m explorer methods NAME`, with every default and range. The
preset *quick*, which all have, is a short trial: 100 steps of at most 16 rows, and what the method adds to it.

{source}\
"""


def _markdown(names: Sequence[str]) -> str:
    """All methods, grouped by the paper they come from."""
    from explorer import methods

    families: dict[str, list[str]] = {}
    for name in names:
        families.setdefault(methods.load(name).family, []).append(name)
    parts = [_PREFACE.format(source=measured_methods.source())]
    for family, its_names in families.items():
        parts += [f"## {family}", *map(_section, its_names)]
    return "\n\n".join(parts)


def _section(name: str) -> str:
    from explorer import methods

    kind, facts = methods.load(name), _facts(name)
    advice = measured_methods.advice(name, kind.when_to_use)
    source = f"Trains on {kind.rows.title}. [{facts['paper']}]({facts['link']})."
    needs = " ".join(f"Needs {need['name']}." for need in facts["needs"])
    own = [
        f"- `{knob}` = {Knob.told(one.default)} "
        f"({one.allowed}{_paper(one)}{_released(kind.released.get(knob))}): {one.help}"
        for knob, one in kind.knobs.items()
    ]
    own += [f"- The paper's values for {family}: {values}." for family, values in _in_words(facts["by_family"])]
    own += [f"- Preset *{preset}*: {values}." for preset, values in _in_words(dict(kind.presets))]
    about = [_wrapped(facts["about"])] if facts["about"] else []
    return "\n\n".join(
        [
            f"### `{name}`",
            facts["title"],
            *[advice] * bool(advice),
            *about,
            f"{source} {needs}".strip(),
            *["\n".join(own)] * bool(own),
        ]
    )


def _paper(knob: Knob) -> str:
    return "" if knob.paper is None else f"; paper: {Knob.told(knob.paper)}"


def _released(value: bool | int | float | str | None) -> str:
    return "" if value is None else f"; released code: {Knob.told(value)}"


def _here(need: dict[str, Any]) -> str:
    return "on this machine." if need["there"] else f"not on this machine. {need['how']}"
