"""Save the tuned model of a run and of its steps, and copy it out of the run."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from explorer import in_words, methods, places, run_folder
from explorer.data import sources
from explorer.encoding.export.exporting import auto_class, export
from explorer.encoding.load import loading
from explorer.encoding.locate import layout, model_names
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import RunNotFound
from explorer.measuring.scores import similarity
from explorer.methods import paper_values
from explorer.training.loop import judging, measured_facts, preparing, stages
from explorer.training.loop.learner import Learner
from explorer.training.loop.loop import Training
from explorer.training.recipe import Recipe
from explorer.training.record.model_card import CardFacts, MethodFacts, card
from explorer.training.record.model_code import CLASSIFIER, ExportedFacts
from explorer.training.record.run_facts import RunFacts
from explorer.training.record.runs import Run


def put(run: Run, training: Training, learner: Learner, facts: RunFacts, seconds: float) -> None:
    """Write the tuned encoder into the run; an earlier one is kept until this one is complete."""
    from safetensors.torch import save

    shown = _shown(run, training, learner, facts, seconds)
    text = card(shown)
    new, old = run.folder / f"{run_folder.MODEL}.new", run.folder / f"{run_folder.MODEL}.old"
    if old.exists() and not run.model.exists():  # killed between the two renames below
        old.rename(run.model)
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    stages.export(learner, new, text)
    if isinstance(learner.method, methods.PredictedClasses):  # the classification layer, a file that libraries ignore
        layer = learner.method.classification()
        tensors = {"weight": layer.weight, "bias": layer.bias}
        weights = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        content = save(weights, {"classes": json.dumps(layer.classes)})
        places.write_whole(new / CLASSIFIER, lambda file: file.write(content))
    if shown.cosines is not None:
        known = similarity.as_file(shown.cosines, shown.base_cosines)
        places.write_whole(new / similarity.FILE, lambda file: file.write(known))
    if run.model.exists():
        run.model.rename(old)
    new.rename(run.model)
    places.sync(run.folder)
    shutil.rmtree(old, ignore_errors=True)
    places.write_whole(run.folder / "README.md", lambda file: file.write(text.encode("utf-8", "surrogatepass")))


def put_step(run: Run, training: Training, learner: Learner) -> None:
    """Write the encoder at this step into the run."""
    step = training.numbered(learner.step)
    folder = run.folder / run_folder.STEPS / run_folder.checkpoint_name(learner.seed, step, len(training.recipe.seeds))
    # left from before an interruption, if the run was resumed at an earlier step
    shutil.rmtree(folder, ignore_errors=True)
    text = f"{run.name} at step {step} of seed {learner.seed}: an intermediate checkpoint.\n"
    stages.export(learner, folder, text)


def take(run: Run, folder: Path) -> None:
    """Copy the model of a run to a new folder; an adapter is merged into its base, so that the folder is whole."""
    if not run.has_model:
        raise RunNotFound(
            f"'{run.name}' has no model: it is {run.status().state}. Let it finish, or stop it and keep the best "
            "checkpoint."
        )
    if layout.adapter(run.model) is not None:
        encoder = loading.load(model_names.of_folder(run.name, run.model), precision="float32", device="cpu")
        text = (run.folder / "README.md").read_text(encoding="utf-8")
        known = run.model / similarity.FILE
        files = {known.name: known.read_bytes()} if known.exists() else {}
        whole = Tunable(encoder, encoder.max_length)
        export(whole, encoder.default_head, folder, text, encoder.folder, files=files)
        return
    with places.whole_folder(folder) as part:
        shutil.copytree(run.model, part, dirs_exist_ok=True)


def _shown(run: Run, training: Training, learner: Learner, facts: RunFacts, seconds: float) -> CardFacts:
    # the stage that the weights are of, which is the last one unless the run was stopped before
    recipe, prepared, method = learner.prepared.recipe, training.prepared, learner.method
    done = list(training.results)
    if learner.seed not in (one.seed for one in done):  # stopped early
        best = None if learner.best_step is None else training.numbered(learner.best_step)
        score = measured_facts.SeedScores(learner.seed, training.numbered(learner.step), best, learner.best_score, None)
        done.append(score)
    finished = training.best_seed in [one.seed for one in training.results]
    names = sources.shown(recipe.model), run.name
    base = {use: items[0] for use, items in training.base.items()}  # under the model default
    of_base, of_model = judging.meanings(prepared.judged, base, training.cosines, names) if finished else (None, None)
    own = replace(_method(recipe, training), used={one.name: one.values for one in training.overridden.settings})
    return CardFacts(
        run=run.name,
        facts=facts,
        base_digest=prepared.found.digest,
        base_revision=prepared.found.revision,
        methods=(*(_method(one, training) for one in training.recipe.chain[: training.stage - 1]), own),
        data_digest=learner.prepared.corpus.digest,
        verdict=training.verdict,
        trained=method.base_head().facts(),
        seeds=tuple(done),
        kept=training.best_seed,
        seconds=seconds,
        exported=_exported(learner),
        versions=in_words.versions(preparing.LIBRARIES),
        command=training.recipe.command(),
        base_cosines=of_base,
        cosines=of_model,
    )


def _exported(learner: Learner) -> ExportedFacts:
    encoder, method = learner.prepared.encoder, learner.method
    return ExportedFacts(
        head=replace(method.head(), roles=learner.prepared.prompts),
        prompt=encoder.head.prompt if encoder.head else "",
        lower_case=encoder.lower_case,
        max_length=encoder.max_length,
        dimension=method.head().width(encoder.width),
        auto_class=auto_class(encoder),
        prompts=learner.prepared.prompts,
        classifies_exported=isinstance(method, methods.PredictedClasses) and method.classifies_exported,
    )


def _method(recipe: Recipe, training: Training) -> MethodFacts:
    kind, family = recipe.kind, layout.family(training.prepared.found.folder)
    settings, usual = recipe.every_setting(), paper_values(recipe.kind, family)
    return MethodFacts(recipe.method, kind.title(), kind.paper, settings, usual, kind.as_published)
