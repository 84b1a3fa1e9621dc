"""Write reports as HTML: a comparison as the Compare page shows it, verdict first, or the words behind cosines."""

import time
from collections.abc import Iterator, Sequence

from explorer import in_words
from explorer.data.set_items import several, size_of
from explorer.data.text_sets import GradedPairs
from explorer.drawing.reports import standalone
from explorer.drawing.reports.standalone import heading, note, picture, table
from explorer.drawing.scores import curves, distributions, grid, groups
from explorer.drawing.sentences import pair_figures
from explorer.encoding.load import chosen_prompts
from explorer.encoding.read.pooling import PAD
from explorer.measuring.comparing import comparison_report, gold_bins, headline, learned, pair_words, splits
from explorer.measuring.comparing.comparison import as_used, chosen_scores, not_measured, shown_rows
from explorer.measuring.comparing.comparison_verdict import labelled_scores, why_not_same
from explorer.measuring.geometry import layer_geometry
from explorer.measuring.scores import layer_scores
from explorer.measuring.scores.bootstrap import LEVEL
from explorer.measuring.scores.verdict import CI
from explorer.measuring.sentences import edit_tables, word_pairs, word_tables

NO_WORDS = word_pairs.ExplainedPairs()
MOST = 20  # pairs of a kind
BARS = 620  # least pixels of the bars of both sentences
NAME, CELL = 170, 42  # of the names of a matrix's rows with its scale, and of a cell
NAMES = {"model_revision": "revision", "model_digest": "digest", "reading": "layer & pooling"}


def report(
    findings: comparison_report.Findings, pooling: str = "mean", words: word_pairs.ExplainedPairs = NO_WORDS
) -> bytes:
    """The HTML file of a comparison on a set of any kind.

    `pooling` is that of the line plots, `words` are those of the pairs that show what was learned.
    """
    one, other = findings.found
    body = [
        *_learned(findings),
        *words_section(words),
        *_scores(findings),
        *(() if findings.split is None else _groups(findings.split)),
        *_figures(findings, pooling),
        *_gains(findings),
        *(() if findings.geometry is None else _geometry(findings, findings.geometry)),
        *_items(findings),
        heading("Every layer & pooling"),
        table(cells := findings.cells(), shown=shown_rows(cells)),
        *_measured(findings),
        *_repeating(findings, pooling),
    ]
    return standalone.page(f"{one.name} and {other.name} on {findings.pairs.name}", body)


def _learned(findings: comparison_report.Findings) -> Iterator[str]:
    line = headline.line(findings.learned)
    yield standalone.verdict(line or findings.verdict.sentence())
    if findings.verdict.why_optimistic:
        yield note(findings.verdict.why_optimistic)
    if line is None:
        return
    yield standalone.paragraph((("How sure: ", True), (learned.sure(findings.learned), False)))
    if findings.probes.packs:
        yield note(learned.HOW_SURE)
    if findings.where:
        yield standalone.paragraph((("Where: ", True), (findings.where, False)))
    if findings.probes.why_none:
        yield note(findings.probes.why_none)
    if findings.probes.shown_pairs:
        sides = "base → tuned" if findings.verdict.tuning else "A → B"
        yield standalone.paragraph((("Pairs that show it", True), (f", cosine {sides}", False)))
        pairs = []
        for pair in findings.probes.shown_pairs:
            marked = pair_words.differing(pair.first, pair.second)
            cosines = in_words.cosines(pair.before, pair.after)
            pairs.append(standalone.pair(pair_words.what_is_right(pair.pack), *marked, cosines))
        yield standalone.side_by_side(*pairs, kind="cards")
        yield note(learned.HOW_CHOSEN)


