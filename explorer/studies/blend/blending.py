"""Blend what a run trained with its base: the curve over its own evaluation sets, and the export of one blend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from explorer import in_words, run_folder
from explorer.data import sources
from explorer.encoding.export import source_code
from explorer.encoding.load import loading
from explorer.encoding.locate import lookup, model_names
from explorer.errors import BadChoice, RunNotFound
from explorer.escaping import fenced, plain, table
from explorer.measuring.scores.metrics import size_text
from explorer.progress import Progress, Work
from explorer.studies.blend.blend_curve import POINTS, BlendCurve, curve
from explorer.training.record import runs

if TYPE_CHECKING:
    from explorer.encoding.tune.blending import Blending


def even_shares(points: int = POINTS) -> tuple[float, ...]:
    """So many shares from the base to the tuned model, evenly spaced."""
    if not 2 <= points <= 101:
        raise BadChoice(
            f"{points} points are not possible: a curve has 2 to 101, the base and the tuned model included."
        )
    return tuple(round(float(one), 6) for one in np.linspace(0, 1, points))


def of_runs(given: Sequence[runs.Run], shares: Iterable[float]) -> Work[tuple[Blending, BlendCurve]]:
    """Score the blends of a run's base with its tuned model, or with the mean of the tuned models of several runs.

    They are scored on the evaluation sets of the first run.
    """
    from explorer.encoding.tune.blending import Blending
    from explorer.training.loop.preparing import prepare

    for run in given:
        if not run.has_model:
            raise RunNotFound(
                f"'{run.name}' has no model to blend: it is {run.status().state}. Let it finish, or choose another run."
            )
    first, *others = [run.recipe() for run in given]
    for run, recipe in zip(given[1:], others, strict=True):
        if recipe.digest_of("model") != first.digest_of("model"):
            raise BadChoice(
                f"'{run.name}' and '{given[0].name}' were trained from two bases ({recipe.model} and {first.model}). "
                "Choose runs of one base."
            )
    prepared = yield from prepare(first, mine=False)
    tuned = []
    for run in given:
        yield Progress(f"loading {run.name}", 0, 0)
        found = model_names.of_folder(run_folder.model_name(run.name), run.model)
        tuned.append(loading.load(found, precision="float32", device=prepared.encoder.device))
    blending = Blending(prepared.encoder, tuned)
    scored = yield from curve(blending, prepared.measured, shares, optimistic=bool(prepared.seen))
    return blending, scored


def export(blending: Blending, found: BlendCurve, alpha: float, folder: Path) -> Work[None]:
    """Write the blend at a share α to a new folder, atomically, with its card."""
    from explorer.encoding.export import exporting
    from explorer.encoding.tune.tunable import Tunable

    yield Progress("writing the blend", 0, 0)
    encoder = blending.at(alpha)
    text = card(blending, found, alpha, exporting.opener(encoder))
    exporting.export(Tunable(encoder, encoder.max_length), encoder.default_head, folder, text, encoder.folder)


def card(blending: Blending, found: BlendCurve, alpha: float, opener: str) -> str:
    """The text of README.md."""
    import yaml

    library, head = "sentence-transformers", blending.tuned[0].default_head
    hub = {"base_model": lookup.BUNDLED_ON_HUB} if found.base == lookup.BUNDLED else {}
    tags = [library, "sentence-similarity", "feature-extraction", "strata", "model-blend"]
    about = {"library_name": library, "pipeline_tag": "sentence-similarity", "tags": tags, **hub}
    alone = source_code.transformers(head, opener, head.prompt, blending.tuned[0].lower_case)
    names = " and ".join(map(plain, found.tuned))
    whose = f"the mean of the weights of {names}" if len(found.tuned) > 1 else names
    rows = []
    for use, judge in found.sets.items():
        to_base, to_tuned = found.against_base(use, alpha), found.against_tuned(use, alpha)
        scores = map(in_words.number, (to_base.declared_base, to_tuned.declared_base, to_base.exported))
        title = f"{plain(sources.shown(judge.name))} ({use}, {size_text(len(judge), judge.measure)})"
        rows.append((title, *scores, to_base.gap, to_tuned.gap))
    header = (
        "",
        "base, model default",
        "tuned (α = 1)",
        "this model",
        "to the base (95 % CI)",
        "to the tuned (95 % CI)",
    )
    digests = "\n".join(f"SHA-256 of {plain(one.name)}: {one.digest}." for one in (blending.base, *blending.tuned))
    parts = (
        f"---\n{yaml.safe_dump(about, sort_keys=False, allow_unicode=True)}---",
        f"# {names}, blended with {plain(found.base)}",
        f"Every weight is (1 - α) of {plain(found.base)} and α of {whose}, with α = {alpha:g} (WiSE-FT, Wortsman and "
        f"others 2022). Layer & pooling: {plain(head.describe())}. Made with Strata.\n\n{digests}",
        "## Use",
        fenced("python", source_code.sentence_transformers(head)),
        *(("With transformers alone:", fenced("python", alone)) if alone else ()),
        "## Results",
        table(header, rows),
    )
    return "\n\n".join(parts) + "\n"
