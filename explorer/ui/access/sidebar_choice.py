"""The visitor's choice in the sidebar, checked and scored: evaluation set, model A and B, layer & pooling, settings.

What is not available, a model, a set or a file, stops the page with the reason and the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from explorer.data import sample, sources, uploads
from explorer.data.graded import sets, sts
from explorer.data.set_items import ItemSet
from explorer.data.text_sets import LABELLED_TEXTS, PAIRS, SCORED_PAIRS, TRIPLETS, GradedPairs, Kind
from explorer.data.vectors import opening
from explorer.encoding.load import declared
from explorer.encoding.locate import lookup, model_names
from explorer.encoding.read.pooling import OWN, POOLINGS, Reading
from explorer.errors import BadChoice, HubUnreachable, SetNotFound, StrataError, VectorsUnread
from explorer.evaluating.kinds import judged, shipped
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Settings
from explorer.progress import Progress, Work
from explorer.training.record import run_results, runs
from explorer.ui import messages
from explorer.ui.access import cached, jobs, loaded_encoders

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder
    from explorer.measuring.sentences.layer_cosines import LayerCosines, RandomCosines

MODEL_B = "Compare with: model B"  # the label of its field
ASK_FOR_B = f"To compare two models, choose the second in the sidebar under **{MODEL_B}**."
_CHOSEN, _MODEL_B = "_choice", "_model_b"
FETCH = "Fetch {} from the hub"
NOT_HERE = "{} (not on this disk)"
NOT_ON_DISK = "{} is not on this disk. Fetch it from the hub, or set {}"
NOT_ON_HUB = "{} is not on this disk, and the hub does not have it. Set {}"
SCORED = (SCORED_PAIRS, PAIRS, TRIPLETS, LABELLED_TEXTS)  # kinds of rows that models can be scored on
READ_FOR_TRAINING = (SCORED_PAIRS, PAIRS, TRIPLETS)  # and by training, as dev and test set


@dataclass(frozen=True)
class Choice:
    """An encoder, an evaluation set, the measurement settings, and the title of the layer & pooling."""

    source: str
    evaluation_set: sets.SetIdentity
    reading: str | None
    settings: Settings

    def found(self) -> model_names.Found:
        """The encoder's folder."""
        return cached.found(self.source)

    def evaluated(self) -> ItemSet:
        """The evaluation set, of any kind."""
        return cached.evaluated_on(self.evaluation_set)

    def reading_of(self, folder: Path) -> Reading:
        """The layer & pooling, in the encoder of that folder."""
        return declared.named(self.reading, folder)


@dataclass(frozen=True)
class Reader:
    """A side, A or B, whose model is on this disk: what its vectors depend on."""

    name: str
    found: model_names.Found
    reading: Reading
    settings: Settings

    @property
    def title(self) -> str:
        """The heading of a figure, safe in markdown."""
        described = declared.described(self.reading, self.found.folder)
        return f"**{self.name}** {messages.plain(runs.model_title(self.found.name))}, {messages.plain(described)}"

    @property
    def key(self) -> str:
        """The cache key of the side."""
        return f"{self.found.digest} {self.reading.title} {self.settings}"

    def vectors(self, sentences: Sequence[str]) -> cached.Vectors | None:
        """Vectors (sentence, width); None while they are being computed."""
        return cached.vectors(self.found, sentences, self.reading, self.settings)

    def layers(self, sentences: Sequence[str]) -> LayerCosines | None:
        """Cosines of every two sentences under every layer & pooling; None while they are being computed."""
        return cached.layer_cosines(self.found, sentences, self._outside, self.settings)

    def random(self) -> RandomCosines | None:
        """Where random pairs are under every layer & pooling; None while that is being computed."""
        return cached.random_cosines(self.found, self._outside, self.settings)

    @property
    def _outside(self) -> tuple[Reading, ...]:
        return declared.outside(self.reading, self.found.folder)

    def is_coming(self, sentences: Sequence[str]) -> bool:
        """Whether these vectors are being computed: False too if that failed or was stopped."""
        return cached.vectors_are_coming(self.found, sentences, self.reading, self.settings)


@dataclass(frozen=True)
class ModelScores:
    """An encoder, an evaluation set, the scores, and the chosen layer & pooling."""

    found: model_names.Found
    pairs: ItemSet  # whatever kind of set it is
    scores: LayerScores
    reading: Reading

    @property
    def graded(self) -> GradedPairs | None:
        """The set if it is scored pairs; None if queries, triplets or labelled rows are scored."""
        return self.pairs if isinstance(self.pairs, GradedPairs) else None

    @property
    def measured(self) -> tuple[object, ...]:
        """The cache key of the scores: encoder, pairs and settings."""
        scores = self.scores
        main = scores.metrics[0]
        of_settings = scores.precision, scores.device, scores.max_length, scores.in_windows
        return self.found.digest, self.pairs.digest, main, *of_settings


