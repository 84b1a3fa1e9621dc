"""Blend what a run trained with its base: the curve over its own evaluation sets, and the export of one blend."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from explorer import in_words, run_folder, typed_json
from explorer.data import safe_yaml, sample, shared_rows, sources
from explorer.data.graded import sets
from explorer.data.set_items import size_of
from explorer.encoding.export import source_code
from explorer.encoding.load import hardware, loading
from explorer.encoding.locate import lookup, model_names
from explorer.errors import BadChoice, RunNotFound
from explorer.escaping import fenced, plain, table
from explorer.evaluating.kinds import judge_of
from explorer.evaluating.kinds.probe_pairs import ProbeJudge
from explorer.knobs import Knobs, knob
from explorer.measuring.comparing import similarity_text
from explorer.measuring.scores import similarity
from explorer.measuring.scores.judge import PACKS, Judge
from explorer.measuring.scores.verdict import by_use
from explorer.places import cache_folder, write_whole
from explorer.progress import Progress, Work
from explorer.studies.blend.blend_curve import POINTS, BlendCurve, curve
from explorer.training.record import run_results, runs

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder
    from explorer.encoding.tune.blending import Blending

BLEND = "blend.json"  # in the folder of a stored blend
MOST_STORED, DIGITS = 8, 16
_DEV, _TEST = (one.written for one in sets.halves())
_HEADER = (
    "",
    "base, model default",
    "tuned (α = 1)",
    "this model",
    "to the base (95 % CI)",
    "to the tuned (95 % CI)",
)


@dataclass(frozen=True)
class BlendOptions(Knobs):
    """The shares that are scored, and of models that are no run's the base and the sets."""

    alpha: float | None = knob(
        None,
        item=float,
        low=0,
        high=1,
        metavar="NUMBER",
        empty="the best of the curve on the dev set",
        help="The share of the tuned model, from 0 to 1; six decimals count.",
    )
    points: int = knob(
        POINTS, low=2, high=101, help="How many shares the curve has, the base and the tuned model included."
    )
    base: str | None = knob(
        None,
        metavar="MODEL",
        empty="that of the runs",
        help="The model that others are blended with: then a RUN may be any model, and no run's evaluation sets are "
        "used.",
    )
    dev: str = knob(_DEV, metavar="FILE|NAME", needs="base", help="Of models: the set that chooses α.")
    test: tuple[str, ...] = knob(
        (),
        metavar="FILE|NAME",
        empty=_TEST,
        repeated=True,
        needs="base",
        help="Of models: a set that blends are judged on.",
    )

    @property
    def shares(self) -> tuple[float, ...]:
        """So many shares from the base to the tuned model, evenly spaced, and the one that is stated."""
        even = (round(float(one), 6) for one in np.linspace(0, 1, self.points))
        return *even, *([] if self.alpha is None else [self.alpha])

    @property
    def tests(self) -> tuple[str, ...]:
        """The sets that blends of models are judged on."""
        return self.test or (_TEST,)


@dataclass(frozen=True)
class BlendEnds:
    """What a stored blend is made of: names that open the base and the tuned model, the digest of the base, and α."""

    base: str = ""
    base_digest: str = ""
    tuned: str = ""
    alpha: float = math.nan


def of_runs(given: Sequence[runs.Run], shares: Iterable[float]) -> Work[tuple[Blending, BlendCurve]]:
    """Score the blends of a run's base with its tuned model, or with the mean of the tuned models of several runs.

    They are scored on the evaluation sets of the first run.
    """
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
    prepared = yield from prepare(first, hardware.best_device(), mine=False, resumed=True)
    tuned = [model_names.of_folder(run_folder.model_name(run.name), run.model) for run in given]
    blending = yield from _blending(prepared.encoder, tuned)
    optimistic, shared = prepared.optimistic, shared_rows.total(prepared.texts.shared)
    return blending, (yield from curve(blending, prepared.measured, shares, optimistic=optimistic, shared=shared))


def of_models(
    base: str, tuned: Sequence[str], dev: str, tests: Sequence[str], shares: Iterable[float], *, online: bool = False
) -> Work[tuple[Blending, BlendCurve]]:
    """Score the blends of any two models of one architecture, or of a base with the mean of several, on these sets."""
    uses = by_use(dev, tests)
    given = {use: run_results.named_set(name, online) for use, name in uses.items()}
    by_test = {use: shared_rows.check(given["dev"], one) for use, one in given.items() if use != "dev"}
    optimistic, shared = tuple(use for use, rows in by_test.items() if rows), shared_rows.total(by_test.values())
    found = [model_names.find(name, online) for name in (base, *tuned)]
    blending = yield from between(found[0], found[1:], hardware.best_device())
    judges: dict[str, Judge] = {use: judge_of(one, blending.base) for use, one in given.items()}
    packs = ProbeJudge(sample.probe_pairs())
    if packs.digest not in [one.digest for one in judges.values()]:
        judges[PACKS] = packs
    return blending, (yield from curve(blending, judges, shares, optimistic=optimistic, shared=shared))


def between(base: model_names.Found, tuned: Sequence[model_names.Found], device: str = "cpu") -> Work[Blending]:
    """Load the models, and check that they can be blended."""
    yield Progress(f"loading {base.name}", 0, 0)
    return (yield from _blending(loading.load(base, precision="float32", device=device), tuned))


