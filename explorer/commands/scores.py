"""Score an encoder on an evaluation set: under every layer & pooling, or in many sizes; and make a static one."""

import argparse
import json
import math
from collections.abc import Sequence

from explorer import in_words
from explorer.commands.parts import flags, output
from explorer.data import corpora, sources
from explorer.data.graded import sets
from explorer.data.labelled import labelled_sets
from explorer.data.set_items import ItemSet, several, size_of
from explorer.data.tables.text_rows import Report
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load import chosen_prompts, declared
from explorer.encoding.locate.model_names import Found, find
from explorer.encoding.read.pooling import OWN, Reading
from explorer.errors import BadChoice, NotWritable
from explorer.evaluating.kinds import MeasureOptions, judged
from explorer.measuring.comparing import splits
from explorer.measuring.comparing.comparison import default_reading
from explorer.measuring.scores import layer_scores
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.places import given_path
from explorer.studies.size import picture, points, small_encoder, static_folder
from explorer.studies.size.static_encoder import StaticOptions
from explorer.training.record import used_rows
from explorer.training.record.run_results import load_set, named_set, names_of


def score_flags(verb: argparse.ArgumentParser) -> None:
    """Take a model, and the set that it is scored on."""
    verb.add_argument(
        "model",
        metavar="MODEL",
        help="all-MiniLM-L6-v2 (bundled), a folder, a hub id, optionally with @REVISION, or run:NAME",
    )
    verb.add_argument(
        "--on",
        "--sts",
        default="sample",
        metavar="SET|FILE",
        help="Evaluation set of any kind: scored pairs, queries with passages, triplets, translations, labelled "
        "texts or 'Probe packs', by name ('STS-B dev', 'Sample search', 'TREC', …) or path (default: the sample pairs)",
    )
    flags.add(verb, flags.COLUMN, declared.FurtherReadings, splits.SplitOptions, MeasureOptions)
    flags.add(verb, chosen_prompts.ChosenPrompt, Settings, flags.ONLINE)
    form = verb.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="Everything, as JSON")
    form.add_argument("--csv", action="store_true", help="One row per layer & pooling, as CSV")


def score(options: argparse.Namespace) -> None:
    """Evaluate every layer & pooling on a set.

    The scores (× 100) of every layer & pooling, by the measures of the set: correlations with human scores of scored
    pairs (average precision, F1 and best accuracy of two labels), nDCG@10 and others of queries, accuracy of triplets,
    of translations and of labelled texts. Higher is better, at most 100.
    """
    # what cannot be is refused before minutes of work
    by = flags.read(options, MeasureOptions)
    given, reports = _given(options)
    metric = judged(given).measure_named(by.metric)
    for report in reports:
        output.say(report)
    column = splits.named(given.split_columns, options.split, given.name) if options.split else None
    if column and options.csv:
        raise BadChoice("--split has no rows in --csv, whose rows are layers & poolings. Choose --json, or the text.")
    found = chosen_prompts.after(find(options.model, online=options.online), options.prompt)
    asked = [declared.named(title, found.folder) for title in options.reading]
    also = [one for reading in asked for one in declared.outside(reading, found.folder)]
    scores = output.shown(judged(given).measured(found, flags.read(options, Settings), also=also))
    split = None if column is None else splits.score_split(scores, column, default_reading(scores), metric, given.item)
    trained = used_rows.in_training_text([found], given)
    if options.json:
        more = {"split": splits.scores_as_json(split)} if split else {}
        print(as_json(found, given, scores, **trained.as_json, **more))
    elif options.csv:
        print(layer_scores.as_csv(layer_scores.score_rows(scores)), end="")
    else:
        print(as_text(found, given, scores, metric, by.aggregate, asked))
        if trained.words:
            print(trained.words)
        if split is not None:
            print("\n".join(["", *splits.scores_as_text(split)]))