def first() -> Choice:
    """What a visit shows before anything was chosen."""
    return Choice(lookup.BUNDLED, sets.SAMPLE, None, Settings())


def remember(choice: Choice, model_b: Choice | None) -> None:
    """Keep what the sidebar says, for `chosen` and `model_b`."""
    st.session_state[_CHOSEN], st.session_state[_MODEL_B] = choice, model_b


def chosen() -> Choice:
    """The current choice, with model A."""
    choice: Choice = st.session_state[_CHOSEN]
    return choice


def model_b() -> Choice | None:
    """The same choice with model B and its layer & pooling; None where no B is chosen."""
    choice: Choice | None = st.session_state[_MODEL_B]
    return choice


def readers(choice: Choice, other: Choice | None) -> tuple[Reader, ...]:
    """A, and B if there is one; empty without A. Errors of either are shown."""
    sides: list[Reader] = []
    for name, its in (("A", choice), ("B", other)):
        found = encoder(its.source) if its else None
        if its is None or found is None:
            break
        try:
            sides.append(Reader(name, found, its.reading_of(found.folder), its.settings))
        except StrataError as error:
            messages.trouble(error)
            break
    return tuple(sides)


def ask_for_b() -> None:
    """Tell the visitor where to choose model B."""
    st.info(ASK_FOR_B, icon=":material/compare:")


def titles(folder: Path) -> list[str]:
    """Every layer & pooling of the grid; the model default is first and is not written to the address."""

    def most_used_first(reading: Reading) -> tuple[int, int, int]:  # the mean of the last layer is the first
        return len(reading.row.layers), -reading.row.layers[0], POOLINGS[reading.pooling].order

    return [OWN.title, *(one.title for one in sorted(declared.grid(folder), key=most_used_first))]


def exists(title: str, folder: Path) -> bool:
    """Whether a model has the layer & pooling with this title, in its grid or outside of it."""
    try:
        declared.named(title, folder)
    except BadChoice:
        return False
    return True


def encoder(source: str) -> model_names.Found | None:
    """The encoder; None, with the error and a fetch button, if it is not on this disk."""
    try:
        return cached.found(source)
    except HubUnreachable as error:
        messages.trouble(error)
        offer(FETCH.format(source), lambda: model_names.fetch(source))
    except VectorsUnread:
        key = f"reading {source} {opening.stamps(source)}"
        if jobs.finished_job(key, f"Vectors of {sources.shown(source)}", lambda: model_names.fetch(source)):
            st.rerun()  # the sidebar lists their layer & pooling
    except StrataError as error:
        messages.trouble(error)
    return None


def loaded(found: model_names.Found, settings: Settings) -> Encoder | None:
    """The encoder in memory; None, with progress or the error shown, until it is loaded in the background."""
    return _loaded(f"{settings.precision} {settings.device}", found, lambda: loaded_encoders.encoder(found, settings))


def attending(found: model_names.Found) -> Encoder | None:
    """The model as it returns attention weights, with the weights that are in memory."""
    return _loaded("eager", found, lambda: loaded_encoders.attending(found))


def _loaded(how: str, found: model_names.Found, load: Callable[[], Encoder]) -> Encoder | None:
    def loading() -> Work[None]:
        yield Progress("loading weights", 0, 0)
        load()

    key = f"loading {how} {found.folder} {found.digest}"
    if jobs.finished_job(key, f"Loading {found.name}", loading, jobs.LOADING) is None:
        return None
    try:
        with st.spinner(messages.plain(f"Loading {found.name} …")):  # only if it was evicted meanwhile
            return load()
    except StrataError as error:
        messages.trouble(error)
        return None


def set_names() -> list[str]:
    """Every set on this disk by its name in the menu; published sets are also listed if they are not there."""
    named = [name for name in shipped() if name not in (sample.PROBE_PACKS, sources.QUORA)]
    files = map(sources.label, paths_of(*SCORED))
    return [sources.written(sets.SAMPLE), *uploaded_sets(), *files, *test_rows(), *named, *sts.menu()]


def in_menu() -> Callable[[str], str]:
    """What names texts and sets in a menu that is not bound to the address: a published one says if it is not here."""
    here = sts.on_disk()

    def named(source: str) -> str:
        given, label = sources.identity(source), sources.label(source)
        away = given.kind == sets.SetKind.PUBLISHED and not any(
            name == given.name and given.piece in ("", split) for name, split in here
        )
        return NOT_HERE.format(label) if away else label

    return named


def uploaded_sets() -> list[str]:
    """The uploaded sets of scored pairs, newest first."""
    return [sources.written(one) for one in sets.kept_sets()]


def test_rows() -> list[str]:
    """The test rows of the latest runs that held some out."""
    return [sources.written(one) for one in run_results.latest_test_rows()]


def paths_of(*kinds: Kind) -> list[str]:
    """The paths of uploaded files that hold rows of some kinds, or a set of a kind with a format of its own."""
    return [path for path in uploads.paths() if kind_of(path) in kinds or cached.has_own_format(path)]


