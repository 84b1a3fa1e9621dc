"""The words behind a cosine as tables, JSON and text."""

from collections.abc import Mapping, Sequence

from explorer import in_words
from explorer.encoding.read.pooling import PAD, REFERENCES, WORD_TOKENS
from explorer.in_words import Rows, rounded, signed
from explorer.measuring.sentences import edit_tables
from explorer.measuring.sentences.edit_costs import EditCosts, MeanCosts, mean_costs
from explorer.measuring.sentences.word_pairs import Explained, WordChange, WordPair, changes

Pairs = Mapping[str, WordPair]  # by side: A, or A and B
Models = Mapping[str, Mapping[str, object]]  # what is known of each side's model, by name
TITLE = "Which words did it?"
REST = "(without its words)"
CHANGED = "Under B the cosine is {} {} ({}); “{}” accounts for {}."
CHANGED_BY_MANY = "Under B the cosine is {} {} ({}); no word alone changed visibly."
SAME = "The cosine is {} under A and B; “{}” changed most, by {}."
SAME_WORDS = "The cosine is {} under A and B, and no word changed visibly."
MOST = "“{}” adds most to the cosine of {}: {}."
OTHER_WORDS = "A and B split these sentences into other words, so no change by word is shown."
CUT = "Only the first {} of {} tokens of the {} sentence took part. The maximum length sets how many."
MISSED = "{}: the parts miss the cosine by {:.3f} after {} points, so take its numbers as approximate."
FAR = 0.005  # of the cosine
ABOUT = (
    "The cosine as an exact sum: what each word adds, through all layers and whatever follows the pooling. Each word's "
    "embedding is moved from {} to its own, and its part is the change of the sentence vector that this causes on the "
    "way (integrated gradients, Sundararajan et al. 2017; pairs of words: Möller et al. 2023). Last bar, the rest: the "
    "sentence without its words. Bars of a sentence add up to the cosine."
)
# docs/results.md, "Which words did it?": the mean Spearman over 300 pairs, of each reference and of the token states
CORRELATIONS, OF_STATES = dict(zip(REFERENCES, (0.65, 0.52, 0.52), strict=True)), 0.57
TRUST = (
    "Tested by removing each word (300 pairs, bundled encoder): the cosine falls about in the order of these bars, "
    "rank correlation {:.2f}. For the states of the last layer it is {:.2f}, for a random order −0.01."
)
LOSES = " The states of the last layer agree better, and {} agrees best ({:.2f})."
TOO_LONG = (
    f"Pairs of words are computed for sentences of at most {WORD_TOKENS} tokens. Set a maximum length to compute those "
    "of as many."
)


def summary(pairs: Pairs) -> str:
    """One sentence: the word behind the change from A to B, or the one that adds most."""
    sides = list(pairs.values())
    if len(sides) < 2:
        pair = sides[0]
        every = [
            (float(value), word)
            for words, values in zip(pair.words, pair.contributions, strict=True)
            for word, value in zip(words, values, strict=True)
        ]
        value, most = max(every, default=(0.0, ""))
        return MOST.format(most, in_words.cosine(pair.cosine), signed(value)) if every else ""
    before, after = sides
    if before.words != after.words:
        return OTHER_WORDS
    found = changes(before, after)
    if not found:
        return ""
    digits = in_words.cosine_digits(before.cosine, after.cosine)
    shown = in_words.gap(before.cosine, after.cosine, digits=digits)
    # of the words, too, only what can be seen in the digits of the cosine
    found = tuple(one for one in found if in_words.gap(one.before, one.after, digits=digits))
    if not shown:
        same = in_words.number(before.cosine, digits)
        return SAME.format(same, *_numbers(found[0], digits)) if found else SAME_WORDS.format(same)
    # the word that moved the cosine most in the direction in which it went
    word = next((one for one in found if one.gap * shown > 0), next(iter(found), None))
    cosines = in_words.arrow(before.cosine, after.cosine, digits=digits)
    change = in_words.number(abs(shown), digits), "lower" if shown < 0 else "higher", cosines
    return CHANGED.format(*change, *_numbers(word, digits)) if word else CHANGED_BY_MANY.format(*change)


def edits_of(pairs: Pairs) -> dict[str, EditCosts]:
    """The costs of the edits by side; empty if the sentences have none."""
    known = {side: pair.edits for side, pair in pairs.items() if pair.edits is not None}
    return known if len(known) == len(pairs) else {}


def mean_of(explained: Sequence[Explained]) -> MeanCosts | None:
    """What the differences of several pairs cost in the mean; None of fewer than two pairs that have some."""
    edited = [edits for one in explained if (edits := edits_of(one.pairs))]
    if len(edited) < 2:
        return None
    return mean_costs({side: [edits[side] for edits in edited] for side in edited[0]})


def trust(reference: str) -> str:
    """How well the bars agree with removing words, and which method agrees better if one does."""
    text = TRUST.format(CORRELATIONS[reference], OF_STATES)
    return text if CORRELATIONS[reference] >= OF_STATES else text + LOSES.format(PAD, CORRELATIONS[PAD])


