"""Choose the corpus that is searched, with the judgements of a retrieval set."""

from dataclasses import dataclass

import streamlit as st

from explorer.data import corpora, retrieval_sets, sample, sources, text_sets
from explorer.data.graded import sets, sts
from explorer.data.set_items import ItemSet
from explorer.ui import messages
from explorer.ui.access import cached_texts, selection, set_choice, sidebar_choice
from explorer.ui.frame import sidebar
from explorer.ui.widgets import controls

# one sample sentence mentions a parrot, others ask for a price: the ranking depends on the encoder
DEFAULT = "How much is that parrot, if I may ask?"
PAIRS, MINE = sidebar.OF_SIDEBAR, "my sentences"
OF_SAMPLE = (sets.SAMPLE, sets.SetIdentity(sets.SetKind.OTHER, sample.SEARCH))
SOURCE = "corpus"
UPLOAD = "uploaded corpus"


@dataclass(frozen=True)
class SearchedCorpus:
    """What is searched, which set it is, and the judgements of a retrieval set."""

    identity: sets.SetIdentity
    sentences: text_sets.Sentences
    task: retrieval_sets.RetrievalSet | None = None

    @property
    def usual_query(self) -> str:
        """What is searched before a query is given: of any text but the sample, a query or a sentence of its own."""
        if self.identity in OF_SAMPLE:
            return DEFAULT
        return self.task.queries[0] if self.task else self.sentences.texts[0]


def source(line: st.delta_generator.DeltaGenerator) -> str:
    """What names the corpus, by default the visitor's sentences if any; the widgets are drawn into `line`."""
    first = [MINE, PAIRS] if selection.is_chosen(selection.SENTENCES) else [PAIRS, MINE]
    with line:
        chosen = controls.source_menu(
            "Search in",
            [*first, corpora.SAMPLE, sample.SEARCH, *set_choice.uploaded_sets(), *sts.menu()],
            SOURCE,
            width=360,
            help="The texts of the sidebar's evaluation set (of queries their passages), your sentences, the sample, "
            "another set, or a file: type its path on this machine and press Enter. Of a retrieval set, also as a "
            "folder or a file of queries and passages, the documents are searched. Vectors can be searched without "
            "being encoded again, and may be any number: the path of a folder of `embed --with-text`, of a .parquet "
            "file of sentences and vectors, or of a .npy with its .txt.",
        )
        controls.upload_to_keep(
            "Corpus (file)",
            UPLOAD,
            lambda path: st.session_state.update({SOURCE: path}),
            "The file is kept on this machine only.",
            "One sentence a line, or a table: all its columns of sentences are used. "
            "For more than 20 MB, type the file's path instead.",
            opened=True,
        )
    controls.refused()
    return chosen


def corpus(source: str, choice: sidebar_choice.Choice) -> SearchedCorpus | None:
    """The corpus of a text; None, with the error shown, if there is none."""
    found = _read(source, choice)
    if found is not None:
        st.caption(messages.plain(found.sentences.note))
        for dropped in found.sentences.dropped:
            st.warning(messages.plain(dropped), icon=":material/filter_alt:")
    return found


def _read(source: str, choice: sidebar_choice.Choice) -> SearchedCorpus | None:
    identity = sidebar.set_of(choice, source)
    if source == MINE:
        return SearchedCorpus(identity, corpora.of_texts(MINE, selection.sentences()))
    with set_choice.or_offered(*set_choice.published(identity)):
        if source == PAIRS:
            given = set_choice.evaluated_on(identity)
            return None if given is None else _of_set(identity, given)
        if (
            source in sources.RETRIEVAL_SETS
            or sources.is_folder(source)
            or set_choice.kind_of(source) == text_sets.PAIRS
        ):
            given = cached_texts.evaluated_on(identity)
            if isinstance(given, retrieval_sets.RetrievalSet):
                return _of_set(identity, given)
        return SearchedCorpus(identity, cached_texts.searched(sources.text(source)))
    return None


def _of_set(identity: sets.SetIdentity, given: ItemSet) -> SearchedCorpus:
    """The passages of queries, with the judgements; of any other set its texts."""
    if isinstance(given, retrieval_sets.RetrievalSet):
        return SearchedCorpus(identity, corpora.of_texts(given.name, given.documents), given)
    texts = [cell for cells in given.text_columns.values() for cell in cells]
    return SearchedCorpus(identity, corpora.of_texts(given.name, texts))