def _scores(findings: comparison_report.Findings) -> Iterator[str]:
    verdict = findings.verdict
    if verdict.tuning is not None:
        parts = [
            standalone.card(label, layer_scores.text_of(one.score), one.reading)
            for label, one in labelled_scores(verdict)
        ]
        yield standalone.side_by_side(*parts, kind="cards")
        if missing := why_not_same(verdict):
            yield note(missing)
    if verdict.tuning is None or as_used(findings.comparison) is not findings.comparison:  # else they are shown above
        if verdict.tuning is not None:
            yield heading("The chosen layers & poolings")
        comparison, interval = findings.comparison, findings.differences.chosen
        scores = chosen_scores(comparison, findings.metric, findings.aggregate)
        readings = comparison.one_reading, comparison.other_reading
        cards = [
            standalone.card(
                f"{side}: {found.name}{chosen_prompts.in_words(found)}", layer_scores.text_of(score), reading.title
            )
            for side, found, score, reading in zip("AB", findings.found, scores, readings, strict=True)
        ]
        sure = comparison_report.chance_text(interval)
        yield standalone.side_by_side(
            *cards, standalone.card("B − A", comparison_report.difference_text(scores, interval), sure), kind="cards"
        )
    if verdict.why_none:
        yield note(f"No score: {verdict.why_none}.")
    joined = f", {findings.aggregate} over sub-corpora" if findings.aggregate != "all" else ""
    yield note(
        f"{findings.metric} × 100 on {size_of(findings.pairs)}{joined} (higher is better). In brackets the {CI} "
        f"({comparison_report.INTERVAL_BY}) over the same {several(findings.pairs.item)} for A and B (seed "
        f"{findings.comparison.seed}). "
        "If the interval includes 0, the difference could be chance."
    )
    if findings.picked_here:
        yield note(findings.picked_here.words)
    if len(measures := findings.comparison.one.metrics) > 1 and not isinstance(findings.pairs, GradedPairs):
        rows = [{"measure": name, **comparison_report.measure_row(findings, name)} for name in measures]
        yield table(rows, shown=shown_rows(rows))


def _groups(changes: splits.SplitChanges) -> Iterator[str]:
    """The difference in each group of a column."""
    yield heading(f"By {changes.column}")
    yield picture(groups.differences_by_group(changes), f"B − A by {changes.column}", splits.how_judged(changes))
    yield table(splits.rows_of(changes), usual_digits=3)


def _figures(findings: comparison_report.Findings, pooling: str) -> Iterator[str]:
    comparison, metric, aggregate = findings.comparison, findings.metric, findings.aggregate
    of_cells = findings.differences.grid
    span = grid.span_of(comparison.one, comparison.other, metric=metric, aggregate=aggregate)
    readings = comparison.one_reading, comparison.other_reading
    pieces = [
        picture(
            grid.layer_by_pooling(scores, metric, aggregate, reading, span, short=True),
            f"{side}: every layer & pooling",
            among=3,
        )
        for side, scores, reading in zip("AB", findings.comparison.scores, readings, strict=True)
    ]
    if of_cells is not None:
        drawn = grid.difference_grid(comparison, metric, aggregate, of_cells, findings.differences.own)
        pieces.append(picture(drawn, "B − A", "Hollow: could be chance.", among=3))
    yield heading("Every layer & pooling")
    if of_cells is None:
        yield note(comparison.why_no_cells)
    yield standalone.side_by_side(*pieces)
    yield from map(note, not_measured(comparison))
    graded = findings.pairs if isinstance(findings.pairs, GradedPairs) else None
    yield heading("By layer" if graded is None else "By layer, and by gold score")
    lines = curves.compared_by_layer(comparison, pooling, metric, aggregate, of_cells)
    by_layer = picture(lines, f"{metric} × 100 by layer, {pooling}", among=1 if graded is None else 2)
    if graded is None:
        yield by_layer
        return
    bins = comparison.gold_bins(graded)
    by_gold = picture(distributions.cosines_by_gold(bins), "Cosines by gold score", gold_bins.HOW_TO_READ, among=2)
    yield standalone.side_by_side(by_layer, by_gold)
    yield table(gold_bins.median_rows(bins), usual_digits=3)


