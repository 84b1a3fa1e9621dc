"""The visitor's choice in the sidebar, checked and scored: evaluation set, model A and B, layer & pooling, settings.

What is not available, a model, a set or a file, stops the page with the reason and the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from explorer import in_words
from explorer.data import sources
from explorer.data.graded import sets
from explorer.data.set_items import ItemSet
from explorer.data.text_sets import GradedPairs
from explorer.data.vectors import opening
from explorer.encoding.load import chosen_prompts, declared
from explorer.encoding.locate import lookup, model_names
from explorer.encoding.read.pooling import OWN, POOLINGS, Reading
from explorer.errors import BadChoice, HubUnreachable, StrataError, VectorsUnread
from explorer.evaluating.kinds import judged
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Settings
from explorer.progress import Progress, Work
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import cached, cached_texts, jobs, loaded_encoders
from explorer.ui.access.set_choice import FETCH, evaluated_on, offer

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder
    from explorer.measuring.sentences.layer_cosines import LayerCosines, RandomCosines

MODEL_B = "Compare with: model B"  # the label of its field
ASK_FOR_B = f"To compare two models, choose the second in the sidebar under **{MODEL_B}**."
ASK_HUB = "Ask the hub for the size and the licence of {}"
ON_HUB = "{} on the hub: {} in {} files to download, {}."
_CHOSEN, _MODEL_B = "_choice", "_model_b"


@dataclass(frozen=True)
class Choice:
    """An encoder, an evaluation set, the measurement settings, the title of the layer & pooling, and a prompt."""

    source: str
    evaluation_set: sets.SetIdentity
    reading: str | None
    settings: Settings
    prompt: str | None = None  # by its name or its text, in place of the model's own

    def found(self) -> model_names.Found:
        """The encoder's folder, as it is read after the prompt."""
        return chosen_prompts.after(cached.found(self.source), self.prompt)

    def evaluated(self) -> ItemSet:
        """The evaluation set, of any kind."""
        return cached_texts.evaluated_on(self.evaluation_set)

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
        described = declared.described(self.reading, self.found.folder) + chosen_prompts.in_words(self.found)
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


def readers(choice: Choice, choice_b: Choice | None) -> tuple[Reader, ...]:
    """A, and B if there is one; empty without A. Errors of either are shown."""
    sides: list[Reader] = []
    for name, its in (("A", choice), ("B", choice_b)):
        found = encoder(its.source, its.prompt) if its else None
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


def encoder(source: str, prompt: str | None = None) -> model_names.Found | None:
    """The encoder, after a prompt; None, with the error and a fetch button, if it is not on this disk."""
    try:
        return chosen_prompts.after(cached.found(source), prompt)
    except HubUnreachable as error:
        messages.trouble(error)
        _offer_download(source)
    except VectorsUnread:
        key = f"reading {source} {opening.stamps(source)}"
        if jobs.finished_job(key, f"Vectors of {sources.shown(source)}", lambda: model_names.fetch(source)):
            st.rerun()  # the sidebar lists their layer & pooling
    except StrataError as error:
        messages.trouble(error)
    return None


def _offer_download(source: str) -> None:
    """Buttons that ask the hub about a model and that download it; without a click neither is done."""
    asked = jobs.find(ASK_HUB.format(source))
    if asked is None or asked.state != jobs.DONE:
        offer(ASK_HUB.format(source), lambda: model_names.ask_hub(source), icon=":material/travel_explore:")
    else:
        found: model_names.OnHub = asked.result
        size = in_words.size(sum(found.files.values()))
        st.caption(messages.plain(ON_HUB.format(source, size, len(found.files), found.licence or "no licence")))
    offer(FETCH.format(source), lambda: model_names.fetch(source))


def loaded(model: model_names.Found, settings: Settings) -> Encoder | None:
    """The encoder in memory; None, with progress or the error shown, until it is loaded in the background."""
    return _loaded(f"{settings.precision} {settings.device}", model, lambda: loaded_encoders.encoder(model, settings))


def attending(model: model_names.Found) -> Encoder | None:
    """The model as it returns attention weights, with the weights that are in memory."""
    return _loaded("eager", model, lambda: loaded_encoders.attending(model))


def _loaded(how: str, model: model_names.Found, load: Callable[[], Encoder]) -> Encoder | None:
    def loading() -> Work[None]:
        yield Progress("loading weights", 0, 0)
        load()

    key = f"loading {how} {model.folder} {model.digest}"
    if jobs.finished_job(key, f"Loading {model.name}", loading, jobs.LOADING) is None:
        return None
    with messages.errors_shown(), st.spinner(messages.plain(f"Loading {model.name} …")):  # only if it was evicted
        return load()
    return None


def scored(choice: Choice) -> ModelScores | None:
    """The scores of the choice; None, with an error, a fetch button or progress shown, until they are measured."""
    found, pairs = encoder(choice.source, choice.prompt), evaluated_on(choice.evaluation_set)
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
    model: model_names.Found, pairs: ItemSet, settings: Settings, also: tuple[Reading, ...]
) -> tuple[str, str, jobs.Make]:
    # the folder too: an error of one folder must not be shown for another with the same content
    key = " ".join(map(str, (model.folder, judged(pairs).key(model, settings), *(one.title for one in also))))

    def make() -> Work[LayerScores]:
        return judged(pairs).measured(model, settings, loaded_encoders.encoder, also=also)

    return key, f"{model.name} on {pairs.name}", make
