"""Fine-tune an encoder."""

from __future__ import annotations

import argparse
import json
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import in_words, run_folder, typed_json
from explorer.commands.parts import flags, output
from explorer.data import sources
from explorer.encoding.locate import model_names
from explorer.errors import BadChoice
from explorer.measuring.comparing import learned
from explorer.places import given_path
from explorer.progress import Phase, Progress, finish
from explorer.training.record import run_results, runs

if TYPE_CHECKING:
    from explorer.data.graded.sets import SetIdentity
    from explorer.training.recipe import Recipe, Stage
    from explorer.training.record.status import Status

STAGE_COLUMN = replace(flags.COLUMN, flag="stage_column")
STAGE_SET = replace(flags.SET, flag="stage_set")


class _OfStages(argparse.Action):
    """Keep the flags of stages in the order in which they are given."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        namespace.stages = [*getattr(namespace, "stages", ()), (self.dest, values)]


def train_flags(verb: argparse.ArgumentParser) -> None:
    """Take a method or a text, a recipe, and every setting of it."""
    from explorer.training.recipe import Recipe, Stage
    from explorer.training.text_defaults import StartOptions

    test, steps, processes = StartOptions.knobs.values()
    verb.add_argument(
        "method",
        nargs="?",
        metavar="METHOD",
        help="sg-opt, simcse, …: see 'methods'; without it, the one that fits the text of --data",
    )
    # those of a recipe file hold unless a flag states another
    flags.add(verb, Recipe, test, stated=True)
    flags.add(verb, flags.COLUMN, steps, flags.SET)
    flags.add(verb, Stage, STAGE_COLUMN, STAGE_SET, stated=True, action=_OfStages)
    _add_presets(verb)
    verb.add_argument(
        "--recipe", type=given_path, metavar="FILE", help="A recipe.yaml to repeat; other flags change it"
    )
    verb.add_argument("--name", default="", help="Name of the run (default: method, model and a number)")
    verb.add_argument("--out", type=given_path, metavar="DIR", help="The folder in which the run's folder is made")
    verb.add_argument("--resume", metavar="RUN", help=f"Resume a run that was stopped or interrupted: {flags.A_RUN}")
    flags.add_estimate(verb, "Measure one step, print the time and memory of the run")
    flags.add(verb, processes, flags.ONLINE)
    verb.add_argument("--json", action="store_true", help="What came of it, as JSON; the lines go to standard error")


def _add_presets(verb: argparse.ArgumentParser) -> None:
    """Add the flags that choose the values with which a method starts; at most one of them is given."""
    values = verb.add_mutually_exclusive_group()
    values.add_argument(
        "--as-in-paper",
        action="store_true",
        help="Use the paper's value for every setting, such as [CLS] for the pooling; --set changes single ones",
    )
    values.add_argument(
        "--as-released",
        action="store_true",
        help="Use the released code's value for every setting, where it differs from the paper's",
    )
    values.add_argument(
        "--preset",
        metavar="NAME",
        help="Start from a set of settings: quick, a short trial on small batches, or one of the method (see 'methods "
        "METHOD'), such as 'tuned' of consert",
    )


def _preset(options: argparse.Namespace, unstated: str) -> str:
    """The values that flags name, or those that hold where none is named."""
    from explorer import methods

    return methods.PAPER if options.as_in_paper else methods.RELEASED if options.as_released else unstated


def train(options: argparse.Namespace) -> None:
    """Fine-tune an encoder with a method.

    Fine-tune an encoder, and print what was learned, how sure that is, where the model is, and the command that
    compares it with its base. The run is a folder in checkpoints (or in STRATA_RUNS), which the Train page shows too.
    Several processes: torchrun --nproc_per_node 2 -m explorer train …
    """
    from explorer.training.loop.estimate import try_out

    started = int(os.environ.get("WORLD_SIZE", "1"))
    if _first():
        runs.collect(options.out)
    if options.processes and options.processes != started:
        raise BadChoice(
            f"{options.processes} processes were requested, but {started} started. Use 'torchrun --nproc_per_node "
            f"{options.processes} -m explorer train …': 'accelerate launch' starts one where there is no GPU."
        )
    if options.estimate:
        tried = output.shown(try_out(_recipe(options), options.online))
        for line in filter(None, (tried.words, tried.cut and tried.cut.text)):
            print(line)
        return
    if options.resume:
        run = runs.named(options.resume, options.out)
        if _first():  # only the first can still see that the run was idle
            runs.restarted(run)
    else:
        run = _new_run(_recipe(options), options, started)
    if not _trained(run, options) or not _first():
        return
    status = run.status()
    if options.json:
        for text in _findings(status):
            output.say(text)
        print(json.dumps(_content(run, status), indent=1))
    else:
        print("\n".join([*_findings(status), "", *_where(run, status, options.out)]))


def _trained(run: runs.Run, options: argparse.Namespace) -> bool:
    """Train a run, or go on with it; False if nothing was kept of it, because it was stopped before."""
    from explorer.training import running

    where = shlex.join(["--out", str(options.out)] if options.out else [])
    message = f"Interrupted. Resume with: python -m explorer train --resume {run.name} {where}".strip()
    with output.ending(message if _first() else ""), output.ProgressLine() as line, output.noted() as signals:
        work = running.train(run, options.online, lambda: signals.number)
        if _first() and not options.resume:
            work = running.or_nothing(run, work)
        try:
            return bool(finish(work, _reporter(run, line, signals)))
        finally:
            work.close()


def _findings(status: Status) -> list[str]:
    """What was learned, why a set has no score, and what to know of the run, as lines."""
    facts = status.facts
    reasons = (f"{use}: no score, {facts.why_no_score(use)}" for use in facts.unscored or {})
    frozen = [f"Test rows: {status.frozen.sentence.text}"] if status.frozen is not None else []
    return [*learned.lines(status.learned), *reasons, *facts.warnings, *frozen]


def _where(run: runs.Run, status: Status, out: Path | None) -> list[str]:
    """The seeds of several, the run, its model, and the command that compares it with its base, as lines."""
    lines = []
    if len(status.results) > 1:
        for one in status.results:
            scores = {"dev": one.dev, "test": one.test}
            shown = (f"{use} {in_words.number(score)}" for use, score in scores.items() if score is not None)
            lines.append(", ".join([f"Seed {one.seed}: {one.steps:,} updates", *shown]))
    lines.append(f"Run {run.name}: {status.state} in {in_words.duration(status.seconds)}, {run.folder}")
    if status.facts.ran:
        lines.append(f"Trained on {status.facts.ran}")
    if not run.has_model:
        return lines
    words = run_results.compare_words(run, str(run.model) if out else "")
    return [*lines, f"Model: {run.model}", f"Compare it with its base: python -m explorer {shlex.join(words)}"]


def _content(run: runs.Run, status: Status) -> dict[str, object]:
    """Everything, for JSON."""
    unscored = {use: status.facts.why_no_score(use) for use in status.facts.unscored or {}}
    return {
        "run": run.name,
        "folder": str(run.folder),
        "state": status.state,
        "learned": learned.as_json(status.learned),
        "verdict": typed_json.written(status.verdict),
        **({"unscored": unscored} if unscored else {}),
        "seeds": [one.as_json() for one in status.results],
        "watched": _watched(run, status),
        "seconds": round(status.seconds, 1),
        "ran_on": status.facts.ran_as_json,
    }


def _watched(run: runs.Run, status: Status) -> list[dict[str, object]]:
    """The watched pairs, each with its cosine at every evaluation step of every seed."""
    steps = [one for one in run.metrics() if isinstance(one, run_folder.Evaluation)]
    return [
        {
            **asdict(pair),
            "cosines": [
                {"seed": one.seed, "step": one.step, "cosine": one.cosines[place]}
                for one in steps
                if place < len(one.cosines)
            ],
        }
        for place, pair in enumerate(status.facts.watched)
    ]


def _first() -> bool:
    """Whether this process is the one that writes and prints."""
    return os.environ.get("RANK", "0") == "0"


def _reporter(run: runs.Run, line: output.ProgressLine, signals: output.Signals) -> Callable[[Progress], None]:
    """Show the progress of the first process, and stop there if a signal came.

    The run's folder is named when training begins: one that is refused before is deleted. Several processes stop only
    before they train: from then on after a step on which they agree.
    """
    alone, began = os.environ.get("WORLD_SIZE", "1") == "1", False

    def tell(progress: Progress) -> None:
        nonlocal began
        if not began and progress.stage is Phase.TRAINING:
            began = True
            if _first():
                line.say(str(run.folder))
        if alone or not began:
            signals.check()
        if _first():
            line.tell(progress)

    return tell


def _new_run(recipe: Recipe, options: argparse.Namespace, started: int) -> runs.Run:
    """The run's folder; of several processes the first one makes it, and tells the others."""
    if started == 1:
        return runs.new(recipe, options.name, options.out)
    import torch.distributed as dist

    from explorer.training.loop.processes import World

    world = World(recipe.precision, recipe.device)  # from here on the processes are connected
    made = [str(runs.new(recipe, options.name, options.out).folder) if world.main else ""]
    dist.broadcast_object_list(made, src=0)
    return runs.Run(Path(made[0]))


