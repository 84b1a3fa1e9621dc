"""Train in stages: what each trains from, the model that is kept of a finished one, and a try of all on the base."""

import copy
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from explorer import methods, run_folder
from explorer.encoding.export import exporting
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.encoding.read.encoder import Encoder
from explorer.errors import CannotResume
from explorer.progress import Phase, Progress, Work, finish
from explorer.training.loop import preparing
from explorer.training.loop.learner import Learner
from explorer.training.loop.measured_facts import StageFacts, StageScores
from explorer.training.loop.preparing import Prepared
from explorer.training.loop.processes import World
from explorer.training.recipe import naming

MODEL_OF = "the model of stage {}"


def folder_of(run: Path, seed: int, number: int) -> Path:
    """Where a run keeps the model of a finished stage of a seed, as long as it is not finished itself."""
    return run / run_folder.STATE / f"seed-{seed}-stage-{number}"


def export(learner: Learner, folder: Path, card: str) -> None:
    """Write the encoder of a learner as it is now to a new folder."""
    method, prepared = learner.method, learner.prepared
    exporting.export(method.exported, method.head(), folder, card, prepared.found.folder, prepared.own_prompts)


def keep(learner: Learner, folder: Path, number: int) -> str:
    """Write the model of a finished stage, in place of one that an interrupted try left; its digest."""
    shutil.rmtree(folder, ignore_errors=True)
    export(learner, folder, f"Stage {number} of a run, seed {learner.seed}: the model that the next stage starts from.")
    return model_names.of_folder(MODEL_OF.format(number), folder).digest


def prepare(
    whole: Prepared,
    number: int,
    seed: int,
    run: Path,
    finished: Sequence[StageScores],
    device: str,
    *,
    mine: bool = True,
) -> Work[Prepared]:
    """What a stage of a seed, counted from 1, needs; it starts from the model that the stage before left in the run."""
    if not whole.recipe.stages:
        return whole
    found, encoder = whole.found, whole.encoder
    if number > 1:
        name, folder = MODEL_OF.format(number - 1), folder_of(run, seed, number - 1)
        then = finished[number - 2].digest
        yield Progress(Phase.LOADING, 0, 0, about=name)
        # a folder that is gone has another digest
        found = model_names.of_folder(name, folder) if folder.is_dir() else replace(found, digest="")
        if found.digest != then:
            raise CannotResume(
                f"{folder} is not as stage {number - 1} left it ({then[:12]} then, {found.digest[:12] or 'gone'} now). "
                "Restore that folder, or start a new run from a copy of recipe.yaml without made_with."
            )
        encoder = loading.load(found, precision="float32", device=device)
    own = replace(_of_stage(whole, number, found, encoder), base=whole.encoder if number > 1 else None)
    rows, summaries = yield from preparing.rows_of(own, [seed], mine=mine)
    return replace(own, rows=rows, reports=summaries)


def tried(whole: Prepared, seed: int, world: World, first: Learner | None = None) -> Iterator[Learner]:
    """A learner for each stage, of the base: what would fail later fails before the first step.

    The first one is given, or made. A stage has the layer & pooling of the one before for its model default, as it
    will have. Hard negatives, which are mined with the model of the stage before, are other second texts here.
    """
    for number in range(1, len(whole.recipe.chain) + 1):
        with naming(whole.recipe, number):
            if first is None:
                first = Learner(_on_base(whole, number, seed, whole.encoder), seed, world)
            elif number > 1:
                encoder = copy.copy(whole.encoder)
                # what it scores is kept under no digest
                encoder.head, encoder.digest = first.method.base_head().to("cpu"), ""
                first = Learner(_on_base(whole, number, seed, encoder), seed, world)
            yield first


def facts(whole: Prepared) -> StageFacts | None:
    """The stages of a run in order; None if it has one training."""
    if not whole.recipe.stages:
        return None
    seed, every = whole.recipe.seeds[0], whole.recipe.chain
    rows = tuple(len(by_seed[seed]) for by_seed in (*whole.stage_rows, whole.rows))
    return StageFacts(tuple(one.method for one in every), tuple(tuple(map(str, one.data)) for one in every), rows)


def _on_base(whole: Prepared, number: int, seed: int, encoder: Encoder) -> Prepared:
    if not whole.recipe.stages:
        return whole
    own = _of_stage(whole, number, whole.found, encoder)
    (rows, _), kind = finish(preparing.rows_of(own, [seed], mine=False)), own.recipe.kind
    mining = kind.mining(own.recipe.method_values()) if issubclass(kind, methods.MinedNegatives) else None
    if mining is not None:
        second = rows[seed].texts[1]
        others = tuple(second[shift % len(second) :] + second[: shift % len(second)] for shift in
                       range(1, mining.negatives + 1))  # fmt: skip
        rows = {seed: replace(rows[seed], columns=(*rows[seed].columns, *others))}
    return replace(own, rows=rows)


def _of_stage(whole: Prepared, number: int, found: model_names.Found, encoder: Encoder) -> Prepared:
    """A stage that starts from this encoder, without the rows of a seed."""
    texts = whole.texts
    if number <= len(texts.stages):
        stage = texts.stages[number - 1]
        texts = replace(texts, corpus=stage.corpus, held_out=stage.held_out)
    own = preparing.on_encoder(whole.recipe.chain[number - 1], texts, found, encoder)
    return replace(own, others=whole.others, stage_rows=whole.stage_rows)
