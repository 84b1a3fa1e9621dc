"""The words behind a cosine as tables, JSON and text."""

from __future__ import annotations

import json
from collections.abc import Mapping

from explorer.measuring.sentences.word_pair import WordChange, WordPair, changes
from explorer.measuring.table_cells import Rows, rounded

Pairs = Mapping[str, WordPair]  # by side: A, or A and B
REST = "(without its words)"
CHANGED = "Under B the cosine is {:.2f} {} ({:.2f} → {:.2f}); “{}” accounts for {} ({} → {})."
SAME = "The cosine is {:.2f} under A and B; “{}” changed most, by {} ({} → {})."
MOST = "“{}” adds most to the cosine of {:.2f}: {}."
OTHER_WORDS = "A and B split these sentences into other words, so no change by word is shown."
ALIKE = 0.005  # cosines that are equal to two decimals


def told(pairs: Pairs) -> str:
    """One sentence: the word behind the change from A to B, or the one that adds most."""
    sides = list(pairs.values())
    if len(sides) < 2:
        return _most(sides[0])
    before, after = sides
    if before.words != after.words:
        return OTHER_WORDS
    found = changes(before, after)
    if not found:
        return ""
    gap = after.cosine - before.cosine
    if abs(gap) < ALIKE:
        return SAME.format(before.cosine, *_numbers(found[0]))
    # the word that moved the cosine most in the direction in which it went
    word = next((one for one in found if one.gap * gap > 0), found[0])
    direction = "lower" if gap < 0 else "higher"
    return CHANGED.format(abs(gap), direction, before.cosine, after.cosine, *_numbers(word))


def _numbers(change: WordChange) -> tuple[str, str, str, str]:
    return change.word, signed(change.gap), signed(change.before), signed(change.after)


def signed(value: float) -> str:
    """With its sign, and a minus sign that is not a hyphen."""
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def _most(pair: WordPair) -> str:
    every = [
        (float(value), word)
        for words, values in zip(pair.words, pair.contributions, strict=True)
        for word, value in zip(words, values, strict=True)
    ]
    if not every:
        return ""
    value, word = max(every)
    return MOST.format(word, pair.cosine, signed(value))


def word_rows(pairs: Pairs) -> Rows:
    """What every word of either sentence adds, and what the sentence adds without its words, of each side."""
    return [
        {"side": side, "sentence": sentence, "place": place, "word": word, "contribution": rounded(value, 6)}
        for side, pair in pairs.items()
        for sentence, (words, values, rest) in enumerate(
            zip(pair.words, pair.contributions, pair.rests, strict=True), start=1
        )
        for place, (word, value) in enumerate(zip((*words, REST), (*values, rest), strict=True), start=1)
    ]


def matrix_rows(pairs: Pairs) -> Rows:
    """What every word of the first sentence and every one of the second add together, of each side."""
    return [
        {"side": side, "word": one, "other word": other, "contribution": rounded(pair.matrix[row, column], 6)}
        for side, pair in pairs.items()
        for row, one in enumerate((*pair.words[0], REST))
        for column, other in enumerate((*pair.words[1], REST))
    ]


def change_rows(found: tuple[WordChange, ...]) -> Rows:
    """The change of every word, largest first."""
    return [
        {
            "sentence": one.sentence,
            "word": one.word,
            "A": rounded(one.before, 6),
            "B": rounded(one.after, 6),
            "change": rounded(one.gap, 6),
        }
        for one in found
    ]


def as_json(
    sentences: tuple[str, str], reference: str, models: Mapping[str, Mapping[str, object]], pairs: Pairs
) -> str:
    """Everything as JSON; `models` describe each side."""
    content: dict[str, object] = {"sentences": list(sentences), "reference": reference}
    for side, pair in pairs.items():
        content[side] = {
            **models[side],
            "cosine": rounded(pair.cosine, 6),
            "sum": rounded(float(pair.matrix.sum()), 6),
            "points": list(pair.points),
            "words": word_rows({side: pair}),
            "matrix": matrix_rows({side: pair}),
        }
    if len(pairs) > 1:
        content["changes"] = change_rows(changes(*pairs.values()))
    content["told"] = told(pairs)
    return json.dumps(content, ensure_ascii=False, indent=1)


def as_text(sentences: tuple[str, str], models: Mapping[str, Mapping[str, object]], pairs: Pairs) -> str:
    """The sentence of `told`, then what every word adds under each side."""
    lines = [told(pairs), ""]
    for side, pair in pairs.items():
        lines.append(f"{side}: {models[side]['model']}, {models[side]['reading']}. Cosine {pair.cosine:.3f}")
    for number, sentence in enumerate(sentences):
        lines += ["", f"{sentence}  ({', '.join(pairs)})"]
        if len({pair.words for pair in pairs.values()}) > 1:
            lines += [f"  {side}: {_listed(pair, number)}" for side, pair in pairs.items()]
            continue
        words = next(iter(pairs.values())).words[number]
        for place, word in enumerate((*words, REST)):
            values = [(*pair.contributions[number], pair.rests[number])[place] for pair in pairs.values()]
            lines.append("  ".join([*(f"{value:+8.3f}" for value in values), word]))
    return "\n".join(lines)


def _listed(pair: WordPair, number: int) -> str:
    values = zip(pair.words[number], pair.contributions[number], strict=True)
    return ", ".join([*(f"{word} {value:+.3f}" for word, value in values), f"{REST} {pair.rests[number]:+.3f}"])
