"""Draw the controls of the sidebar, bound to the address, and make one frozen Choice of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitAPIException

from explorer import run_folder
from explorer.data import sources
from explorer.data.graded import sets
from explorer.data.graded.set_identity import SetIdentity
from explorer.encoding.load import declared
from explorer.encoding.load.hardware import MEASURED
from explorer.encoding.locate import bundled, hub, layout, model_names
from explorer.encoding.read.readings import Reading, parse
from explorer.errors import BadChoice, StrataError
from explorer.knobs import whole_in
from explorer.measuring.scores.measure import Settings
from explorer.ui import messages
from explorer.ui.access import cached, evaluation_sets
from explorer.ui.access.sidebar_choice import Choice, titles
from explorer.ui.widgets import picture_format

ANOTHER = "another encoder"
FOLDED = "Other models and settings"
TYPED = (
    "Layers & poolings outside of the grid can be typed: cls, mean, max, last, weighted mean or sqrt mean, of one "
    "layer (`last of layer 3`), of two (`mean of layers 2 + 5`) or of a range (`mean of layers 4-6`)."
)
KEPT = ("reading", "sts", "beside", "beside_reading", "precision", "max_length")  # keys of the controls
OFFERED = 5  # models in a folder that is none itself
LOAD = "Load {}"
SHORTEST = 3  # tokens: [CLS], a word, [SEP]
WIDEST = 26  # characters that a field of the sidebar has room for
_CHOICE, _HIDDEN = "_choice", "_controls hidden"


def draw(*, scores: bool) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Draw the controls that pages share, and remember their values as `sidebar_choice.chosen`.

    A page that scores nothing shows the model alone; the other values stay as they are. Gives the places for model B
    and for the run under way, both above what is used less often.
    """
    first, second, job = st.container(), st.container(), st.container()
    if scores:
        _into_address()
    else:
        _out_of_address()
    with first:
        source = _model()
        reading = _reading_control(source) if scores else _value("reading", None)
    pairs = _evaluation_set() if scores else _value("sts", sources.written(sets.SAMPLE))
    with st.expander(FOLDED, icon=":material/tune:"):
        _another_model()
        settings = _measurement_settings() if scores else _settings_as_they_are()
        picture_format.control()
    st.session_state[_CHOICE] = Choice(source, sources.identity(pairs), reading, settings)
    return second, job


def _into_address() -> None:
    """Write the values into the address again that another page has set or not shown."""
    if not st.session_state.pop(_HIDDEN, False):
        return
    for key in KEPT:
        value = st.session_state.get(key)
        if value is not None and key not in st.query_params:
            with suppress(StreamlitAPIException):  # still bound: Streamlit does the same itself
                st.query_params[key] = str(value)


def _out_of_address() -> None:
    """Keep what a link says for the controls that this page does not show."""
    st.session_state[_HIDDEN] = True
    for key in KEPT:
        if key in st.query_params and key not in st.session_state:
            said = st.query_params[key]
            if key != "max_length":
                st.session_state[key] = said
            elif (number := whole_in(said)) is not None and SHORTEST <= number < 10**9:  # the only number among them
                st.session_state[key] = number


def _value(key: str, default: Any) -> Any:
    """What a control says that is not drawn; Streamlit keeps the value of a bound widget."""
    return st.session_state.get(key, default)


def _settings_as_they_are() -> Settings:
    length = _value("max_length", None)
    precision = _value("precision", MEASURED[0])
    known = precision if precision in MEASURED else MEASURED[0]
    return Settings(known, "auto", length if isinstance(length, int) else None)


def _model() -> str:
    source: str = st.selectbox(
        "Model A",
        with_current(encoders(), "model"),
        key="model",
        bind="query-params",
        help=f"Models on this disk. To load another one, open **{FOLDED}** below.",
    )
    tell_whole(source)
    offer_inside(source, "A", choose_encoder)
    return source


def offer_inside(source: str, side: str, choose: Callable[[str], None]) -> None:
    """Offer the models one level below a folder that is none itself as A or B, each by one click."""
    for folder in model_names.inside(source)[:OFFERED]:
        st.button(
            LOAD.format(messages.plain(folder.name)),
            key=f"load {folder} as {side}",
            icon=":material/folder_open:",
            on_click=choose,
            args=(str(folder),),
        )


