"""The kind of translations: texts and their translations, each of which has to find its partner among all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from explorer.data import sources
from explorer.data.set_items import TRANSLATION, Attribute, ItemSet
from explorer.data.tables import text_rows
from explorer.data.tables.columns import are_translations, guess
from explorer.data.tables.files import read_file
from explorer.data.text_sets import BACK_TRANSLATIONS, digest_of
from explorer.evaluating.kinds import JudgedSet
from explorer.measuring.neighbours import rankings
from explorer.measuring.neighbours.vector_index import IndexSetting
from explorer.measuring.scores import correlation
from explorer.measuring.scores.judge import COSINE, Floats
from explorer.progress import finish

if TYPE_CHECKING:
    from torch import Tensor

BOTH, TO_TRANSLATION, TO_SOURCE = "translation accuracy", "accuracy to translation", "accuracy to source"


@dataclass(frozen=True)
class Translations(ItemSet):
    """A text and its translation in each row."""

    name: str
    source: tuple[str, ...]
    translation: tuple[str, ...]
    attributes: tuple[Attribute, ...] = field(
        default=(), compare=False, kw_only=True
    )  # further columns; not used in scores
    item: ClassVar[str] = TRANSLATION

    @cached_property
    def digest(self) -> str:
        """The digest of texts and translations, independent of the name."""
        return digest_of(("translations", *self.source, *self.translation))

    @property
    def text_columns(self) -> dict[str, tuple[str, ...]]:
        """Both texts of each row."""
        return {"source": self.source, "translation": self.translation}

    @property
    def related(self) -> Iterable[tuple[str, str, float]]:
        """Each text with its translation."""
        return ((*row, 1.0) for row in zip(self.source, self.translation, strict=True))


class TranslationJudge(JudgedSet[Translations]):
    """Translations: the share of texts whose nearest translation by cosine is their own, and the reverse.

    The accuracies are those of sentence-transformers' TranslationEvaluator, also of texts that occur twice. An item is
    the mean of both directions of a row: 1, 0.5 or 0.
    """

    data = Translations
    in_words = "texts with translations"
    place = 1
    explained: ClassVar = {
        BOTH: "the mean of both directions: how many texts have their own translation as the nearest of all, and the "
        "reverse, × 100.",
        TO_TRANSLATION: "the share of texts whose nearest translation is their own, × 100.",
        TO_SOURCE: "the share of translations whose nearest text is the one that they translate, × 100.",
    }

    @classmethod
    def read(cls, source: str, online: bool) -> Translations | None:
        """Read a file whose columns have the names of texts and translations."""
        table = read_file(source) if sources.is_file(source) and not sources.is_folder(source) else None
        if table is None or not are_translations(table):
            return None
        roles = guess(table, BACK_TRANSLATIONS)  # whose texts may be equal, as a name and its translation
        (texts, translations), attributes, _ = text_rows.texts_with_attributes(table, roles)
        return Translations(table.name, texts, translations, attributes=attributes)

    def items(self, vectors: Tensor) -> Floats:
        """The mean of both directions of each row; NaN if nothing can be ranked."""
        return self.by_measure(vectors)[self.measure]

    def by_measure(self, vectors: Tensor) -> dict[str, Floats]:
        """Whether each row is right in both directions and in either, and the cosine of its texts."""
        every = correlation.unit(vectors.float().numpy())
        source, translation = (every[places] for places in self.places)
        there = _found(source, translation, self.given.translation)
        back = _found(translation, source, self.given.source)
        measures = (there + back) / 2, there, back
        return dict(zip(self.measures, measures, strict=True)) | {COSINE: self.alike(vectors)}

    def alike(self, vectors: Tensor) -> Floats:
        """The cosine of each text and its translation."""
        return self.cosines(vectors)


def _found(one: rankings.Vectors, other: rankings.Vectors, texts: Sequence[str]) -> Floats:
    """Whether the nearest vector of the other side has the text of the same row, by unit vectors (row, width)."""
    if not rankings.rankable(other, one):
        return np.full(len(one), np.nan)
    nearest = finish(rankings.batch_search(other, one, 1, IndexSetting())).places[:, 0]
    return np.array([texts[place] == text for place, text in zip(nearest, texts, strict=True)], dtype=np.float64)
