"""Draw the controls of the sidebar, bound to the address, and set them from other pages and figures."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitAPIException

from explorer import errors, run_folder, typed_numbers
from explorer.data import sources
from explorer.data.graded import sets
from explorer.encoding.load import chosen_prompts, declared, hardware
from explorer.encoding.locate import layout, lookup, model_names
from explorer.encoding.locate.todays_names import TODAYS_NAMES
from explorer.encoding.read.pooling import MODEL_DEFAULT, POOLINGS, Reading, parse
from explorer.evaluating.results.scored_task import Options
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import SHORTEST, Settings
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import cached, cached_texts, set_choice, sidebar_choice
from explorer.ui.widgets import controls, downloads

ANOTHER, OF_TODAY = "another encoder", "encoder of today"
FOLDED = "Other models and settings"
TYPED = (
    f"Layers & poolings outside of the grid can be typed: {', '.join([*POOLINGS][:-1])} or {[*POOLINGS][-1]}, of one "
    "layer (`last of layer 3`), of two (`mean of layers 2 + 5`) or of a range (`mean of layers 4-6`)."
)
KEPT = ("reading", "sts", "beside", "beside_reading", "precision", "max_length", "prompt")  # keys of the controls
OFFERED = 5  # models in a folder that is none itself
WIDEST = 26  # characters that a field of the sidebar has room for
NOTHING = "nothing"  # of the models to choose as B
SAME = "same as A"
NO_PROMPT = "no prompt"
_HIDDEN = "_controls hidden"
OF_SIDEBAR = "the evaluation set"
_SET_BY_HAND = "_evaluation set by hand"  # whether the visitor has chosen it, so that it is the same on every page


def draw(*, scores: bool, judges: bool = False) -> DeltaGenerator:
    """Draw the controls that pages share, and remember their values as `sidebar_choice.chosen` and `model_b`.

    A page that scores nothing shows the model alone; the other values stay as they are. A page that judges model B
    against A does so on a test set, unless a set is chosen. Gives the place for the run under way, above what is
    used less often.
    """
    first, second, job = st.container(), st.container(), st.container()
    if "sts" in st.query_params:
        _by_hand()
    if scores:
        _into_address()
    else:
        _from_address()
    with first:
        models = controls.with_current(encoders(), "model")
        source: str = controls.menu(
            "Model A",
            models,
            default=models[0],
            key="model",
            help=f"Models on this disk. To load another one, open **{FOLDED}** below.",
        )
        _show_whole(source)
        _offer_inside(source, "A", choose_encoder)
        reading = _reading_of_a(source) if scores else st.session_state.get("reading")
    known = st.session_state.get("sts") if st.session_state.get(_SET_BY_HAND) else None
    given = sources.identity(_evaluation_set(judges and _has_b()) if scores else known or sets.SAMPLE.written)
    with st.expander(FOLDED, icon=":material/tune:"):
        _another_model()
        settings, prompt = _settings(given, drawn=scores), _prompt(source, drawn=scores)
        downloads.control()
    choice = sidebar_choice.Choice(source, given, reading, settings, prompt)
    if scores and prompt is not None:  # the settings are folded, and every score depends on it
        with first, suppress(errors.StrataError):
            found = choice.found()
            st.caption(messages.plain(f"{found.name}{chosen_prompts.in_words(found)}"))
    with second:
        sidebar_choice.remember(choice, _model_b(choice) if scores else None)
    return job


def _from_address() -> None:
    """Keep what a link says for the controls that this page does not show; only the maximum length is a number."""
    st.session_state[_HIDDEN] = True
    for key in KEPT:
        if key in st.query_params and key not in st.session_state:
            text = st.query_params[key]
            if key != "max_length":
                st.session_state[key] = text
            elif (number := typed_numbers.whole_in(text)) is not None and SHORTEST <= number < 10**9:
                st.session_state[key] = number


def _into_address() -> None:
    """Write the values into the address again that another page has set or not shown."""
    if not st.session_state.pop(_HIDDEN, False):
        return
    for key in KEPT:
        value = st.session_state.get(key) if key != "sts" or st.session_state.get(_SET_BY_HAND) else None
        if value is not None and key not in st.query_params:
            with suppress(StreamlitAPIException):  # still bound: Streamlit does the same itself
                st.query_params[key] = str(value)


def _offer_inside(source: str, side: str, choose: Callable[[str], None]) -> None:
    """Offer the models one level below a folder that is none itself as A or B, each by one click."""
    for folder in model_names.inside(source)[:OFFERED]:
        st.button(
            f"Load {messages.plain(folder.name)}",
            key=f"load {folder} as {side}",
            icon=":material/folder_open:",
            on_click=choose,
            args=(str(folder),),
        )


def _another_model() -> None:
    def choose(key: str, empty: str | None) -> None:
        name = (st.session_state[key] or "").strip()
        if name:
            choose_encoder(name)
            st.session_state[key] = empty

    st.text_input(
        "Another model",
        key=ANOTHER,
        on_change=choose,
        args=(ANOTHER, ""),
        placeholder="hub id, folder or vectors",
        help="A hub id (`org/name` or `org/name@revision`), its link, or a folder as saved by transformers, "
        "sentence-transformers or SimCSE. Nothing is downloaded before you confirm it. Or sentences with vectors that "
        "another program computed: a .jsonl or .parquet file, a .npy file with a .txt of the same name, or a folder "
        "of such files.",
    )
    here = model_names.on_disk()
    st.selectbox(
        "Encoders of today",
        TODAYS_NAMES,
        index=None,
        format_func=lambda name: f"{name} · on this disk" if name in here else name,
        key=OF_TODAY,
        on_change=choose,
        args=(OF_TODAY, None),
        placeholder="choose one from the hub",
        help="Encoders of the hub whose architecture and files Strata was tried with. One that is not on this disk is "
        "not downloaded before you confirm it: first you can ask the hub for its size and licence.",
    )


def _evaluation_set(judges: bool) -> str:
    """Choose the set; until one is chosen, models are judged on the sample's test half: its dev half chose many."""
    test, options = sets.halves()[1].written, set_choice.set_names()
    options = [test, *options] if judges else options
    if not st.session_state.get(_SET_BY_HAND):
        st.session_state["sts"] = options[0]
    pairs: str = controls.menu(
        "Evaluation set",
        controls.with_current(options, "sts"),
        default=options[0],
        key="sts",
        on_change=_by_hand,
        help="What models are scored on: sentence pairs with human scores, queries with their passages, triplets, "
        "translations, or texts with labels. Files that you upload on any page are in this list, and so are the test "
        "rows of your runs. Published sets that are not on this disk are its last ones.",
    )
    _show_whole(pairs)
    return pairs