def _another_model() -> None:
    st.text_input(
        "Another model",
        key=ANOTHER,
        on_change=_choose_another,
        placeholder="hub id or folder",
        help="A hub id (`org/name` or `org/name@revision`), its link, or a folder as saved by transformers, "
        "sentence-transformers or SimCSE. Nothing is downloaded before you confirm it.",
    )


def _evaluation_set() -> str:
    pairs: str = st.selectbox(
        "Evaluation set",
        with_current(evaluation_sets.names(), "sts"),
        key="sts",
        bind="query-params",
        help="What models are scored on: sentence pairs with human scores, queries with their passages, triplets, or "
        "texts with labels. Files that you upload on any page are in this list, and so are the test rows of your runs.",
    )
    tell_whole(pairs)
    return pairs


def _measurement_settings() -> Settings:
    precision = st.radio(
        "Precision",
        MEASURED,
        key="precision",
        bind="query-params",
        horizontal=True,
        help="float32 gives the same number on every page and machine. bfloat16 is up to twice as fast where the "
        "processor or GPU computes in it, and changes scores by up to 0.2.",
    )
    max_length = st.number_input(
        "Maximum length, in tokens",
        min_value=SHORTEST,
        value=None,
        key="max_length",
        bind="query-params",
        placeholder="the model's limit",
        help="3 or more. Longer sentences are cut, and counted.",
    )
    return Settings(precision, "auto", max_length)


def choose_reading(reading: Reading) -> None:
    """Set the layer & pooling of every page; only before the sidebar is drawn (in a callback)."""
    st.session_state["reading"] = reading.title


def choose_encoder(name: str) -> None:
    """Make an encoder the one of every page; only in a callback."""
    st.session_state["model"] = name


def choose_set(given: SetIdentity) -> None:
    """Make a set the one of every page; only in a callback."""
    st.session_state["sts"] = sources.written(given)


def encoders() -> list[str]:
    """Encoders on this disk: the bundled one, the models of runs, then what the hub's cache holds."""
    return [bundled.NAME, *run_folder.models(), *hub.on_disk()]


def _choose_another() -> None:
    typed = st.session_state[ANOTHER].strip()
    if typed:
        choose_encoder(typed)
        st.session_state[ANOTHER] = ""


def _reading_control(source: str) -> str | None:
    """Choose layer & pooling by keyboard; without a loadable encoder there is none to choose from."""
    try:
        folder = cached.found(source).folder
        known = titles(folder)
    except StrataError:
        return None  # the page says what is wrong with the encoder, at length
    title = layer_and_pooling(
        "Layer & pooling",
        known,
        folder,
        "reading",
        "How a sentence becomes one vector, on every page. **model default** is the pooling that the model itself "
        "declares (in modules.json): what you get from `SentenceTransformer(model).encode`. A model that declares none "
        "is pooled by the mean of its last layer, as sentence-transformers does. You can also click a cell of the grid "
        f"on the Layers page. {TYPED}",
    )
    tell_default(title, folder)
    return title


def layer_and_pooling(label: str, options: list[str], folder: Path, key: str, help: str) -> str:
    """Choose one of the options, or type a layer & pooling outside of the grid.

    One that the model lacks stays, to be mended; the first option is used meanwhile.
    """
    written: str = st.selectbox(
        label, with_current(options, key), key=key, bind="query-params", accept_new_options=True, help=help
    )
    if written in options:
        return written
    try:
        title = parse(written.strip(), layout.last_layer(folder)).title
    except BadChoice as error:
        st.warning(messages.plain(f"{error} Until then '{options[0]}' is used."), icon=":material/block:")
        return options[0]
    if title != written:
        st.caption(messages.plain(title))
    return title


def tell_whole(name: str) -> None:
    """Write a name below its field if the field has no room for it."""
    if len(name) > WIDEST:
        st.caption(messages.plain(name))


def tell_default(title: str | None, folder: Path) -> None:
    """Say which pooling the model default is, where that is what a title means in a model."""
    default = declared.default(folder)
    if declared.named(title, folder) == default:
        st.caption(messages.plain(declared.described(default, folder)))


def with_current(options: list[str], key: str) -> list[str]:
    """Options, and what is chosen already if it is not among them: a link may name anything."""
    current = st.session_state.get(key) or st.query_params.get(key)
    return options if current is None or current in options else [*options, current]
