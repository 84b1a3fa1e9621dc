"""Say what the cosines of a model mean, and what changed from another one, in a card, on a page and on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from explorer import in_words
from explorer.escaping import fenced, plain, table
from explorer.measuring.comparing.verdict_sentence import Sentence
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores.calibration import Calibration, Threshold
from explorer.measuring.scores.judge import Share
from explorer.measuring.scores.similarity import FILE, CosineMeaning, code, probability_text
from explorer.measuring.scores.verdict import BETTER, CHANCE, CI, WORSE

SHOWN = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # cosines of the table of a card


def in_card(meaning: CosineMeaning, before: CosineMeaning | None = None, of_before: str = "base") -> tuple[str, ...]:
    """The parts of a model card that say it, and what it was `before`, with the code that reads the file."""
    changed = change(before, meaning) if before else None
    text = f"What cosines of this model mean is in `{FILE}`, with more digits."
    text = f"{plain(changed.text)} {text}" if changed else text
    if meaning.calibration is not None:
        text += f" {plain(about(meaning.calibration))} {plain(quality(meaning))}"
    if meaning.random_pairs is not None:
        drawn = meaning.random_pairs
        text += f" Random pairs: {len(drawn.cosines):,} of {drawn.sentences:,} texts of {plain(drawn.text)}."
    sides = {of_before: before, "this model": meaning}
    known = {name: side for name, side in sides.items() if side is not None}
    rows = [[f"{cosine:.1f}", *(plain(side.words(cosine)) for side in known.values())] for cosine in SHOWN]
    chosen = [
        (name, plain(threshold_text(one)))
        for name, side in known.items()
        for one in (side.calibration.thresholds if side.calibration else ())
    ]
    return (
        "## What a cosine means",
        text,
        table(("cosine", *known), rows),
        *([table(("", "threshold"), chosen)] if chosen else []),
        "Of two vectors of this model:",
        fenced("python", code(meaning)),
    )


def as_text(meaning: CosineMeaning, before: CosineMeaning | None = None, cosines: Sequence[float] = ()) -> str:
    """What cosines mean for the terminal: thresholds, then reliability, then single cosines."""
    sides = [meaning] if before is None else [before, meaning]
    lines = []
    if meaning.calibration is not None:
        lines += [about(meaning.calibration), ""]
    if before is not None and (line := change(before, meaning)):
        lines += [line.text, ""]
    for side in sides:
        lines.append(f"{side.model}, {side.reading}")
        if side.calibration is not None:
            lines += [f"  {one}" for one in (*map(threshold_text, side.calibration.thresholds), quality(side))]
        if side.random_pairs is not None:
            drawn = side.random_pairs
            lines.append(f"  random pairs: {len(drawn.cosines):,} of {drawn.sentences:,} sentences of {drawn.text}")
        lines += [f"  cosine {in_words.number(one)}: {side.words(one)}" for one in cosines or SHOWN]
    return "\n".join(lines)


def about(found: Calibration) -> str:
    """What a match is, and which pairs the numbers are from."""
    dev, test = (
        f"{one.name} ({one.pairs:,} pairs, prevalence {probability_text(one.prevalence)})"
        for one in (found.dev, found.test)
    )
    return (
        f"A match has a gold score of {found.match:g} or more. Fitted and chosen on {dev}, tested on {test}. "
        "Prevalence is the share of pairs that match: where it is another one, so are probabilities and precision."
    )


def at_prevalence(found: Calibration) -> str:
    """Which share of matches the probabilities are for, in a line beside them."""
    return (
        f"Probabilities of a match are for a prevalence of {probability_text(found.dev.prevalence)}, as in "
        f"{found.dev.name}: where another share of pairs match, they are others."
    )


def threshold_text(one: Threshold) -> str:
    """`best F1: cosine 0.71 (95 % CI 0.69 to 0.73); on test precision 81 % (…), recall 77 % (…), F1 79 % (…)`."""
    if one.cosine is None or one.low is None or one.high is None:
        return f"{one.name}: no threshold reaches it on dev"
    on_test = ", ".join(
        f"{name} {share_text(share)}"
        for name, share in (("precision", one.precision), ("recall", one.recall), ("F1", one.f1))
        if share is not None
    )
    edges = in_words.interval(one.low, one.high, digits=3)
    return f"{one.name}: cosine {in_words.number(one.cosine, 3)} ({CI} {edges}); on test {on_test}"


def share_text(share: Share) -> str:
    """`81.2 % (78.0 to 84.1)`."""
    interval = in_words.interval(100 * share.low, 100 * share.high, digits=1)
    return f"{in_words.number(100 * share.value, digits=1)} % ({interval})"


def quality(meaning: CosineMeaning) -> str:
    """The Brier score and the calibration error of both curves, the one that is used first."""
    found = meaning.calibration
    if found is None:
        return ""
    rate = found.test.prevalence
    names = sorted(found.reliability, key=lambda name: name != found.chosen)
    each = "; ".join(
        f"{name}{' (used)' * (name == found.chosen)} Brier score {found.reliability[name].brier:.4f}, expected "
        f"calibration error {found.reliability[name].error:.3f}"
        for name in names
    )
    alone = f"the share of matches alone has a Brier score of {rate * (1 - rate):.4f}"
    on_dev = " and ".join(f"{name} {found.choice.scores[name]:.4f}" for name in names)
    return (
        f"{each[:1].upper()}{each[1:]}. Lower is better; {alone}. Chosen by the cross-validated Brier score on "
        f"the dev set: {on_dev}; isotonic only if it is lower by more than a standard error ({found.choice.error:.4f})."
    )


def change(before: CosineMeaning, after: CosineMeaning) -> Sentence | None:
    """Whether the cosines of one model say more of a match than those of another; None if the test pairs differ."""
    one, other = before.calibration, after.calibration
    if one is None or other is None or (one.test, one.match) != (other.test, other.match):
        return None
    # × 100 of squared errors: lower is better, so a better one has a negative difference
    gap = bootstrap.mean_difference(one.squared, other.squared, most=0.0)
    low, high = float(gap.low) / 100, float(gap.high) / 100
    kind = BETTER if high < 0 else WORSE if low > 0 else CHANCE
    sides = float(one.squared.mean()), float(other.squared.mean())
    scores = f"{before.model} {in_words.number(sides[0], 4)}, {after.model} {in_words.number(sides[1], 4)}"
    difference = in_words.change(in_words.gap(*sides, digits=4), low, high, digits=4, label=CI)
    return Sentence.of(
        kind,
        f"the probability of a match has a Brier score of {scores} (lower is better): "
        f"{difference} on {other.test.pairs:,} pairs of {other.test.name}.",
    )
