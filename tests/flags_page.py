"""Print docs/flags.md, every flag of every command: `python -m tests.flags_page > docs/flags.md`."""

from __future__ import annotations

import argparse
from dataclasses import replace

from explorer.__main__ import COMMANDS, _parser
from explorer.commands.parts import flags
from explorer.knobs import Knob
from explorer.studies.plans.plan import Plan, PlanBudget

HEAD = """# Flags

Every command with its flags, as `--help` shows them, and what the file of a plan states. They are made from the
settings in the code; `python -m tests.flags_page` writes this page.
"""


PLANS = """What `plan FILE` reads; a list of one value may be the value itself. How they work together, with `variants`
and `stages`, is in [The command line](command_line.md)."""


def page() -> str:
    """The page as Markdown."""
    every = next(one for one in _parser([*COMMANDS])._actions if isinstance(one, argparse._SubParsersAction)).choices
    return HEAD + "".join(_section(verb, every[verb]) for verb in COMMANDS) + _of_plans()


def _of_plans() -> str:
    """The settings that the file of a plan states, and those of its budget."""
    rows = [_stated(one, "{}") for one in Plan.declared.values() if one.of is None]
    rows += [_stated(one, "budget: {{{}}}") for one in PlanBudget.declared.values()]
    return "\n## The file of a plan\n\n" + PLANS + "\n\n| | |\n|---|---|\n" + "".join(rows)


def _stated(setting: Knob, written: str) -> str:
    value = "…" if setting.nested else flags._METAVARS.get(setting.kind, "…")
    about = flags._help(replace(setting, repeated=False))
    return f"| `{written.format(f'{setting.name}: {value}')}` | {_plain(about)} |\n"


def _section(verb: str, parser: argparse.ArgumentParser) -> str:
    rows = [_row(one, parser) for one in parser._actions if not isinstance(one, argparse._HelpAction)]
    return f"\n## {verb}\n\n{_plain(parser.description or '')}\n\n| | |\n|---|---|\n" + "".join(rows)


def _row(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    names = ", ".join(action.option_strings)
    shown = parser._get_formatter()._format_args(action, action.dest) if action.nargs != 0 else ""
    about = parser._get_formatter()._expand_help(action) if action.help else ""
    flag = " ".join(filter(None, [names, shown])).replace("|", "\\|")
    return f"| `{flag}` | {_plain(about)} |\n"


def _plain(text: str) -> str:
    return " ".join(text.replace("%%", "%").replace("|", "\\|").split())


if __name__ == "__main__":
    print(page(), end="")
