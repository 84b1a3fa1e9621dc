"""Mine hard negatives of pairs: second texts of other rows that are near an anchor."""

from collections import defaultdict

import numpy as np

from explorer import methods
from explorer.data.text_sets import Columns, Corpus
from explorer.encoding.read.encoder import Encoder
from explorer.errors import TooFewRows
from explorer.measuring.neighbours import rankings, vector_index
from explorer.measuring.scores import correlation
from explorer.progress import Phase, Progress, Work
from explorer.training.loop import judging

AT_ONCE = 1024  # rows whose candidates are compared at once


def mined(
    corpus: Corpus, encoder: Encoder, mining: methods.Mining, named: str = "the base"
) -> Work[tuple[Columns, str]]:
    """A column for each hard negative of pairs, found near each anchor with an encoder as it is used, and their counts.

    Candidates are the second texts of all rows. Texts that share a row with the anchor or with its positive are
    excluded. The result depends on the rows and the encoder alone. `named` is what the counts call the encoder.
    """
    anchors, positives = corpus.texts[:2]
    passages = tuple(dict.fromkeys(positives))
    if len(passages) <= mining.negatives:
        raise TooFewRows(
            f"{corpus.name} has {len(passages)} different second texts, too few for {mining.negatives} hard negatives "
            "per row. Use more rows, or set hard_negatives to 0."
        )
    queries = tuple(dict.fromkeys(anchors))
    prompts = encoder.role_prompts
    prompted = (*prompts.before_queries(queries), *prompts.before_documents(passages))
    (found,) = yield from judging.under_heads(encoder, prompted, (encoder.default_head,), Phase.MINING)
    vectors = correlation.unit(found.numpy())
    asked, known = vectors[: len(queries)], vectors[len(queries) :]
    results = yield from rankings.batch_search(known, asked, mining.last, vector_index.IndexSetting())
    query, passage = ({text: place for place, text in enumerate(texts)} for texts in (queries, passages))
    together: defaultdict[str, set[str]] = defaultdict(set)  # by text, all that share a row with it, and itself
    for row in zip(*corpus.texts, strict=True):
        for text in row:
            together[text].update(row)
    random = np.random.default_rng(0)
    chosen: list[list[str]] = []
    cosines: list[float] = []
    right = np.empty(len(corpus))
    drawn = 0
    for number, (anchor, positive) in enumerate(zip(anchors, positives, strict=True)):
        right[number] = asked[query[anchor]] @ known[passage[positive]]
        most = right[number] - mining.margin * abs(right[number])
        excluded = together[anchor] | together[positive]
        window = results.places[query[anchor], mining.first - 1 :]
        near = [
            (int(place), cosine)
            for place, cosine in zip(window, known[window] @ asked[query[anchor]], strict=True)
            if cosine <= most and passages[place] not in excluded
        ][: mining.negatives]
        cosines += [float(cosine) for _, cosine in near]
        own = [passages[place] for place, _ in near]
        for text in _at_random(passages, excluded | set(own), random, mining.negatives - len(own)):
            drawn += 1
            own.append(text)
        if len(own) < mining.negatives:
            raise TooFewRows(
                f"The row with '{anchor[:60]}' shares texts with so many rows that {mining.negatives} hard negatives "
                "are not left for it. Set hard_negatives to a lower number."
            )
        chosen.append(own)
        if number % AT_ONCE == 0:
            yield Progress(Phase.MINING, number, len(corpus))
    summary = f"hard negatives: {len(cosines):,} mined with {named}"
    if drawn:
        summary += f", {drawn:,} drawn at random where no more were far enough"
    if cosines:
        summary += f"; mean cosine to the anchor {np.mean(cosines):.2f}, of positives {right.mean():.2f}"
    return tuple(zip(*chosen, strict=True)), summary


def _at_random(passages: tuple[str, ...], excluded: set[str], random: np.random.Generator, count: int) -> list[str]:
    """Some passages that are not excluded; fewer where so many are not left."""
    found: dict[str, None] = {}
    for place in random.permutation(len(passages)) if count > 0 else ():
        if len(found) == count:
            break
        if passages[place] not in excluded:
            found[passages[place]] = None
    return list(found)