def _recipe(options: argparse.Namespace) -> Recipe:
    """The recipe of a file, or the defaults, changed by the flags."""
    from explorer import methods
    from explorer.training import recipe_file, text_defaults
    from explorer.training.recipe import Recipe

    if options.recipe:
        recipe = recipe_file.read(options.recipe)
    elif options.method:
        recipe = Recipe(options.method)
    elif hasattr(options, "data"):
        recipe = Recipe(_fitting(options.data))
    else:
        raise BadChoice(
            "Neither a method nor a text is named. Write 'train METHOD', 'train --data FILE' for the method that fits "
            "its rows, or 'train --recipe FILE'; 'methods' lists the methods."
        )
    start = flags.read(options, text_defaults.StartOptions)
    changes = flags.values(options, Recipe.knobs)
    if options.method:
        changes["method"] = options.method
    changes |= text_defaults.with_tests(start.test)
    if options.column:
        changes["columns"] = flags.roles(options)
    if hasattr(options, "stages"):
        changes["stages"] = _stages(options, changes.get("model", recipe.model))
    settings: dict[str, Any] = dict(flags.settings(options))
    if start.steps is not None:
        settings["steps"] = start.steps
    values = _preset(options, options.preset or methods.DEFAULTS)
    repeated = bool(options.recipe)
    return text_defaults.recipe_with(recipe, changes, settings, values, repeated=repeated, online=options.online)


