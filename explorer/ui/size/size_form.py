"""Choose what the sizes of an encoder are measured on, and measure them in the background."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.data import sources
from explorer.data.corpora import SAMPLE
from explorer.data.graded import sts
from explorer.data.graded.sets import SetIdentity
from explorer.data.sources import NAMED_SETS
from explorer.data.text_sets import Sentences
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.tasks.transfer import TASKS
from explorer.measuring.scores.measure import Settings
from explorer.progress import Progress, Work
from explorer.studies.size.points import Picture, SizeOptions
from explorer.ui.access import cached, jobs, sidebar_choice
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.frame import sidebar
from explorer.ui.widgets import controls

if TYPE_CHECKING:
    from explorer.evaluating.tasks.judges import Evaluated

PAIRS = "the evaluation set"
FORM = "sizes"
ON, TEXT, WAY, OTHERS = "score sizes on", "text of projections", "cut dimensions by", "other sizes"
STARTED, START = "_sizes started", "measure sizes"
ABOUT = (
    "Encodes the evaluation set and the text once, then scores every size and times the encoder after each layer. A "
    "minute or two for 3,000 sentences on two cores."
)


@dataclass(frozen=True)
class SizeChoice:
    """What is to be measured: names of the evaluation set, of the text and of other encoders, and the sizes."""

    on: SetIdentity
    text: str
    options: SizeOptions
    others: tuple[str, ...]


def asked(choice: Choice) -> SizeChoice:
    """The form; an error if the dimensions are no numbers."""
    own = [*sidebar_choice.uploaded_sets(), *sidebar_choice.test_rows()]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        on: str = st.selectbox(
            "Score on",
            controls.with_uploads(sidebar.with_current([PAIRS, *own, *NAMED_SETS, *TASKS, *sts.menu()], ON)),
            format_func=sources.label,
            key=ON,
            bind="query-params",
            accept_new_options=True,
            width=300,
            help="The sidebar's evaluation set, a retrieval set, triplets, or labelled texts such as TREC (logistic "
            "regression on the vectors). Or type the path of a file or folder and press Enter.",
        )
        text: str = st.selectbox(
            "Fit PCA and int8 on",
            controls.with_uploads(sidebar.with_current([SAMPLE, *sts.menu()], TEXT)),
            format_func=sources.label,
            key=TEXT,
            bind="query-params",
            accept_new_options=True,
            width=300,
            help="Sentences like those that will be encoded. Those of the evaluation set are left out. More than there "
            "are dimensions are needed.",
        )
    with st.expander("Sizes", icon=":material/tune:"):
        options, others = _sizes()
    return SizeChoice(
        choice.evaluation_set if on == PAIRS else sources.identity(on.strip()), text.strip(), options, others
    )


def _sizes() -> tuple[SizeOptions, tuple[str, ...]]:
    knobs = SizeOptions.knobs
    typed = {
        "poolings": controls.draw(FORM, replace(knobs["poolings"], default=(MODEL_DEFAULT, "mean"))),
        "dimensions": controls.draw(FORM, knobs["dimensions"], width="stretch"),
        "cut_by": controls.segments_of(knobs["cut_by"], WAY),
        "stored": controls.draw(FORM, knobs["stored"]),
    }
    others = st.multiselect(
        "Other encoders in the same picture",
        sidebar.encoders(),
        key=OTHERS,
        persist_state="session",
        select_all=False,
        accept_new_options=True,
        help="Such as runs of the method distil, under their model default.",
    )
    return SizeOptions(**controls.checked(typed, knobs)), tuple(others)


@dataclass(frozen=True)
class SizeRequest:
    """Everything that decides a picture."""

    found: Found
    given: Evaluated
    text: Sentences
    asked: SizeChoice
    others: tuple[Found, ...]
    max_length: int | None

    @property
    def key(self) -> str:
        """The key of the picture."""
        digests = (self.found.digest, self.given.digest, self.text.digest, *(one.digest for one in self.others))
        return f"sizes {' '.join(digests)} {self.asked.options} {self.max_length}"

    @property
    def settings(self) -> Settings:
        """The precision that every page has unless another one is chosen."""
        return Settings(max_length=self.max_length)


def picture(subject: SizeRequest) -> Picture | None:
    """The picture; None, with a button to start or the progress, until it is measured."""
    started: set[str] = st.session_state.setdefault(STARTED, set())
    known: Picture | None = jobs.known(subject.key)
    if known is not None:
        return known
    if subject.key not in started and jobs.find(subject.key) is None:  # another tab may have asked for it
        controls.button(
            st.container(),
            "Measure sizes",
            partial(started.add, subject.key),
            key=START,
            type="primary",
            icon=":material/play_arrow:",
            help=ABOUT,
        )
        return None
    title = f"Measuring sizes of {subject.found.name} on {subject.given.name}"
    found: Picture | None = jobs.result(subject.key, title, lambda: _measured(subject))
    return found


def _measured(subject: SizeRequest) -> Work[Picture]:
    from explorer.studies.size import picture as pictures

    encoders = []
    for found in (subject.found, *subject.others):
        yield Progress(f"loading {found.name}", 0, 0)
        encoders.append(pictures.limited(cached.encoder(found, subject.settings), subject.max_length))
    return (yield from pictures.picture(encoders[0], subject.given, subject.text, subject.asked.options, encoders[1:]))