def _blending(base: Encoder, tuned: Sequence[model_names.Found]) -> Work[Blending]:
    from explorer.encoding.tune.blending import Blending

    encoders = []
    for found in tuned:
        yield Progress(f"loading {found.name}", 0, 0)
        encoders.append(loading.load(found, precision="float32", device=base.device))
    return Blending(base, encoders)


def export(blending: Blending, found: BlendCurve | None, alpha: float, folder: Path) -> Work[None]:
    """Write the blend at a share α to a new folder, atomically, with its card.

    If it was scored, also its scores, and what its cosines mean on the same sets.
    """
    from explorer.encoding.export import exporting
    from explorer.encoding.tune.blending import share
    from explorer.encoding.tune.tunable import Tunable
    from explorer.training.loop import judging

    alpha = share(alpha)
    encoder, base, meaning = blending.at(alpha), None, None
    if found is not None:
        cosines = yield from judging.exported_cosines(encoder, found.judges, f"what cosines mean at α = {alpha:g}")
        name, tuned = sources.shown(found.base), " + ".join(map(sources.shown, found.tuned))
        names = name, f"{tuned} blended with {name} (α = {alpha:g})"
        base, meaning = judging.meanings(found.judges, found.before, cosines, names)
    yield Progress("writing the blend", 0, 0)
    text = card(
        blending, found, alpha, exporting.auto_class(encoder), similarity_text.in_card(meaning, base) if meaning else ()
    )
    files = {similarity.FILE: similarity.as_file(meaning, base)} if meaning else {}
    whole = Tunable(encoder, encoder.max_length)
    exporting.export(whole, encoder.default_head, folder, text, encoder.folder, files=files)


def stored(base: str, tuned: str, alpha: float) -> Work[Path]:
    """The folder of the blend of two models at a share α, for every page; it is written unless it is there."""
    ends = [model_names.find(name) for name in (base, tuned)]
    folder = stored_in(ends[0], ends[1], alpha)
    if ends_of(folder) is None:
        blending = yield from between(ends[0], ends[1:])
        shutil.rmtree(folder, ignore_errors=True)  # broken off
        yield from export(blending, None, alpha, folder)
        about = json.dumps(asdict(BlendEnds(base, ends[0].digest, tuned, alpha)), ensure_ascii=False)
        write_whole(folder / BLEND, lambda file: file.write(about.encode("utf-8", "surrogatepass")))
    os.utime(folder.parent)
    for oldest in sorted(_models().iterdir(), key=lambda one: -one.stat().st_mtime)[MOST_STORED:]:
        shutil.rmtree(oldest, ignore_errors=True)
    return folder


def stored_in(base: model_names.Found, tuned: model_names.Found, alpha: float) -> Path:
    """Where the blend of two models is stored, whether it is there or not."""
    name = re.sub(r"[^\w.-]+", "-", tuned.name.removeprefix(run_folder.RUN))
    digest = lookup.blend_digest(base.digest, [tuned.digest], alpha)
    return _models() / digest[:DIGITS] / f"{name}-blend-{alpha:g}"


def ends_of(folder: Path) -> BlendEnds | None:
    """What a stored blend was made of; None for any other folder."""
    try:
        return typed_json.read(BlendEnds, typed_json.parsed((folder / BLEND).read_bytes()))
    except (OSError, ValueError):
        return None


def _models() -> Path:
    return cache_folder() / "blends" / "models"


def card(
    blending: Blending, found: BlendCurve | None, alpha: float, auto_class: str, of_cosines: Iterable[str] = ()
) -> str:
    """The text of README.md; `of_cosines` are the parts that say what they mean."""
    library, head, base = "sentence-transformers", blending.tuned[0].default_head, blending.base.name
    hub = {"base_model": lookup.BUNDLED_ON_HUB} if base == lookup.BUNDLED else {}
    tags = [library, "sentence-similarity", "feature-extraction", "strata", "model-blend"]
    about = {"library_name": library, "pipeline_tag": "sentence-similarity", "tags": tags, **hub}
    alone = source_code.transformers(head, auto_class, head.prompt, blending.tuned[0].lower_case)
    names = " and ".join(plain(one.name) for one in blending.tuned)
    whose = f"the mean of the weights of {names}" if len(blending.tuned) > 1 else names
    digests = "\n".join(f"SHA-256 of {plain(one.name)}: {one.digest}." for one in (blending.base, *blending.tuned))
    parts = (
        f"---\n{safe_yaml.card_head(about)}---",
        f"# {names}, blended with {plain(base)}",
        f"Every weight is (1 - α) of {plain(base)} and α of {whose}, with α = {alpha:g} (WiSE-FT, Wortsman and "
        f"others 2022). Layer & pooling: {plain(head.describe())}. Made with Strata.\n\n{digests}",
        "## Use",
        fenced("python", source_code.sentence_transformers(head)),
        *(("With transformers alone:", fenced("python", alone)) if alone else ()),
        *(("## Results", table(_HEADER, _results(found, alpha))) if found else ()),
        *of_cosines,
    )
    return "\n\n".join(parts) + "\n"


def _results(found: BlendCurve, alpha: float) -> list[tuple[str, ...]]:
    rows = []
    for use, judge in found.sets.items():
        to_base, to_tuned = found.against_base(use, alpha), found.against_tuned(use, alpha)
        scores = map(in_words.number, (to_base.before, to_tuned.before, to_base.after))
        title = f"{plain(sources.shown(judge.name))} ({use}, {size_of(judge.given)})"
        rows.append((title, *scores, to_base.gap, to_tuned.gap))
    return rows
