"""Choose what the sizes of an encoder are measured on, and measure them in the background."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.data import corpora, sources, text_sets
from explorer.data.graded import sts
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.tasks.transfer import TASKS
from explorer.measuring.scores.measure import Settings
from explorer.progress import Progress, Work
from explorer.studies.size.points import Picture, SizeOptions
from explorer.ui.access import cached, jobs, sidebar_choice
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
class SizeRequest:
    """Everything that decides a picture: encoders, evaluation set, the text of projections, and the sizes."""

    found: Found
    given: Evaluated
    text: text_sets.Sentences
    options: SizeOptions
    others: tuple[Found, ...]
    max_length: int | None

    @property
    def key(self) -> str:
        """The key of the picture."""
        digests = (self.found.digest, self.given.digest, self.text.digest, *(one.digest for one in self.others))
        return f"sizes {' '.join(digests)} {self.options} {self.max_length}"

    @property
    def settings(self) -> Settings:
        """The precision that every page has unless another one is chosen."""
        return Settings(max_length=self.max_length)


def request(choice: sidebar_choice.Choice, found: Found) -> SizeRequest | None:
    """Draw the form, and read what it names; None, with the error shown, if the evaluation set is missing."""
    own = [*sidebar_choice.uploaded_sets(), *sidebar_choice.test_rows()]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        on: str = st.selectbox(
            "Score on",
            controls.with_uploads(sidebar.with_current([PAIRS, *own, *sources.NAMED_SETS, *TASKS, *sts.menu()], ON)),
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
            controls.with_uploads(sidebar.with_current([corpora.SAMPLE, *sts.menu()], TEXT)),
            format_func=sources.label,
            key=TEXT,
            bind="query-params",
            accept_new_options=True,
            width=300,
            help="Sentences like those that will be encoded. Those of the evaluation set are left out. More than there "
            "are dimensions are needed.",
        )
    knobs = SizeOptions.knobs
    with st.expander("Sizes", icon=":material/tune:"):
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
        options = SizeOptions(**controls.checked(typed, knobs))
    given = sidebar_choice.evaluated_on(choice.evaluation_set if on == PAIRS else sources.identity(on.strip()))
    sentences, with_these = cached.searched(text.strip()), tuple(map(cached.found, others))
    if given is None:
        return None
    return SizeRequest(found, given, sentences, options, with_these, choice.settings.max_length)


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
    return (yield from pictures.picture(encoders[0], subject.given, subject.text, subject.options, encoders[1:]))