def _has_b() -> bool:
    """Whether a model B is chosen, in its field or by a link: the field is drawn below that of the set."""
    return bool(st.session_state.get("beside", st.query_params.get("beside", NOTHING)) != NOTHING)


def _settings(given: sets.SetIdentity, *, drawn: bool) -> Settings:
    """The measurement settings, of their fields or as they are: Streamlit keeps the value of a bound widget.

    Windows are for evaluation sets with passages.
    """
    if drawn:
        precision = controls.draw("", Settings.knobs["precision"], key="precision", bind="query-params")
        length = controls.draw("", Settings.knobs["max_length"], key="max_length", bind="query-params", width="stretch")
        windows = _has_passages(given) and controls.draw("", Options.knobs["windows"], key="windows")
        return Settings(precision, "auto", length, windows=bool(windows))
    precision, length = st.session_state.get("precision"), st.session_state.get("max_length")
    known = precision if precision in hardware.MEASURED else hardware.MEASURED[0]
    return Settings(known, "auto", length if isinstance(length, int) else None)


def _prompt(source: str, *, drawn: bool) -> str | None:
    """The prompt of both models, of its field or as it is; the names offered are those of model A."""
    knob = chosen_prompts.ChosenPrompt.knobs["prompt"]
    chosen: str | None = st.session_state.get("prompt")
    if drawn:
        known: dict[str, str] = {}
        with suppress(errors.StrataError):  # the page says what is wrong with the model
            known = chosen_prompts.table(cached.found(source).folder)
        options = controls.with_current([knob.empty, NO_PROMPT, *known], "prompt")
        how = {"accept_new_options": True, "help": knob.help}
        chosen = controls.menu(knob.label, options, default=knob.empty, key="prompt", **how)
    return None if chosen in (None, knob.empty) else "" if chosen == NO_PROMPT else chosen


def _has_passages(given: sets.SetIdentity) -> bool:
    """Whether an evaluation set has queries and passages; False if it cannot be read, which the page says."""
    if given.is_scored:
        return False
    with suppress(errors.StrataError):
        return cached_texts.evaluated_on(given).pool > 0
    return False


def encoders() -> list[str]:
    """Encoders on this disk: the bundled one, the models of runs, then what the hub's cache holds."""
    return [lookup.BUNDLED, *run_folder.models(), *model_names.on_disk()]


def _reading_of_a(source: str) -> str | None:
    return _layer_and_pooling(
        source,
        "Layer & pooling",
        "reading",
        "How a sentence becomes one vector, on every page. **model default** is the pooling that the model itself "
        "declares (in modules.json): what you get from `SentenceTransformer(model).encode`. A model that declares none "
        "is pooled by the mean of its last layer, as sentence-transformers does. You can also click a cell of the grid "
        f"on the Layers page. {TYPED}",
    )