def _given(options: argparse.Namespace) -> tuple[ItemSet, Sequence[Report]]:
    """The set, and of scored pairs and labelled texts of the user the reports on reading them."""
    columns, source = flags.roles(options), options.on
    if columns and not sources.is_file(source):
        raise BadChoice(f"--column is for files, but '{source}' is a set whose columns are known. Leave it out.")
    if "label" in columns:
        return labelled_sets.load(source, columns)
    given = None if columns else named_set(source, options.online)
    if columns or (isinstance(given, GradedPairs) and sources.is_file(source)):
        given, report = sources.scored_pairs(source, columns, options.online)
        return given, () if report is None else (report,)
    assert given is not None, "without columns it was read"
    return given, ()


def as_json(model: Found, given: ItemSet, scores: layer_scores.LayerScores, **more: object) -> str:
    """Every layer & pooling as JSON, with model, set and settings, and what else is given."""
    content = {
        "model": model.name,
        "model_revision": model.revision,
        "model_digest": model.files.digest,
        **chosen_prompts.as_json(model),
        "set": given.name,
        "set_digest": given.digest,
        "item": given.item,
        several(given.item): len(given),
        **({"passages": given.pool} if given.pool else {}),
        "metric": scores.metrics[0],
        "others": list(scores.metrics[1:]),
        "precision": scores.precision,
        "device": scores.device,
        "max_length": scores.limit,
        "sentences": scores.sentences,
        "truncated": scores.truncated,
        "seconds": round(scores.seconds, 3),
        "not_measurable": [reading.title for reading in scores.not_measured],
        "not_finite": [reading.title for reading in scores.not_finite],
        "no_score": layer_scores.why_none(scores) or None,
        **more,
        "readings": layer_scores.score_rows(scores),
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


def as_text(
    model: Found,
    given: ItemSet,
    scores: layer_scores.LayerScores,
    metric: str,
    aggregate: str,
    readings: Sequence[Reading] = (),
) -> str:
    """One metric as a grid for the terminal, with notes, and the layers & poolings that were asked for by name.

    Of the model default there is every other metric, too.
    """
    way = f", {aggregate}" if scores.has_parts else ""
    named = f"{model.name}{chosen_prompts.in_words(model)}"
    lines = [f"{named} on {given.name}: {metric} × 100 on {size_of(given)}{way} (higher is better)", ""]
    lines.append(f"{'layer':>8}" + "".join(f"{pooling:>8}" for pooling in scores.poolings))
    for row, numbers in zip(scores.rows, scores.table(metric, aggregate), strict=True):
        cells = "".join(f"{in_words.number(score) if math.isfinite(score) else '':>8}" for score in numbers)
        lines.append(f"{row.label:>8}{cells}".rstrip())
    lines.append("")
    own, best = scores.own_score(metric, aggregate), scores.best(metric, aggregate)
    if own is not None:
        lines.append(f"model default: {layer_scores.text_of(own)} ({scores.own_title})")
        others = {
            one: layer_scores.text_of(scores.score(OWN, one, aggregate)) for one in scores.metrics if one != metric
        }
        lines += [f"model default, {name}: {score}" for name, score in others.items()]
    lines += [f"{one.title}: {layer_scores.text_of(scores.score(one, metric, aggregate))}" for one in readings]
    if best is not None:
        tied = layer_scores.tied_text(scores.ties(best, metric, aggregate))
        text = f"{in_words.number(scores.score(best, metric, aggregate))} ({best.title}{tied})"
        if scores.best_of_all(metric, aggregate) == OWN:
            text = f"{in_words.number(own)} ({OWN.title}); of the grid {text}"
        lines.append(f"best here: {text}, chosen on the {several(given.item)} it is scored on, so optimistic")
    if scores.not_measured_text:
        lines.append(scores.not_measured_text)
    if why := layer_scores.why_none(scores, metric):
        lines.append(f"No score: {why}.")
    sentences = f"{scores.sentences:,} sentences"
    cut = scores.limit and f"at most {scores.limit} tokens, {scores.truncated:,} of {sentences} truncated"
    lines.append(f"{scores.precision} on {scores.device}, {cut or sentences}, measured in {scores.seconds:.1f} s")
    return "\n".join(lines)


def shrink_flags(verb: argparse.ArgumentParser) -> None:
    """Take an encoder, the set that its sizes are scored on, and the folder of an export."""
    verb.add_argument("model", metavar="MODEL", help=f"The encoder: {flags.A_MODEL}")
    flags.add(verb, points.SizeSubjects.knobs["on"])
    verb.add_argument(
        "--text",
        default="sample",
        metavar="FILE|NAME",
        help="Sentences that PCA and int8 are fitted on (default: the sample); those of the set are left out",
    )
    flags.add(verb, points.SizeOptions, *(points.SizeSubjects.knobs[name] for name in ("others", "static")))
    verb.add_argument(
        "--export",
        type=given_path,
        metavar="DIR",
        help="Write the encoder of the one size that is named by --layers, --poolings, --dimensions, --stored and "
        "--weights; what is not named is that of the whole model",
    )
    flags.add(verb, Settings, flags.ONLINE)
    flags.add_report(verb, "Also write the sizes")
    flags.add_forms(verb, json="The table as json")


def shrink(options: argparse.Namespace) -> None:
    """Which layers, dimensions and bits an encoder can do without.

    Score and time an encoder that is cut after each layer, under each pooling, with fewer dimensions and fewer bits,
    all from one encoding for each format of weights; with --words, all of these have the vocabulary of a text. The
    difference is to the whole model as people use it. With --export, write one of them as a folder that transformers
    and sentence-transformers open.
    """
    sizes = flags.read(options, points.SizeOptions)
    if options.export:  # refused before anything is measured
        named = sizes.layers, sizes.poolings, sizes.dimensions, sizes.stored, sizes.weights
        if max(map(len, named)) > 1:
            raise BadChoice(
                "--export writes one encoder. Give --layers, --poolings, --dimensions, --stored and --weights one "
                "value each, for example --layers 3 --poolings mean --dimensions 128 --weights int8, or none for that "
                "of the whole model."
            )
        if options.export.exists():
            raise NotWritable(
                f"{options.export} exists already and is not overwritten. Choose another name, or remove it."
            )
    on = options.on or sets.SAMPLE
    given = load_set(on, options.online)
    text = corpora.of_source(sources.text(options.text), online=options.online)
    words = corpora.of_source(sizes.words, online=options.online) if sizes.words else None
    models = [find(name, online=options.online) for name in (options.model, *options.others)]
    if options.static:
        models.append(output.shown(static_folder.stored(models[0], StaticOptions())))
    settings = flags.read(options, Settings)
    encoder, *more = [picture.limited(load_encoder(one, settings), settings.max_length) for one in models]
    if options.export:
        sizes = small_encoder.one_size(sizes, encoder)
    found = output.shown(picture.picture(encoder, given, text, sizes, more, names_of(models), words))
    if options.export:
        point = small_encoder.the_one(found, sizes)
        about = found, point, given, on, text, sizes, options.export, words
        output.shown(small_encoder.export_measured(encoder, models[0], *about))
    if options.report:
        from explorer.studies.size import size_report

        output.write_report(options.report, size_report.report(found))
    print(points.as_text(found, flags.form(options) or "text"), end="")


def static_flags(verb: argparse.ArgumentParser) -> None:
    """Take a model, the folder to write, and the settings of the recipe."""
    verb.add_argument("model", metavar="MODEL", help=f"The encoder: {flags.A_MODEL}")
    verb.add_argument("folder", metavar="DIR", type=given_path, help="The folder to write; it must not exist yet")
    flags.add(verb, StaticOptions, flags.ONLINE)


def static(options: argparse.Namespace) -> None:
    """Make a static encoder: a vector for each token, and no layers.

    Encode each token of the vocabulary alone, reduce the vectors by PCA, and give frequent tokens a small weight, as
    model2vec does. The vector of a text is the mean of those of its tokens: about a hundred times as fast, and less
    exact. No text is needed. sentence-transformers opens the folder, Strata scores it and trains it.
    """
    recipe = flags.read(options, StaticOptions)
    if options.folder.exists():  # refused before anything is encoded
        raise NotWritable(f"{options.folder} exists already and is not overwritten. Choose another name, or remove it.")
    found = find(options.model, online=options.online)
    output.shown(static_folder.export(found, recipe, options.folder))
    size = sum(path.stat().st_size for path in options.folder.rglob("*") if path.is_file())
    output.say(f"{in_words.size(size)}. What it loses: python -m explorer compare {options.model} {options.folder}")
    print(options.folder)
