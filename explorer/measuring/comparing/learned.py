"""Say how sure the headline of a verdict is, and write all of it as lines and as JSON."""

from dataclasses import asdict

from explorer import in_words
from explorer.data import sources
from explorer.data.set_items import counted
from explorer.measuring.comparing import verdict_sentence
from explorer.measuring.comparing.headline import CERTAIN, capitalised, claims, line, name_of
from explorer.measuring.comparing.learned_facts import SHOWN, Learned
from explorer.measuring.scores.judge import Gap, PackChange
from explorer.measuring.scores.verdict import CI, NO_TEST, ElsewhereVerdict

HOW_CHOSEN = (
    "Neither model's run trained on these pairs. Each has a difference that the headline names, and its cosine changed "
    "as the headline says: it fell if the difference is noticed more often, and rose if less often. Of the pairs that "
    "changed so, it is the one whose cosine changed by the median amount: half of them changed more. Words that "
    "differ are bold."
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


def sure(found: Learned) -> str:
    """How sure the line is: the intervals of the packs that it names, and that of the score."""
    if found.nothing:
        return "The saved weights were compared with the base's, one by one: all are equal."
    parts = []
    of_packs = (one for claim, changes in claims(found) if claim.claim in CERTAIN for one in changes)
    if changed := [one for one in of_packs if isinstance(one, PackChange)][:SHOWN]:
        listed = [
            f"{name_of(one)} ({in_words.signed(one.points, one.digits)}{'' if place else ' points'}, {one.ends})"
            for place, one in enumerate(changed)
        ]
        parts.append(f"{capitalised(' and '.join(filter(None, (', '.join(listed[:-1]), listed[-1]))))}: not chance.")
    elif found.packs:
        certain = " by training" * any(one.training for one in found.packs)
        parts.append(
            f"None of {counted(len(found.packs), 'kind')} of small difference changed{certain} by more than chance."
        )
    if others := [one for one in found.packs if one.by_pooling]:
        named = ", ".join(f"{name_of(one)} {in_words.signed(one.points, one.digits)}" for one in others[:SHOWN])
        due = f" ({found.poolings})" * bool(found.poolings)
        parts.append(f"Due to the layer & pooling{due} and not to training: {named} points.")
    main, score = found.main, found.judged_by
    if main and score:
        before, after, *gap = score.known
        chance = "not chance, its {} excludes 0" if Gap(*gap).is_sure else "could be chance, its {} includes 0"
        parts.append(f"{_on(main, before, after)}: {chance.format(CI)}.")
        if words := verdict_sentence.parts(score, found.poolings):
            parts.append(f"Of {in_words.signed(score.shown_difference)}, {words}.")
        parts += filter(None, [verdict_sentence.power(score)])
    elif main and not main.verdict.is_test:
        parts.append(f"{_on(main, main.verdict.before, main.verdict.after)}. {NO_TEST[main.verdict.kind]}")
    return " ".join(parts)


def _on(main: ElsewhereVerdict, before: float | None, after: float | None) -> str:
    """`Spearman 79.61 → 83.76 on Sample pairs, dev half (120 pairs)`."""
    scores = in_words.arrow(before, after)
    on = f"{sources.shown(main.name)} ({counted(main.size, main.item, main.pool)})"
    # at the start of a sentence a name such as nDCG@10 stays as it is
    return f"{capitalised(main.measure) if main.measure.islower() else main.measure} {scores} on {on}"


def lines(found: Learned, where: str = "") -> list[str]:
    """The line, how sure it is, where, and the pairs, as plain text; none if nothing was measured."""
    text = line(found)
    if text is None:
        return []
    shown = [
        f"{in_words.cosines(one.before, one.after)}  {one.first} / {one.second} ({one.pack})"
        for one in found.shown_pairs
    ]
    return [
        text.text,
        f"How sure: {sure(found)}",
        *([f"Where: {where}"] if where else []),
        *(["Pairs that show it, with the cosine before and after:", *shown] if shown else []),
    ]


def as_json(found: Learned) -> dict[str, object] | None:
    """The line, how sure it is, and what it is about; None if nothing was measured."""
    text, elsewhere = line(found), verdict_sentence.elsewhere(found.elsewhere)
    if text is None:
        return None
    second = {"elsewhere": {"kind": elsewhere.kind, "text": elsewhere.text}} if elsewhere else {}
    of_score = {}
    if main := found.main:
        about = main.measure, main.name, main.size, main.item
        of_score = {"scored_on": dict(zip(("measure", "set", "items", "item"), about, strict=True))}
        of_score["scored_on"] |= {"passages": main.pool} if main.pool else {}
    return {
        "kind": text.kind,
        "text": text.text,
        **second,
        **of_score,
        "how_sure": sure(found),
        "packs": [asdict(one) for one in found.packs],
        "pairs": [asdict(one) for one in found.shown_pairs],
    }
