"""Say what a model learned: the best news and the worst in one line, how sure it is, and where it shows."""

from collections.abc import Sequence
from dataclasses import asdict

from explorer import in_words
from explorer.data import sources
from explorer.data.set_items import PAIR, QUERY, ROW, TRIPLET, counted
from explorer.measuring.comparing.learned_facts import Learned
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.judge import Gap, PackChange
from explorer.measuring.scores.metrics import ACCURACY, DISTINGUISHED, SPEARMAN
from explorer.measuring.scores.verdict import (
    BETTER,
    CHANCE,
    CHOSE,
    CI,
    NO_TEST,
    UNKNOWN,
    UNLEARNED,
    WORDS,
    WORSE,
    Marked,
    Sentence,
    Verdict,
)

MOST_NAMED = 3  # packs in a clause
COIN = "a coin would get 50 %"
# the name of a pack in a sentence, where it is another
_NAMES = {"number": "numbers", "antonym": "antonyms", "role swap": "role swaps", "quantifier": "quantifiers"}
_CHANGES = {BETTER: "better", WORSE: "worse", CHANCE: "no certain change"}
_SEARCH = {BETTER: "finds the right text sooner", WORSE: "finds the right text later", CHANCE: "no certain change"}
# what the score of a set measures
_SUBJECTS = {PAIR: "similarity", TRIPLET: "triplets in the right order", QUERY: "search", ROW: "classification"}
HOW_CHOSEN = (
    "Neither model's run trained on these pairs. Of each difference that was learned (at most two) or lost (one), this "
    "is the pair whose cosine changed by the median amount: half of the pairs changed more. Of the difference that is "
    "missed most, it is the median one of the pairs that are still more similar than the median paraphrase. What is "
    "left of three is a paraphrase, which should stay similar. Words that differ are bold."
)
NOT_HELD_OUT = (
    "Small differences in meaning are not judged: a run trained on sentences of the probe packs, or chose its "
    "checkpoint by them."
)
NO_VECTORS = "Small differences in meaning are not judged: there are no vectors of the sentences of the probe packs."
HOW_SURE = (
    "In brackets the 95 % confidence intervals, by a paired bootstrap. Those of small differences are so wide that all "
    "of them hold together with 95 %. A case is a paraphrase and a pair with that difference, of 60 pairs of each; it "
    "is right if the paraphrase has the higher cosine. The pairs are the probe packs of the Sentences page."
)


def line(found: Learned) -> Sentence | None:
    """The best news and the worst news, in one line of at most two clauses; None if nothing was measured."""
    if found.nothing:
        return Sentence.of(UNLEARNED, found.nothing.words)
    best: Marked = ()
    worst: Marked = ()
    score = found.judged_by
    scored = _scored(found, score) if score else ()
    fell = score is not None and score.kind == WORSE
    if found.kind == CHOSE:
        best = ((_chosen(found), False),)
    elif found.learned:
        lead = "Learned to notice " if found.tuned else "B notices more often than A: "
        best = (lead, False), *_packs(found.learned)
    elif score and score.kind == BETTER:
        best = scored
    if fell or found.lost:  # never left out
        lead = "; less often noticed: " if fell else "Less often noticed: "
        worst = (*(scored if fell else ()), *(((lead, False), *_packs(found.lost)) if found.lost else ()))
    elif found.learned:
        worst = scored or _missed(found)
    elif best:
        worst = _missed(found)
    elif found.closer:  # those that are still missed, else those at chance
        below = tuple(one for one in found.closer if one in found.missed)
        lead = _misses(found) if below else "No better than a coin, but better than before at "
        best, worst = ((lead, False), *_packs(below or found.closer)), scored
        best = (*best, (f"; {COIN}", False)) if below else best
    elif not found.packs or (score and not found.general):  # of one's own set only its score is news
        best = scored
    else:
        noticed = "the small differences that it notices"
        text = f"No certain change in {noticed}"
        if score:
            numbers = _numbers(found, score)
            text = f"No certain change: neither in general similarity ({numbers}) nor in {noticed}"
        best = ((text, False),)
    clauses = [clause for clause in (best, worst) if clause]
    pieces = [piece for clause in clauses for piece in (*clause, (". ", False))]
    return Sentence(found.kind, (*pieces[:-1], (".", False))) if pieces else None


