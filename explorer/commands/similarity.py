"""Say what a cosine of an encoder means: the probability of a match, thresholds, and its place among random pairs."""

import argparse
import json
from contextlib import suppress

from explorer.commands.parts import flags, output
from explorer.data import corpora, shared_rows, sources, text_sets
from explorer.data.graded import sets
from explorer.encoding.load import declared
from explorer.encoding.locate.model_names import Found, find
from explorer.encoding.read.pooling import Reading
from explorer.errors import BadChoice, StrataError
from explorer.evaluating.kinds import only_scored_pairs
from explorer.measuring.comparing import similarity_text
from explorer.measuring.scores import calibration
from explorer.measuring.scores import similarity as meaning
from explorer.measuring.scores.measure import Settings, load_encoder, measure
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.places import file_to_write, write_whole
from explorer.training.record.run_results import named_set


def similarity_flags(verb: argparse.ArgumentParser) -> None:
    """Take one encoder or two, and the pairs that say what a cosine means."""
    verb.add_argument("model", metavar="A", help=f"An encoder: {flags.A_MODEL} for the model of a run")
    verb.add_argument("other", nargs="?", metavar="B", help="Another encoder, such as what A was tuned to")
    flags.add(verb, meaning.SimilarityOptions, calibration.MatchOptions, declared.SideReadings, Settings, flags.ONLINE)
    verb.add_argument(
        "--export", type=file_to_write, metavar="FILE", help=f"Write {meaning.FILE}, and print the lines that read it"
    )
    verb.add_argument("--json", action="store_true", help="Everything, as JSON")


def similarity(options: argparse.Namespace) -> None:
    """What a cosine means: the probability of a match, and its place among random pairs.

    The probability that two sentences match given their cosine is fitted on dev pairs and tested on others, as are
    thresholds, with their 95 % intervals. A cosine is also placed among those of random pairs of a text. With two
    encoders, the second is judged against the first, as before and after tuning.
    """
    asked = flags.read(options, meaning.SimilarityOptions)
    if options.other is None and options.other_reading:
        raise BadChoice("--other-reading is of B, but one encoder is named. Name B after A, or leave it out.")
    settings = flags.read(options, Settings)
    wanted = flags.read(options, calibration.MatchOptions)
    given = asked.sts or (None if asked.text else sets.SAMPLE)
    if given is None and wanted != calibration.MatchOptions():
        raise BadChoice(
            "--match, --at-precision and --at-recall are of scored or labelled pairs, and none are named. Name them "
            "with --sts, or leave these flags out."
        )
    pairs = None if given is None else _divided(given, asked.dev, options.online)
    text = _text(asked.text, options.online) if asked.text else None
    if text is None and pairs is not None:
        text = corpora.of_pairs(pairs.whole or pairs.test)
    assert text is not None, "pairs or a text are named"
    models = [find(name, online=options.online) for name in (options.model, options.other) if name]
    readings = flags.read(options, declared.SideReadings).of(*(one.folder for one in models))
    sides = [
        _meaning(one, reading, pairs, text, wanted, settings) for one, reading in zip(models, readings, strict=True)
    ]
    *before, found = sides
    base = before[0] if before else None
    if options.export:
        content = meaning.as_file(found, base)
        write_whole(options.export, lambda file: file.write(content), "Choose another path for the file.")
        output.say(f"Written to {options.export}. To use it:\n\n{meaning.code(found)}\n")
    if options.json:
        answers = [{"cosine": one, "means": found.words(one)} for one in asked.cosine]
        print(json.dumps({**meaning.as_json(found, base), "cosines": answers}, ensure_ascii=False, indent=1))
    else:
        print(similarity_text.as_text(found, base, asked.cosine))


def _text(source: str, online: bool) -> text_sets.Sentences:
    """The text of random pairs; of a set of another kind than text those of its items, such as its queries."""
    try:
        return corpora.of_source(sources.text(source), online=online)
    except StrataError:
        with suppress(StrataError):
            given = named_set(source, online)
            return corpora.of_texts(given.name, next(iter(given.text_columns.values())))
        raise


def _divided(given: sets.SetIdentity, given_dev: sets.SetIdentity | None, online: bool) -> sets.Divided:
    """Dev pairs and test pairs."""
    if given_dev:
        dev, test = (
            only_scored_pairs(flag, str(one), online, named_set)[0]
            for flag, one in (("--dev", given_dev), ("--sts", given))
        )
        if shared := shared_rows.check(dev, test):
            output.say(shared.words)
        return sets.Divided(dev, test)
    pairs, report = only_scored_pairs("--sts", str(given), online, named_set)
    if report is not None:
        output.say(report)
    found = sets.divided(given, pairs, online=online)
    if found.why:
        output.say(f"{found.why} Without both, {given} is divided into two halves.")
    return found


def _meaning(
    model: Found,
    reading: Reading,
    pairs: sets.Divided | None,
    text: text_sets.Sentences,
    wanted: calibration.MatchOptions,
    settings: Settings,
) -> meaning.CosineMeaning:
    calibrated = None
    if pairs is not None:
        dev, test, whole = pairs.dev, pairs.test, pairs.whole
        also = declared.outside(reading, model.folder)
        if whole is None:
            scores = [output.shown(measure(model, one, settings, also=also)) for one in (dev, test)]
        else:
            of_whole = output.shown(measure(model, whole, settings, also=also))
            scores = [of_whole.of_pairs(whole.rows_of(one)) for one in (dev, test)]
        labelled = [
            calibration.LabelledCosines(one.name, of_one.gold, of_one.cosines_of(reading))
            for one, of_one in zip((dev, test), scores, strict=True)
        ]
        calibrated = calibration.calibrate(labelled[0], labelled[1], wanted)
    some = meaning.some_sentences(text.texts)
    vectors = output.shown(of_reading(load_encoder(model, settings), some, reading, settings.max_length))
    title = declared.described(reading, model.folder)
    return meaning.CosineMeaning(model.name, title, calibrated, meaning.random_pairs(vectors, text.name))