def _model_b(choice: sidebar_choice.Choice) -> sidebar_choice.Choice | None:
    """Choose model B, which is compared with A, and its layer & pooling; a key exchanges the two."""
    others = [name for name in encoders() if name != choice.source]
    source: str = controls.menu(
        sidebar_choice.MODEL_B,
        controls.with_current([NOTHING, *others, choice.source], "beside"),
        default=NOTHING,
        key="beside",
        accept_new_options=True,
        help="A second model, B, that is compared with model A on every page that shows two. Choose one, or type a hub "
        "id or a folder. A run's model is called `run:` and the run's name. Choose model A again, with another layer & "
        "pooling, to see what those change.",
    )
    if source == NOTHING:
        return None
    _show_whole(source)
    _offer_inside(source, "B", choose_model_b)
    reading = _layer_and_pooling(
        source,
        "Layer & pooling of B",
        "beside_reading",
        "How B makes one vector of a sentence. **same as A**: the same layer & pooling, and where A has its model "
        f"default, the model default of B. {TYPED}",
        choice.reading,
    )
    st.button(
        "Exchange A and B",
        key="exchange A and B",
        icon=":material/swap_horiz:",
        on_click=exchange,
        args=(choice, source, reading),
        shortcut="x",
        help="Or press x.",
    )
    return replace(choice, source=source, reading=reading)


def _layer_and_pooling(source: str, label: str, key: str, help: str, of_a: str | None = None) -> str | None:
    """Choose one of a model's layers & poolings, or type one outside of the grid; None without a loadable encoder.

    One that the model lacks stays, to be corrected; the first option is used meanwhile. Of B that is what A has,
    `of_a`, if B has it too.
    """
    try:
        folder = cached.found(source).folder
        options = sidebar_choice.titles(folder)
    except errors.StrataError:
        return None  # the page says what is wrong with the encoder, at length
    # where A has its model default, "same as A" gives B its own model default
    if of_a is not None and sidebar_choice.exists(of_a, folder):
        options = [SAME, *options]
    title: str | None
    title = written = controls.menu(
        label, controls.with_current(options, key), default=options[0], key=key, accept_new_options=True, help=help
    )
    if written not in options:
        try:
            title = parse(written.strip(), layout.last_layer(folder)).title
        except errors.BadChoice as error:
            title = options[0]
            messages.replaced(error, title)
        else:
            if title != written:
                st.caption(messages.plain(title))
    if title == SAME:
        title = of_a
    default = declared.default(folder)
    if declared.named(title, folder) == default:  # say which pooling the model default is
        st.caption(messages.plain(declared.described(default, folder)))
    return title


def _show_whole(name: str) -> None:
    """A name for which its field has no room, and of a model what its run is called in a plan."""
    if parts := [*([name] if len(name) > WIDEST else []), *filter(None, [runs.row_of(name)])]:
        st.caption(messages.plain(" · ".join(parts)))


def set_of(choice: sidebar_choice.Choice, source: str) -> sets.SetIdentity:
    """The set that a menu of a page names; that of the sidebar for the entry `OF_SIDEBAR`."""
    return choice.evaluation_set if source == OF_SIDEBAR else sources.identity(source)


# What follows is called in callbacks only: the sidebar is drawn before the page.


def choose_encoder(name: str) -> None:
    """Make an encoder model A of every page."""
    st.session_state["model"] = name


def choose_set(given: sets.SetIdentity) -> None:
    """Make a set the one of every page."""
    st.session_state["sts"] = given.written
    _by_hand()


def reset_set() -> None:
    """Let every page have its usual set again."""
    st.session_state["sts"], st.session_state[_SET_BY_HAND] = sets.SAMPLE.written, False


def _by_hand() -> None:
    set_by_hand(True)


def set_by_hand(chosen: bool) -> None:
    """Whether the set is the visitor's choice, and so the same on every page."""
    st.session_state[_SET_BY_HAND] = chosen


def choose_reading(reading: Reading) -> None:
    """Set the layer & pooling of A on every page."""
    st.session_state["reading"] = reading.title


def choose_clicked(figure: str, scores: LayerScores) -> None:
    """Set the clicked cell of a grid as the layer & pooling of A on every page."""
    reading = controls.clicked_cell(figure, scores)
    if reading is not None:
        choose_reading(reading)


def choose_model_b(source: str, reading: str | None = None) -> None:
    """Make an encoder model B."""
    st.session_state["beside"] = source
    st.session_state["beside_reading"] = reading or SAME


def choose_reading_of_b(reading: Reading) -> None:
    """Set the layer & pooling of B."""
    st.session_state["beside_reading"] = reading.title


def choose_for_both(title: str = MODEL_DEFAULT) -> None:
    """Give A and B one layer & pooling, or the model default of each."""
    st.session_state["reading"] = title
    st.session_state["beside_reading"] = SAME


def exchange(choice: sidebar_choice.Choice, source: str, reading: str | None) -> None:
    """Make B, with its layer & pooling, model A, and A model B."""
    state = st.session_state
    state["model"], state["beside"] = source, choice.source
    if reading is not None:
        state["reading"] = reading
    state["beside_reading"] = choice.reading if choice.reading and choice.reading != reading else SAME