def short(found: Learned) -> str | None:
    """The news in a few words, for a table: `Learned numbers, negation; score worse`; None if there are none."""
    if found.nothing:
        return WORDS[UNLEARNED]
    if line(found) is None:
        return None
    score = found.judged_by.kind if found.judged_by else UNKNOWN
    parts = [
        f"learned {', '.join(map(_name, found.learned))}" if found.learned else "",
        f"lost {', '.join(map(_name, found.lost))}" if found.lost else "",
        {BETTER: "score better", WORSE: "score worse"}.get(score, ""),
        "elsewhere worse" if verdicts.worst(found.elsewhere) == WORSE else "",
    ]
    if not any(parts) and found.kind != CHOSE:
        parts = ["no certain change"]
    return _capitalised("; ".join(filter(None, [*parts, "no test" * found.is_chosen_by_score])))


def sure(found: Learned) -> str:
    """How sure the line is: the intervals of the packs that it names, and that of the score."""
    if found.nothing:
        return "The saved weights were compared with the base's, one by one: all are equal."
    parts = []
    changed = (*(found.learned or found.closer), *found.lost)[:MOST_NAMED]
    if changed:
        listed = [
            f"{_name(one)} ({in_words.signed(one.points, 0)}{'' if place else ' points'}, "
            f"{in_words.ends(one.points, 100 * one.low, 100 * one.high, digits=0)})"
            for place, one in enumerate(changed)
        ]
        parts.append(f"{_capitalised(' and '.join(filter(None, (', '.join(listed[:-1]), listed[-1]))))}: not chance.")
    elif found.packs:
        certain = " by training" * any(one.training for one in found.packs)
        parts.append(f"None of {len(found.packs)} kinds of small difference changed{certain} by more than chance.")
    if others := [one for one in found.packs if one.by_pooling]:
        named = ", ".join(f"{_name(one)} {in_words.signed(one.points, 0)}" for one in others[:MOST_NAMED])
        due = f" ({found.poolings})" * bool(found.poolings)
        parts.append(f"Due to the layer & pooling{due} and not to training: {named} points.")
    if score := found.judged_by:
        before, after, *gap = score.known
        chance = "not chance, its {} excludes 0" if Gap(*gap).is_sure else "could be chance, its {} includes 0"
        parts.append(f"{_on(found, before, after)}: {chance.format(CI)}.")
        if words := score.parts(found.poolings):
            parts.append(f"Of {in_words.signed(score.shown_difference)}, {words}.")
        parts += filter(None, [score.power])
    elif found.score and found.is_chosen_by_score:
        parts.append(f"{_on(found, found.score.declared_base, found.score.exported)}. {NO_TEST}")
    return " ".join(parts)


def _on(found: Learned, before: float | None, after: float | None) -> str:
    """`Spearman 79.61 → 83.76 on Sample pairs, dev half (120 pairs)`."""
    scores = in_words.arrow(before, after)
    on = f"{sources.shown(found.on)} ({counted(found.size, found.item, found.pool)})"
    return f"{_begun(found.measure)} {scores} on {on}"


def lines(found: Learned, where: str = "") -> list[str]:
    """The line, how sure it is, where, elsewhere, and the pairs, as plain text; none if nothing was measured."""
    text, elsewhere = line(found), verdicts.elsewhere(found.elsewhere)
    second = [elsewhere.text] if elsewhere else []
    if text is None:
        return second
    shown = [f"{in_words.arrow(one.before, one.after)}  {one.first} / {one.second} ({one.pack})" for one in found.pairs]
    return [
        text.text,
        *second,
        f"How sure: {sure(found)}",
        *([f"Where: {where}"] if where else []),
        *(["Pairs that show it, with the cosine before and after:", *shown] if shown else []),
    ]