def _gains(findings: comparison_report.Findings) -> Iterator[str]:
    """How much items gained or lost."""
    changed, many = findings.changed, several(findings.pairs.item)
    if changed.why_none:
        return
    yield heading(f"What {many} gained and lost")
    if any(changed.gains):
        drawn = distributions.item_gains(changed.gains, changed.gain, findings.pairs.item)
        yield picture(drawn, f"Gains and losses of {many}, {changed.sides_text}")
    yield note(f"{changed.counts_text}.")


def _geometry(findings: comparison_report.Findings, geometry: layer_geometry.LayerGeometry) -> Iterator[str]:
    yield heading(f"Embedding geometry by layer, {geometry.pooling}")
    yield note(layer_geometry.definition(geometry))
    small = [
        picture(curves.measure_by_layer(geometry, measure), measure.name, measure.meaning, among=3)
        for measure in layer_geometry.MEASURES
    ]
    yield standalone.side_by_side(*small)
    yield picture(curves.alignment_by_uniformity(geometry), "Alignment and uniformity")
    yield table(layer_geometry.geometry_rows(geometry), usual_digits=3)
    yield heading(f"Drift by layer, {geometry.pooling}")
    if geometry.alike:
        differences = comparison_report.layer_differences(findings, geometry.pooling)
        yield note(layer_geometry.HOW_TO_READ)
        yield picture(curves.drift_by_layer(geometry, differences), "CKA, shift and score difference")
        yield table(layer_geometry.drift_rows(geometry, differences), {"CKA": 3, "shift": 3})
    if layer_geometry.not_comparable(geometry):
        yield note(layer_geometry.not_comparable(geometry))


def _items(findings: comparison_report.Findings) -> Iterator[str]:
    """The items that improved, got worse, and of scored pairs those that are still wrong, most changed first."""
    changed, many = findings.changed, several(findings.pairs.item)
    yield heading(f"{many.capitalize()} that improved and got worse")
    if changed.why_none:
        yield note(changed.why_none)
        return
    empty = "An empty rank is above 100." if findings.pairs.pool else ""
    sides = changed.sides_text[0].upper() + changed.sides_text[1:]
    yield note(f"{sides}. {changed.rule} The largest changes come first. {empty}".rstrip())
    for kind, rows in changed.rows.items():
        yield f"<h3>{kind}: {min(MOST, len(rows))} of {len(rows):,}</h3>"
        if rows:
            digits = {"gold score": 2, "cosine before": 3, "cosine after": 3}
            yield table(rows[:MOST], digits, usual_digits=3 if isinstance(findings.pairs, GradedPairs) else 2)


def _measured(findings: comparison_report.Findings) -> Iterator[str]:
    yield heading("How it was measured")
    models = comparison_report.about_models(findings)
    names = {
        "model_revision": "revision",
        "model_digest": "digest",
        "max_length": "maximum tokens",
        "truncated": "truncated sentences",
        "not_measurable": "not measurable",
    }
    rows: list[dict[str, object]] = [
        {"": names.get(name, name), **{side: _cell(models[side][name]) for side in "AB"}}
        for name in models["A"]
        if any(models[side][name] is not None for side in "AB")
    ]
    defaults = [scores.own_title or "none declared" for scores in findings.comparison.scores]
    rows.append({"": "model default", **dict(zip("AB", defaults, strict=True))})
    tuning = findings.verdict.tuning
    if tuning is not None:  # what is known of its training
        one, other = "AB"[1 - tuning.tuned], "AB"[tuning.tuned]
        rows += [{"": title.lower(), one: in_words.NONE, other: words} for title, words in tuning.facts.items()]
    yield table(rows)
    made_with = ", ".join(f"{name} {number}" for name, number in in_words.versions(comparison_report.LIBRARIES).items())
    text = comparison_report.about_measuring(findings) | {"level": f"{LEVEL:.0%}", "versions": made_with}
    yield table([{"": name.replace("_", " "), "value": _cell(value)} for name, value in text.items()])


