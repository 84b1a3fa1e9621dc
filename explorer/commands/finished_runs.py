"""Use finished runs: blend their models with the base, copy a model, show them as pages."""

import argparse
import json

from explorer import run_folder
from explorer.commands.parts import flags, output
from explorer.encoding.locate import model_names
from explorer.errors import BadChoice, ModelError, NotWritable, RunNotFound, StrataError
from explorer.places import given_path
from explorer.studies.blend import blending
from explorer.studies.blend.blend_curve import as_json, as_text
from explorer.training.record import runs

ALLOWED = (
    "Give runs (run:NAME, a name, or a folder); or two models, of which the first is the base and no run; or models "
    "with --base MODEL."
)


def blend_flags(verb: argparse.ArgumentParser) -> None:
    """Take runs, or a base and a tuned model, and the folder of an export."""
    verb.add_argument(
        "runs", nargs="+", metavar="RUN", help=f"A run: {flags.A_RUN}; or two models, of which the first is the base"
    )
    flags.add(verb, blending.BlendOptions, flags.ONLINE)
    verb.add_argument("--export", type=given_path, metavar="DIR", help="Write the blend; the folder must not exist yet")
    verb.add_argument("--json", action="store_true", help="The curve and the verdicts, as JSON")


def blend(options: argparse.Namespace) -> None:
    """Score the models between a base and its tuned model, and export one.

    Blend the weights of a run's tuned model with those of its base: W + α (W' - W). Print the scores on the run's own
    evaluation sets for α from 0 (the base) to 1 (the tuned model), and the verdict on the α that is best on the dev
    set. Of several runs of one base, W' is the mean of their weights. With --export, write one blend as a folder that
    transformers and sentence-transformers open. With two models of one architecture, of which the first is no run, or
    with --base, blend these models.
    """
    if options.export and options.export.exists():  # refused before anything is measured
        raise NotWritable(f"{options.export} exists already and is not overwritten. Choose another name, or remove it.")
    of_runs = _with_base(options)
    given = flags.read(options, blending.BlendOptions)
    if given.base is None:
        work = blending.of_runs(of_runs, given.shares)
    else:
        names = given.base, options.runs, given.dev, given.tests
        work = blending.of_models(*names, given.shares, online=options.online)
    models, found = output.shown(work)
    chosen = found.best if given.alpha is None else given.alpha
    if options.export:
        output.shown(blending.export(models, found, chosen, options.export))
    if options.json:
        print(json.dumps(as_json(found, given.alpha), ensure_ascii=False, indent=1))
    else:
        print(as_text(found, given.alpha), end="")


def _with_base(options: argparse.Namespace) -> list[runs.Run]:
    """The runs that are named. If models are, the options get their base, and the models of runs among them."""
    found: list[runs.Run | None] = []
    trouble: StrataError | None = None
    for source in options.runs:
        try:
            found.append(runs.named(source))
        except (RunNotFound, BadChoice) as error:
            found.append(None)
            trouble = trouble or error
    if options.base is None:
        if trouble is None:
            return [run for run in found if run is not None]
        if len(found) != 2 or found[0] is not None:
            raise BadChoice(f"{trouble} {ALLOWED}")
        (options.base, _), options.runs, found = options.runs, options.runs[1:], found[1:]
        try:
            model_names.find(options.base, options.online)
        except ModelError as error:
            raise BadChoice(f"'{options.base}' is neither a run nor a model: {error} {ALLOWED}") from error
    options.runs = [
        source if run is None else run_folder.model_of(run.model) or str(run.model)
        for source, run in zip(options.runs, found, strict=True)
    ]
    return []


def export_flags(verb: argparse.ArgumentParser) -> None:
    """Take a run, and the folder to write."""
    verb.add_argument("run", metavar="RUN", help=f"A run: {flags.A_RUN}")
    verb.add_argument("folder", metavar="DIR", type=given_path, help="The folder to write; it must not exist yet")


def export(options: argparse.Namespace) -> None:
    """Copy the tuned encoder of a run to a folder.

    Copy the model of a run. transformers and sentence-transformers can load the folder.
    """
    from explorer.training import saved_model

    saved_model.take(runs.named(options.run), options.folder)
    print(options.folder)


def gallery_flags(verb: argparse.ArgumentParser) -> None:
    """Take the folder to write, and the runs and reports to show."""
    from explorer.studies.gallery import GalleryOptions

    verb.add_argument(
        "folder", metavar="DIR", type=given_path, help="The folder to write; an older gallery there is replaced"
    )
    flags.add(verb, GalleryOptions)


def gallery(options: argparse.Namespace) -> None:
    """Write runs and reports as a folder of pages.

    Write a page for each finished run, with its verdict, scores, curve, settings and the commands that repeat it, and
    a first page that lists them. A browser opens it from the disk or from any web server; nothing is loaded from
    elsewhere.
    """
    from explorer.studies import gallery as galleries

    chosen = flags.read(options, galleries.GalleryOptions)
    if not chosen.run:
        output.say_unreadable()
    print(galleries.write(options.folder, chosen))