def cut_notes(pairs: Pairs) -> list[str]:
    """A sentence for each sentence of which a part only took part, for both sides at once where they agree."""
    every = {side: [cut and CUT.format(*cut, place) for cut, place in zip(pair.cuts, ("first", "second"), strict=True)]
             for side, pair in pairs.items()}  # fmt: skip
    agree = len({pair.cuts for pair in pairs.values()}) == 1
    notes = [line if agree else f"{side}: {line}" for side, lines in every.items() for line in lines if line]
    return list(dict.fromkeys(notes))


def missed_notes(pairs: Pairs) -> list[str]:
    """A sentence for each side whose parts do not add up."""
    return [
        MISSED.format(side, pair.missed, max(pair.points)) for side, pair in pairs.items() if not pair.missed <= FAR
    ]


def _numbers(change: WordChange, digits: int) -> tuple[str, str]:
    """A word and its change: `−0.19 (+0.12 → −0.07)`."""
    sides = change.before, change.after
    by = signed(in_words.gap(*sides, digits=digits), digits)
    return change.word, f"{by} ({in_words.arrow(*sides, digits=digits, signs=True)})"


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


def side_by_side(pairs: Pairs) -> Rows:
    """What each word adds, with a column for each side and the change; a row for each side if their words differ."""
    sides = list(pairs.values())
    if len({pair.words for pair in sides}) > 1:
        return word_rows(pairs)
    rows: Rows = []
    for number, words in enumerate(sides[0].words):
        for place, word in enumerate((*words, REST)):
            values = [float((*pair.contributions[number], pair.rests[number])[place]) for pair in sides]
            row = {"sentence": number + 1, "place": place + 1, "word": word}
            row |= {side: rounded(value, 6) for side, value in zip(pairs, values, strict=True)}
            rows.append(row | ({"change": rounded(values[1] - values[0], 6)} if len(values) > 1 else {}))
    return rows


def matrix_rows(pairs: Pairs) -> Rows:
    """What every word of the first sentence and every one of the second add together, of each side with a matrix."""
    return [
        {"side": side, "word": one, "other word": other, "contribution": rounded(pair.matrix[row, column], 6)}
        for side, pair in pairs.items()
        if pair.matrix is not None
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


def content(of: Explained, reference: str, models: Models) -> dict[str, object]:
    """Everything, for JSON."""
    pairs = of.pairs
    content: dict[str, object] = {"sentences": list(of.sentences), "reference": reference}
    for side, pair in pairs.items():
        content[side] = {
            **models[side],
            "cosine": rounded(pair.cosine, 6),
            "sums": [
                rounded(float(sum(each)) + rest, 6) for each, rest in zip(pair.contributions, pair.rests, strict=True)
            ],
            "points": list(pair.points),
            "cuts": [cut and dict(zip(("tokens", "of"), cut, strict=True)) for cut in pair.cuts],
            "edits": None if pair.edits is None else edit_tables.rows({side: pair.edits}),
            "edits by layer": None if pair.edits is None else edit_tables.layer_rows({side: pair.edits}),
            "words": word_rows({side: pair}),
            "matrix": None if pair.matrix is None else matrix_rows({side: pair}),
        }
    if len(pairs) > 1:
        content["changes"] = change_rows(changes(*pairs.values()))
    if edits := edits_of(pairs):
        content["edits"] = edit_tables.rows(edits)
        content["which difference"] = edit_tables.summary(edits)
    content["told"] = summary(pairs)
    return content


def as_text(sentences: tuple[str, str], models: Models, pairs: Pairs) -> str:
    """What each difference costs, the sentence of `summary`, then what every word adds under each side."""
    edits = edits_of(pairs)
    lines = [*(edit_tables.lines(edits) if edits else ()), summary(pairs), *cut_notes(pairs), *missed_notes(pairs), ""]
    for side, pair in pairs.items():
        cosine = in_words.cosine(pair.cosine, 3)
        lines.append(f"{side}: {models[side]['model']}, {models[side]['reading']}. Cosine {cosine}")
    for number, sentence in enumerate(sentences):
        lines += ["", f"{sentence}  ({', '.join(pairs)})"]
        if len({pair.words for pair in pairs.values()}) > 1:
            for side, pair in pairs.items():
                parts = (*pair.contributions[number], pair.rests[number])
                listed = zip((*pair.words[number], REST), parts, strict=True)
                lines.append(f"  {side}: {', '.join(f'{word} {signed(value, 3)}' for word, value in listed)}")
            continue
        words = next(iter(pairs.values())).words[number]
        for place, word in enumerate((*words, REST)):
            values = [(*pair.contributions[number], pair.rests[number])[place] for pair in pairs.values()]
            lines.append("  ".join([*(f"{signed(value, 3):>8}" for value in values), word]))
    return "\n".join(lines)