def _repeating(findings: comparison_report.Findings, pooling: str) -> Iterator[str]:
    """The command, and the day: the table above has digests, settings, seed and versions."""
    if command := comparison_report.command(findings, pooling):
        yield heading("To repeat it")
        yield note("With the paths of your models and files:")
        yield standalone.code(command)
    yield note(f"Written on {time.strftime('%d %B %Y').lstrip('0')}.")


def _cell(value: object) -> str:
    return in_words.NONE if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def words_page(explained: Sequence[word_pairs.Explained], reference: str, models: word_tables.Models) -> bytes:
    """The HTML file: every pair with its words under each side, and how they were weighed."""
    names = " and ".join(str(model["model"]) for model in models.values())
    body = []
    for place, one in enumerate(explained, start=1):
        body += [heading(f"Pair {place} of {len(explained)}" if len(explained) > 1 else word_tables.TITLE)]
        body += [standalone.paragraph(((sentence, False),)) for sentence in one.sentences]
        body += _bars(one.pairs)
        matrices = {side: pair.matrix for side, pair in one.pairs.items() if pair.matrix is not None}
        if matrices:  # next to each other with one colour scale
            most = pair_figures.widest(*matrices.values())
            pictures = [
                picture(
                    pair_figures.word_matrix(one.pairs[side], matrix, most),
                    f"{side}: pairs of words, cosine {in_words.cosine(one.pairs[side].cosine, 3)}",
                    among=len(matrices),
                    least=NAME + CELL * (len(one.pairs[side].words[1]) + 1),
                )
                for side, matrix in matrices.items()
            ]
            body.append(standalone.side_by_side(*pictures))
        body.append(note(pair_figures.MATRIX if matrices else word_tables.TOO_LONG))
        body.append(table(word_tables.side_by_side(one.pairs), usual_digits=3))
    if (mean := word_tables.mean_of(explained)) is not None:
        body += [heading("Mean cost of the differences"), note(edit_tables.mean_text(mean))]
        body.append(table(edit_tables.mean_rows(mean)))
    rows = [
        {
            "": NAMES.get(name, name),
            **{side: in_words.NONE if of[name] is None else of[name] for side, of in models.items()},
        }
        for name in models["A"]
    ]
    versions = ", ".join(f"{name} {number}" for name, number in in_words.versions(comparison_report.LIBRARIES).items())
    body += [heading("How it was measured"), note(edit_tables.ABOUT), note(word_tables.ABOUT.format(reference))]
    body += [table(rows)]
    body += [table([{"": "words are replaced by", "value": reference}, {"": "versions", "value": versions}])]
    return standalone.page(f"{word_tables.TITLE} {names}", body)


def words_section(words: word_pairs.ExplainedPairs) -> Iterator[str]:
    """The bars of several pairs, for another report; a note if a model's words cannot be weighed, or nothing."""
    if words.why_none:
        yield note(f"{word_tables.TITLE} {words.why_none}")
    if words.pairs:
        yield heading(word_tables.TITLE)
        yield note(word_tables.ABOUT.format(PAD))
    for one in words.pairs:
        yield standalone.paragraph(((" / ".join(one.sentences), False),))
        yield from _bars(one.pairs)


def _bars(pairs: word_tables.Pairs) -> Iterator[str]:
    """The sentence of a pair's strongest word, or change, and the bars of every word."""
    if edits := word_tables.edits_of(pairs):
        yield from map(note, (edit_tables.summary(edits), *edit_tables.notes(edits)))
    if text := word_tables.summary(pairs):
        yield standalone.paragraph(((text, True),))
    yield from map(note, (*word_tables.cut_notes(pairs), *word_tables.missed_notes(pairs)))
    for group in pair_figures.alike(pairs):
        title = f"What each word adds to the cosine, {' and '.join(group)}"
        figure = pair_figures.word_bars(group)
        figure.update_layout(legend={"x": 1, "xanchor": "right"})  # beside the titles, which a report has at the top
        yield picture(figure, title, pair_figures.FOLDED * pair_figures.are_folded(group), least=BARS)