def kind_of(path: str) -> Kind | None:
    """The kind of rows of an uploaded file; None of any other source, and if it cannot be read."""
    return cached.kind_of_file(path) if uploads.name_of(path) else None


def evaluation_set(source: str) -> ItemSet | None:
    """The evaluation set that a field names, of a kind that training reads; None, with the error, if it is not here."""
    return evaluated_on(sources.identity(source), for_runs=True)


def evaluated_on(given: sets.SetIdentity, *, for_runs: bool = False) -> ItemSet | None:
    """An evaluation set of any kind; None, with the error, if it is not on this disk."""
    try:
        return cached.graded_pairs(given) if given.is_scored else cached.evaluated_on(given, for_runs)
    except SetNotFound as error:
        set_not_found(error, *published(given)[-1:])  # without a split it is the test split, the last one
    except StrataError as error:
        messages.trouble(error)
    return None


def on_this_disk(given: sets.SetIdentity) -> bool:
    """Whether a set can be loaded without a network."""
    try:
        cached.graded_pairs(given)
    except StrataError:
        return False
    return True


def published(given: sets.SetIdentity) -> tuple[sets.SetIdentity, ...]:
    """The published splits that a set is: one, all of a set without a split, or none."""
    if given.kind == sets.SetKind.PUBLISHED and given.piece:
        return (given,)
    return sets.published(given.name) if given.kind in (sets.SetKind.PUBLISHED, sets.SetKind.OTHER) else ()


def set_not_found(error: SetNotFound, *splits: sets.SetIdentity) -> None:
    """A card for each published split that is not on this disk; the error, if it is about anything else."""
    missing = {}  # by name and split
    for split in splits:
        try:
            cached.graded_pairs(split)
        except SetNotFound as why:
            missing[why.split] = split
        except StrataError:
            pass
    if error.split not in missing:
        messages.trouble(error)
    for split in missing.values():
        offer_set(split)


def offer_set(split: sets.SetIdentity) -> None:
    """A card for a published split that is not on this disk, with a button that fetches it if the hub has it."""
    title, found = split.title, sts.find_split(sts.find(split.name), split.piece)
    folder = f"`{sts.VARIABLE}` to a folder that has it as `{found.file}`."
    if not found.on_hub:
        st.info(NOT_ON_HUB.format(messages.plain(title), folder), icon=":material/database_off:")
        return

    def fetch() -> Work[None]:
        yield Progress("connecting to huggingface.co", 0, 0)
        sets.load(split, online=True)

    st.info(NOT_ON_DISK.format(messages.plain(title), folder), icon=":material/cloud_download:")
    offer(FETCH.format(title), fetch)


def offer(label: str, make: jobs.Make) -> None:
    """A button that starts a download; nothing is fetched without a click."""
    job = jobs.find(label)
    if job is not None and job.state != jobs.DONE:
        jobs.progress_of(job)
    elif st.button(messages.plain(label), icon=":material/download:", key=label):
        jobs.forget(label)
        jobs.follow(label, label, make, lane=jobs.NETWORK)
        st.rerun()


def scored(choice: Choice) -> ModelScores | None:
    """The scores of the choice; None, with an error, a fetch button or progress shown, until they are measured."""
    found, pairs = encoder(choice.source), evaluated_on(choice.evaluation_set)
    if found is None or pairs is None:
        return None
    try:
        reading = choice.reading_of(found.folder)
        also = declared.outside(reading, found.folder)
    except StrataError as error:
        messages.trouble(error)
        return None
    key, title, make = _job(found, pairs, choice.settings, also)
    scores = cached.kept_scores(found, pairs, choice.settings, also)
    if scores is not None:
        jobs.forget(key)  # the job has a second reference to the scores and the pairs
    else:
        job = jobs.finished_job(key, title, make)
        if job is None:
            return None
        scores = job.result  # the store is read-only or was emptied
    return ModelScores(found, pairs, scores, reading)


def are_kept(choice: Choice) -> bool:
    """Whether the scores of a choice were measured before."""
    return cached.kept_scores(choice.found(), choice.evaluated(), choice.settings) is not None


def measure_ahead(choice: Choice) -> jobs.Job:
    """Begin to measure in the background what a choice will show."""
    return jobs.follow(*_job(choice.found(), choice.evaluated(), choice.settings, ()))


def _job(
    found: model_names.Found, pairs: ItemSet, settings: Settings, also: tuple[Reading, ...]
) -> tuple[str, str, jobs.Make]:
    # the folder too: an error of one folder must not be shown for another with the same content
    key = " ".join(map(str, (found.folder, judged(pairs).key(found, settings), *(one.title for one in also))))

    def make() -> Work[LayerScores]:
        return judged(pairs).measured(found, settings, loaded_encoders.encoder, also=also)

    return key, f"{found.name} on {pairs.name}", make
