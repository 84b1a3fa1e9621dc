"""The sides of the Layer attention page: model A, and model B or a model with a pooler, which is opened here alone."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from explorer import errors, run_folder
from explorer.encoding.locate import layout, model_names
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read import parts
from explorer.training.record import runs
from explorer.ui.access import cached, selection, sidebar_choice
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.widgets import controls

# those of Figure 3 of Oh, Kim, Lee, Huang and Lim 2022
SHORT = "You should do it."
LONG = "People on motorcycles wearing racing gear ride around a racetrack."
MOST = 5  # runs that are offered
OTHERS = "Your pair is that of every page: type another one on Start."
NO_B, MODEL_B = "no other model", "model B"
SECOND = "Compare with"
SECOND_HELP = "Model B of the sidebar, or a run whose model has a pooler over its layers, opened on this page alone."


@dataclass(frozen=True)
class Side:
    """A model that is loaded, with the choice that names it, and whether it has a pooler over its layers."""

    name: str
    choice: Choice
    found: Found
    has_pooler: bool


def pair() -> tuple[str, str]:
    """The visitor's pair, else the first two of the visitor's sentences, by default those of the paper."""
    mine = selection.sentences()[:2] if selection.is_chosen(selection.SENTENCES) else ()
    return selection.pair() or ((mine[0], mine[1]) if len(mine) == 2 else (SHORT, LONG))


def sides(choice: Choice) -> tuple[list[Side], bool]:
    """A, and what is next to it, as far as they are loaded, and whether one is being loaded. Errors are shown."""
    other = _second(choice)
    found: list[Side] = []
    for name, its in (("A", choice), ("B", other)):
        folder = sidebar_choice.encoder(its.source) if its else None
        if its is None or folder is None:
            break
        if sidebar_choice.loaded(folder, its.settings) is None:
            return found, True
        found.append(Side(name, its, folder, has_pooler(folder.folder)))
    return found, False


def _second(choice: Choice) -> Choice | None:
    """What the menu says: model B of the sidebar if one is chosen, else the example with a pooler."""
    other = sidebar_choice.model_b()
    poolers = [run for run in (*runs.examples(), *runs.every()) if has_pooler(run.model)]
    named: Mapping[str, str] = {run_folder.model_name(run.name): run.name for run in poolers[:MOST]}
    options = [*([MODEL_B] if other else []), *(name for name in named if name != choice.source), NO_B]
    default = options[0]
    with suppress(errors.StrataError):
        if other is None and has_pooler(cached.found(choice.source).folder):
            default = NO_B
    chosen: str = controls.menu(
        SECOND,
        options,
        default=default,
        key="pooler",
        width=330,
        label_visibility="collapsed",
        format_func=runs.model_title,
        help=SECOND_HELP,
    )
    if chosen in (NO_B, MODEL_B):
        return other if chosen == MODEL_B else None
    return replace(choice, source=chosen, reading=None)


def has_pooler(folder: Path) -> bool:
    """Whether a model has an attention pooler over its layers."""
    try:
        return any(
            module.kind == "LayerReading" and "attention" in parts.stated(module.folder / "config.json")
            for module in layout.modules(folder)
        )
    except errors.StrataError:
        return False


def shown_name(side: Side) -> str:
    """The name of a side's model."""
    return runs.model_title(model_names.shown_name(side.choice.source))
