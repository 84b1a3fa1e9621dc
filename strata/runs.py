"""Fine-tune a model, and open what a run recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import run_folder
from explorer.commands.parts import output
from explorer.data import sources
from explorer.errors import ModelError, RunGone
from explorer.measuring.comparing import learned
from explorer.places import given_path, runs_folder
from explorer.training.record import runs
from explorer.training.record.status import Status
from strata.models import Model, ModelLike, load, source_of
from strata.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from explorer.measuring.scores.verdict import RunVerdict
    from explorer.progress import Work
    from explorer.training.recipe import Recipe

Text = str | PathLike[str]  # a file, a folder, or a set by its name
Setting = bool | int | float | str | Sequence[int] | Sequence[str] | None


@dataclass(frozen=True, eq=False)
class Run(Shown):
    """A run by its folder, in which the app and commands read it too; what it says is read anew each time."""

    folder: Path

    @classmethod
    def open(cls, name: str | PathLike[str]) -> Run:
        """The run of a name, of run:NAME, or of a folder."""
        return cls(runs.named(str(name)).folder)

    @property
    def name(self) -> str:
        """The name of the run; its model is run:NAME."""
        return self.folder.name

    @property
    def recipe(self) -> Recipe:
        """Its definition: method, base, text, sets, settings and seeds."""
        return self.engine.recipe()

    @property
    def status(self) -> Status:
        """Its state, facts and scores."""
        return self.engine.status()

    @property
    def state(self) -> str:
        """Waiting, running, finished, stopped, interrupted or failed."""
        return self.status.state

    @property
    def verdict(self) -> RunVerdict | None:
        """The tuned model compared with its base, on every set; None until the base is scored."""
        return self.status.verdict

    @property
    def model(self) -> Model:
        """The tuned model; an error while there is none."""
        if not self.engine.has_model:
            raise ModelError(f"Run '{self.name}' has no model: it is {self.state}. Resume it with Run.resume().")
        return load(run_folder.model_of(self.engine.model) or str(self.engine.model))

    @property
    def base(self) -> Model:
        """The model that it began with."""
        return load(self.recipe.model)

    def resume(self, *, online: bool = False) -> Run:
        """Go on with a run that was stopped or interrupted, until it is finished."""
        runs.restarted(self.engine)
        return _trained(self.engine, online, made=False)

    def to_frame(self) -> pd.DataFrame:
        """A row for each evaluation on the dev set: seed, step, dev score × 100, and what else was measured."""
        import pandas as pd

        evaluations = [one for one in self.engine.metrics() if isinstance(one, run_folder.Evaluation)]
        rows = [
            {
                "seed": one.seed,
                **({"stage": one.stage} if one.stage else {}),
                "step": one.step,
                "dev": one.dev,
                "held-out rows": one.held_out,
                "alignment": one.alignment,
                "uniformity": one.uniformity,
                "best so far": one.best,
            }
            for one in evaluations
        ]
        return pd.DataFrame(rows).dropna(axis="columns", how="all")

    def steps(self) -> pd.DataFrame:
        """A row for each update: seed, step, loss and learning rate."""
        import pandas as pd

        updates = [one for one in self.engine.metrics() if isinstance(one, run_folder.TrainingStep)]
        return pd.DataFrame(
            [{"seed": one.seed, "step": one.step, "loss": one.loss, "learning rate": one.rate} for one in updates]
        )

    def figure(self) -> go.Figure:
        """The dev score by step, with the base's score, as on the Train page."""
        from explorer.drawing.scores import run_figures

        status = self.status
        measure = status.facts.measure_of("dev")
        parts = status.facts.folds.parts if status.facts.folds else ()
        total = status.total if status.live else 0
        return run_figures.dev_scores(self.engine.metrics(), status.base, total, measure=measure, parts=parts)

    @property
    def engine(self) -> runs.Run:
        """The run as the app handles it."""
        return runs.Run(self.folder)

    def __repr__(self) -> str:
        found = learned.lines(self.status.learned)
        return f"Run {self.name}, {self.state}: {found[0]}" if found else f"Run {self.name}, {self.state}"


