"""Say whether vectors of a server agree with the model, and if not, what explains it and what to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer import in_words
from explorer.encoding.read.head_facts import UNLIMITED
from explorer.evaluating.results import table_formats
from explorer.measuring.comparing.verdict_sentence import Sentence
from explorer.measuring.scores.verdict import BETTER, MIXED, WORSE
from explorer.studies.serving import causes
from explorer.studies.serving.causes import Cause
from explorer.studies.serving.closeness import Closeness

AGREES, ROUNDED, EXPLAINED, UNEXPLAINED = "agrees", "rounded", "explained", "unexplained"
_COLOURS = {AGREES: BETTER, ROUNDED: BETTER, EXPLAINED: MIXED, UNEXPLAINED: WORSE}
DIFFERENT, LISTED = 5, 20  # sentences that differ most, and settings that were tried, in a table
LONGEST = 80  # characters of a sentence in the text of a terminal
FLOAT32 = 1e-7  # to which any two programs can agree
SAME_DIRECTION = 0.9999  # a mean cosine that is no news
FAR = 0.5  # a mean cosine below which a setting explains nothing
EIGHT_BIT = 0.95  # the least mean cosine that weights of 8 bits leave


@dataclass(frozen=True)
class Attempt:
    """A setting that was tried, and how close its vectors are."""

    setting: str
    sentences: int
    equal: int  # of them
    cosine: float  # the mean
    lowest: float
    difference: float  # the largest of a number, as a share of the length of its vector

    @classmethod
    def of(cls, found: Sequence[Cause], near: Closeness) -> Attempt:
        """The numbers of a closeness."""
        return cls(
            causes.in_words(found),
            len(near.equal),
            int(near.equal.sum()),
            float(near.cosines.mean()),
            float(near.cosines.min()),
            float(near.differences.max()),
        )


@dataclass(frozen=True)
class DifferingSentence:
    """A sentence whose vectors differ."""

    row: int
    sentence: str
    tokens: int
    cosine: float | None  # as the model declares; None if the widths differ
    cosine_best: float  # under the setting that explains most


@dataclass(frozen=True)
class Verification:
    """Whether the vectors of a server are those of the model, and what explains the difference."""

    model: str
    vectors: str  # the name of their file
    width: int
    rows: int
    kind: str
    causes: tuple[Cause, ...]
    declared: Attempt | None  # as the model declares; None if the given vectors are wider
    best: Attempt
    tried: tuple[Attempt, ...]  # the best of them, first that which explains most
    count: int  # settings that were tried
    different: tuple[DifferingSentence, ...]
    notes: tuple[str, ...]  # what these vectors cannot show
    even: bool  # whether what is left differs alike in all sentences

    @property
    def agrees(self) -> bool:
        """Whether the vectors are those of the model, but for rounding."""
        return self.kind in (AGREES, ROUNDED)

    @property
    def sentence(self) -> Sentence:
        """The verdict in a sentence, with its first words emphasised."""
        lead, detail = _words(self)
        return Sentence(_COLOURS[self.kind], ((lead, True), (detail, False)))

    @property
    def remedy(self) -> str:
        """What to change in the server; "" if nothing."""
        return causes.advice(self.causes) if self.kind == EXPLAINED else ""

    def as_json(self) -> dict[str, object]:
        """Everything, as JSON."""
        from dataclasses import asdict

        return {
            "model": self.model,
            "vectors": self.vectors,
            "width": self.width,
            "rows": self.rows,
            "kind": self.kind,
            "agrees": self.agrees,
            "verdict": self.sentence.text,
            "remedy": self.remedy,
            "causes": [asdict(one) for one in self.causes],
            "as_declared": None if self.declared is None else asdict(self.declared),
            "best": asdict(self.best),
            "settings_tried": self.count,
            "tried": [asdict(one) for one in self.tried],
            "differ_most": [asdict(one) for one in self.different],
            "notes": list(self.notes),
        }

    def tried_rows(self) -> in_words.Rows:
        """The settings that were tried, for a table."""
        return [
            {
                "setting": one.setting,
                "mean cosine": round(one.cosine, 6),
                "lowest cosine": round(one.lowest, 6),
                "largest difference": float(f"{one.difference:.2g}"),
                "equal": f"{one.equal:,} of {one.sentences:,}",
            }
            for one in self.tried
        ]

    def different_rows(self) -> in_words.Rows:
        """The sentences that differ most, for a table."""
        return [
            {
                "row": one.row,
                "sentence": one.sentence,
                "tokens": one.tokens,
                "cosine as declared": in_words.rounded(one.cosine, 6),
                "cosine explained": round(one.cosine_best, 6),
            }
            for one in self.different
        ]

    def as_text(self) -> str:
        """The verdict first, then what to do, then both tables."""
        lines = [self.sentence.text, *[f"In the server: {self.remedy}"] * bool(self.remedy), *self.notes]
        if not self.agrees or len(self.tried) > 1:
            lines += ["", f"Settings tried ({self.count:,}), the nearest first:", _table(self.tried_rows())]
        if self.different:
            rows = [{**one, "sentence": _short(str(one["sentence"]))} for one in self.different_rows()]
            lines += ["", "Sentences that differ most:", _table(rows)]
        return "\n".join(lines).rstrip()


def _table(rows: in_words.Rows) -> str:
    header = [table_formats.TableColumn(name, is_text=isinstance(value, str)) for name, value in rows[0].items()]
    return table_formats.as_text(header, [[None if one is None else str(one) for one in row.values()] for row in rows])


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def notes_of(left_out: int, rows: int, compared: int, longest: int, limit: int) -> tuple[str, ...]:
    """What the vectors cannot show, a sentence each."""
    found = []
    if left_out:
        found.append(f"Only the first {rows:,} rows are read; {left_out:,} are left out.")
    if compared < rows:
        found.append(f"{compared:,} of {rows:,} sentences are compared: the longest, and others spread over the file.")
    if longest <= limit < UNLIMITED:
        found.append(
            f"Not tested: where the server cuts texts. The longest has {longest:,} tokens and the model reads "
            f"{limit:,}; add a longer one."
        )
    return tuple(found)


def kind_of(found: Sequence[Cause], near: Closeness) -> tuple[str, tuple[Cause, ...]]:
    """The kind of the verdict, and the causes: with arithmetic of few bits if that explains what is left."""
    every = tuple(found)
    if near.share_equal < 1:
        words = near.arithmetic()
        if not words:
            return UNEXPLAINED, every
        every = (*every, causes.rounding(words))
    if any(one.kind != causes.ROUNDING for one in every):
        return EXPLAINED, every
    return (ROUNDED if every else AGREES), every


def differing(
    rows: Sequence[int],
    sentences: Sequence[str],
    tokens: Sequence[int],
    declared: Closeness | None,
    best: Closeness,
    kind: str,
) -> tuple[DifferingSentence, ...]:
    """The sentences that differ most: as the model declares, or, if nothing explains it, under the nearest setting."""
    judged = best if declared is None or kind == UNEXPLAINED else declared
    places = [int(at) for at in np.argsort(-judged.distances, kind="stable")[:DIFFERENT] if not judged.equal[at]]
    return tuple(
        DifferingSentence(
            int(rows[at]),
            sentences[rows[at]],
            int(tokens[at]),
            None if declared is None else float(declared.cosines[at]),
            float(best.cosines[at]),
        )
        for at in places
    )


def _words(verification: Verification) -> tuple[str, str]:
    count, largest = f"{verification.best.sentences:,} sentences", f"{max(verification.best.difference, FLOAT32):.0e}"
    if verification.kind == AGREES:
        return "The vectors agree", f" to {largest} ({count})."
    if verification.kind == ROUNDED:
        rounded = causes.in_words(verification.causes)
        return "The vectors agree but for rounding", f": {rounded}, with differences up to {largest} ({count})."
    if verification.kind == EXPLAINED:
        of_declared = verification.declared
        before = "" if of_declared is None else f" (mean cosine {of_declared.cosine:.4f})"
        if of_declared is not None and of_declared.cosine > SAME_DIRECTION:
            before = f" in length, by up to {of_declared.difference:.1g} in a number"
        words = causes.in_words(verification.causes)
        return "The vectors differ", f"{before}. Explained by: {words}, with which all {count} agree to {largest}."
    if verification.best.cosine < FAR and not verification.best.equal:
        near = f". The highest mean cosine of one is {verification.best.cosine:.2f}.{_perhaps(verification)}"
        return "The vectors differ, and no setting tried explains it", near
    near = f"The nearest: {verification.best.setting}, with mean cosine {verification.best.cosine:.4f}"
    some = f"; {verification.best.equal:,} of {count} agree." if verification.best.equal else "."
    return "The vectors differ, and no setting tried explains it", f". {near}{some}{_perhaps(verification)}"


def _perhaps(verification: Verification) -> str:
    if verification.best.equal or verification.best.cosine < EIGHT_BIT or not verification.even:
        return " Check that the server has the same weights and the same tokenizer files."
    return " All sentences differ alike, as with weights of 8 bits or fewer."
