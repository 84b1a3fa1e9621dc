"""Measure the sizes of an encoder in the background, once they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.data.kinds import Sentences
from explorer.encoding.locate.model_names import Found
from explorer.measuring.scores.measure import Settings
from explorer.progress import Progress, Work
from explorer.studies.size.points import Picture
from explorer.ui.access import cached, job_results, jobs
from explorer.ui.size.size_form import SizeChoice
from explorer.ui.widgets import late_clicks

if TYPE_CHECKING:
    from explorer.evaluating.tasks.judges import Evaluated

STARTED, START = "_sizes started", "measure sizes"
ABOUT = (
    "Encodes the evaluation set and the text once, then scores every size and times the encoder after each layer. A "
    "minute or two for 3,000 sentences on two cores."
)


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
        return f"sizes {' '.join(digests)} {self.asked.wanted} {self.max_length}"

    @property
    def settings(self) -> Settings:
        """The precision that every page has unless another one is chosen."""
        return Settings(max_length=self.max_length)


def picture(subject: SizeRequest) -> Picture | None:
    """The picture; None, with a button to start or the progress, until it is measured."""
    started: set[str] = st.session_state.setdefault(STARTED, set())
    known: Picture | None = job_results.known(subject.key)
    if known is not None:
        return known
    if subject.key not in started and jobs.find(subject.key) is None:  # another tab may have asked for it
        late_clicks.button(
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
    found: Picture | None = job_results.made(subject.key, title, lambda: _measured(subject))
    return found


def _measured(subject: SizeRequest) -> Work[Picture]:
    from explorer.studies.size import picture as pictures

    encoders = []
    for found in (subject.found, *subject.others):
        yield Progress(f"loading {found.name}", 0, 0)
        encoders.append(pictures.limited(cached.encoder(found, subject.settings), subject.max_length))
    return (yield from pictures.picture(encoders[0], subject.given, subject.text, subject.asked.wanted, encoders[1:]))
