"""Blend a tuned model with its base: scores at every share α of the tuned weights, and the model at one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.commands.parts import output
from explorer.data.graded import sets
from explorer.errors import BadChoice
from explorer.places import given_path
from explorer.studies.blend import blending
from explorer.studies.blend.blend_curve import DEV, POINTS, BlendCurve
from strata.models import Model, ModelLike, load, source_of
from strata.runs import Run
from strata.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from explorer.encoding.tune.blending import Blending

Text = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Blend(Shown):
    """The models between a base (α = 0) and a tuned model (α = 1), and the one at the share that was chosen."""

    base: Model
    tuned: Model
    alpha: float  # as asked for, else the best on the dev set
    curve: BlendCurve
    weights: Blending = field(repr=False)

    @property
    def best(self) -> float:
        """The share with the highest score on the dev set, which is optimistic there; of several the smallest."""
        return self.curve.best

    @property
    def model(self) -> Model:
        """The blend at α, stored on this disk, as every function takes it."""
        folder = output.shown(blending.stored(self.base.source, self.tuned.source, self.alpha))
        return load(folder)

    def export(self, folder: str | PathLike[str]) -> Model:
        """Write the blend at α, with its card, to a new folder that transformers and sentence-transformers open."""
        path = given_path(str(folder))
        output.shown(blending.export(self.weights, self.curve, self.alpha, path))
        return load(path)

    def to_frame(self) -> pd.DataFrame:
        """A row for each share α, with the score × 100 on every evaluation set."""
        import pandas as pd

        scores = {self.curve.label(use): self.curve.scores(use) for use in self.curve.sets}
        return pd.DataFrame(
            [
                {"α": alpha, **{name: in_words.rounded(of[alpha]) for name, of in scores.items()}}
                for alpha in self.curve.shares
            ]
        )

    def figure(self) -> go.Figure:
        """The scores by share, as on the page of a run; the line marks α."""
        from explorer.drawing.scores import curves

        lines = {self.curve.label(use): list(self.curve.scores(use).values()) for use in self.curve.sets}
        return curves.by_share(self.curve.shares, lines, self.alpha, "score × 100")

    def __repr__(self) -> str:
        return " ".join(
            f"{use}: {text.text}"
            for use, of in self.curve.sentences(self.alpha).items()
            for text in of
            if text is not None and use != DEV
        )


def blend(
    base: ModelLike | Run,
    tuned: ModelLike | None = None,
    alpha: float | None = None,
    *,
    dev: Text | None = None,
    tests: Text | Sequence[Text] | None = None,
    points: int = POINTS,
) -> Blend:
    """Score the blends W + α (W' − W) of two models of one architecture, and choose one.

    A run alone (`blend(run)`) is blended with its base, on its own evaluation sets. Of two models `dev` and `tests`
    name the sets, by default the halves of the sample. Without `alpha` it is the best share on the dev set.
    """
    given = blending.BlendOptions(alpha, points)
    if tuned is None:
        run = base if isinstance(base, Run) else Run.open(source_of(base))
        if dev is not None or tests is not None:
            raise BadChoice("A run is blended on its own evaluation sets. Leave out dev and tests, or name two models.")
        weights, curve = output.shown(blending.of_runs([run.engine], given.shares))
        ends = run.base, run.model
    elif isinstance(base, Run):
        raise BadChoice(f"Run '{base.name}' is blended with its own base. Name it alone, or give its model: run.model.")
    else:
        ends = load(base), load(tuned)
        of_dev, *of_tests = (one.written for one in sets.halves())
        asked = of_tests if tests is None else [tests] if isinstance(tests, str | PathLike) else list(tests)
        names = ends[0].source, (ends[1].source,), str(dev or of_dev), tuple(map(str, asked))
        weights, curve = output.shown(blending.of_models(*names, given.shares))
    return Blend(*ends, curve.best if given.alpha is None else given.alpha, curve, weights)
