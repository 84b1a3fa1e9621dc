"""Measure the sizes of an encoder, and show their picture of size and quality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import in_words, progress
from explorer.data import corpora, sources, text_sets
from explorer.data.graded import sts
from explorer.data.graded.sets import SetIdentity
from explorer.data.set_items import ItemSet
from explorer.drawing.scores import curves
from explorer.drawing.scores.costs import size_quality
from explorer.encoding.export import onnx_packages
from explorer.encoding.load import declared
from explorer.encoding.load.hardware import MEASURED
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.kinds import shipped
from explorer.evaluating.tasks.transfer import TASKS
from explorer.measuring.scores.measure import Settings
from explorer.studies.size import duration, picture_store, size_report, size_verdict, static_folder
from explorer.studies.size import picture as pictures
from explorer.studies.size import points as size_points
from explorer.studies.size.points import COSTS, Picture, Point, ShownSizes, SizeOptions, SizeSubjects, front
from explorer.studies.size.static_encoder import StaticOptions
from explorer.training.record import run_results, runs
from explorer.ui import messages
from explorer.ui.access import cached, cached_texts, jobs, loaded_encoders, set_choice, sidebar_choice
from explorer.ui.frame import sidebar
from explorer.ui.size import distilling
from explorer.ui.widgets import controls, downloads, first_screen, job_buttons

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

FORM = "sizes"
TABLE = "Table"  # a tab
ON, TEXT, WAY, OTHERS = "score sizes on", "text of projections", "cut dimensions by", "other sizes"
STATIC, WORDS = "static encoder", "words of sizes"
START = "measure sizes"
ABOUT = (
    "Encodes the evaluation set and the text once for each format of weights, then scores every size and times the "
    "encoder after each layer."
)
TRYING, TAKES = "Measuring how long it takes …", "It takes about **{}**."
NOT_TRIED = "How long it takes is not known before: a classifier is fitted for every size."
CUT = "Cut after layer {}, {} × 100 on {} goes {} ({}). Which size is as good as the whole model?"
MOST_HEIGHT, PRESENTED, WIDTH_OF_TEXTS = 400, 310, 175  # pixels of the figure, and of menus
DIFFERENCE = "difference", "95 % CI, low", "95 % CI, high"  # columns
COST, FIGURE, CHOSEN, ONLY_FRONT = "cost", "size and quality", "_chosen size", "only the front"


@dataclass(frozen=True)
class SizeRequest:
    """Everything that decides a picture: encoders, evaluation set, the text of projections, and the sizes."""

    found: Found
    given: ItemSet
    named: SetIdentity  # of the evaluation set
    text: text_sets.Sentences
    options: SizeOptions
    words: text_sets.Sentences | None  # whose tokens a cut vocabulary has
    others: tuple[Found, ...]
    max_length: int | None
    static: bool = False  # whether the static encoder of the first one is made, too

    @property
    def key(self) -> str:
        """The key of the picture."""
        words = self.words.digest if self.words else ""
        digests = (self.found.digest, self.given.digest, self.text.digest, words, *(one.digest for one in self.others))
        return f"sizes {' '.join(digests)} {self.options} {self.max_length}{' static' * self.static}"

    @property
    def stored_as(self) -> str:
        """The key of the picture on this disk, which shows these names."""
        names = run_results.names_of((self.found, *self.others))
        words = self.words.name if self.words else ""
        return picture_store.key_of(self.key, (*names, self.given.name, self.text.name, words))

    @property
    def settings(self) -> Settings:
        """The precision that every page has unless another one is chosen."""
        return Settings(max_length=self.max_length)


def request(choice: sidebar_choice.Choice, model: Found, row: DeltaGenerator) -> SizeRequest | None:
    """Draw the form into the row, and read what it names; None if the evaluation set is missing, which is shown."""
    own = [*set_choice.uploaded_sets(), *set_choice.test_rows()]
    with row:
        on = controls.source_menu(
            "Score on",
            [sidebar.OF_SIDEBAR, *own, *shipped(), *TASKS, *sts.menu()],
            ON,
            width=WIDTH_OF_TEXTS,
            help="The sidebar's evaluation set, a retrieval set, triplets, or labelled texts such as TREC (logistic "
            "regression on the vectors). Or type the path of a file or folder and press Enter.",
        )
        text = controls.source_menu(
            "Fit PCA and int8 on",
            [corpora.SAMPLE, *sts.menu()],
            TEXT,
            width=WIDTH_OF_TEXTS,
            help="Sentences like those that will be encoded. Those of the evaluation set are left out. More than there "
            "are dimensions are needed.",
        )
        weights = _weights()
    with row, first_screen.settings("Sizes"):
        typed = _typed_sizes() | {"weights": weights}
        distilling.join_runs(model, OTHERS)
        others = controls.draw(
            "",
            replace(SizeSubjects.knobs["others"], title="Other encoders in the same picture"),
            key=OTHERS,
            offered=sidebar.encoders(),
            format_func=runs.shown,
            select_all=False,
            help="Under their model default. Runs that trained a smaller encoder of this model are here by themselves.",
        )
        static = controls.draw("", SizeSubjects.knobs["static"], key=STATIC)
        options = SizeOptions(**controls.checked(typed, SizeOptions.knobs))
    named = sidebar.set_of(choice, on)
    given = set_choice.evaluated_on(named)
    sentences, with_these = cached_texts.searched(sources.text(text)), tuple(map(cached.found, others))
    if given is None:
        return None
    words = cached_texts.searched(options.words) if options.words else None
    return SizeRequest(model, given, named, sentences, options, words, with_these, choice.settings.max_length, static)


def _weights() -> list[str]:
    """The field of the formats of weights, or without the packages that write them, why there are none."""
    knob, why = SizeOptions.knobs["weights"], onnx_packages.why_missing()
    knob = replace(knob, choices=MEASURED if why else knob.choices, default=MEASURED[:1])
    chosen: list[str] = controls.draw(FORM, knob, help=f"{knob.help} {why}".strip(), width=220)
    return chosen


def text_source() -> str:
    """The text that projections are fitted on, as its field names it."""
    chosen: str = st.session_state.get(TEXT) or corpora.SAMPLE
    return chosen


def _typed_sizes() -> dict[str, Any]:
    knobs = SizeOptions.knobs
    typed = {
        "poolings": controls.draw(FORM, replace(knobs["poolings"], default=(MODEL_DEFAULT, "mean"))),
        "dimensions": controls.draw(FORM, knobs["dimensions"], width="stretch"),
        "cut_by": controls.segments_of(knobs["cut_by"], WAY),
        "stored": controls.draw(FORM, knobs["stored"]),
    }
    about = knobs["words"]
    texts = [about.empty, corpora.SAMPLE, *sts.menu()]
    words = controls.source_menu(about.title, texts, WORDS, width=WIDTH_OF_TEXTS, help=about.help)
    return typed | {"words": None if words == about.empty else sources.text(words)}


def picture(subject: SizeRequest, line: DeltaGenerator) -> Picture | None:
    """The picture; None until it is measured, with a button in the line that starts it, or with the progress."""
    known: Picture | None = jobs.known(subject.key) or picture_store.kept(subject.stored_as)
    if known is not None:
        return known
    title = f"Measuring sizes of {subject.found.name} on {subject.given.name}"

    def begin() -> None:
        if (trial := jobs.find(_trial_key(subject))) is not None:
            trial.stop()  # the measurement does not wait for its estimate
        jobs.follow(subject.key, title, partial(_measured, subject))

    job = job_buttons.button(
        line, "Measure sizes", subject.key, begin, key=START, type="primary", icon=":material/play_arrow:", help=ABOUT
    )
    return None if job is None else jobs.result(subject.key, title, partial(_measured, subject))


def how_long(subject: SizeRequest) -> None:
    """What the measurement would take, once some of it has been tried in the background; last, after the figure."""
    if jobs.find(subject.key) is not None:
        return
    job = jobs.follow(_trial_key(subject), f"trying sizes of {subject.found.name}", lambda: _tried(subject))
    if jobs.has_ended(job, TRYING) and job.state == jobs.DONE:  # of a failed one the start shows the error
        st.markdown(NOT_TRIED if job.result is None else TAKES.format(in_words.duration(job.result)))


def _trial_key(subject: SizeRequest) -> str:
    return f"seconds of {subject.key}"


def by_layer(choice: sidebar_choice.Choice, subject: SizeRequest, answer: DeltaGenerator) -> None:
    """Until the sizes are measured: the score by layer, and in `answer` what a cut below the last layer would lose."""
    scored = sidebar_choice.scored(replace(choice, evaluation_set=subject.named))
    if scored is None:
        return
    scores, metric = scored.scores, scored.scores.metrics[0]
    own, below = scores.own_score(metric), scores.last - 1
    whole = scores.score(declared.default_cell(scored.found.folder), metric) if own is None else own
    cells = [one for one in scores.grid if one.row.layers == (below,)]
    known = {one: score for one in cells if not math.isnan(score := scores.score(one, metric))}
    if known and not math.isnan(whole):
        best = max(known, key=lambda one: known[one])
        numbers = in_words.arrow(whole, known[best])
        answer.markdown(CUT.format(below, metric, messages.plain(scored.pairs.name), numbers, best.title))
    downloads.draw(
        curves.score_by_layer(scores, metric, "all", scored.reading),
        height=MOST_HEIGHT,
        presented=PRESENTED,
        config=downloads.config("by-layer"),
        alt="The score of every layer, under each pooling. The Layers page has the numbers.",
    )


def models_of(subject: SizeRequest) -> progress.Work[list[Found]]:
    """Every encoder of the picture, with the static one that is made for it."""
    made = [(yield from static_folder.stored(subject.found, StaticOptions()))] if subject.static else []
    return [subject.found, *subject.others, *made]


def loaded(subject: SizeRequest, models: Sequence[Found]) -> progress.Work[list[Encoder]]:
    """These encoders with the maximum length of the picture."""
    encoders = []
    for found in models:
        yield progress.Progress(f"loading {found.name}", 0, 0)
        encoders.append(pictures.limited(loaded_encoders.encoder(found, subject.settings), subject.max_length))
    return encoders


def _tried(subject: SizeRequest) -> progress.Work[float | None]:
    first, *others = yield from loaded(subject, (yield from models_of(subject)))
    return (yield from duration.seconds_of(first, subject.given, subject.text, subject.options, others, subject.words))


def _measured(subject: SizeRequest) -> progress.Work[Picture]:
    models = yield from models_of(subject)
    first, *others = yield from loaded(subject, models)
    about = subject.given, subject.text, subject.options, others
    measured = yield from pictures.picture(first, *about, run_results.names_of(models), subject.words)
    picture_store.keep(subject.stored_as, measured)
    return measured


def headline(picture: Picture) -> None:
    """The verdict in a coloured box."""
    messages.verdict(*size_verdict.verdict(picture), icon=":material/compress:")


def chosen_cost() -> str:
    """The menu of costs."""
    cost: str = controls.menu(
        "Cost", list(COSTS), default=next(iter(COSTS)), key=COST, width=165, help=size_report.HOLLOW
    )
    return cost


def show(picture: Picture, cost: str) -> None:
    """The figure of size and quality."""
    downloads.draw(
        size_quality(size_report.marks(picture, cost, chosen(picture)), picture.whole.score, cost, picture.measure),
        presented=PRESENTED,
        key=FIGURE,
        on_select=partial(_choose, picture),
        selection_mode="points",
        config=downloads.config("sizes"),
        alt=f"{picture.measure} of every size against {cost}. The table below has the same numbers.",
    )
    st.caption("Click a mark to choose its layer & pooling for every page, and its size for the export.")


def table(picture: Picture) -> None:
    """The sizes as a table, and how they were measured."""
    st.caption(messages.plain(size_points.text_of(picture)))
    best = set(front(picture.points, tuple(COSTS)))
    only = controls.draw("", ShownSizes.knobs["only_front"], key=ONLY_FRONT, persist_state=None)
    rows = [_row(picture, point) for point in picture.points if point in best or not only]
    downloads.table(rows, lines=12, signed=DIFFERENCE)
    made = partial(size_points.as_text, picture, "csv")
    with st.container(horizontal=True):
        downloads.file("Table (CSV)", made, "sizes.csv", "text/csv", icon=":material/table:", key="sizes as csv")
        page = partial(size_report.report, picture)
        downloads.file(
            "Report (HTML)", page, "sizes.html", "text/html", icon=":material/description:", key="sizes as html"
        )


def chosen(picture: Picture) -> Point:
    """The point that was clicked; else the one with the smallest vectors among those as good as the whole model."""
    title = st.session_state.get(CHOSEN)
    named = (point for point in picture.points if picture.named(point) == title)
    return next(named, size_verdict.smallest_vectors(picture) or picture.whole)


def _choose(picture: Picture) -> None:
    points = st.session_state[FIGURE]["selection"]["points"]
    clicked = [int(point["customdata"]) for point in points if point.get("customdata") is not None]
    if not clicked:
        return
    point = picture.points[clicked[0]]
    st.session_state[CHOSEN] = picture.named(point)
    if point.model == picture.whole.model:
        sidebar.choose_reading(point.size.cell)


def _row(picture: Picture, point: Point) -> dict[str, object]:
    verdict = point.verdict
    numbers = (point.score, verdict.shown_difference, verdict.low, verdict.high)
    score, difference, low, high = (in_words.rounded(number, 2) for number in numbers)
    what: dict[str, object] = {**size_points.described(picture, point), "dimensions": point.size.dimensions}
    return {
        **{name: value for name, value in what.items() if name != "model" or len(picture.models) > 1},
        "score": score,
        **dict(zip(DIFFERENCE, (difference, low, high), strict=True)),
        **{name: in_words.rounded(cost(point), 2) for name, cost in COSTS.items()},
        **({size_points.MEMORY: point.memory_bytes} if picture.has_memory else {}),
    }