def as_json(found: Learned) -> dict[str, object] | None:
    """The line, how sure it is, and what it is about; None if nothing was measured."""
    text, elsewhere = line(found), verdicts.elsewhere(found.elsewhere)
    if text is None:
        return None
    second = {"elsewhere": {"kind": elsewhere.kind, "text": elsewhere.text}} if elsewhere else {}
    of_score = {}
    if found.score:
        about = found.measure, found.on, found.size, found.item
        of_score = {"scored_on": dict(zip(("measure", "set", "items", "item"), about, strict=True))}
        of_score["scored_on"] |= {"passages": found.pool} if found.pool else {}
    return {
        "kind": text.kind,
        "text": text.text,
        **second,
        **of_score,
        "how_sure": sure(found),
        "packs": [asdict(one) for one in found.packs],
        "pairs": [asdict(one) for one in found.pairs],
    }


def _packs(packs: Sequence[PackChange]) -> Marked:
    """`negation (7 → 69 % of cases) and numbers (3 → 74 %)`."""
    named = packs[:MOST_NAMED]
    more = len(packs) - len(named)
    pieces: list[tuple[str, bool]] = []
    for place, one in enumerate(named):
        last = place == len(named) - 1 and not more
        joint = "" if not place else " and " if last else ", "
        shares = in_words.arrow(100 * one.before.value, 100 * one.after.value, digits=0)
        share = f" ({shares} %{'' if place else ' of cases'})"
        pieces += [(joint, False), (_name(one), True), (share, False)]
    return (*pieces, (f" and {more} more", False)) if more else tuple(pieces)


def _missed(found: Learned) -> Marked:
    """The pack that is missed most: `Still misses antonyms (14 %; a coin would get 50 %)`."""
    if not found.missed:
        return ()
    one = found.missed[0]
    return (_misses(found), False), (_name(one), True), (f" ({one.after}; {COIN})", False)


def _misses(found: Learned) -> str:
    return "Still misses " if found.tuned else "B misses "


def _scored(found: Learned, score: Verdict) -> Marked:
    """`General similarity: no certain change (+1.1, −3.2 to +5.6)`."""
    change = (_SEARCH if found.item == QUERY else _CHANGES)[score.kind]
    return ((f"{_capitalised(_subject(found))}: {change} ({_numbers(found, score)})", False),)


def _subject(found: Learned) -> str:
    """What the score measures, in words."""
    if found.measure == DISTINGUISHED:
        return "small differences in meaning"
    if found.item == PAIR and found.general:
        return "general similarity"
    return f"{_SUBJECTS[found.item]} on {sources.shown(found.on)}"


def _numbers(found: Learned, score: Verdict) -> str:
    """The difference and its interval: `+1.1, −3.2 to +5.6`; of another layer & pooling also what training changed.

    The measure is named if the subject does not say it.
    """
    measure = "" if found.measure in (SPEARMAN, ACCURACY, DISTINGUISHED) else f"{found.measure} "
    text = f"{measure}{in_words.signed(score.shown_difference, 1)}, {score.ends(1)}"
    if part := score.training:
        by_training = in_words.ends(part.difference, part.low, part.high, digits=1)
        text += f"; by training {in_words.signed(score.shown_parts[1], 1)}, {by_training}"
    return text + "; optimistic, since some of its rows were trained on or chose the model" * found.optimistic


def _chosen(found: Learned) -> str:
    """What is said where the only score is on a set that chose the model."""
    return f"No test: {sources.shown(found.on)} chose the model, so its score there is no evidence"


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def _begun(measure: str) -> str:
    """A measure at the start of a sentence; a name such as nDCG@10 stays as it is."""
    return _capitalised(measure) if measure.islower() else measure


def _name(pack: PackChange) -> str:
    return _NAMES.get(pack.name, pack.name)
