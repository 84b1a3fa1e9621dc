"""The folded settings of an evaluation: text, classifier, seeds, index, prompts, layers & poolings, maximum length."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from explorer.data.graded import sts
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.results import task_labels
from explorer.evaluating.results.scored_task import LOGISTIC, Options
from explorer.evaluating.tasks import ALL, transfer
from explorer.measuring.neighbours.batch_search import INDEXES
from explorer.measuring.neighbours.index_setting import FLAT, IVF

SEEDS, LENGTH, AGAIN = "seeds of the classifier", "maximum length of texts", "measure again"
TEXT, PROBE, INDEX, TITLES = "text of STS sets", "classifier", "search index", "layers & poolings to score"
QUERY, DOCUMENT = "prompt of queries", "prompt of documents"
KEYS = (TEXT, PROBE, SEEDS, INDEX, TITLES, LENGTH, AGAIN, QUERY, DOCUMENT)  # in the order of `Written`
INDEX_NAMES = {FLAT: "flat (exact)", IVF: "IVF (inverted file)"}
USUAL, DEFAULT, EVERY = "usual", MODEL_DEFAULT, ALL
TITLE_NAMES = {USUAL: "automatic", DEFAULT: "the model default only", EVERY: "all"}
SHORTEST = 3  # tokens: [CLS], a word, [SEP]


@dataclass(frozen=True)
class Written:
    """The settings as they are in the fields; the seeds are read when the evaluation starts."""

    text: str
    probe: str
    seeds: str
    index: str
    titles: str
    max_length: int | None
    again: bool
    query: str | None
    document: str | None

    def options(self) -> Options:
        """The same as options of an evaluation; an error if the seeds are none."""
        seeds = transfer.seeds_in(self.seeds)
        transfer.check_choice(self.probe, seeds)
        titles = () if self.titles == USUAL else (self.titles,)
        prompts = self.query, self.document
        return Options(self.text, self.probe, seeds, self.index, titles, prompts, again=self.again)


def written() -> Written:
    """What the fields say; in a callback too, where it is newer than what was drawn."""
    text, probe, seeds, index, titles, length, again, *prompts = (st.session_state.get(key) for key in KEYS)
    first = (text or sts.RAW), (probe or LOGISTIC), str(seeds or "").strip(), (index or FLAT)
    return Written(*first, titles or USUAL, length, bool(again), *(prompt or None for prompt in prompts))


def draw() -> None:
    """The fields."""
    with st.expander("Settings", icon=":material/tune:"):
        _radio(
            "Text of STS sets",
            tuple(task_labels.TEXTS),
            TEXT,
            "raw: the text as published. SentEval's: split into words and lower-cased, as in SentEval's files "
            "(`STS12/test_senteval.tsv`).",
            task_labels.TEXTS,
        )
        _radio(
            "Classifier of transfer tasks",
            tuple(transfer.PROBES),
            PROBE,
            "Trained on fixed vectors. SentEval's MLP is that of papers and takes minutes for each layer & pooling.",
            task_labels.PROBES,
        )
        st.text_input(
            "Seeds of the classifier",
            "1",
            key=SEEDS,
            persist_state="session",
            width=320,
            help="Whole numbers with commas between them, such as 1,2,3. The score is the mean over them.",
        )
        _radio(
            "Search index",
            INDEXES,
            INDEX,
            "flat compares a query with every document. IVF looks in the nearest lists only: faster, less exact.",
            INDEX_NAMES,
        )
        for label, key in (("Prompt of queries", QUERY), ("Prompt of documents", DOCUMENT)):
            st.text_input(
                label,
                value=None,
                key=key,
                persist_state="session",
                width=320,
                placeholder="as the model declares",
                help="Put before every text of this role in a retrieval set, such as 'query: '. Empty: what the model "
                "declares in config_sentence_transformers.json, as encode_query and encode_document add it.",
            )
        st.selectbox(
            "Layers & poolings of transfer, search and retrieval",
            TITLE_NAMES,
            format_func=lambda title: TITLE_NAMES.get(title, title),
            key=TITLES,
            accept_new_options=True,
            persist_state="session",
            width=320,
            help="automatic: all, but with SentEval's MLP the model default only. Fewer take less time. On scored "
            "pairs the whole grid is always scored. One layer & pooling can be typed, such as 'last of layer 3' or "
            "'mean of layers 4-6'.",
        )
        st.number_input(
            "Maximum length, in tokens",
            min_value=SHORTEST,
            value=None,
            key=LENGTH,
            persist_state="session",
            width=320,
            placeholder="the model's limit; 64 for search",
            help="3 or more. Longer texts are cut.",
        )
        st.toggle(
            "Measure saved results again",
            key=AGAIN,
            persist_state="session",
            help="Off: a saved result of the same model, data and settings is not measured again.",
        )


def _radio(label: str, options: tuple[str, ...], key: str, help: str, names: dict[str, str] | None = None) -> None:
    st.radio(
        label,
        options,
        format_func=lambda one: (names or {}).get(one, one),
        key=key,
        persist_state="session",
        horizontal=True,
        help=help,
    )
