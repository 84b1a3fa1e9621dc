"""Make the example run that ships with Strata: train the demonstration, measure it, leave out the weights.

`python -m explorer.training.example` rewrites it, and `make example` calls that. The measurements that pages show of
the example are made here: scores and vectors of the base and of the tuned model, under the keys that pages use.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from explorer.data import sample
from explorer.data.graded import probes
from explorer.data.kinds import GradedPairs
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.readings import OWN
from explorer.measuring.scores import score_store
from explorer.measuring.scores.layer_scores import score_layers
from explorer.measuring.scores.measure import shelf_key
from explorer.measuring.sentences import shipped_vectors
from explorer.measuring.sentences.probes import sentences_of
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.places import examples_folder
from explorer.progress import Progress, finish
from explorer.run_folder import METRICS, MODEL, PROBE, RECIPE, STATUS
from explorer.training import running
from explorer.training.demonstration import recipe
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record.runs import Run

NAME = "example"
# the files of the model's folder that say how a sentence is encoded, without weights and vocabulary
_SETTINGS = ("config.json", "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json")


def make(folder: Path) -> Path:
    """Train the demonstration and write the files that ship, replacing the folder."""
    with tempfile.TemporaryDirectory() as place:
        run = finish(running.train(runs.new(_recipe(), "demonstration", Path(place))), _tell)
        assert run is not None, "nobody asks to discard it"
        shutil.rmtree(folder, ignore_errors=True)
        _ship_run(run, folder / NAME)
        _ship_measurements(run, folder)
    return folder


def _recipe() -> Recipe:
    """The demonstration on a processor in float32, which every machine can repeat."""
    return replace(recipe(), precision="float32", device="cpu").checked()


def _ship_run(run: Run, place: Path) -> None:
    """Copy the run's folder without weights, vocabulary, log and facts about the machine that trained it."""
    place.mkdir(parents=True)
    for name in (RECIPE, METRICS, "README.md"):
        shutil.copy(run.folder / name, place / name)
    shutil.copytree(run.folder / PROBE, place / PROBE)
    for path in run.model.rglob("*.json"):
        inside = path.relative_to(run.model)
        if path.name in _SETTINGS:
            (place / MODEL / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place / MODEL / inside)
    told = json.loads((run.folder / STATUS).read_text(encoding="utf-8"))
    told["facts"].pop("estimate", None)
    told |= {"pid": 0, "born": "", "host": "", "beat": 0.0, "since": None}
    (place / STATUS).write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")


def _ship_measurements(run: Run, folder: Path) -> None:
    """Write what pages show: both models' scores on the test half, and what needs the weights of the tuned model."""
    base, tuned = model_names.find(run.recipe().model), model_names.of_folder(NAME, run.model)
    shipped = model_names.of_folder(NAME, folder / NAME / MODEL)
    _ship_scores(base, base, (sample.pairs(), sample.test()), folder)
    _ship_scores(tuned, shipped, (sample.pairs(), sample.dev(), sample.test()), folder)
    sentences = sentences_of(probes.packs())
    vectors = finish(of_reading(_loaded(tuned), sentences, OWN))
    shipped_vectors.ship(folder, shipped.digest, sentences, OWN.title, vectors)


def _ship_scores(found: Found, known_as: Found, sets: tuple[GradedPairs, ...], folder: Path) -> None:
    """Write scores in float32 and under the default device, so that pages show them before torch is loaded."""
    encoder = _loaded(found)
    for pairs in sets:
        _tell(Progress(f"{found.name} on {pairs.name}", 0, 0))
        scores = finish(score_layers(encoder, pairs))
        for settings in shipped_vectors.UNDER:
            score_store.keep(shelf_key(known_as, pairs, settings), scores, folder / score_store.SCORES)


def _loaded(found: Found) -> Encoder:
    return loading.load(found, precision="float32", device="cpu")


def _tell(progress: Progress) -> None:
    sys.stderr.write(f"\r{progress.stage} {progress.done:,} of {progress.total:,}".ljust(78))


if __name__ == "__main__":
    sys.stderr.write(f"\n{make(examples_folder())}\n")
