"""Check that a server computes the vectors of a model, and name the setting that explains a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from explorer.commands.parts import output
from explorer.data.vectors import opening
from explorer.errors import BadChoice
from explorer.studies.serving import given_vectors, verdict, verification
from explorer.studies.serving.given_vectors import VerifyOptions
from explorer.studies.size.picture import limited
from strata.models import ModelLike, load, texts
from strata.shown import Shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Verification(Shown):
    """Whether vectors of a server are those of a model; if not, what explains it and what to change."""

    found: verdict.Verification

    @property
    def agrees(self) -> bool:
        """Whether the vectors are those of the model, but for rounding."""
        return self.found.agrees

    @property
    def causes(self) -> tuple[str, ...]:
        """What the server does otherwise; empty if it agrees, or if nothing explains its vectors."""
        return tuple(one.words for one in self.found.causes) if self.found.kind == verdict.EXPLAINED else ()

    @property
    def remedy(self) -> str:
        """What to change in the server."""
        return self.found.remedy

    @property
    def different(self) -> pd.DataFrame:
        """The sentences that differ most."""
        import pandas as pd

        return pd.DataFrame(self.found.different_rows())

    def to_frame(self) -> pd.DataFrame:
        """The settings that were tried, the nearest first."""
        import pandas as pd

        return pd.DataFrame(self.found.tried_rows())

    def __repr__(self) -> str:
        return " ".join(filter(None, (self.found.sentence.text, self.remedy, *self.found.notes)))


def verify(
    model: ModelLike,
    vectors: str | PathLike[str] | NDArray[Any],
    sentences: str | PathLike[str] | Sequence[str] | None = None,
    *,
    most: int = VerifyOptions.knobs["sentences"].default,
) -> Verification:
    """Compare vectors that a server computed with those of the model here.

    `vectors` is an array (sentence, width) with its sentences in a list, or a file: .npy or the .json answer of an API
    with a text file, .parquet, .jsonl or .json with both. At most `most` sentences are compared. A prompt that the
    server should put before texts is chosen by `load(…, prompt=…)`.
    """
    given = load(model)
    options = VerifyOptions(sentences=most)
    if isinstance(vectors, str | PathLike):
        if sentences is not None and not isinstance(sentences, str | PathLike):
            raise BadChoice("The vectors are a file, so the sentences are one, too. Give its path, or an array.")
        text = None if sentences is None else str(sentences)
        served = output.shown(given_vectors.read(opening.opened(str(vectors), text)))
    elif sentences is None or isinstance(sentences, str | PathLike):
        raise BadChoice("The vectors are an array, so the sentences are a list, in the same order. Give one.")
    else:
        served = given_vectors.of_arrays("the vectors", texts(sentences, "sentences"), vectors)
    encoder = limited(given.encoder, given.settings.max_length)
    return Verification(output.shown(verification.verify(given.found, encoder, served, options)))