def train(
    base: ModelLike = "all-MiniLM-L6-v2",
    text: Text | Sequence[Text] = "sample",
    method: str | None = None,
    *,
    name: str = "",
    preset: str = "defaults",
    columns: Mapping[str, str] | None = None,
    dev: Text | None = None,
    test: Text | Sequence[Text] | None = None,
    seeds: int | Sequence[int] = 1,
    folder: str | PathLike[str] | None = None,
    online: bool = False,
    **settings: Setting,
) -> Run:
    """Fine-tune a copy of a model, and return the run, which the app shows too; the base is not changed.

    Without a method, it is the one that fits the rows of the text. `preset` is "defaults", "as in the paper",
    "as released", "quick" or one of the method. `test` is one set or several, the main one first, or "none". Everything
    else is a setting of the recipe or of the method, by its name: `steps`, `temperature`, `elsewhere`, …
    (docs/methods.md). What is not stated belongs to the text, as on the Train page.

    An interrupt stops it between two steps; the state is saved, and `Run.open(name).resume()` goes on.
    """
    run = runs.new(
        _recipe(base, text, method, preset, columns, dev, test, seeds, online, settings), name, _given(folder)
    )
    return _trained(run, online, made=True)


def _given(folder: str | PathLike[str] | None) -> Path | None:
    return None if folder is None else given_path(str(folder))


def _recipe(
    base: ModelLike,
    text: Text | Sequence[Text],
    method: str | None,
    preset: str,
    columns: Mapping[str, str] | None,
    dev: Text | None,
    test: Text | Sequence[Text] | None,
    seeds: int | Sequence[int],
    online: bool,
    settings: Mapping[str, Setting],
) -> Recipe:
    """The recipe of what was chosen; the recipe checks every value."""
    from explorer.training import text_defaults
    from explorer.training.recipe import Recipe

    data = sources.texts(_listed(text))
    chosen = method or text_defaults.fitting(data)[0]
    fields: dict[str, Any] = {
        "method": chosen,
        "model": source_of(base),
        "data": data,
        "seeds": (seeds,) if isinstance(seeds, int) else tuple(seeds),
    }
    fields |= {"columns": dict(columns)} if columns else {}
    fields |= {} if dev is None else {"dev": Recipe.knobs["dev"].checked(str(dev))}
    fields |= {} if test is None else text_defaults.with_tests(_listed(test))
    for one in settings.keys() & Recipe.knobs.keys():
        fields[one] = _listed(settings[one]) if Recipe.knobs[one].many else settings[one]
    of_method: dict[str, Any] = {one: value for one, value in settings.items() if one not in Recipe.knobs}
    return text_defaults.recipe_with(Recipe(chosen), fields, of_method, preset, online=online)


def _listed(given: Any) -> tuple[str, ...]:
    """One text, or several, as a recipe has them."""
    return (str(given),) if isinstance(given, str | PathLike) else tuple(map(str, given))


def _trained(run: runs.Run, online: bool, *, made: bool) -> Run:
    """The run when it is finished, or stopped by a viewer; if it was `made` for this and is refused, it is deleted."""
    from explorer.training import running

    work: Work[runs.Run | None] = running.train(run, online)
    try:
        kept = output.finish_or_interrupt(running.or_nothing(run, work) if made else work)
    except KeyboardInterrupt:
        named = run.name if run.folder.parent == runs_folder() else str(run.folder)
        output.say(f"Interrupted. Resume with: strata.Run.open({named!r}).resume()")
        raise
    if kept is None:
        raise RunGone(f"Run '{run.name}' was discarded on a page, so there is nothing to return. Start another.")
    return Run(kept.folder)