def _stages(options: argparse.Namespace, model: str) -> tuple[Stage, ...]:
    """The stages that the flags state: each flag is of the last `--stage` before it."""
    from explorer import methods
    from explorer.training.recipe import Stage

    found: list[Stage] = []
    given: list[list[tuple[str, Any]]] = []
    for name, value in options.stages:
        if name == "method":
            given.append([])
        if not given:
            raise BadChoice(f"--stage-{name} is of no stage. Write --stage METHOD before it.")
        given[-1].append((name, value))
    values = _preset(options, methods.DEFAULTS)
    for own in given:
        method, *_ = (value for name, value in own if name == "method")
        texts = {what: [value for name, value in own if name == what] for what in ("data", "column", "set")}
        kind, stated = methods.load(method), argparse.Namespace(**texts)
        family = model_names.family(model, options.online) if kind.by_family else ""
        settings = methods.start_values(kind, family, methods.QUICK if options.preset == methods.QUICK else values)
        found.append(Stage(method, tuple(texts["data"]), flags.roles(stated), settings | flags.settings(stated)))
    return tuple(found)


def _fitting(data: Sequence[SetIdentity]) -> str:
    from explorer.training import text_defaults

    method, suggestion = text_defaults.fitting(data)
    if _first():
        output.say(suggestion.sentence(" + ".join(map(sources.shown, data)), method))
    return method
